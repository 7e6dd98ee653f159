"""Prefix sums of symmetric matrices with the noise of a binary tree, for many runs at once.

Sarmasarkar (2026), appendix I.1: a node holds the sum of its leaves plus (Z' + Z'^T) times a factor, Z' with
independent N(0, std^2) entries; the factor is 1/2 in appendix I.1 and 1/sqrt(2) in appendix P. The prefix of
the first t leaves is the sum of one node for each set bit of t. The code that was released with the paper has
another query, which is no prefix sum (``ReleasedTree``).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError

__all__ = ["PrefixTree", "ReleasedTree", "matrix_prefix_noise", "symmetric_noise"]

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


class PrefixTree:
    """The sum of the leaves so far, plus the noise of the nodes whose leaves they are."""

    def __init__(
        self, rng: np.random.Generator, *, runs: int, horizon: int, dim: int, node_std: float, factor: float
    ) -> None:
        self._noise = matrix_prefix_noise(
            rng, runs=runs, horizon=horizon, dim=dim, node_std=node_std, factor=factor
        )
        self._total, self._count = np.zeros((runs, dim, dim)), 0

    def add(self, leaf: Floats) -> None:
        """Add one leaf per run, (runs, d, d)."""
        self._total = self._total + leaf
        self._count += 1

    def query(self) -> Floats:
        """Return what is released after the leaves so far, (runs, d, d)."""
        return np.asarray(self._total + self._noise[:, self._count])


class ReleasedTree:
    """The query of the code that was released with Sarmasarkar (2026), commit ab8fd16.

    Nodes are numbered from the root 1, and the children of i are 2i and 2i + 1. The query walks from the last
    leaf to the root. At each even node i, a left child, it adds node i - 1, although the text of the code
    says that it adds the left siblings of right children. So the result is not the sum of the leaves: with
    four leaves 1, 10, 100 and 1000 it is 2, 21, 110 and 1000 after one to four of them, if there is no
    noise. The node before the first of a level is the last of the level above.
    """

    def __init__(
        self, rng: np.random.Generator, *, runs: int, horizon: int, dim: int, node_std: float, factor: float
    ) -> None:
        self._leaves = 1 << (horizon - 1).bit_length()
        shape = (runs, 2 * self._leaves)
        self._noise = symmetric_noise(rng, shape=shape, dim=dim, std=node_std, factor=factor)
        self._nodes, self._count = np.zeros((*shape, dim, dim)), 0

    def add(self, leaf: Floats) -> None:
        """Add one leaf per run, (runs, d, d), to the nodes above it."""
        node = self._leaves + self._count
        while node:
            self._nodes[:, node] += leaf
            node >>= 1
        self._count += 1

    def query(self) -> Floats:
        """Return what is released after the leaves so far, (runs, d, d); 0 without a leaf."""
        if not self._count:
            return np.zeros_like(self._nodes[:, 0])
        last = node = self._leaves + self._count - 1
        used = [last]
        while node:
            if node % 2 == 0:
                used.append(node - 1)
            node >>= 1
        return np.asarray(self._nodes[:, used].sum(axis=1) + self._noise[:, used].sum(axis=1))
