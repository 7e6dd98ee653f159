"""Bound from below the probability that a binomial sum is outside every short interval (Lemma B.4).

Take any interval of w integers and any s. If the interval starts at s or before, all values from s + w - 1
on are outside it. Otherwise all values below s are. So X is outside with probability min{P(X < s), P(X >= s
- 1 + w)} or more, for every s.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from dpaudit.kernel.ball import arb, ball, upper

__all__ = ["Sum", "escape", "holds_on"]

#: Number of tail terms that are added up. The omitted terms only make the bound smaller.
TERMS = 1500


@dataclass(frozen=True)
class Sum:
    """Bin(n, p) with 0 < p < 1."""

    n: int
    p: Fraction

    @property
    def variance(self) -> Fraction:
        return self.n * self.p * (1 - self.p)

    def __str__(self) -> str:
        return f"{self.n} bits of mean {self.p}"


def _chance(distribution: Sum, j: int) -> arb:
    """Return P(X = j)."""
    n, p = distribution.n, ball(distribution.p)
    logarithm = arb(n + 1).lgamma() - arb(j + 1).lgamma() - arb(n - j + 1).lgamma()
    result: arb = (logarithm + j * p.log() + (n - j) * (1 - p).log()).exp()
    return result


@lru_cache(maxsize=4096)
def _tail(distribution: Sum, start: int, step: int) -> arb:
    """Return a lower bound on P(X >= start), or on P(X <= start) if ``step`` is -1: the sum of its first
    terms."""
    if not 0 <= start <= distribution.n:
        return arb(1 if (start < 0) == (step > 0) else 0)
    term = _chance(distribution, start)
    total, j = arb(0), start
    odds = ball(distribution.p / (1 - distribution.p))
    for _ in range(TERMS):
        total += term
        if not 0 <= j + step <= distribution.n:
            break
        term *= odds * (distribution.n - j) / (j + 1) if step > 0 else j / (odds * (distribution.n - j + 1))
        j += step
    return total


def escape(distribution: Sum, width: int) -> arb:
    """Return a lower bound on the probability that X is outside any interval of ``width`` integers."""
    start = round(distribution.n * distribution.p) - (width - 1) // 2
    below, above = _tail(distribution, start - 1, -1), _tail(distribution, start - 1 + width, 1)
    return below.min(above)


def holds_on(
    distribution: Sum, *, a: Fraction, c: Fraction, low: Fraction, high: Fraction
) -> tuple[Fraction, arb]:
    """Return both sides of β <= P(X outside I) for ALL β in [low, high] at once, with 0 < low <= high <= a.

    The left side is ``high``. The right side is the probability for the longest intervals that ``low``
    allows, c sqrt(Var log(a/low)).
    """
    length = ball(c) * (ball(distribution.variance) * (ball(a) / ball(low)).log()).sqrt()
    return high, escape(distribution, int(upper(length)) + 1)
