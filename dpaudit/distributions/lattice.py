"""Define the base class of distributions on the integers, and the discrete Laplace distribution.

Such a distribution has log-density -inf at every number that is not an integer, and its cdf is a step
function on the reals. Drawn outcomes are ``int64``. Evaluated outcomes may be floats, and a float above 2^53
counts as its exact integer value.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError, NotTractableError
from dpaudit.core.exact import ExactLike
from dpaudit.distributions.base import Argument, BaseMeasure, LogConcavity, Support, register
from dpaudit.distributions.exact_sampling import discrete_laplace
from dpaudit.distributions.scalar import Floats, ScalarDistribution, positive_parameter, reaches, tilt
from dpaudit.kernel.ball import ball, precision, upper
from dpaudit.kernel.t2 import noise

__all__ = ["DiscreteLaplace", "LatticeDistribution"]

#: Inverse cdfs search within this distance of 0, because floats do not represent all larger integers.
_FAR = 2.0**53

#: From this size, log-densities in a narrow range are looked up in a table.
_LOOKUP_SIZE = 4096

#: Up to this many levels, an inverse cdf is computed by bisection for each level.
_FEW_LEVELS = 64


class LatticeDistribution(ScalarDistribution):
    """A distribution on the integers. A subclass defines the density and both tails, in floats and in balls.

    ``_log_pmf``, ``_below`` (P(X <= k)) and ``_above`` (P(X > k)) receive integers as a float array, and the
    two tails also infinities. The methods in balls receive one Python integer.
    """

    base_measure: ClassVar[BaseMeasure] = BaseMeasure.COUNTING

    @abstractmethod
    def _log_pmf(self, k: Floats) -> Floats: ...

    @abstractmethod
    def _log_pmf_ball(self, k: int) -> arb: ...

    @abstractmethod
    def _below(self, k: Floats) -> Floats: ...

    @abstractmethod
    def _above(self, k: Floats) -> Floats: ...

    @abstractmethod
    def _below_ball(self, k: int) -> arb: ...

    @abstractmethod
    def _above_ball(self, k: int) -> arb: ...

    def _pmf_ball(self, k: int) -> arb:
        """Return P(X = k)."""
        return self._log_pmf_ball(k).exp()

    @property
    def support(self) -> Support:
        return Support(lower=None, upper=None, integer=True)

    def _on_support(self, k: Floats) -> NDArray[np.bool_]:
        ends = self.support
        inside = np.ones(k.shape, dtype=bool)
        if ends.lower is not None:
            inside &= k >= float(ends.lower)
        if ends.upper is not None:
            inside &= k <= float(ends.upper)
        return inside

    def _logp(self, x: Floats) -> Floats:
        possible = (np.floor(x) == x) & self._on_support(x)
        if possible.all():
            return self._look_up(x)
        ends = self.support
        inside = float(ends.lower if ends.lower is not None else ends.upper if ends.upper is not None else 0)
        return np.where(possible, self._look_up(np.where(possible, x, inside)), -np.inf)

    def _look_up(self, k: Floats) -> Floats:
        """Return log-densities at integers of the support, once per value if values must repeat."""
        if k.size >= _LOOKUP_SIZE:
            low, high = float(k.min()), float(k.max())
            if high - low < k.size / 2:
                table = self._log_pmf(np.arange(low, high + 1))
                return np.asarray(np.take(table, (k - low).astype(np.int64)))
        return self._log_pmf(k)

    def _logp_ball(self, x: Fraction) -> arb:
        ends = self.support
        if (
            x.denominator != 1
            or (ends.lower is not None and x < ends.lower)
            or (ends.upper is not None and x > ends.upper)
        ):
            return arb.neg_inf()
        return self._log_pmf_ball(x.numerator)

    def _cdf(self, x: Floats) -> Floats:
        return self._below(np.floor(x))

    def _sf(self, x: Floats) -> Floats:
        return self._above(np.floor(x))

    def _cdf_ball(self, x: Fraction) -> arb:
        return self._below_ball(math.floor(x))

    def _sf_ball(self, x: Fraction) -> arb:
        return self._above_ball(math.floor(x))

    def _ppf(self, q: Floats) -> NDArray[np.int64]:
        ends = self.support
        if (ends.lower is None and np.any(q == 0)) or (ends.upper is None and np.any(q == 1)):
            raise InvalidParameterError(
                f"q must be in (0, 1) for infinite ends of the support of {self!r}, got 0 or 1.",
                code="E-LEVEL-RANGE",
            )
        few = q.size <= _FEW_LEVELS
        found = _remembered(self, q.shape, q.tobytes()) if few else self._between_ends(q)
        # Set the levels 0 and 1 to the ends, because a tail that underflows is not empty.
        if ends.lower is not None:
            found = np.where(q == 0, float(ends.lower), found)
        if ends.upper is not None:
            found = np.where(q == 1, float(ends.upper), found)
        return found.astype(np.int64)

    def _between_ends(self, q: Floats) -> Floats:
        """Return quantiles at levels in (0, 1)."""
        is_low = q <= 0.5
        if is_low.all():
            return self._lower_quantile(q)
        # Above one half, 1 - q is exact and the survival function is the accurate one.
        high = self._upper_quantile(1 - np.maximum(q, 0.5))
        return np.where(is_low, self._lower_quantile(np.minimum(q, 0.5)), high) if is_low.any() else high

    def _lower_quantile(self, q: Floats) -> Floats:
        """Return the smallest k with P(X <= k) >= q."""
        return self._quantiles(self._below, q)

    def _upper_quantile(self, q: Floats) -> Floats:
        """Return the smallest k with P(X > k) <= q."""
        return self._quantiles(lambda k: -self._above(k), -q)

    def _quantiles(self, rising: Callable[[Floats], Floats], level: Floats) -> Floats:
        """Return the smallest k with rising(k) >= level, by bisection or, for many levels, by one table."""
        if level.size > _FEW_LEVELS:
            ends = np.array([level.min(), level.max()])
            low, high = self._first(lambda k: rising(k) >= ends, ends.shape).tolist()
            if high - low < 4 * level.size:
                window = np.arange(low, high + 1)
                table = np.maximum.accumulate(rising(window))
                return np.asarray(window[np.minimum(np.searchsorted(table, level), window.size - 1)])
        return self._first(lambda k: rising(k) >= level, level.shape)

    def _first(self, holds: Callable[[Floats], NDArray[np.bool_]], shape: tuple[int, ...]) -> Floats:
        """Return the smallest integer of the support at which a monotone condition holds, by bisection."""
        ends = self.support
        least = float(ends.lower) if ends.lower is not None else -_FAR
        most = float(ends.upper) if ends.upper is not None else _FAR
        centre, step = (
            min(max(round(self.mean()), least), most),
            math.ceil(2 * math.sqrt(self.variance())) + 1,
        )
        low, high = np.full(shape, max(centre - step, least)), np.full(shape, min(centre + step, most))
        while np.any(done := holds(low) & (low > least)):
            step *= 2
            low = np.where(done, np.maximum(low - step, least), low)
        while np.any(short := ~holds(high) & (high < most)):
            step *= 2
            high = np.where(short, np.minimum(high + step, most), high)
        low = np.where(holds(low), low - 1, low)  # now the condition fails at low and holds at high
        while np.any(high - low > 1):
            middle = np.floor((low + high) / 2)
            right = holds(middle)
            low, high = np.where(right, low, middle), np.where(right, middle, high)
        return high

    def atoms(self, *, tail: float = 0.0) -> Iterator[tuple[Any, arb]]:
        ends = self.support
        if tail > 0:
            return iter(self._likeliest(tail))
        if ends.lower is None or ends.upper is None:
            raise NotTractableError(
                f"{self!r} has infinitely many outcomes. Pass a positive tail mass to leave out.",
                code="E-OUTCOMES-NOT-FINITE",
            )
        pairs = ((k, self._pmf_ball(k)) for k in range(int(ends.lower), int(ends.upper) + 1))
        return ((k, p) for k, p in pairs if not p.is_zero())

    def _likeliest(self, tail: float) -> list[tuple[int, arb]]:
        """Return the likeliest outcomes in order, until balls prove that at most ``tail`` is left out."""
        if not tail < 1:
            raise InvalidParameterError(f"tail must be below 1, got {tail}.", code="E-TAIL-RANGE")
        edge = np.array(tail / 8)
        window = np.arange(float(self._lower_quantile(edge)), float(self._upper_quantile(edge)) + 1)
        order = window[np.argsort(-self._log_pmf(window), kind="stable")]
        found: list[tuple[int, arb]] = []
        with precision(max(ctx.prec, 64 - math.frexp(tail)[1] + len(window).bit_length())):
            left = arb(1)
            for k in order.tolist():
                probability = self._pmf_ball(int(k))
                found.append((int(k), probability))
                left -= probability
                if upper(left) <= tail:
                    return found
        raise NotTractableError(
            f"the mass left out cannot be proved to be at most {tail}, got {left}. Pass a larger tail.",
            code="E-TAIL-TOO-SMALL",
        )


@lru_cache(maxsize=4096)
def _remembered(distribution: LatticeDistribution, shape: tuple[int, ...], levels: bytes) -> Floats:
    """Return ``_between_ends`` at few levels, cached.

    An audit forces equal distributions to the same levels for every pair of inputs.
    """
    found = np.array(distribution._between_ends(np.frombuffer(levels, dtype=np.float64).reshape(shape)))
    found.flags.writeable = False
    return found


@register("discrete-laplace")
@dataclass(frozen=True, repr=False, init=False)
class DiscreteLaplace(LatticeDistribution):
    """Two-sided geometric noise: P(X = k) = tanh(1/(2 scale)) exp(-|k| / scale) on the integers.

    With ``scale = g / epsilon`` it makes an integer statistic of sensitivity g epsilon-private
    (Ghosh, Roughgarden and Sundararajan 2012). Samples are exact (``exact_sampling``).

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
    divisible: ClassVar[bool] = True

    def __init__(self, *, scale: ExactLike) -> None:
        object.__setattr__(self, "scale", positive_parameter(scale, name="scale"))

    def parameters(self) -> dict[str, Fraction]:
        return {"scale": self.scale}

    def sample(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> NDArray[np.int64]:
        return discrete_laplace(rng, self.scale, size)

    def _log_pmf(self, k: Floats) -> Floats:
        rate = 1 / float(self.scale)
        return -np.abs(k) * rate + math.log(math.tanh(rate / 2))

    def _log_pmf_ball(self, k: int) -> arb:
        return ball(-abs(k) / self.scale) + ball(1 / (2 * self.scale)).tanh().log()

    def _below(self, k: Floats) -> Floats:
        return np.where(k < 0, self._tail(np.abs(k)), 1 - self._tail(np.abs(k + 1)))

    def _above(self, k: Floats) -> Floats:
        return self._below(-k - 1)

    def _tail(self, k: Floats) -> Floats:
        """Return P(X >= k) for k >= 1, the only k for which the value is used."""
        rate = 1 / float(self.scale)
        return np.exp(-k * rate) / (1 + math.exp(-rate))

    def _below_ball(self, k: int) -> arb:
        return self._tail_ball(-k) if k < 0 else 1 - self._tail_ball(k + 1)

    def _above_ball(self, k: int) -> arb:
        return self._below_ball(-k - 1)

    def _tail_ball(self, k: int) -> arb:
        return ball(-k / self.scale).exp() / (1 + ball(-1 / self.scale).exp())

    def shift_loss(self, distance: Fraction) -> Fraction | None:
        return abs(distance) / self.scale if distance.denominator == 1 else None

    def log_mgf_ball(self, t: Argument) -> arb:
        if reaches(t, 1 / self.scale, both=True):
            return arb.pos_inf()
        return noise.DiscreteLaplace(self.scale).cumulant(tilt(t))

    def mean(self) -> float:
        return 0.0

    def variance(self) -> float:
        return 0.5 / math.sinh(0.5 / float(self.scale)) ** 2  # 2a / (1-a)^2

    @property
    def log_concave(self) -> LogConcavity:
        return LogConcavity(True, "log p(k) = -|k|/scale + constant is concave on the integers")
