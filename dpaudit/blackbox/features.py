"""Compute the features of outputs in a black-box attack: numbers fixed in advance or learned from the past.

Learned features are scores: how much more often similar outputs came from the first input. The score of a
past run uses tables of the *other* half of the past, so that past scores are not biased relative to future
scores. The stakes are derived from them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.blackbox.outcomes import OutcomeEncoder, Outcomes
from dpaudit.blackbox.words import number_range

__all__ = [
    "Column",
    "CoordinateScore",
    "Feature",
    "FixedFeature",
    "OutputKind",
    "OutputRank",
    "OutputScore",
    "Past",
    "first_differences",
    "quantile_cuts",
    "scalar_features",
]

MAX_SCORED = 256
MAX_KEYS = 512
SCORE_CELLS = 16

Floats = NDArray[np.float64]
#: All past outcomes, on the first and on the second input.
Past = tuple[Outcomes, Outcomes]


class Feature(ABC):
    """Number computed from each output, or NaN. ``learn`` may fit it, to the past only."""

    def __init__(self, name: str) -> None:
        self.name = name

    def learn(self, past: Past) -> tuple[Floats, Floats]:
        """Fit the feature, and return its values for the past outputs on both inputs."""
        return self.values(past[0]), self.values(past[1])

    @abstractmethod
    def values(self, outcomes: Outcomes) -> Floats:
        """Return the feature of each output, shape (n,)."""

    def describe(self, low: float | None, high: float | None) -> str:
        """Describe the event ``low <= feature < high``. None means no bound."""
        return number_range(self.name, low, high)

    def missing(self) -> str:
        """Describe the event that an output lacks the feature."""
        return f"there is no {self.name}"


class FixedFeature(Feature):
    """Fixed function of the output."""

    def __init__(self, name: str, function: Callable[[Outcomes], Floats]) -> None:
        super().__init__(name)
        self._function = function

    def values(self, outcomes: Outcomes) -> Floats:
        with np.errstate(invalid="ignore", over="ignore"):
            return self._function(outcomes)


class Column(Feature):
    """One number (or label) of the output, named by the expression that accesses it."""

    def __init__(self, reader: OutcomeEncoder, place: int) -> None:
        super().__init__("")
        self._reader, self._place = reader, place

    def values(self, outcomes: Outcomes) -> Floats:
        return outcomes.values[:, self._place]

    def describe(self, low: float | None, high: float | None) -> str:
        return self._reader.range_in_words(self._place, low, high)

    def missing(self) -> str:
        return f"{self._reader.column_name(self._place)} is missing or NaN"


class OutputRank(Feature):
    """Rank of the output among the most frequent outputs, or their number for all other outputs."""

    def __init__(self, reader: OutcomeEncoder, *, limit: int) -> None:
        super().__init__("output")
        self._reader = reader
        self._limit = limit
        self._frequent: NDArray[np.uint64] = np.zeros(0, dtype=np.uint64)
        self._past: Past | None = None

    def learn(self, past: Past) -> tuple[Floats, Floats]:
        ordered = np.sort(np.concatenate([past[0].keys, past[1].keys]))
        starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        counts = np.diff(starts, append=len(ordered))
        starts, counts = starts[counts >= 2], counts[counts >= 2]
        chosen = np.sort(np.argsort(-counts, kind="stable")[: self._limit])
        self._frequent = ordered[starts[chosen]]
        self._past = past
        return self.values(past[0]), self.values(past[1])

    @property
    def count(self) -> int:
        """Return the number of frequent outputs."""
        return len(self._frequent)

    def ranks(self, outcomes: Outcomes) -> NDArray[np.int64]:
        """Return the place of each output among the frequent ones, by key."""
        if not self.count:
            return np.zeros(len(outcomes.keys), dtype=np.int64)
        place = np.minimum(np.searchsorted(self._frequent, outcomes.keys), self.count - 1)
        return np.where(self._frequent[place] == outcomes.keys, place, self.count)

    def values(self, outcomes: Outcomes) -> Floats:
        return self.ranks(outcomes).astype(float)

    def describe(self, low: float | None, high: float | None) -> str:
        cells = range(0 if low is None else int(low), self.count + 1 if high is None else int(high))
        rest = "the output is not one of the frequent outputs"
        return " or ".join(self._example(k) if k < self.count else rest for k in cells)

    def _example(self, k: int) -> str:
        """Describe a frequent output by its first occurrence."""
        key = self._frequent[k]
        for side in self._past or ():
            places = np.flatnonzero(side.keys == key)
            if len(places):
                return self._reader.describe(side.values[places[0]], int(side.symbols[places[0]]), int(key))
        raise AssertionError("a frequent output must have occurred")


class OutputKind(Feature):
    """Kind of the output: the usual shape, an exception, None, NaN or another shape."""

    def __init__(self, reader: OutcomeEncoder) -> None:
        super().__init__("kind of output")
        self._reader = reader

    def values(self, outcomes: Outcomes) -> Floats:
        return outcomes.symbols.astype(float)

    def describe(self, low: float | None, high: float | None) -> str:
        return " or ".join(self._reader.kinds(0.0 if low is None else low, np.inf if high is None else high))


class OutputScore(Feature):
    """log(count on the first input / count on the second) of each frequent output as a whole."""

    def __init__(self, reader: OutcomeEncoder) -> None:
        super().__init__("")
        self._rank = OutputRank(reader, limit=MAX_KEYS)
        self._table: Floats = np.zeros((1, 1))

    def learn(self, past: Past) -> tuple[Floats, Floats]:
        self._rank.learn(past)
        ranks = (self._rank.ranks(past[0])[:, None], self._rank.ranks(past[1])[:, None])
        self._table = _tables(ranks, self._rank.count + 1)
        return _cross_scores(ranks, self._rank.count + 1)

    def values(self, outcomes: Outcomes) -> Floats:
        return _score(self._rank.ranks(outcomes)[:, None], self._table)

    def describe(self, low: float | None, high: float | None) -> str:
        """Describe the range by the ratio of past frequencies, first input to second input."""
        ends = ["" if low is None else f"{np.exp(low):.3g} or more"]
        ends.append("" if high is None else f"below {np.exp(high):.3g}")
        ratio = " and ".join(end for end in ends if end)
        if high is not None and high <= 0:
            text = "outputs more likely on the second input"
        elif low is not None and low >= 0:
            text = "outputs more likely on the first input"
        else:
            text = "outputs by their likelihood on the first input relative to the second"
        return f"{text} (ratio {ratio})" if ratio else "any output"


class CoordinateScore(Feature):
    """Sum over coordinates of log(count on the first input / count on the second) of the coordinate's cell.

    For coordinates that are independent given the input, this is the likelihood ratio itself, up to the width
    of the cells. ``columns`` converts the rows of numbers to coordinates: the numbers or their differences. A
    coordinate may depend only on its number and earlier ones, because ``columns`` receives only the first
    ``MAX_SCORED`` numbers.
    """

    def __init__(self, name: str, columns: Callable[[Floats], Floats]) -> None:
        super().__init__(name)
        self._columns = columns
        #: Shape (SCORE_CELLS, d), with NaN if a coordinate has fewer cuts.
        self._cuts: Floats = np.zeros((SCORE_CELLS, 0))
        self._tables: Floats = np.zeros((0, SCORE_CELLS + 1))

    def learn(self, past: Past) -> tuple[Floats, Floats]:
        parts = [self._columns(side.values[:, :MAX_SCORED]) for side in past]
        self._cuts = _column_cuts(np.concatenate(parts))
        placed = (self._place(parts[0]), self._place(parts[1]))
        self._tables = _tables(placed, SCORE_CELLS + 1)
        return _cross_scores(placed, SCORE_CELLS + 1)

    def values(self, outcomes: Outcomes) -> Floats:
        placed = self._place(self._columns(outcomes.values[:, :MAX_SCORED]))
        return _score(placed, self._tables)

    def _place(self, part: Floats) -> NDArray[np.int64]:
        placed = np.zeros(part.shape, dtype=np.int8)  # a narrow type, because this runs over all past outputs
        for cuts in self._cuts:  # compare all columns at once for each cut
            placed += part >= cuts
        placed[np.isnan(part)] = SCORE_CELLS
        return placed.astype(np.int64)


def _tables(placed: Any, size: int) -> Floats:
    """Return log(count on the first input / on the second) of each cell of each column, shape (d, size).

    ``placed`` holds the cells on both inputs, each of shape (n, d).
    """
    width = placed[0].shape[1]
    offsets = size * np.arange(width)
    first, second = (np.bincount((side + offsets).ravel(), minlength=size * width) + 0.5 for side in placed)
    table: Floats = np.log(first / second).reshape(width, size)
    return table


def _cross_scores(placed: Any, size: int) -> tuple[Floats, Floats]:
    """Return the scores of the past, each half under the tables of the other half."""
    scores = (np.empty(len(placed[0])), np.empty(len(placed[1])))
    for half in (0, 1):
        tables = _tables([side[1 - half :: 2] for side in placed], size)
        for score, side in zip(scores, placed, strict=True):
            score[half::2] = _score(side[half::2], tables)
    return scores


def _score(placed: NDArray[np.int64], tables: Floats) -> Floats:
    width, size = tables.shape
    total: Floats = tables.ravel()[placed + size * np.arange(width)].sum(axis=1)
    return total


def _column_cuts(pooled: Floats) -> Floats:
    """Return the cuts of each column, shape (SCORE_CELLS, d).

    There is one cut between each two of few distinct values. Otherwise, the cuts are quantiles.
    """
    ordered = np.sort(pooled, axis=0)  # NaN last
    cuts = np.full((SCORE_CELLS, pooled.shape[1]), np.nan)
    levels = np.arange(1, SCORE_CELLS) / SCORE_CELLS
    cuts[: len(levels)] = ordered[np.ceil(levels * (len(ordered) - 1)).astype(int)]
    with np.errstate(invalid="ignore"):  # the difference of two infinities
        few = 1 + np.count_nonzero(np.diff(ordered, axis=0) != 0, axis=0) <= SCORE_CELLS
    for k in np.flatnonzero(few | np.isnan(ordered[-1])):
        own = _quantile_cuts(ordered[:, k][~np.isnan(ordered[:, k])])
        cuts[:, k] = np.nan
        cuts[: len(own), k] = own
    return cuts


def _quantile_cuts(ordered: Floats) -> Floats:
    distinct = np.unique(ordered)
    if len(distinct) <= SCORE_CELLS:
        return distinct[1:]
    return quantile_cuts(ordered, np.arange(1, SCORE_CELLS) / SCORE_CELLS)


def quantile_cuts(ordered: Floats, levels: Floats) -> Floats:
    """Return distinct quantiles of sorted finite or infinite values.

    Each quantile is one of the values, because interpolation would subtract infinities.
    """
    return np.unique(ordered[np.ceil(levels * (len(ordered) - 1)).astype(int)])


def first_differences(values: Floats) -> Floats:
    """Return the first coordinate, then each coordinate minus the previous one, shape (n, d)."""
    with np.errstate(invalid="ignore"):
        return np.diff(values, axis=1, prepend=0.0)


def scalar_features(reader: OutcomeEncoder) -> list[tuple[Feature, float]]:
    """Return the features of a single number with their shares."""
    return [
        (Column(reader, 0), 4.0),
        (FixedFeature("fractional part of the number", lambda out: _fraction(out.values[:, 0])), 0.5),
    ]


def _fraction(values: Floats) -> Floats:
    return np.where(np.isfinite(values), values - np.floor(values), np.nan)
