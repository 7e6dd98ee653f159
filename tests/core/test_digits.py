"""Bounds in the lines of ``verify`` are rounded to their weaker side."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from dpaudit.core.exact import in_digits


@pytest.mark.parametrize("digits", [3, 12])
def test_bounds_are_rounded_outward(digits: int) -> None:
    """Read again, a lower bound is at most the number, an upper one at least, and they are a digit apart."""
    draw = random.Random(3)
    for _ in range(500):
        scale = Fraction(10) ** draw.randint(-400, 400)
        value = Fraction(draw.randint(-(10**30), 10**30), draw.randint(1, 10**15)) * scale
        down, up = (Fraction(in_digits(value, toward=side, digits=digits)) for side in ("down", "up"))
        assert down <= value <= up
        assert up - down <= abs(value) * Fraction(2, 10 ** (digits - 1))


def test_short_numbers_stay_as_they_are() -> None:
    """Without zeros to spare; a number beyond the floats in powers of ten."""
    shown = {"1/2": "0.5", "3": "3", "100": "100", "0": "0", "-1/8": "-0.125", f"{10**401}": "1e+401"}
    for text, words in shown.items():
        assert {in_digits(Fraction(text), toward=side) for side in ("down", "up")} == {words}


def test_a_hair_below_one_is_not_one() -> None:
    """As a lower bound; as an upper bound it may be."""
    nearly = Fraction(72057594037927935, 72057594037927936)
    assert in_digits(nearly, toward="down") == "0.999999999999"
    assert in_digits(nearly, toward="up") == "1"
