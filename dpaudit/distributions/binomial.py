"""Define the binomial and the Bernoulli distribution."""

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
from scipy import special

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, exact, probability
from dpaudit.distributions.base import Argument, LogConcavity, Support, register
from dpaudit.distributions.exact_sampling import choose
from dpaudit.distributions.lattice import LatticeDistribution
from dpaudit.distributions.saddle import log_binomial_density
from dpaudit.distributions.scalar import Floats, parameter, tilt
from dpaudit.kernel.ball import ball, enclose
from dpaudit.kernel.t2 import noise, special_distributions

__all__ = ["Bernoulli", "Binomial", "log_of_fraction"]

#: Floats cannot represent all counts above this.
_MOST_TRIALS = 2**53


def log_of_fraction(value: Fraction) -> float:
    """Return the log of an exact number in [0, 1], ``-inf`` at 0.

    It is accurate near both ends and for numbers below the float range.
    """
    if value == 0:
        return -math.inf
    if value > Fraction(1, 2):
        return math.log1p(-float(1 - value))
    return math.log(value.numerator) - math.log(value.denominator)


@lru_cache(maxsize=1024)
def _constants(n: int, p: Fraction) -> tuple[float, float, float, float, float]:
    """Return constants of the binomial distribution of n coins with p in (0, 1).

    They are log P(X = 0), log P(X = n), the mean n p as the sum of two floats, so that differences from it
    are accurate to the last digit, and n (1 - p).
    """
    high = float(n * p)
    ends = n * log_of_fraction(1 - p), n * log_of_fraction(p)
    return *ends, high, float(n * p - Fraction(high)), float(n * (1 - p))


class _Successes(LatticeDistribution):
    """The number of successes of independent coins with equal probability, without a sampler."""

    @property
    def _n(self) -> int:
        raise NotImplementedError

    @property
    def _p(self) -> Fraction:
        raise NotImplementedError

    @property
    def support(self) -> Support:
        lower = self._n if self._p == 1 else 0
        upper = 0 if self._p == 0 else self._n
        return Support(lower=Fraction(lower), upper=Fraction(upper), integer=True)

    def _log_pmf(self, k: Floats) -> Floats:
        n, p = self._n, self._p
        if p in (0, 1) or n == 0:
            return np.zeros_like(k)  # the support has a single outcome
        none, all_n, high, low, high_rest = _constants(n, p)
        ends = np.where(k == 0, none, all_n)
        if n == 1:
            return ends
        x = np.clip(k, 1.0, n - 1.0)
        density = log_binomial_density(
            x, n - x, mean_x=np.asarray(high), mean_y=np.asarray(high_rest), excess=(x - high) - low
        )
        return np.where((k == 0) | (k == n), ends, density)

    def _log_pmf_ball(self, k: int) -> arb:
        return enclose(lambda: self._pmf_ball(k).log(), bits=ctx.prec - 8, start=ctx.prec + 16)

    def _pmf_ball(self, k: int) -> arb:
        n, p = self._n, self._p
        if n == 1:
            return ball(p if k else 1 - p)
        return special_distributions.Binomial(n, p).mass(k)

    def _below(self, k: Floats) -> Floats:
        return self._tail(k, upper=False)

    def _above(self, k: Floats) -> Floats:
        return self._tail(k, upper=True)

    def _tail(self, k: Floats, *, upper: bool) -> Floats:
        """Return P(X > k) = I_p(k+1, n-k) or its complement, from the smaller of p and 1 - p."""
        ends = self.support
        first, last = float(ends.lower or 0), float(ends.upper or 0)
        value = np.asarray(0.0)
        if last > first:
            inside = np.clip(k, 0.0, last - 1)
            if self._p <= Fraction(1, 2):
                function = special.betainc if upper else special.betaincc
                value = function(inside + 1, last - inside, float(self._p))
            else:
                function = special.betaincc if upper else special.betainc
                value = function(last - inside, inside + 1, float(1 - self._p))
        value = np.where(k >= last, 0.0 if upper else 1.0, value)
        return np.where(k < first, 1.0 if upper else 0.0, value)

    def _below_ball(self, k: int) -> arb:
        return self._tail_ball(k, upper=False)

    def _above_ball(self, k: int) -> arb:
        return self._tail_ball(k, upper=True)

    def _tail_ball(self, k: int, *, upper: bool) -> arb:
        """Return P(X > k) or P(X <= k) as an incomplete beta function of p or 1 - p, whichever is faster."""
        ends = self.support
        if k < (ends.lower or 0) or k >= (ends.upper or 0):
            return arb(int(upper == (k < (ends.lower or 0))))
        # The series is fast for arguments up to 1/2, but its complement loses digits in the far tail.
        fast = (self._p <= Fraction(1, 2)) == upper
        depth = (k - self.mean()) / math.sqrt(self.variance()) * (1 if upper else -1)
        if fast or depth > 30:
            return self._beta_ball(k, upper=upper)
        lost = int(max(depth, 0) ** 2) + 8  # the tail is about exp(-depth^2 / 2)
        return 1 - self._beta_ball(k, upper=not upper, extra=lost)

    def _beta_ball(self, k: int, *, upper: bool, extra: int = 0) -> arb:
        n, p = self._n, self._p
        argument, a, b = (p, k + 1, n - k) if upper else (1 - p, n - k, k + 1)
        return enclose(
            lambda: ball(argument).beta_lower(arb(a), arb(b), regularized=1),
            bits=ctx.prec + extra - 8,
            start=ctx.prec + extra + 64,
        )

    def log_mgf_ball(self, t: Argument) -> arb:
        return noise.Binomial(self._n, self._p).cumulant(tilt(t))

    def mean(self) -> float:
        return float(self._n * self._p)

    def variance(self) -> float:
        return float(self._n * self._p * (1 - self._p))

    @property
    def log_concave(self) -> LogConcavity:
        return LogConcavity(
            True, "a convolution of two-point distributions: p(k+1)/p(k) = (n-k)/(k+1) p/(1-p) falls with k"
        )


