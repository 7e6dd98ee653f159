"""Define distributions whose density falls like a power of the distance: Cauchy and Student.

The density of Student's distribution with ``df`` degrees of freedom and scale b is proportional to
(1 + x^2 / (df b^2))^(-(df + 1) / 2). The Cauchy distribution has df = 1.

A shift by D > 0 has a bounded loss. With w = x / (b sqrt(df)) and e = D / (b sqrt(df)), the ratio of
densities to the power 2 / (df + 1) is (1 + (w - e)^2) / (1 + w^2). Its derivative is 0 where
w^2 - e w - 1 = 0, and its maximum over w is ((e + sqrt(e^2 + 4)) / 2)^2 = exp(2 asinh(e / 2)).
Hence the largest loss is (df + 1) asinh(D / (2 b sqrt(df))), at a finite outcome. Nissim, Raskhodnikova and
Smith 2007 use such noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
from flint import arb
from scipy import special

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike
from dpaudit.distributions.base import BaseMeasure, LogConcavity, Support, register
from dpaudit.distributions.scalar import Floats, ScalarDistribution, positive_parameter
from dpaudit.kernel.ball import ball, precision

__all__ = ["Cauchy", "Student"]


class _Heavy(ScalarDistribution):
    """A symmetric distribution with a density that falls like a power, and with no moments that are used."""

    base_measure: ClassVar[BaseMeasure] = BaseMeasure.LEBESGUE
    scale: Fraction

    def _sf(self, x: Floats) -> Floats:
        return self._cdf(-x)

    def _sf_ball(self, x: Fraction) -> arb:
        return self._cdf_ball(-x)

    def shift_loss(self, distance: Fraction) -> arb:
        df = self._degrees
        e = ball(abs(distance) / self.scale) / ball(df).sqrt()
        return ball(df + 1) * (e / 2).asinh()

    @property
    def _degrees(self) -> Fraction:
        return Fraction(1)

    @property
    def support(self) -> Support:
        return Support(lower=None, upper=None, integer=False)

    @property
    def log_concave(self) -> LogConcavity:
        return LogConcavity(False, "the density falls like a power, so its logarithm is convex in the tails")


@register("cauchy")
@dataclass(frozen=True, repr=False, init=False)
class Cauchy(_Heavy):
    """The Cauchy distribution, with density scale / (pi (scale^2 + x^2)). It has no mean.

    Parameters
    ----------
    scale : exact number
        Half the distance between the quartiles, in units of the outcome, in [2^-480, 2^480].

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
        return np.asarray(rng.standard_cauchy(size=size) * float(self.scale))

    def _logp(self, x: Floats) -> Floats:
        scale = float(self.scale)
        return np.asarray(-2 * np.log(np.hypot(1, x / scale)) - np.log(np.pi * scale))

    def _logp_ball(self, x: Fraction) -> arb:
        z = x / self.scale
        return -(ball(1 + z * z) * arb.pi() * ball(self.scale)).log()

    def _cdf(self, x: Floats) -> Floats:
        return np.asarray(np.arctan2(1, -x / float(self.scale)) / np.pi)

    def _ppf(self, q: Floats) -> Floats:
        tail = 1 / np.tan(np.pi * np.minimum(q, 1 - q))  # 1 - q is exact for q >= 1/2
        return np.asarray(np.where(q < 0.5, -tail, tail) * float(self.scale))

    def _cdf_ball(self, x: Fraction) -> arb:
        return arb.atan2(arb(1), ball(-x / self.scale)) / arb.pi()


