"""Check both log-densities of every distribution against an independent one in mpmath."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from dpaudit.distributions import (
    Cauchy,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Gumbel,
    Laplace,
    Polya,
    Skellam,
    Staircase,
    Student,
    Truncated,
)
from dpaudit.distributions.scalar import ScalarDistribution
from dpaudit.kernel.ball import precision
from dpaudit.replay.accounting import worst_loss
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
    ends = case.distribution.support
    high = math.inf if ends.upper is None else float(ends.upper)
    low = float(ends.lower) if ends.lower is not None else -math.inf if case.without_moments else -60 * sd
    with mp.workdps(20):
        for x in (0.25 * sd, 1.5 * sd, min(3 * sd, high) if low == 0 else -0.75 * sd):
            cuts = [low, *sorted(c for c in (-10 * sd, -2 * sd, *case.corners) if low < c < x), x]
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


@pytest.mark.parametrize("case", CASES, ids=name)
@pytest.mark.parametrize("distance", ["1/100", "17/10", "40", "-3"])
def test_the_loss_of_a_shift_is_the_largest(case: Case, distance: str) -> None:
    """No outcome of a fine grid has a larger loss than the closed form, and one comes close to it.

    Without a closed form the loss of a density is unbounded.
    """
    shift, loss = Fraction(distance), case.distribution.shift_loss(Fraction(distance))
    x = np.arange(-300, 300) if case.integer else np.linspace(-300, 300, 600_001)
    with np.errstate(invalid="ignore"):  # outcomes that are impossible under both
        losses = np.abs(case.distribution.logp(x) - case.distribution.shift(shift).logp(x))
    largest = np.nanmax(losses)
    if loss is None:
        assert case.integer or largest > 5 * float(abs(shift))
        return
    closed = float(loss if isinstance(loss, Fraction) else loss.mid())
    assert largest <= closed * (1 + 1e-9) + 1e-9
    assert largest == pytest.approx(closed, rel=1e-3)


def test_which_noise_has_a_loss_of_a_shift() -> None:
    """The families with a closed form, so that none loses it unnoticed. Nothing has a loss at distance 0."""
    having = {
        type(case.distribution) for case in CASES if case.distribution.shift_loss(Fraction(1)) is not None
    }
    assert having == {Laplace, DiscreteLaplace, Cauchy, Student, Staircase}
    assert all(case.distribution.shift_loss(Fraction(0)) == 0 for case in CASES)


@pytest.mark.parametrize("noise", [Laplace(scale=2), Gaussian(sigma="3/2"), Gumbel(scale=3)], ids=repr)
@pytest.mark.parametrize(("here", "there"), [("0", "1"), ("1/4", "-2"), ("5", "6")])
def test_bounded_noise_has_its_loss_at_an_end(noise: ScalarDistribution, here: str, there: str) -> None:
    """The closed form is the largest loss over a grid of the interval, for values in it and outside.

    For Laplace noise it is above distance / scale, the loss that the noise would have without the bounds.
    """
    one, two = (Truncated(noise.shift(Fraction(at)), lower="-1/2", upper=3) for at in (here, there))
    x = np.linspace(-0.5, 3, 10_001)
    largest = np.abs(one.logp(x) - two.logp(x)).max()
    loss = worst_loss(one, two)
    assert loss is not None
    assert float(loss) == pytest.approx(largest, rel=1e-12)
    if (here, there) == ("0", "1") and isinstance(noise, Laplace):
        assert loss > Fraction(1, 2)
    assert Truncated(Laplace(scale=7), lower="-1/2", upper=3).largest_loss(one) is None
    assert Truncated(noise, lower=-1, upper=3).largest_loss(one) is None


def test_shifts_of_several_entries_add_up() -> None:
    """The loss of a vector is the sum of its entries' losses, exact or as a ball."""
    here, there = np.array([0, 3, 1]), np.array([2, 3, 0])
    stairs = Staircase(epsilon="1/3", sensitivity=2)
    assert worst_loss(stairs.shift(here), stairs.shift(there)) == Fraction(2, 3)
    heavy = worst_loss(Cauchy(scale=1).shift(here), Cauchy(scale=1).shift(there))
    assert heavy is not None
    assert float(heavy) == pytest.approx(2 * math.asinh(1) + 2 * math.asinh(0.5), rel=1e-15)
    assert worst_loss(Gaussian(sigma=1).shift(here), Gaussian(sigma=1).shift(there)) is None
    assert worst_loss(Laplace(scale=1).shift(here), Laplace(scale=2).shift(there)) is None


def test_outcomes_of_a_truncation_are_possible_at_ends_that_are_no_floats() -> None:
    """A float just outside of the interval has no mass, in floats and in balls, and is not drawn."""
    noise = Truncated(Laplace(scale=1), lower="3/10", upper="7/10")
    ends = noise.ppf([0.0, 1.0])
    assert Fraction(ends[0]) >= Fraction(3, 10) > Fraction(0.3)
    assert Fraction(ends[1]) <= Fraction(7, 10)
    for x, possible in ((0.3, False), (float(ends[0]), True), (float(ends[1]), True)):
        assert bool(np.isfinite(noise.logp(x))) is possible
        assert noise.logp_ball(x).is_finite() is possible
