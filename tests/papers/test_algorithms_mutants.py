"""Every mutant is caught in the way that it declares; no correct program is, over 200 seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit.certify.sites import Site
from dpaudit.coins import Choice, Program, force, record, replay
from dpaudit.core.neighbours import Neighbours, both_directions
from dpaudit.core.views import PUBLIC, View
from dpaudit.distributions.base import Distribution
from dpaudit.reference.algorithms.mab import hybrid_ucb, lazy_ucb, successive_elimination
from dpaudit.reference.algorithms.online import ftnl
from dpaudit.replay.accounting import observe_accounting
from tests.papers.mutant import EPSILON
from tests.papers.mutants import MUTANTS

DECISIONS = View.of(PUBLIC)


CORRECT: dict[str, Program] = {
    "lazy_ucb": lazy_ucb.program(epsilon=EPSILON),
    "hybrid_ucb": hybrid_ucb.program(epsilon=EPSILON, variant="repaired"),
    "ftnl": ftnl.program(epsilon=EPSILON, variant="repaired"),
    "naive_ftnl": ftnl.naive_program(epsilon=EPSILON),
    "dp_se": successive_elimination.program(epsilon=EPSILON, failure_probability="1/2"),
}
HALF = Fraction(EPSILON, 2)
DECLARED: dict[str, Sequence[Site]] = {
    "lazy_ucb": [Site("array", total=EPSILON)],
    "hybrid_ucb": [
        Site("array", total=HALF),
        *(Site(f"node-{r}", touches=r + 1, total=HALF, group="tree") for r in range(1, 5)),
    ],
    "ftnl": [Site("leader", total=EPSILON)],
    "naive_ftnl": [Site("sums", total=EPSILON)],
    "dp_se": [Site("array", total=EPSILON)],
}


def replaced(data: np.ndarray[Any, Any], round_: int, *vectors: Sequence[float]) -> Neighbours:
    """Two copies of ``data``; the vector of one round is the first, or the second, of ``vectors``."""
    left, right = data.copy(), data.copy()
    left[round_], right[round_] = vectors
    return Neighbours(f"round {round_}", left, right)


def bandit_pairs(horizon: int, rounds: Sequence[int]) -> list[Neighbours]:
    """Two arms, one vector from all 0 to all 1, on backgrounds of failures and of coin flips."""
    flips = np.tile([[0.0, 1.0], [1.0, 0.0]], (horizon // 2, 1))
    return [replaced(data, t, [0, 0], [1, 1]) for data in (np.zeros((horizon, 2)), flips) for t in rounds]


def vector_pairs() -> list[Neighbours]:
    """Five actions, 31 rounds: opposite directions, all up, one up, in epochs 1 and 3."""
    ahead = np.zeros((31, 5))
    ahead[:, 0] = 1.0
    ups = ([0.0] * 5, [1.0] * 5), ([1, 0, 0, 0, 0], [0, 1, 0, 0, 0]), ([0.0] * 5, [1, 0, 0, 0, 0])
    return [replaced(data, t, *pair) for data in (np.zeros((31, 5)), ahead) for t in (2, 7) for pair in ups]


PAIRS: dict[str, Sequence[Neighbours]] = {
    "lazy_ucb": bandit_pairs(24, (0, 1, 2, 3, 7)),
    "hybrid_ucb": bandit_pairs(16, (0, 1, 2, 3, 8)),
    "ftnl": vector_pairs(),
    "naive_ftnl": vector_pairs(),
    # Epoch 1 has 356 pulls of each arm, epoch 2 two thousand.
    "dp_se": bandit_pairs(6000, (0, 400)),
}


def stay_with(arm: int) -> Choice:
    """The history in which ``arm`` leads from its first release on."""

    def choose(site: str, occurrence: int, distribution: Distribution) -> Any:
        if site == "leader":
            return arm if distribution.name == "noisy-argmax" else None
        if distribution.batch_shape:
            return None
        return 2.0**30 * (1 if site != "array" or occurrence > 1 or occurrence == arm else -1)

    return choose


HISTORIES: Mapping[str, Choice] = {"arm 0 leads": stay_with(0), "arm 1 leads": stay_with(1)}
CASES = [(algorithm, name) for algorithm, mutants in MUTANTS.items() for name in mutants]


def search(algorithm: str, program: Program, *, samples: int = 4) -> Iterator[str]:
    """What sampled and forced histories of all pairs show to be wrong, in the words of ``Catch``."""
    rng = np.random.default_rng(1)
    for pair in both_directions(PAIRS[algorithm]):
        recordings = [record(program, pair.left, rng=rng) for _ in range(samples)]
        recordings += [force(program, pair.left, choice, rng=rng) for choice in HISTORIES.values()]
        for recording in recordings:
            result = replay(program, pair.right, recording)
            if result.leaks:
                yield "leak"
            if observe_accounting(result, DECLARED[algorithm]).violations(DECLARED[algorithm]):
                yield "accounting"
            if abs(float(result.loss(DECISIONS, end=result.witness_end(DECISIONS)))) > EPSILON * (1 + 1e-9):
                yield "refuted"


@pytest.mark.parametrize(("algorithm", "name"), CASES)
def test_the_mutant_is_caught(algorithm: str, name: str) -> None:
    """The search finds what the mutant declares."""
    mutant = MUTANTS[algorithm][name]
    assert mutant.caught in search(algorithm, mutant.program)


@pytest.mark.parametrize("algorithm", CORRECT)
def test_the_correct_program_is_not_caught_by_the_same_search(algorithm: str) -> None:
    """Negative control: the search that catches the mutants finds nothing wrong with the reference."""
    assert list(search(algorithm, CORRECT[algorithm])) == []


@pytest.mark.parametrize("algorithm", CORRECT)
def test_no_correct_program_is_caught_over_200_seeds(algorithm: str) -> None:
    """Sampled histories of 200 seeds, pairs in turn: no leak, no touch too many, no loss above epsilon."""
    program = CORRECT[algorithm]
    pairs = both_directions(PAIRS[algorithm])
    for seed in range(200):
        pair = pairs[seed % len(pairs)]
        result = replay(program, pair.right, record(program, pair.left, rng=np.random.default_rng(seed)))
        assert not result.leaks
        assert not observe_accounting(result, DECLARED[algorithm]).violations(DECLARED[algorithm])
        assert abs(float(result.loss())) <= EPSILON * (1 + 1e-9)


def test_at_least_five_mutants_for_each_algorithm() -> None:
    """The set of mutants covers all five algorithms and all three ways of being caught."""
    assert set(MUTANTS) == set(CORRECT)
    assert all(len(mutants) >= 5 for mutants in MUTANTS.values())
    assert {mutant.caught for mutants in MUTANTS.values() for mutant in mutants.values()} == {
        "leak",
        "accounting",
        "refuted",
    }
