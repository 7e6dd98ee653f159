"""Inequalities that are false somewhere on their range, or undefined there."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from dpaudit.kernel.inequalities.domain import Reals
from tests.kernel.inequalities.tables import Build, function, larger, reals, smaller

TINY = Fraction(1, 10**12)
ABOVE = reals(0, None, "()")
FROM_1 = reals(1, None)
UNIT = reals(0, 1)
INNER = reals(0, 1, "()")

#: Name: two sides, the range of each variable, and a condition (first side at most the second).
FALSE: Mapping[str, tuple[Build, Mapping[str, Reals], Build | None]] = {
    # at one point
    "one point": (lambda x: (TINY, (x - Fraction(1, 3)) ** 2), {"x": UNIT}, None),
    "one end": (lambda x: (x, 1 - TINY + 0 * x), {"x": UNIT}, None),
    "closed end of a series": (lambda x: (x, x.exp() - 1 - TINY), {"x": UNIT}, None),
    "zero to the power 0": (lambda x: (x**0, x), {"x": UNIT}, None),
    "a cut point": (lambda x: (abs(x) + TINY, x.cosh() - 1 + abs(x)), {"x": reals(-1, 1, cuts=[0])}, None),
    # at infinity
    "far out": (lambda x: (x, 10**30 + 0 * x), {"x": FROM_1}, None),
    "logarithm grows": (lambda x: (x.log(), 10**6 + 0 * x), {"x": FROM_1}, None),
    "log against log log": (lambda x: (x.log(), 9 * (x + 9).log().log()), {"x": FROM_1}, None),
    "root against log": (lambda x: (x.sqrt(), 10 * x.log() + 10), {"x": FROM_1}, None),
    "limit from above": (lambda x: (1 + 1 / x, 1 + 0 * x), {"x": FROM_1}, None),
    "limit misses by little": (lambda x: (x / (x + 1), 1 - TINY + 0 * x), {"x": FROM_1}, None),
    "square over exponential": (lambda x: ((-x).exp(), TINY + 0 * x), {"x": reals(0, None)}, None),
    "difference of large terms": (
        lambda x: ((x**2 + 1).sqrt(), x + 1 / (2 * x) - TINY),
        {"x": FROM_1},
        None,
    ),
    "powers of ln": (lambda x: (x.log() ** 3, x.log() ** 2 + 10**4), {"x": reals(2, None)}, None),
    "two go to infinity": (
        lambda x, y: (x * y, x**2 + y**2 - TINY * x * y * 10**13),
        {"x": FROM_1, "y": FROM_1},
        None,
    ),
    "x over y": (lambda x, y: (x, y), {"x": FROM_1, "y": FROM_1}, None),
    "falling tail": (lambda x: (1 / x, (-x).exp() + TINY), {"x": FROM_1}, None),
    "tends to 0": (lambda x: (1 / x, 0 * x), {"x": FROM_1}, None),
    "minus infinity": (lambda x: (-x, 10**9 + 0 * x), {"x": reals(None, 0)}, None),
    "tanh in the middle": (lambda x: (function("tanh", 1 / x), 1 / x - TINY), {"x": ABOVE}, None),
    # at open ends
    "open end": (lambda x: (x.log(), x - 1 - TINY), {"x": ABOVE}, None),
    "1 over x": (lambda x: (1 / x, 10**20 + 0 * x), {"x": INNER}, None),
    "log at 0": (lambda x: (-x.log(), 1 / (2 * x.sqrt())), {"x": reals(0, 100, "(]")}, None),
    "upper open end": (lambda x: (1 / (1 - x), 10**15 + 0 * x), {"x": INNER}, None),
    "ratio at 0": (lambda x: ((x.exp() - 1) / x, 1 + x / 2), {"x": INNER}, None),
    "square at 0": (lambda x: (x**2, x**3), {"x": INNER}, None),
    # between grid points, by little, along a curve
    "between the points of a grid": (
        lambda x: (0 * x, (x - Fraction(1, 7)) * (x - Fraction(1, 7) - TINY)),
        {"x": UNIT},
        None,
    ),
    "narrow peak": (lambda x: (1 / (1 + (1000 * x - 333) ** 2), 1 - TINY + 0 * x), {"x": UNIT}, None),
    "curve": (lambda x, y: (TINY, (x - y**2) ** 2), {"x": UNIT, "y": UNIT}, None),
    "circle": (lambda x, y: (TINY - abs(x**2 + y**2 - 1), 0 * x), {"x": UNIT, "y": UNIT}, None),
    "diagonal": (lambda x, y: (2 * x * y + TINY, x**2 + y**2), {"x": UNIT, "y": UNIT}, None),
    "by little in a factor": (lambda x: (x * (1 + TINY), x), {"x": FROM_1}, None),
    "irrational by little": (
        lambda x: (x.table.number(2).sqrt() * x + TINY, (2 * x**2).sqrt()),
        {"x": FROM_1},
        None,
    ),
    "condition leaves a point": (
        lambda x: (x, Fraction(1, 2) - TINY + 0 * x),
        {"x": UNIT},
        lambda x: (2 * x, 1),
    ),
    "condition is true where it is false": (lambda x: (2 + 0 * x, x), {"x": reals(1, 3)}, lambda x: (1, x)),
    "far condition": (lambda x: (x, 100 + 0 * x), {"x": FROM_1}, lambda x: (1, x.log() + 1)),
    "undefined condition far out": (
        lambda x: (x, 0 * x),
        {"x": reals(2, None)},
        lambda x: (1 + 0 * (-x).log(), 0),
    ),
    # signs in logarithms
    "negative factor": (lambda x, y: (x, x * y), {"x": reals(-2, -1), "y": reals(2, 3)}, None),
    "negative factor far out": (lambda x, y: (-x, -x * y), {"x": reals(2, None), "y": reals(2, 3)}, None),
    "negative quotient": (lambda x, y: (y / x, 2 * y / x), {"x": reals(-2, -1), "y": reals(2, 3)}, None),
    "negative minimum": (
        lambda x, y: (smaller(x, y - 4), smaller(x, y - 4) * y),
        {"x": reals(-2, -1), "y": reals(2, 3)},
        None,
    ),
    "negative exponential difference": (
        lambda x, y: (1 - x.exp(), (1 - x.exp()) * (y + 1)),
        {"x": reals(1, None), "y": reals(1, 2)},
        None,
    ),
    "negative near 0": (lambda x, y: (x - 1, (x - 1) * y), {"x": INNER, "y": reals(2, 3)}, None),
    "odd power": (lambda x, y: (x**3, x**3 * y), {"x": reals(-2, -1), "y": reals(2, 3)}, None),
    # rewriting
    "square root of a square": (lambda x: ((x**2).sqrt(), x), {"x": reals(-1, 1)}, None),
    "logarithm of a product": (lambda x: (x.log() + x.log(), (x**2).log()), {"x": reals(-2, -1)}, None),
    "both maximum": (lambda x: (larger(x, 1 - x), Fraction(1, 2) + 0 * x), {"x": UNIT}, None),
    "both minimum": (lambda x: (Fraction(1, 2) + 0 * x, smaller(x, 1 - x)), {"x": UNIT}, None),
    "absolute value": (lambda x: (0 * x, x - abs(x) + TINY * (x - 2)), {"x": reals(-1, 1)}, None),
    "ceiling": (lambda x: (function("ceil", x), x + Fraction(99, 100)), {"x": reals(0, 5)}, None),
    "floor far out": (lambda x: (x, function("floor", x) + Fraction(99, 100)), {"x": FROM_1}, None),
    "erfc": (lambda x: (function("erfc", x), (-(x**2)).exp() / 2), {"x": reals(0, None)}, None),
    # hidden domains
    "division by 0 inside": (lambda x: (0 * (1 / (x - Fraction(1, 3))), x), {"x": UNIT}, None),
    "0 times a logarithm": (lambda x: (0 * (x - 5).log(), x), {"x": reals(1, 2)}, None),
    "0 times a logarithm far out": (lambda x: (0 * (-x).log(), x), {"x": reals(2, None)}, None),
    "root below 0": (lambda x: (0 * (x - Fraction(1, 2)).sqrt(), x), {"x": UNIT}, None),
    "equal undefined sides": (
        lambda x: ((x - Fraction(1, 2)).log(), (x - Fraction(1, 2)).log()),
        {"x": UNIT},
        None,
    ),
    "equal undefined quotients": (lambda x: (1 / (2 * x - 1), 1 / (2 * x - 1)), {"x": UNIT}, None),
    "exp of a log": (lambda x: (x.log().exp(), 1 + 0 * x), {"x": UNIT}, None),
    "atanh at 1": (lambda x: (0 * function("atanh", x), x), {"x": UNIT}, None),
    "pole far out": (lambda x: (0 * (1 / (x - 10**6)), x), {"x": FROM_1}, None),
    "undefined maximum": (lambda x: (0 * x, larger(x, (x - Fraction(1, 2)).log())), {"x": UNIT}, None),
}
