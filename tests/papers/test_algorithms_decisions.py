"""Every reference algorithm makes its plain loop's decisions, bit for bit, on equal rewards and noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from benchmarks import plain_loops
from dpaudit.coins import Sampler
from dpaudit.reference.algorithms.environment import PotentialOutcomes, RewardVectors
from dpaudit.reference.algorithms.mab import hybrid_ucb, lazy_ucb, successive_elimination, ucb1
from dpaudit.reference.algorithms.mab.hybrid_ucb import HybridPolicy
from dpaudit.reference.algorithms.mab.race import leader
from dpaudit.reference.algorithms.mab.ucb1 import Ucb1Policy
from dpaudit.reference.algorithms.online import ftnl
from dpaudit.reference.algorithms.play import Decisions, Strategy, play
from dpaudit.reference.algorithms.simulation import Policy, pulls_at
from dpaudit.reference.mechanisms.array_sum import ArraySum

MEANS = {
    "close": [0.75, 0.70, 0.70, 0.70, 0.70],
    "spread": [0.75, 0.625, 0.5, 0.375, 0.25],
    "equal": [0.5, 0.5],
    "certain": [1.0, 0.0, 1.0],
}


def bernoulli_table(means: Sequence[float], horizon: int, seed: int) -> np.ndarray[Any, Any]:
    """Potential outcomes (T, K) of coupled Bernoulli arms: one uniform a round."""
    uniforms = np.random.default_rng([seed, 1]).random((horizon, 1))
    return (uniforms < np.array(means)).astype(float)


def expand(decisions: Decisions) -> list[int]:
    """The arm of every round."""
    return [arm for arm, count in decisions for _ in range(count)]


def noise_of(seed: int) -> Callable[[str, float], float]:
    rng = np.random.default_rng([seed, 2])
    return lambda site, scale: float(rng.laplace(scale=scale))


def rows_of(table: np.ndarray[Any, Any]) -> Callable[[int], float]:
    rows = iter(table)
    return lambda arm: float(next(rows)[arm])


def run(strategy: Strategy, table: np.ndarray[Any, Any], seed: int) -> list[int]:
    return expand(play(strategy, Sampler(np.random.default_rng([seed, 2])), PotentialOutcomes(table)))


@pytest.mark.parametrize("epsilon", ["1/10", "1", "64", "1000000000000"])
@pytest.mark.parametrize("name", MEANS)
def test_lazy_ucb_event_by_event_is_the_plain_loop(name: str, epsilon: str) -> None:
    """Refreshes and overtakes happen in the rounds of a loop that compares all indices in every round."""
    for seed in range(4):
        table = bernoulli_table(MEANS[name], 12000, seed)
        plain = plain_loops.lazy_ucb(
            table.shape[1], 12000, float(Fraction(epsilon)), rows_of(table), noise_of(seed)
        )
        assert run(lazy_ucb.strategy(epsilon=epsilon), table, seed) == plain


@pytest.mark.parametrize("horizon", range(1, 24))
def test_lazy_ucb_agrees_at_every_short_horizon(horizon: int) -> None:
    """Initial pulls, first fills and cuts inside an array agree for horizons 1 to 23."""
    for seed in range(20):
        table = bernoulli_table([0.75, 0.5, 0.25], horizon, seed)
        plain = plain_loops.lazy_ucb(3, horizon, 1.0, rows_of(table), noise_of(seed))
        assert run(lazy_ucb.strategy(epsilon=1), table, seed) == plain


@pytest.mark.parametrize("epsilon", ["1/10", "1", "64"])
def test_tuples_and_arrays_make_equal_decisions(epsilon: str) -> None:
    """Appendix A (HHM-SPACE): constant memory changes no decision."""
    for seed in range(5):
        table = bernoulli_table(MEANS["close"], 3000, seed)
        decisions = [
            run(lazy_ucb.strategy(epsilon=epsilon, memory=memory), table, seed)
            for memory in (lazy_ucb.Tuples, lazy_ucb.Arrays)
        ]
        assert decisions[0] == decisions[1]


def test_a_late_overtake_is_found() -> None:
    """Negative control: an arg-max that is kept until the array is full gives other decisions."""
    different = 0
    for seed in range(20):
        table = bernoulli_table(MEANS["spread"], 20000, seed)
        fixed = run(_without_overtakes, table, seed)
        different += fixed != run(lazy_ucb.strategy(epsilon=64), table, seed)
    assert different >= 10


def _without_overtakes(coins: Any, n_arms: int) -> Any:
    memories = [lazy_ucb.Tuples() for _ in range(n_arms)]
    noise = ArraySum(epsilon=64)
    means, sizes = [0.0] * n_arms, [1] * n_arms
    for arm, memory in enumerate(memories):
        memory.insert((yield arm, 1))
        means[arm] = noise(coins, memory.close())
    t = n_arms + 1
    while True:
        arm = leader(means, sizes, t, 64.0)
        count = memories[arm].room
        memories[arm].insert((yield arm, count))
        t += count
        sizes[arm] = memories[arm].size
        means[arm] = noise(coins, memories[arm].close()) / sizes[arm]


@pytest.mark.parametrize(("variant", "extra"), [("printed", 0), ("repaired", 1), ("promoted", 0)])
@pytest.mark.parametrize("epsilon", ["1/2", "8", "128"])
def test_hybrid_ucb_is_the_plain_loop_with_explicit_trees(variant: Any, extra: int, epsilon: str) -> None:
    """Counter, tree and index agree with Algorithm 4 written out, with one dictionary of nodes per tree."""
    for seed in range(3):
        for horizon in (1, 2, 3, 7, 700):
            table = bernoulli_table([0.75, 0.5, 0.25], horizon, seed)
            args = (3, horizon, float(Fraction(epsilon)), rows_of(table), noise_of(seed))
            plain = plain_loops.hybrid_ucb(*args, extra_level=extra, promote=variant == "promoted")
            assert run(hybrid_ucb.strategy(epsilon=epsilon, variant=variant), table, seed) == plain


class _Trace:
    """The reference's noise, in the reference's order, for one run of the array engine."""

    def __init__(self, uniforms: np.ndarray[Any, Any], rng: np.random.Generator, n_arms: int) -> None:
        self._uniforms, self._rng, self._first = iter(uniforms), rng, n_arms

    def uniforms(self) -> np.ndarray[Any, Any]:
        return np.asarray(next(self._uniforms))

    def laplaces(self) -> np.ndarray[Any, Any]:
        if self._first:  # the reference has no tree at an arm's first pull
            self._first -= 1
            return np.zeros(1)
        return self._rng.laplace(size=1)

    def more_laplaces(self, count: int) -> np.ndarray[Any, Any]:
        return self._rng.laplace(size=count)


@pytest.mark.parametrize("epsilon", ["1/2", "8", "128"])
@pytest.mark.parametrize("variant", ["printed", "repaired"])
def test_the_array_engine_pulls_as_the_reference_does(variant: Any, epsilon: str) -> None:
    """The round-by-round engine, fed the reference's rewards and noise, pulls the same arms."""
    means, horizon = [0.75, 0.5, 0.25], 800
    for seed in range(2):
        table = bernoulli_table(means, horizon, seed)
        reference = run(hybrid_ucb.strategy(epsilon=epsilon, variant=variant), table, seed)
        policy = HybridPolicy(
            (1, 3), epsilons=np.array([float(Fraction(epsilon))]), horizon=horizon, variant=variant
        )
        assert _engine_arms(policy, means, horizon, seed) == reference


