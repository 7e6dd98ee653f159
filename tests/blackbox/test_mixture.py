"""The wealth of all pairs together: fair games stay fair, and finding the pair that pays costs little."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from dpaudit import PureDP, check
from dpaudit.blackbox import AS_RUN
from dpaudit.blackbox.experts import WHOLE_SHARES, Experts
from dpaudit.blackbox.mixture import FOLLOWING, PairMixture
from dpaudit.blackbox.outcomes import OutcomeEncoder
from tests.blackbox.black_boxes import naive_float_laplace
from tests.rates import FALSE_FAILURE_RATE


def mean_wealth(pairs: int, rounds: int) -> float:
    """The mean over all paths of fair bets, each round on the pair that is the richest or, now and then, on
    the one after it."""
    total = 0.0
    for path in itertools.product((1.6, 0.4), repeat=rounds):
        mixture, logs = PairMixture(pairs, 1), np.zeros(pairs)
        for k, factor in enumerate(path):
            place = (int(np.argmax(logs)) + (k % 3 == 1)) % pairs
            logs[place] += math.log(factor)
            mixture.update(place, logs[place : place + 1])
        total += math.exp(mixture.log_wealth[0])
    return total / 2**rounds


@pytest.mark.parametrize("pairs", [1, 2, 3])
def test_fair_games_stay_fair(pairs: int) -> None:
    """Whatever pair is played next, the mean wealth over all 2^9 paths is exactly 1."""
    assert mean_wealth(pairs, 9) == pytest.approx(1.0, abs=1e-12)


def test_fair_games_would_not_stay_fair_if_the_leader_were_chosen_afterwards() -> None:
    """Negative control: a part that goes with whoever is the richest after the block has a mean above 1."""
    cheated = 0.0
    for path in itertools.product((1.6, 0.4), repeat=6):
        logs, follower = np.zeros(2), 0.0
        for k, factor in enumerate(path):
            logs[k % 2] += math.log(factor)
            follower += math.log(factor) if int(np.argmax(logs)) == k % 2 else 0.0
        cheated += math.exp(follower)
    assert cheated / 2**6 > 1.05


def test_one_pair_that_pays_among_sixteen_costs_the_part_that_follows() -> None:
    """With one pair that wins the cost tends to log(1/FOLLOWING) beyond the first block, not to log 16; one
    pair alone pays nothing."""
    many, alone = PairMixture(16, 2), PairMixture(1, 2)
    for k in range(1, 41):
        wealth = np.array([0.1 * k, 0.5 * k])
        together, single = many.update(7, wealth), alone.update(0, wealth)
        assert single == pytest.approx(wealth)
    first = np.array([0.1, 0.5])  # of the block before which nobody was ahead
    assert np.all(together >= wealth - first - math.log(1 / FOLLOWING))
    assert wealth[1] - together[1] < math.log(16) - 1


def test_the_lowest_bits_of_a_float_sampler_are_seen_soon() -> None:
    """Noise by inversion of a float at epsilon 0.1: the outputs that only one input can give,
    when known, need 280 runs at alpha 1/1000; the median of five audits is below 700, and each says so."""
    claim = PureDP(epsilon="0.1", model=AS_RUN)
    results = [
        check(
            naive_float_laplace,
            claim,
            neighbours=[(0.0, 1.0)],
            batch=True,
            seed=seed,
            alpha=1e-3,
            max_samples=6000,
            record_draws=False,
        )
        for seed in range(5)
    ]
    assert sorted(result.samples for result in results)[2] < 700
    assert all("plus a float" in result.event for result in results)


@pytest.mark.parametrize("seeds", [12, pytest.param(24, marks=pytest.mark.slow)])
def test_noise_on_a_grid_is_not_refuted_as_it_runs(seeds: int) -> None:
    """Two-sided geometric noise on multiples of 1/8, 1-DP bit for bit, on four pairs: of the audits at
    5 % no more are refuted than chance allows."""
    stop = -math.expm1(-1 / 8)

    def run(data: float, rng: np.random.Generator, size: int) -> np.ndarray:
        return np.asarray(data + (rng.geometric(stop, size) - rng.geometric(stop, size)) / 8)

    pairs = [(0.0, 1.0), (1.0, 2.0), (0.5, 1.5), (2.0, 1.0)]
    claim = PureDP(epsilon="1.00000001", model=AS_RUN)
    refuted = sum(
        check(
            run, claim, neighbours=pairs, batch=True, seed=seed, max_samples=600, record_draws=False
        ).verdict
        == "refuted"
        for seed in range(seeds)
    )
    assert stats.binom.sf(refuted - 1, seeds, 0.05) > FALSE_FAILURE_RATE


def test_outputs_that_repeat_are_bet_on_whole() -> None:
    """Among few outputs the two experts on whole outputs hold the shares that are stated, of the experts'
    capital; where no output comes twice they hold less. All shares sum to 1 both times."""
    rng = np.random.default_rng(3)
    for values, repeats in (
        (rng.integers(0, 3, (2, 12, 2)).astype(float), True),
        (rng.normal(size=(2, 12, 2)), False),
    ):
        encoder = OutcomeEncoder()
        past = (encoder.encode(values[0]), encoder.encode(values[1]))
        experts = Experts(past, epsilon=1.0, bits=False, reader=encoder)
        held = np.array(experts.weights[:2]) / (1 - experts.follow)
        assert (held == pytest.approx(WHOLE_SHARES)) is repeats
        assert np.all(held > 0)
        assert sum(experts.weights) + experts.follow == pytest.approx(1.0)
