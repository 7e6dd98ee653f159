"""Describe the bounds of one recorded value, for all neighbouring data x and x'.

The runs on x and on x' follow the same path of public decisions. ``v`` is the value on x and ``v'`` on x'.

If ``records == 0``, the value is one array. ``change1``, ``change2`` and ``change`` bound the L1 norm, the
squared L2 norm and the largest entry of ``v' - v``. ``norm1`` and ``norm2`` bound the L1 and squared L2 norm
of ``v``.

If ``records > 0``, the first ``records`` axes index records, and row i is a function of record i alone. Under
add-remove it is the same function for all records. The same fields then bound the change and the norms of one
row. ``aligned`` identifies the record of each row.

Under replace-one and zero-out, at most ``group`` records change, and both sides have equal shapes. Under
add-remove, x' has at most ``group`` records more (or fewer) than x, at any positions, so the number of
rows is never used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import lcm
from operator import mul
from typing import Any

from dpaudit.kernel.values.polynomials import ZERO, Bound, Bounds, Poly, product_of, times, total, upper_root
from dpaudit.kernel.values.views import PUBLIC_VIEW, End, Support, View

__all__ = [
    "Constants",
    "End",
    "Guard",
    "Guards",
    "Info",
    "RefusedStepError",
    "Setting",
    "Support",
    "at_or_before",
    "disjoint",
    "fit",
    "flat",
    "magnitude",
    "need",
    "union",
    "whole",
]

#: (node, low, high, low is open, high is open, excluded numbers). The value changes only if the node's value
#: for the changed record is in the interval, before or after the change. A row of a row-local value is 0
#: unless its record's value is in the interval. ``guards`` states this for several guards at once.
Guard = tuple[int, Fraction | None, Fraction | None, bool, bool, tuple[Fraction, ...]]
Guards = tuple[Guard, ...]


class RefusedStepError(Exception):
    """The conditions of a rule do not hold, so the step has no bounds."""


def need(holds: Any, message: str) -> None:
    """Refuse the step with ``message`` unless ``holds``."""
    if not holds:
        raise RefusedStepError(message)


@dataclass(eq=False)
class Setting(Bounds):
    """The neighbouring datasets that a proof covers.

    ``adjacency`` is ``replace-one``, ``add-remove`` or ``zero-out``. ``size`` is the number of records, or
    ``None`` for every number from ``at_least``. Up to ``group`` records may change at once. ``view`` is the
    adversary's view.
    """

    adjacency: str = "replace-one"
    size: int | None = None
    at_least: int = 1
    group: int = 1
    low: dict[str, Fraction] = field(default_factory=dict)
    view: View = PUBLIC_VIEW

    def __post_init__(self) -> None:
        self.low = {"N": Fraction(max(self.at_least, 1)), **self.low}
        self.expressions: dict[str, Poly] = {}

    @property
    def length_is_private(self) -> bool:
        """Return whether neighbouring datasets differ in the number of records."""
        return self.adjacency == "add-remove"


@dataclass(frozen=True)
class Constants:
    """Known numbers over a common denominator, so that sums of many numbers are sums of integers."""

    numerators: tuple[int, ...]
    over: int

    @classmethod
    def read(cls, written: Any) -> Constants:
        """Read a list of exact strings, or integers in one string over a denominator.

        The second form is ``{"numerators": "5 -12", "over": 100}``.
        """
        if isinstance(written, dict):
            over, text = written["over"], written["numerators"]
            need(
                written.keys() == {"over", "numerators"},
                "constants must have exactly the keys numerators and over",
            )
            need(type(over) is int and over >= 1, "a denominator must be a positive integer")
            need(not text.strip("0123456789- "), "numerators must be integers separated by single spaces")
            return cls(tuple(map(int, text.split(" "))), over)
        numbers = [Fraction(text) for text in written]
        over = lcm(*(number.denominator for number in numbers))
        return cls(tuple(number.numerator * (over // number.denominator) for number in numbers), over)

    def number(self, numerator: int) -> Fraction:
        """Return a numerator as the number that it stands for."""
        return Fraction(numerator, self.over)

    @property
    def low(self) -> Fraction:
        """Return the smallest number, or 0 if there is none."""
        return self.number(min(self.numerators, default=0))

    @property
    def high(self) -> Fraction:
        """Return the largest number, or 0 if there is none."""
        return self.number(max(self.numerators, default=0))

    @property
    def norm1(self) -> Fraction:
        """Return the L1 norm."""
        return self.number(sum(map(abs, self.numerators)))

    @property
    def norm2(self) -> Fraction:
        """Return the squared L2 norm."""
        return Fraction(sum(map(mul, self.numerators, self.numerators)), self.over**2)

    @property
    def distinct(self) -> bool:
        """Return whether all numbers differ."""
        return len(set(self.numerators)) == len(self.numerators)

    def picked(self, places: Sequence[int]) -> Constants:
        """Return the numbers at the given positions."""
        return Constants(tuple(self.numerators[place] for place in places), self.over)


@dataclass(frozen=True)
class Info:
    """The bounds of one value, as described in the module docstring. ``None`` means unbounded.

    ``kind`` is ``b``, ``i`` or ``f`` for bool, int64 and float64. ``python`` marks a Python number, as
    opposed to a numpy number. ``rises`` states that under add-remove, no entry decreases when a record is
    added. ``facts`` holds relations to other nodes (``low``: v >= k |u|_p, ``inverse``: 0 <= v <= c / |u|_p,
    ``exactly``: Booleans that hold exactly where a node compares so with a number, ``moved``: the number of
    entries that change, ``sides``: the largest sum of the positive parts, and of the negative parts, of a
    change, and ``exp``, ``centred``, ``entry``, ``sum_of``, ``softmax``). The fact
    ``whole`` states that every entry of a float64 is an integer. ``values`` holds the entries of a constant
    in row-major order.
    """

    shape: tuple[int | Poly, ...] = ()
    kind: str = "f"
    python: bool = False
    low: Bound = None
    high: Bound = None
    records: int = 0
    change1: Bound = ZERO
    change2: Bound = ZERO
    change: Bound = ZERO
    norm1: Bound = None
    norm2: Bound = None
    rises: bool = False
    support: Support = ()
    aligned: Any = None
    guard: Guards | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    values: Constants | None = None

    @property
    def private(self) -> bool:
        """Return whether the value may differ between the two sides."""
        return self.records > 0 or self.change != 0 or self.change1 != 0

    @property
    def entries(self) -> Poly:
        """Return the number of entries of the array, or of one row."""
        return product_of(self.shape[self.records :])

    @property
    def constant(self) -> Poly | None:
        """Return the value of a public number if it is known as an expression, otherwise None."""
        same = not self.private and self.low is not None and self.low == self.high
        return self.low if same else None


def whole(info: Info) -> dict[str, Any]:
    """Return the fact that every entry of a value is an integer, or no fact."""
    number = None if info.constant is None else info.constant.number
    known = info.kind in "bi" or "whole" in info.facts or (number is not None and number.denominator == 1)
    return {"whole": True} if known else {}


def magnitude(s: Setting, info: Info) -> Bound:
    """Return a bound on the absolute value of every entry."""
    if info.low is None or info.high is None:
        return None
    if s.at_most(0, info.low):
        return info.high
    return s.largest_of(s.largest_of(info.high, ZERO), s.largest_of(-info.low, ZERO))


def nonnegative(s: Setting, info: Info) -> bool:
    """Return whether every entry is provably at least 0."""
    return info.low is not None and s.at_most(0, info.low)


def fit(s: Setting, info: Info) -> Info:
    """Tighten bounds by inequalities that hold for all arrays.

    These are the norm inequalities, the triangle inequality, and |u - v|^2 <= |u|^2 + |v|^2 if u.v >= 0.
    """
    m, top = info.entries, magnitude(s, info)
    norm1 = s.smallest(info.norm1, times(m, top))
    norm2 = s.smallest(info.norm2, times(m, top, top), times(norm1, top))
    if not info.private:
        return replace(info, norm1=norm1, norm2=norm2)
    width = None if info.low is None or info.high is None else info.high - info.low
    change = s.smallest(info.change, info.change1, width, times(2, top))
    change1 = s.smallest(info.change1, times(m, change), times(2, norm1))
    apart = times(2 if nonnegative(s, info) else 4, norm2)
    change2 = s.smallest(info.change2, times(m, change, change), times(change1, change), apart)
    square = None if change2 is None else change2.number
    if square is not None:
        change = s.smallest(change, Poly.of(upper_root(square)))
        if m.number is not None:
            change1 = s.smallest(change1, Poly.of(upper_root(square * m.number)))
    return replace(info, norm1=norm1, norm2=norm2, change=change, change1=change1, change2=change2)


def flat(s: Setting, info: Info) -> Info:
    """Return a row-local value as one array, in which only the rows of the changed records differ.

    The L1 norm of an array is the sum of the L1 norms of its rows. The same holds for squared L2 norms.
    """
    if not info.records:
        return info
    need(not s.length_is_private, "records whose number is private cannot be used as one array")
    g, count = s.group, product_of(info.shape[: info.records])
    plain = replace(
        info,
        records=0,
        aligned=None,
        change1=times(g, info.change1),
        change2=times(g, info.change2),
        norm1=times(count, info.norm1),
        norm2=times(count, info.norm2),
        guard=None,
        facts={},
    )
    return fit(s, plain)


def union(left: Support, right: Support) -> Support:
    """Return the records in either support. Adjacent ranges are merged, to keep loops over records short."""
    if left is None or right is None:
        return None
    merged: list[tuple[End, End, int]] = list(left)
    for part in right:
        if part in merged:
            continue
        start, stop, step = part
        near = next((p for p in merged if p[2] == step == 1 and p[1] == start), None)
        if near is not None:
            merged[merged.index(near)] = (near[0], stop, 1)
        else:
            merged.append(part)
    return tuple(sorted(merged, key=repr)) if len(merged) <= 64 else None


def disjoint(left: Support, right: Support) -> bool:
    """Return whether provably no record is in both supports."""
    if left is None or right is None:
        return False
    return not any(_meet(a, b) for a in left for b in right)


def at_or_before(left: End, right: End) -> bool:
    """Return whether ``left <= right`` is proved for every number of records N >= 1.

    Proof: rounding down is monotone, so it suffices that (a N + b) / c <= (u N + v) / w. The difference times
    c w is linear in N. It is at least 0 for every N >= 1 if its slope and its value at N = 1 are.
    """
    if left is None or right is None:
        return False
    a, b, c = left if isinstance(left, tuple) else (0, left, 1)
    u, v, w = right if isinstance(right, tuple) else (0, right, 1)
    slope, rest = u * c - a * w, v * c - b * w
    return slope >= 0 and slope + rest >= 0


def _meet(a: tuple[End, End, int], b: tuple[End, End, int]) -> bool:
    """Return False only if two ranges provably have no common position."""
    if any(at_or_before(one[1], other) for one, other in ((a, a[0]), (a, b[0]), (b, b[0]), (b, a[0]))):
        return False
    fixed = [
        range(start, stop, step) for start, stop, step in (a, b) if type(start) is int and type(stop) is int
    ]
    if len(fixed) < 2:
        return True
    short, other = sorted(fixed, key=len)
    if len(short) > 100_000:
        return True
    return any(position in other for position in short)


def add_changes(s: Setting, left: Info, right: Info, *, apart: bool) -> tuple[Bound, Bound, Bound]:
    """Bound the change of a sum, by the larger change if only one operand can change (``apart``)."""
    if apart:
        return (
            s.largest_of(left.change1, right.change1),
            s.largest_of(left.change2, right.change2),
            s.largest_of(left.change, right.change),
        )
    squares = squared_sum(left.change2, right.change2)
    return total(left.change1, right.change1), squares, total(left.change, right.change)


def squared_sum(left: Bound, right: Bound) -> Bound:
    """Return an upper bound on (sqrt(left) + sqrt(right))^2, and so on the squared norm of a sum."""
    if left is None or right is None:
        return None
    if left == 0 or right == 0:
        return left + right
    a, b = left.number, right.number
    if a is not None and b is not None:
        return Poly.of(a + b + 2 * upper_root(a * b))
    inverse = left.inverse()
    ratio = None if inverse is None else (right * inverse).number
    if ratio is not None and ratio > 0:
        return left * (1 + ratio + 2 * upper_root(ratio))
    return (left + right) * 2  # (a + b)^2 <= 2 a^2 + 2 b^2
