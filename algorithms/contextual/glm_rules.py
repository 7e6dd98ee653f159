"""The formulas of Sarmasarkar's (2026) algorithms that a simulation and a program under audit share.

The simulations have arrays with a replicate axis. The programs have one run. All functions take any leading
axes. The prover follows them, so they use only operations that it knows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["LEAST", "definite", "has_grown", "is_too_long", "survivors", "within"]

Floats = NDArray[np.float64]

#: The least eigenvalue of a released matrix after the repair "clip", which the paper does not print.
LEAST = 1e-12


def definite(released: Any) -> Any:
    """Return symmetric matrices (..., d, d) with eigenvalues raised to ``LEAST``."""
    values, vectors = np.linalg.eigh(released)
    return (vectors * np.maximum(values, LEAST)[..., None, :]) @ np.swapaxes(vectors, -1, -2)


def is_too_long(lengths: Any, threshold: float) -> Any:
    """Return Criterion I: the largest of the squared lengths (..., K) in V^-1 is at least ``threshold``."""
    return lengths.max(axis=-1) >= threshold


def has_grown(most: Any, last: Any, growth: float) -> Any:
    """Return Criterion II for logarithms of determinants: ``most`` exceeds ``growth`` times ``last``."""
    return most > last + math.log(growth)


def survivors(means: Any, widths: Any) -> Any:
    """Return the arms (..., K) whose upper bound is at least the largest lower bound."""
    return means + widths >= (means - widths).max(axis=-1, keepdims=True)


def within(theta: Any, centre: Any, shape: Any, radius: float) -> Any:
    """Return the point of {‖θ - centre‖_shape <= radius} on the ray from ``centre`` to ``theta``.

    It is the nearest point if ``shape`` is the identity.
    """
    away = theta - centre
    return centre + away / np.maximum(1.0, np.sqrt(np.maximum(away @ shape @ away, 0.0)) / radius)
