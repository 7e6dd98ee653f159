"""The programs of the provers' field, by family, as rows: the right ones proved, the wrong ones caught.

The table is ``mechanisms/proved_programs.py``. Each program is claimed to be 1-DP for data of one size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpaudit.reference.mechanisms.proved_programs import ProvedProgram
from dpaudit.suite import Control
from dpaudit.suite.program_proofs import Proving, proof_control

__all__ = ["provings", "right", "wrong"]


def provings(family: Sequence[ProvedProgram]) -> Mapping[str, Proving]:
    """Every program of a family with its data and neighbours, by name."""
    return {
        item.name: Proving(program=item.program, epsilon=item.claim, data=item.data, adjacency=item.adjacency)
        for item in family
    }


def right(family: Sequence[ProvedProgram]) -> tuple[str, ...]:
    """The names of the programs that keep their claim."""
    return tuple(item.name for item in family if item.right)


def wrong(family: Sequence[ProvedProgram]) -> dict[str, Control]:
    """The programs that break it, as controls, each with the verdict that a proof of it must have."""
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
