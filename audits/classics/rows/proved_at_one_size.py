"""Programs proved at one size, by family: proofs of the correct programs, and the broken programs as
controls."""

from __future__ import annotations

from dataclasses import dataclass

from audits.classics.proved_families import provings, right, wrong
from dpaudit.core.suite import Group
from dpaudit.reference.mechanisms.proved_programs import (
    BANDITS,
    NOISY_MAXIMA,
    SPARSE_VECTORS,
    SUMS,
    ProvedProgram,
)
from dpaudit.suite import Control, controls, listed
from dpaudit.suite.program_proofs import Proving, proved

__all__ = ["rows"]

rows = Group("Programs proved at one size")


@dataclass(frozen=True, kw_only=True)
class Family:
    """A table of programs: their source, the claim of the correct programs, and the mistakes of the
    others."""

    id: str
    source: str
    keeps: str
    breaks: str
    programs: tuple[ProvedProgram, ...]

    def add(self) -> None:
        """Add the row of the proofs and the row of the mistakes."""
        table = provings(self.programs)
        over = listed("program", *right(self.programs))

        def proofs(program: str) -> Proving:
            return table[program]

        def mistakes() -> dict[str, Control]:
            return wrong(self.programs)

        proofs.__doc__ = f"""{self.keeps}

        Explore each program with symbols for data, noise and outcomes. Shift its noise so that every decision
        is kept, and check the cost of the shift in exact numbers.
        """
        mistakes.__doc__ = self.breaks
        proved(rows, f"{self.id}/proved", self.source, over=over, name=lambda program: program)(proofs)
        controls(rows, f"{self.id}/proved/controls", f"{self.source}, broken on purpose")(mistakes)


FAMILIES = (
    Family(
        id="SVT",
        source="Lyu, Su, Li 2017; Ding et al. 2023 for the adaptive ones",
        keeps="Sparse vector programs are 1-DP for all queries, each moved by at most 1, at this number of "
        "them",
        breaks="Sparse vectors with too little noise, without cut-off, or showing their query are refuted",
        programs=tuple(SPARSE_VECTORS),
    ),
    Family(
        id="NOISYMAX",
        source="Dwork and Roth 2014, Section 3.3; Wang et al. 2020",
        keeps="Noisy maxima, with their gap too, are 1-DP for all queries, each moved by at most 1, at this "
        "size",
        breaks="Noisy maxima with half the noise, or with the value shown, are refuted",
        programs=tuple(NOISY_MAXIMA),
    ),
    Family(
        id="SUMS",
        source="Chan, Shi, Song 2011; Wang et al. 2020",
        keeps="Partial, prefix and smart sums and a sequential test are 1-DP for all streams of this length",
        breaks="Sums that release too often, keep their blocks, or have half the noise are refuted or not "
        "proved",
        programs=tuple(SUMS),
    ),
    Family(
        id="LAZY",
        source="Hu, Huang, Mehta 2021, Algorithm 3; the lazy form of one release a phase",
        keeps="UCB that forgets its sums at each release is 1-DP for all rewards, at this horizon",
        breaks="A lazy bandit that keeps its sums is refuted",
        programs=tuple(BANDITS),
    ),
)

for family in FAMILIES:
    family.add()
