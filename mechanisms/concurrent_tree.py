"""Trees over the users of a continual sum, and the batches that add up to a prefix.

Tenenbaum, Kaplan, Mansour and Stemmer (ICML 2023, arXiv 2301.12535), sections 2.2 and 3. Users 1..n are the
leaves. A node of height i covers ``sizes[i - 1]`` consecutive users, from height 1 (the smallest batches) to
k. The root above covers all users and is never used. Algorithm 2 is ``binary_tree``: sizes 2, 4, ..., n/2.
Algorithm 3 is ``build_tree``: heights 2..k and the root have degree d, height 1 has degree d_low, and n = d^k
d_low.

The prefix of the first t users is the sum of V_t (Definition 3.1), the highest complete nodes within 1..t.
Users after the last of these nodes are blind: their batch is still open. ``prefix_nodes`` computes V_t
greedily from the sizes. ``highest_complete_nodes`` and ``left_siblings`` follow the definition's two
wordings.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError

__all__ = [
    "Node",
    "Tree",
    "binary_tree",
    "build_tree",
    "highest_complete_nodes",
    "highest_levels",
    "left_siblings",
    "lowest_levels",
    "node_counts",
    "prefix_nodes",
]


@dataclass(frozen=True, order=True)
class Node:
    """Users ``start`` to ``stop``, both included and counted from 1, at ``height`` 1 or higher."""

    height: int
    start: int
    stop: int

    @property
    def size(self) -> int:
        return self.stop - self.start + 1


@dataclass(frozen=True, kw_only=True)
class Tree:
    """A tree over ``horizon`` users, given by the ``sizes`` of its nodes, height 1 first.

    Each size divides the next. ``length`` >= horizon is the number of leaves, a multiple of the last size:
    leaves beyond the horizon are padding, and nodes that contain padding never complete. The algorithm
    divides (epsilon, delta) by ``budget_parts`` for a node: log2 n in Algorithm 2, k in Algorithm 3.
    """

    horizon: int
    sizes: tuple[int, ...]
    length: int
    budget_parts: int

    def __post_init__(self) -> None:
        if not self.sizes or min(self.horizon, self.sizes[0], self.budget_parts) < 1:
            raise InvalidParameterError(
                f"horizon, sizes and budget_parts must be 1 or more, got {self.horizon}, {self.sizes} and "
                f"{self.budget_parts}."
            )
        chain = (*self.sizes, self.length)
        if self.length < self.horizon or any(large % small for small, large in itertools.pairwise(chain)):
            raise InvalidParameterError(
                f"sizes and length must divide each other in turn and cover the horizon {self.horizon}, "
                f"got {chain}."
            )

    @property
    def n_shufflers(self) -> int:
        """Return the number of shufflers, one per height, which also bounds the number of batches of a
        user.
        """
        return len(self.sizes)

    @property
    def padding(self) -> float:
        """Return leaves per user, length / horizon."""
        return self.length / self.horizon

    @cached_property
    def ratios(self) -> tuple[int, ...]:
        """Return the number of nodes of height i below one node of height i + 1; the last entry is the root's
        degree.
        """
        return tuple(large // small for small, large in itertools.pairwise((*self.sizes, self.length)))

    def node(self, height: int, index: int) -> Node:
        """Return node number ``index`` (from 0) of ``height``."""
        size = self.sizes[height - 1]
        return Node(height, index * size + 1, (index + 1) * size)

    def nodes(self) -> tuple[Node, ...]:
        """Return all nodes that complete within the horizon, lowest height first, then from the left."""
        heights = enumerate(self.sizes, start=1)
        return tuple(self.node(h, i) for h, size in heights for i in range(self.horizon // size))

    def above(self, user: int) -> tuple[Node, ...]:
        """Return the nodes whose batches contain ``user``, the lowest first. Some may never complete."""
        self.check_time(user, first=1)
        return tuple(self.node(h, (user - 1) // size) for h, size in enumerate(self.sizes, start=1))

    def blind(self, t: int) -> int:
        """Return the number of the first ``t`` users who are in no complete batch yet."""
        self.check_time(t)
        return t % self.sizes[0]

    def check_time(self, t: int, *, first: int = 0) -> None:
        """Raise ``InvalidParameterError`` unless ``first`` <= t <= horizon."""
        if not first <= t <= self.horizon:
            raise InvalidParameterError(f"a time must be in {first}..{self.horizon}, got {t}.")


def build_tree(
    *, horizon: int, n_shufflers: int, degree: int | None = None, leaf_degree: int | None = None
) -> Tree:
    """Build the tree of Algorithm 3 with k = ``n_shufflers`` heights; budgets are divided by k.

    The paper prints degrees as orders of magnitude, d = Θ(n^(2/(2k+1))) and d_low = Θ(n^(1/(2k+1))). If
    ``degree`` is not given, each internal node has one of the two integers next to n^(2/(2k+1)), 2 or more:
    as few heights as possible, the lowest ones, have the larger degree, so that their product and
    ceil(n^(1/(2k+1))) leaves a node cover n. If ``leaf_degree`` is not given, d_low = ceil(n / (product of
    degrees)). At n = m^(2k+1) this is exact: d = m^2 and d_low = m. Raises ``InvalidParameterError`` unless
    d >= 2 and d_low >= 1 with (product of degrees) d_low >= n.
    """
    if horizon < 1 or n_shufflers < 1:
        raise InvalidParameterError(
            f"horizon and n_shufflers must be 1 or more, got {horizon} and {n_shufflers}."
        )
    degrees = _degrees(horizon, n_shufflers) if degree is None else [degree] * n_shufflers
    nodes = math.prod(degrees)
    low = -(-horizon // nodes) if leaf_degree is None and min(degrees) >= 2 else leaf_degree or 0
    if min(degrees) < 2 or low < 1 or nodes * low < horizon:
        raise InvalidParameterError(
            "degrees must be 2 or more inside, 1 or more at the leaves, and cover a horizon of "
            f"{horizon}, got {degrees} and {low}."
        )
    sizes = tuple(low * math.prod(degrees[:i]) for i in range(n_shufflers))
    return Tree(horizon=horizon, sizes=sizes, length=low * nodes, budget_parts=n_shufflers)


def _degrees(horizon: int, n_shufflers: int) -> list[int]:
    """Return the degree of each height, the lowest first: as few of the larger one as cover the horizon."""
    order = 2 * n_shufflers + 1
    leaves, small = _root_up(horizon, order), max(2, _root_up(horizon**2 + 1, order) - 1)
    for larger in range(n_shufflers + 1):
        found = [small + 1] * larger + [small] * (n_shufflers - larger)
        if math.prod(found) * leaves >= horizon:
            break
    return found


def _root_up(value: int, order: int) -> int:
    """Return the smallest integer whose power of ``order`` is ``value`` or more."""
    root: int = max(1, round(float(value) ** (1 / order)))
    while root**order < value:
        root += 1
    while root > 1 and (root - 1) ** order >= value:
        root -= 1
    return root


def binary_tree(horizon: int) -> Tree:
    """Build the tree of Algorithm 2: k = log2 n - 1 heights of sizes 2, 4, ..., n/2, budgets divided by log2
    n.

    Raises ``InvalidParameterError`` unless ``horizon`` is a power of two and at least 4.
    """
    levels = _levels(horizon)
    sizes = tuple(2**i for i in range(1, levels))
    return Tree(horizon=horizon, sizes=sizes, length=horizon, budget_parts=levels)


def lowest_levels(horizon: int, *, n_shufflers: int) -> Tree:
    """Build the first bad modification of section 3.2: the k lowest heights of the binary tree, sizes 2..2^k.

    ``horizon`` is a power of two, 1 <= k < log2 n. Budgets are divided by k.
    """
    levels = _levels(horizon)
    _check_heights(n_shufflers, levels)
    sizes = tuple(2**i for i in range(1, n_shufflers + 1))
    return Tree(horizon=horizon, sizes=sizes, length=horizon, budget_parts=n_shufflers)


def highest_levels(horizon: int, *, n_shufflers: int) -> Tree:
    """Build the second bad modification: the k highest heights, sizes 2^(log2 n - k)..n/2, with the root
    unused.

    ``horizon`` is a power of two, 1 <= k < log2 n. Budgets are divided by k.
    """
    levels = _levels(horizon)
    _check_heights(n_shufflers, levels)
    sizes = tuple(2**i for i in range(levels - n_shufflers, levels))
    return Tree(horizon=horizon, sizes=sizes, length=horizon, budget_parts=n_shufflers)


def _levels(horizon: int) -> int:
    levels = horizon.bit_length() - 1
    if horizon < 4 or horizon != 1 << levels:
        raise InvalidParameterError(
            f"a binary tree must have a power of two of users, 4 or more, got {horizon}; pad it, or use "
            "build_tree."
        )
    return levels


def _check_heights(n_shufflers: int, levels: int) -> None:
    if not 1 <= n_shufflers < levels:
        raise InvalidParameterError(
            f"n_shufflers must be in 1..{levels - 1} for 2^{levels} users, got {n_shufflers}; the root "
            "is not used."
        )


def prefix_nodes(tree: Tree, t: int) -> tuple[Node, ...]:
    """Return V_t from the left: from the largest size down, as many nodes as fit into the rest of 1..t.

    Nodes are aligned, so the nodes of height i from floor(t / s_(i+1)) s_(i+1) / s_i to floor(t / s_i) are
    taken, and all nodes at height k. V_t is empty for t = 0. Raises ``InvalidParameterError`` outside
    0..horizon.
    """
    tree.check_time(t)
    found, start = [], 0
    for height in range(tree.n_shufflers, 0, -1):
        size = tree.sizes[height - 1]
        found += [tree.node(height, i) for i in range(start // size, t // size)]
        start = t // size * size
    return tuple(found)


def highest_complete_nodes(tree: Tree, t: int) -> tuple[Node, ...]:
    """Return V_t by the first wording: nodes whose inputs have all arrived, and whose ancestors' have not;
    from the left.
    """
    tree.check_time(t)
    complete = [node for node in tree.nodes() if node.stop <= t]
    highest = [
        node
        for node in complete
        if not any(
            other.height > node.height and other.start <= node.start <= other.stop for other in complete
        )
    ]
    return tuple(sorted(highest, key=lambda node: node.start))


def left_siblings(tree: Tree, t: int) -> tuple[Node, ...]:
    """Return V_t by the second wording: the left siblings of the internal nodes on the path from the root to
    leaf t + 1.

    If t = length there is no such leaf; V_t is then the children of the root.
    """
    tree.check_time(t)
    found = []
    for height in range(tree.n_shufflers, 0, -1):
        size, ratio = tree.sizes[height - 1], tree.ratios[height - 1]
        on_path = t // size  # the node of this height above leaf t + 1
        first = 0 if t == tree.length and height == tree.n_shufflers else on_path // ratio * ratio
        found += [tree.node(height, i) for i in range(first, on_path)]
    return tuple(found)


def node_counts(tree: Tree) -> NDArray[np.int64]:
    """Return how many nodes of each height are in V_t: shape (horizon, n_shufflers), t = 1..n, height 1
    first.
    """
    t = np.arange(1, tree.horizon + 1)[:, None]
    sizes = np.array(tree.sizes)
    done = t // sizes
    covered = np.append(done[:, 1:] * np.array(tree.ratios[:-1], dtype=np.int64), np.zeros_like(t), axis=1)
    counts: NDArray[np.int64] = done - covered
    return counts
