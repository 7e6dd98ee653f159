"""Check distribution functions against brute-force sums, far in the tails, and as inverses."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import mpmath as mp
import numpy as np
import pytest
from flint import arb
from scipy import stats

from dpaudit.core.errors import InvalidParameterError, NotTractableError
from dpaudit.distributions import (
    Binomial,
    DiscreteGaussian,
    DiscreteLaplace,
    Distribution,
    Exponential,
    Gaussian,
    Gumbel,
    Laplace,
    Poisson,
    Polya,
    Skellam,
)
from dpaudit.distributions.discrete_gaussian import theta
from dpaudit.distributions.scalar import ScalarDistribution
from dpaudit.distributions.tails import SymmetricLattice
from dpaudit.kernel.ball import ball, exceeds, lower_exact, precision, upper_exact
from tests.distributions.catalogue import CASES, CONTINUOUS_CASES, INTEGER_CASES, Case, inside, name, real
from tests.errors import raises


@cache
def _masses(case: Case) -> tuple[range, list[mp.mpf]]:
    """Outcomes around the mean that hold all but about 1e-60 of the mass, with their independent
    probabilities."""
    centre, reach = round(case.distribution.mean()), 40
    ends = case.distribution.support
    while ends.upper is None and case.density(Fraction(centre + reach)) > mp.mpf(10) ** -62:
        reach = reach * 5 // 4
    low = centre - reach if ends.lower is None else int(ends.lower)
    high = centre + reach if ends.upper is None else int(ends.upper)
    window = range(low, high + 1)
    return window, [case.density(Fraction(k)) for k in window]


SMALL = tuple(case for case in INTEGER_CASES if case.distribution.variance() < 300)


@pytest.mark.parametrize("case", SMALL, ids=name)
def test_cdf_and_sf_of_integer_distributions_are_the_sums_of_the_density(case: Case) -> None:
    """cdf and sf, in floats and in balls, equal term-by-term sums of the independent density on both
    sides."""
    window, pmf = _masses(case)
    at = [math.floor(case.distribution.mean()) + d for d in (-20, -3, -1, 0, 1, 4, 25)]
    for k in at:
        left = mp.fsum(p for j, p in zip(window, pmf, strict=True) if j <= k)
        right = mp.fsum(p for j, p in zip(window, pmf, strict=True) if j > k)
        assert float(case.distribution.cdf(k)) == pytest.approx(float(left), rel=1e-12, abs=1e-300)
        assert float(case.distribution.sf(k)) == pytest.approx(float(right), rel=1e-12, abs=1e-300)
        with precision(100):
            balls = case.distribution.cdf_ball(k), case.distribution.sf_ball(k)
        for found, value in zip(balls, (left, right), strict=True):
            assert abs(float(found.mid()) - value) < mp.mpf(10) ** -15 * value + mp.mpf(10) ** -60
            assert value == 0 or _nearly_inside(value, found)


def _nearly_inside(value: mp.mpf, ball: arb) -> bool:
    """Return whether a value is in a ball, up to what the truncated sum leaves out."""
    left_out = mp.mpf(10) ** -58
    return real(lower_exact(ball)) - left_out <= value <= real(upper_exact(ball)) + left_out


@pytest.mark.parametrize("case", CONTINUOUS_CASES, ids=name)
def test_cdf_balls_of_densities_agree_with_floats(case: Case) -> None:
    """cdf_ball and sf_ball overlap the float values, and their sum encloses 1."""
    for x in case.points:
        with precision(100):
            low, high = case.distribution.cdf_ball(x), case.distribution.sf_ball(x)
            assert (low + high).contains(1)
        assert float(case.distribution.cdf(x)) == pytest.approx(float(low.mid()), rel=1e-12)
        assert float(case.distribution.sf(x)) == pytest.approx(float(high.mid()), rel=1e-12)


@pytest.mark.parametrize(
    ("distribution", "x", "upper"),
    [
        (Laplace(scale=2), 1380, True),
        (Laplace(scale=2), -1380, False),
        (Gaussian(sigma=1), 37, True),
        (Gaussian(sigma=1), -37, False),
        (Exponential(scale=3), 2070, True),
        (Gumbel(scale=1), 690, True),
        (Gumbel(scale=1), -6.5, False),
        (DiscreteLaplace(scale=10), 6900, True),
        (DiscreteLaplace(scale=10), -6900, False),
        (DiscreteGaussian(sigma2=100), 369, True),
        (DiscreteGaussian(sigma2=100), -369, False),
        (Skellam(variance=50), 370, True),
        (Skellam(variance=10**5), -11700, False),
        (Polya(shape="1/10", log_ratio=1), 685, True),
        (Polya(shape=100, ratio="1/2"), 1300, True),
        (Poisson(rate=50), 450, True),
        (Poisson(rate=400), 30, False),
        (Poisson(rate=2**20), 1071576, True),
        (Poisson(rate=2**20), 1025576, False),
        (Binomial(trials=10**6, p="1/2"), 518400, True),
        (Binomial(trials=10**6, p="1/2"), 481500, False),
        (Binomial(trials=1000, p="99/100"), 780, False),
        (Binomial(trials=10**6, p="1/10"), 91500, False),
        (Binomial(trials=10**6, p="9/10"), 908500, True),
    ],
    ids=repr,
)
def test_tails_keep_their_digits_down_to_1e_300(distribution: Distribution, x: float, upper: bool) -> None:
    """For tails from 1e-305 to 1e-100, floats have ten right digits and balls 60 bits."""
    with precision(100):
        ball = distribution.sf_ball(x) if upper else distribution.cdf_ball(x)
    got = float(distribution.sf(x) if upper else distribution.cdf(x))
    assert 1e-305 < got < 1e-100
    assert ball.rel_accuracy_bits() > 60
    assert got == pytest.approx(float(ball.mid()), rel=1e-10)


@pytest.mark.parametrize(
    ("distribution", "reference"),
    [
        (Laplace(scale=2), stats.laplace(scale=2)),
        (Gaussian(sigma=3), stats.norm(scale=3)),
        (Gumbel(scale=2), stats.gumbel_r(scale=2)),
        (Exponential(scale=2), stats.expon(scale=2)),
        (DiscreteLaplace(scale=4), stats.dlaplace(0.25)),
        (Skellam(variance=30), stats.skellam(15, 15)),
        (Polya(shape="5/2", ratio="3/4"), stats.nbinom(2.5, 0.25)),
        (Binomial(trials=50, p="1/4"), stats.binom(50, 0.25)),
        (Poisson(rate="25/2"), stats.poisson(12.5)),
    ],
    ids=lambda value: repr(value) if isinstance(value, ScalarDistribution) else type(value).__name__,
)
def test_agreement_with_scipy(distribution: Distribution, reference: stats.rv_continuous) -> None:
    """cdf, sf, mean and variance agree with scipy.stats, where scipy has the distribution."""
    x = np.arange(-40, 41)
    np.testing.assert_allclose(distribution.cdf(x), reference.cdf(x), rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(distribution.sf(x), reference.sf(x), rtol=1e-7, atol=1e-12)
    assert distribution.mean() == pytest.approx(reference.mean(), abs=1e-12)
    assert distribution.variance() == pytest.approx(reference.var(), rel=1e-12)


@pytest.mark.parametrize("case", INTEGER_CASES, ids=name)
def test_ppf_of_integer_distributions_is_the_smallest_outcome_that_reaches_the_level(case: Case) -> None:
    """ppf(q) reaches q and its predecessor does not, judged by sf above 1/2."""
    distribution = case.distribution
    q = np.concatenate([np.random.default_rng(3).random(300), [2.0**-53, 1e-100, 0.5, 1 - 2.0**-53]])
    k = distribution.ppf(q)
    assert k.dtype == np.int64
    np.testing.assert_array_equal(
        distribution.ppf(q[:40]), k[:40]
    )  # few levels are searched, many are looked up
    assert np.all(distribution.cdf(k) >= q)
    below = np.where(q <= 0.5, distribution.cdf(k - 1) < q, distribution.sf(k - 1) > 1 - q)
    assert below.all(), q[~below]


@pytest.mark.parametrize("case", INTEGER_CASES, ids=name)
def test_ppf_inverts_the_cdf_at_its_own_values(case: Case) -> None:
    """ppf inverts the cdf at outcomes of the lower half, so a draw is replayed from its level."""
    distribution = case.distribution
    k = np.arange(round(distribution.mean()) - 30, round(distribution.mean()) + 30)
    k = k[(distribution.logp(k) > -600) & (distribution.cdf(k) <= 0.5)]
    np.testing.assert_array_equal(distribution.ppf(distribution.cdf(k)), k)


@pytest.mark.parametrize("case", CONTINUOUS_CASES, ids=name)
def test_ppf_inverts_cdf_of_densities(case: Case) -> None:
    """cdf(ppf(q)) is q from 1e-200 to 1 - 2^-53, and the levels 0 and 1 are the ends of the support."""
    q = np.concatenate([np.random.default_rng(4).random(200), [1e-200, 1e-20, 0.5, 1 - 2.0**-53]])
    ends = case.distribution.support
    atol = 0 if ends.upper is None else 1e-14  # near the end of a truncation, cdf has an absolute error
    np.testing.assert_allclose(case.distribution.cdf(case.distribution.ppf(q)), q, rtol=2e-13, atol=atol)
    assert case.distribution.ppf(0) == (-math.inf if ends.lower is None else float(ends.lower))
    assert case.distribution.ppf(1) == (math.inf if ends.upper is None else float(ends.upper))


def test_ppf_refuses_the_levels_0_and_1_at_infinite_ends() -> None:
    """Levels 0 and 1 are refused at infinite ends, and give the end of a finite support."""
    with raises(InvalidParameterError, code="E-LEVEL-RANGE"):
        Skellam(variance=2).ppf([0.5, 0.0])
    with raises(InvalidParameterError, code="E-LEVEL-RANGE"):
        Polya(shape=1, ratio="1/2").ppf(1.0)
    assert Polya(shape=1, ratio="1/2").ppf(0.0) == 0
    np.testing.assert_array_equal(Binomial(trials=5000, p="1/1000").ppf([0.0, 1.0]), [0, 5000])


@pytest.mark.parametrize("case", CASES, ids=name)
def test_cdf_at_infinities_and_between_outcomes(case: Case) -> None:
    """cdf is 0 and 1 at the infinities, in floats and balls, and constant between neighbouring integers."""
    distribution = case.distribution
    np.testing.assert_array_equal(distribution.cdf([-math.inf, math.inf]), [0, 1])
    np.testing.assert_array_equal(distribution.sf([-math.inf, math.inf]), [1, 0])
    assert distribution.cdf_ball(-math.inf).is_zero()
    assert distribution.sf_ball(-math.inf) == 1
    if case.integer:
        assert distribution.cdf(1.75) == distribution.cdf(1)
        assert distribution.sf_ball(1.75).overlaps(distribution.sf_ball(1))


def test_a_table_too_long_is_refused_with_a_way_out() -> None:
    """A standard deviation of a million has no float cdf, but sf_ball works."""
    distribution = DiscreteGaussian(sigma2=10**12)
    with raises(NotTractableError, code="E-TERMS-TOO-MANY"):
        distribution.cdf(0)
    assert distribution.logp(0) == pytest.approx(-0.5 * math.log(2 * math.pi * 1e12), rel=1e-12)


@pytest.mark.parametrize("case", SMALL, ids=name)
def test_log_mgf_ball_encloses_the_sum(case: Case) -> None:
    """log E exp(tX) as a ball contains the brute-force sum, for both signs of t."""
    for t in (Fraction(1, 50), Fraction(-1, 30)):
        window, pmf = _masses(case)
        total = mp.fsum(mp.exp(real(t) * k) * p for k, p in zip(window, pmf, strict=True))
        with precision(80):
            ball = case.distribution.log_mgf_ball(t)
        assert inside(mp.log(total), ball)
        assert ball.rel_one_accuracy_bits() > 55


@pytest.mark.parametrize(
    ("distribution", "density", "t"),
    [
        (Laplace(scale=2), lambda x: mp.exp(-abs(x) / 2) / 4, "3/8"),
        (Gaussian(variance=3), lambda x: mp.npdf(x, 0, mp.sqrt(3)), "-3/4"),
        (Exponential(scale="1/2"), lambda x: 2 * mp.exp(-2 * x) if x >= 0 else mp.mpf(0), "3/2"),
        (Gumbel(scale=1), lambda x: mp.exp(-x - mp.exp(-x)), "1/4"),
    ],
    ids=["laplace", "gaussian", "exponential", "gumbel"],
)
def test_log_mgf_ball_of_densities_agrees_with_quadrature(
    distribution: Distribution, density: object, t: str
) -> None:
    """log E exp(tX) as a ball agrees with quadrature."""
    with mp.workdps(25):
        area = mp.quad(
            lambda x: mp.exp(real(t) * x) * density(x), [-1000, -80, -10, -3, 0, 3, 10, 40, 200, 1000]
        )
    assert float(distribution.log_mgf_ball(t).mid()) == pytest.approx(float(mp.log(area)), abs=1e-11)


def test_log_mgf_is_infinite_from_the_pole_on() -> None:
    """From its pole on, the log-mgf is +inf, for numbers and balls, and it is finite just inside."""
    for distribution in (Laplace(scale=10), DiscreteLaplace(scale=10)):
        for t in ("1/10", "-1/10", 3):
            assert exceeds(distribution.log_mgf_ball(t), 10**9)
        assert distribution.log_mgf_ball("0.0999").is_finite()
    for distribution in (Exponential(scale=10), Gumbel(scale=10), Polya(shape=2, log_ratio="1/10")):
        assert exceeds(distribution.log_mgf_ball("1/10"), 10**9)
        assert distribution.log_mgf_ball("-5").is_finite()
    with precision(64):
        assert exceeds(
            Laplace(scale=3).log_mgf_ball(Laplace(scale=1).cdf_ball(0)), 10**9
        )  # t = 1/2 as a ball


@pytest.mark.parametrize("distribution", [DiscreteGaussian(sigma2=9), Skellam(variance=9)], ids=repr)
@pytest.mark.parametrize("stop", [2, 5, 12])
def test_a_sum_cut_too_early_is_wide_but_still_true(
    distribution: SymmetricLattice, stop: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tail sum stopped after a few terms is a wide ball that contains the value."""
    with precision(100):
        good = distribution.sf_ball(3)
        monkeypatch.setattr(SymmetricLattice, "_reach", lambda self, k, *, bits: k + stop)
        early = distribution.sf_ball(3)
    assert early.contains(good)
    assert float(early.rad()) > 1e6 * float(good.rad())


@pytest.mark.parametrize("rate", ["1/2", "3", "4", "10"])
@pytest.mark.parametrize("centre", ["0", "1/3", "-5/2"])
def test_a_theta_series_cut_too_early_is_wide_but_still_true(
    rate: str, centre: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both forms of the theta series contain a direct sum, also with one term only."""
    exact = mp.fsum(mp.exp(-real(rate) * (k - real(centre)) ** 2) for k in range(-60, 61))
    with precision(128):
        arguments = ball(Fraction(rate)), ball(Fraction(centre))
        good = theta(*arguments)
        monkeypatch.setattr("dpaudit.distributions.discrete_gaussian._terms", lambda rate: 1)
        early = theta(*arguments)
    assert inside(exact, good)
    assert inside(exact, early)
    assert good.rel_accuracy_bits() > 118 > early.rel_accuracy_bits()
