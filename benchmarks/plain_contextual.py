"""LinUCB written exactly as its pseudo-code: one replicate, one round after the other, one arm after the
other.

An independent route: tests compare the simulators' decisions with it, ``benchmarks.contextual`` their speed.
It shares nothing with ``algorithms``: every update inverts V anew, every arm's index is computed by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["PlainNoise", "Played", "numpy_linucb", "plain_linucb"]

Floats = NDArray[np.float64]
#: The noise accumulated after each batch: in the vector, and in the matrix.
PlainNoise = Sequence[tuple[Floats, Floats]]


@dataclass(frozen=True)
class Played:
    """The arm of every round, and the sums of rewards of the batches."""

    arms: list[int]
    ones: list[int]

    def regret(self, means: Floats) -> float:
        """Return the pseudo-regret, round by round."""
        return math.fsum(max(means) - means[arm] for arm in self.arms)


def _indices(arms: Sequence[Sequence[float]], theta: Floats, inverse: Floats, radius: float) -> list[float]:
    """Return <x, theta> + β ‖x‖, arm by arm, in plain numbers."""
    t, v = theta.tolist(), inverse.tolist()
    found = []
    for x in arms:
        square = 0.0
        for xi, row in zip(x, v, strict=True):
            square += xi * sum(vij * xj for vij, xj in zip(row, x, strict=True))
        found.append(sum(a * b for a, b in zip(x, t, strict=True)) + radius * math.sqrt(max(square, 0.0)))
    return found


def plain_linucb(
    features: Floats,
    horizon: int,
    *,
    ridge: float,
    radius: Callable[[float], float],
    batch_size: int = 1,
    ones: Sequence[int] = (),
    noise: PlainNoise = (),
    pull: Callable[[int], float] | None = None,
) -> Played:
    """Play Algorithm 1 of Chowdhury and Zhou (2022) on K fixed arms, features (K, d).

    Rewards are ``pull(arm)`` of each round, or ``ones``, the sum of each batch. ``noise`` is what has been
    added after each batch, and empty for none.
    """
    dim = features.shape[1]
    arms = features.tolist()
    gram, vec = np.zeros((dim, dim)), np.zeros(dim)
    theta, inverse, beta = np.zeros(dim), np.eye(dim) / ridge, radius(0)
    played: list[int] = []
    sums: list[int] = []
    batch_rewards = 0.0
    for t in range(1, horizon + 1):
        index = _indices(arms, theta, inverse, beta)
        arm = index.index(max(index))
        played.append(arm)
        gram += np.outer(features[arm], features[arm])
        if pull is not None:
            batch_rewards += pull(arm)
        if t % batch_size:
            continue
        m = t // batch_size - 1
        total = batch_rewards if pull is not None else ones[m]
        sums.append(int(total))
        vec += total * features[arm]
        batch_rewards = 0.0
        noisy_vec, noisy_gram = noise[m] if noise else (0.0, 0.0)
        inverse = np.asarray(np.linalg.inv(gram + noisy_gram + ridge * np.eye(dim)), dtype=np.float64)
        theta, beta = inverse @ (vec + noisy_vec), radius(t)
    return Played(played, sums)


def numpy_linucb(
    features: Floats, uniforms: Floats, means: Floats, *, ridge: float, radius: float
) -> NDArray[np.int64]:
    """Play one replicate of LinUCB, all arms of a round at once in arrays; returns the arm of every round."""
    horizon, dim = len(uniforms), features.shape[1]
    gram, vec = ridge * np.eye(dim), np.zeros(dim)
    played = np.empty(horizon, dtype=np.int64)
    for t in range(horizon):
        inverse = np.linalg.inv(gram)
        squares = np.einsum("ki,ij,kj->k", features, inverse, features)
        arm = int((features @ (inverse @ vec) + radius * np.sqrt(squares)).argmax())
        played[t] = arm
        x = features[arm]
        gram += np.outer(x, x)
        vec += float(uniforms[t] < means[arm]) * x
    return played
