"""G-optimal designs of finite arm sets, by Frank and Wolfe's steps, with a certificate.

Kiefer and Wolfowitz: for every ridge eps > 0 some weights make max_x x^T (eps I + sum w y y^T)^-1 x at most
d. The largest leverage of the weights found is computed, so the caller can check the result.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError

__all__ = ["Design", "g_optimal_design", "leverages"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Design:
    """``weights`` [K] of the arms, at least 0, sum 1; ``largest_leverage`` of any arm under them."""

    weights: Floats
    largest_leverage: float
    n_steps: int


def leverages(arms: Floats, weights: Floats, *, ridge: float) -> Floats:
    """Return x^T (ridge I + sum w y y^T)^-1 x of every arm; ``arms`` [K, d]."""
    design = arms.T @ (weights[:, None] * arms) + ridge * np.eye(arms.shape[1])
    found: Floats = np.einsum("kd,dk->k", arms, np.linalg.solve(design, arms.T))
    return found


def g_optimal_design(arms: Floats, *, ridge: float, factor: float = 1.01, most_steps: int = 20_000) -> Design:
    """Return weights with a largest leverage of at most ``factor`` times d, or the best of ``most_steps``
    steps.

    ``arms`` [K, d] may repeat or span less than d dimensions. The step is that of D-optimal design without a
    ridge; with a ridge it is a heuristic, and the certificate decides. Raises ``InvalidParameterError``
    without arms, or for a ridge that is not positive or a factor below 1.
    """
    if arms.ndim != 2 or arms.size == 0 or not ridge > 0 or factor < 1:
        raise InvalidParameterError(
            f"a design needs arms [K, d], a ridge above 0 and a factor of 1 or more, got shape {arms.shape}, "
            f"{ridge} and {factor}."
        )
    count, dim = arms.shape
    weights = np.full(count, 1 / count)
    best = Design(weights, float(leverages(arms, weights, ridge=ridge).max()), 0)
    for n_steps in range(1, most_steps + 1):
        found = leverages(arms, weights, ridge=ridge)
        top = int(found.argmax())
        if found[top] < best.largest_leverage:
            best = Design(weights, float(found[top]), n_steps - 1)
        if found[top] <= factor * dim:
            return best
        step = (found[top] / dim - 1) / (found[top] - 1)
        weights = (1 - step) * weights
        weights[top] += step
    return best
