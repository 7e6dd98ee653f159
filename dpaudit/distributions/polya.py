"""Define the Pólya distribution (negative binomial with a real shape).

Users can add such noise shares so that their sum is geometric noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray
from scipy import special

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike
from dpaudit.distributions.base import Argument, LogConcavity, Support, register
from dpaudit.distributions.lattice import LatticeDistribution
from dpaudit.distributions.saddle import log_binomial_density
from dpaudit.distributions.scalar import Floats, parameter, positive_parameter, reaches, tilt
from dpaudit.kernel.ball import ball, enclose

__all__ = ["Polya"]


@register("polya")
@dataclass(frozen=True, repr=False, init=False)
class Polya(LatticeDistribution):
    """P(X = k) = Gamma(k + shape) / (k! Gamma(shape)) (1 - ratio)^shape ratio^k for k = 0, 1, 2, ...

    The sum of n such variables of shape 1/n is geometric, and the difference of two such sums is discrete
    Laplace noise of scale 1/log_ratio (Goryczka and Xiong 2017). Samples are numpy's negative binomial
    variates (Poisson with a gamma mean), whose distribution that generator computes in floats.

    Parameters
    ----------
    shape : exact number
        The shape, in [2^-480, 2^480].
    log_ratio : exact number, optional
        -log of the ratio, such as epsilon/g, in [2^-480, 2^480].
    ratio : exact number, optional
        The ratio, in (0, 1). Pass either ``log_ratio`` or ``ratio``.

    Raises
    ------
    InvalidParameterError
        Both or neither of ``log_ratio`` and ``ratio`` are given, or a number is out of range.
    """

    shape: Fraction
    log_ratio: Fraction | None
    ratio: Fraction | None
    forms: ClassVar[tuple[tuple[str, ...], ...]] = (("shape", "log_ratio"), ("shape", "ratio"))

    def __init__(
        self, *, shape: ExactLike, log_ratio: ExactLike | None = None, ratio: ExactLike | None = None
    ) -> None:
        if (log_ratio is None) == (ratio is None):
            raise InvalidParameterError(
                f"a Polya distribution must have either log_ratio or ratio, got log_ratio={log_ratio!r} "
                f"and ratio={ratio!r}.",
                code="E-PARAMETER-CHOICE",
            )
        object.__setattr__(self, "shape", positive_parameter(shape, name="shape"))
        exponent = None if log_ratio is None else positive_parameter(log_ratio, name="log_ratio")
        base = None if ratio is None else parameter(ratio, name="ratio")
        if base is not None and not 0 < base < 1:
            raise InvalidParameterError(f"ratio must be in (0, 1), got {base}.", code="E-RATIO-RANGE")
        object.__setattr__(self, "log_ratio", exponent)
        object.__setattr__(self, "ratio", base)

    def parameters(self) -> dict[str, Fraction]:
        given = {"shape": self.shape, "log_ratio": self.log_ratio, "ratio": self.ratio}
        return {key: value for key, value in given.items() if value is not None}

    @property
    def support(self) -> Support:
        return Support(lower=Fraction(0), upper=None, integer=True)

    @property
    def _exact_ratio(self) -> Fraction:
        return self.ratio or Fraction(0)  # the constructor requires it if there is no log_ratio

    def _ratios(self) -> tuple[float, float]:
        """Return the ratio and its complement, each with full relative accuracy."""
        if self.log_ratio is not None:
            exponent = float(self.log_ratio)
            return math.exp(-exponent), -math.expm1(-exponent)
        ratio = self._exact_ratio
        return float(ratio), float(1 - ratio)

    def _ratio_ball(self) -> arb:
        return ball(-self.log_ratio).exp() if self.log_ratio is not None else ball(self._exact_ratio)

    def _log_ratio_ball(self) -> arb:
        return ball(-self.log_ratio) if self.log_ratio is not None else ball(self._exact_ratio).log()

    def _log_complement_ball(self) -> arb:
        if self.log_ratio is not None:
            return (-ball(-self.log_ratio).expm1()).log()
        return ball(1 - self._exact_ratio).log()

    def sample(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> NDArray[np.int64]:
        return np.asarray(rng.negative_binomial(float(self.shape), self._ratios()[1], size=size))

    def _log_pmf(self, k: Floats) -> Floats:
        shape, (ratio, rest) = float(self.shape), self._ratios()
        y = np.maximum(k, 1.0)
        total = shape + y
        excess = shape * ratio - y * rest  # shape - (shape + k) (1 - ratio)
        density = log_binomial_density(
            np.full_like(y, shape), y, mean_x=total * rest, mean_y=total * ratio, excess=excess
        )
        return np.where(k == 0, shape * math.log(rest), density + np.log(shape / total))

    def _log_pmf_ball(self, k: int) -> arb:
        def compute() -> arb:
            shape = ball(self.shape)
            rising = (shape + k).lgamma() - shape.lgamma() - arb(k + 1).lgamma() if k else arb(0)
            return rising + shape * self._log_complement_ball() + k * self._log_ratio_ball()

        return enclose(compute, bits=ctx.prec - 8, start=ctx.prec + 16)

    def _below(self, k: Floats) -> Floats:
        return self._tail(k, upper=False)

    def _above(self, k: Floats) -> Floats:
        return self._tail(k, upper=True)

    def _tail(self, k: Floats, *, upper: bool) -> Floats:
        """Return P(X > k) = I_ratio(k+1, shape) or its complement, from ratio or 1 - ratio, the smaller."""
        shape, (ratio, rest) = float(self.shape), self._ratios()
        inside = np.clip(k, 0.0, 2.0**62) + 1
        if ratio <= 0.5:
            function = special.betainc if upper else special.betaincc
            value = function(inside, shape, ratio)
        else:
            function = special.betaincc if upper else special.betainc
            value = function(shape, inside, rest)
        value = np.where(np.isposinf(k), 0.0 if upper else 1.0, value)
        return np.where(k < 0, 1.0 if upper else 0.0, value)

    def _below_ball(self, k: int) -> arb:
        if k < 0:
            return arb(0)
        return self._beta_ball(lambda: self._log_complement_ball().exp(), ball(self.shape), arb(k + 1))

    def _above_ball(self, k: int) -> arb:
        return arb(1) if k < 0 else self._beta_ball(self._ratio_ball, arb(k + 1), ball(self.shape))

    @staticmethod
    def _beta_ball(argument: Callable[[], arb], a: arb, b: arb) -> arb:
        return enclose(
            lambda: argument().beta_lower(a, b, regularized=1), bits=ctx.prec - 8, start=ctx.prec + 16
        )

    def log_mgf_ball(self, t: Argument) -> arb:
        rest = -(self._log_ratio_ball() + tilt(t)).expm1()
        if rest <= 0 or (self.log_ratio is not None and reaches(t, self.log_ratio)):
            return arb.pos_inf()
        return ball(self.shape) * (self._log_complement_ball() - rest.log())

    def mean(self) -> float:
        ratio, rest = self._ratios()
        return float(self.shape) * ratio / rest

    def variance(self) -> float:
        ratio, rest = self._ratios()
        return float(self.shape) * ratio / rest**2

    @property
    def log_concave(self) -> LogConcavity:
        if self.shape >= 1:
            return LogConcavity(
                True, "p(k+1)/p(k) = ratio (k + shape)/(k + 1) falls with k, since shape >= 1"
            )
        return LogConcavity(False, "p(k+1)/p(k) = ratio (k + shape)/(k + 1) rises with k, since shape < 1")
