"""Check both log-densities of every distribution against an independent one in mpmath."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from dpaudit.distributions import Cauchy, DiscreteGaussian, Polya, Skellam, Student
from dpaudit.distributions.scalar import ScalarDistribution
from dpaudit.kernel.ball import precision
from tests.distributions.catalogue import CASES, CONTINUOUS_CASES, INTEGER_CASES, Case, inside, name


@pytest.mark.parametrize("case", CASES, ids=name)
def test_float_log_density_agrees_with_mpmath(case: Case) -> None:
    """logp is within a few ulps of the 60-digit value, from the centre into the far tail."""
    got = case.distribution.logp(np.array(case.points))
    expected = [float(mp.log(case.density(Fraction(x)))) for x in case.points]
    np.testing.assert_allclose(got, expected, rtol=5e-15, atol=5e-15)


@pytest.mark.parametrize("bits", [64, 128])
@pytest.mark.parametrize("case", CASES, ids=name)
def test_ball_contains_the_log_density_and_is_narrow(case: Case, bits: int) -> None:
    """logp_ball encloses the 60-digit value, with a radius that follows the working precision."""
    for x in case.points:
        with precision(bits):
            ball = case.distribution.logp_ball(x)
        assert inside(mp.log(case.density(Fraction(x))), ball), (x, ball)
        assert ball.rel_one_accuracy_bits() >= bits - 24, (x, ball)


@pytest.mark.parametrize("case", INTEGER_CASES, ids=name)
def test_integer_distributions_sum_to_one(case: Case) -> None:
    """The float densities of a counting distribution add up to 1 over all outcomes that matter."""
    spread = math.ceil(14 * math.sqrt(case.distribution.variance())) + 200
    centre = round(case.distribution.mean())
    k = np.arange(centre - spread, centre + spread + 1)
    assert np.exp(case.distribution.logp(k)).sum() == pytest.approx(1, abs=2e-13)


@pytest.mark.parametrize("case", CONTINUOUS_CASES, ids=name)
def test_densities_integrate_to_the_cdf(case: Case) -> None:
    """The integral of the independent density up to x is the cdf at x."""
    sd = case.spread
    low = 0.0 if case.distribution.support.lower is not None else -60 * sd
    if not case.distribution.log_concave.holds:  # the tails are heavy
        low = -math.inf
    with mp.workdps(20):
        for x in (0.25 * sd, 1.5 * sd, 3 * sd if low == 0 else -0.75 * sd):
            cuts = [low, *(c for c in (-10 * sd, -2 * sd, 0.0) if low < c < x), x]
            area = mp.quad(lambda t: case.density(_exact(t)), [mp.mpf(c) for c in cuts])
            assert float(area) == pytest.approx(float(case.distribution.cdf(x)), abs=1e-13)


def _exact(t: mp.mpf) -> Fraction:
    sign, mantissa, exponent, _ = t._mpf_
    return (-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** exponent


@pytest.mark.parametrize("case", INTEGER_CASES, ids=name)
def test_no_mass_between_the_integers(case: Case) -> None:
    """An integer distribution has log-density -inf at fractions and infinities, in floats and in balls."""
    for x in (0.5, 1 + 2**-40, math.inf, -math.inf):
        assert case.distribution.logp(x) == -math.inf
        ball = case.distribution.logp_ball(x)
        assert ball < 0
        assert not ball.is_finite()


@pytest.mark.parametrize("case", CASES, ids=name)
def test_no_mass_off_the_support(case: Case) -> None:
    """The log-density is -inf outside the declared support, in floats and in balls."""
    ends = case.distribution.support
    outside = [end + step for end, step in ((ends.lower, -1), (ends.upper, 1)) if end is not None]
    assert len(outside) == (ends.lower is not None) + (ends.upper is not None)
    for x in outside:
        assert case.distribution.logp(float(x)) == -math.inf
        assert not case.distribution.logp_ball(x).is_finite()


@pytest.mark.parametrize("case", INTEGER_CASES, ids=name)
def test_lookup_of_many_outcomes_equals_one_by_one(case: Case) -> None:
    """Large arrays, evaluated by a table, give the same results as single outcomes."""
    rng = np.random.default_rng(5)
    centre = round(case.distribution.mean())
    many = rng.integers(centre - 40, centre + 40, size=5000).astype(np.float64)
    many[::50] += 0.5
    one_by_one = [float(case.distribution.logp(x)) for x in many[:200]]
    np.testing.assert_allclose(case.distribution.logp(many)[:200], one_by_one, rtol=1e-15)


@pytest.mark.parametrize(
    ("distribution", "x"),
    [
        (Skellam(variance=10**12), 5 * 10**7),
        (Skellam(variance="1e-60"), 7),
        (Skellam(variance=50), 34),  # the two sides of the switch between two formulas
        (Skellam(variance=50), 33),
        (Skellam(variance=10**5), 10**7),
        (DiscreteGaussian(sigma2=10**14), 10**8),
        (DiscreteGaussian(sigma2="1e-3"), 1),
        (Polya(shape="1e-6", log_ratio="1e-6"), 10**9),
        (Polya(shape=10**6, ratio="1/2"), 10**6),
        (Polya(shape=10**8, log_ratio="1e-3"), 10**11),
    ],
    ids=repr,
)
def test_extreme_parameters_agree_with_the_ball(distribution: ScalarDistribution, x: int) -> None:
    """At parameters where libraries overflow or lose half the digits, floats agree with balls."""
    with precision(128):
        ball = distribution.logp_ball(x)
    assert ball.rel_accuracy_bits() > 60
    assert float(distribution.logp(x)) == pytest.approx(float(ball.mid()), rel=1e-13)


def test_shares_add_up_to_a_geometric_distribution() -> None:
    """The convolution of 200 Pólya shares of shape 1/200 is the geometric distribution."""
    share = np.exp(Polya(shape="1/200", log_ratio="1/2").logp(np.arange(200)))
    spectrum = np.fft.rfft(share, 1 << 10) ** 200  # 2^10 points: wrapped-around mass is below 1e-200
    total = np.fft.irfft(spectrum, 1 << 10)[:60]
    expected = (1 - math.exp(-0.5)) * np.exp(-0.5 * np.arange(60))
    np.testing.assert_allclose(total, expected, atol=1e-14)


@pytest.mark.parametrize("noise", [Cauchy(scale=2), Student(df="5/2", scale="1/3"), Student(df=30)], ids=repr)
@pytest.mark.parametrize("distance", ["1/100", "17/10", "40"])
def test_the_loss_of_a_shift_of_heavy_tails_is_the_largest(noise: Cauchy | Student, distance: str) -> None:
    """No outcome of a fine grid has a larger loss than the closed form, and one comes close to it."""
    shift = float(Fraction(distance))
    x = np.linspace(-50, 50, 1_000_001)
    losses = noise.logp(x) - noise.logp(x - shift)
    largest = float(noise.shift_loss_ball(distance).mid())
    assert losses.max() <= largest * (1 + 1e-12) + 1e-12
    assert losses.max() == pytest.approx(largest, rel=1e-6)
