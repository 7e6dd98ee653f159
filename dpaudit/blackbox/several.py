"""Define features of outputs with several numbers: single numbers, sums, extremes and likelihood ratios."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.blackbox.features import (
    Column,
    CoordinateScore,
    Feature,
    FixedFeature,
    Floats,
    Past,
    first_differences,
)
from dpaudit.blackbox.outcomes import LABEL_BASE, OutcomeEncoder, Outcomes

__all__ = ["MAX_COORDINATES", "vector_features"]

#: Largest number of single numbers with a feature, and largest number of places in a description.
MAX_COORDINATES, NAMED_PLACES = 16, 3
#: Features that are a place among the numbers.
LARGEST, SMALLEST = "place of the largest number", "place of the smallest number"
_PLACES = {LARGEST: "largest", SMALLEST: "smallest"}


def vector_features(first: Past, reader: OutcomeEncoder) -> list[tuple[Feature, float]]:
    """Return the features of several numbers with their shares.

    The first block ``first`` determines the coordinates that differ most between the inputs.
    """
    features: list[tuple[Feature, float]] = [(Column(reader, k), 0.5) for k in _moving(first)]
    numeric = [k for k in range(first[0].values.shape[1]) if not _holds_labels(first, k)]
    whole = _WholeRows(numeric)
    for name, function in _SUMMARIES.items() if len(numeric) > 1 else ():
        kind = partial(_PlaceOf, reader, numeric) if name in _PLACES else FixedFeature
        features.append((kind(name, partial(whole.values, function)), 0.7))
    features.append(
        (CoordinateScore("likelihood ratio of the numbers one by one", lambda values: values), 3.0)
    )
    features.append(
        (CoordinateScore("likelihood ratio of the steps between the numbers", first_differences), 3.0)
    )
    return features


_SUMMARIES: dict[str, Callable[[Floats], Any]] = {
    "sum of the numbers": lambda rows: rows.sum(axis=1),
    "largest number": lambda rows: rows.max(axis=1),
    "smallest number": lambda rows: rows.min(axis=1),
    LARGEST: lambda rows: np.where(np.ptp(rows, axis=1) > 0, rows.argmax(axis=1), rows.shape[1]),
    SMALLEST: lambda rows: rows.argmin(axis=1),
    "spread of the numbers": lambda rows: np.ptp(rows, axis=1),
    "largest step between numbers": lambda rows: np.diff(rows, axis=1).max(axis=1),
    "smallest step between numbers": lambda rows: np.diff(rows, axis=1).min(axis=1),
    "sum of the absolute numbers": lambda rows: np.abs(rows).sum(axis=1),
}


class _PlaceOf(FixedFeature):
    """Place of the largest or the smallest number, with an additional place if all numbers are equal."""

    def __init__(
        self, reader: OutcomeEncoder, numeric: list[int], name: str, function: Callable[[Outcomes], Floats]
    ) -> None:
        super().__init__(name, function)
        self._reader, self._numeric = reader, numeric

    def describe(self, low: float | None, high: float | None) -> str:
        count = len(self._numeric)
        first = 0 if low is None else max(0, math.ceil(low))
        last = count if high is None else min(count, math.ceil(high) - 1)
        names = [self._reader.column_name(k) for k in self._numeric[first : last + 1]]
        if len(names) > NAMED_PLACES:
            names = [f"one from {names[0]} to {names[-1]}"]
        events = [f"the {_PLACES[self.name]} number is {' or '.join(names)}"] if names else []
        if last == count and self.name == LARGEST:
            events.append("all numbers are equal")
        return " or ".join(events)


def _holds_labels(first: Past, k: int) -> bool:
    return any(bool(np.any(side.values[:, k] <= LABEL_BASE)) for side in first)


class _WholeRows:
    """Rows of outputs without missing numbers in the ``numeric`` columns.

    Nine features in turn use the rows of the same outputs on both inputs, so the rows are computed once.
    """

    def __init__(self, numeric: list[int]) -> None:
        self._numeric = numeric
        #: The two outcomes that were used last, with their complete rows and a mask of these rows.
        self._known: list[tuple[Outcomes, Floats, NDArray[np.bool_]]] = []

    def values(self, function: Callable[[Floats], Any], outcomes: Outcomes) -> Floats:
        """Return ``function`` of each row, or NaN for rows with a missing number."""
        rows, whole = self._read(outcomes)
        if whole.all():
            return np.asarray(function(rows), dtype=float)
        result = np.full(len(whole), np.nan)
        if whole.any():
            result[whole] = function(rows)
        return result

    def _read(self, outcomes: Outcomes) -> tuple[Floats, NDArray[np.bool_]]:
        for known, rows, whole in self._known:
            if known is outcomes:
                return rows, whole
        values = outcomes.values
        rows = values if len(self._numeric) == values.shape[1] else values[:, self._numeric]
        whole = np.asarray((rows > LABEL_BASE).all(axis=1))  # false for NaN as well
        rows = rows if whole.all() else rows[whole]
        self._known = [*self._known[-1:], (outcomes, rows, whole)]
        return rows, whole


def _moving(first: Past) -> list[int]:
    """Return the coordinates with a feature: all, or those whose ranks differ most in the first block."""
    width = first[0].values.shape[1]
    if width <= MAX_COORDINATES:
        return list(range(width))
    pooled = np.concatenate([first[0].values, first[1].values])
    ranks = np.argsort(np.argsort(pooled, axis=0, kind="stable"), axis=0, kind="stable")
    count = len(first[0].values)
    moved = np.abs(ranks[:count].mean(axis=0) - ranks[count:].mean(axis=0))
    return sorted(np.argsort(-moved, kind="stable")[:MAX_COORDINATES].tolist())
