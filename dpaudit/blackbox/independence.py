"""Search the order of outputs for signs that calls are not independent.

The outputs of independent calls on one input are exchangeable: the same outputs in shuffled order are equally
likely. A dependence on the order therefore shows a state leak: equal outputs next to each other (a cache), a
repeated sequence (a generator that starts again, a table of noise), values that drift with the number of
calls or correlate with the previous value, and values on one input that correlate with values on the other. A
sign counts only if it occurs by chance less than about once in a million checks. It never refutes a claim. It
only removes the confidence of a bound.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpaudit.blackbox.outcomes import LABEL_BASE, OutcomeEncoder, Outcomes

__all__ = ["lie_apart", "numbers_of", "sign_in_copies", "sign_of_memory"]

#: Largest number of outputs that are examined on each input, and the smallest number that is enough.
LOOKED_AT = 4096
FEWEST = 24
SHUFFLES = 60
#: Threshold in standard deviations, and for counts (``MORE``) the excess over their mean. Chance practically
#: never exceeds both.
FAR = 7.0
#: Threshold for pairs of successive outputs. Their count is a sum of squares, which has a heavier tail.
FAR_SEQUENCE = 17.0
MORE = 8
MAX_COLUMNS = 16
FREQUENT = 3
#: Probability below which outlying outputs of fresh copies count as a sign.
UNLIKELY = 1e-6
#: Ranks further out than this (in standard deviations) are rare values, whose correlation is not normal.
RARE = 4.0

Floats = NDArray[np.float64]


def sign_of_memory(past: tuple[Outcomes, Outcomes], *, reader: OutcomeEncoder, seed: int) -> str:
    """Describe the clearest sign that the calls of these outputs, in call order, were not independent.

    The text is empty if there is no sign. ``reader`` made these outcomes and names their parts. ``seed``
    determines the shuffles with which repeats are compared.
    """
    rng = np.random.default_rng(seed)
    sides = [side[:LOOKED_AT] for side in past]
    if min(len(side.keys) for side in sides) < FEWEST:
        return ""
    signs = [sign for side in sides for sign in (_repeats(side.keys, rng), _order(side, reader)) if sign]
    return next(iter(signs), "") or _correlated(*sides)


def numbers_of(side: Outcomes) -> Floats:
    """Return the first numbers in each output, with NaN for labels and missing numbers."""
    values = side.values[:, :MAX_COLUMNS]
    return np.where(values <= LABEL_BASE, np.nan, values)


def lie_apart(first: Floats, second: Floats) -> bool:
    """Return whether some number of the outputs is always smaller on one input than on the other."""
    for one, other in zip(first.T, second.T, strict=True):
        numbers = one[~np.isnan(one)], other[~np.isnan(other)]
        if all(part.size for part in numbers) and (
            numbers[0].max() < numbers[1].min() or numbers[1].max() < numbers[0].min()
        ):
            return True
    return False


def sign_in_copies(seen: Floats, fresh: list[list[float]]) -> str:
    """Describe the sign that outputs of fresh copies of a mechanism lie outside the range of its outputs.

    ``seen`` holds the numbers of the outputs on an input, shape (n, d). ``fresh`` holds the numbers of one
    output on that input for each copy. Independent calls are exchangeable, so the probability that k of c
    copies lie outside all n outputs is at most (k + 1) c (c - 1) ... / ((n + c) (n + c - 1) ...), with k
    factors in each product.
    """
    for column in range(seen.shape[1]):
        inside = seen[:, column]
        inside = inside[~np.isnan(inside)]
        outside = [row[column] for row in fresh if column < len(row) and not np.isnan(row[column])]
        if len(inside) < FEWEST or not outside:
            continue
        far = sum(number < inside.min() or number > inside.max() for number in outside)
        factors = [(len(outside) - k) / (len(inside) + len(outside) - k) for k in range(far)]
        if (far + 1) * np.prod(factors) * seen.shape[1] < UNLIKELY:
            return (
                f"{far} of {len(outside)} fresh copies of the mechanism gave numbers outside the range of "
                "all its outputs on the same input"
            )
    return ""


def _repeats(keys: NDArray[np.uint64], rng: np.random.Generator) -> str:
    """Describe equal successive outputs, or repeated pairs of successive outputs."""
    _, codes = np.unique(keys, return_inverse=True)
    if codes.max() == 0:
        return ""
    seen = _repeat_counts(codes)
    shuffled = np.array([_repeat_counts(rng.permutation(codes)) for _ in range(SHUFFLES)])
    mean, deviation = shuffled.mean(axis=0), shuffled.std(axis=0)
    far = (seen - mean > np.array([FAR, FAR_SEQUENCE]) * deviation) & (seen - mean > MORE)
    if far[0]:
        return f"{seen[0]:.0f} outputs were equal to the previous output, against {mean[0]:.0f} by chance"
    if far[1]:
        return "outputs were repeated in the same sequence"
    return ""


def _repeat_counts(codes: NDArray[np.int64]) -> Floats:
    successive = codes[:-1] * (int(codes.max()) + 1) + codes[1:]
    counts = np.unique(successive, return_counts=True)[1].astype(float)
    return np.array([np.count_nonzero(codes[1:] == codes[:-1]), (counts * (counts - 1) / 2).sum()])


def _order(side: Outcomes, reader: OutcomeEncoder) -> str:
    """Describe a trend over the calls, or values that correlate with the previous value."""
    for place, column in enumerate(_columns(side)):
        if not len(column):
            continue
        name = reader.column_name(place) if place < side.values[:, :MAX_COLUMNS].shape[1] else "the output"
        ranks = _standard_ranks(column)
        root = np.sqrt(len(ranks))
        steps = _standard_ranks(np.arange(len(ranks), dtype=float))
        if abs((ranks * steps).mean()) * root > FAR:
            return f"{name} changed with the number of calls"
        if np.abs(ranks).max() < RARE and abs((ranks[1:] * ranks[:-1]).mean()) * root > FAR:
            return f"{name} correlates with its previous value"
        spread = _standard_ranks(np.abs(ranks))
        if np.abs(spread).max() < RARE and abs((spread[1:] * spread[:-1]).mean()) * root > FAR:
            return f"the distance of {name} from its median correlates with the previous distance"
    return ""


def _correlated(first: Outcomes, second: Outcomes) -> str:
    """Describe values that correlate with the values of the calls on the other input."""
    for one, two in zip(_columns(first), _columns(second), strict=False):
        if not len(one) or not len(two):
            continue
        pair = _standard_ranks(one), _standard_ranks(two)
        rare = max(float(np.abs(ranks).max()) for ranks in pair) >= RARE
        if not rare and abs((pair[0] * pair[1]).mean()) * np.sqrt(len(one)) > FAR:
            return "outputs on one input correlate with outputs on the other"
    return ""


def _columns(side: Outcomes) -> list[Floats]:
    """Return the numbers in the outputs, and indicators of the most frequent kinds and labels.

    A column that does not vary becomes empty. The codes of kinds and labels cannot be used as numbers,
    because they are assigned in order of appearance and so always grow.
    """
    values = side.values[:, :MAX_COLUMNS]
    labels = values <= LABEL_BASE
    numbers = list(np.where(labels | np.isnan(values), -np.inf, values).T)
    for codes in (side.symbols.astype(float), *values[:, labels.any(axis=0)].T):
        kinds, counts = np.unique(codes[~np.isnan(codes)], return_counts=True)
        frequent = kinds[np.argsort(-counts, kind="stable")[:FREQUENT]]
        numbers += [(codes == kind).astype(float) for kind in frequent]
    return [column if np.any(column != column[0]) else np.zeros(0) for column in numbers]


def _standard_ranks(column: Floats) -> Floats:
    ranks = _ranks(column)
    standard: Floats = (ranks - ranks.mean()) / max(float(ranks.std()), 1e-9)
    return standard


def _ranks(column: Floats) -> Floats:
    """Return ranks from 1, with mean ranks for equal values.

    This avoids scipy.stats, whose import takes longer than most audits.
    """
    _, places, counts = np.unique(column, return_inverse=True, return_counts=True)
    middles: Floats = np.cumsum(counts) - (counts - 1) / 2
    return middles[places]
