"""Check cumulants in floats against balls, and Chernoff bounds against exact tails."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dpaudit.distributions import DiscreteGaussian, DiscreteLaplace, LatticeDistribution, Skellam
from dpaudit.distributions.chernoff import (
    best_bound,
    discrete_laplace_cumulant,
    gaussian_cumulant,
    skellam_cumulant,
)
from dpaudit.kernel.ball import ball

Floats = NDArray[np.float64]
RATES = [Fraction(1, 1000), Fraction(1, 10), Fraction(1, 4), Fraction(49, 100)]


def _cumulant(distribution: LatticeDistribution, rate: Fraction) -> float:
    return float(distribution.log_mgf_ball(ball(rate)).mid())


@pytest.mark.parametrize("rate", RATES)
def test_cumulants_are_those_of_the_distributions(rate: Fraction) -> None:
    """The closed forms agree with the enclosures, and the Gaussian one bounds the discrete Gaussian
    cumulant."""
    at = np.array([float(rate)])
    laplace = discrete_laplace_cumulant(at, decay=0.5)
    assert laplace == pytest.approx(_cumulant(DiscreteLaplace(scale=2), rate), rel=1e-9)
    skellam = skellam_cumulant(at, variance=7.0)
    assert skellam == pytest.approx(_cumulant(Skellam(variance=7), rate), rel=1e-9)
    bound = gaussian_cumulant(at, variance=7.0)
    assert _cumulant(DiscreteGaussian(sigma2=7), rate) <= bound * (1 + 1e-9)


@pytest.mark.parametrize(
    ("distribution", "largest", "cumulant"),
    [
        (Skellam(variance=25), 3.0, lambda rates: skellam_cumulant(rates, variance=25.0)),
        (DiscreteLaplace(scale=4), 0.2499, lambda rates: discrete_laplace_cumulant(rates, decay=0.25)),
    ],
)
def test_the_best_bound_lies_above_the_exact_tail(
    distribution: LatticeDistribution, largest: float, cumulant: Callable[[Floats], Floats]
) -> None:
    """The bound is 1 at 0, and elsewhere exceeds P(X >= t) by at most the factor that Chernoff may lose."""
    rates = np.linspace(0.002, largest, 800)
    for t in (0, 1, 5, 20, 60):
        bound = float(best_bound(cumulant(rates) - rates * t))
        exact = float(distribution.sf_ball(t - 1).mid())
        assert exact <= bound <= 1
        assert bound <= 1e3 * exact
