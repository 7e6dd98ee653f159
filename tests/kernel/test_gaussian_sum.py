"""Sums of discrete Gaussians as zCDP: the rule's bound against Renyi divergences from convolved masses; the
Renyi curve of Skellam noise in the kernel."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import special

from dpaudit.certify.build import (
    compose_parallel,
    discrete_gaussian_sum,
    discrete_laplace_mechanism,
    gaussian_mechanism,
    integer_noise,
)
from dpaudit.core.claims import RenyiDP, ZeroConcentratedDP
from dpaudit.core.errors import CertificateError
from dpaudit.kernel.ball import enclose
from dpaudit.kernel.t1.gaussian_sum import excess

ZCDP = ZeroConcentratedDP(rho=1000)
ORDERS = (1.001, 1.5, 2.0, 3.0, 7.0, 30.0)


def convolved(variance: float, count: int) -> Any:
    """Masses of the sum, by direct convolution of a wide table: index 0 is the lowest outcome."""
    reach = math.ceil(24 * math.sqrt(variance)) + 8
    single = np.exp(-(np.arange(-reach, reach + 1.0) ** 2) / (2 * variance))
    total = np.array([1.0])
    for _ in range(count):
        total = np.convolve(total, single / single.sum())
    return total


def divergence(masses: Any, shift: int, order: float) -> float:
    """Renyi divergence of the masses from themselves shifted, where both are within double precision."""
    with np.errstate(divide="ignore"):
        here, there = np.log(masses[shift:]), np.log(masses[:-shift])
    usable = np.isfinite(here) & np.isfinite(there) & (there > -300)
    return float(special.logsumexp(order * here[usable] + (1 - order) * there[usable]) / (order - 1))


@pytest.mark.parametrize(("variance", "count", "shift"), [(1, 2, 1), (1, 5, 2), (2, 8, 3), ("1/2", 4, 1)])
def test_no_order_exceeds_the_bound(variance: int | str, count: int, shift: int) -> None:
    """The certified rho times the order is above the divergence of convolved masses, at several orders."""
    rho = discrete_gaussian_sum(sensitivity=shift, variance=variance, count=count).certify(ZCDP).bound
    masses = convolved(float(Fraction(variance)), count)
    ratios = [divergence(masses, shift, order) / (float(rho) * order) for order in ORDERS]
    assert max(ratios) <= 1 + 1e-9
    assert max(ratios) > 0.99  # and it is not far above them


def test_the_excess_over_one_discrete_gaussian_is_real() -> None:
    """At variance 1/4 a sum is farther from its shift than one Gaussian of the summed variance says."""
    masses = convolved(0.25, 2)
    assert divergence(masses, 1, 1.0001) > 1.05 * 1.0001 / (2 * 2 * 0.25)


def test_one_part_is_the_discrete_gaussian_itself() -> None:
    """With one part the bound is D²/2v, and with none moved it is 0."""
    assert discrete_gaussian_sum(sensitivity=3, variance=9, count=1).certify(ZCDP).bound == Fraction(1, 2)
    assert discrete_gaussian_sum(sensitivity=0, variance=9, count=7).certify(ZCDP).bound == 0


def test_too_little_noise_in_each_part_is_refused() -> None:
    """Where the rule's series is not below 1/2 there is no bound, and the reason says what to change."""
    with pytest.raises(CertificateError, match="larger variance"):
        discrete_gaussian_sum(sensitivity=1, variance="1/10", count=50)
    with pytest.raises(CertificateError, match="integer sensitivity"):
        discrete_gaussian_sum(sensitivity="1/2", variance=1, count=2)


def test_the_excess_grows_with_parts_and_falls_with_noise() -> None:
    """More parts of the same variance, or less noise in each, do not lower the correction."""
    values = [
        float(enclose(lambda v=v, n=n: excess(Fraction(v), count=n, shift=n // 2)).mid())
        for v, n in ((2, 64), (1, 64), (1, 1024), (1, 2**19))
    ]
    assert values == sorted(values)
    assert values[0] < 1e-14


def test_skellam_renyi_claims_have_certificates() -> None:
    """Skellam noise certifies a Renyi claim at real orders, in parallel too; with Gaussian noise beside it
    the larger counts."""
    skellam = integer_noise("skellam", sensitivity=3, variance=36)
    single = skellam.certify(RenyiDP(order=2, epsilon=1)).bound
    assert 0.24 < single < 0.25
    other = gaussian_mechanism(sensitivity=1, variance=1)
    assert compose_parallel([skellam, other]).certify(RenyiDP(order=2, epsilon=2)).bound == 1
    twice = compose_parallel([skellam, discrete_laplace_mechanism(sensitivity=1, scale=100)])
    assert single <= twice.certify(RenyiDP(order=2, epsilon=1)).bound <= single * (1 + Fraction(1, 10**12))
    assert skellam.certify(RenyiDP(order="5/2", epsilon=1)).bound > single


def test_a_parallel_partner_without_divergences_leaves_none() -> None:
    """A mechanism with a delta only has no Renyi bound, and neither has what runs beside it."""
    binomial = integer_noise("binomial", sensitivity=1, trials=100, probability="1/2")
    skellam = integer_noise("skellam", sensitivity=1, variance=4)
    with pytest.raises(CertificateError, match="must bound"):
        compose_parallel([skellam, binomial]).certify(RenyiDP(order=2, epsilon=1))
