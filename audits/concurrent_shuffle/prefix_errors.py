"""Compute errors of a tree without randomness: the true sums of V_t against prefixes, and the number of
nodes added."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpaudit.reference.mechanisms.concurrent_tree import Tree, node_counts, prefix_nodes
from dpaudit.reference.mechanisms.prefix_noise import TreeNoise

__all__ = ["error_split", "most_terms", "share_above"]


def error_split(tree: Tree) -> tuple[int, int, int]:
    """Return the largest and smallest of (sum over V_t of true sums) - (true prefix), over times and four
    inputs.

    Also return the largest difference from ``PrefixNoise.offsets``.
    """
    n = tree.horizon
    random = np.random.default_rng(11).integers(0, 2, size=n)
    inputs = (np.ones(n, int), np.zeros(n, int), np.arange(n) % 2, random)
    largest, smallest, gap = -n, n, 0
    for bits in inputs:
        sums = np.concatenate([[0], np.cumsum(bits)])
        found = np.array(
            [
                sum(int(sums[node.stop] - sums[node.start - 1]) for node in prefix_nodes(tree, t))
                - int(sums[t])
                for t in range(1, n + 1)
            ]
        )
        other = TreeNoise(tree, ()).offsets(bits)
        largest, smallest = max(largest, int(found.max())), min(smallest, int(found.min()))
        gap = max(gap, int(np.abs(found - other).max()))
    return largest, smallest, gap


def most_terms(tree: Tree) -> int:
    """Return the largest |V_t|: the largest variance of an estimate if every node has variance 1."""
    return int(node_counts(tree).sum(axis=1).max())


def share_above(tree: Tree, variance: Fraction) -> Fraction:
    """Return the share of times whose estimate has at least this ``variance``, if every node has variance
    1."""
    terms = node_counts(tree).sum(axis=1)
    return Fraction(int((terms >= float(variance)).sum()), tree.horizon)
