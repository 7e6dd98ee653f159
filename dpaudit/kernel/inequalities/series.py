"""Power series of nodes in one variable about one end of a box, for inequalities that touch there.

Taylor's theorem with Lagrange's remainder: f(p + s t) = c_0 + c_1 s t + ... + c_(n-1) (s t)^(n-1) + r (s t)^n
for t in [0, w] and s = 1 or -1, where r is a value of f^(n)/n! on the side of the box. ``expansion`` computes
c about p, and r about the whole side, in balls. Whether a coefficient is exactly 0 is decided in fractions: a
ball around 0 does not tell, since 1/6 is no dyadic number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb_series, ctx, fmpq, fmpq_series

from dpaudit.kernel.ball import arb, ball, precision
from dpaudit.kernel.inequalities.evaluate import Box
from dpaudit.kernel.inequalities.expression import Node, Table
from dpaudit.kernel.inequalities.interval import Interval, hull

__all__ = ["Expansion", "expansion"]

TERMS = 8
#: Longer exact coefficients are not computed with.
MOST_BITS = 30_000
BITS = 128


@dataclass(frozen=True)
class Expansion:
    """The series of nodes about the ``lower`` or upper end of one side of a box, of width ``width``."""

    at_end: Mapping[int, Any]
    on_side: Mapping[int, Any]
    exact: Mapping[int, Any]
    width: Fraction
    lower: bool

    def finite(self, i: int) -> bool:
        """Whether the operation of node i is defined on the whole box, its arguments being so."""
        found = self.on_side.get(i)
        return found is not None and bool(found[0].is_finite())

    def nonnegative(self, i: int, *, strictly: bool = False, from_the_end: bool = True) -> bool:
        """Whether node i is certainly at least 0 (or above 0) on the whole box.

        Without ``from_the_end`` it is about the box without the end itself, where t > 0.
        """
        if i not in self.at_end or i not in self.on_side:
            return False
        with precision(BITS):
            sign = 1 if self.lower else -1
            rest = self.on_side[i][TERMS] * sign**TERMS
            terms = [self.at_end[i][j] * sign**j for j in range(TERMS)]
            if not rest.is_finite() or not all(each.is_finite() for each in terms):
                return False
            order = next((j for j in range(TERMS) if not self._is_zero(i, j, terms[j])), TERMS)
            if strictly and from_the_end and order > 0:
                return False  # it is 0 at the end
            total, t = Interval.around(rest), hull(Fraction(0), self.width)
            for each in reversed(terms[order:]):
                total = Interval.around(each) + t * total
            return total.positive if strictly else total.nonnegative

    def _is_zero(self, i: int, j: int, term: arb) -> bool:
        known = self.exact.get(i)
        return bool(known[j] == 0) if known is not None else bool(term.is_zero())


def expansion(table: Table, box: Box, s: int, *, lower: bool, need: Sequence[int]) -> Expansion:
    """Return the series of the nodes in ``need`` (a cone) in variable ``s``, on a finite box."""
    lo, hi = box[s]
    if hi is None or any(end is None for _, end in box):
        raise ValueError("a series needs a finite box.")
    end = lo if lower else hi
    with precision(BITS):
        others = [hull(*ends).ball() for ends in _finite(box)]
        side = hull(lo, hi).ball()
        at_end = _series(table, [*others[:s], _about(ball(end), TERMS), *others[s + 1 :]], need, TERMS)
        on_side = _series(table, [*others[:s], _about(side, TERMS + 1), *others[s + 1 :]], need, TERMS + 1)
        exact = _rational(table, box, s, end, need)
    return Expansion(at_end=at_end, on_side=on_side, exact=exact, width=hi - lo, lower=lower)


def _finite(box: Box) -> list[tuple[Fraction, Fraction]]:
    return [(lo, hi) for lo, hi in box if hi is not None]


def _about(point: arb, terms: int) -> Any:
    return arb_series([point, 1], prec=terms)


def _series(table: Table, variables: Sequence[Any], need: Sequence[int], terms: int) -> dict[int, Any]:
    """Return the nodes that have a series in balls. The others are missing."""
    found: dict[int, Any] = {}
    before, ctx.cap = ctx.cap, terms
    try:
        for i in need:
            try:
                each = _in_balls(table.nodes[i], variables, found, terms)
            except (ArithmeticError, ValueError):
                each = None
            if each is not None and each.prec >= terms:  # t^2/t has a coefficient less
                found[i] = each
    finally:
        ctx.cap = before
    return found


def _in_balls(node: Node, variables: Sequence[Any], found: Mapping[int, Any], terms: int) -> Any:
    op, *rest = node
    if op == "c":
        return arb_series([ball(rest[0])], prec=terms)
    if op == "v":
        value = variables[rest[0]]
        return value if isinstance(value, arb_series) else arb_series([value], prec=terms)
    if op == "pi":
        return arb_series([arb.pi()], prec=terms)
    if rest[0] not in found or (op in "+-*/" and rest[1] not in found):
        return None
    second = found[rest[1]] if op in "+-*/" else rest[-1]
    return _combined(op, found[rest[0]], second, arb_series([1], prec=terms))


def _combined(op: str, x: Any, y: Any, one: Any) -> Any:
    """Return the series of a node from those of its arguments (for a power, ``y`` is the exponent)."""
    if op == "+":
        return x + y
    if op == "-":
        return x - y
    if op == "*":
        return x * y
    if op == "/":
        return x / y
    if op == "neg":
        return -x
    if op == "pow":
        power = _multiplied(x, abs(y), one)
        return one / power if y < 0 else power
    if op in ("exp", "log", "sqrt"):
        return getattr(x, op)()
    if op == "cosh":
        return (x.exp() + (-x).exp()) / 2
    if op == "sinh":
        return (x.exp() - (-x).exp()) / 2
    return one - 2 / ((2 * x).exp() + one) if op == "tanh" else None


def _multiplied(x: Any, times: int, one: Any) -> Any:
    """Return x^times by squares."""
    found = one
    while times:
        found = found * x if times % 2 else found
        times //= 2
        x = x * x if times else x
    return found


def _rational(table: Table, box: Box, s: int, end: Fraction, need: Sequence[int]) -> dict[int, Any]:
    """Return the nodes whose series about the end has rational coefficients."""
    found: dict[int, Any] = {}
    before, ctx.cap = ctx.cap, TERMS
    try:
        for i in need:
            try:
                each = _in_fractions(table.nodes[i], box, s, end, found)
            except (ArithmeticError, ValueError):
                each = None
            if each is not None and each.prec >= TERMS and _bits(each) <= MOST_BITS:
                found[i] = each
    finally:
        ctx.cap = before
    return found


def _fraction(value: Fraction) -> Any:
    return fmpq(value.numerator, value.denominator)


def _in_fractions(node: Node, box: Box, s: int, end: Fraction, found: Mapping[int, Any]) -> Any:
    op, *rest = node
    if op == "c":
        return fmpq_series([_fraction(rest[0])], prec=TERMS)
    if op == "v":
        lo, hi = box[rest[0]]
        if rest[0] == s:
            return fmpq_series([_fraction(end), 1], prec=TERMS)
        return fmpq_series([_fraction(lo)], prec=TERMS) if lo == hi else None
    if op == "*" and any(_vanishes(found.get(j)) for j in rest):
        return fmpq_series([0], prec=TERMS)  # the other factor has a series in balls, or nothing is concluded
    if op in ("pi", "min", "max", "abs", "atanh", "erfc", "ceil", "floor"):
        return None
    x = found.get(rest[0])
    y = found.get(rest[1]) if op in "+-*/" else rest[-1]
    if x is None or y is None or not _has_rational_image(op, x, y):
        return None
    return _combined(op, x, y, fmpq_series([1], prec=TERMS))


def _bits(series: Any) -> int:
    """Return the length of the longest coefficient: forged evidence can double it with every node."""
    return max(int(part).bit_length() for j in range(TERMS) for part in (series[j].p, series[j].q))


def _vanishes(series: Any) -> bool:
    return series is not None and all(series[j] == 0 for j in range(TERMS))


def _has_rational_image(op: str, x: Any, y: Any) -> bool:
    if op == "/":
        return bool(y[0] != 0)
    if op == "pow":
        return (y >= 0 or bool(x[0] != 0)) and _bits(x) * abs(y) <= MOST_BITS
    if op in ("log", "sqrt"):
        return bool(x[0] == 1)
    return op not in ("exp", "cosh", "sinh", "tanh") or bool(x[0] == 0)
