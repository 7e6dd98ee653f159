"""Every e-process keeps its error level at the boundary of its null, stopped at the worst moment; two
invalid ones are caught.
"""

from __future__ import annotations

import numpy as np
import pytest

from dpaudit.blackbox.statistics import (
    CellBetting,
    CellBlock,
    DivergenceBetting,
    PairBetting,
    delta_log_wealth,
    difference_log_wealth,
    fit_log_wealth,
    mean_bounds,
    mean_log_wealth,
    order_log_wealth,
    repeat_log_wealth,
    sub_exponential_log_wealth,
    sub_gaussian_log_wealth,
    tail_log_wealth,
    uniform_log_wealth,
)
from dpaudit.distributions.continuous import Laplace
from tests.blackbox.statistics.calibration import calibrate

STEPS = 400


def pair_payoffs(rng: np.random.Generator) -> np.ndarray:
    """Laplace noise at its exact epsilon, the event below the first location: mean of g is 0."""
    first, second = rng.laplace(0.0, 1.0, STEPS), rng.laplace(1.0, 1.0, STEPS)
    return PairBetting([1.0]).update(first < 0, second < 0)


def pair_payoffs_delta(rng: np.random.Generator) -> np.ndarray:
    """An event with probabilities e^epsilon q + delta and q: the boundary of (epsilon, delta)."""
    first, second = rng.random(STEPS) < 0.2 * np.exp(0.5) + 0.1, rng.random(STEPS) < 0.2
    return PairBetting([0.5], deltas=0.1).update(first, second)


def cells(epsilon: float, delta: float, *, bold: bool = False) -> object:
    """Three cells; the outer ones favour one input each by exactly e^epsilon, plus delta."""
    rest = 0.15
    high = rest * np.exp(epsilon) + delta
    first = [high, 1 - high - rest, rest]

    def path(rng: np.random.Generator) -> np.ndarray:
        betting = CellBetting([epsilon], deltas=[delta], weights=[0.7], follow=0.3)
        known = np.zeros((2, 1, 3), dtype=np.int64)
        wealth = []
        for size in [12] * 10 + [30] * 15:
            seen = np.stack([rng.multinomial(size, first), rng.multinomial(size, first[::-1])])[:, None, :]
            wealth.append(betting.update(CellBlock(known, seen, np.array([bold])))[0])
            known = known + seen
        return np.array(wealth)

    return path


def divergences(order: float) -> object:
    """Three cells whose Rényi divergence in both directions is exactly the claimed one."""
    first = np.array([0.5, 0.3, 0.2])
    if order == 1:
        bound = float(np.sum(first * np.log(first / first[::-1])))
    else:
        bound = float(np.log(np.sum(first**order * first[::-1] ** (1 - order))) / (order - 1))

    def path(rng: np.random.Generator) -> np.ndarray:
        betting = DivergenceBetting([order], [[bound]], weights=[1.0])
        known = np.zeros((2, 1, 3), dtype=np.int64)
        wealth = []
        for size in [12] * 10 + [30] * 15:
            seen = np.stack([rng.multinomial(size, first), rng.multinomial(size, first[::-1])])[:, None, :]
            wealth.append(betting.update(CellBlock(known, seen, places=np.arange(3.0)[None]))[0])
            known = known + seen
        return np.array(wealth)

    return path


def repeats_at_their_bound(rng: np.random.Generator) -> np.ndarray:
    """Uniform on 2^14 values: each earlier draw is repeated with probability exactly the declared atom."""
    return repeat_log_wealth(rng.integers(0, 2**14, STEPS), atom=2.0**-14)


def means_outside(rng: np.random.Generator) -> float:
    """Both-sided bounds: the log of 1/alpha where they miss the true mean, otherwise nothing."""
    low, high = mean_bounds(rng.random(STEPS) < 0.1, low=0.0, high=1.0, alpha=0.2)
    return np.inf if not low <= 0.1 <= high else 0.0