@register("student")
@dataclass(frozen=True, repr=False, init=False)
class Student(_Heavy):
    """Student's t distribution around 0 (Student 1908).

    Parameters
    ----------
    df : exact number
        The degrees of freedom, in [1/100, 1000].
    scale : exact number
        The factor of the standard distribution, in [2^-480, 2^480] (1).

    Raises
    ------
    InvalidParameterError
        A parameter is out of range.
    """

    df: Fraction
    scale: Fraction
    forms: ClassVar[tuple[tuple[str, ...], ...]] = (("df", "scale"),)
    scaling: ClassVar[dict[str, int]] = {"scale": 1}

    def __init__(self, *, df: ExactLike, scale: ExactLike = 1) -> None:
        degrees = positive_parameter(df, name="df")
        if not Fraction(1, 100) <= degrees <= 1000:
            raise InvalidParameterError(
                f"df must be in [1/100, 1000], got {degrees}.", code="E-PARAMETER-RANGE"
            )
        object.__setattr__(self, "df", degrees)
        object.__setattr__(self, "scale", positive_parameter(scale, name="scale"))

    def parameters(self) -> dict[str, Fraction]:
        return {"df": self.df, "scale": self.scale}

    @property
    def _degrees(self) -> Fraction:
        return self.df

    def sample(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> Floats:
        return np.asarray(rng.standard_t(float(self.df), size=size) * float(self.scale))

    def _logp(self, x: Floats) -> Floats:
        df = float(self.df)
        w = np.abs(x) / (float(self.scale) * np.sqrt(df))
        near = np.log1p(np.minimum(w, 1) ** 2)
        growth = np.where(w < 1, near, 2 * np.log(np.hypot(1, w)))
        return np.asarray(_log_height(self.df, self.scale) - (df + 1) / 2 * growth)

    def _logp_ball(self, x: Fraction) -> arb:
        w2 = x * x / (self.scale**2 * self.df)
        return _log_height_ball(self.df, self.scale) - ball((self.df + 1) / 2) * ball(1 + w2).log()

    def _cdf(self, x: Floats) -> Floats:
        df, t = float(self.df), np.abs(x) / float(self.scale)
        t2, small = t * t, np.minimum(t, 1) ** 2
        far = special.betainc(df / 2, 0.5, df / (df + t2)) / 2  # stays accurate in the tail
        tail = np.where(t2 > 1, far, 0.5 - special.betainc(0.5, df / 2, small / (df + small)) / 2)
        return np.where(x < 0, tail, 1 - tail)

    def _ppf(self, q: Floats) -> Floats:
        # With W = df / (df + T^2), P(|T| > t) is the incomplete beta function at w. Use it, or its complement
        # near the centre. scipy's stdtrit fails in the far tail.
        half, tail = float(self.df) / 2, 2 * np.minimum(q, 1 - q)  # 1 - q is exact for q >= 1/2
        far, near = special.betaincinv(half, 0.5, tail), special.betaincinv(0.5, half, 1 - tail)
        t2 = np.where(tail < 0.5, (1 - far) / far, near / (1 - near)) * float(self.df)
        return np.asarray(np.copysign(np.sqrt(t2), q - 0.5) * float(self.scale))

    def _cdf_ball(self, x: Fraction) -> arb:
        t2, half = (x / self.scale) ** 2, self.df / 2
        if t2 > 1:  # the mass beyond |x|, which stays accurate in the tail
            tail = ball(self.df / (self.df + t2)).beta_lower(ball(half), arb("0.5"), regularized=True) / 2
        else:
            inside = ball(t2 / (self.df + t2)).beta_lower(arb("0.5"), ball(half), regularized=True)
            tail = (1 - inside) / 2
        return tail if x < 0 else 1 - tail


def _log_height_ball(df: Fraction, scale: Fraction) -> arb:
    """Return the log-density at 0."""
    gammas = ball((df + 1) / 2).lgamma() - ball(df / 2).lgamma()
    return gammas - (ball(df * scale * scale) * arb.pi()).log() / 2


@lru_cache(maxsize=256)
def _log_height(df: Fraction, scale: Fraction) -> float:
    """Return the log-density at 0 as a float. In floats the gamma functions would cancel."""
    with precision(128):
        return float(_log_height_ball(df, scale).mid())
