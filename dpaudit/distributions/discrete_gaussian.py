"""Define the discrete Gaussian distribution, and the theta series that normalises it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from dpaudit.core.exact import ExactLike, exact
from dpaudit.distributions.base import Argument, LogConcavity, register
from dpaudit.distributions.exact_sampling import discrete_gaussian
from dpaudit.distributions.scalar import Floats, positive_parameter, tilt
from dpaudit.distributions.tails import SymmetricLattice
from dpaudit.kernel.ball import ball, precision

__all__ = ["DiscreteGaussian", "theta"]


def theta(rate: arb, centre: arb) -> arb:
    """Return the sum over all integers k of exp(-rate (k - centre)^2), as a ball.

    ``rate`` > 0 and ``centre`` are balls. For rates below pi, Poisson's formula turns the sum into
    sqrt(pi/rate) (1 + 2 sum_{m>=1} exp(-pi^2 m^2 / rate) cos(2 pi m centre)), so that in both cases the terms
    decrease at least as fast as exp(-pi k^2). Tails are bounded by geometric series.
    """
    if rate < arb.pi():
        dual = arb.pi() ** 2 / rate
        last = _terms(dual)
        total = arb(1)
        for m in range(1, last + 1):
            total += 2 * (-dual * m * m).exp() * (2 * m * centre).cos_pi()
        return (arb.pi() / rate).sqrt() * (total + _within(2 * _rest(dual, last + 1)))
    nearest = _near_integer(centre)
    offset = centre - nearest
    if not (offset <= 1 and offset >= -1):
        return arb.nan()  # the centre is uncertain by more than one unit, so no enclosure is useful
    last = _terms(rate) + 1
    total = arb(0)
    for k in range(-last, last + 1):
        total += (-rate * (k - offset) ** 2).exp()
    # Beyond ``last``, the distances to the centre are at least last, last + 1, ... on either side.
    return total + arb(0).union(2 * _rest(rate, last))


def _terms(rate: arb) -> int:
    """Return a number of terms after which exp(-rate k^2) is below the working precision."""
    return math.isqrt(int((ctx.prec + 16) / float(rate.mid()))) + 1


def _rest(rate: arb, first: int) -> arb:
    """Return an upper bound of sum_{k >= first} exp(-rate k^2).

    Ratios of successive terms are at most exp(-rate (2 first + 1)).
    """
    return (-rate * first * first).exp() / (1 - (-rate * (2 * first + 1)).exp())


def _within(bound: arb) -> arb:
    return (-bound).union(bound)


def _near_integer(centre: arb) -> int:
    return round(Fraction(float(centre.mid())))


@lru_cache(maxsize=256)
def _log_normaliser(sigma2: Fraction) -> float:
    with precision(128):
        return float(theta(ball(1 / (2 * sigma2)), arb(0)).log().mid())


@register("discrete-gaussian")
@dataclass(frozen=True, repr=False, init=False)
class DiscreteGaussian(SymmetricLattice):
    """The discrete Gaussian distribution: P(X = k) in proportion to exp(-k^2 / (2 sigma2)) on the integers.

    Source: Canonne, Kamath and Steinke 2020. The distribution is not truncated. The sum of two such variables
    does not have a discrete Gaussian distribution. Samples are exact (``exact_sampling``).

    Parameters
    ----------
    sigma2 : exact number
        The variance parameter, in [2^-480, 2^480]. The variance itself is slightly smaller.

    Raises
    ------
    InvalidParameterError
        ``sigma2`` is out of range.
    """

    sigma2: Fraction
    forms: ClassVar[tuple[tuple[str, ...], ...]] = (("sigma2",),)
    scaling: ClassVar[dict[str, int]] = {"sigma2": 2}

    def __init__(self, *, sigma2: ExactLike) -> None:
        object.__setattr__(self, "sigma2", positive_parameter(sigma2, name="sigma2"))

    def parameters(self) -> dict[str, Fraction]:
        return {"sigma2": self.sigma2}

    def amount_over(self, family: str, stated: Mapping[str, Any]) -> Fraction | None:
        """Compare with one term of a sum. A larger variance is not this noise plus something independent."""
        if family != "discrete-gaussian-sum" or int(stated.get("count", 1)) != 1:
            return None
        return Fraction(int(self.sigma2 == exact(stated["variance"], name="variance")))

    @property
    def spread(self) -> Fraction:
        return self.sigma2

    def sample(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> NDArray[np.int64]:
        return discrete_gaussian(rng, self.sigma2, size)

    def log_normaliser_ball(self) -> arb:
        """Return an ``arb`` that contains log sum_k exp(-k^2 / (2 sigma2))."""
        return theta(ball(1 / (2 * self.sigma2)), arb(0)).log()

    def _log_pmf(self, k: Floats) -> Floats:
        return -0.5 * (k / math.sqrt(self.sigma2)) ** 2 - _log_normaliser(self.sigma2)

    def _log_pmf_ball(self, k: int) -> arb:
        return ball(-(k * k) / (2 * self.sigma2)) - self.log_normaliser_ball()

    def _pmf_run_ball(self, first: int, last: int) -> list[arb]:
        rate, constant = ball(-1 / (2 * self.sigma2)), self.log_normaliser_ball()
        return [(rate * (k * k) - constant).exp() for k in range(first, last + 1)]

    def log_mgf_ball(self, t: Argument) -> arb:
        # Complete the square: t k - k^2/(2 s) = t^2 s / 2 - (k - t s)^2 / (2 s).
        point, variance = tilt(t), ball(self.sigma2)
        rate = ball(1 / (2 * self.sigma2))
        return point**2 * variance / 2 + theta(rate, point * variance).log() - theta(rate, arb(0)).log()

    def mean(self) -> float:
        return 0.0

    def variance(self) -> float:
        # By Poisson's formula, the difference is below sigma2^2 exp(-2 pi^2 sigma2), which is under 1e-200.
        if self.sigma2 > 25:
            return float(self.sigma2)
        k = np.arange(1.0, 201.0)  # 40 standard deviations
        return 2 * float(np.sum(k**2 * np.exp(self._log_pmf(k))))

    @property
    def log_concave(self) -> LogConcavity:
        return LogConcavity(True, "log p(k) = -k^2/(2 sigma2) + constant is concave on the integers")
