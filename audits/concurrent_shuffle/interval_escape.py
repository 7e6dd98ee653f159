"""How surely a binomial sum escapes every short interval (Lemma B.4), as rigorous lower bounds.

Whatever interval of w integers: if it starts at s or before, all values from s + w - 1... on are outside;
else all values below s are. So it is missed with probability min{P(X < s), P(X >= s - 1 + w)} or more, for
every s.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from dpaudit.kernel.ball import arb, ball, upper

__all__ = ["Sum", "escape", "holds_on"]

#: Terms of a tail that are added up; what is left out makes the bound smaller.
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
    """P(X = j)."""
    n, p = distribution.n, ball(distribution.p)
    logarithm = arb(n + 1).lgamma() - arb(j + 1).lgamma() - arb(n - j + 1).lgamma()
    result: arb = (logarithm + j * p.log() + (n - j) * (1 - p).log()).exp()
    return result


@lru_cache(maxsize=4096)
def _tail(distribution: Sum, start: int, step: int) -> arb:
    """At most P(X >= start), or with ``step`` -1 P(X <= start): the first terms of it."""
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
    """At most the probability that X is outside any interval of ``width`` integers."""
    start = round(distribution.n * distribution.p) - (width - 1) // 2
    below, above = _tail(distribution, start - 1, -1), _tail(distribution, start - 1 + width, 1)
    return below.min(above)


def holds_on(
    distribution: Sum, *, a: Fraction, c: Fraction, low: Fraction, high: Fraction
) -> tuple[Fraction, arb]:
    """Both sides of β <= P(X outside I) for ALL β in [low, high] at once, 0 < low <= high <= a: ``high``, and
    the probability for intervals as long as ``low`` allows, c sqrt(Var log(a/low))."""
    length = ball(c) * (ball(distribution.variance) * (ball(a) / ball(low)).log()).sqrt()
    return high, escape(distribution, int(upper(length)) + 1)
