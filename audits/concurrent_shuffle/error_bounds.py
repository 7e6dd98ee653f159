"""Bound the largest error over all times for every input, and estimate it from below.

The paper's claims are about the (1 - beta)-quantile of max over t of |estimate - true sum| for an input
fixed in advance. The upper bound holds for every input in [0, 1]. The noise of every prefix is sub-Gaussian
with a known proxy, so all n prefixes are within sqrt(2 v log(2n/beta)) except with probability beta, and at
most d_low - 1 users are blind. The lower bound uses order statistics of simulated runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpaudit.core.exact_functions import ln
from dpaudit.kernel.ball import arb, ball
from dpaudit.reference.mechanisms.binary_sum import binary_sum_mechanism
from dpaudit.reference.mechanisms.concurrent_sum import ConcurrentSum
from dpaudit.reference.mechanisms.concurrent_tree import Tree, binary_tree, build_tree, node_counts
from dpaudit.reference.mechanisms.prefix_noise import PrefixNoise, TreeNoise, VectorEntryNoise

__all__ = [
    "Setting",
    "levels_of",
    "node_proxy",
    "prefix_proxy",
    "quantile_below",
    "radius",
]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A tree, a budget and a failure probability.

    If ``shufflers`` is 0, the tree is Algorithm 2 with n = 2^levels, otherwise Algorithm 3 with n =
    m^(2k+1). ``dim`` is 0 for bits. For vectors it is the dimension, and the error is the error of one
    entry.
    """

    epsilon: Fraction
    delta: Fraction
    beta: Fraction
    levels: int = 0
    m: int = 0
    shufflers: int = 0
    dim: int = 0

    @property
    def horizon(self) -> int:
        return self.m ** (2 * self.shufflers + 1) if self.shufflers else 2**self.levels

    @property
    def tree(self) -> Tree:
        if self.shufflers:
            return build_tree(horizon=self.horizon, n_shufflers=self.shufflers)
        return binary_tree(self.horizon)

    @property
    def noise(self) -> PrefixNoise:
        """Return the noise of all prefixes, with the nodes' share of the budget as printed."""
        tree = self.tree
        if not self.dim:
            return ConcurrentSum(tree, binary_sum_mechanism, self.epsilon, self.delta)
        epsilon, delta = self.epsilon / tree.budget_parts, self.delta / tree.budget_parts
        nodes = (VectorEntryNoise.printed(size, epsilon, delta, dim=self.dim) for size in tree.sizes)
        return TreeNoise(tree, tuple(nodes))

    def __str__(self) -> str:
        shape = f"k = {self.shufflers}, " if self.shufflers else ""
        more = f", d = {self.dim}" if self.dim else ""
        return (
            f"{shape}n = {self.horizon}, ε = {self.epsilon}, δ = {float(self.delta):g}, β = "
            f"{float(self.beta):g}"
            f"{more}"
        )


def levels_of(tree: Tree) -> arb:
    """Return log2 n."""
    return ln(tree.horizon) / ln(2)


def node_proxy(noise: PrefixNoise) -> arb:
    """Return V, the largest sub-Gaussian variance proxy of a node."""
    largest = arb(0)
    for node in noise.nodes:
        largest = largest.max(node.proxy)
    return largest


def prefix_proxy(noise: PrefixNoise) -> arb:
    """Return the largest proxy of the noise of a prefix over all times. Proxies of independent nodes add
    up."""
    return _largest_sum(noise.tree, [node.proxy for node in noise.nodes])


def _largest_sum(tree: Tree, values: Sequence[arb]) -> arb:
    """Return the largest sum over the nodes of a prefix, for one value per height."""
    largest = arb(0)
    for row in _distinct_counts(tree):
        largest = largest.max(sum((count * value for count, value in zip(row, values, strict=True)), arb(0)))
    return largest


@lru_cache(maxsize=64)
def _distinct_counts(tree: Tree) -> tuple[tuple[int, ...], ...]:
    """Return the number of nodes by height for each prefix, without rows dominated by another row at every
    height.

    For binary trees this leaves one row of many thousands.
    """
    rows = np.unique(node_counts(tree), axis=0)
    kept: list[NDArray[np.int64]] = []
    for row in rows[np.argsort(-rows.sum(axis=1), kind="stable")]:
        if not any((other >= row).all() for other in kept):
            kept.append(row)
    return tuple(tuple(int(count) for count in row) for row in kept)


def radius(noise: PrefixNoise, beta: Fraction) -> arb:
    """Return a bound that no error exceeds at any time, except with probability ``beta``, for every input
    in [-1, 1]^n.

    The noise uses its sub-Gaussian proxy v: sqrt(2 v L) with L = log(2n/β). If it is a sum of coins, it may
    use Bernstein's inequality instead, with the variance v and the range 1: L/3 + sqrt(L²/9 + 2 v L).
    """
    level = ln(2 * noise.tree.horizon / beta)
    spread: arb = (2 * prefix_proxy(noise) * level).sqrt()
    if isinstance(noise, ConcurrentSum):
        variance = _largest_sum(noise.tree, [ball(node.variance) for node in noise.mechanisms])
        spread = spread.min(level / 3 + (level**2 / 9 + 2 * variance * level).sqrt())
    return spread + ball(noise.tree.sizes[0] - 1)


def quantile_below(
    noise: PrefixNoise,
    beta: Fraction,
    rng: np.random.Generator,
    *,
    runs: int,
    alpha: float,
    bits: Callable[[int], Any] = lambda n: np.ones(n, dtype=np.int64),
) -> float:
    """Return a lower confidence bound, at level ``alpha``, on the (1 - beta)-quantile q of the largest
    error.

    The bound is 0 if there are too few runs. The j-th smallest of R runs exceeds q only if fewer than j
    runs are at most q, and each run is at most q with probability 1 - beta or more.
    """
    n = noise.tree.horizon
    found = np.sort(noise.largest_errors(bits(n), rng, runs=runs))
    # the largest j with P(Bin(R, 1 - beta) <= j - 1) <= alpha
    j = np.count_nonzero(special.bdtr(np.arange(runs), runs, float(1 - beta)) <= alpha)
    return float(found[j - 1]) if j > 0 else 0.0