@register("binomial")
@dataclass(frozen=True, repr=False, init=False)
class Binomial(_Successes):
    """The number of successes of independent coins.

    Samples are numpy's binomial variates, whose distribution that generator computes in floats.

    Parameters
    ----------
    trials : exact number
        The number of coins, an integer from 0 to 2^53.
    p : exact number
        The probability of success, in [0, 1].

    Raises
    ------
    InvalidParameterError
        A parameter is out of range.
    """

    trials: int
    p: Fraction
    forms: ClassVar[tuple[tuple[str, ...], ...]] = (("trials", "p"),)

    def __init__(self, *, trials: ExactLike, p: ExactLike) -> None:
        number = parameter(trials, name="trials")
        if number.denominator != 1 or not 0 <= number <= _MOST_TRIALS:
            raise InvalidParameterError(
                f"trials must be an integer from 0 to 2^53, got {number}.", code="E-TRIALS-RANGE"
            )
        object.__setattr__(self, "trials", int(number))
        object.__setattr__(self, "p", probability(parameter(p, name="p"), name="p"))

    def parameters(self) -> dict[str, Fraction]:
        return {"trials": Fraction(self.trials), "p": self.p}

    def amount_over(self, family: str, stated: Mapping[str, Any]) -> Fraction | None:
        if family != self.name or self.p != exact(stated["probability"], name="probability"):
            return None
        return Fraction(self.trials, int(stated["trials"]))

    @property
    def spread(self) -> Fraction:
        return self.trials * self.p * (1 - self.p)

    @property
    def _n(self) -> int:
        return self.trials

    @property
    def _p(self) -> Fraction:
        return self.p

    def sample(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> NDArray[np.int64]:
        return np.asarray(rng.binomial(self.trials, float(self.p), size=size))


@register("bernoulli")
@dataclass(frozen=True, repr=False, init=False)
class Bernoulli(_Successes):
    """The distribution of a coin: 1 with probability ``p``, else 0.

    Samples are exact (``exact_sampling.choose``).

    Parameters
    ----------
    p : exact number
        The probability of 1, in [0, 1].

    Raises
    ------
    InvalidParameterError
        ``p`` is out of range.
    """

    p: Fraction
    forms: ClassVar[tuple[tuple[str, ...], ...]] = (("p",),)

    def __init__(self, *, p: ExactLike) -> None:
        object.__setattr__(self, "p", probability(parameter(p, name="p"), name="p"))

    def parameters(self) -> dict[str, Fraction]:
        return {"p": self.p}

    @property
    def _n(self) -> int:
        return 1

    @property
    def _p(self) -> Fraction:
        return self.p

    def sample(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> NDArray[np.int64]:
        zero = 1 - self.p
        return choose(rng, lambda bits: [(zero.numerator << bits) // zero.denominator], size)
