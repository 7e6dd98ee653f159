"""Datasets on which real programs fail, and neighbours of them: extremes, edges of number types, odd values.

Inside the declared domain they test the claim as it stands. Values outside of it (NaN, null, infinities,
numbers out of bounds, a new category, a longer text, no record at all) test a claim only if the declaration
admits them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dpaudit.core.column import Column

__all__ = ["NO_RECORD", "OUTSIDE", "Case", "cases_inside", "cases_outside", "require_kinds"]

#: The kinds of values outside a domain.
OUTSIDE = ("nan", "infinite", "null", "outside", "empty")
#: The words of a case without a record in one of the two datasets. It exists under add-remove only.
NO_RECORD = "the dataset becomes empty"
#: Where number types lose whole numbers: float32 from 2^24, int32 from 2^31, float64 from 2^53.
EDGES = tuple(sign * value for p in (24, 31, 53) for value in (2**p, 2**p - 1, 2**p + 1) for sign in (1, -1))
#: Number of special values of one column, and of sizes.
SPECIAL = 6
#: The smallest positive float that is not subnormal: its square and its logarithm are extreme.
TINY = 2.0**-1022
#: Texts of unequal length beside short ones. numpy cuts the longer ones to the length of the first.
LONG = ("Female", "a longer label than the others")
SHORT = "Male"


@dataclass(frozen=True)
class Case:
    """A dataset in which one record changes: ``new`` replaces ``old``, or ``old`` is added or removed.

    Attributes
    ----------
    words : str
        What is special, such as "a record is NaN".
    records : list
        The dataset.
    place : int
        The position of the record that changes.
    new : object
        Its replacement, for replaced records.
    """

    words: str
    records: list[Any]
    place: int
    new: Any

    def unwrapped(self) -> Case:
        """Return the case with records of one column as entries in place of tuples."""
        return replace(self, records=[entry for (entry,) in self.records], new=self.new[0])


def cases_inside(columns: Sequence[Column], values: Sequence[Any], sizes: Sequence[int]) -> Iterator[Case]:
    """Yield cases with records of the domain. ``values`` are its corners, the most different ones first.

    A record is a tuple with an entry of each column.
    """
    low, high = values[0], values[min(1, len(values) - 1)]
    for size in sizes:
        for base, other in dict.fromkeys([(low, high), (high, low), *((low, x) for x in values[2:])]):
            yield Case("all records but one are equal", [other, *[base] * (size - 1)], 0, base)
    yield from _special(columns, values, sizes[-1])
    yield from _groups(low, high, sizes)
    yield from _spread(columns, low, high, sizes[-1])
    yield from _rows_of_both_signs(columns, low, sizes[-1])
    yield from _labels_of_unequal_length(columns, sizes[-1])
    yield from _one_owner(columns, low, high, sizes[-1])


def cases_outside(
    columns: Sequence[Column], values: Sequence[Any], size: int, kinds: Sequence[str]
) -> Iterator[Case]:
    """Yield cases in which the record that changes has a value outside the domain of one column."""
    for name, words, column, value in _odd_values(columns):
        if name in kinds:
            for base in values[:2]:
                odd = _with(base, column, value, columns)
                yield Case(f"a record is {words}", [odd, *[base] * (size - 1)], 0, base)
    if "empty" in kinds:
        yield Case(NO_RECORD, [values[0]], 0, values[min(1, len(values) - 1)])


def require_kinds(kinds: object) -> bool:
    """Return whether ``kinds`` is a tuple of kinds of values outside a domain."""
    return isinstance(kinds, tuple) and all(kind in OUTSIDE for kind in kinds)


def _special(columns: Sequence[Column], values: Sequence[Any], size: int) -> Iterator[Case]:
    """Yield cases in which one record is at the edge of a number type, or all others are."""
    for k, column in enumerate(columns):
        for value in _edges(column):
            odd, base = _with(values[0], k, value, columns), values[0]
            yield Case(f"a record is {value}", [odd, *[base] * (size - 1)], 0, base)
            yield Case(f"all records but one are {value}", [values[-1], *[odd] * (size - 1)], 0, odd)


def _edges(column: Column) -> list[Any]:
    if column.kind not in "if" or column.ball is not None:
        return []
    low = -math.inf if column.low is None else column.low
    high = math.inf if column.high is None else column.high
    numbers: list[Any] = [value for value in EDGES if low <= value <= high]
    if column.kind == "f":
        small = [value for value in (-0.0, TINY, 0.1) if low <= value <= high]
        numbers = small[:2] + [float(value) for value in numbers] + small[2:]
    return numbers[:SPECIAL]


def _groups(low: Any, high: Any, sizes: Sequence[int]) -> Iterator[Case]:
    """Yield two groups of equal records, of which one is larger by one: medians and modes change.

    The first pair stands for any order: one group after the other, then alternating.
    """
    for size in sizes:
        half = size // 2
        for records in ([low] * half + [high] * (size - half), [(low, high)[k % 2] for k in range(size)]):
            for place in dict.fromkeys((half, 0, size - 1)):
                new = low if records[place] == high else high
                yield Case("two groups of equal records", records, place, new)


def _spread(columns: Sequence[Column], low: Any, high: Any, size: int) -> Iterator[Case]:
    """Yield records that are spread evenly over the domain, of which the first or the last changes ends."""
    for k, column in enumerate(columns):
        if column.width is None and column.kind in "if" and size > 2:
            ends, whole = (low[k], high[k]), column.kind == "i"
            steps = [ends[0] + (ends[1] - ends[0]) * j / (size - 1) for j in range(size)]
            records = [_with(low, k, int(x) if whole else x, columns) for x in steps]
            yield Case("the records are spread over the domain", records, 0, _with(low, k, ends[1], columns))
            yield Case("the records are spread over the domain", records, size - 1, low)


def _rows_of_both_signs(columns: Sequence[Column], base: Any, size: int) -> Iterator[Case]:
    """Yield rows with alternating extremes, which change in opposite directions."""
    for k, column in enumerate(columns):
        rows = [_with(base, k, row, columns) for row in column.opposite_rows()]
        if rows:
            yield Case("rows change in opposite directions", [rows[0]] * size, 0, rows[1])


def _labels_of_unequal_length(columns: Sequence[Column], size: int) -> Iterator[Case]:
    for column in columns:
        longest = math.inf if column.high is None else column.high
        if column.kind == "t":
            for text in (text for text in LONG if len(text) <= longest):
                short, long = ((entry,) for entry in (SHORT, text))  # texts have one column
                yield Case("labels have unequal lengths", [*[short] * (size - 1), long], size - 1, short)
                yield Case("the longest label comes first", [long, *[short] * (size - 1)], 0, short)


def _one_owner(columns: Sequence[Column], low: Any, high: Any, size: int) -> Iterator[Case]:
    """Yield tables in which all records agree in one column, such as the owner, and differ in the others."""
    if len(columns) < 2:
        return
    for k in range(len(columns)):
        same = tuple(low[j] if j == k else high[j] for j in range(len(columns)))
        yield Case("all records agree in one column", [same] * size, 0, low)
        yield Case("all records agree in one column", [same] * size, 0, high)


def _odd_values(columns: Sequence[Column]) -> Iterator[tuple[str, str, int, Any]]:
    """Yield the kind, the words, the column and the value of what stands outside the domain of a column."""
    for k, column in enumerate(columns):
        if column.kind == "f":
            yield "nan", "NaN", k, math.nan
            yield "infinite", "infinite", k, math.inf
            yield "infinite", "minus infinity", k, -math.inf
        yield "null", "null", k, None
        if column.kind == "t":
            if column.high is not None:
                yield "outside", "a text that is too long", k, "x" * (int(column.high) + 4)
        elif not column.one_hot:
            yield from (("outside", f"out of bounds ({x})", k, x) for x in _beyond(column))


def _beyond(column: Column) -> list[Any]:
    """Return numbers beyond both bounds: next to them (a new category), and far away."""
    found: list[Any] = []
    kind = float if column.kind == "f" else int
    if column.high is not None:
        found += [kind(column.high) + 1, kind(column.high) + 10**6]
    if column.low is not None:
        found += [kind(column.low) - 1, kind(column.low) - 10**6]
    return found if column.kind != "b" else []


def _with(base: Any, k: int, value: Any, columns: Sequence[Column]) -> Any:
    """Return the record with another entry in one column, or with another first number of its row."""
    row = columns[k].width is not None and not isinstance(value, tuple)
    return (*base[:k], (value, *base[k][1:]) if row else value, *base[k + 1 :])
