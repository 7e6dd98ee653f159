"""The tests see what they are for: each e-process refutes a stated violation within a stated number of
draws.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpaudit.blackbox.statistics import (
    PairBetting,
    delta_bounds,
    difference_log_wealth,
    epsilon_grid,
    epsilon_lower_bound,
    fit_log_wealth,
    hockey_stick,
    mean_bounds,
    mean_log_wealth,
    order_log_wealth,
    sub_exponential_log_wealth,
    sub_gaussian_log_wealth,
    tail_log_wealth,
)
from dpaudit.distributions.continuous import Laplace

LEVEL = math.log(20)


def first_crossing(path: np.ndarray) -> float:
    """The number of steps until the wealth reaches 20."""
    where = np.flatnonzero(path >= LEVEL)
    return float(where[0] + 1) if len(where) else math.inf


def test_half_the_noise_is_seen_within_twice_the_oracle() -> None:
    """Laplace noise of half the scale, a fixed event: the median number of pairs is below twice the 69 of
    known odds.
    """
    crossings = []
    for seed in range(40):
        rng = np.random.default_rng([1, seed])
        first, second = rng.laplace(0, 0.5, 1000), rng.laplace(1, 0.5, 1000)
        crossings.append(first_crossing(PairBetting([1.0]).update(first < 0, second < 0)[:, 0]))
    assert np.median(crossings) < 2 * 69


def test_lower_bound_approaches_the_true_epsilon() -> None:
    """Randomised response at epsilon 1.5: the bound is below it, and within 15 % of it after 5000 pairs."""
    rng = np.random.default_rng(2)
    share = 1 / (1 + math.exp(-1.5))
    process = PairBetting(epsilon_grid(1.0))
    process.update(rng.random(5000) < share, rng.random(5000) < 1 - share)
    assert 1.28 < epsilon_lower_bound(process, alpha=0.05) <= 1.5


def test_lower_bound_of_delta_zero_and_positive_differ() -> None:
    """An event that only one input produces, with probability 0.01, is a violation at delta 0 and none at
    delta 0.02.
    """
    rng = np.random.default_rng(3)
    process = PairBetting([1.0, 1.0], deltas=[0.0, 0.02])
    process.update(rng.random(3000) < 0.01, np.zeros(3000, dtype=bool))
    assert process.peak[0] > LEVEL > process.peak[1]


def test_mean_bounds_are_tight_and_use_the_variance() -> None:
    """Rare events: the interval is several times narrower than Hoeffding's, and holds the mean."""
    x = np.random.default_rng(4).random(10_000) < 0.01
    low, high = mean_bounds(x, low=0.0, high=1.0, alpha=0.05)
    hoeffding = 2 * math.sqrt(math.log(2 / 0.05) / (2 * len(x)))
    assert low < 0.01 < high
    assert high - low < hoeffding / 3


def test_mean_bounds_never_widen() -> None:
    """Bounds on a longer prefix lie inside those on a shorter one with the same start: they use every
    prefix.
    """
    x = np.random.default_rng(5).random(2000)
    previous = (0.0, 1.0)
    for size in (10, 100, 500, 2000):
        low, high = mean_bounds(x[:size], low=0.0, high=1.0, alpha=0.05)
        assert previous[0] <= low < high <= previous[1]
        previous = (low, high)


def test_mean_bounds_follow_an_affine_map() -> None:
    """Bounds on 3x - 1 are the bounds on x, mapped."""
    x = np.random.default_rng(6).random(300)
    low, high = mean_bounds(x, low=0.0, high=1.0, alpha=0.1)
    assert mean_bounds(3 * x - 1, low=-1.0, high=2.0, alpha=0.1) == pytest.approx((3 * low - 1, 3 * high - 1))


def test_mean_and_difference_see_a_shift() -> None:
    """A mean of 0.55 against at most 0.5, and a paired difference of 0.05, are seen within 3000 draws."""
    rng = np.random.default_rng(7)
    x, y = rng.random(3000), rng.random(3000)
    assert first_crossing(mean_log_wealth(0.9 * x + 0.1, low=0.0, high=1.0, at_most=0.5)) < 3000
    assert first_crossing(difference_log_wealth(0.9 * x + 0.1, 0.9 * y, low=0.0, high=1.0)) < 3000


