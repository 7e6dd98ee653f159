"""Prove batched elimination as a program, round by round, for all rewards, neighbours and outcomes.

The sums are released with discrete Laplace noise, the sum of the users' shares (Theorem 1). Rewards are
integers, as encoded. ``tests/papers/test_round_by_round.py`` compares the program with Algorithm 1.
"""

from __future__ import annotations

from dpaudit.core.suite import Group
from dpaudit.distributions import DiscreteLaplace, Laplace
from dpaudit.prover.data import OneReplaced, Symbols
from dpaudit.reference.algorithms.mab.batched_elimination import NoiseTail, confidence_radius
from dpaudit.reference.mechanisms.elimination_programs import elimination
from dpaudit.suite import Control, controls, full, over
from dpaudit.suite.program_proofs import Proving, proof_control, proved

__all__ = ["rows"]

rows = Group("Batched elimination, proved as a program")

LENGTHS = (2, 4, 8)
RADII = tuple(
    2 * float(confidence_radius(b, 2, length, failure_prob=0.5, tail=NoiseTail(0.1, 0.1)))
    for b, length in enumerate(LENGTHS, start=1)
)


@proved(rows, "CZ23-T1P/proved", "Theorem 1, Algorithm 1", over=over(rounds=(8, full(20))))
def discrete(rounds: int) -> Proving:
    """Batched elimination with discrete Laplace sums, as a program, is ε-DP

    Batches have 2, 4, 8, ... rounds per arm. Eliminations depend only on released sums.
    """
    program = elimination(arms=2, lengths=LENGTHS, radii=RADII, noise=DiscreteLaplace(scale=1))
    data = Symbols(rounds, low=0, high=1, width=2, integers=True)
    return Proving(program=program, epsilon=1, data=data, adjacency=OneReplaced())


@proved(rows, "CZ23-T1P/proved/continuous", "Theorem 1, Algorithm 1", role="what-if", over=over(arms=(2, 3)))
def continuous(arms: int) -> Proving:
    """Batched elimination with Laplace sums, as a program, is ε-DP for every horizon"""
    program = elimination(arms=arms, lengths=LENGTHS, radii=RADII, noise=Laplace(scale=1))
    data = Symbols("every", low=0, high=1, width=arms)
    return Proving(program=program, epsilon=1, data=data, adjacency=OneReplaced())


@controls(rows, "CZ23-T1P/proved/controls", "Algorithm 1, broken on purpose")
def mistakes() -> dict[str, Control]:
    """Elimination with half the noise, or that keeps its sums, is refuted"""
    small = {"lengths": (1, 2), "radii": RADII[:2]}
    keeps = elimination(arms=2, **small, noise=Laplace(scale=1), forgets=False)
    halved = elimination(arms=2, **small, noise=Laplace(scale="1/2"))
    return {
        name: proof_control(
            Proving(
                program=program,
                epsilon=1,
                data=Symbols(6, low=0, high=1, width=2),
                adjacency=OneReplaced(),
            ),
            expect="refuted",
        )
        for name, program in (("half the noise", halved), ("sums that are kept", keeps))
    }
