"""Renyi divergences of lattice noise: against mpmath sums, the published closed form, and the vector rule
against exact low-dimensional values.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import pytest

from dpaudit.certify import build
from dpaudit.core.claims import ApproxDP
from dpaudit.core.errors import CertificateError, InvalidParameterError
from dpaudit.kernel.ball import arb, ball, lower_exact, precision, upper_exact
from dpaudit.kernel.t1.divergence import lattice_delta
from dpaudit.kernel.t1.lattice import DiscreteGaussianSum, bulk
from dpaudit.kernel.t1.renyi import kappa
from dpaudit.kernel.t1.skellam_renyi import skellam_renyi
from dpaudit.kernel.t2.special_distributions import Binomial, Skellam
from tests.errors import raises


@pytest.mark.parametrize(
    ("variance", "shift", "order"), [("1/4", 1, "2"), ("3", 2, "3/2"), ("30", 5, "8"), ("1", 3, "33/10")]
)
def test_skellam_renyi_agrees_with_mpmath(variance: str, shift: int, order: str) -> None:
    """The enclosure contains the sum that mpmath computes from Bessel functions, to 15 digits."""
    v, a = Fraction(variance), Fraction(order)
    with mpmath.workdps(40):
        mass = [mpmath.besseli(k, mpmath.mpf(v.numerator) / v.denominator) for k in range(260)]
        power = mpmath.mpf(a.numerator) / a.denominator
        terms = (mass[abs(x)] ** power * mass[abs(x - shift)] ** (1 - power) for x in range(-250, 251))
        truth = mpmath.log(mpmath.fsum(terms) * mpmath.exp(-mpmath.mpf(v.numerator) / v.denominator)) / (
            power - 1
        )
    found = skellam_renyi(v, shift=shift, order=a)
    assert float(found) == pytest.approx(float(truth), rel=1e-13)
    assert upper_exact(found) - lower_exact(found) < Fraction(1, 10**15)


def closed_form(variance: Fraction, shift: int, order: Fraction) -> Fraction:
    """Agarwal, Kairouz, Liu 2021, Theorem 3.5, for a scalar (both sensitivities are the shift)."""
    first = ((2 * order - 1) * shift**2 + 6 * shift) / (4 * variance**2)
    return order * shift**2 / (2 * variance) + min(first, Fraction(3 * shift) / (2 * variance))


VARIANCES = [Fraction(1, 4), Fraction(1), Fraction(10), Fraction(100), Fraction(1000), Fraction(10**4)]
SHIFTS = [1, 2, 3, 10, 30, 100]
ORDERS = [Fraction(3, 2), Fraction(2), Fraction(4), Fraction(8), Fraction(16), Fraction(64), Fraction(128)]


def test_skellam_closed_form_is_dominated_by_the_exact_value() -> None:
    """On a grid of 252 cases the exact divergence never exceeds the closed form; at one corner the closed
    form is 400 times too large.
    """
    worst = 0.0
    for variance, shift, order in itertools.product(VARIANCES, SHIFTS, ORDERS):
        exact = skellam_renyi(variance, shift=shift, order=order)
        assert upper_exact(exact) <= closed_form(variance, shift, order)
        worst = max(worst, float(closed_form(variance, shift, order) / lower_exact(exact)))
    assert worst > 390


def test_gaussian_rule_of_thumb_is_false() -> None:
    """R_a <= a D^2 / (2 variance) fails for Skellam noise at D = 1 near order 1: a certificate must not
    assume it.
    """
    assert lower_exact(skellam_renyi(Fraction(1, 4), shift=1, order=Fraction(11, 10))) > 0
    ratios = [
        float(skellam_renyi(v, shift=1, order=a)) / float(a / (2 * v))
        for v in VARIANCES
        for a in (Fraction(101, 100), Fraction(2))
    ]
    assert max(ratios) > 1


def test_renyi_refuses_bad_orders() -> None:
    """Orders of 1 or below are not Renyi orders here; shift 0 costs nothing."""
    with raises(InvalidParameterError, code="E-ORDER-RANGE"):
        skellam_renyi(Fraction(1), shift=1, order=Fraction(1))
    assert skellam_renyi(Fraction(1), shift=0, order=Fraction(2)).is_zero()


def test_kappa_is_the_largest_ratio_over_shifts() -> None:
    """kappa on a range that holds all the mass equals the largest R_a(D)/D^2 from the single-shift sums,
    in both directions.
    """
    distribution, order = Skellam(Fraction(20)), Fraction(3)
    with precision(128):
        low, high, _, _ = bulk(distribution, 100)
        logs = [mass.log() for mass in distribution.masses(low - 6, high + 6)]
        found = kappa(logs, reach=6, order=order)
    singles = [skellam_renyi(distribution.variance, shift=d, order=order) / d**2 for d in range(1, 7)]
    assert float(found) == pytest.approx(max(float(s) for s in singles), rel=1e-12)


def test_binomial_kappa_near_the_gaussian_one() -> None:
    """Bin(10^5, 1/4), shifts to 16, order 8: kappa is 1.0004 to 1.019 times that of a Gaussian of the same
    variance (reference range).
    """
    distribution = Binomial(10**5, Fraction(1, 4))
    with precision(96):
        low, high, _, _ = bulk(distribution, 200)
        logs = [mass.log() for mass in distribution.masses(low - 16, high + 16)]
        found = kappa(logs, reach=16, order=Fraction(8))
    ratio = float(found) / (8 / (2 * 10**5 * 3 / 16))
    assert 1.0004 < ratio < 1.019


def test_vector_rule_reference_value() -> None:
    """N = 10^6, g = 64, l2 bound 64 sqrt(2): delta(1.0037) is at most 1e-6 at a good order, with a
    negligible share from outside the range.
    """
    proof = build.vector_noise(
        "binomial",
        trials=10**6,
        probability="1/4",
        dimension=2,
        l2_squared=2 * 64**2,
        largest=64,
        orders=["53/2"],
        cut=230,
    )
    assert proof.certify(ApproxDP(epsilon="1.0037", delta=1)).bound <= Fraction(1, 10**6)


@pytest.mark.parametrize("family", ["skellam", "discrete-gaussian-sum", "binomial"])
def test_vector_rule_is_above_the_exact_scalar(family: str) -> None:
    """In one dimension the vector rule is above the exact hockey-stick value, and within a factor of 50 of
    it at delta about 1e-6.
    """
    distributions = {
        "skellam": (Skellam(Fraction(400)), {"variance": 400}),
        "discrete-gaussian-sum": (DiscreteGaussianSum(Fraction(100), 4), {"variance": 100, "count": 4}),
        "binomial": (Binomial(1600, Fraction(1, 2)), {"trials": 1600, "probability": "1/2"}),
    }
    distribution, noise = distributions[family]
    proof = build.vector_noise(
        family, dimension=1, l2_squared=16, largest=4, orders=[12, 20, 30], cut=120, **noise
    )  # type: ignore[arg-type]
    bound = proof.certify(ApproxDP(epsilon=1, delta=1)).bound
    exact = lattice_delta(distribution, shift=4, epsilon=Fraction(1))
    assert lower_exact(exact) < bound < 50 * upper_exact(exact)


def test_vector_rule_covers_two_dimensions_by_enumeration() -> None:
    """Every integer shift of squared length at most 5 in two dimensions, enumerated over the plane, stays
    below the certified delta.
    """
    distribution, epsilon = DiscreteGaussianSum(Fraction(4)), 0.5
    masses = {k: float(distribution.mass(k)) for k in range(-40, 41)}
    proof = build.vector_noise(
        "discrete-gaussian-sum", variance=4, dimension=2, l2_squared=5, largest=2, orders=[2, 3, 5, 8], cut=80
    )
    bound = float(proof.certify(ApproxDP(epsilon="1/2", delta=1)).bound)
    worst = 0.0
    for a, b in [(0, 1), (1, 1), (2, 0), (1, 2), (2, 1)]:
        total = 0.0
        for x, y in itertools.product(range(-36, 37), repeat=2):
            total += max(0.0, masses[x] * masses[y] - math.exp(epsilon) * masses[x - a] * masses[y - b])
        worst = max(worst, total)
    assert worst < bound < 1


def test_more_releases_and_coordinates_cost_more() -> None:
    """delta grows with the number of releases, and with the dimension through what lies outside the range."""
    claim = ApproxDP(epsilon=1, delta=1)

    def bound(times: int, dimension: int, cut: int) -> Fraction:
        proof = build.vector_noise(
            "skellam",
            variance=500,
            dimension=dimension,
            l2_squared=4,
            largest=2,
            orders=[10, 20],
            times=times,
            cut=cut,
        )
        return proof.certify(claim).bound

    assert bound(1, 10, 100) < bound(10, 10, 100)
    assert bound(1, 10, 30) < bound(1, 10**6, 30)


def test_vector_rule_refuses_what_it_cannot_sum() -> None:
    """Noise narrower than the shift, too long sums, and orders of at most 1 are refused with the reason."""
    claim = ApproxDP(epsilon=1, delta=1)
    narrow = build.vector_noise(
        "binomial", trials=10, probability="1/2", dimension=1, l2_squared=36, largest=6, orders=[2], cut=50
    )
    with pytest.raises(CertificateError, match="wider"):
        narrow.certify(claim)
    long = build.vector_noise(
        "skellam", variance=10**10, dimension=1, l2_squared=4, largest=2000, orders=[2], cut=50
    )
    with pytest.raises(CertificateError, match="at most"):
        long.certify(claim)
    with pytest.raises(CertificateError, match="above 1"):
        build.vector_noise("skellam", variance=10, dimension=1, l2_squared=4, largest=2, orders=[1])


def test_ball_arithmetic_of_the_tails() -> None:
    """The ratio bound U_n = v / (n + sqrt(n^2 + v^2)) is above I_{n+1}/I_n and U_{n+1} below, for small
    and large n.
    """
    for v, n in itertools.product((Fraction(1, 4), Fraction(3), Fraction(1000)), (0, 1, 5, 100)):
        ratio = ball(v).bessel_i(arb(n + 1)) / ball(v).bessel_i(arb(n))
        bounds = [ball(v) / (m + (arb(m) ** 2 + ball(v) ** 2).sqrt()) for m in (n, n + 1)]
        assert bounds[1] < ratio < bounds[0]
