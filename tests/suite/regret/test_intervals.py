"""Intervals of an expected regret: arithmetic that keeps what the bounds promise."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpaudit.core.errors import InvalidParameterError, UndecidedError
from dpaudit.suite.regret import (
    Cut,
    Interval,
    average,
    checked_grid,
    combination_interval,
    mean_interval,
    octave,
    proportion_interval,
    trivial_cut,
)
from tests.errors import raises
from tests.rates import FALSE_FAILURE_RATE


def test_a_ratio_takes_the_far_ends() -> None:
    """[1, 2] / [4, 8] lies in [1/8, 1/2]; every pair of values inside stays inside."""
    left, right = Interval(1.0, 2.0, 1.5), Interval(4.0, 8.0, 6.0)
    ratio = left / right
    assert (ratio.low, ratio.high, ratio.mean) == (0.125, 0.5, 0.25)
    for x in np.linspace(1, 2, 9):
        for y in np.linspace(4, 8, 9):
            assert ratio.low <= x / y <= ratio.high
    assert left / 2.0 == Interval(0.5, 1.0, 0.75)


def test_a_ratio_knows_where_it_says_nothing() -> None:
    """A denominator that may be 0 leaves the upper end open; one that may be negative is refused."""
    assert (Interval(1.0, 2.0, 1.5) / Interval(0.0, 4.0, 2.0)).high == math.inf
    for left, right in (((-1.0, 1.0, 0.0), (1.0, 2.0, 1.5)), ((1.0, 2.0, 1.5), (-1.0, 1.0, 0.5))):
        with raises(UndecidedError, code="E-RATIO-SIGN"):
            Interval(*left) / Interval(*right)


def test_an_average_is_end_by_end() -> None:
    """The mean of lower ends, of upper ends and of samples' means."""
    assert average([Interval(0.0, 2.0, 1.0), Interval(2.0, 6.0, 3.0)]) == Interval(1.0, 4.0, 2.0)


def test_nothing_is_cut_without_an_analysis() -> None:
    """The trivial cap is the worst arm in every round; without gaps there is no regret at all."""
    assert trivial_cut((0.5, 0.25, 0.5), horizon=8) == Cut(2.0, 0.0, (2 / 3,))
    assert trivial_cut((0.5, 0.5), horizon=8) == Cut(0.0, 0.0, (0.0,))
    assert mean_interval(np.zeros(4), Cut(0.0, 0.5, (0.0,)), alpha=0.05) == Interval(0.0, 0.5, 0.0)


def test_a_scaled_cut_scales_every_part() -> None:
    """Regret a round: cap, excess and floors over the horizon."""
    assert Cut(8.0, 2.0, (4.0, 8.0)) * 0.25 == Cut(2.0, 0.5, (1.0, 2.0))


def test_combinations_cover() -> None:
    """E[2 X - Y] of cut variables, 60 repetitions at level 1/20; the excess holds what lies beyond."""
    rng = np.random.default_rng(3)
    cap = 5.0
    beyond = float(np.exp(-cap))  # E max(0, X - 5) of a unit exponential
    cut, misses = Cut(cap, beyond, (cap,)), 0
    for _ in range(60):
        x, y = rng.exponential(1.0, 150), rng.exponential(1.0, 150)
        low, high = combination_interval([(2.0, x, cut), (-1.0, y, cut)], alpha=0.05)
        misses += not low <= 1.0 <= high
    assert misses <= stats.binom.isf(FALSE_FAILURE_RATE, 60, 0.05)


def test_a_proportion_has_exact_ends() -> None:
    """5 of 20: both ends where a binomial tail is 1/40; nothing seen leaves 0 in."""
    seen = np.arange(20) < 5
    found = proportion_interval(seen, alpha=0.05)
    assert stats.binom.sf(4, 20, found.low) == pytest.approx(0.025)
    assert stats.binom.cdf(5, 20, found.high) == pytest.approx(0.025)
    assert found.mean == 0.25
    assert proportion_interval(seen[5:], alpha=0.05).low == 0


def test_an_octave_ends_before_its_half() -> None:
    """Three points of [1, 1/2): 1, 3/4, 3/5."""
    assert octave(Fraction(1), points=3) == [Fraction(1), Fraction(3, 4), Fraction(3, 5)]


@pytest.mark.parametrize("checkpoints", [[], [0, 10], [3, 3, 10], [2, 9]])
def test_a_grid_of_rounds_is_refused(checkpoints: list[int]) -> None:
    """Empty, before round 1, not increasing, or not up to the horizon."""
    with raises(InvalidParameterError, code="E-CHECKPOINTS-ORDER", match="10"):
        checked_grid(10, checkpoints)