NULLS = {
    "pair betting": pair_payoffs,
    "pair betting with delta": pair_payoffs_delta,
    "cell betting": cells(1.0, 0.0),
    "cell betting with delta": cells(1.0, 0.05),
    "bold cell betting": cells(1.0, 0.0, bold=True),
    "Kullback-Leibler divergence": divergences(1.0),
    "Rényi divergence of order 2": divergences(2.0),
    "Rényi divergence of order 8": divergences(8.0),
    "mean": lambda rng: mean_log_wealth(rng.beta(1, 3, STEPS), low=0.0, high=1.0, at_most=0.25),
    "rare mean": lambda rng: mean_log_wealth(
        (rng.random(STEPS) < 0.01) * 1.0, low=0.0, high=1.0, at_most=0.01
    ),
    "difference of means": lambda rng: difference_log_wealth(
        rng.random(STEPS), rng.random(STEPS), low=0.0, high=1.0
    ),
    "mean bounds": means_outside,
    "sub-Gaussian": lambda rng: sub_gaussian_log_wealth(rng.normal(0, 2, STEPS), variance_proxy=4.0),
    "sub-Gaussian, two points": lambda rng: sub_gaussian_log_wealth(
        rng.choice([-1.0, 1.0], STEPS), variance_proxy=1.0
    ),
    "sub-exponential": lambda rng: sub_exponential_log_wealth(
        rng.normal(0, 1, STEPS), variance_proxy=1.0, scale=0.5
    ),
    "tail probability": lambda rng: tail_log_wealth(rng.random(STEPS) < 0.05, probability=0.05),
    "tiny tail probability": lambda rng: tail_log_wealth(rng.random(STEPS) < 0.002, probability=0.002),
    "uniform cells": lambda rng: uniform_log_wealth(rng.random(STEPS)),
    "order": lambda rng: order_log_wealth(rng.random(STEPS), lags=(1, 3)),
    "repeats": repeats_at_their_bound,
    "fit": lambda rng: fit_log_wealth(rng.laplace(0, 2, STEPS), Laplace(scale=2), rng=rng).total,
    "delta from losses": lambda rng: delta_log_wealth(
        np.where(rng.random(STEPS) < 0.02, np.inf, 0.0), epsilon=1.0, delta=0.02
    ),
}


@pytest.mark.parametrize("name", NULLS)
def test_error_level_holds_at_the_boundary(name: str) -> None:
    """At the exact boundary of the null the wealth ever reaches 1/alpha with probability at most alpha."""
    result = calibrate(NULLS[name], alpha=0.2, repeats=300)
    assert result.valid, str(result)


def test_calibration_catches_bets_beyond_the_limit() -> None:
    """Negative control: stakes twice the limit, with lost wealth floored instead of negative, are no
    supermartingale.
    """

    def path(rng: np.random.Generator) -> np.ndarray:
        first, second = rng.laplace(0.0, 1.0, STEPS), rng.laplace(1.0, 1.0, STEPS)
        payoff = (first < 0) - np.e * (second < 0)
        return np.cumsum(np.log(np.maximum(1 + 2 / np.e * payoff, 0.2)))

    assert not calibrate(path, alpha=0.2, repeats=300).valid


def test_calibration_catches_a_payoff_learned_on_its_own_pair() -> None:
    """Negative control: choosing the favoured direction after seeing the pair is caught."""

    def path(rng: np.random.Generator) -> np.ndarray:
        first, second = rng.laplace(0.0, 1.0, STEPS), rng.laplace(1.0, 1.0, STEPS)
        here = first < second  # the event "below" where it pays, "above" where that pays
        return PairBetting([1.0]).update(
            np.where(here, first < 0.5, first > 0.5), np.where(here, second < 0.5, second > 0.5)
        )

    assert not calibrate(path, alpha=0.2, repeats=100).valid


def test_calibration_catches_scores_learnt_on_their_own_block() -> None:
    """Negative control: a divergence that is estimated on the outputs that it is paid for is caught."""
    share = [0.1, 0.8, 0.1]

    def path(rng: np.random.Generator) -> np.ndarray:
        betting = DivergenceBetting([1.0], [[0.001]], weights=[1.0])
        wealth = []
        for _ in range(60):
            seen = np.stack([rng.multinomial(100, share), rng.multinomial(100, share)])[:, None, :]
            wealth.append(betting.update(CellBlock(seen, seen))[0])
        return np.array(wealth)

    assert not calibrate(path, alpha=0.2, repeats=100).valid


def test_calibration_catches_cells_counted_before_the_bet() -> None:
    """Negative control: a block whose outputs are already among the known counts is caught."""
    share = [0.3, 0.4, 0.3]

    def path(rng: np.random.Generator) -> np.ndarray:
        betting = CellBetting([0.05], deltas=[0.0], weights=[0.7], follow=0.3)
        wealth = []
        for _ in range(40):
            seen = np.stack([rng.multinomial(200, share), rng.multinomial(200, share)])[:, None, :]
            wealth.append(betting.update(CellBlock(seen, seen))[0])
        return np.array(wealth)

    assert not calibrate(path, alpha=0.2, repeats=100).valid
