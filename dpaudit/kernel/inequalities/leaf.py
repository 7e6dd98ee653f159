"""Decide one box: is left <= right certain on all of it, with both sides defined?

The methods, each with its proof:

* ``outside``: a condition of the path is certainly false on the box.
* ``value``: the deciding node is nonnegative by its enclosure.
* ``monotone``: where the enclosure of a partial derivative has one sign on the box, the least value lies at
  an end of that variable. After all such moves the enclosure is nonnegative.
* ``mean value``: f(x) is in f(m) + sum of (partial derivatives on the box) (x - m).
* ``tail``, ``monotone tail``: the same with unbounded sides (``growth``).
* ``series``: the power series about one end of a side (``series``).

In all of them both original sides are defined on the whole box, or, beside an open end, on the box without
that end. If the decision has a denominator, it is positive there. So left <= right on the whole box.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from dpaudit.kernel.inequalities.evaluate import (
    Box,
    Ends,
    Gradient,
    gradient,
    nonnegative_nodes,
    values,
)
from dpaudit.kernel.inequalities.expression import Table
from dpaudit.kernel.inequalities.growth import Growth, growth
from dpaudit.kernel.inequalities.interval import Interval, exactly, hull
from dpaudit.kernel.inequalities.rewrite import Decided, Rewriter, decided
from dpaudit.kernel.inequalities.series import Expansion, expansion

__all__ = ["Condition", "Part", "parts_of"]


@dataclass(frozen=True)
class Condition:
    """Node ``a`` < node ``b`` (``strict``), or <=, which is ``wanted`` or not on the path."""

    a: int
    b: int
    strict: bool
    wanted: bool


@dataclass(frozen=True, eq=False)
class Part:
    """One way to decide an inequality on one product of pieces.

    ``left`` and ``right`` are rewritten safely: they are defined at most where the original sides are.
    ``open_ends`` are the variables whose lower end is not part of the range.
    """

    table: Table
    ends: Box
    left: int
    right: int
    way: Decided
    conditions: tuple[Condition, ...]
    open_ends: frozenset[int]
    rewriter: Rewriter

    @cached_property
    def known(self) -> list[bool]:
        """The nodes that are nonnegative by their form."""
        return nonnegative_nodes(self.table, self.ends)

    @cached_property
    def need(self) -> list[int]:
        """The cone of all that a box needs."""
        outs = [self.left, self.right, *self.way.asked]
        outs += [i for each in self.conditions for i in (each.a, each.b)]
        return self.table.cone(outs)

    @cached_property
    def cone(self) -> list[int]:
        """The cone of the deciding node."""
        return self.table.cone([self.way.node])

    @cached_property
    def slopes(self) -> list[int]:
        """The cone of the derivatives."""
        return self.table.cone(i for i in self.way.slopes.values() if i is not None)

    def holds(self, box: Box) -> str | None:
        """Return the method by which the inequality is certain on a box, or None."""
        if any(hi is None for _, hi in box):
            return self._unbounded(box)
        return self.looked(box)[0]

    # A finite box

    def looked(self, box: Box) -> tuple[str | None, Gradient]:
        """Return the method on a finite box, and the derivatives (empty if they are not computed)."""
        value = values(self.table, box, self.known, self.need)
        if any(_is_outside(each, value) for each in self.conditions):
            return "outside", {}
        if not (value[self.left].finite and value[self.right].finite):
            return None, {}
        node = self.way.node
        if not (value[node].finite and self._has_signs(value)):
            return None, {}
        if value[node].nonnegative:
            return "value", {}
        slopes = gradient(self.table, value, self.cone)[node]
        if not all(slope.finite for slope in slopes.values()):
            return None, slopes
        return self._by_slopes(box, slopes), slopes

    def _has_signs(self, value: Mapping[int, Interval]) -> bool:
        return all(value[i].positive for i in self.way.above_0) and all(
            value[i].nonnegative for i in self.way.at_least_0
        )

    def _by_slopes(self, box: Box, slopes: Gradient) -> str | None:
        node, cone = self.way.node, self.cone
        small = [_moved(ends, slopes.get(s)) for s, ends in enumerate(box)]
        if small != list(box) and values(self.table, small, self.known, cone)[node].nonnegative:
            return "monotone"
        middle = [_at(_middle(ends)) for ends in small]
        total = values(self.table, middle, self.known, cone)[node]
        for s, slope in slopes.items():
            lo, hi = small[s]
            if hi is not None and lo < hi:
                total = total + slope * (hull(lo, hi) - exactly(_middle(small[s])))
        return "mean value" if total.nonnegative else None

    # An unbounded box

    def _unbounded(self, box: Box) -> str | None:
        if any(hi is None and lo < 2 for lo, hi in box):
            return None
        found = growth(self.table, box, self.known, self.need)
        if any(_is_far_outside(each, found) for each in self.conditions):
            return "outside"
        if not (found.defined[self.left] and found.defined[self.right]):
            return None
        way = self.way
        signs = all(map(found.positive, way.above_0)) and all(map(found.nonnegative, way.at_least_0))
        if not (signs and found.finite(way.node) and found.defined[way.node]):
            return None
        if found.nonnegative(way.node):
            return "tail"
        return "monotone tail" if self._at_least_end(box) else None

    def _at_least_end(self, box: Box) -> bool:
        """Move each variable with a derivative of one sign to the end with the least value, and decide there.

        The node is differentiable on the box, or continuous where a root is 0: both sides are defined there.
        """
        found = growth(self.table, box, self.known, self.slopes)
        moved: list[Ends] = list(box)
        for s, i in self.way.slopes.items():
            lo, hi = box[s]
            if lo == hi:
                continue
            if i is None or found.nonnegative(i):
                moved[s] = (lo, lo)
            elif hi is not None and found.nonpositive(i):
                moved[s] = (hi, hi)
        if moved == list(box):
            return False
        only = replace(self, way=replace(self.way, slopes={}), conditions=())
        return only.holds(moved) in ("tail", "value", "monotone", "mean value")

    # One end of a side

    def by_series(self, box: Box, s: int, *, lower: bool) -> bool:
        """Whether the inequality is certain on a box by the series about an end of variable ``s``."""
        if any(hi is None for _, hi in box):
            return False
        is_open = lower and s in self.open_ends and box[s][0] == self.ends[s][0]
        found = expansion(self.table, box, s, lower=lower, need=self._series_cone(is_open))
        return (
            self._defined(found, is_open)
            and found.nonnegative(self.way.node)
            and self._has_signs_beside(found, is_open)
        )

    def _has_signs_beside(self, found: Expansion, is_open: bool) -> bool:
        return all(
            found.nonnegative(i, strictly=True, from_the_end=not is_open) for i in self.way.above_0
        ) and all(self._is_known(i) or found.nonnegative(i) for i in self.way.at_least_0)

    def _is_known(self, i: int) -> bool:
        return i < len(self.known) and self.known[i]

    def _series_cone(self, is_open: bool) -> list[int]:
        outs = [self.left, self.right, *self.way.asked]
        if is_open:
            for i in self.table.cone([self.left, self.right]):
                for j in self._asked(i):
                    outs += self.rewriter.fraction(j)
        return self.table.cone(outs)

    def _asked(self, i: int) -> Sequence[int]:
        """Return the arguments of node i that must be positive (or not 0) for it to be defined."""
        op, *rest = self.table.nodes[i]
        if op == "/":
            return rest[1:]
        if op in ("log", "sqrt") or (op == "pow" and rest[1] < 0):
            return rest[:1]
        return ()

    def _defined(self, found: Expansion, is_open: bool) -> bool:
        """Whether both sides are defined on the box, without the end if it is open.

        Beside an open end each node's argument that must be positive is a fraction of two nodes, both
        positive for t > 0 by their series.
        """
        if not is_open:  # every node in them, since 0 times what is undefined is 0 in series
            return all(found.finite(i) for i in self.table.cone([self.left, self.right]))
        for i in self.table.cone([self.left, self.right]):
            if self.table.nodes[i][0] == "atanh":
                return False
            for j in self._asked(i):
                for k in self.rewriter.fraction(j):
                    if not found.nonnegative(k, strictly=True, from_the_end=False):
                        return False
        return True


def parts_of(
    table: Table,
    *,
    ends: Box,
    left: int,
    right: int,
    conditions: Sequence[Condition],
    open_ends: frozenset[int],
    cleared: bool,
) -> list[Part]:
    """Return the ways to decide an inequality, cleared of denominators or not. Each of them suffices for a
    box.
    """
    rewriter, safe = Rewriter(table), Rewriter(table, safe=True)
    sides = safe.plain(left), safe.plain(right)
    return [
        Part(
            table=table,
            ends=ends,
            left=sides[0],
            right=sides[1],
            way=decided(rewriter, i, j, logs=logs, cleared=cleared, n_variables=len(ends)),
            conditions=tuple(conditions),
            open_ends=open_ends,
            rewriter=rewriter,
        )
        for i in _alternatives(table, left, "min")
        for j in _alternatives(table, right, "max")
        for logs in (False, True)
    ]


def _alternatives(table: Table, i: int, op: str) -> list[int]:
    """Return the node, and what a side that is min(a, b) on the left, or max(a, b) on the right, may be
    replaced by: min(a, b) <= a.
    """
    found = [i]
    for j in found:
        if table.nodes[j][0] == op and len(found) < 8:
            found += [k for k in table.nodes[j][1:] if k not in found]
    return found


def _is_outside(each: Condition, value: Mapping[int, Interval]) -> bool:
    x, y = value[each.a], value[each.b]
    if each.wanted:
        return y < x or (each.strict and y <= x)
    return x < y or (not each.strict and x <= y)


def _is_far_outside(each: Condition, found: Growth) -> bool:
    if not (found.defined[each.a] and found.defined[each.b]):
        return False
    return found.below(each.b, each.a) if each.wanted else found.below(each.a, each.b)


def _moved(ends: Ends, slope: Interval | None) -> Ends:
    """Return the end with the least value, if the slope has one sign."""
    lo, hi = ends
    if slope is None or slope.nonnegative:
        return lo, lo
    return (hi, hi) if slope.nonpositive and hi is not None else ends


def _middle(ends: Ends) -> Fraction:
    lo, hi = ends
    return lo if hi is None else (lo + hi) / 2


def _at(x: Fraction) -> Ends:
    return x, x
