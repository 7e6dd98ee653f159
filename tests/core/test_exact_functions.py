"""Functions of exact numbers and balls: exact where they can be, enclosures elsewhere."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from dpaudit.core.errors import UndecidedError
from dpaudit.core.exact_functions import ceil_log2, larger, ln, log2, log_of_two_over
from dpaudit.kernel.ball import arb, ball, lower, upper
from tests.errors import raises


@pytest.mark.parametrize("value", [1, 2, 3, 1024, Fraction(1, 8), Fraction(5, 3), 10**30])
def test_the_ceiling_of_a_logarithm_is_exact(value: int | Fraction) -> None:
    """2^(k-1) < value <= 2^k, powers of two included."""
    k = ceil_log2(ball(value))
    assert Fraction(2) ** (k - 1) < value <= Fraction(2) ** k


def test_a_ceiling_across_a_power_of_two_is_refused() -> None:
    """A ball that holds a power of two in its inside has no ceiling."""
    with raises(UndecidedError, code="E-BALL-INTEGER"):
        ceil_log2(ball(8) + arb(0, 1e-20))


def test_the_larger_of_two_balls_encloses_the_maximum() -> None:
    """Separate balls give the larger one, overlapping ones their union."""
    assert larger(ball(1), ball(2)) == ball(2)
    both = larger(arb(1, 0.5), arb(1.2, 0.5))
    assert lower(both) <= 0.7
    assert upper(both) >= 1.7
    assert log2(Fraction(1, 1024)).is_exact()


def test_logarithms_enclose_their_values() -> None:
    """Against floats at a point each; base 2 of another number is no whole number."""
    for found, value in (
        (ln(Fraction(7, 3)), math.log(7 / 3)),
        (log_of_two_over(Fraction(1, 20)), math.log(40)),
        (log2(3), math.log2(3)),
    ):
        assert lower(found) - 1e-12 <= value <= upper(found) + 1e-12
