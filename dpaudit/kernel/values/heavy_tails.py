"""Bound the cost of Cauchy and Student noise on a released value.

Statement. Independent Student noise of n > 0 degrees of freedom and scale b on each of m entries, whose
changes d_1, ..., d_m >= 0 have a sum of at most D, has a pure cost of at most
(n + 1) m asinh(D / (2 b m sqrt(n))). For an unknown m it is at most (n + 1) D / (2 b sqrt(n)). Cauchy noise
is the case n = 1.

Proof. The density of one entry is proportional to (1 + x^2 / (n b^2))^(-(n + 1) / 2). With
u = x / (b sqrt(n)) and e = d / (b sqrt(n)), the ratio of the densities at x is g(u)^((n + 1) / 2),
g(u) = (1 + (u - e)^2) / (1 + u^2). g tends to 1 for u -> +-inf, and g'(u) = 0 if and only if
u^2 - e u - 1 = 0. At the root u = (e - sqrt(e^2 + 4)) / 2, with u^2 = e u + 1,
g(u) = (2 + e^2 - e u) / (2 + e u) = (e + sqrt(e^2 + 4))^2 / 4, and at the other root g is its inverse. As
(e + sqrt(e^2 + 4)) / 2 = exp(asinh(e / 2)), the largest loss of one entry is (n + 1) asinh(e / 2). Losses of
independent entries add. asinh is increasing and concave on [0, inf), so by Jensen's inequality the sum over m
entries is largest if all changes are D / m. As asinh(t) <= t, it is at most (n + 1) D / (2 b sqrt(n)) for
every m. Adaptive composition adds pure costs (``costs``). The scale enters through a rational number at least
D / b, 1 / sqrt(n) through one at least that, and the bound increases with both.
"""

from __future__ import annotations

import re
from decimal import Context, Decimal
from fractions import Fraction

from dpaudit.kernel.values.polynomials import upper_root

__all__ = ["degrees_of", "heavy_cost", "log_above"]

#: A law of Student noise: the degrees of freedom are a positive number of few digits.
_STUDENT = re.compile(r"student-([1-9]\d{0,3}(?:/[1-9]\d{0,3})?)", re.ASCII)


def log_above(ratio: Fraction) -> Fraction:
    """Return a rational at least ln(ratio), for ratio >= 1. ``Decimal.ln`` is correctly rounded."""
    if ratio == 1:
        return Fraction(0)
    context = Context(prec=60)
    quotient = context.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    above = context.next_plus(quotient)
    return Fraction(context.next_plus(above.ln(context)))


def degrees_of(law: str) -> Fraction | None:
    """Return the degrees of freedom of a heavy-tailed law, and ``None`` for another law.

    ``student-5/2`` has 5/2 of them, and ``cauchy`` has 1.
    """
    if law == "cauchy":
        return Fraction(1)
    found = _STUDENT.fullmatch(law)
    return None if found is None else Fraction(found[1])


def heavy_cost(ratio: Fraction, entries: Fraction | None, degrees: Fraction) -> Fraction:
    """Return the cost for a change of at most ``ratio`` scales in the L1 norm, over so many entries."""
    reach = ratio if degrees == 1 else ratio * upper_root(1 / degrees)
    if reach and entries:
        half = reach / (2 * entries)
        reach = min(reach, 2 * entries * log_above(half + upper_root(half * half + 1)))
    return (degrees + 1) / 2 * reach
