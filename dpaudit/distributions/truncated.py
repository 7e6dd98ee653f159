"""Define a distribution with a density under the condition that the outcome is in an interval.

Laplace noise on [-A, A] is the truncated Laplace distribution (Geng, Ding, Guo and Kumar 2020). Laplace noise
around a value, on the interval of possible values, is the bounded Laplace mechanism (Holohan, Antonatos,
Braghin and Mac Aonghusa 2018).

A shift of a truncated distribution has no finite loss, because the interval moves. Two distributions on the
same interval [l, u], made from shifts of one log-concave density f, have a finite loss, which is attained at
l or u: for a > 0, log f(x - a) - log f(x) does not decrease in x, because log f is concave.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from flint import arb

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, exact_str
from dpaudit.distributions.base import (
    BaseMeasure,
    Distribution,
    LogConcavity,
    Support,
    distribution_from_json,
    register,
)
from dpaudit.distributions.scalar import Floats, ScalarDistribution, parameter
from dpaudit.distributions.shifted import Shifted
from dpaudit.kernel.ball import precision

__all__ = ["Truncated"]

#: The smallest mass of an interval. Probabilities in floats have an absolute error of 2^-52 over this mass.
_SMALLEST_MASS = Fraction(1, 2**20)


@register("truncated")
@dataclass(frozen=True, repr=False, init=False)
class Truncated(ScalarDistribution):
    """The distribution of ``base`` under the condition that the outcome is in [``lower``, ``upper``].

    Parameters
    ----------
    base : Distribution
        A scalar distribution with a density and a cdf, or a shift of one.
    lower, upper : exact number
        The ends of the interval, in units of the outcome.

    Raises
    ------
    InvalidParameterError
        ``base`` is not such a distribution, the ends are not in order, or ``base`` has a mass below 2^-20 on
        the interval.
    """

    base: Distribution
    lower: Fraction
    upper: Fraction
    base_measure: ClassVar[BaseMeasure] = BaseMeasure.LEBESGUE

    def __init__(self, base: Distribution, *, lower: ExactLike, upper: ExactLike) -> None:
        inner = base.base if isinstance(base, Shifted) and not base.batch_shape else base
        if not isinstance(inner, ScalarDistribution) or base.base_measure is not BaseMeasure.LEBESGUE:
            raise InvalidParameterError(
                f"only a scalar distribution with a density can be truncated, got {base!r}.",
                code="E-DISTRIBUTION-NOT-SCALAR",
            )
        ends = parameter(lower, name="lower"), parameter(upper, name="upper")
        if not ends[0] < ends[1]:
            raise InvalidParameterError(
                f"lower must be less than upper, got {ends[0]} and {ends[1]}.", code="E-INTERVAL-ORDER"
            )
        object.__setattr__(self, "base", base)
        object.__setattr__(self, "lower", ends[0])
        object.__setattr__(self, "upper", ends[1])
        if not self._floats[0] < self._floats[1]:
            raise InvalidParameterError(
                f"an interval must contain two floats, got [{ends[0]}, {ends[1]}].", code="E-INTERVAL-ORDER"
            )
        if not _mass(self) >= _SMALLEST_MASS:
            raise InvalidParameterError(
                f"the mass of an interval must be at least 2^-20, got {_mass(self)}.", code="E-INTERVAL-MASS"
            )

    def parameters(self) -> dict[str, Fraction]:
        return {"lower": self.lower, "upper": self.upper}

    @property
    def support(self) -> Support:
        return Support(lower=self.lower, upper=self.upper, integer=False)

    @property
    def _floats(self) -> tuple[float, float]:
        """The smallest and the largest float in the interval."""
        low, high = float(self.lower), float(self.upper)
        return (
            low if low >= self.lower else math.nextafter(low, math.inf),
            high if high <= self.upper else math.nextafter(high, -math.inf),
        )

    def sample(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> Floats:
        return np.asarray(self.ppf(rng.random(size)))

    def _logp(self, x: Floats) -> Floats:
        low, high = self._floats
        inside = (x >= low) & (x <= high)
        return np.where(inside, self.base.logp(x) - np.log(_mass(self)), -np.inf)

    def _logp_ball(self, x: Fraction) -> arb:
        if not self.lower <= x <= self.upper:
            return arb.neg_inf()
        return self.base.logp_ball(x) - self._mass_ball().log()

    def _cdf(self, x: Floats) -> Floats:
        return np.clip((self.base.cdf(x) - self.base.cdf(self._floats[0])) / _mass(self), 0, 1)

    def _sf(self, x: Floats) -> Floats:
        return np.clip((self.base.sf(x) - self.base.sf(self._floats[1])) / _mass(self), 0, 1)

    def _ppf(self, q: Floats) -> Floats:
        low, high = self._floats
        found = self.base.ppf(np.minimum(self.base.cdf(low) + q * _mass(self), 1))
        return np.where(q == 1, high, np.clip(found, low, high))

    def _cdf_ball(self, x: Fraction) -> arb:
        return self._between(self.lower, max(x, self.lower)) / self._mass_ball() if x < self.upper else arb(1)

    def _sf_ball(self, x: Fraction) -> arb:
        return self._between(min(x, self.upper), self.upper) / self._mass_ball() if x > self.lower else arb(1)

    def _mass_ball(self) -> arb:
        return self._between(self.lower, self.upper)

    def _between(self, start: Fraction, end: Fraction) -> arb:
        """Return the mass of [start, end] under ``base``, as a difference of the smaller tails."""
        below = self.base.cdf_ball(end) - self.base.cdf_ball(start)
        above = self.base.sf_ball(start) - self.base.sf_ball(end)
        return below if below.rad() < above.rad() else above

    def largest_loss(self, other: Distribution) -> arb | None:
        """Return the loss against a shift of the same noise, truncated to the same interval."""
        if not isinstance(other, Truncated) or self.support != other.support:
            return None
        one, two = (self.base.shift(0), other.base.shift(0))
        assert isinstance(one, Shifted)
        assert isinstance(two, Shifted)
        if one.base != two.base or not one.log_concave.holds:
            return None
        losses = [abs(self.logp_ball(end) - other.logp_ball(end)) for end in (self.lower, self.upper)]
        return losses[0].max(losses[1]) if all(loss.is_finite() for loss in losses) else None

    @property
    def log_concave(self) -> LogConcavity:
        return self.base.log_concave

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "base": self.base.to_json()}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        if data.keys() != {"law", "base", "lower", "upper"} or not all(
            isinstance(data[end], str) for end in ("lower", "upper")
        ):
            raise InvalidParameterError(
                f"a truncated distribution must have base, lower and upper, got {sorted(data)}.",
                code="E-DISTRIBUTION-FIELDS",
            )
        return cls(distribution_from_json(data["base"]), lower=data["lower"], upper=data["upper"])

    def __repr__(self) -> str:
        return f"Truncated({self.base!r}, lower={exact_str(self.lower)!r}, upper={exact_str(self.upper)!r})"


@lru_cache(maxsize=256)
def _mass(distribution: Truncated) -> float:
    with precision(128):
        return float(distribution._mass_ball().mid())
