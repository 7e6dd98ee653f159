"""Define k-ary randomised response: the distribution of a user's message, given the user's symbol."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike
from dpaudit.distributions.base import Argument, LogConcavity, Support, register
from dpaudit.distributions.binomial import log_of_fraction
from dpaudit.distributions.exact_sampling import choose
from dpaudit.distributions.lattice import LatticeDistribution
from dpaudit.distributions.scalar import Floats, parameter, tilt
from dpaudit.kernel.ball import ball, precision

__all__ = ["RandomisedResponse"]


@register("randomised-response")
@dataclass(frozen=True, repr=False, init=False)
class RandomisedResponse(LatticeDistribution):
    """The message of a user: the true symbol with probability ``keep``, else another symbol, uniformly.

    Samples are exact (``exact_sampling.choose``), also for irrational probabilities.

    Parameters
    ----------
    symbols : exact number
        The number k of symbols, an integer from 2 to 2^31.
    truth : exact number
        The true symbol, an integer from 0 to k-1.
    epsilon : exact number, optional
        In [0, 2^10], for keep = e^epsilon / (e^epsilon + k - 1) (Kairouz, Bonawitz and Ramage 2016). This is
        irrational unless epsilon is 0, and balls enclose it.
    keep : exact number, optional
        The probability of the true symbol, in [0, 1]. Pass either ``epsilon`` or ``keep``.

    Raises
    ------
    InvalidParameterError
        Both or neither of ``epsilon`` and ``keep`` are given, or a number is out of range.
    """

    symbols: int
    truth: int
    epsilon: Fraction | None
    keep: Fraction | None
    forms: ClassVar[tuple[tuple[str, ...], ...]] = (
        ("symbols", "truth", "epsilon"),
        ("symbols", "truth", "keep"),
    )

    def __init__(
        self,
        *,
        symbols: ExactLike,
        truth: ExactLike,
        epsilon: ExactLike | None = None,
        keep: ExactLike | None = None,
    ) -> None:
        if (epsilon is None) == (keep is None):
            raise InvalidParameterError(
                f"randomised response must have either epsilon or keep, got epsilon={epsilon!r} and "
                f"keep={keep!r}.",
                code="E-PARAMETER-CHOICE",
            )
        k, true = parameter(symbols, name="symbols"), parameter(truth, name="truth")
        if k.denominator != 1 or not 2 <= k <= 2**31:
            raise InvalidParameterError(
                f"symbols must be an integer from 2 to 2^31, got {k}.", code="E-SYMBOLS-RANGE"
            )
        if true.denominator != 1 or not 0 <= true < k:
            raise InvalidParameterError(
                f"truth must be an integer from 0 to {k - 1}, got {true}.", code="E-TRUTH-RANGE"
            )
        budget = None if epsilon is None else parameter(epsilon, name="epsilon")
        if budget is not None and not 0 <= budget <= 2**10:
            raise InvalidParameterError(
                f"epsilon must be in [0, 2^10], got {budget}.", code="E-EPSILON-RANGE"
            )
        share = None if keep is None else parameter(keep, name="keep")
        if share is not None and not 0 <= share <= 1:
            raise InvalidParameterError(f"keep must be in [0, 1], got {share}.", code="E-KEEP-RANGE")
        for name, value in (("symbols", int(k)), ("truth", int(true)), ("epsilon", budget), ("keep", share)):
            object.__setattr__(self, name, value)

    def parameters(self) -> dict[str, Fraction]:
        given = {
            "symbols": Fraction(self.symbols),
            "truth": Fraction(self.truth),
            "epsilon": self.epsilon,
            "keep": self.keep,
        }
        return {key: value for key, value in given.items() if value is not None}

    @property
    def support(self) -> Support:
        last = self.symbols - 1
        if self.keep == 1:
            return Support(lower=Fraction(self.truth), upper=Fraction(self.truth), integer=True)
        if self.keep == 0:
            return Support(
                lower=Fraction(self.truth == 0), upper=Fraction(last - (self.truth == last)), integer=True
            )
        return Support(lower=Fraction(0), upper=Fraction(last), integer=True)

    def keep_ball(self) -> arb:
        """Return an ``arb`` that contains the probability of the true symbol."""
        if self.epsilon is not None:
            return 1 / (1 + (self.symbols - 1) * ball(-self.epsilon).exp())
        return ball(self.keep or Fraction(0))

    def other_ball(self) -> arb:
        """Return an ``arb`` that contains the probability of each other symbol."""
        if self.epsilon is not None:
            return 1 / (ball(self.epsilon).exp() + self.symbols - 1)
        return ball((1 - (self.keep or Fraction(0))) / (self.symbols - 1))

    def _logs(self) -> tuple[float, float]:
        """Return the log-probabilities of the true symbol and of another symbol."""
        if self.epsilon is not None:
            epsilon = float(self.epsilon)
            log_keep = -math.log1p((self.symbols - 1) * math.exp(-epsilon))
            return log_keep, log_keep - epsilon
        keep = self.keep or Fraction(0)
        return log_of_fraction(keep), log_of_fraction((1 - keep) / (self.symbols - 1))

    def sample(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> NDArray[np.int64]:
        lies = choose(rng, self._thresholds, size)  # 0 with probability keep, else 1
        other = rng.integers(self.symbols - 1, size=size)
        other = other + (other >= self.truth)  # the other symbols in order
        return np.where(lies == 0, self.truth, other).astype(np.int64)

    def _thresholds(self, bits: int) -> list[int]:
        if self.keep is not None:
            return [(self.keep.numerator << bits) // self.keep.denominator]
        if self.epsilon == 0:
            return [(1 << bits) // self.symbols]
        return [_floor(lambda: self.keep_ball() * arb(2) ** bits, bits)]

    def _log_pmf(self, k: Floats) -> Floats:
        log_keep, log_other = self._logs()
        return np.where(k == self.truth, log_keep, log_other)

    def _log_pmf_ball(self, k: int) -> arb:
        p = self._pmf_ball(k)
        return arb.neg_inf() if p.is_zero() else p.log()

    def _pmf_ball(self, k: int) -> arb:
        return self.keep_ball() if k == self.truth else self.other_ball()

    def _sum(self, others: Any, truths: Any) -> Any:
        log_keep, log_other = self._logs()
        return others * math.exp(log_other) + truths * math.exp(log_keep)

    def _below(self, k: Floats) -> Floats:
        count = np.clip(k + 1, 0, self.symbols)
        true = (k >= self.truth).astype(np.float64)
        return np.where(k >= self.symbols - 1, 1.0, self._sum(count - true, true))

    def _above(self, k: Floats) -> Floats:
        count = np.clip(self.symbols - 1 - k, 0, self.symbols)
        true = (k < self.truth).astype(np.float64)
        return np.where(k < 0, 1.0, self._sum(count - true, true))

    def _below_ball(self, k: int) -> arb:
        count, true = min(max(k + 1, 0), self.symbols), int(k >= self.truth)
        return (
            arb(1) if count == self.symbols else (count - true) * self.other_ball() + true * self.keep_ball()
        )

    def _above_ball(self, k: int) -> arb:
        count, true = min(max(self.symbols - 1 - k, 0), self.symbols), int(k < self.truth)
        return (
            arb(1) if count == self.symbols else (count - true) * self.other_ball() + true * self.keep_ball()
        )

    def log_mgf_ball(self, t: Argument) -> arb:
        point = tilt(t)
        return sum((self._pmf_ball(j) * (point * j).exp() for j in range(self.symbols)), arb(0)).log()

    def mean(self) -> float:
        log_keep, log_other = self._logs()
        everything = self.symbols * (self.symbols - 1) / 2
        return (everything - self.truth) * math.exp(log_other) + self.truth * math.exp(log_keep)

    def variance(self) -> float:
        k, others = self.symbols, self.symbols - 1
        mean = Fraction(k * others // 2 - self.truth, others)  # the mean of a uniform other symbol
        spread = Fraction(k * others * (2 * k - 1) // 6 - self.truth**2, others) - mean**2
        log_keep, log_other = self._logs()
        lie = others * math.exp(log_other)
        return lie * float(spread) + math.exp(log_keep) * lie * float(self.truth - mean) ** 2

    @property
    def log_concave(self) -> LogConcavity:
        if self.symbols == 2 or self.keep == 1:
            return LogConcavity(True, "at most two neighbouring outcomes")
        uniform = Fraction(1, self.symbols)
        excess = self.epsilon if self.epsilon is not None else (self.keep or 0) - uniform
        if excess == 0:
            return LogConcavity(True, "uniform on consecutive integers")
        if excess > 0:
            middle = self.symbols == 3 and self.truth == 1
            return LogConcavity(middle, f"a peak at {self.truth} on a flat floor of {self.symbols} symbols")
        at_end = self.truth in (0, self.symbols - 1)
        return LogConcavity(at_end, f"a dip at {self.truth} in a flat distribution on {self.symbols} symbols")


def _floor(compute: Callable[[], arb], bits: int) -> int:
    """Return the integer part of an irrational number, at a precision that separates it from integers."""
    working = bits + 64
    while True:
        with precision(working):
            found = compute().floor().unique_fmpz()
        if found is not None:
            return int(found)
        working *= 2
