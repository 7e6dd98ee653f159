"""Lazy bandits proved as programs: one round's rewards replaced, at one horizon."""

from __future__ import annotations

from audits.classics.proved_families import provings, right, wrong
from dpaudit.rows import Control, controls, listed
from dpaudit.rows.proved import Proving, proved
from dpaudit.suite import Group
from mechanisms.proved_programs import BANDITS

__all__ = ["rows"]

rows = Group("Lazy bandits, proved")

PROVINGS = provings(BANDITS)


@proved(
    rows,
    "LAZY/proved",
    "Hu, Huang, Mehta 2021, Algorithm 3; the lazy form of one release a phase",
    over=listed("program", *right(BANDITS)),
    name=lambda program: program,
)
def proofs(program: str) -> Proving:
    """UCB that forgets its sums at each release is 1-DP for all rewards, at this horizon

    Explored with symbols for data, noise and outcomes; the noise of each is moved so that every decision is
    kept, and what that costs is checked in exact numbers.
    """
    return PROVINGS[program]


@controls(
    rows,
    "LAZY/proved/controls",
    "Hu, Huang, Mehta 2021, Algorithm 3; the lazy form of one release a phase, broken on purpose",
)
def mistakes() -> dict[str, Control]:
    """No proof of 1-DP is found for a lazy bandit that keeps its sums"""
    return wrong(BANDITS)
