"""What a black-box attack looks at, and how it sorts outputs into cells.

An *expert* has a feature (a number computed from each output) and a rule that cuts the feature's range into cells at quantiles
of the past: even cells see shifts and scales, cells that get finer towards both ends see tails. One expert has a cell for each
frequent output as a whole. Two have learned features: the sum over coordinates (or first differences) of the log-likelihood
ratio of each, with tables fitted on one half of the past to score the other, so that past scores are as honest as future ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpaudit.attacks.blackbox_outcomes import Outcomes

__all__ = ["CELLS", "Expert", "make_experts"]

#: Cells of every expert; the last one is for outputs that lack the feature.
CELLS = 34
EVEN_CELLS = 16
TAIL_DEPTH = 12
MIN_TAIL_COUNT = 8
MAX_COORDINATES = 16
MAX_SCORED = 256
SCORE_CELLS = 16

Floats = NDArray[np.float64]


@dataclass
class Expert:
    """One way to sort outputs into cells. ``fit`` uses the past only; ``cells`` sorts past or new outputs by the frozen rule."""

    name: str
    feature: Callable[[Outcomes], Floats]
    rule: str
    weight: float
    edges: Floats = field(default_factory=lambda: np.zeros(0))

    def fit(self, past: tuple[Outcomes, Outcomes]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Learn the cells from the past outputs on both inputs; return the cells of those outputs."""
        features = [self.feature(side) for side in past]
        pooled = np.concatenate(features)
        self.edges = _edges(pooled[~np.isnan(pooled)], self.rule)
        first, second = (self._sort(feature) for feature in features)
        return first, second

    def cells(self, outcomes: Outcomes) -> NDArray[np.int64]:
        """The cell of each output, in 0..CELLS-1."""
        return self._sort(self.feature(outcomes))

    def _sort(self, feature: Floats) -> NDArray[np.int64]:
        return np.where(np.isnan(feature), CELLS - 1, np.searchsorted(self.edges, feature, side="right"))

    def describe(self, cell: int) -> str:
        """A cell in words."""
        if cell == CELLS - 1:
            return f"{self.name} is missing"
        low = self.edges[cell - 1] if cell > 0 else None
        high = self.edges[cell] if cell < len(self.edges) else None
        if low is None:
            return f"{self.name} is anything" if high is None else f"{self.name} < {high:.6g}"
        return f"{self.name} >= {low:.6g}" if high is None else f"{low:.6g} <= {self.name} < {high:.6g}"


