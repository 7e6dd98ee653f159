"""Masses from ratios and the sum 1 agree with those from special functions, and stay cheap."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest

from dpaudit.certify import build
from dpaudit.core.claims import ApproxDP
from dpaudit.core.errors import CertificateError
from dpaudit.kernel.ball import precision
from dpaudit.kernel.t1 import recurrences
from dpaudit.kernel.t2 import special_distributions


@pytest.mark.parametrize("variance", ["1/100", "1/4", "1", "7/3", "100", "12345", "1000000"])
def test_skellam_masses_agree_with_bessel_functions(variance: str) -> None:
    """Both enclosures of every mass overlap and are narrow, from the centre to 40 deviations out."""
    v = Fraction(variance)
    with precision(160):
        one, other = recurrences.Skellam(v), special_distributions.Skellam(v)
        for k in (0, 1, 2, 3, 10, -7, int(3 * v**0.5), int(12 * v**0.5), int(40 * v**0.5) + 5):
            here, there = one.mass(k), other.mass(k)
            assert here.overlaps(there), k
            assert here.rel_accuracy_bits() > 100, (k, here)


@pytest.mark.parametrize(
    ("trials", "chance"), [(1, "1/2"), (5, "1/3"), (64, "9/10"), (1000, "1/2"), (300_000, "1/4")]
)
def test_binomial_masses_agree_with_the_gamma_function(trials: int, chance: str) -> None:
    """Both enclosures of every mass overlap and are narrow, also beyond the table and outside the support."""
    p = Fraction(chance)
    with precision(160):
        one, other = recurrences.Binomial(trials, p), special_distributions.Binomial(trials, p)
        spread = int((trials * p * (1 - p)) ** 0.5) + 1
        middle = int(trials * p)
        for k in sorted(
            {0, 1, trials, middle, middle - 3 * spread, middle + 7 * spread, middle + 30 * spread}
        ):
            here, there = one.mass(k), other.mass(k)
            assert here.overlaps(there), k
            if 0 <= k <= trials:
                assert here.rel_accuracy_bits() > 80, (k, here)
        low, high = middle - 2 * spread, middle + 2 * spread
        for here, there in zip(one.masses(low, high), other.masses(low, high), strict=True):
            assert here.overlaps(there)


def test_small_masses_of_a_binomial_add_up_to_one() -> None:
    """A second route for a distribution that is small enough: exact rationals."""
    masses = recurrences.Binomial(6, Fraction(1, 3)).masses(-1, 7)
    exact = [0, *(Fraction(c * 2 ** (6 - k), 3**6) for k, c in enumerate((1, 6, 15, 20, 15, 6, 1))), 0]
    for mass, truth in zip(masses, exact, strict=True):
        assert abs(float(mass) - float(truth)) < 1e-15


def test_short_certificates_are_not_expensive() -> None:
    """A long sum of discrete Gaussians is refused at once; the longest that is accepted takes seconds, not
    minutes.
    """
    claim = ApproxDP(epsilon=1, delta=1)
    started = time.monotonic()
    with pytest.raises(CertificateError, match="must be at most"):
        build.integer_noise("discrete-gaussian-sum", sensitivity=1, variance=1, count=10_000).certify(claim)
    assert time.monotonic() - started < 5
