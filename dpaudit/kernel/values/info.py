"""What is known of one recorded value, for all neighbouring data x and x'.

Two runs, on x and on x', follow the same path of public decisions. ``v`` is the value on x and ``v'`` on x'.

``records == 0``: the value is one array. ``change1``, ``change2`` and ``change`` bound the L1 norm, the
squared L2 norm and the largest entry of ``v' - v``. ``norm1`` and ``norm2`` bound the L1 and squared L2 norm
of ``v``.

``records > 0``: the first ``records`` axes index records, and row i is a function of record i alone, the same
function for all of them under add-remove. The same fields then bound the change and the norms of one row.
``aligned`` says which record stands in which row.

Under replace-one and zero-out, at most ``group`` records change, and both sides have equal shapes. Under
add-remove, x' has at most ``group`` records more (or fewer) than x, at any positions, so rows are never
counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import lcm
from operator import mul
from typing import Any

from dpaudit.kernel.values.polynomials import ONE, ZERO, Bound, Bounds, Poly, times, total, upper_root

__all__ = [
    "Constants",
    "Guard",
    "Info",
    "RefusedStepError",
    "Setting",
    "Support",
    "disjoint",
    "fit",
    "flat",
    "magnitude",
    "need",
    "union",
]

#: Records that a value depends on: ranges (start, stop, step) of positions, a superset; ``None``: any record.
Support = tuple[tuple[int, int | None, int], ...] | None

#: (node, low, high, low is open, high is open): nothing changes unless the node's value of the changed
#: record, before or after, is in the interval. A row of a row-local value is 0 unless its record's value is.
Guard = tuple[int, Fraction | None, Fraction | None, bool, bool]


class RefusedStepError(Exception):
    """The conditions of a rule do not hold: nothing is known of this step."""


def need(holds: Any, message: str) -> None:
    """Refuse the step with ``message`` unless ``holds``."""
    if not holds:
        raise RefusedStepError(message)


@dataclass(eq=False)
class Setting(Bounds):
    """The neighbours that a proof is about.

    ``adjacency`` is ``replace-one``, ``add-remove`` or ``zero-out``; ``size`` a number of records, or
    ``None`` for every number from ``at_least``; ``group`` the number of records that may change at once.
    """

    adjacency: str = "replace-one"
    size: int | None = None
    at_least: int = 1
    group: int = 1
    low: dict[str, Fraction] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.low = {"N": Fraction(max(self.at_least, 1)), **self.low}
        self.expressions: dict[str, Poly] = {}

    @property
    def length_is_private(self) -> bool:
        return self.adjacency == "add-remove"


@dataclass(frozen=True)
class Constants:
    """Known numbers over one denominator: sums of a million of them are sums of whole numbers."""

    numerators: tuple[int, ...]
    over: int

    @classmethod
    def read(cls, written: Any) -> Constants:
        """A list of exact texts, or whole numbers in one text over a denominator: ``{"numerators": "5 -12",
        "over": 100}``."""
        if isinstance(written, dict):
            over, text = written["over"], written["numerators"]
            need(written.keys() == {"over", "numerators"}, "constants have numerators and a denominator")
            need(type(over) is int and over >= 1, "a denominator is a positive integer")
            need(not text.strip("0123456789- "), "numerators are whole numbers with a space between two")
            return cls(tuple(map(int, text.split(" "))), over)
        numbers = [Fraction(text) for text in written]
        over = lcm(*(number.denominator for number in numbers))
        return cls(tuple(number.numerator * (over // number.denominator) for number in numbers), over)

    def number(self, numerator: int) -> Fraction:
        return Fraction(numerator, self.over)

    @property
    def low(self) -> Fraction:
        return self.number(min(self.numerators, default=0))

    @property
    def high(self) -> Fraction:
        return self.number(max(self.numerators, default=0))

    @property
    def norm1(self) -> Fraction:
        return self.number(sum(map(abs, self.numerators)))

    @property
    def norm2(self) -> Fraction:
        """The squared L2 norm."""
        return Fraction(sum(map(mul, self.numerators, self.numerators)), self.over**2)

    @property
    def distinct(self) -> bool:
        return len(set(self.numerators)) == len(self.numerators)

    def picked(self, places: Sequence[int]) -> Constants:
        return Constants(tuple(self.numerators[place] for place in places), self.over)


@dataclass(frozen=True)
class Info:
    """Bounds of one value; see the module. ``None`` is unbounded.

    ``kind``: ``b``, ``i`` or ``f`` for bool, int64 and float64; ``python``: a Python number, not numpy's.
    ``rises``: under add-remove, no entry falls when a record is added. ``facts``: relations to other nodes
    (``low``: v >= k |u|_p; ``inverse``: 0 <= v <= c / |u|_p; ``exp``, ``centred``, ``entry``).
    ``values``: the entries of a constant, row by row.
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
    guard: Guard | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    values: Constants | None = None

    @property
    def private(self) -> bool:
        """Whether the value may differ between the two sides."""
        return self.records > 0 or self.change != 0 or self.change1 != 0

    @property
    def entries(self) -> Poly:
        """Entries of the array, or of one row."""
        found = ONE
        for extent in self.shape[self.records :]:
            found = found * Poly.of(extent)
        return found

    @property
    def constant(self) -> Poly | None:
        """The value of a public number that is known as an expression."""
        same = not self.private and self.low is not None and self.low == self.high
        return self.low if same else None