def test_sub_gaussian_sees_variance_and_tail() -> None:
    """A variance 20 % too large, and Laplace noise of the right variance, are refuted; the true proxy is
    not.
    """
    rng = np.random.default_rng(8)
    normal, laplace = rng.normal(0, 1, 20_000), rng.laplace(0, math.sqrt(0.5), 20_000)
    assert sub_gaussian_log_wealth(normal, variance_proxy=1 / 1.2).max() > LEVEL
    assert sub_gaussian_log_wealth(laplace, variance_proxy=1.0).max() > LEVEL
    assert sub_gaussian_log_wealth(normal, variance_proxy=1.0).max() < LEVEL


def test_sub_exponential_allows_what_sub_gaussian_does_not() -> None:
    """Laplace noise of scale b is (4 b^2, 2 b)-sub-exponential but not 4 b^2-sub-Gaussian; (b^2, b) is
    refuted.
    """
    draws = np.random.default_rng(9).laplace(0, 1, 100_000)
    assert sub_exponential_log_wealth(draws, variance_proxy=4.0, scale=2.0).max() < LEVEL
    assert sub_exponential_log_wealth(draws, variance_proxy=1.0, scale=1.5).max() > LEVEL


def test_tail_sees_a_probability_above_its_bound() -> None:
    """P = 0.075 against at most 0.05 is seen within 2000 trials, an impossible event at once."""
    rng = np.random.default_rng(10)
    assert first_crossing(tail_log_wealth(rng.random(2000) < 0.075, probability=0.05)) < 2000
    assert first_crossing(tail_log_wealth(np.array([False, True]), probability=0.0)) == 2


@pytest.mark.parametrize(
    ("flaw", "suspect"),
    [
        (lambda rng, n: rng.laplace(0, 1.2, n), "cells"),
        (lambda rng, n: rng.laplace(0.15, 1, n), "cells"),
        (lambda rng, n: np.round(rng.laplace(0, 1, n), 2), "repeats"),
        (lambda rng, n: np.tile(rng.laplace(0, 1, n // 2), 2), "repeats"),
        (lambda rng, n: np.repeat(rng.laplace(0, 1, n // 2), 2) * np.tile([1, -1], n // 2), "order"),
        (lambda rng, n: rng.laplace(0, 1, n) * rng.choice([1, 10], n, p=[0.99, 0.01]), "cells"),
    ],
    ids=["scale", "location", "lattice", "reused", "antithetic", "heavy tail"],
)
def test_fit_names_the_flaw(flaw, suspect: str) -> None:
    """A flawed sampler is refuted within 4000 draws, and the part with most evidence is the one that fits
    the flaw.
    """
    rng = np.random.default_rng(11)
    result = fit_log_wealth(flaw(rng, 4000), Laplace(scale=1), rng=rng)
    assert result.total.max() > LEVEL
    assert result.suspect == suspect


def test_fit_sees_noise_shared_across_coordinates() -> None:
    """Coordinates that share a sign are dependent though each has the right distribution."""
    rng = np.random.default_rng(12)
    draws = np.abs(rng.laplace(0, 1, (2000, 3))) * rng.choice([-1.0, 1.0], (2000, 1))
    result = fit_log_wealth(draws, Laplace(scale=1), rng=rng)
    assert result.total.max() > LEVEL
    assert result.suspect == "order"


def test_order_sees_a_lag() -> None:
    """A dependence at lag 2 is seen at lag 2 and not at lag 1."""
    rng = np.random.default_rng(13)
    u = rng.random(4000).reshape(-1, 4)
    u[:, 2:] = (u[:, :2] + 0.1 * u[:, 2:]) % 1.0
    assert order_log_wealth(u.ravel(), lags=(2,)).max() > LEVEL
    assert order_log_wealth(u.ravel(), lags=(1,)).max() < LEVEL


def test_delta_bounds_hold_the_closed_form() -> None:
    """Laplace losses at epsilon 0.5: the bounds hold 1 - e^{(0.5-1)/2} and are within 0.01 of it."""
    y = np.random.default_rng(14).laplace(0, 1, 30_000)
    low, high = delta_bounds(np.abs(y - 1) - np.abs(y), epsilon=0.5, alpha=0.05)
    truth = 1 - math.exp(-0.25)
    assert truth - 0.01 < low <= truth <= high < truth + 0.01


def test_hockey_stick_at_infinite_losses() -> None:
    """An impossible outcome costs 1, a certain one of the other input 0."""
    assert hockey_stick(np.array([np.inf, -np.inf, 1.0]), epsilon=1.0).tolist() == [1.0, 0.0, 0.0]
