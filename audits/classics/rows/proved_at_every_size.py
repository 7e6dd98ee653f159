"""Programs proved for data of every size, by one generic step of their loop, and programs without such a
proof."""

from __future__ import annotations

from audits.classics.proved_families import provings, right, wrong
from dpaudit.core.suite import Group
from dpaudit.reference.mechanisms.proved_at_every_size import NOT_PROVED_AT_EVERY_SIZE, PROVED_AT_EVERY_SIZE
from dpaudit.suite import Control, controls, listed
from dpaudit.suite.program_proofs import Proving, proved

__all__ = ["rows"]

rows = Group("Programs proved for every size")

PROVINGS = provings((*PROVED_AT_EVERY_SIZE, *NOT_PROVED_AT_EVERY_SIZE))

#: Correct at every size, but not proved: a hidden running maximum needs a relation between unequal branches.
MAXIMA = ("noisy max", "noisy max, one way")


@proved(
    rows,
    "EVERY/proved",
    "Lyu, Su, Li 2017; Wang et al. 2020; Hu, Huang, Mehta 2021",
    over=listed("program", *right(PROVED_AT_EVERY_SIZE)),
    name=lambda program: program,
)
def proofs(program: str) -> Proving:
    """Sparse vectors, sums, lazy bandits and FTNL are 1-DP for data of every size

    The proof takes one step of the loop from every abstract state, with a fresh record. A potential over the
    states covers the cost of all steps.
    """
    return PROVINGS[program]


@proved(
    rows,
    "EVERY/noisy-max",
    "Dwork and Roth 2014, Section 3.3",
    over=listed("program", *MAXIMA),
    name=lambda program: program,
    expect="inconclusive",
)
def maxima(program: str) -> Proving:
    """Noisy maxima are 1-DP for every number of queries

    They are proved at each fixed size (NOISYMAX/proved). The generic step compares only equal branches.
    """
    return PROVINGS[program]


@controls(rows, "EVERY/proved/controls", "the same programs, broken on purpose")
def mistakes() -> dict[str, Control]:
    """No proof for every size is found if epsilon grows with the data or the noise is too small"""
    return wrong(PROVED_AT_EVERY_SIZE)
