"""The proofs of the online learning programs hold for the right noise only."""

from __future__ import annotations

import pytest

from audits.private_online_learning.rows.privacy import VECTORS
from dpaudit.coins.base import Program
from dpaudit.core.claims import PureDP
from dpaudit.core.data import Interval, Records
from dpaudit.prover.values.prove import prove_values
from dpaudit.reference.algorithms.mab import hybrid_ucb, lazy_ucb
from dpaudit.reference.algorithms.online import ftnl
from dpaudit.reference.algorithms.play import bandit_program
from dpaudit.reference.mechanisms.array_sum import ArraySum
from dpaudit.suite.attempts import program_files

LAZY = Records(Interval(0, 1), size=5, width=2)


class Remembers(lazy_ucb.Tuples):
    """Releases the sums of all arrays so far."""

    def close(self) -> float:
        total = self.total
        self.size, self.filled = 2 * self.size, 0
        return total


def _lazy(*, noise_epsilon: int = 1, memory: type[lazy_ucb.Tuples] = lazy_ucb.Tuples) -> Program:
    noisy_sum = ArraySum(epsilon=noise_epsilon)
    return bandit_program(lazy_ucb.strategy(epsilon=1, memory=memory, noisy_sum=noisy_sum))


RIGHT = {"lazy": (_lazy(), LAZY)}
WRONG = {
    "half the noise": (_lazy(noise_epsilon=2), LAZY),
    "arrays kept": (_lazy(memory=Remembers), LAZY),
    "Hybrid-UCB as printed": (hybrid_ucb.program(epsilon=1, variant="printed"), LAZY),
    "FTNL as printed": (ftnl.program(epsilon=1, variant="printed"), VECTORS),
    "naive FTNL with half the noise": (ftnl.naive_program(epsilon=2), VECTORS),
}


@pytest.mark.parametrize("name", RIGHT)
def test_the_program_is_proved(name: str) -> None:
    """The program with an opaque search for the leader is verified at its exact cost."""
    program, data = RIGHT[name]
    found = prove_values(program, PureDP(epsilon=1), data=data, files=[*program_files(), __file__])
    assert (found.verdict, found.bound) == ("verified", 1), found.reason


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_program_is_not_proved(name: str) -> None:
    """Less noise, or a sum that is released twice, has a bound above the claim."""
    program, data = WRONG[name]
    found = prove_values(program, PureDP(epsilon=1), data=data, files=[*program_files(), __file__])
    assert found.verdict == "inconclusive"
    assert found.bound is not None
    assert found.bound > 1
