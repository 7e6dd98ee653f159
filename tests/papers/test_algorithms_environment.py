"""Lazy batches agree with themselves, players merge and cut runs, and a horizon cut is a prefix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpaudit.coins import Coins, Recorder, Sampler
from dpaudit.core.errors import InvalidParameterError, MechanismError
from dpaudit.core.views import PUBLIC, View
from dpaudit.reference.algorithms.environment import (
    BernoulliArms,
    BernoulliVectors,
    PotentialOutcomes,
    RewardVectors,
)
from dpaudit.reference.algorithms.mab import hybrid_ucb, lazy_ucb, successive_elimination
from dpaudit.reference.algorithms.online import ftnl
from dpaudit.reference.algorithms.play import Strategy, play
from tests.rates import FALSE_FAILURE_RATE

PUBLIC_VIEW = View.of(PUBLIC)


def rng(*seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("sum_first", [True, False])
def test_a_bernoulli_batch_agrees_with_itself(sum_first: bool) -> None:
    """Sum and values agree whichever is asked first, and asking again changes nothing."""
    environment = BernoulliArms([0.3, 0.6], rng(1), horizon=1000)
    for _ in range(50):
        batch = environment.pull(1, 20)
        total = batch.sum() if sum_first else batch.values().sum()
        assert total == batch.sum() == batch.values().sum()
        assert len(batch.values()) == len(batch.rounds) == 20
        np.testing.assert_array_equal(batch.values(), batch.values())


def test_values_drawn_after_their_sum_are_independent_coins() -> None:
    """All 8 patterns of 3 coins come at their rates: given the sum, any arrangement is as likely."""
    environment = BernoulliArms([0.3], rng(2), horizon=3 * 4000)
    codes = [int(environment.pull(0, 3).values() @ [1, 2, 4]) for _ in range(4000)]
    ones = np.array([bin(code).count("1") for code in range(8)])
    expected = 4000 * 0.3**ones * 0.7 ** (3 - ones)
    assert stats.chisquare(np.bincount(codes, minlength=8), expected).pvalue > FALSE_FAILURE_RATE


def test_vector_batches_agree_and_have_the_right_distribution() -> None:
    """Full information: sums are Binomial per coordinate, and values add up to them."""
    for replicates, shape in [(None, (3,)), (50, (50, 3))]:
        environment = BernoulliVectors([0.2, 0.5, 1.0], rng(3), horizon=4000, replicates=replicates)
        batch = environment.epoch(40)
        assert batch.sum().shape == shape
        np.testing.assert_array_equal(batch.values().sum(axis=0), batch.sum())
        assert np.all(batch.sum()[..., 2] == 40)
    sums = BernoulliVectors([0.2, 0.5], rng(4), horizon=64, replicates=20000).epoch(64).sum()
    for column, mean in zip(sums.T, (0.2, 0.5), strict=True):
        distribution = stats.binom(64, mean)
        edges = distribution.ppf([0.1, 0.3, 0.5, 0.7, 0.9])
        cells = np.diff([0.0, *distribution.cdf(edges), 1.0])
        counts = np.bincount(np.searchsorted(edges, column), minlength=6)
        assert stats.chisquare(counts, cells * len(column)).pvalue > FALSE_FAILURE_RATE


def test_potential_outcomes_answer_with_the_rounds_that_pass() -> None:
    """Pulls consume rounds in order, and a batch is the pulled arm's column over those rounds."""
    table = rng(5).integers(0, 17, (10, 3)) / 16
    environment = PotentialOutcomes(table)
    first, second = environment.pull(2, 4), environment.pull(0, 6)
    assert (first.sum(), second.sum()) == (table[:4, 2].sum(), table[4:, 0].sum())
    np.testing.assert_array_equal(second.values(), table[4:, 0])
    np.testing.assert_array_equal(RewardVectors(table).pull(1, 7).sum(), table[:7].sum(axis=0))


