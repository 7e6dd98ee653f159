"""Sums of streams proved as programs: one record in [0, 1] replaced, at one length of the stream."""

from __future__ import annotations

from audits.classics.proved_families import provings, right, wrong
from dpaudit.rows import Control, controls, listed
from dpaudit.rows.proved import Proving, proved
from dpaudit.suite import Group
from mechanisms.proved_programs import SUMS

__all__ = ["rows"]

rows = Group("Sums of streams, proved")

PROVINGS = provings(SUMS)


@proved(
    rows,
    "SUMS/proved",
    "Chan, Shi, Song 2011; Wang et al. 2020",
    over=listed("program", *right(SUMS)),
    name=lambda program: program,
)
def proofs(program: str) -> Proving:
    """Partial, prefix and smart sums and a sequential test are 1-DP for all streams of this length

    Explored with symbols for data, noise and outcomes; the noise of each is moved so that every decision is
    kept, and what that costs is checked in exact numbers.
    """
    return PROVINGS[program]


@controls(rows, "SUMS/proved/controls", "Chan, Shi, Song 2011; Wang et al. 2020, broken on purpose")
def mistakes() -> dict[str, Control]:
    """Sums that release too often, keep their blocks, or have half the noise are refuted or not proved"""
    return wrong(SUMS)
