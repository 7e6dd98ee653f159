"""Rows about the standard programs of the proof literature, by family: correct programs are proved, broken
programs are caught.

``mechanisms/proved_programs.py`` has the table. Each program is claimed to be 1-DP for data of one size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpaudit.reference.mechanisms.proved_programs import ProvedProgram
from dpaudit.suite import Control
from dpaudit.suite.program_proofs import Proving, proof_control

__all__ = ["provings", "right", "wrong"]


def provings(family: Sequence[ProvedProgram]) -> Mapping[str, Proving]:
    """Return every program of a family with its data and neighbours, by name."""
    return {
        item.name: Proving(program=item.program, epsilon=item.claim, data=item.data, adjacency=item.adjacency)
        for item in family
    }


def right(family: Sequence[ProvedProgram]) -> tuple[str, ...]:
    """Return the names of the programs that satisfy their claim."""
    return tuple(item.name for item in family if item.right)


def wrong(family: Sequence[ProvedProgram]) -> dict[str, Control]:
    """Return the programs that violate their claim, as controls, each with the verdict that its proof must
    have."""
    table = provings(family)
    return {
        item.name: proof_control(
            table[item.name],
            expect=item.wrong_verdict,
            about=f"the best bound is known: {item.bound}",
        )
        for item in family
        if not item.right
    }
