"""Policies that decide anew in every round, many runs at once.

Nothing here is event driven, so a round costs the same whatever happens; what can be shared is the
interpreter. All runs advance together, one row per run, each with its own means and epsilon: a table of
experiments is one call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Draws", "GeneratorDraws", "Policy", "pulls_at"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_CHUNK = 512


class Draws(Protocol):
    """Where a policy's randomness comes from: unit Laplace variables, and the environment's uniforms."""

    def uniforms(self) -> Floats:
        """One uniform on [0, 1) per run."""

    def laplaces(self) -> Floats:
        """One unit Laplace variable per run."""

    def more_laplaces(self, count: int) -> Floats:
        """``count`` further unit Laplace variables, for the runs that close an array."""


class GeneratorDraws:
    """Draws in chunks: ``rewards`` belongs to the environment, ``noise`` to the mechanism."""

    def __init__(self, runs: int, *, rewards: np.random.Generator, noise: np.random.Generator) -> None:
        self._runs, self._rewards, self._noise = runs, rewards, noise
        self._uniforms: list[Floats] = []
        self._laplaces: list[Floats] = []

    def uniforms(self) -> Floats:
        if not self._uniforms:
            self._uniforms = list(self._rewards.random((_CHUNK, self._runs)))
        return self._uniforms.pop()

    def laplaces(self) -> Floats:
        if not self._laplaces:
            self._laplaces = list(self._noise.laplace(size=(_CHUNK, self._runs)))
        return self._laplaces.pop()

    def more_laplaces(self, count: int) -> Floats:
        return np.asarray(self._noise.laplace(size=count))


class Policy(Protocol):
    """The state of all runs. Cells are flat positions, run * K + arm."""

    def indices(self, t: int) -> Floats:
        """Shape (runs, K); the buffer is the policy's own."""

    def update(self, cells: Ints, rewards: Floats, draws: Draws) -> None:
        """One pull per run."""


def pulls_at(checkpoints: Sequence[int], policy: Policy, means: Floats, draws: Draws) -> Ints:
    """Play ``policy`` with Bernoulli ``means`` (runs, K); return the pulls of every arm by each checkpoint.

    ``checkpoints`` increase, the last is the horizon. Each arm is pulled once first. Shape (checkpoints,
    runs, K).
    """
    runs, n_arms = means.shape
    flat_means = np.ascontiguousarray(means).ravel()
    rows = np.arange(runs) * n_arms
    counts = np.zeros(runs * n_arms, dtype=np.int64)
    result = np.zeros((len(checkpoints), runs, n_arms), dtype=np.int64)
    played = 0
    for position, checkpoint in enumerate(checkpoints):
        for t in range(played + 1, checkpoint + 1):
            arm = t - 1 if t <= n_arms else policy.indices(t).argmax(axis=1)
            cells = rows + arm
            counts[cells] += 1
            policy.update(cells, (draws.uniforms() < flat_means[cells]).astype(np.float64), draws)
        played = checkpoint
        result[position] = counts.reshape(runs, n_arms)
    return result