def magnitude(s: Setting, info: Info) -> Bound:
    """A bound on the absolute value of every entry."""
    if info.low is None or info.high is None:
        return None
    if s.at_most(0, info.low):
        return info.high
    return s.largest_of(s.largest_of(info.high, ZERO), s.largest_of(-info.low, ZERO))


def nonnegative(s: Setting, info: Info) -> bool:
    return info.low is not None and s.at_most(0, info.low)


def fit(s: Setting, info: Info) -> Info:
    """Tighten bounds by what holds of all arrays: norm inequalities, the triangle inequality, and
    |u - v|^2 <= |u|^2 + |v|^2 where u.v >= 0."""
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
    """A row-local value as one array, in which the rows of the changed records differ."""
    if not info.records:
        return info
    need(not s.length_is_private, "rows of data whose number is private are used as one array")
    g = s.group
    plain = replace(
        info,
        records=0,
        aligned=None,
        change1=times(g, info.change1),
        change2=times(g, info.change2),
        norm1=None,
        norm2=None,
        guard=None,
        facts={},
    )
    return fit(s, plain)


def union(left: Support, right: Support) -> Support:
    """The records of either; adjacent ranges are merged, so that a loop over records stays short."""
    if left is None or right is None:
        return None
    merged: list[tuple[int, int | None, int]] = list(left)
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
    """Whether no record is in both, for certain."""
    if left is None or right is None:
        return False
    return not any(_meet(a, b) for a in left for b in right)


def _meet(a: tuple[int, int | None, int], b: tuple[int, int | None, int]) -> bool:
    """Whether two ranges of positions have a common one (perhaps)."""
    if (a[1] is not None and a[1] <= max(a[0], b[0])) or (b[1] is not None and b[1] <= max(a[0], b[0])):
        return False
    if a[1] is None or b[1] is None:
        return True
    short, other = sorted((range(a[0], a[1], a[2]), range(b[0], b[1], b[2])), key=len)
    if len(short) > 100_000:
        return True
    return any(position in other for position in short)


def add_changes(s: Setting, left: Info, right: Info, *, apart: bool) -> tuple[Bound, Bound, Bound]:
    """Bounds on the change of a sum: sums, or the larger one where only one operand can move (``apart``)."""
    if apart:
        return (
            s.largest_of(left.change1, right.change1),
            s.largest_of(left.change2, right.change2),
            s.largest_of(left.change, right.change),
        )
    squares = squared_sum(left.change2, right.change2)
    return total(left.change1, right.change1), squares, total(left.change, right.change)


def squared_sum(left: Bound, right: Bound) -> Bound:
    """(sqrt(left) + sqrt(right))^2 from above: the squared norm of a sum."""
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
