"""Noisy maxima proved as programs: for all queries, neighbours and outcomes, at one number of queries."""

from __future__ import annotations

from audits.classics.proved_families import provings, right, wrong
from dpaudit.rows import Control, controls, listed
from dpaudit.rows.proved import Proving, proved
from dpaudit.suite import Group
from mechanisms.proved_programs import NOISY_MAXIMA

__all__ = ["rows"]

rows = Group("Noisy maxima, proved")

PROVINGS = provings(NOISY_MAXIMA)


@proved(
    rows,
    "NOISYMAX/proved",
    "Dwork and Roth 2014, Section 3.3; Wang et al. 2020",
    over=listed("program", *right(NOISY_MAXIMA)),
    name=lambda program: program,
)
def proofs(program: str) -> Proving:
    """Noisy maxima, with their gap too, are 1-DP for all queries, each moved by at most 1, at this size

    Explored with symbols for data, noise and outcomes; the noise of each is moved so that every decision is
    kept, and what that costs is checked in exact numbers.
    """
    return PROVINGS[program]


@controls(
    rows, "NOISYMAX/proved/controls", "Dwork and Roth 2014, Section 3.3; Wang et al. 2020, broken on purpose"
)
def mistakes() -> dict[str, Control]:
    """Noisy maxima with half the noise, or with the value shown, are refuted"""
    return wrong(NOISY_MAXIMA)
