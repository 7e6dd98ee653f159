"""The optimistic choice of every linear UCB here, simulated or under audit, from noisy sums.

Simulations pass arrays with a replicate axis in front and the arms last, which is fastest. Programs under
audit pass the arms of one user as rows.

Noise can make V indefinite. The analyses are about the event that every V_m is positive definite, and the
papers say nothing about the other case. Every linear UCB here treats it in the same way: the estimate of the
indefinite matrix is used, and an arm whose squared length in V_m^-1 is negative gets no bonus. The batches
are counted, and a run with such a batch is outside every guarantee.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["clipped_lengths", "optimistic_scores"]

Floats = NDArray[np.float64]


def clipped_lengths(squared: Any) -> Floats:
    """Return the square roots of squared lengths, and 0 for negative ones."""
    return np.asarray(np.sqrt(np.maximum(squared, 0.0)))


def optimistic_scores(features: Any, weights: Any, mean: Any, radius: Any, *, axis: int) -> Any:
    """Return <x, θ> + β ||x|| in the norm of V^-1 for each arm x.

    ``features`` are the arms and ``weights`` V^-1 x, with the coordinates along ``axis``. ``mean`` is <x, θ>
    and ``radius`` β.
    """
    return mean + radius * clipped_lengths((weights * features).sum(axis=axis))
