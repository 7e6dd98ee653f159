"""The noise in the estimates of all prefixes, for a tree whose nodes have independent noise.

``noise`` draws one number per node and adds up, for many runs at once. ``noise_variance`` is exact for every
t. A message-by-message simulation is in ``concurrent_sum``. Node noise need not come from a shuffler:
``LaplaceNoise`` is the noise of the central tree (section 2.2, Figure 1 of Tenenbaum et al. 2023),
``VectorEntryNoise`` the noise of one entry of a vector sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dpaudit.kernel.ball import ball
from dpaudit.reference.mechanisms.concurrent_tree import Tree, node_counts

__all__ = ["LaplaceNoise", "NodeNoise", "PrefixNoise", "TreeNoise", "VectorEntryNoise"]

Floats = NDArray[np.float64]


class NodeNoise(Protocol):
    """The error of one node's estimate: mean 0, its variance, and draws of any shape."""

    @property
    def variance(self) -> Any:
        """Return the variance, exact or as a float."""

    @property
    def proxy(self) -> arb:
        """Return a sub-Gaussian variance proxy."""

    def draw_noise(self, rng: np.random.Generator, size: tuple[int, ...]) -> Floats:
        """Draw independent errors of shape ``size``."""


class PrefixNoise:
    """The errors that follow from a ``tree`` and the noise of its ``nodes``, one for each height, height 1
    first.
    """

    tree: Tree

    @property
    def nodes(self) -> tuple[NodeNoise, ...]:
        raise NotImplementedError

    def noise_variance(self) -> Floats:
        """Return the variance of the noise in the estimate of each prefix t = 1..horizon: shape
        (horizon,).
        """
        each = np.array([float(node.variance) for node in self.nodes])
        return np.asarray(node_counts(self.tree) @ each)

    def noise_proxy(self) -> Floats:
        """Return the sub-Gaussian variance proxy of each prefix, the sum of the nodes' optimal proxies:
        (horizon,).
        """
        each = np.array([float(node.proxy) for node in self.nodes])
        return np.asarray(node_counts(self.tree) @ each)

    def blind_users(self) -> NDArray[np.int64]:
        """Return the number of users in no complete batch, for t = 1..horizon."""
        return np.arange(1, self.tree.horizon + 1) % self.tree.sizes[0]

    def offsets(self, bits: NDArray[np.integer]) -> Floats:
        """Return minus the sum of the blind users' values, ``bits`` of shape (..., horizon): the part of the
        error that is not noise.
        """
        sums = np.concatenate([np.zeros((*bits.shape[:-1], 1)), np.cumsum(bits, axis=-1)], axis=-1)
        t = np.arange(1, self.tree.horizon + 1)
        return np.asarray(sums[..., t - self.blind_users()] - sums[..., t])

    def noise(self, rng: np.random.Generator, *, runs: int) -> Floats:
        """Draw the noise in all estimates of ``runs`` independent runs, one draw per node: shape (runs,
        horizon).
        """
        n, sizes, ratios = self.tree.horizon, self.tree.sizes, self.tree.ratios
        t = np.arange(1, n + 1)
        total = np.zeros((runs, n))
        for height, node in enumerate(self.nodes):
            draws = node.draw_noise(rng, (runs, n // sizes[height]))
            before = np.concatenate([np.zeros((runs, 1)), np.cumsum(draws, axis=1)], axis=1)
            done = t // sizes[height]
            top = height + 1 == len(sizes)
            covered = np.zeros_like(done) if top else t // sizes[height + 1] * ratios[height]
            total += before[:, done] - before[:, covered]
        return total

    def errors(self, bits: NDArray[np.integer], rng: np.random.Generator, *, runs: int) -> Floats:
        """Draw estimate minus true prefix sum at every t, ``bits`` of shape (horizon,) or (runs, horizon)."""
        return self.noise(rng, runs=runs) + self.offsets(np.asarray(bits))

    def largest_errors(
        self, bits: NDArray[np.integer], rng: np.random.Generator, *, runs: int, chunk: int = 1 << 22
    ) -> Floats:
        """Draw max over t of |error| in each of ``runs`` runs on ``bits`` of shape (horizon,): shape (runs,).

        About ``chunk`` numbers are computed at a time.
        """
        step = max(1, chunk // self.tree.horizon)
        parts = [
            np.abs(self.errors(bits, rng, runs=min(step, runs - done))).max(axis=1)
            for done in range(0, runs, step)
        ]
        return np.concatenate(parts)


@dataclass(frozen=True)
class TreeNoise(PrefixNoise):
    """A tree with any node noises."""

    tree: Tree
    heights: tuple[NodeNoise, ...]

    @property
    def nodes(self) -> tuple[NodeNoise, ...]:
        return self.heights


@dataclass(frozen=True)
class LaplaceNoise:
    """Laplace noise of a ``scale``. It is sub-exponential, so there is no finite sub-Gaussian proxy."""

    scale: Fraction

    @property
    def variance(self) -> Fraction:
        return 2 * self.scale**2

    @property
    def proxy(self) -> arb:
        return arb("inf")

    def draw_noise(self, rng: np.random.Generator, size: tuple[int, ...]) -> Floats:
        return rng.laplace(scale=float(self.scale), size=size)


@dataclass(frozen=True, kw_only=True)
class VectorEntryNoise:
    """The noise of one entry of P_Vec (Chowdhury and Zhou 2022, Algorithms 5 to 7) for a batch of
    ``n_users``.

    As in section 2.3 of the concurrent paper, entries are rounded to multiples of 1/g by a coin, with
    ``bits`` coins of probability 1/4 per user. Rounding takes its worst case, halfway between two multiples
    for every user.
    """

    n_users: int
    precision: int
    bits: int

    @classmethod
    def printed(cls, n_users: int, epsilon: Fraction, delta: Fraction, *, dim: int) -> VectorEntryNoise:
        """Apply g = max{2 sqrt(m), d, 4}, b = 24e4 g^2 log(4(d^2 + 1)/delta)^2 / (epsilon^2 m), both rounded
        up.
        """
        g = math.ceil(max(2 * math.sqrt(n_users), dim, 4))
        level = math.log(4 * (dim**2 + 1) / float(delta))
        bits = math.ceil(24e4 * g**2 * level**2 / (float(epsilon) ** 2 * n_users))
        return cls(n_users=n_users, precision=g, bits=bits)

    @property
    def variance(self) -> Fraction:
        rounding, coins = Fraction(self.n_users, 4), Fraction(3, 16) * self.bits * self.n_users
        return (rounding + coins) / self.precision**2

    @property
    def proxy(self) -> arb:
        """Return m/4 for rounding, and the optimal proxy 1/(4 log 3) of a coin of probability 1/4 for every
        bit.
        """
        coin = 1 / (4 * ball(3).log())
        return (ball(Fraction(self.n_users, 4)) + self.bits * self.n_users * coin) / self.precision**2

    def draw_noise(self, rng: np.random.Generator, size: tuple[int, ...]) -> Floats:
        coins, m = self.bits * self.n_users, self.n_users
        drawn = rng.binomial(coins, 0.25, size=size) - coins / 4 + rng.binomial(m, 0.5, size=size) - m / 2
        return np.asarray(drawn / self.precision)
