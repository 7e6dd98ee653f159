"""Check distributions summed from their masses against scipy and closed forms."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpaudit.blackbox.statistics import fit_log_wealth
from dpaudit.distributions import Polya, summed
from dpaudit.kernel.ball import precision
from tests.rates import FALSE_FAILURE_RATE


@pytest.mark.parametrize("scale", ["1/2", "3"])
def test_masses_and_moments_are_those_of_scipy_s_discrete_laplace_distribution(scale: str) -> None:
    """The mass at -3, the total mass and the variance agree with scipy."""
    b = Fraction(scale)
    distribution = stats.dlaplace(1 / float(b))
    assert float(summed.laplace_mass(b, -3)) == pytest.approx(distribution.pmf(3), rel=1e-12)
    assert float(summed.laplace_moment(b, 0)) == pytest.approx(1, rel=1e-12)
    assert float(summed.laplace_moment(b, 2)) == pytest.approx(distribution.var(), rel=1e-9)


@pytest.mark.parametrize("k", [0, 4])
def test_poisson_differences_are_scipy_s_skellam_distribution(k: int) -> None:
    """Differences of Poisson variables, and sums of two of them, agree with scipy."""
    assert float(summed.poisson_difference(3, k)) == pytest.approx(stats.skellam(1.5, 1.5).pmf(k), rel=1e-9)
    pair = float(summed.skellam_pair(Fraction(1, 2), 3, k))
    assert pair == pytest.approx(stats.skellam(1.75, 1.75).pmf(k), rel=1e-9)
    assert pair != pytest.approx(stats.skellam(1.5, 1.5).pmf(k), rel=1e-2)


def test_exponential_moments_are_those_of_two_poisson_variables() -> None:
    """E exp(t(N1 - N2)) is the product of two Poisson moment generating functions."""
    t = 0.75
    by_hand = math.exp(1.5 * (math.exp(t) - 1)) * math.exp(1.5 * (math.exp(-t) - 1))
    assert float(summed.skellam_mgf(3, Fraction(3, 4))) == pytest.approx(by_hand, rel=1e-9)


def test_polya_sums_match_another_library() -> None:
    """The convolved Pólya masses agree with scipy's negative binomial sums, subtracted."""
    n, b, k = 5, Fraction(2), 3
    beta = math.exp(-1 / float(b))
    masses = stats.nbinom.pmf(np.arange(400), 1.0, 1 - beta)  # the sum of n shapes 1/n has shape 1
    expected = float(masses[: 400 - k] @ masses[k:])
    with precision(160):
        found = float(summed.convolved_polya(n, b, k, length=200))
    assert found == pytest.approx(expected, rel=1e-12)


def test_a_gamma_mixture_with_a_rate_is_rejected() -> None:
    """Negative control: a sampler that reads the parameter as a rate is rejected."""
    rng = np.random.default_rng(3)
    distribution = Polya(shape=Fraction(1, 8), log_ratio=Fraction(1, 16))
    odds = 1 / math.expm1(1 / 16)
    wealth = {}
    for reading in ("scale", "rate"):
        draws = summed.gamma_poisson(rng, shape=0.125, second=odds, size=2000, reading=reading)
        wealth[reading] = float(np.max(fit_log_wealth(draws, distribution, rng=rng).total))
    assert wealth["scale"] < -math.log(FALSE_FAILURE_RATE) < wealth["rate"]
