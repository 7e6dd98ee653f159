"""What a black-box attack looks at: numbers computed from each output, fixed in advance or learned from the
past.

Learned features are scores: how much more often outputs like this one came from the first input. A score
for a past run uses tables of the *other* half of the past, so that past scores are as honest as future
ones; the stakes are derived from them.
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
    """A number for each output (NaN where it has none). ``learn`` may fit it, to the past only."""

    def __init__(self, name: str) -> None:
        self.name = name

    def learn(self, past: Past) -> tuple[Floats, Floats]:
        """Fit the feature; return its values for the past outputs on both inputs."""
        return self.values(past[0]), self.values(past[1])

    @abstractmethod
    def values(self, outcomes: Outcomes) -> Floats:
        """The feature of each output, shape (n,)."""

    def describe(self, low: float | None, high: float | None) -> str:
        """The event ``low <= feature < high`` in words; ``None`` for no bound."""
        return number_range(self.name, low, high)

    def missing(self) -> str:
        """The event that an output lacks the feature, in words."""
        return f"there is no {self.name}"


class FixedFeature(Feature):
    """A function of the output that is known in advance."""

    def __init__(self, name: str, function: Callable[[Outcomes], Floats]) -> None:
        super().__init__(name)
        self._function = function

    def values(self, outcomes: Outcomes) -> Floats:
        with np.errstate(invalid="ignore", over="ignore"):
            return self._function(outcomes)


class Column(Feature):
    """One number (or label) of the output, named as the user reaches it."""

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
    """Which of the most frequent outputs this is, as a whole; their number for all others."""

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
        """Number of frequent outputs."""
        return len(self._frequent)

    def ranks(self, outcomes: Outcomes) -> NDArray[np.int64]:
        """The place of each output among the frequent ones, by key."""
        if not self.count:
            return np.zeros(len(outcomes.keys), dtype=np.int64)
        place = np.minimum(np.searchsorted(self._frequent, outcomes.keys), self.count - 1)
        return np.where(self._frequent[place] == outcomes.keys, place, self.count)

    def values(self, outcomes: Outcomes) -> Floats:
        return self.ranks(outcomes).astype(float)

    def describe(self, low: float | None, high: float | None) -> str:
        cells = range(0 if low is None else int(low), self.count + 1 if high is None else int(high))
        rest = "the output is none of the frequent ones"
        return " or ".join(self._example(k) if k < self.count else rest for k in cells)

    def _example(self, k: int) -> str:
        """A frequent output in words, by the first of them."""
        key = self._frequent[k]
        for side in self._past or ():
            places = np.flatnonzero(side.keys == key)
            if len(places):
                return self._reader.describe(side.values[places[0]], int(side.symbols[places[0]]), int(key))
        raise AssertionError("a frequent output has been seen")


class OutputKind(Feature):
    """Whether the output is of the usual shape, and if not in which way (an exception, None, NaN, another
    shape).
    """

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
        """By the ratio of how often an output came before: from the first input to from the second."""
        ends = ["" if low is None else f"{np.exp(low):.3g} or more"]
        ends.append("" if high is None else f"below {np.exp(high):.3g}")
        ratio = " and ".join(end for end in ends if end)
        if high is not None and high <= 0:
            said = "outputs more likely on the second input"
        elif low is not None and low >= 0:
            said = "outputs more likely on the first input"
        else:
            said = "outputs by how likely they are on the first input against the second"
        return f"{said} (ratio {ratio})" if ratio else "any output"


class CoordinateScore(Feature):
    """Sum over coordinates of log(count on the first input / count on the second) of the coordinate's cell.

    For coordinates that are independent given the input this is the likelihood ratio itself, up to the
    width of the cells. ``columns`` turns the rows of numbers into the coordinates: themselves, or their
    differences; a coordinate may depend on numbers before its own and on none behind it, for only the first
    ``MAX_SCORED`` are asked for.
    """

    def __init__(self, name: str, columns: Callable[[Floats], Floats]) -> None:
        super().__init__(name)
        self._columns = columns
        #: Shape (SCORE_CELLS, d), NaN where a coordinate has fewer cuts.
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
        placed = np.zeros(part.shape, dtype=np.int8)  # as narrow as can be: this goes over all the past
        for cuts in self._cuts:  # one comparison for all columns, as many as there are cuts
            placed += part >= cuts
        placed[np.isnan(part)] = SCORE_CELLS
        return placed.astype(np.int64)


def _tables(placed: Any, size: int) -> Floats:
    """log(count on the first input / on the second) of each cell of each column, shape (d, size); ``placed``:
    the cells on both inputs, each of shape (n, d)."""
    width = placed[0].shape[1]
    offsets = size * np.arange(width)
    first, second = (np.bincount((side + offsets).ravel(), minlength=size * width) + 0.5 for side in placed)
    table: Floats = np.log(first / second).reshape(width, size)
    return table


def _cross_scores(placed: Any, size: int) -> tuple[Floats, Floats]:
    """Scores of the past, each half under the tables of the other half."""
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
    """Cuts of each column, shape (SCORE_CELLS, d): between few distinct values one each, otherwise
    quantiles."""
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
    """Distinct quantiles of finite or infinite values in order, each one of them; interpolation would
    subtract infinities.
    """
    return np.unique(ordered[np.ceil(levels * (len(ordered) - 1)).astype(int)])


def first_differences(values: Floats) -> Floats:
    """The first coordinate, then each coordinate minus the one before it; shape (n, d)."""
    with np.errstate(invalid="ignore"):
        return np.diff(values, axis=1, prepend=0.0)


def scalar_features(reader: OutcomeEncoder) -> list[tuple[Feature, float]]:
    """Features of one number with their shares."""
    return [
        (Column(reader, 0), 4.0),
        (FixedFeature("fractional part of the number", lambda out: _fraction(out.values[:, 0])), 0.5),
    ]


def _fraction(values: Floats) -> Floats:
    return np.where(np.isfinite(values), values - np.floor(values), np.nan)
