"""Functions of exact numbers and balls that printed inequalities are made of; every value is an enclosure."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dpaudit.errors import UndecidedError
from dpaudit.kernel.ball import arb, ball

__all__ = ["ceil_log2", "larger", "ln", "log2", "log_of_two_over"]


def ln(value: int | Fraction) -> Any:
    """Natural logarithm of an exact positive number, as a ball."""
    return ball(value).log()


def log_of_two_over(p: int | Fraction) -> Any:
    """log(2/p), natural, as a ball; ``p`` > 0 exact."""
    return (2 / ball(p)).log()


def log2(value: Any) -> Any:
    """Base-2 logarithm of a positive exact number or ball; exact for a power of two."""
    number = ball(value) if isinstance(value, int | Fraction) else value
    if number.is_exact() and number > 0:
        mantissa, exponent = number.man_exp()
        if int(mantissa) == 1:
            return arb(int(exponent))
    return number.log() / arb.const_log2()


def larger(first: Any, second: Any) -> Any:
    """The larger of two balls: an enclosure of the maximum if they overlap."""
    if first > second:
        return first
    return second if second > first else first.union(second)


def ceil_log2(value: Any) -> int:
    """The smallest integer k with ``value <= 2**k``; ``UndecidedError`` for a ball across a power of two."""
    logarithm = log2(value)
    if logarithm.is_exact():
        return int(logarithm.ceil().unique_fmpz())
    found = logarithm.ceil().unique_fmpz()
    if found is None:
        raise UndecidedError(
            f"a ceiling needs a ball between two integers, got {logarithm}; raise the precision."
        )
    return int(found)
