"""Functions of exact numbers and balls that printed inequalities are made of; every value is an enclosure."""

from __future__ import annotations

from fractions import Fraction

from dpaudit.kernel.ball import arb, ball, integer

__all__ = ["ceil_log2", "larger", "ln", "log2", "log_of_two_over"]


def ln(value: int | Fraction) -> arb:
    """Natural logarithm of an exact positive number, as a ball."""
    return ball(value).log()


def log_of_two_over(p: int | Fraction) -> arb:
    """log(2/p), natural, as a ball; ``p`` > 0 exact."""
    return (2 / ball(p)).log()


def log2(value: int | Fraction | arb) -> arb:
    """Base-2 logarithm of a positive exact number or ball; exact for a power of two."""
    number = ball(value) if isinstance(value, int | Fraction) else value
    if number.is_exact() and number > 0:
        mantissa, exponent = number.man_exp()
        if int(mantissa) == 1:
            return arb(int(exponent))
    return number.log() / arb.const_log2()


def larger(first: arb, second: arb) -> arb:
    """The larger of two balls: an enclosure of the maximum if they overlap."""
    if first > second:
        return first
    return second if second > first else first.union(second)


def ceil_log2(value: int | Fraction | arb) -> int:
    """The smallest integer k with ``value <= 2**k``; ``UndecidedError`` for a ball across a power of two."""
    logarithm = log2(value)
    return integer(logarithm.ceil())
