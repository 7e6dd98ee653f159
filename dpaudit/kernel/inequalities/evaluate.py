"""Enclosures of nodes on a finite box: values, and partial derivatives.

A box is a list of (lo, hi) of exact numbers, one for each variable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from dpaudit.kernel.inequalities.expression import Node, Table
from dpaudit.kernel.inequalities.interval import NOWHERE, ONE, ZERO, Interval, exactly, hull, pi

__all__ = ["Box", "Ends", "gradient", "nonnegative_nodes", "values"]

#: Exact ends of a variable. An upper end of None is infinity.
Ends = tuple[Fraction, Fraction | None]
Box = Sequence[Ends]
Gradient = Mapping[int, Interval]


class _Signs:
    """What is known of each node without computing: at least 0, at least 1, at most 1 and at most 0, where it
    is defined."""

    def __init__(self, table: Table, box: Box) -> None:
        self.at_least_0: list[bool] = []
        self.at_least_1: list[bool] = []
        self.at_most_1: list[bool] = []
        self.at_most_0: list[bool] = []
        for node in table.nodes:
            found = self._of(node, box)
            self.at_most_0.append(self._nonpositive(node))
            for known, fact in zip((self.at_least_0, self.at_least_1, self.at_most_1), found, strict=True):
                known.append(fact)

    def _nonpositive(self, node: Node) -> bool:
        op, *rest = node
        if op == "c":
            return bool(rest[0] <= 0)
        if op == "neg":
            return self.at_least_0[rest[0]]
        if op in ("*", "/"):
            i, j = rest
            return (self.at_most_0[i] and self.at_least_0[j]) or (self.at_least_0[i] and self.at_most_0[j])
        return op == "+" and self.at_most_0[rest[0]] and self.at_most_0[rest[1]]

    def _of(self, node: Node, box: Box) -> tuple[bool, bool, bool]:
        op, *rest = node
        if op == "c":
            return rest[0] >= 0, rest[0] >= 1, rest[0] <= 1
        if op == "v":
            lo, hi = box[rest[0]]
            return lo >= 0, lo >= 1, hi is not None and hi <= 1
        if op == "pi":
            return True, True, False
        if op == "pow":
            return self._power(*rest)
        rule = _SIGNS.get(op)
        return rule(self, *rest) if rule else (False, False, False)

    def _power(self, i: int, power: int) -> tuple[bool, bool, bool]:
        zero, one, most = self.at_least_0[i], self.at_least_1[i], self.at_most_1[i]
        small = zero and most if power >= 0 else one
        return zero or power % 2 == 0, one and power >= 0, small

    def plus(self, i: int, j: int) -> tuple[bool, bool, bool]:
        zero, one = self.at_least_0, self.at_least_1
        return zero[i] and zero[j], (one[i] and zero[j]) or (zero[i] and one[j]), False

    def minus(self, i: int, j: int) -> tuple[bool, bool, bool]:
        zero, one, most = self.at_least_0, self.at_least_1, self.at_most_1
        return (one[i] and most[j]) or (zero[i] and self.at_most_0[j]), False, most[i] and zero[j]

    def times(self, i: int, j: int) -> tuple[bool, bool, bool]:
        zero, one, most = self.at_least_0, self.at_least_1, self.at_most_1
        both = zero[i] and zero[j]
        return both or i == j, one[i] and one[j], both and most[i] and most[j]

    def over(self, i: int, j: int) -> tuple[bool, bool, bool]:
        zero, one, most = self.at_least_0, self.at_least_1, self.at_most_1
        both = zero[i] and zero[j]
        return both, both and one[i] and most[j], both and most[i] and one[j]

    def least(self, i: int, j: int) -> tuple[bool, bool, bool]:
        zero, one, most = self.at_least_0, self.at_least_1, self.at_most_1
        return zero[i] and zero[j], one[i] and one[j], most[i] or most[j]

    def most(self, i: int, j: int) -> tuple[bool, bool, bool]:
        zero, one, most = self.at_least_0, self.at_least_1, self.at_most_1
        return zero[i] or zero[j], one[i] or one[j], most[i] and most[j]


_SIGNS: Mapping[str, Callable[..., tuple[bool, bool, bool]]] = {
    "+": _Signs.plus,
    "-": _Signs.minus,
    "*": _Signs.times,
    "/": _Signs.over,
    "min": _Signs.least,
    "max": _Signs.most,
    "neg": lambda known, i: (known.at_most_0[i], False, known.at_least_0[i]),
    "exp": lambda known, i: (True, known.at_least_0[i], known.at_most_0[i]),
    "log": lambda known, i: (known.at_least_1[i], False, False),
    "sqrt": lambda known, i: (True, known.at_least_1[i], known.at_most_1[i]),
    "abs": lambda known, i: (True, False, False),
    "cosh": lambda known, i: (True, True, False),
    "erfc": lambda known, i: (True, False, False),
}


def nonnegative_nodes(table: Table, box: Box) -> list[bool]:
    """Return which nodes are nonnegative on the whole box by their form alone, where they are defined."""
    return _Signs(table, box).at_least_0


_ON_TWO: Mapping[str, Callable[[Interval, Interval], Interval]] = {
    "+": Interval.__add__,
    "-": Interval.__sub__,
    "*": Interval.__mul__,
    "/": Interval.__truediv__,
    "min": Interval.min,
    "max": Interval.max,
}
_ON_ONE: Mapping[str, Callable[[Interval], Interval]] = {
    "neg": Interval.__neg__,
    "abs": Interval.__abs__,
    "exp": Interval.exp,
    "log": Interval.log,
    "sqrt": Interval.sqrt,
    "cosh": Interval.cosh,
    "sinh": Interval.sinh,
    "tanh": Interval.tanh,
    "atanh": Interval.atanh,
    "erfc": Interval.erfc,
    "ceil": Interval.ceil,
    "floor": Interval.floor,
}


def values(table: Table, box: Box, known: Sequence[bool], need: Sequence[int]) -> dict[int, Interval]:
    """Return an enclosure of each node in ``need`` (a cone) on a finite box.

    It is ``NOWHERE`` if the node may be undefined somewhere on the box. ``known`` are the nonnegative nodes.
    """
    found: dict[int, Interval] = {}
    for i in need:
        result = _value(table.nodes[i], box, known, found)
        found[i] = result.cut() if known[i] else result
    return found


def _value(node: Node, box: Box, known: Sequence[bool], found: Mapping[int, Interval]) -> Interval:
    op, *rest = node
    if op == "c":
        return exactly(rest[0])
    if op == "v":
        lo, hi = box[rest[0]]
        return hull(lo, hi) if hi is not None else NOWHERE
    if op == "pi":
        return pi()
    first = found[rest[0]]
    if op == "pow":
        return first ** int(rest[1])
    if op == "*" and rest[0] == rest[1]:
        return first**2
    if op in _ON_TWO:
        return _ON_TWO[op](first, found[rest[1]])
    return _ON_ONE[op](first)


def gradient(table: Table, value: Mapping[int, Interval], need: Sequence[int]) -> dict[int, Gradient]:
    """Return enclosures of all partial derivatives of each node on the box of ``value``.

    At a point where min, max or abs has no derivative, the enclosure holds those of both sides, so that the
    mean value theorem holds with it. floor and ceil have none (``NOWHERE``).
    """
    found: dict[int, Gradient] = {}
    for i in need:
        op, *rest = table.nodes[i]
        if op in ("c", "pi"):
            found[i] = {}
        elif op == "v":
            found[i] = {rest[0]: ONE}
        elif op in ("min", "max"):
            found[i] = _of_choice(op, rest[0], rest[1], value, found)
        else:
            found[i] = _chain(table, i, value, found)
    return found


def _chain(table: Table, i: int, value: Mapping[int, Interval], found: Mapping[int, Gradient]) -> Gradient:
    """Add the slopes of node i in its arguments times their gradients."""
    total: dict[int, Interval] = {}
    for j, slope in zip(table.arguments(i), _slopes(table.nodes[i], value[i], value), strict=True):
        for k, each in found[j].items():
            total[k] = total[k] + slope * each if k in total else slope * each
    return total


def _slopes(node: Node, result: Interval, value: Mapping[int, Interval]) -> list[Interval]:
    """Return enclosures of the derivatives of a node in its arguments."""
    op, *rest = node
    x = value[rest[0]]
    y = value[rest[1]] if len(rest) == 2 and op != "pow" else NOWHERE
    if op in _SLOPES_OF_TWO:
        return _SLOPES_OF_TWO[op](x, y, result)
    if op == "pow":
        return [exactly(rest[1]) * x ** (rest[1] - 1) if rest[1] else ZERO]
    return [_SLOPES_OF_ONE[op](x, result)]


_SLOPES_OF_TWO: Mapping[str, Callable[[Interval, Interval, Interval], list[Interval]]] = {
    "+": lambda x, y, r: [ONE, ONE],
    "-": lambda x, y, r: [ONE, -ONE],
    "*": lambda x, y, r: [y, x],
    "/": lambda x, y, r: [y.inverse(), -r * y.inverse()],
}
_SLOPES_OF_ONE: Mapping[str, Callable[[Interval, Interval], Interval]] = {
    "neg": lambda x, r: -ONE,
    "abs": lambda x, r: ONE if x.nonnegative else -ONE if x.nonpositive else ONE.union(-ONE),
    "exp": lambda x, r: r,
    "log": lambda x, r: x.inverse(),
    "sqrt": lambda x, r: (r + r).inverse(),
    "cosh": lambda x, r: x.sinh(),
    "sinh": lambda x, r: x.cosh(),
    "tanh": lambda x, r: ONE - r**2,
    "atanh": lambda x, r: (ONE - x**2).inverse(),
    "erfc": lambda x, r: -(exactly(2) / pi().sqrt()) * (-(x**2)).exp(),
    "ceil": lambda x, r: NOWHERE,
    "floor": lambda x, r: NOWHERE,
}


def _of_choice(
    op: str, i: int, j: int, value: Mapping[int, Interval], found: Mapping[int, Gradient]
) -> Gradient:
    """Return the gradient of the side that is certainly taken, or both."""
    below, above = value[i] <= value[j], value[j] <= value[i]
    if below or above:
        return found[i if below == (op == "min") else j]
    both = {*found[i], *found[j]}
    return {k: found[i].get(k, ZERO).union(found[j].get(k, ZERO)) for k in both}
