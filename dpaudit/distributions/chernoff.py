"""Chernoff's bound in floats, and cumulant functions K(r) = log E exp(r X) of centred noise.

P(X >= t) <= exp(K(r) - r t) for every rate r > 0: any rates are valid, and the best of those tried counts. An
upper bound on K serves as well. Everything is elementwise; the caller allows for the rounding of floats.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["best_bound", "discrete_laplace_cumulant", "gaussian_cumulant", "skellam_cumulant"]

Floats = NDArray[np.float64]


def best_bound(logs: Floats) -> Floats:
    """The smallest exp(K(r) - r t) over the last axis of the exponents, at most 1."""
    return np.asarray(np.exp(np.minimum(logs.min(axis=-1), 0.0)))


def gaussian_cumulant(rates: Floats, *, variance: float) -> Floats:
    """Of a Gaussian; an upper bound for every distribution that is sub-Gaussian with this variance proxy."""
    return np.asarray(variance * rates**2 / 2)


def skellam_cumulant(rates: Floats, *, variance: float) -> Floats:
    """Of the difference of two Poisson variables with equal means: v (cosh r - 1)."""
    return np.asarray(variance * 2 * np.sinh(rates / 2) ** 2)


def discrete_laplace_cumulant(rates: Floats, *, decay: float) -> Floats:
    """Of P(X = k) in proportion to exp(-decay |k|), for rates below ``decay``.

    log of (cosh a - 1) / (cosh a - cosh r), written without cancellation: it may be taken times 2^60.
    """
    return np.asarray(-np.log1p(-((np.sinh(rates / 2) / math.sinh(decay / 2)) ** 2)))
