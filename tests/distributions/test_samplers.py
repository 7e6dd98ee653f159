"""Check that samplers draw from the right distribution, with tests that detect an error of 5%."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpaudit.distributions import (
    Bernoulli,
    Binomial,
    Categorical,
    Cauchy,
    DiscreteGaussian,
    DiscreteLaplace,
    Distribution,
    Exponential,
    Gaussian,
    Gumbel,
    Laplace,
    LatticeDistribution,
    PointMass,
    Poisson,
    Polya,
    Product,
    RandomisedResponse,
    Skellam,
    Staircase,
    Student,
    Truncated,
)
from dpaudit.distributions.exact_sampling import bernoulli_exp, choose, discrete_gaussian, discrete_laplace
from tests.distributions.catalogue import CASES, Case, name
from tests.rates import FALSE_FAILURE_RATE

SIZE = 100_000


def integer_fit(distribution: LatticeDistribution, x: np.ndarray[Any, Any]) -> float:
    """Return the p-value of Pearson's chi-squared test of integer samples, with at least 20 expected per
    cell."""
    low, high = distribution.ppf(min(20 / x.size, 0.4)), distribution.ppf(1 - min(20 / x.size, 0.4))
    edges = np.unique(np.linspace(low, high, 60).round())
    cdf = np.concatenate([[0.0], distribution.cdf(edges), [1.0]])
    expected = np.diff(cdf) * x.size
    counts = np.bincount(np.searchsorted(edges, x, side="left"), minlength=expected.size).astype(float)
    counts, expected = counts[expected > 0], expected[expected > 0]
    assert counts.sum() == x.size  # nothing fell where the distribution has no mass
    if expected.size == 1:
        return 1.0
    return float(stats.chi2.sf(np.sum((counts - expected) ** 2 / expected), expected.size - 1))


def fit(distribution: Distribution, x: np.ndarray[Any, Any]) -> float:
    """Return the p-value of a goodness-of-fit test, chi-squared or Kolmogorov-Smirnov."""
    if isinstance(distribution, LatticeDistribution):
        return integer_fit(distribution, x)
    return float(stats.kstest(x, distribution.cdf).pvalue)


@pytest.mark.parametrize("case", CASES, ids=name)
def test_samples_fit_their_distribution(case: Case) -> None:
    """100 000 samples pass a goodness-of-fit test at the suite's false-failure rate."""
    x = case.distribution.sample(np.random.default_rng(20240501), (SIZE,))
    assert x.shape == (SIZE,)
    assert fit(case.distribution, x) > FALSE_FAILURE_RATE


@pytest.mark.parametrize(
    ("claimed", "drawn"),
    [
        (Laplace(scale=1), Laplace(scale="1.05")),
        (Gaussian(sigma=1), Gaussian(sigma="1.05")),
        (Exponential(scale=1), Exponential(scale="1.05")),
        (Gumbel(scale=1), Gumbel(scale="1.05")),
        (Cauchy(scale=1), Cauchy(scale="1.05")),
        (Student(df=3), Student(df=3, scale="1.05")),
        (Staircase(epsilon=1), Staircase(epsilon="1.1")),
        (Staircase(epsilon=1, gamma="1/2"), Staircase(epsilon=1, gamma="11/20")),
        (
            Truncated(Laplace(scale=1), lower=-2, upper=2),
            Truncated(Laplace(scale="1.1"), lower=-2, upper=2),
        ),
        (DiscreteLaplace(scale=10), DiscreteLaplace(scale="10.5")),
        (DiscreteGaussian(sigma2=25), DiscreteGaussian(sigma2="27.5625")),
        (Skellam(variance=100), Skellam(variance="110.25")),
        (Polya(shape=2, log_ratio="1/10"), Polya(shape=2, log_ratio="2/21")),
        (Poisson(rate=100), Poisson(rate=105)),
        (Binomial(trials=400, p="1/2"), Binomial(trials=400, p="0.525")),
        (Categorical(weights=[1, 1, 1]), Categorical(weights=[20, 21, 21])),
        (
            RandomisedResponse(symbols=4, truth=1, keep="0.5"),
            RandomisedResponse(symbols=4, truth=1, keep="0.525"),
        ),
    ],
    ids=repr,
)
def test_a_scale_five_percent_off_is_rejected(claimed: Distribution, drawn: Distribution) -> None:
    """Negative control: samples whose scale is wrong by 5% are rejected."""
    x = drawn.sample(np.random.default_rng(7), (SIZE,))
    assert fit(claimed, x) < FALSE_FAILURE_RATE


