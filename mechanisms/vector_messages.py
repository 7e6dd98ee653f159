"""P_Vec, step by step: the user's message, the shuffler's output, and the analyzer.

Chowdhury and Zhou (ICML 2022), Algorithms 5 to 7. Three routes give the same sums:

* ``user_messages``, ``shuffle``, ``analyze``: explicit labelled bits, for small sizes;
* ``encode`` and one draw of Bin(bB, p) per label (``aggregate``): exact in distribution, of any size;
* ``release``: the same under coins, with the sums as the shuffler's output. It is the only program of
  Algorithms 5 to 7: the linear bandits, the concurrent shufflers and the generalized linear bandits call it.

Entries are ordered: the vector's d, then the matrix's on and above the diagonal, row by row.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.coins.base import Coins
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import dyadic
from dpaudit.core.views import SHUFFLER_OUTPUT
from dpaudit.distributions import Bernoulli, Binomial, Sum
from dpaudit.reference.mechanisms.binomial_vectors import VectorSheet
from dpaudit.reference.mechanisms.shuffler import Message, by_label

__all__ = ["aggregate", "analyze", "analyze_bits", "encode", "labels", "release", "user_messages"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: A normal draw replaces a binomial one above this number of trials.
MOST_TRIALS = 2**62


def labels(dim: int) -> tuple[Hashable, ...]:
    """Return the labels of the entries: k of the vector, (i, j) with i <= j of the matrix."""
    return (*range(dim), *((i, j) for i in range(dim) for j in range(i, dim)))


def encode(values: Any, sheet: VectorSheet, rng: np.random.Generator) -> Integers:
    """Return x̂ = floor((v + 1) s) + Ber(the rest), entrywise, with s the sheet's scale.

    ``values`` are in [-1, 1], of any shape.
    """
    scaled = (_checked(values) + 1) * float(sheet.scale)
    whole = np.floor(scaled)
    return np.asarray(whole + (rng.random(scaled.shape) < scaled - whole), dtype=np.int64)


def user_messages(values: Any, sheet: VectorSheet, rng: np.random.Generator) -> list[Message]:
    """Return all labelled bits of one user with these entries: g + b bits per label, the x̂ + Bin(b, p) ones
    first.

    Entries above the diagonal are sent twice, as (i, j) and (j, i), with the same bits. Raises
    ``InvalidParameterError`` if there are more ones than bits, which the paper leaves undefined.
    """
    ones = encode(values, sheet, rng)
    ones = ones + rng.binomial(sheet.trials, float(sheet.chance), size=ones.shape)
    if ones.max() > sheet.bits:
        raise InvalidParameterError(
            f"an entry must have at most g + b = {sheet.bits} ones, got {ones.max()}."
        )
    sent = []
    for label, count in zip(labels(sheet.dim), ones.tolist(), strict=True):
        copies = [label] if isinstance(label, int) or label[0] == label[1] else [label, label[::-1]]  # type: ignore[index]
        for name in copies:
            sent += [Message(name, int(k < count)) for k in range(sheet.bits)]
    return sent


def analyze_bits(messages: Sequence[Message], sheet: VectorSheet) -> Floats:
    """Apply the analyzer to shuffled bits; the bits of (j, i), i < j, are copies and are left out."""
    bits = by_label(messages)
    return analyze(np.array([sum(bits[label]) for label in labels(sheet.dim)], dtype=np.int64), sheet)


def analyze(sums: Any, sheet: VectorSheet) -> Floats:
    """Estimate each entry's sum from the number of ones: (ones - p b B) / s - B, last axis the entries."""
    ones = np.asarray(sums, dtype=np.float64)
    return np.asarray((ones - sheet.noise_mean) / float(sheet.scale) - sheet.batch_size)


def aggregate(values: Any, sheet: VectorSheet, rng: np.random.Generator) -> Floats:
    """Return the analyzer's output for the users' entries ``values``, shape (..., B, entries).

    It draws every user's rounding, and one binomial per label. Above 2^62 trials the draw is normal.
    """
    given = np.asarray(values, dtype=np.float64)
    if given.shape[-2:] != (sheet.batch_size, sheet.entries):
        raise InvalidParameterError(
            f"values must have shape (..., {sheet.batch_size}, {sheet.entries}), got {given.shape}."
        )
    sums = encode(given, sheet, rng).sum(axis=-2).astype(np.float64)
    trials, p = sheet.trials * sheet.batch_size, float(sheet.chance)
    if trials <= MOST_TRIALS:
        centred = rng.binomial(trials, p, size=sums.shape) - trials * p
    else:
        centred = rng.normal(0.0, (trials * p * (1 - p)) ** 0.5, size=sums.shape)
    return np.asarray((sums + centred) / float(sheet.scale) - sheet.batch_size)


def release(
    coins: Coins, values: Any, sheet: VectorSheet, *, grid: int | None = None, site: str = "sums"
) -> Floats:
    """Release one batch under coins: rounding is hidden, the numbers of ones are the shuffler's output at
    ``site``.

    Every user adds Bin(b, p) ones to each label. ``values`` are the entries of all users, shape (B, entries).
    Every entry has its coin, also if nothing is to be rounded, unless a ``grid`` is declared that divides the
    scale. Then entries must be multiples of 1/grid, or ``InvalidParameterError`` is raised, and no coin is
    tossed.
    """
    given = _checked(values)
    if grid is not None and (sheet.scale / grid).denominator == 1:
        step = int(sheet.scale / grid)
        parts = [[x.as_integer_ratio() for x in row] for row in given.tolist()]
        if any(top * grid % below for row in parts for top, below in row):
            raise InvalidParameterError(
                f"entries must be multiples of 1/{grid} as declared, got others; declare grid=None."
            )
        encoded = [[(top * grid // below + grid) * step for top, below in row] for row in parts]
    else:
        encoded = [[_at_random(coins, (dyadic(x) + 1) * sheet.scale) for x in row] for row in given]
    noise = Binomial(trials=sheet.trials, p=sheet.chance)
    sent = [noise.shift(np.asarray(row, dtype=np.int64)) for row in encoded]
    return analyze(coins.aggregate(sent, Sum(), site=site, to=SHUFFLER_OUTPUT), sheet)


def _at_random(coins: Coins, value: Fraction) -> Any:
    """Round ``value`` up with the probability of its fractional part."""
    low = math.floor(value)
    return low + coins.draw(Bernoulli(p=value - low), site="rounding")


def _checked(values: Any) -> Floats:
    given = np.asarray(values, dtype=np.float64)
    if not np.all(np.abs(given) <= 1):
        raise InvalidParameterError(f"entries must be in [-1, 1], got one of {np.abs(given).max():.6g}.")
    return given
