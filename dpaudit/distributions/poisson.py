"""Define the Poisson distribution.

As noise on a count it has no pure epsilon, because a shift moves the smallest outcome: P(X = 0) has no
counterpart. It protects a count only by an (epsilon, delta) whose delta is at least exp(-mean).
"""

from __future__ import annotations

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
from dpaudit.distributions.saddle import log_poisson_density
from dpaudit.distributions.scalar import Floats, positive_parameter, tilt
from dpaudit.kernel.ball import ball, enclose

__all__ = ["Poisson"]

_LARGEST = 2**20


@register("poisson")
@dataclass(frozen=True, repr=False, init=False)
class Poisson(LatticeDistribution):
    """The Poisson distribution: P(X = k) = exp(-rate) rate^k / k! for k >= 0.

    Samples are numpy's Poisson variates, whose distribution that generator computes in floats.

    Parameters
    ----------
    rate : exact number
        The mean, in [2^-480, 2^20]. Sums for larger means would be slow, and inaccurate in floats.

    Raises
    ------
    InvalidParameterError
        ``rate`` is out of range.
    """

    rate: Fraction
    forms: ClassVar[tuple[tuple[str, ...], ...]] = (("rate",),)

    def __init__(self, *, rate: ExactLike) -> None:
        mean = positive_parameter(rate, name="rate")
        if mean > _LARGEST:
            raise InvalidParameterError(f"rate must be at most 2^20, got {mean}.", code="E-PARAMETER-RANGE")
        object.__setattr__(self, "rate", mean)

    def parameters(self) -> dict[str, Fraction]:
        return {"rate": self.rate}

    @property
    def support(self) -> Support:
        return Support(lower=Fraction(0), upper=None, integer=True)

    def sample(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> NDArray[np.int64]:
        return np.asarray(rng.poisson(float(self.rate), size=size))

    def _log_pmf(self, k: Floats) -> Floats:
        rate = float(self.rate)
        inner = log_poisson_density(np.maximum(k, 1), np.asarray(rate))
        return np.where(k == 0, -rate, inner)

    def _log_pmf_ball(self, k: int) -> arb:
        return ball(self.rate).log() * k - ball(self.rate) - arb(k + 1).lgamma()

    def _below(self, k: Floats) -> Floats:
        return np.where(k < 0, 0.0, special.gammaincc(np.maximum(k, 0) + 1, float(self.rate)))

    def _above(self, k: Floats) -> Floats:
        return np.where(k < 0, 1.0, special.gammainc(np.maximum(k, 0) + 1, float(self.rate)))

    def _below_ball(self, k: int) -> arb:
        if k > self.rate:
            return 1 - self._above_ball(k)
        return arb(0) if k < 0 else self._tail_ball(k, lambda j: Fraction(k - j) / self.rate)

    def _above_ball(self, k: int) -> arb:
        if k <= self.rate:
            return 1 - self._below_ball(k)
        return self._tail_ball(k + 1, lambda j: self.rate / (k + 2 + j))

    def _tail_ball(self, start: int, ratio: Callable[[int], Fraction]) -> arb:
        """Return p(start) (1 + ratio(0) + ratio(0) ratio(1) + ...), for ratios that decrease to 0.

        No terms cancel. The terms that are left out fall faster than a geometric series.
        """

        def compute() -> arb:
            term, total, j = arb(1), arb(1), 0
            while term > 0 and not (ratio(j) < 1 and term < arb(2) ** -ctx.prec):
                term *= ball(ratio(j))
                total += term
                j += 1
            last = ball(ratio(j))
            left_out = term * last / (1 - last) if term > 0 else arb(0)
            return self._log_pmf_ball(start).exp() * (total + arb(0).union(left_out))

        return enclose(compute, bits=ctx.prec - 8, start=ctx.prec + 16)

    def log_mgf_ball(self, t: Argument) -> arb:
        return ball(self.rate) * tilt(t).expm1()

    def mean(self) -> float:
        return float(self.rate)

    def variance(self) -> float:
        return float(self.rate)

    @property
    def log_concave(self) -> LogConcavity:
        return LogConcavity(True, "p(k+1)/p(k) = rate/(k+1) decreases")
