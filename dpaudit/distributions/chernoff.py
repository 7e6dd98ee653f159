"""Compute Chernoff's bound in floats, and cumulant functions K(r) = log E exp(r X) of centred noise.

P(X >= t) <= exp(K(r) - r t) holds for every rate r > 0, so any rates are valid and the smallest bound is
used. An upper bound on K is sufficient. All functions are elementwise. The caller allows for the rounding of
floats.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["best_bound", "discrete_laplace_cumulant", "gaussian_cumulant", "skellam_cumulant"]

Floats = NDArray[np.float64]


def best_bound(logs: Floats) -> Floats:
    """Return the smallest exp(K(r) - r t) over the last axis of the exponents, at most 1."""
    return np.asarray(np.exp(np.minimum(logs.min(axis=-1), 0.0)))


def gaussian_cumulant(rates: Floats, *, variance: float) -> Floats:
    """Return K of a Gaussian, an upper bound for every sub-Gaussian distribution with this variance proxy."""
    return np.asarray(variance * rates**2 / 2)


def skellam_cumulant(rates: Floats, *, variance: float) -> Floats:
    """Return K of the difference of two Poisson variables with equal means: v (cosh r - 1)."""
    return np.asarray(variance * 2 * np.sinh(rates / 2) ** 2)


def discrete_laplace_cumulant(rates: Floats, *, decay: float) -> Floats:
    """Return K of P(X = k) in proportion to exp(-decay |k|), for rates below ``decay``.

    It is the log of (cosh a - 1) / (cosh a - cosh r), written without cancellation, because callers may
    multiply it by 2^60.
    """
    return np.asarray(-np.log1p(-((np.sinh(rates / 2) / math.sinh(decay / 2)) ** 2)))
