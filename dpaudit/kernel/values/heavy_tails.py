"""Bound the cost of Cauchy noise on a released value.

Statement. Independent Cauchy noise of scale b on each of m entries, whose changes d_1, ..., d_m >= 0 have a
sum of at most D, has a pure cost of at most 2 m asinh(D / (2 b m)). For an unknown m it is at most D / b.

Proof. With u = x / b and e = d / b, the ratio of the densities of one entry at x is
g(u) = (1 + (u - e)^2) / (1 + u^2). It tends to 1 for u -> +-inf, and g'(u) = 0 if and only if
u^2 - e u - 1 = 0. At the root u = (e - sqrt(e^2 + 4)) / 2, with u^2 = e u + 1,
g(u) = (2 + e^2 - e u) / (2 + e u) = (e + sqrt(e^2 + 4))^2 / 4, and at the other root g is its inverse. As
(e + sqrt(e^2 + 4)) / 2 = exp(asinh(e / 2)), the largest loss of one entry is 2 asinh(e / 2). Losses of
independent entries add. asinh is increasing and concave on [0, inf), so by Jensen's inequality the sum over m
entries is largest if all changes are D / m. As asinh(t) <= t, it is at most D / b for every m. Adaptive
composition adds pure costs (``costs``). The scale enters through a rational number at least D / b, and the
bound increases with it.
"""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction

from dpaudit.kernel.values.polynomials import upper_root

__all__ = ["cauchy_cost", "log_above"]


def log_above(ratio: Fraction) -> Fraction:
    """Return a rational at least ln(ratio), for ratio >= 1. ``Decimal.ln`` is correctly rounded."""
    if ratio == 1:
        return Fraction(0)
    context = Context(prec=60)
    quotient = context.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    above = context.next_plus(quotient)
    return Fraction(context.next_plus(above.ln(context)))


def cauchy_cost(ratio: Fraction, entries: Fraction | None) -> Fraction:
    """Return the cost for a change of at most ``ratio`` scales in the L1 norm, over so many entries."""
    if not ratio or not entries:
        return ratio
    half = ratio / (2 * entries)
    return min(ratio, 2 * entries * log_above(half + upper_root(half * half + 1)))
