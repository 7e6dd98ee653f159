"""Compute the functions of exact numbers and balls in printed inequalities. Every result is an enclosure."""

from __future__ import annotations

import math
from fractions import Fraction

from dpaudit.kernel.ball import arb, ball, integer

__all__ = ["ceil_log2", "ceil_root", "larger", "ln", "log2", "log_of_two_over"]


def ln(value: int | Fraction) -> arb:
    """Return the natural logarithm of an exact positive number, as a ball."""
    return ball(value).log()


def log_of_two_over(p: int | Fraction) -> arb:
    """Return the natural logarithm of 2/p for an exact ``p`` > 0, as a ball."""
    return (2 / ball(p)).log()


def log2(value: int | Fraction | arb) -> arb:
    """Return the base-2 logarithm of a positive exact number or ball. It is exact for a power of two."""
    number = ball(value) if isinstance(value, int | Fraction) else value
    if number.is_exact() and number > 0:
        mantissa, exponent = number.man_exp()
        if int(mantissa) == 1:
            return arb(int(exponent))
    return number.log() / arb.const_log2()


def larger(first: arb, second: arb) -> arb:
    """Return the larger of two balls, or an enclosure of the maximum if they overlap."""
    if first > second:
        return first
    return second if second > first else first.union(second)


def ceil_log2(value: int | Fraction | arb) -> int:
    """Return the smallest integer k with ``value <= 2**k``.

    Raises ``UndecidedError`` for a ball that contains a power of two in its inside.
    """
    logarithm = log2(value)
    return integer(logarithm.ceil())


def ceil_root(square: int | Fraction) -> int:
    """Return the smallest integer g >= 0 with ``square <= g**2``, for an exact ``square`` >= 0."""
    least = math.isqrt(math.floor(square))
    return least if least * least >= square else least + 1
