"""tmlt.core's noise: the exact value of the privacy function is the claim."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpaudit.blackbox import adapters
from dpaudit.core.claims import PureDP, ZeroConcentratedDP
from dpaudit.core.errors import InvalidParameterError
from tests.errors import raises
from tests.rates import FALSE_FAILURE_RATE

noise = pytest.importorskip("tmlt.core.measurements.noise_mechanisms", exc_type=ImportError)


def test_numbers_with_noise() -> None:
    """A geometric scale of 3 costs 1/3 exactly, a discrete Gaussian of variance 2 has rho = 1/4."""
    geometric = adapters.tmlt(noise.AddGeometricNoise(alpha=3))
    assert isinstance(geometric.claim, PureDP)
    assert geometric.claim.bound == Fraction(1, 3)
    gaussian = adapters.tmlt(noise.AddDiscreteGaussianNoise(sigma_squared=2)).claim
    assert isinstance(gaussian, ZeroConcentratedDP)
    assert gaussian.bound == Fraction(1, 4)


def test_a_pair_too_far_apart_is_refuted() -> None:
    """And the right one is not."""
    adapted = adapters.tmlt(noise.AddGeometricNoise(alpha=1))
    assert (
        adapted.check(max_samples=2000, record_draws=False, alpha=FALSE_FAILURE_RATE).verdict
        == "inconclusive"
    )
    low = adapted.neighbours[0][0]
    far = adapted.check(neighbours=[(low, type(low)(6))], max_samples=20_000, record_draws=False)
    assert far.verdict == "refuted"


def test_what_is_no_measurement_is_refused() -> None:
    """A plain function."""
    with raises(InvalidParameterError, code="E-OBJECT-KIND"):
        adapters.tmlt(lambda data: data)
