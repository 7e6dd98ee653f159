"""Sparse vectors proved as programs: for all queries, neighbours and outcomes, at one number of queries."""

from __future__ import annotations

from audits.classics.proved_families import provings, right, wrong
from dpaudit.rows import Control, controls, listed
from dpaudit.rows.proved import Proving, proved
from dpaudit.suite import Group
from mechanisms.proved_programs import SPARSE_VECTORS

__all__ = ["rows"]

rows = Group("The sparse vector technique, proved")

PROVINGS = provings(SPARSE_VECTORS)


@proved(
    rows,
    "SVT/proved",
    "Lyu, Su, Li 2017; Ding et al. 2023 for the adaptive ones",
    over=listed("program", *right(SPARSE_VECTORS)),
    name=lambda program: program,
)
def proofs(program: str) -> Proving:
    """Sparse vector programs are 1-DP for all queries, each moved by at most 1, at this number of them

    Explored with symbols for data, noise and outcomes; the noise of each is moved so that every decision is
    kept, and what that costs is checked in exact numbers.
    """
    return PROVINGS[program]


@controls(
    rows, "SVT/proved/controls", "Lyu, Su, Li 2017; Ding et al. 2023 for the adaptive ones, broken on purpose"
)
def mistakes() -> dict[str, Control]:
    """Sparse vectors with too little noise, without cut-off, or showing their query are refuted"""
    return wrong(SPARSE_VECTORS)
