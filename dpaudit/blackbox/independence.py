"""Were the calls independent? Signs of memory in the order of the outputs.

Outputs of independent calls on one input may come in any order: the same ones, shuffled, are as likely. So
what depends on the order betrays a memory: equal outputs next to each other (a cache), the same sequence
again (a generator that starts anew, a table of noise), values that drift with the number of calls or follow
the one before, and values on one input that go with those on the other. A sign counts only if chance gives it
less than about once in a million checks; it never refutes anything, it takes the confidence away.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpaudit.blackbox.outcomes import LABEL_BASE, OutcomeEncoder, Outcomes

__all__ = ["lie_apart", "numbers_of", "sign_in_copies", "sign_of_memory"]

#: Outputs looked at on each input, and the fewest that say anything.
LOOKED_AT = 4096
FEWEST = 24
SHUFFLES = 60
#: Standard deviations and, for counts, how many more than expected; chance exceeds both about never.
FAR = 7.0
#: The same for pairs of successive outputs: their count is a sum of squares, which chance takes further out.
FAR_SEQUENCE = 17.0
MORE = 8
MAX_COLUMNS = 16
FREQUENT = 3
#: Chance gives fresh copies that lie so far out less often than this.
UNLIKELY = 1e-6
#: Ranks that are further out than this (in standard deviations) are rare values: no correlation is normal.
RARE = 4.0

Floats = NDArray[np.float64]


def sign_of_memory(past: tuple[Outcomes, Outcomes], *, reader: OutcomeEncoder, seed: int) -> str:
    """The clearest sign that the calls behind these outputs (in call order) were not independent, in words;
    empty where there is none.

    ``reader`` made these outcomes and names their parts; ``seed`` decides the shuffles that repeats are
    compared with.
    """
    rng = np.random.default_rng(seed)
    sides = [side[:LOOKED_AT] for side in past]
    if min(len(side.keys) for side in sides) < FEWEST:
        return ""
    signs = [sign for side in sides for sign in (_repeats(side.keys, rng), _order(side, reader)) if sign]
    return next(iter(signs), "") or _together(*sides)


def numbers_of(side: Outcomes) -> Floats:
    """The first numbers in each output; NaN for labels and where there is none."""
    values = side.values[:, :MAX_COLUMNS]
    return np.where(values <= LABEL_BASE, np.nan, values)


def lie_apart(first: Floats, second: Floats) -> bool:
    """Whether some number of the outputs on one input is always smaller than on the other one."""
    for one, other in zip(first.T, second.T, strict=True):
        numbers = one[~np.isnan(one)], other[~np.isnan(other)]
        if all(part.size for part in numbers) and (
            numbers[0].max() < numbers[1].min() or numbers[1].max() < numbers[0].min()
        ):
            return True
    return False


def sign_in_copies(seen: Floats, fresh: list[list[float]]) -> str:
    """That outputs of fresh copies of a mechanism lie where none of its own does, in words.

    ``seen``: numbers of its outputs on an input, shape (n, d); ``fresh``: those of one output on that input
    for each copy. Independent calls may be exchanged: that k copies of c lie outside all n outputs has at
    most the probability (k + 1) c (c - 1) ... / ((n + c) (n + c - 1) ...), with k factors in each product.
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
                f"{far} of {len(outside)} fresh copies of the mechanism gave numbers beyond all that it gave "
                "here on the same input"
            )
    return ""


def _repeats(keys: NDArray[np.uint64], rng: np.random.Generator) -> str:
    """Equal neighbours in the sequence, or pairs of successive outputs that come again."""
    _, codes = np.unique(keys, return_inverse=True)
    if codes.max() == 0:
        return ""
    seen = _repeat_counts(codes)
    shuffled = np.array([_repeat_counts(rng.permutation(codes)) for _ in range(SHUFFLES)])
    mean, deviation = shuffled.mean(axis=0), shuffled.std(axis=0)
    far = (seen - mean > np.array([FAR, FAR_SEQUENCE]) * deviation) & (seen - mean > MORE)
    if far[0]:
        return f"{seen[0]:.0f} outputs were equal to the one before, by chance it were about {mean[0]:.0f}"
    if far[1]:
        return "outputs came again in the same sequence"
    return ""


def _repeat_counts(codes: NDArray[np.int64]) -> Floats:
    successive = codes[:-1] * (int(codes.max()) + 1) + codes[1:]
    counts = np.unique(successive, return_counts=True)[1].astype(float)
    return np.array([np.count_nonzero(codes[1:] == codes[:-1]), (counts * (counts - 1) / 2).sum()])


def _order(side: Outcomes, reader: OutcomeEncoder) -> str:
    """A trend over the calls, or values that go with the one before."""
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
            return f"{name} went with the one before"
        spread = _standard_ranks(np.abs(ranks))
        if np.abs(spread).max() < RARE and abs((spread[1:] * spread[:-1]).mean()) * root > FAR:
            return f"how far {name} lay from the middle went with the one before"
    return ""


def _together(first: Outcomes, second: Outcomes) -> str:
    """Values that go with those of the calls on the other input."""
    for one, two in zip(_columns(first), _columns(second), strict=False):
        if not len(one) or not len(two):
            continue
        pair = _standard_ranks(one), _standard_ranks(two)
        rare = max(float(np.abs(ranks).max()) for ranks in pair) >= RARE
        if not rare and abs((pair[0] * pair[1]).mean()) * np.sqrt(len(one)) > FAR:
            return "outputs on one input went with those on the other"
    return ""


def _columns(side: Outcomes) -> list[Floats]:
    """The numbers in the outputs, and which of the most frequent kinds and labels each output is; empty where
    they do not vary. Kinds and labels are numbered as they come, so that their numbers always grow.
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
    """Ranks from 1; equal values share the mean of theirs. Not by scipy.stats, which takes longer to import
    than most audits take."""
    _, places, counts = np.unique(column, return_inverse=True, return_counts=True)
    middles: Floats = np.cumsum(counts) - (counts - 1) / 2
    return middles[places]