def _edges(pooled: Floats, rule: str) -> Floats:
    """Cell boundaries: between few distinct values one cell each, otherwise quantiles."""
    if not len(pooled):
        return np.zeros(0)
    distinct = np.unique(pooled[:: max(1, len(pooled) // 4096)])
    if len(distinct) < CELLS - 1:
        distinct = np.unique(pooled)
        if len(distinct) < CELLS - 1:
            return distinct[1:]
    if rule == "even":
        levels = np.arange(1, EVEN_CELLS) / EVEN_CELLS
    else:
        deepest = int(np.clip(np.log2(len(pooled) / MIN_TAIL_COUNT), 1, TAIL_DEPTH))
        tail = 2.0 ** -np.arange(1, deepest + 1)
        levels = np.union1d(tail, 1.0 - tail)
    return np.unique(np.quantile(pooled, levels, method="higher"))


@dataclass
class KeyExpert(Expert):
    """A cell for each of the outputs seen most often, as a whole; all others share a cell."""

    frequent: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    examples: dict[int, str] = field(default_factory=dict)

    def fit(self, past: tuple[Outcomes, Outcomes]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        keys, where, counts = np.unique(
            np.concatenate([past[0].keys, past[1].keys]), return_index=True, return_counts=True
        )
        chosen = np.argsort(-counts, kind="stable")[: CELLS - 2]
        chosen = np.sort(chosen[counts[chosen] >= 2])
        self.frequent = keys[chosen]
        values = np.concatenate([past[0].values, past[1].values])
        self.examples = {cell: _shown(values[where[index]]) for cell, index in enumerate(chosen)}
        return self.cells(past[0]), self.cells(past[1])

    def cells(self, outcomes: Outcomes) -> NDArray[np.int64]:
        if not len(self.frequent):
            return np.full(len(outcomes.keys), CELLS - 2)
        place = np.minimum(np.searchsorted(self.frequent, outcomes.keys), len(self.frequent) - 1)
        return np.where(self.frequent[place] == outcomes.keys, place, CELLS - 2)

    def describe(self, cell: int) -> str:
        return f"the output is {self.examples[cell]}" if cell in self.examples else "the output is none of the frequent ones"


def _shown(row: Floats) -> str:
    return "[" + ", ".join(f"{value:.4g}" for value in row[:12]) + (", ...]" if len(row) > 12 else "]")


@dataclass
class ScoreExpert(Expert):
    """Cells of a learned score: the sum over coordinates of log (count on the first input / count on the second) of its cell."""

    columns: Callable[[Floats], Floats] = lambda values: values
    cuts: list[Floats] = field(default_factory=list)
    tables: list[Floats] = field(default_factory=list)

    def fit(self, past: tuple[Outcomes, Outcomes]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        parts = [self.columns(side.values)[:, :MAX_SCORED] for side in past]
        self.cuts = [_score_cuts(np.concatenate([part[:, k] for part in parts])) for k in range(parts[0].shape[1])]
        sorted_parts = [self._place(part) for part in parts]
        scores = [np.empty(len(part)) for part in parts]
        for half in (0, 1):  # a table never scores the runs it was fitted on
            tables = self._tables([part[1 - half :: 2] for part in sorted_parts])
            for score, part in zip(scores, sorted_parts, strict=True):
                score[half::2] = _score(part[half::2], tables)
        self.tables = self._tables(sorted_parts)
        pooled = np.concatenate(scores)
        self.edges = _edges(pooled, self.rule)
        return self._sort(scores[0]), self._sort(scores[1])

    def cells(self, outcomes: Outcomes) -> NDArray[np.int64]:
        placed = self._place(self.columns(outcomes.values)[:, :MAX_SCORED])
        return self._sort(_score(placed, self.tables))

    def _place(self, part: Floats) -> NDArray[np.int64]:
        placed = np.empty(part.shape, dtype=np.int64)
        for k, cuts in enumerate(self.cuts):
            placed[:, k] = np.where(
                np.isnan(part[:, k]), SCORE_CELLS, np.searchsorted(cuts, part[:, k], side="right")
            )
        return placed

    def _tables(self, placed: list[NDArray[np.int64]]) -> list[Floats]:
        counts = [
            [np.bincount(part[:, k], minlength=SCORE_CELLS + 1) + 0.5 for part in placed] for k in range(len(self.cuts))
        ]
        return [np.log(first / second) for first, second in counts]


def _score(placed: NDArray[np.int64], tables: list[Floats]) -> Floats:
    total = np.zeros(len(placed))
    for k, table in enumerate(tables):
        total += table[placed[:, k]]
    return total


def _score_cuts(column: Floats) -> Floats:
    column = column[~np.isnan(column)]
    distinct = np.unique(column)
    if len(distinct) <= SCORE_CELLS:
        return distinct[1:]
    return np.unique(np.quantile(column, np.arange(1, SCORE_CELLS) / SCORE_CELLS, method="higher"))


def first_differences(values: Floats) -> Floats:
    """The first coordinate, then each coordinate minus the one before it."""
    with np.errstate(invalid="ignore"):
        return np.diff(values, axis=1, prepend=0.0)


def make_experts(first: tuple[Outcomes, Outcomes], *, bits: bool) -> tuple[list[Expert], float]:
    """The experts for outputs such as those of the first block, and the share of the bettor who follows the richest.

    ``bits``: look at the floats' bit patterns too (the claim is about the program as it runs).
    """
    width = first[0].values.shape[1]
    scalars = _scalar_features(width, bits) if width == 1 else _vector_features(first)
    experts: list[Expert] = [KeyExpert("output", lambda out: out.keys.astype(float), "key", 4.0)]
    experts.append(Expert("symbol", lambda out: out.symbols.astype(float), "even", 1.0))
    for name, feature, weight in scalars:
        experts += [Expert(name, feature, rule, weight) for rule in ("even", "tails")]
    if width > 1:
        for name, columns in (("coordinates' score", lambda v: v), ("differences' score", first_differences)):
            experts += [ScoreExpert(name, _no_feature, rule, 3.0, columns=columns) for rule in ("even", "tails")]
    total = sum(expert.weight for expert in experts)
    follow = 0.2
    for expert in experts:
        expert.weight *= (1.0 - follow) / total
    return experts, follow


def _no_feature(outcomes: Outcomes) -> Floats:
    return np.zeros(len(outcomes.keys))


Named = tuple[str, Callable[[Outcomes], Floats], float]


def _scalar_features(width: int, bits: bool) -> list[Named]:
    features: list[Named] = [
        ("output", lambda out: out.values[:, 0], 4.0),
        ("output mod 1", lambda out: _fraction(out.values[:, 0]), 0.5),
    ]
    if bits:
        features.append(("lowest bit of output", lambda out: lowest_bit(out.values[:, 0]), 2.0))
    return features


def _vector_features(first: tuple[Outcomes, Outcomes]) -> list[Named]:
    features: list[Named] = [(f"output[{k}]", _column(k), 0.5) for k in _moving(first)]
    for name, function in (
        ("sum", np.sum),
        ("maximum", np.max),
        ("minimum", np.min),
        ("place of the maximum", np.argmax),
        ("place of the minimum", np.argmin),
        ("spread", np.ptp),
    ):
        features.append((name, _reduced(function), 1.0))
    features.append(("largest difference", lambda out: first_differences(out.values)[:, 1:].max(axis=1), 0.5))
    features.append(("smallest difference", lambda out: first_differences(out.values)[:, 1:].min(axis=1), 0.5))
    features.append(("sum of absolute values", lambda out: np.abs(out.values).sum(axis=1), 0.5))
    return features


def _column(k: int) -> Callable[[Outcomes], Floats]:
    return lambda out: out.values[:, k]


def _reduced(function: Callable[..., Floats]) -> Callable[[Outcomes], Floats]:
    def feature(out: Outcomes) -> Floats:
        with np.errstate(invalid="ignore"):
            missing = np.isnan(out.values).any(axis=1)
            return np.where(missing, np.nan, function(np.where(missing[:, None], 0.0, out.values), axis=1))

    return feature


def _moving(first: tuple[Outcomes, Outcomes]) -> list[int]:
    """The coordinates to look at one by one: all, or those whose ranks moved most in the first block."""
    width = first[0].values.shape[1]
    if width <= MAX_COORDINATES:
        return list(range(width))
    pooled = np.concatenate([first[0].values, first[1].values])
    ranks = np.argsort(np.argsort(pooled, axis=0, kind="stable"), axis=0, kind="stable")
    count = len(first[0].values)
    moved = np.abs(ranks[:count].mean(axis=0) - ranks[count:].mean(axis=0))
    return sorted(np.argsort(-moved, kind="stable")[:MAX_COORDINATES].tolist())


def _fraction(values: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(values), values - np.floor(values), np.nan)


def lowest_bit(values: Floats) -> Floats:
    """log2 of the largest power of two that divides each float; 1100 for 0, NaN where there is none.

    A sum of two floats is a multiple of the coarser grid of the two, so small outputs of a naive sampler betray what was added
    (Mironov 2012).
    """
    with np.errstate(invalid="ignore"):
        mantissa, exponent = np.frexp(np.where(np.isfinite(values), values, np.nan))
        whole = np.abs(np.where(np.isnan(mantissa), 0.0, mantissa) * 2.0**53).astype(np.int64)
        trailing = np.log2(np.maximum(whole & -whole, 1).astype(float))
        result = np.where(whole == 0, 1100.0, exponent - 53 + trailing)
        return np.where(np.isnan(mantissa), np.nan, result)
