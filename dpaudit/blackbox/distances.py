"""Exact distances between two datasets or outputs, in the metrics of a stability claim."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.core.errors import MechanismError
from dpaudit.core.tables import rows_of

__all__ = ["NO_DISTANCE", "Distance", "distance", "size"]

#: A distance as an exact number, or infinite. In the metric L2 it is the square.
Distance = Fraction | float
#: The distance of values that have none in the metric, such as arrays of different shapes.
NO_DISTANCE = math.inf


def distance(metric: str, left: Any, right: Any) -> Distance:
    """Return the distance of two values, in the metric L2 its square.

    A key that one of two dicts of numbers lacks counts as 0 there.

    Raises
    ------
    MechanismError
        A value is not of the kind that the metric compares.
    """
    if metric == "discrete":
        return Fraction(int(_key(left) != _key(right)))
    if metric in _RECORDS:
        return _RECORDS[metric](_records(left), _records(right))
    if isinstance(left, dict) and isinstance(right, dict):
        keys = sorted({*left, *right}, key=repr)
        left, right = ([side.get(key, 0) for key in keys] for side in (left, right))
    one, two = _numbers(left), _numbers(right)
    if len(one) != len(two):
        return NO_DISTANCE
    apart = [_apart(a, b) for a, b in zip(one, two, strict=True)]
    return _NORMS[metric](apart)


def size(value: Any) -> Fraction:
    """Return the sum of the absolute values of all finite numbers in an output."""
    return sum((abs(Fraction(x)) for x in _numbers(value) if math.isfinite(x)), Fraction(0))


def _apart(a: float | int, b: float | int) -> Distance:
    if a == b or (a != a and b != b):
        return Fraction(0)
    if not (math.isfinite(a) and math.isfinite(b)):
        return NO_DISTANCE
    return abs(Fraction(a) - Fraction(b))


def _numbers(value: Any) -> list[Any]:
    array = np.asarray([*value.values()] if isinstance(value, dict) else value)
    if array.dtype.kind not in "biuf":
        raise MechanismError(
            f"an output must be a number or an array of numbers for this metric, got {type(value).__name__}.",
            code="E-STABILITY-OUTPUT",
        )
    return list(np.ravel(array).tolist())


def _records(value: Any) -> list[Any]:
    rows = rows_of(value)
    if rows is None and isinstance(value, dict):
        rows = list(zip(*(np.asarray(part).tolist() for part in value.values()), strict=True))
    if rows is None and not isinstance(value, list | tuple | np.ndarray):
        raise MechanismError(
            f"an output must be a dataset for this metric, got {type(value).__name__}.",
            code="E-STABILITY-OUTPUT",
        )
    return [_key(row) for row in (value if rows is None else rows)]


def _key(value: Any) -> str:
    """Return a text that is the same for equal values. NaN equals NaN, and 1 equals 1.0 and True."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_key, value))}]"
    number = isinstance(value, int | float) and math.isfinite(value)
    return repr(Fraction(value) if number else value)


def _symmetric(left: list[Any], right: list[Any]) -> Distance:
    one, two = Counter(left), Counter(right)
    return Fraction((one - two).total() + (two - one).total())


def _changed(left: list[Any], right: list[Any]) -> Distance:
    return _symmetric(left, right) / 2 if len(left) == len(right) else NO_DISTANCE


def _positions(left: list[Any], right: list[Any]) -> Distance:
    if len(left) != len(right):
        return NO_DISTANCE
    return Fraction(sum(a != b for a, b in zip(left, right, strict=True)))


def _edits(left: list[Any], right: list[Any]) -> Distance:
    """Return the number of insertions and deletions: both lengths less twice the longest common sequence."""
    row = [0] * (len(right) + 1)
    for a in left:
        before, row = row, [0]
        for j, b in enumerate(right):
            row.append(before[j] + 1 if a == b else max(row[j], before[j + 1]))
    return Fraction(len(left) + len(right) - 2 * row[-1])


_RECORDS: dict[str, Callable[[list[Any], list[Any]], Distance]] = {
    "symmetric": _symmetric,
    "insert-delete": _edits,
    "change-one": _changed,
    "hamming": _positions,
}
_NORMS: dict[str, Callable[[list[Distance]], Distance]] = {
    "absolute": lambda apart: max(apart, default=Fraction(0)),
    "L1": lambda apart: sum(apart, Fraction(0)),
    "L2": lambda apart: sum((x * x for x in apart), Fraction(0)),
    "LInf": lambda apart: max(apart, default=Fraction(0)),
}
