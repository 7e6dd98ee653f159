"""Ball arithmetic: the thin layer over python-flint through which every certified number passes.

A ball (``arb``) is a midpoint with a radius that contains the true value. Rules of this file:

* Numbers enter as integers or ``Fraction`` only (``ball``). A float enters only as the dyadic rational that
  it is.
* Numbers leave as floats with directed rounding (``lower``, ``upper``), or as exact dyadic rationals.
* A comparison that the radius leaves open is never guessed: ``sign_of`` doubles the precision, then raises.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction

from flint import arb, ctx, fmpq

from dpaudit.kernel.errors import UndecidedError

__all__ = [
    "MAX_PRECISION",
    "arb",
    "ball",
    "enclose",
    "exceeds",
    "integer",
    "lower",
    "lower_exact",
    "lower_short",
    "precision",
    "sign_of",
    "upper",
    "upper_exact",
    "upper_short",
]

START_PRECISION = 128
MAX_PRECISION = 8192

#: Significant bits of a bound, and the default accuracy of an enclosure, which leaves room for rounding.
SHORT_BITS = 56
ACCURACY = 80
#: No bound has bits below 2^-SHORT_EXPONENT: files hold numbers of at most 4300 digits.
SHORT_EXPONENT = 4000

#: Exact ends are Python integers. With larger exponents they would fill the memory and be useless.
MAX_EXPONENT_BITS = 4_000_000


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Run a block at ``bits`` bits of working precision."""
    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


def ball(value: int | Fraction) -> arb:
    """Return an ``arb`` that contains the exact number ``value`` (with radius 0 if it is representable)."""
    number = value if type(value) is Fraction else Fraction(value)
    return arb(fmpq(number.numerator, number.denominator))


def integer(value: arb) -> int:
    """Return the only integer in a ball. Raise ``UndecidedError`` if it holds none, or several."""
    whole = value.unique_fmpz()
    if whole is None:
        raise UndecidedError(f"the ball must hold one integer, got {value}.", code="E-BALL-INTEGER")
    return int(whole)


def lower_exact(value: arb) -> Fraction:
    """Return the lower end of a finite ball as an exact rational (0 below a positive end too small to write
    down).

    Raise ``UndecidedError`` for a ball that is not finite, or too large to be written down.
    """
    man, exponent = _end(value, "lower")
    return -_rounded_up(-man, exponent)


def upper_exact(value: arb) -> Fraction:
    """Return the upper end of a finite ball as an exact rational.

    It is rounded outward if it is too small to be written down. Raise ``UndecidedError`` for a ball that is
    not finite, or too large to be written down.
    """
    return _rounded_up(*_end(value, "upper"))


def upper_short(value: arb) -> Fraction:
    """Return a dyadic rational with at most ``SHORT_BITS`` significant bits, not below the ball and hardly
    above it.

    Bounds in certificates are rounded in this way. Another version of FLINT, whose balls differ in the last
    bits, then derives the same number.
    """
    end = upper_exact(value)
    power = end.denominator.bit_length() - 1
    surplus = max(end.numerator.bit_length() - SHORT_BITS, power - SHORT_EXPONENT)
    if surplus <= 0:
        return end
    top = -(-end.numerator >> surplus)
    return Fraction(top << surplus - power) if surplus >= power else Fraction(top, 1 << power - surplus)


def lower_short(value: arb) -> Fraction:
    """Return a dyadic rational with at most ``SHORT_BITS`` significant bits, not above the ball and hardly
    below it.

    Witnesses round their bounds in this way. The same sum, computed in another process, can differ in its
    last bits, and a bound that is too large by these bits is refused.
    """
    return -upper_short(-value)


def _end(value: arb, side: str) -> tuple[int, int]:
    """Return mantissa and exponent of one end of a ball."""
    if not value.is_finite():
        raise UndecidedError(f"an exact end needs a finite ball, got {value}.", code="E-BALL-INFINITE")
    # FLINT rounds the end outward at the working precision, so the ball's own bits must fit.
    with precision(max(ctx.prec, START_PRECISION, int(value.bits()) + 64)):
        mantissa, exponent = (value.lower() if side == "lower" else value.upper()).man_exp()
    return int(mantissa), int(exponent)


def _rounded_up(man: int, exponent: int) -> Fraction:
    """Return ``man * 2**exponent``, or an upper bound of it if the exponent is out of reach."""
    if man == 0:
        return Fraction(0)
    if abs(exponent) > MAX_EXPONENT_BITS:
        return _far_end(man, exponent)
    return Fraction(man << exponent) if exponent >= 0 else Fraction(man, 1 << -exponent)


def _far_end(man: int, exponent: int) -> Fraction:
    """Return an upper bound of ``man * 2**exponent`` for an exponent out of reach."""
    if exponent < 0 and man.bit_length() < MAX_EXPONENT_BITS // 2:
        return Fraction(1, 1 << MAX_EXPONENT_BITS // 2) if man > 0 else Fraction(0)
    raise UndecidedError(
        f"an exact end needs an exponent within ±{MAX_EXPONENT_BITS} bits, got {exponent}.",
        code="E-BALL-EXPONENT",
    )


def lower(value: arb) -> float:
    """Return the largest float not above the ball (``-inf`` for an indeterminate ball)."""
    if not value.is_finite():
        return math.inf if value > 0 and not value.is_nan() else -math.inf
    return _round_down(lower_exact(value))


def upper(value: arb) -> float:
    """Return the smallest float not below the ball (``inf`` for an indeterminate ball)."""
    if not value.is_finite():
        return -math.inf if value < 0 and not value.is_nan() else math.inf
    return 0.0 - _round_down(-upper_exact(value))  # a negation would write 0 as -0.0


def _round_down(number: Fraction) -> float:
    try:
        nearest = float(number)
    except OverflowError:
        return 1.7976931348623157e308 if number > 0 else -math.inf
    return nearest if Fraction(nearest) <= number else math.nextafter(nearest, -math.inf)


def sign_of(compute: Callable[[], arb], *, start: int = START_PRECISION, limit: int = MAX_PRECISION) -> int:
    """Return the sign (-1, 0 or 1) of the number that ``compute`` encloses.

    ``compute`` is called at doubled precision until the ball excludes 0. A ball that is exactly 0 has sign 0.
    Raise ``UndecidedError`` if ``limit`` bits do not decide. The row is then inconclusive, never guessed.
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
    raise UndecidedError(
        f"the sign must be decided within {limit} bits, got the ball {value}.", code="E-SIGN-UNDECIDED"
    )


def enclose(
    compute: Callable[[], arb],
    *,
    bits: int = ACCURACY,
    start: int = START_PRECISION,
    limit: int = MAX_PRECISION,
) -> arb:
    """Return a ball for the number that ``compute`` encloses, with ``bits`` correct leading bits if ``limit``
    allows.

    The precision is doubled until the relative accuracy suffices. Cancellation near 0 may leave a small ball
    around 0, which is returned, since every ball on the way is an enclosure. Raise ``UndecidedError`` if no
    ball is finite.
    """
    precision_bits = start
    while True:
        with precision(precision_bits):
            value = compute()
        if value.is_finite() and (value.is_exact() or value.rel_accuracy_bits() >= bits):
            return value
        if 2 * precision_bits > limit:
            break
        precision_bits *= 2
    if not value.is_finite():
        raise UndecidedError(
            f"a finite enclosure must be reached within {limit} bits, got {value}.", code="E-BALL-INFINITE"
        )
    return value


def exceeds(left: arb, right: arb) -> bool:
    """Return whether ``left > right`` holds for every pair of points of the two balls."""
    return bool(left > right)
