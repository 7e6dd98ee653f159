"""Compute tails of noisy sums without sampling: binomial sums, differences of rewards, Laplace noise.

All results are finite sums of positive terms, so floats lose only a few units in the last place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

__all__ = [
    "ROUNDING",
    "bernoulli_difference",
    "binomial_laplace_tail",
    "laplace_difference_tail",
    "laplace_tail",
    "two_point_sum",
]

Floats = NDArray[np.float64]

#: An upper bound on the relative error of these sums.
ROUNDING = 1e-9


def laplace_tail(x: Any) -> Floats:
    """Return P(Z >= x) for Z with density exp(-|z|)/2."""
    x = np.asarray(x, dtype=np.float64)
    small = 0.5 * np.exp(-np.abs(x))
    return np.asarray(np.where(x >= 0, small, 1 - small))


def laplace_difference_tail(x: Any) -> Floats:
    """Return P(Z - Z' >= x) for independent Z, Z' with density exp(-|z|)/2: (2 + x) exp(-x)/4 for x >= 0."""
    x = np.asarray(x, dtype=np.float64)
    small = 0.25 * (2 + np.abs(x)) * np.exp(-np.abs(x))
    return np.asarray(np.where(x >= 0, small, 1 - small))


def binomial_laplace_tail(*, n: int, mean: float, thresholds: Any, scale: float) -> Floats:
    """Return P(B + Z >= y) for B ~ Bin(n, mean) and Z ~ Lap(scale), at each y of ``thresholds``."""
    counts = np.arange(n + 1)
    gaps = np.asarray(thresholds, dtype=np.float64)[..., None] - counts
    return np.asarray(laplace_tail(gaps / scale) @ binom.pmf(counts, n, mean))


def two_point_sum(*, n: int, gap: float, high: float) -> tuple[Floats, Floats]:
    """Return values and probabilities of a sum of ``n`` iid W in {-1, high} of mean -gap, 0 <= high <= 1."""
    ups = np.arange(n + 1)
    return -(n - ups) + high * ups, np.asarray(binom.pmf(ups, n, (1 - gap) / (1 + high)))


def bernoulli_difference(*, n: int, best: float, gap: float) -> tuple[Floats, Floats]:
    """Return values and probabilities of Bin(n, best - gap) - Bin(n, best), independent."""
    counts = np.arange(n + 1)
    distribution = np.convolve(binom.pmf(counts, n, best - gap), binom.pmf(counts, n, best)[::-1])
    return np.arange(-n, n + 1).astype(np.float64), np.asarray(distribution)
