"""The pieces of a range hold each of its points, and nothing else."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

from dpaudit.kernel.inequalities.domain import Integers, Piece, Reals, pieces, real_range
from tests.kernel.inequalities.tables import reals

ENDS = ("[]", "(]", "[)", "()")
RANGES = [
    reals(lo, hi, ends, cuts=cuts)
    for (lo, hi), ends, cuts in itertools.product(
        [
            (None, None),
            (None, "-1/2"),
            (None, 3),
            ("-7/3", None),
            (0, None),
            (2, None),
            (0, 1),
            ("-1/3", "5/2"),
        ],
        ENDS,
        [(), (0,), (1, "1/2", 10)],
    )
] + [reals(1, 1), real_range(Integers(3, None, 5)), real_range(Integers(-2, 9))]
POINTS = sorted(
    {sign * Fraction(k, n) for k in range(12) for n in (1, 2, 3, 1000) for sign in (1, -1)}
    | {sign * Fraction(10) ** n for n in (-30, 30) for sign in (1, -1)}
)


def is_in(value: Fraction, span: Reals) -> bool:
    above = span.lo is None or value > span.lo or (value == span.lo and not span.open_lo)
    below = span.hi is None or value < span.hi or (value == span.hi and not span.open_hi)
    return above and below


def holds(piece: Piece, value: Fraction) -> bool:
    """Whether a value of the parameter is that of a point of the piece."""
    away = piece.sign * (value - piece.shift)
    if piece.inverse and not away:
        return False
    x = 1 / away if piece.inverse else away
    lo, hi = piece.ends
    assert piece.value(x) == value
    return lo <= x and (hi is None or x <= hi) and not (piece.open_lo and x == lo)


@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize("span", RANGES, ids=str)
def test_the_pieces_are_the_range(span: Reals, near: bool) -> None:
    """A point is in a piece if and only if it is in the range."""
    made = pieces(span, near=near)
    for value in POINTS:
        assert any(holds(piece, value) for piece in made) == is_in(value, span), value
