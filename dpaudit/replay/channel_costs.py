"""Compute the cost of an affected channel at its worst answers, if it has a closed form.

The cost of a tree is the sum over its nodes. For AboveThreshold with Laplace or exponential noise, write up
and down for the largest rise and fall of a query, b and c for the scales, and k for the number of "above"
answers that it can give. Raise the noisy threshold by up: every answer "below" stays. An answer "above" stays
if its own noise rises by up minus its query's change, which is at least 0 and at most up + down. So one
direction costs at most up/b + k (up + down)/c, the other down/b + k (up + down)/c. Both are approached with
many queries far out (Lyu, Su and Li 2017, Theorem 2). A threshold that is drawn again after each of k answers
"above" costs k times as much. If a single query changes, shifting its Laplace noise alone costs at most
|change|/c.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpaudit.coins.replayer import SessionPair
from dpaudit.core.exact import dyadic, exact
from dpaudit.distributions import AboveThreshold, BinaryTree, Exponential, Laplace
from dpaudit.distributions.base import Distribution

__all__ = ["node_distributions", "query_moves", "threshold_cost"]


def query_moves(session: SessionPair) -> list[list[Fraction]] | None:
    """Return the change of each entry of each query, neighbour minus recorded.

    Return ``None`` if the shapes or numbers of queries differ.
    """
    if len(session.queries) != len(session.queries_neighbour):
        return None
    found = []
    for left, right in zip(session.queries, session.queries_neighbour, strict=True):
        if np.shape(left) != np.shape(right):
            return None
        pairs = zip(np.ravel(left).tolist(), np.ravel(right).tolist(), strict=True)
        found.append([dyadic(b) - dyadic(a) for a, b in pairs])
    return found


def node_distributions(session: SessionPair) -> list[tuple[Distribution, Distribution]] | None:
    """Return the distributions of the affected nodes of a tree, on both inputs.

    Return ``None`` for another channel, and if the numbers of answers differ.
    """
    kernel, other = session.kernel, session.kernel_neighbour
    if not (isinstance(kernel, BinaryTree) and isinstance(other, BinaryTree)):
        return None
    sides = [kernel.node_distributions(session.queries), other.node_distributions(session.queries_neighbour)]
    if len(sides[0]) != len(sides[1]):
        return None
    return [(one, two) for one, two in zip(*sides, strict=True) if one != two]


def threshold_cost(session: SessionPair) -> Fraction | None:
    """Return the bound above on the loss of a session with AboveThreshold.

    Return ``None`` for another channel, a channel that differs between the inputs, one without noise on both
    the threshold and the queries, and one with noise of another family.
    """
    kernel, moves = session.kernel, query_moves(session)
    if not isinstance(kernel, AboveThreshold) or kernel != session.kernel_neighbour or moves is None:
        return None
    level, noise = kernel.threshold_noise, kernel.query_noise
    families = (Laplace, Exponential)
    if not isinstance(level, families) or type(level) is not type(noise):
        return None
    assert isinstance(noise, families)
    single = [sum(move, Fraction(0)) for move in moves]
    up, down = max([Fraction(0), *single]), max([Fraction(0), *(-move for move in single)])
    answers = len(single) if kernel.max_positives is None else min(kernel.max_positives, len(single))
    drawn = answers if kernel.resample_threshold else 1
    cost = drawn * max(up, down) / exact(level.scale) + answers * (up + down) / exact(noise.scale)
    if isinstance(noise, Laplace) and sum(move != 0 for move in single) == 1:
        return min(cost, (up + down) / exact(noise.scale))
    return cost
