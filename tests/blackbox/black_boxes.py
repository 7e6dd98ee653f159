"""Mechanisms of the gallery as black boxes: ``(data, rng, size) -> array``, from their published
definitions.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpaudit.core.neighbours import Neighbours

Batched = Callable[[object, np.random.Generator, int], np.ndarray]


def laplace(scale: float) -> Batched:
    """x + Laplace(scale): exactly 1/scale-DP for inputs one apart."""
    return lambda x, rng, size: x + rng.laplace(0, scale, size)


def noisy_maximum(epsilon: float, *, value: bool) -> Batched:
    """Report noisy max with Laplace(2/epsilon) noise: its index (epsilon-DP), or, wrongly, its value."""

    def run(scores, rng, size):
        noisy = np.asarray(scores, dtype=float) + rng.laplace(0, 2 / epsilon, (size, len(scores)))
        return noisy.max(axis=1) if value else noisy.argmax(axis=1)

    return run


def sparse_vector(epsilon: float, *, threshold_scale: float, query_scale: float) -> Batched:
    """Above-threshold with one positive answer at threshold 1; scales in units of 1/epsilon. Flags 0, 1,
    and 2 after the stop.

    (2, 4) is algorithm 1 of Lyu, Su & Li (2017), epsilon-DP; (4, 4/3) their algorithm 4, 7/4 epsilon-DP at
    best.
    """

    def run(scores, rng, size):
        level = 1.0 + rng.laplace(0, threshold_scale / epsilon, (size, 1))
        noisy = np.asarray(scores, dtype=float) + rng.laplace(0, query_scale / epsilon, (size, len(scores)))
        above = (noisy >= level).astype(int)
        above[np.cumsum(above, axis=1) - above >= 1] = 2
        return above

    return run


def prefix_sums(epsilon: float) -> Batched:
    """Partial sums of noisy entries, Laplace(1/epsilon) each: 10 epsilon-DP where all 10 entries may
    change.
    """

    def run(x, rng, size):
        return np.cumsum(np.asarray(x, dtype=float) + rng.laplace(0, 1 / epsilon, (size, len(x))), axis=1)

    return run


def naive_float_laplace(x: float, rng: np.random.Generator, size: int) -> np.ndarray:
    """Inversion in floats at epsilon 0.1: private over the reals, not as it runs (Mironov 2012)."""
    u = rng.random(size) - 0.5
    return x - 10.0 * np.sign(u) * np.log(1 - 2 * np.abs(u))


#: Opposite halves: the pair on which the sparse vector's flaw shows most.
HALVES = Neighbours("opposite halves", np.repeat([1.0, 0.0], 5), np.repeat([0.0, 1.0], 5))


def patterns(size: int) -> list[Neighbours]:
    """The component-wise input patterns of StatDP (Ding et al. 2018), one of each two directions."""
    ones, half = np.ones(size), size // 2
    pairs = [
        (ones, np.r_[2.0, ones[1:]]),
        (ones, np.r_[0.0, ones[1:]]),
        (ones, np.r_[2.0, np.zeros(size - 1)]),
        (ones, np.r_[0.0, np.full(size - 1, 2.0)]),
        (ones, np.r_[np.full(half, 2.0), np.zeros(size - half)]),
        (ones, 2 * ones),
        (ones, 0 * ones),
        (np.r_[np.ones(half), np.zeros(size - half)], np.r_[np.zeros(half), np.ones(size - half)]),
    ]
    return [Neighbours("answers that one record moves", *pair) for pair in pairs]
