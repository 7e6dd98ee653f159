"""Rounds that the replicates of a policy have seen, and small linear algebra on stacks of matrices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["History", "norms", "outer", "squared_norms", "stacked_identity"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class History:
    """Points (R, t, d) and rewards (R, t) of the rounds so far; memory grows by doubling."""

    def __init__(self, replicates: int, dim: int) -> None:
        self.rounds = 0
        self._points = np.empty((replicates, 16, dim))
        self._rewards = np.empty((replicates, 16))

    def add(self, x: Floats, rewards: Floats) -> None:
        """Add one round: ``x`` (R, d) and ``rewards`` (R,)."""
        if self.rounds == self._points.shape[1]:
            self._points = np.concatenate([self._points, np.empty_like(self._points)], axis=1)
            self._rewards = np.concatenate([self._rewards, np.empty_like(self._rewards)], axis=1)
        self._points[:, self.rounds] = x
        self._rewards[:, self.rounds] = rewards
        self.rounds += 1

    @property
    def points(self) -> Floats:
        """Return the points, (R, t, d)."""
        return self._points[:, : self.rounds]

    @property
    def rewards(self) -> Floats:
        """Return the rewards, (R, t)."""
        return self._rewards[:, : self.rounds]


def stacked_identity(replicates: int, dim: int, scale: float) -> Floats:
    """Return ``scale`` times the identity, (R, d, d)."""
    return np.tile(scale * np.eye(dim), (replicates, 1, 1))


def outer(x: Floats) -> Floats:
    """Return x x^T for each row of ``x`` (R, d): (R, d, d)."""
    return x[:, :, None] * x[:, None, :]


def squared_norms(arms: Floats, inverse: Floats) -> Floats:
    """Return x^T A^-1 x of each arm (K, d) in each ``inverse`` (R, d, d): (R, K)."""
    return np.asarray(((arms @ inverse) * arms).sum(axis=-1))


def norms(arms: Floats, inverse: Floats) -> Floats:
    """Return the roots of ``squared_norms``, or 0 if a matrix that is not definite makes a square
    negative.
    """
    return np.asarray(np.sqrt(np.maximum(squared_norms(arms, inverse), 0.0)))
