"""Lengths of features in the norm of an inverse noisy matrix that may not be positive definite.

The analyses are about the event that every V_m is positive definite, and the papers say nothing about the
other case. Every linear UCB here treats it in the same way: the estimate of the indefinite matrix is used,
and an arm whose squared length in V_m^-1 is negative gets no bonus. The batches are counted, and a run with
such a batch is outside every guarantee.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["clipped_lengths"]


def clipped_lengths(squared: Any) -> NDArray[np.float64]:
    """Return the square roots of squared lengths, and 0 for negative ones."""
    return np.asarray(np.sqrt(np.maximum(squared, 0.0)))
