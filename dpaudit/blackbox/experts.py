"""Define the experts of the black-box attack: features whose range is cut into cells by a rule.

``even`` cells hold equal shares of the past outputs and detect shifts and scales. ``tails`` are finer towards
both ends. ``split`` has one cut near each end, at the strongest past evidence against the claim, so that
there is one cell to learn instead of many. ``floor`` is the range below all past values of one of the inputs.
It is for the lowest bits of floats, where a finer grid identifies the input with certainty. ``signs``
distinguishes negative, zero and positive values. ``floor`` and ``signs`` bet boldly. ``fine`` has cells in
the middle and in the tails, for claims about divergences.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpaudit.blackbox.features import (
    Feature,
    Floats,
    OutputKind,
    OutputRank,
    OutputScore,
    Past,
    quantile_cuts,
    scalar_features,
)
from dpaudit.blackbox.grids import LOWEST_BIT, FloatSum, Guesses, bit_features
from dpaudit.blackbox.outcomes import OutcomeEncoder, Outcomes
from dpaudit.blackbox.several import vector_features

__all__ = ["CELLS", "FOLLOW", "Cut", "Experts"]

#: Number of cells of every expert. The last cell is for outputs without the feature.
CELLS = 34
EVEN_CELLS = 16
TAIL_DEPTH = 12
MIN_TAIL_COUNT = 8
#: Levels in the middle that the rule ``fine`` adds to those of the tails.
MIDDLE_LEVELS = np.arange(3, 14) / 16
SPLIT_LEVELS = 32
#: Shares of the capital of one feature. The split has the largest, because it has the fewest cells to learn.
RULE_SHARES = {"split": 0.5, "even": 0.25, "tails": 0.25}
FINE_RULE_SHARES = {"split": 0.3, "even": 0.15, "tails": 0.15, "fine": 0.4}
BIT_SHARES = {"floor": 0.6, "split": 0.25, "even": 0.15}
#: Shares of the ranks and of the score of whole outputs, if outputs repeat often. All other features then
#: depend only on which of a few outputs occurred.
WHOLE_SHARES = (0.4, 0.2)
#: Rules whose experts bet from the first outputs on.
BOLD = ("floor", "signs")
#: Share of the bettor that copies the richest expert.
FOLLOW = 0.3


@dataclass
class Cut:
    """Cells of one feature by one rule. They change only in ``fit``."""

    rule: str
    weight: float
    edges: Floats = field(default_factory=lambda: np.zeros(0))

    def fit(self, first: Floats, second: Floats, pooled: Floats, *, epsilon: float) -> None:
        """Place the cuts by the sorted past values without NaN, on each input and pooled."""
        if self.rule == "split":
            self.edges = _split(first, second, pooled, epsilon)
        elif self.rule == "signs":
            self.edges = np.array([-0.5, 0.5])
        elif self.rule == "floor":
            self.edges = _floor(first, second)
        else:
            self.edges = _quantile_edges(pooled, self.rule)

    def cells(self, values: Floats) -> NDArray[np.int64]:
        """Return the cell of each value, in 0..CELLS-1."""
        cells: NDArray[np.int64] = np.searchsorted(self.edges, values, side="right")
        cells[np.isnan(values)] = CELLS - 1
        return cells

    def counts(self, ordered: Floats, missing: int) -> NDArray[np.int64]:
        """Return how many of the ``ordered`` and the missing values fall into each cell, shape (CELLS,)."""
        below = np.searchsorted(ordered, self.edges, side="left")
        counts = np.zeros(CELLS, dtype=np.int64)
        counts[: len(below) + 1] = np.diff(below, prepend=0, append=len(ordered))
        counts[-1] += missing
        return counts

    def places(self, pooled: Floats) -> Floats:
        """Return the median of the ``pooled`` sorted values in each cell, NaN if there are none, (CELLS,)."""
        found = np.full(CELLS, np.nan)
        below = np.searchsorted(pooled, self.edges, side="left")
        starts, stops = np.append(0, below), np.append(below, len(pooled))
        filled = np.flatnonzero(stops > starts)
        found[filled] = pooled[(starts[filled] + stops[filled] - 1) // 2]
        return np.where(np.isfinite(found), found, np.nan)

    def ends(self, cell: int) -> tuple[float | None, float | None]:
        """Return the ends of a cell, which holds the values from the first end on, below the second."""
        low = float(self.edges[cell - 1]) if cell > 0 else None
        return low, float(self.edges[cell]) if cell < len(self.edges) else None


def _quantile_edges(pooled: Floats, rule: str) -> Floats:
    """Return one cut between each two of few distinct values, or quantiles."""
    if not len(pooled):
        return np.zeros(0)
    starts = np.flatnonzero(pooled[1:] != pooled[:-1]) + 1
    if len(starts) < CELLS - 2:
        return pooled[starts]
    levels = np.arange(1, EVEN_CELLS) / EVEN_CELLS
    if rule in ("tails", "fine"):
        deepest = int(np.clip(np.log2(len(pooled) / MIN_TAIL_COUNT), 1, TAIL_DEPTH))
        tail = 2.0 ** -np.arange(1, deepest + 1)
        levels = np.union1d(tail, 1.0 - tail)
        if rule == "fine":
            levels = np.union1d(levels, MIDDLE_LEVELS)
    return quantile_cuts(pooled, levels)


def _split(first: Floats, second: Floats, pooled: Floats, epsilon: float) -> Floats:
    if not len(pooled):
        return np.zeros(0)
    tail = 2.0 ** -np.arange(1, 2 + int(np.log2(len(pooled))))
    levels = np.union1d(np.arange(1, SPLIT_LEVELS) / SPLIT_LEVELS, np.union1d(tail, 1 - tail))
    cuts = np.unique(pooled[np.minimum((levels * len(pooled)).astype(int), len(pooled) - 1)])
    below = [np.searchsorted(side, cuts) for side in (first, second)]
    above = [len(side) - count for side, count in zip((first, second), below, strict=True)]
    low = cuts[np.argmax(_evidence(below[0], below[1], epsilon))]
    high = cuts[np.argmax(np.where(cuts >= low, _evidence(above[0], above[1], epsilon), -np.inf))]
    return np.unique([low, high])


def _floor(first: Floats, second: Floats) -> Floats:
    """Return one cut. Only one of the inputs has past values below it."""
    return np.array([max(first[0], second[0])]) if len(first) and len(second) else np.zeros(0)


def _evidence(first: NDArray[np.int64], second: NDArray[np.int64], epsilon: float) -> Floats:
    """Return the evidence of each event: its count times a divergence from the share that the claim allows.

    The share is that of the input that the event favours.
    """
    total = first + second + 1.0
    q, other = (np.maximum(first, second) + 0.5) / total, (np.minimum(first, second) + 0.5) / total
    p, rest = special.expit(epsilon), special.expit(-epsilon)
    gain: Floats = np.sign(rest - other) * total * (q * np.log(q / p) + other * np.log(other / rest))
    return gain


class Experts:
    """All experts on one pair of inputs, for outputs of the form of the first block.

    Parameters
    ----------
    first : Past
        The first block.
    epsilon : float
        The claimed epsilon, at which splits search for evidence.
    bits : bool
        Whether bit patterns are compared too (for claims about the program as it runs).
    reader : OutcomeEncoder
        Names the parts of the outputs.
    guessed : Guesses
        Numbers to which noise may have been added, for the bits.
    fine : bool
        Whether there are also experts with cells by the rule ``fine``.
    """

    def __init__(
        self,
        first: Past,
        *,
        epsilon: float,
        bits: bool,
        reader: OutcomeEncoder,
        guessed: Guesses = (),
        fine: bool = False,
    ) -> None:
        self._epsilon = epsilon
        width = first[0].values.shape[1]
        plain = scalar_features(reader) if width == 1 else vector_features(first, reader)
        plain += bit_features(width, guessed) if bits else []
        self._features: list[tuple[Feature, list[Cut]]] = [
            (OutputRank(reader, limit=CELLS - 2), [Cut("even", 4.0)]),
            (OutputScore(reader), [Cut("split", 4.0)]),
            (OutputKind(reader), [Cut("even", 0.5)]),
        ]
        for feature, share in plain:
            shares = _shares(feature, fine=fine)
            self._features.append((feature, [Cut(rule, 3.0 * share * part) for rule, part in shares.items()]))
        if _repeats(first):
            self._raise_whole_outputs()
        total = sum(cut.weight for _, cuts in self._features for cut in cuts)
        #: Whether each expert bets from the first outputs on, shape (E,).
        self.bold = np.array([cut.rule in BOLD for _, cuts in self._features for cut in cuts])
        self.follow = FOLLOW
        #: Typical past value in each cell, or NaN, shape (E, C).
        self.places = np.full((len(self.bold), CELLS), np.nan)
        self.weights = [(1 - FOLLOW) * cut.weight / total for _, cuts in self._features for cut in cuts]
        #: Shares of the capital for divergences: one expert for each feature, with its finest cells.
        self.divergence_weights = [
            sum(other.weight for other in cuts) / total if cut is cuts[-1] else 0.0
            for _, cuts in self._features
            for cut in cuts
        ]

    def _raise_whole_outputs(self) -> None:
        """Give the shares ``WHOLE_SHARES`` to the two features of whole outputs."""
        whole = [cut for _, cuts in self._features[: len(WHOLE_SHARES)] for cut in cuts]
        rest = sum(cut.weight for _, cuts in self._features[len(WHOLE_SHARES) :] for cut in cuts)
        for cut, share in zip(whole, WHOLE_SHARES, strict=True):
            cut.weight = share * rest / (1 - sum(WHOLE_SHARES))

    def fit(self, past: Past) -> NDArray[np.int64]:
        """Learn features and cells from all past outcomes, and return their counts, shape (2, E, C)."""
        counts: tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]] = ([], [])
        places = []
        for feature, cuts in self._features:
            values = feature.learn(past)
            missing = [int(np.count_nonzero(np.isnan(side))) for side in values]
            ordered = [np.sort(side)[: len(side) - lost] for side, lost in zip(values, missing, strict=True)]
            pooled = np.sort(np.concatenate(ordered))
            for cut in cuts:
                cut.fit(ordered[0], ordered[1], pooled, epsilon=self._epsilon)
                places.append(cut.places(pooled))
                for found, side, lost in zip(counts, ordered, missing, strict=True):
                    found.append(cut.counts(side, lost))
        self.places = np.stack(places)
        return np.stack([np.stack(side) for side in counts])

    def counts(self, outcomes: Outcomes) -> NDArray[np.int64]:
        """Return how many of the outcomes fall into each cell of each expert, shape (E, C)."""
        cells = []
        for feature, cuts in self._features:
            values = feature.values(outcomes)
            cells += [cut.cells(values) for cut in cuts]
        return _counts(cells)

    def describe(self, expert: int, cell: int) -> str:
        """Describe a cell of an expert."""
        pairs = [(feature, cut) for feature, cuts in self._features for cut in cuts]
        feature, cut = pairs[expert]
        return feature.missing() if cell == CELLS - 1 else feature.describe(*cut.ends(cell))


def _repeats(first: Past) -> bool:
    """Return whether the first block has at most half as many distinct outputs as runs."""
    keys = np.concatenate([first[0].keys, first[1].keys])
    return 2 * len(np.unique(keys)) <= len(keys)


def _shares(feature: Feature, *, fine: bool) -> dict[str, float]:
    """Return how the capital of a feature is divided among rules."""
    if isinstance(feature, FloatSum):
        return {"signs": 1.0}
    if feature.name == LOWEST_BIT:
        return BIT_SHARES
    return FINE_RULE_SHARES if fine else RULE_SHARES


def _counts(cells: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    stacked = np.stack(cells) + CELLS * np.arange(len(cells))[:, None]
    return np.bincount(stacked.ravel(), minlength=CELLS * len(cells)).reshape(len(cells), CELLS)