@pytest.mark.parametrize("case", CASES, ids=name)
def test_shapes_and_repeatability(case: Case) -> None:
    """sample gives size + batch_shape, scalars for (), and the same numbers for the same seed."""
    first = case.distribution.sample(np.random.default_rng(11), (3, 2))
    again = case.distribution.sample(np.random.default_rng(11), (3, 2))
    other = case.distribution.sample(np.random.default_rng(12), (300,))
    assert first.shape == (3, 2)
    assert first.dtype == (np.int64 if case.integer else np.float64)
    np.testing.assert_array_equal(first, again)
    assert np.unique(other).size > 1 or case.spread**2 < 0.02
    assert case.distribution.sample(np.random.default_rng(11)).shape == ()
    assert case.distribution.sample(np.random.default_rng(11), (0,)).shape == (0,)


@pytest.mark.parametrize(
    ("scale", "draw"),
    [(Fraction(7, 3), discrete_laplace), (Fraction(7, 3), discrete_gaussian)],
    ids=["laplace", "gaussian"],
)
def test_big_integer_arithmetic_draws_the_same_distribution(
    scale: Fraction, draw: Callable[..., Any]
) -> None:
    """Parameters beyond 64 bits use Python integers and have the same distribution."""
    nudge = Fraction(1, 10**30)
    distribution: LatticeDistribution = (
        DiscreteLaplace(scale=scale) if draw is discrete_laplace else DiscreteGaussian(sigma2=scale)
    )
    x = draw(np.random.default_rng(3), scale + nudge, (20_000,))
    assert x.dtype == np.int64
    assert integer_fit(distribution, x) > FALSE_FAILURE_RATE
    assert integer_fit(distribution, x + 1) < FALSE_FAILURE_RATE


@pytest.mark.parametrize("sigma2", [Fraction(10**10), Fraction(10**18) + Fraction(1, 3), Fraction(1, 10**6)])
def test_discrete_gaussian_at_extreme_variances(sigma2: Fraction) -> None:
    """Draws at variances beyond 64 bits have the right second moment, within 6 sigma."""
    rng = np.random.default_rng(5)
    singles = np.array([int(discrete_gaussian(rng, sigma2, ())) for _ in range(50)])
    assert np.abs(singles).max() < 8 * math.sqrt(sigma2) + 1
    n = 20_000
    x = discrete_gaussian(rng, sigma2, (n,)).astype(float)
    target = DiscreteGaussian(sigma2=sigma2).variance()
    assert abs(np.mean(x**2) - target) <= 6 * target * math.sqrt(2 / n)


