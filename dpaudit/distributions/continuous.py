"""Define distributions with a density: Laplace, Gaussian, exponential and Gumbel.

All have their usual centre, and ``shift`` moves them. The formulas are from Johnson, Kotz and Balakrishnan,
Continuous Univariate Distributions, 1994 and 1995, in forms that keep relative accuracy in the tails. Samples
are numpy's floats. The output distribution of a *program* that prints them differs, because floats have
particular bit patterns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from flint import arb
from scipy import special

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike
from dpaudit.distributions.base import Argument, BaseMeasure, LogConcavity, Support, register
from dpaudit.distributions.scalar import Floats, ScalarDistribution, positive_parameter, reaches, tilt
from dpaudit.kernel.ball import ball
from dpaudit.kernel.t2 import noise

__all__ = ["Exponential", "Gaussian", "Gumbel", "Laplace"]


class _Density(ScalarDistribution):
    """A distribution with a density with respect to Lebesgue measure, on the whole line by default."""

    base_measure: ClassVar[BaseMeasure] = BaseMeasure.LEBESGUE

    @property
    def support(self) -> Support:
        return Support(lower=None, upper=None, integer=False)


@register("laplace")
@dataclass(frozen=True, repr=False, init=False)
class Laplace(_Density):
    """The Laplace distribution, with density exp(-|x|/scale) / (2 scale).

    Source: Dwork, McSherry, Nissim and Smith 2006, section 3.

    Parameters
    ----------
    scale : exact number
        The scale in units of the outcome, in [2^-480, 2^480]. In the Laplace mechanism it is
        sensitivity / epsilon.

    Raises
    ------
    InvalidParameterError
        ``scale`` is out of range.
    """

    scale: Fraction
    forms: ClassVar[tuple[tuple[str, ...], ...]] = (("scale",),)
    scaling: ClassVar[dict[str, int]] = {"scale": 1}
    divisible: ClassVar[bool] = True

    def __init__(self, *, scale: ExactLike) -> None:
        object.__setattr__(self, "scale", positive_parameter(scale, name="scale"))

    def parameters(self) -> dict[str, Fraction]:
        return {"scale": self.scale}

    def sample(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> Floats:
        return np.asarray(rng.laplace(scale=float(self.scale), size=size))

    def _logp(self, x: Floats) -> Floats:
        scale = float(self.scale)
        return -np.abs(x) / scale - math.log(2 * scale)

    def _logp_ball(self, x: Fraction) -> arb:
        return ball(-abs(x) / self.scale) - ball(2 * self.scale).log()

    def _cdf(self, x: Floats) -> Floats:
        tail = 0.5 * np.exp(-np.abs(x) / float(self.scale))
        return np.where(x < 0, tail, 1 - tail)

    def _sf(self, x: Floats) -> Floats:
        return self._cdf(-x)

    def _ppf(self, q: Floats) -> Floats:
        tail = np.log(2 * np.minimum(q, 1 - q))  # 1 - q (for q >= 1/2) and the doubling are exact
        return np.asarray(np.where(q < 0.5, tail, -tail) * float(self.scale))

    def _cdf_ball(self, x: Fraction) -> arb:
        tail = ball(-abs(x) / self.scale).exp() / 2
        return tail if x < 0 else 1 - tail

    def _sf_ball(self, x: Fraction) -> arb:
        return self._cdf_ball(-x)

    def log_mgf_ball(self, t: Argument) -> arb:
        if reaches(t, 1 / self.scale, both=True):
            return arb.pos_inf()
        return noise.Laplace(self.scale).cumulant(tilt(t))

    def shift_loss(self, distance: Fraction) -> Fraction:
        return abs(distance) / self.scale

    def mean(self) -> float:
        return 0.0

    def variance(self) -> float:
        return float(2 * self.scale**2)

    @property
    def log_concave(self) -> LogConcavity:
        return LogConcavity(True, "the log-density -|x|/scale + constant is concave")


@register("gaussian")
@dataclass(frozen=True, repr=False, init=False)
class Gaussian(_Density):
    """The Gaussian distribution with mean 0.

    The attribute ``sigma2`` holds the variance, so that sums of Gaussians stay exact.

    Parameters
    ----------
    sigma : exact number, optional
        The standard deviation, in [2^-480, 2^480].
    variance : exact number, optional
        The variance, in [2^-480, 2^480]. Pass either ``sigma`` or ``variance``.

    Raises
    ------
    InvalidParameterError
        Both or neither are given, or the number is out of range.
    """

    sigma2: Fraction
    forms: ClassVar[tuple[tuple[str, ...], ...]] = (("variance",), ("sigma",))
    scaling: ClassVar[dict[str, int]] = {"variance": 2}
    divisible: ClassVar[bool] = True

    def __init__(self, *, sigma: ExactLike | None = None, variance: ExactLike | None = None) -> None:
        if sigma is not None and variance is None:
            squared = positive_parameter(sigma, name="sigma") ** 2
        elif variance is not None and sigma is None:
            squared = positive_parameter(variance, name="variance")
        else:
            raise InvalidParameterError(
                f"a Gaussian must have either sigma or variance, got sigma={sigma!r} and "
                f"variance={variance!r}.",
                code="E-PARAMETER-CHOICE",
            )
        object.__setattr__(self, "sigma2", squared)

    def parameters(self) -> dict[str, Fraction]:
        return {"variance": self.sigma2}

    @property
    def spread(self) -> Fraction:
        return self.sigma2

    @property
    def gaussian_variance(self) -> Fraction:
        return self.sigma2

    @property
    def _sigma(self) -> float:
        return math.sqrt(self.sigma2)

    def sample(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> Floats:
        return np.asarray(rng.normal(scale=self._sigma, size=size))

    def _logp(self, x: Floats) -> Floats:
        sigma = self._sigma
        return -0.5 * (x / sigma) ** 2 - math.log(sigma * math.sqrt(2 * math.pi))

    def _logp_ball(self, x: Fraction) -> arb:
        return ball(-x * x / (2 * self.sigma2)) - (2 * arb.pi() * ball(self.sigma2)).log() / 2

    def _cdf(self, x: Floats) -> Floats:
        return np.asarray(special.ndtr(x / self._sigma))

    def _sf(self, x: Floats) -> Floats:
        return self._cdf(-x)

    def _ppf(self, q: Floats) -> Floats:
        return np.asarray(special.ndtri(q) * self._sigma)

    def _cdf_ball(self, x: Fraction) -> arb:
        return (ball(-x) / ball(2 * self.sigma2).sqrt()).erfc() / 2

    def _sf_ball(self, x: Fraction) -> arb:
        return self._cdf_ball(-x)

    def log_mgf_ball(self, t: Argument) -> arb:
        return noise.Gaussian(self.sigma2).cumulant(tilt(t))

    def mean(self) -> float:
        return 0.0

    def variance(self) -> float:
        return float(self.sigma2)

    @property
    def log_concave(self) -> LogConcavity:
        return LogConcavity(True, "the log-density is a concave parabola")


@register("exponential")
@dataclass(frozen=True, repr=False, init=False)
class Exponential(_Density):
    """The one-sided exponential distribution, with density exp(-x/scale) / scale on x >= 0.

    Parameters
    ----------
    scale : exact number
        The scale in units of the outcome, in [2^-480, 2^480].

    Raises
    ------
    InvalidParameterError
        ``scale`` is out of range.
    """

    scale: Fraction
    forms: ClassVar[tuple[tuple[str, ...], ...]] = (("scale",),)
    scaling: ClassVar[dict[str, int]] = {"scale": 1}

    def __init__(self, *, scale: ExactLike) -> None:
        object.__setattr__(self, "scale", positive_parameter(scale, name="scale"))

    def parameters(self) -> dict[str, Fraction]:
        return {"scale": self.scale}

    def sample(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> Floats:
        return np.asarray(rng.exponential(scale=float(self.scale), size=size))

    def _logp(self, x: Floats) -> Floats:
        scale = float(self.scale)
        return np.where(x < 0, -np.inf, -x / scale - math.log(scale))

    def _logp_ball(self, x: Fraction) -> arb:
        return arb.neg_inf() if x < 0 else ball(-x / self.scale) - ball(self.scale).log()

    def _cdf(self, x: Floats) -> Floats:
        return -np.expm1(-np.maximum(x, 0) / float(self.scale))

    def _sf(self, x: Floats) -> Floats:
        return np.exp(-np.maximum(x, 0) / float(self.scale))

    def _ppf(self, q: Floats) -> Floats:
        return -float(self.scale) * np.log1p(-q)

    def _cdf_ball(self, x: Fraction) -> arb:
        return -ball(-max(x, Fraction(0)) / self.scale).expm1()

    def _sf_ball(self, x: Fraction) -> arb:
        return ball(-max(x, Fraction(0)) / self.scale).exp()

    def log_mgf_ball(self, t: Argument) -> arb:
        if reaches(t, 1 / self.scale):
            return arb.pos_inf()
        return noise.Exponential(self.scale).cumulant(tilt(t))

    def mean(self) -> float:
        return float(self.scale)

    def variance(self) -> float:
        return float(self.scale**2)

    @property
    def support(self) -> Support:
        return Support(lower=Fraction(0), upper=None, integer=False)

    @property
    def log_concave(self) -> LogConcavity:
        return LogConcavity(True, "the log-density is linear on a half-line")


@register("gumbel")
@dataclass(frozen=True, repr=False, init=False)
class Gumbel(_Density):
    """The Gumbel distribution with mode 0: P(X <= x) = exp(-exp(-x/scale)).

    The argmax of scores with this noise is the exponential mechanism (Gumbel 1954; McSherry and Talwar 2007).

    Parameters
    ----------
    scale : exact number
        The scale in units of the outcome, in [2^-480, 2^480].

    Raises
    ------
    InvalidParameterError
        ``scale`` is out of range.
    """

    scale: Fraction
    forms: ClassVar[tuple[tuple[str, ...], ...]] = (("scale",),)
    scaling: ClassVar[dict[str, int]] = {"scale": 1}

    def __init__(self, *, scale: ExactLike) -> None:
        object.__setattr__(self, "scale", positive_parameter(scale, name="scale"))

    def parameters(self) -> dict[str, Fraction]:
        return {"scale": self.scale}

    def sample(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> Floats:
        return np.asarray(rng.gumbel(scale=float(self.scale), size=size))

    def _logp(self, x: Floats) -> Floats:
        scale = float(self.scale)
        z = x / scale
        return -(z + np.exp(-z)) - math.log(scale)

    def _logp_ball(self, x: Fraction) -> arb:
        minus_z = ball(-x / self.scale)
        return minus_z - minus_z.exp() - ball(self.scale).log()

    def _cdf(self, x: Floats) -> Floats:
        return np.exp(-np.exp(-x / float(self.scale)))

    def _sf(self, x: Floats) -> Floats:
        return -np.expm1(-np.exp(-x / float(self.scale)))

    def _ppf(self, q: Floats) -> Floats:
        return -float(self.scale) * np.log(-np.log(q))

    def _cdf_ball(self, x: Fraction) -> arb:
        return (-ball(-x / self.scale).exp()).exp()

    def _sf_ball(self, x: Fraction) -> arb:
        return -(-ball(-x / self.scale).exp()).expm1()

    def log_mgf_ball(self, t: Argument) -> arb:
        return arb.pos_inf() if reaches(t, 1 / self.scale) else (1 - tilt(t) * ball(self.scale)).lgamma()

    def mean(self) -> float:
        return float(self.scale) * float(np.euler_gamma)

    def variance(self) -> float:
        return float(self.scale**2) * math.pi**2 / 6

    @property
    def log_concave(self) -> LogConcavity:
        return LogConcavity(True, "the log-density -z - exp(-z) + constant is concave")
