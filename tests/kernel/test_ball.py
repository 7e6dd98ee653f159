"""Balls: exact ends are true bounds, directed floats are on the right side, and accuracy is reached by
raising the precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import mpmath
import pytest

from dpaudit.core.errors import UndecidedError
from dpaudit.kernel.ball import (
    arb,
    ball,
    enclose,
    lower,
    lower_exact,
    lower_short,
    precision,
    sign_of,
    upper,
    upper_exact,
    upper_short,
)
from tests.errors import raises

CASES = [
    Fraction(1, 3),
    Fraction(-7, 10),
    Fraction(10**30 + 1, 10**30),
    Fraction(1, 10**400),
    Fraction(-(10**300)),
]


@pytest.mark.parametrize("number", CASES)
def test_ends_enclose_the_number(number: Fraction) -> None:
    """The exact ends of a ball made from a rational lie on both sides of it, and so do the directed
    floats.
    """
    value = ball(number)
    assert lower_exact(value) <= number <= upper_exact(value)
    assert Fraction(lower(value)) <= number <= Fraction(upper(value))


@pytest.mark.parametrize("end", [lower, upper])
@pytest.mark.parametrize("zero", [ball(0), -ball(0), ball(1) - 1])
def test_zero_has_no_sign(end: Callable[[arb], float], zero: arb) -> None:
    """The ends of a ball that is 0 are written as 0.0, never as -0.0."""
    assert math.copysign(1, end(zero)) == 1


def test_directed_floats_are_adjacent() -> None:
    """The two directed floats of an inexact number are neighbours: rounding outward costs one unit in the
    last place.
    """
    value = enclose(lambda: ball(2).sqrt(), bits=100)
    assert upper(value) == math.nextafter(lower(value), math.inf)


@pytest.mark.parametrize("power", [1, 50, 300, 3000])
def test_enclose_beats_cancellation(power: int) -> None:
    """(1 + 10^-n) - 1 through exp and log comes out with 60 correct bits, against mpmath."""
    with mpmath.workdps(power + 40):
        truth = mpmath.log1p(mpmath.mpf(10) ** -power)
        scaled = Fraction(str(mpmath.nstr(truth * mpmath.mpf(10) ** power, 30)))
    found = enclose(lambda: (1 + ball(Fraction(1, 10**power))).log(), bits=60, limit=65536)
    assert abs(upper_exact(found) * 10**power - scaled) < Fraction(1, 10**15)
    assert found > 0


def test_ends_of_vast_balls_stay_small() -> None:
    """An end whose exponent is out of reach is rounded outward or refused: a short text cannot fill the
    memory.
    """
    tiny = (-ball(10**12)).exp()
    assert lower_exact(tiny) == 0 < upper_exact(tiny)
    assert upper_exact(-tiny) == 0 > lower_exact(-tiny)
    with raises(UndecidedError, code="E-BALL-EXPONENT"):
        upper_exact(ball(10**12).exp())
    with raises(UndecidedError, code="E-BALL-INFINITE"):
        upper_exact(arb("inf"))


@pytest.mark.parametrize("number", [*CASES, Fraction(3, 8), Fraction(2**90 + 1), Fraction(0)])
def test_short_ends_are_above_and_short(number: Fraction) -> None:
    """A short upper end is at least the number, has at most 56 significant bits, and exceeds it by 2^-55
    of it at most.
    """
    value = enclose(lambda: ball(number))
    short = upper_short(value)
    assert number <= short <= number + abs(number) / 2**54
    assert (short.numerator // (short.numerator & -short.numerator or 1)).bit_length() <= 57
    assert short.denominator & (short.denominator - 1) == 0


def test_sign_is_decided_or_refused() -> None:
    """A tiny difference is decided by raising the precision; an identity that no precision decides raises."""
    assert sign_of(lambda: ball(Fraction(1, 10**200)).exp() - 1) == 1
    assert sign_of(lambda: ball(0)) == 0
    with raises(UndecidedError, code="E-SIGN-UNDECIDED"):
        sign_of(lambda: ball(2).sqrt() ** 2 - 2, limit=512)


def test_precision_is_restored() -> None:
    """A block at high precision leaves the caller's precision as it was, also when it raises."""
    with precision(77):
        with pytest.raises(RuntimeError), precision(300):
            raise RuntimeError
        assert ball(Fraction(1, 3)).rel_accuracy_bits() in range(75, 79)


@pytest.mark.parametrize("number", [*CASES, Fraction(2**90 + 1), Fraction(-(2**90) - 1)])
def test_short_lower_ends_are_below_and_forget_the_last_bits(number: Fraction) -> None:
    """A short lower end is at most the number and within 2^-54 of it; balls that differ in their last bits
    have the same one (but for one that is short itself)."""
    third = number / 3
    with precision(256):
        narrow = ball(third)
        wide = narrow + narrow * arb(0, 2.0**-240)
        assert lower_exact(wide) < lower_exact(narrow)
        assert lower_short(wide) == lower_short(narrow)
        assert third - abs(third) / 2**54 <= lower_short(narrow) <= third


def test_a_bound_next_to_0_keeps_a_length_that_can_be_written() -> None:
    """Of 10^-5000, whose exact ends have more digits than Python writes, on the safe side of it."""
    tiny = ball(Fraction(1, 10**5000))
    least = Fraction(1, 1 << 4000)
    assert (lower_short(tiny), upper_short(tiny)) == (0, least)
    assert (lower_short(-tiny), upper_short(-tiny)) == (-least, 0)
    assert len(str(upper_short(tiny))) < 1300