@pytest.mark.parametrize(
    ("top", "bottom"),
    [(0, 5), (1, 1), (2, 7), (1, 10**25), (13, 4), (10**30, 10**30 // 3), (2**122, 3 * 2**122)],
)
def test_bernoulli_exp_has_its_rate(top: int, bottom: int) -> None:
    """The coin of Algorithm 1 succeeds with probability exp(-top/bottom), by an exact binomial test."""
    n = 50_000
    numerators = np.full(n, top, dtype=np.int64 if top < 2**62 else object)
    successes = int(bernoulli_exp(np.random.default_rng(9), numerators, bottom).sum())
    rate = math.exp(-top / bottom)
    assert stats.binomtest(successes, n, rate).pvalue > FALSE_FAILURE_RATE
    if 0 < top < bottom * 10**9:
        wrong = min(rate * 1.1 + 0.01, 0.999)
        assert rate > 0.99 or stats.binomtest(successes, n, wrong).pvalue < FALSE_FAILURE_RATE


class _Script(np.random.Generator):
    """A generator whose ``integers`` reads from a list, to produce events of probability 2^-62."""

    def __init__(self, values: list[int]) -> None:
        super().__init__(np.random.PCG64(0))
        self.values = values

    def integers(self, low: int, high: Any = None, size: Any = None, **_: Any) -> Any:
        if size is None:
            return self.values.pop(0)
        return np.array([self.values.pop(0) for _ in range(size)], dtype=np.int64)


def test_choose_settles_a_tie_of_62_bits_with_more_bits() -> None:
    """If a uniform agrees with a threshold in 62 bits, the next 62 bits decide."""
    word = 1 << 62
    third = word // 3  # 1/3 = 0.0101...: in the next 62 bits the expansion continues with the same digits

    def thresholds(bits: int) -> list[int]:
        return [(1 << bits) // 3]

    assert choose(_Script([third, third - 1]), thresholds, (1,)).item() == 0
    assert choose(_Script([third, third + 1]), thresholds, (1,)).item() == 1
    assert choose(_Script([third, third, third, third + 1]), thresholds, (1,)).item() == 1
    assert choose(_Script([third - 1]), thresholds, (1,)).item() == 0
    assert choose(_Script([third + 1]), thresholds, (1,)).item() == 1

    def two(bits: int) -> list[int]:
        return [(1 << bits) // 3, (2 << bits) // 3]

    assert choose(_Script([third, third - 1]), two, (1,)).item() == 0  # a tie with the first of several
    assert choose(_Script([two(62)[1], 0]), two, (1,)).item() == 1


def test_choose_handles_certain_and_impossible_outcomes() -> None:
    """Thresholds 0 and 1 make an outcome impossible or certain."""
    rng = np.random.default_rng(1)
    assert np.all(Categorical(weights=[0, 1, 0]).sample(rng, (5000,)) == 1)
    assert np.all(Bernoulli(p=0).sample(rng, (5000,)) == 0)
    assert np.all(Bernoulli(p=1).sample(rng, (5000,)) == 1)
    assert np.all(RandomisedResponse(symbols=3, truth=2, keep=1).sample(rng, (5000,)) == 2)
    assert 2 not in RandomisedResponse(symbols=3, truth=2, keep=0).sample(rng, (5000,))
    assert np.all(RandomisedResponse(symbols=3, truth=2, epsilon=1000).sample(rng, (500,)) == 2)
    assert np.all(Binomial(trials=0, p="1/2").sample(rng, (50,)) == 0)
    assert np.all(PointMass(7).sample(rng, (50,)) == 7)


def test_product_coordinates_keep_their_distributions() -> None:
    """Grouped sampling gives each coordinate samples of that coordinate's distribution only."""
    distributions = [
        DiscreteLaplace(scale=2),
        Bernoulli(p="1/3"),
        DiscreteLaplace(scale=2),
        Binomial(trials=9, p="1/3"),
    ]
    x = Product(distributions).sample(np.random.default_rng(2), (SIZE,))
    assert x.shape == (SIZE, 4)
    for column, distribution in enumerate(distributions):
        assert integer_fit(distribution, x[:, column]) > FALSE_FAILURE_RATE
    assert integer_fit(Bernoulli(p="0.35"), x[:, 1]) < FALSE_FAILURE_RATE
    assert abs(np.corrcoef(x[:, 0], x[:, 2])[0, 1]) < 5.5 / math.sqrt(
        SIZE
    )  # equal distributions, independent draws