def test_the_array_engine_of_ucb1_pulls_as_the_reference_does() -> None:
    """The same for UCB1, whose reference is held against the plain loop too."""
    means, horizon = [0.75, 0.5, 0.25], 800
    for seed in range(2):
        table = bernoulli_table(means, horizon, seed)
        reference = run(ucb1.strategy(), table, seed)
        assert reference == plain_loops.ucb1(3, horizon, rows_of(table))
        assert _engine_arms(Ucb1Policy((1, 3)), means, horizon, seed) == reference


def _engine_arms(policy: Policy, means: list[float], horizon: int, seed: int) -> list[int]:
    uniforms = np.random.default_rng([seed, 1]).random((horizon, 1))
    trace = _Trace(uniforms, np.random.default_rng([seed, 2]), len(means))
    pulls = pulls_at(range(1, horizon + 1), policy, np.array([means]), trace)[:, 0]
    return [int(row.argmax()) for row in np.diff(pulls, axis=0, prepend=0)]


@pytest.mark.parametrize("epsilon", ["1/2", "8"])
def test_dp_se_by_epochs_is_the_plain_loop(epsilon: str) -> None:
    """Epoch lengths, radii, eliminations and the horizon's cut agree with the loop."""
    for seed in range(3):
        for horizon in (100, 9000, 40000):
            table = bernoulli_table([0.9, 0.5, 0.1], horizon, seed)
            beta = Fraction(1, horizon)
            plain = plain_loops.successive_elimination(
                3, horizon, float(Fraction(epsilon)), float(beta), rows_of(table), noise_of(seed)
            )
            strategy = successive_elimination.strategy(epsilon=epsilon, failure_probability=beta)
            assert run(strategy, table, seed) == plain


@pytest.mark.parametrize(("variant", "factor"), [("printed", 1.0), ("repaired", 2.0)])
def test_ftnl_is_the_plain_loop(variant: Any, factor: float) -> None:
    """Leaders of all epochs agree with the loop that adds noise to every epoch sum and takes the arg-max."""
    for seed in range(20):
        table = np.random.default_rng([seed, 3]).integers(0, 9, (300, 4)) / 8
        rows = iter(table)
        plain = plain_loops.ftnl(300, factor / 0.5, lambda rows=rows: next(rows), noise_of(seed))
        coins = Sampler(np.random.default_rng([seed, 2]))
        strategy = ftnl.strategy(epsilon="1/2", variant=variant)
        assert expand(play(strategy, coins, RewardVectors(table))) == plain
