"""List the distributions under test, each with an mpmath density (60 digits) independent of dpaudit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath as mp

from dpaudit.core.errors import NotTractableError
from dpaudit.distributions import (
    Bernoulli,
    Binomial,
    Categorical,
    Cauchy,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Gumbel,
    Laplace,
    Poisson,
    Polya,
    RandomisedResponse,
    Skellam,
    Staircase,
    Student,
    Truncated,
)
from dpaudit.distributions.scalar import ScalarDistribution
from dpaudit.kernel.ball import lower_exact, upper_exact

mp.mp.dps = 60


@dataclass(frozen=True)
class Case:
    """A distribution, its density (a function of an exact number), and points of its support, centre and
    tail."""

    distribution: ScalarDistribution
    density: Callable[[Fraction], Any]
    points: tuple[Any, ...]
    corners: tuple[float, ...] = (0.0,)  # where the density is not smooth, for quadrature

    @property
    def integer(self) -> bool:
        return self.distribution.support.integer

    @property
    def without_moments(self) -> bool:
        """Whether mean and variance are not defined, or have no closed form here."""
        try:
            self.distribution.variance()
        except NotTractableError:
            return True
        return False

    @property
    def spread(self) -> float:
        """The standard deviation, or the distance between the quartiles if there is none."""
        if self.without_moments:
            low, high = self.distribution.ppf([0.25, 0.75])
            return float(high - low)
        return math.sqrt(self.distribution.variance())


def real(x: Fraction | int | str) -> Any:
    """Return an exact number in mpmath."""
    exact = Fraction(x)
    return mp.mpf(exact.numerator) / exact.denominator


def _laplace(b: str) -> Callable[[Fraction], Any]:
    return lambda x: mp.exp(-abs(real(x)) / real(b)) / (2 * real(b))


def _between(density: Callable[[Fraction], Any], cdf: Callable[[Any], Any], low: str, high: str) -> Any:
    mass = cdf(real(high)) - cdf(real(low))
    return lambda x: density(x) / mass if Fraction(low) <= x <= Fraction(high) else mp.mpf(0)


def _laplace_cdf(b: str) -> Callable[[Any], Any]:
    return lambda x: (1 + mp.sign(x) * (1 - mp.exp(-abs(x) / real(b)))) / 2


def _staircase(epsilon: str, step: str, gamma: str) -> Callable[[Fraction], Any]:
    # normalised by a sum over the steps
    b, part = mp.exp(-real(epsilon)), real(gamma)
    total = mp.nsum(lambda k: b**k * part + b ** (k + 1) * (1 - part), [0, mp.inf])

    def density(x: Fraction) -> Any:
        whole, rest = divmod(abs(x), Fraction(step))
        return b ** (whole + (rest >= Fraction(gamma) * Fraction(step))) / (2 * real(step) * total)

    return density


def _gaussian(v: str) -> Callable[[Fraction], Any]:
    return lambda x: mp.npdf(real(x), 0, mp.sqrt(real(v)))


def _exponential(b: str) -> Callable[[Fraction], Any]:
    return lambda x: mp.exp(-real(x) / real(b)) / real(b)


def _gumbel(b: str) -> Callable[[Fraction], Any]:
    # the derivative of exp(-exp(-x/b)), written as cdf times rate
    return lambda x: mp.exp(-mp.exp(-real(x) / real(b))) * mp.exp(-real(x) / real(b)) / real(b)


def _student(df: str, b: str) -> Callable[[Fraction], Any]:
    # normalised by the beta function, not by the gamma function
    v = real(df)
    return lambda x: (
        (1 + (real(x) / real(b)) ** 2 / v) ** (-(v + 1) / 2)
        / (mp.sqrt(v) * mp.beta(mp.mpf(1) / 2, v / 2) * real(b))
    )


def _discrete_laplace(s: str) -> Callable[[Fraction], Any]:
    # normalised by the geometric series, not by the hyperbolic tangent
    total = 1 + 2 / (mp.exp(1 / real(s)) - 1)
    return lambda k: mp.exp(-abs(real(k)) / real(s)) / total


def _discrete_gaussian(s2: str) -> Callable[[Fraction], Any]:
    # Jacobi's theta function where its nome is small, and the dual series where it is not
    v = real(s2)
    if v < 50:
        total = mp.jtheta(3, 0, mp.exp(-1 / (2 * v)))
    else:
        total = mp.sqrt(2 * mp.pi * v) * mp.jtheta(3, 0, mp.exp(-2 * mp.pi**2 * v))
    return lambda k: mp.exp(-(real(k) ** 2) / (2 * v)) / total


def _skellam(mu: str) -> Callable[[Fraction], Any]:
    """Return the convolution of two Poisson distributions, summed term by term over the smaller count."""

    @cache
    def at(shift: int) -> Any:
        half = real(mu) / 2
        term = mp.exp(-2 * half) * half**shift / mp.factorial(shift)  # P(N = shift) P(M = 0)
        total, j = mp.mpf(0), 0
        while j <= half or term > total * mp.mpf(10) ** -70:
            total += term
            j += 1
            term *= half * half / (j * (j + shift))
        return total

    return lambda k: at(abs(int(k)))


def _polya(r: str, ratio: Any) -> Callable[[Fraction], Any]:
    # a product of the factors (r + i)/(i + 1), no gamma function
    values = [(1 - ratio) ** real(r)]

    def density(k: Fraction) -> Any:
        for i in range(len(values) - 1, int(k)):
            values.append(values[-1] * (real(r) + i) / (i + 1) * ratio)
        return values[int(k)]

    return density


def _poisson(rate: str) -> Callable[[Fraction], Any]:
    return lambda k: mp.exp(-real(rate)) * real(rate) ** int(k) / mp.factorial(int(k))


def _binomial(n: int, p: str) -> Callable[[Fraction], Any]:
    return lambda k: mp.binomial(n, int(k)) * real(p) ** int(k) * (1 - real(p)) ** (n - int(k))


def _table(*weights: int) -> Callable[[Fraction], Any]:
    return lambda k: mp.mpf(weights[int(k)]) / sum(weights)


def _response(k: int, truth: int, weight: Any) -> Callable[[Fraction], Any]:
    return lambda j: (weight if int(j) == truth else 1) / (weight + k - 1)


CASES: tuple[Case, ...] = (
    Case(Laplace(scale="3/2"), _laplace("3/2"), (0, -1.5, 2.25, 100, -1000.125)),
    Case(Gaussian(sigma=2), _gaussian("4"), (0, 0.5, -3.25, 20, -74)),
    Case(Gaussian(variance="1/3"), _gaussian("1/3"), (0, 0.125, -1, 15.5)),
    Case(Exponential(scale="1/3"), _exponential("1/3"), (0, 0.25, 3, 200)),
    Case(Gumbel(scale=2), _gumbel("2"), (0, -4.5, 1.25, 30, 1300)),
    Case(Cauchy(scale="3/2"), _student("1", "3/2"), (0, -1.5, 0.125, 40, -1e9)),
    Case(Student(df="5/2", scale=2), _student("5/2", "2"), (0, 1.5, -3.25, 500, 1e7)),
    Case(Student(df=30), _student("30", "1"), (0, -0.5, 4.5, 200)),
    Case(
        Truncated(Laplace(scale="3/2"), lower=-3, upper=3),
        _between(_laplace("3/2"), _laplace_cdf("3/2"), "-3", "3"),
        (-3, -2.5, 0, 1.25, 3),
    ),
    Case(
        Truncated(Laplace(scale=2).shift(Fraction(1, 4)), lower=0, upper="7/2"),
        _between(
            lambda x: _laplace("2")(x - Fraction(1, 4)), lambda x: _laplace_cdf("2")(x - 0.25), "0", "7/2"
        ),
        (0, 0.125, 0.25, 1.5, 3.5),
        (0.25,),
    ),
    Case(
        Truncated(Gumbel(scale=2), lower=-1, upper="5/2"),
        _between(_gumbel("2"), lambda x: mp.exp(-mp.exp(-x / 2)), "-1", "5/2"),
        (-1, -0.25, 0, 2.5),
    ),
    Case(
        Staircase(epsilon="3/2", sensitivity=2, gamma="1/4"),
        _staircase("3/2", "2", "1/4"),
        (0, 0.25, -0.5, 1.75, -2, 2.25, 77),
        tuple(k + c for k in range(-120, 120, 2) for c in (-0.5, 0, 0.5)),
    ),
    Case(DiscreteLaplace(scale="3/2"), _discrete_laplace("3/2"), (0, 1, -2, 7, -1000)),
    Case(DiscreteLaplace(scale=20), _discrete_laplace("20"), (0, 1, -25, 13000)),
    Case(DiscreteGaussian(sigma2="1/5"), _discrete_gaussian("1/5"), (0, 1, -3, 16)),
    Case(DiscreteGaussian(sigma2="7/2"), _discrete_gaussian("7/2"), (0, -1, 5, 69)),
    Case(DiscreteGaussian(sigma2=1000), _discrete_gaussian("1000"), (0, 31, -100, 1160)),
    Case(Skellam(variance="1/100"), _skellam("1/100"), (0, 1, -3, 80)),
    Case(Skellam(variance=4), _skellam("4"), (0, 1, -7, 120)),
    Case(Skellam(variance=90), _skellam("90"), (0, -9, 41, 330)),
    Case(Skellam(variance=5000), _skellam("5000"), (0, 70, -400, 2400)),
    Case(Polya(shape="1/50", log_ratio="1/2"), _polya("1/50", mp.exp(real("-1/2"))), (0, 1, 6, 1300)),
    Case(Polya(shape=3, ratio="9/10"), _polya("3", real("9/10")), (0, 1, 27, 5000)),
    Case(Polya(shape="401/2", ratio="1/3"), _polya("401/2", real("1/3")), (0, 1, 100, 1200)),
    Case(Poisson(rate="1/3"), _poisson("1/3"), (0, 1, 40)),
    Case(Poisson(rate=200), _poisson("200"), (0, 1, 200, 900)),
    Case(Poisson(rate=5000), _poisson("5000"), (4000, 5001, 6000)),
    Case(Binomial(trials=1, p="1/3"), _binomial(1, "1/3"), (0, 1)),
    Case(Binomial(trials=7, p="0.9"), _binomial(7, "0.9"), (0, 1, 6, 7)),
    Case(Binomial(trials=2000, p="1/40"), _binomial(2000, "1/40"), (0, 1, 50, 400, 2000)),
    Case(Bernoulli(p="3/10"), _binomial(1, "3/10"), (0, 1)),
    Case(Categorical(probabilities=["0.2", "0.5", "0.3"]), _table(2, 5, 3), (0, 1, 2)),
    Case(
        RandomisedResponse(symbols=5, truth=2, epsilon="3/2"), _response(5, 2, mp.exp(real("3/2"))), (0, 2, 4)
    ),
    Case(RandomisedResponse(symbols=4, truth=0, keep="1/2"), _response(4, 0, mp.mpf(3)), (0, 1, 3)),
)

INTEGER_CASES = tuple(case for case in CASES if case.integer)
CONTINUOUS_CASES = tuple(case for case in CASES if not case.integer)


def name(case: Case) -> str:
    """Return the test id of a case."""
    return repr(case.distribution)


def inside(value: Any, ball: Any) -> bool:
    """Return whether a 60-digit number is in a ball, up to the last digits of the number."""
    slack = mp.mpf(10) ** -55 * abs(value)
    return bool(real(lower_exact(ball)) - slack <= value <= real(upper_exact(ball)) + slack)
