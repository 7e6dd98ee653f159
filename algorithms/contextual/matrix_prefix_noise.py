"""The noise in all prefixes of a binary tree of symmetric matrices, drawn for many runs at once.

Sarmasarkar (2026), appendix I.1: a node holds the sum of its leaves plus (Z' + Z'^T) times a factor, Z' with
independent N(0, std^2) entries; the factor is 1/2 in appendix I.1 and 1/sqrt(2) in appendix P. The prefix of
the first t leaves is the sum of one node for each set bit of t.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError

__all__ = ["matrix_prefix_noise", "symmetric_noise"]

Floats = NDArray[np.float64]


def symmetric_noise(
    rng: np.random.Generator, *, shape: tuple[int, ...], dim: int, std: float, factor: float = 0.5
) -> Floats:
    """Draw ``factor`` (Z' + Z'^T), (*shape, d, d), the entries of Z' independent N(0, std^2).

    On the diagonal the deviation is 2 ``factor`` ``std``, elsewhere sqrt(2) ``factor`` ``std``.
    """
    square = rng.normal(scale=std, size=(*shape, dim, dim))
    return np.asarray(factor * (square + np.swapaxes(square, -1, -2)))


def matrix_prefix_noise(
    rng: np.random.Generator, *, runs: int, horizon: int, dim: int, node_std: float, factor: float = 0.5
) -> Floats:
    """Draw the noise of the prefix of t leaves at index t = 0..horizon, (runs, horizon + 1, d, d); 0 at t
    = 0.
    """
    if horizon < 1 or node_std < 0:
        raise InvalidParameterError(
            f"horizon must be 1 or more and node_std 0 or more, got {horizon} and {node_std}."
        )
    total = np.zeros((runs, horizon + 1, dim, dim))
    if node_std == 0:
        return total
    times = np.arange(horizon + 1)
    for level in range(horizon.bit_length()):
        nodes = symmetric_noise(rng, shape=(runs, horizon >> level), dim=dim, std=node_std, factor=factor)
        used = times[times >> level & 1 == 1]
        total[:, used] += nodes[:, (used >> level) - 1]
    return total
