"""Check exact tails at irrational thresholds against convolution, and at balls that contain an integer."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpaudit.core.errors import UndecidedError
from dpaudit.distributions import DiscreteLaplace, Skellam
from dpaudit.distributions.exact_tails import above, beyond, sum_beyond
from dpaudit.kernel.ball import arb, ball, lower, precision, upper
from tests.errors import raises


@pytest.mark.parametrize("threshold", ["7/2", "4", "0"])
def test_tails_of_two_families_match_convolution(threshold: str) -> None:
    """P(|X + Y| > t) equals the sum over a direct convolution, at integer and other t."""
    first, second = DiscreteLaplace(scale=Fraction(3, 2)), Skellam(variance=4)
    values = np.arange(-120, 121)
    distribution = np.convolve(np.exp(first.logp(values)), np.exp(second.logp(values)))
    t = float(Fraction(threshold))
    expected = float(distribution[np.abs(np.arange(-240, 241)) > t].sum())
    with precision(128):
        found = sum_beyond(first, second, ball(Fraction(threshold)), reach=120)
    assert lower(found) - 1e-12 <= expected <= upper(found) + 1e-12


def test_a_straddled_threshold_is_enclosed_from_both_sides() -> None:
    """If a threshold ball contains an integer, the tail contains the tails on both sides."""
    distribution = DiscreteLaplace(scale=2)
    with precision(128):
        near = ball(5) + arb(0).union(arb(2) ** -60) - arb(2) ** -61
        found = above(distribution, near)
        assert found.contains(distribution.sf_ball(4))
        assert found.contains(distribution.sf_ball(5))
        assert beyond(distribution, ball(5)).overlaps(2 * distribution.sf_ball(5))


def test_a_threshold_without_ends_is_refused() -> None:
    """An infinite threshold is refused."""
    with raises(UndecidedError, code="E-THRESHOLD-NOT-FINITE"):
        above(DiscreteLaplace(scale=2), arb.pos_inf())