def test_wrong_pulls_and_wrong_data_are_refused() -> None:
    """Arms, counts, means and rewards outside their domain raise with the value received."""
    environment = PotentialOutcomes(np.zeros((5, 2)))
    for arm, count in [(2, 1), (-1, 1), (0, 0), (0, 6)]:
        with pytest.raises(InvalidParameterError, match="got"):
            environment.pull(arm, count)
    for table in (
        np.zeros(3),
        np.full((2, 2), 1.5),
        np.full((2, 2), np.nan),
        np.zeros((0, 2)),
        np.zeros((2, 0)),
    ):
        with pytest.raises(InvalidParameterError, match="got"):
            PotentialOutcomes(table)
    with pytest.raises(InvalidParameterError, match="means"):
        BernoulliArms([0.5, 1.1], rng(6), horizon=5)
    with pytest.raises(InvalidParameterError, match="horizon"):
        BernoulliArms([0.5], rng(6), horizon=0)


def test_split_points_of_a_run_are_not_shown() -> None:
    """Two strategies that differ only in how they cut equal pulls show the same public transcript."""

    def pulls(*requests: tuple[int, int | None]) -> Strategy:
        def run(coins: Coins, n_arms: int) -> Any:
            yield from (request for request in requests)  # a generator, since batches are sent

        return run

    shown = []
    for requests in ([(0, 5), (1, 3), (0, None)], [(0, 2), (0, 3), (1, 1), (1, 2), (0, 1), (0, 90)]):
        coins = Recorder(rng(7))
        decisions = play(pulls(*requests), coins, PotentialOutcomes(np.zeros((12, 2))))
        assert decisions == ((0, 5), (1, 3), (0, 4))
        shown.append([(site.kind, site.value) for site in coins.sites if PUBLIC_VIEW.sees(site.to)])
    assert shown[0] == shown[1]


def test_a_strategy_that_stops_early_is_an_error() -> None:
    """A strategy that ends before the horizon raises and says how many rounds were left."""

    def run(coins: Coins, n_arms: int) -> Any:
        yield 0, 3

    with pytest.raises(MechanismError, match="9 rounds left"):
        play(run, Sampler(rng(8)), PotentialOutcomes(np.zeros((12, 2))))


ANYTIME: dict[str, Callable[[], Strategy]] = {
    "lazy_ucb": lambda: lazy_ucb.strategy(epsilon=1),
    "hybrid_ucb": lambda: hybrid_ucb.strategy(epsilon=8),
    "dp_se at a fixed failure probability": lambda: successive_elimination.strategy(
        epsilon=8, failure_probability=1
    ),
}


@pytest.mark.parametrize("name", ANYTIME)
def test_a_shorter_horizon_gives_a_prefix(name: str) -> None:
    """Anytime algorithms (HHM-ANY): cutting the data cuts the decisions and changes none of them."""
    table = (rng(9).random((900, 3)) < [0.7, 0.5, 0.2]).astype(float)

    def arms(horizon: int) -> list[int]:
        decisions = play(ANYTIME[name](), Sampler(rng(10)), PotentialOutcomes(table[:horizon]))
        return [arm for arm, count in decisions for _ in range(count)]

    whole = arms(900)
    assert all(arms(horizon) == whole[:horizon] for horizon in (1, 2, 3, 10, 100, 511, 899))


def test_ftnl_plays_prefixes_too() -> None:
    """FTNL's last epoch may be cut; the leaders before are the same."""
    table = rng(11).integers(0, 2, (64, 3)).astype(float)
    runs = []
    for horizon in (64, 40, 31, 7, 1):
        decisions = play(ftnl.strategy(epsilon=1), Sampler(rng(12)), RewardVectors(table[:horizon]))
        runs.append([arm for arm, count in decisions for _ in range(count)])
    assert all(run == runs[0][: len(run)] for run in runs)
