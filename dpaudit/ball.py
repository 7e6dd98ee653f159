"""Ball arithmetic: the thin layer over python-flint that every certified number goes through.

A ball (``arb``) is a midpoint with a radius that contains the true value. Rules of this file:

* numbers enter as integers or ``Fraction`` only (``ball``); a float enters only as the dyadic rational that it is;
* numbers leave as floats with directed rounding (``lower``, ``upper``), or as exact dyadic rationals;
* a comparison that the radius leaves open is never guessed: ``sign_of`` doubles the precision, then raises.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

from flint import arb, ctx, fmpq

from dpaudit.errors import UndecidedError

__all__ = ["MAX_PRECISION", "ball", "exceeds", "lower", "lower_exact", "precision", "sign_of", "upper", "upper_exact"]

START_PRECISION = 128
MAX_PRECISION = 8192


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Run a block at ``bits`` bits of working precision."""
    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


def ball(value: int | Fraction) -> Any:
    """Return an ``arb`` that contains the exact number ``value`` (radius 0 where it is representable)."""
    number = Fraction(value)
    return arb(fmpq(number.numerator, number.denominator))


def _exact_end(end: Any) -> Fraction:
    """The dyadic rational at an end of a ball (``arb`` of radius 0)."""
    mantissa, exponent = end.man_exp()
    man, exp = int(mantissa), int(exponent)
    return Fraction(man * 2**exp) if exp >= 0 else Fraction(man, 2**-exp)


def lower_exact(value: Any) -> Fraction:
    """The lower end of a finite ball as an exact rational."""
    with precision(max(ctx.prec, START_PRECISION)):  # the end itself is rounded outward at the working precision
        return _exact_end(value.lower())


def upper_exact(value: Any) -> Fraction:
    """The upper end of a finite ball as an exact rational."""
    with precision(max(ctx.prec, START_PRECISION)):
        return _exact_end(value.upper())


def lower(value: Any) -> float:
    """The largest float not above the ball (``-inf`` for an indeterminate one)."""
    if not value.is_finite():
        return math.inf if value > 0 and not value.is_nan() else -math.inf
    return _round_down(lower_exact(value))


def upper(value: Any) -> float:
    """The smallest float not below the ball (``inf`` for an indeterminate one)."""
    if not value.is_finite():
        return -math.inf if value < 0 and not value.is_nan() else math.inf
    return -_round_down(-upper_exact(value))


def _round_down(number: Fraction) -> float:
    try:
        nearest = float(number)
    except OverflowError:
        return 1.7976931348623157e308 if number > 0 else -math.inf
    return nearest if Fraction(nearest) <= number else math.nextafter(nearest, -math.inf)


def sign_of(compute: Callable[[], Any], *, start: int = START_PRECISION, limit: int = MAX_PRECISION) -> int:
    """The sign (-1 or 1) of the number that ``compute`` encloses, at whatever precision decides it.

    ``compute`` is called again at doubled precision until the ball excludes 0. A ball that is exactly 0 has sign 0.
    Raises ``UndecidedError`` when ``limit`` bits do not decide: the row is then inconclusive, never guessed.
    """
    bits = start
    while bits <= limit:
        with precision(bits):
            value = compute()
        if value > 0:
            return 1
        if value < 0:
            return -1
        if value.is_zero():
            return 0
        bits *= 2
    raise UndecidedError(f"the sign must be decided within {limit} bits, the ball is still {value}; raise the limit or report inconclusive.")


def exceeds(left: Any, right: Any) -> bool:
    """Whether ``left > right`` holds for every pair of points of the two balls."""
    return bool(left > right)
