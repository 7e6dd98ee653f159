"""Continual sums by concurrent shufflers as a program under audit.

Algorithms 2 and 3 of Tenenbaum, Kaplan, Mansour and Stemmer (ICML 2023). In step t user t sends to the open
batch of every shuffler. Full batches are shuffled and published. The estimate of the prefix, computed from
the published batches alone, is then output. The server sees each batch as the multiset of its messages, which
for bits is the number of ones. Batches still open at the end are never published.

``ContinualServer`` processes the node estimates, of numbers or of arrays. It serves the sums here and the
bandit whose users act on them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.coins.base import Coins, Program
from dpaudit.core.views import PUBLIC
from dpaudit.reference.mechanisms.concurrent_tree import Node, Tree
from dpaudit.reference.mechanisms.shuffler_schedule import read_at

__all__ = ["ContinualServer", "NodeRelease", "ReadAt", "concurrent_sums"]

#: One full batch under coins, users first: releases the shuffler's output and returns the estimate of the
#: sum.
NodeRelease = Callable[[Coins, NDArray[Any], Node], Any]

#: Returns the nodes that are full, and read, in step t.
ReadAt = Callable[[Tree, int], Sequence[Node]]


class ContinualServer:
    """Read full batches over ``tree`` by ``release``, and keep the estimates of the nodes of V_t."""

    def __init__(self, tree: Tree, release: NodeRelease, *, read: ReadAt = read_at) -> None:
        self._tree, self._release, self._read = tree, release, read
        self._kept: list[tuple[Node, Any]] = []

    def step(self, coins: Coins, t: int, values: NDArray[Any]) -> Any:
        """Process step ``t`` (from 1) and return the estimate of the users' sum, or 0 if no batch is full.

        ``values`` holds the users so far on the first axis.
        """
        for node in self._read(self._tree, t):
            estimate = self._release(coins, values[node.start - 1 : node.stop], node)
            uncovered = [(old, kept) for old, kept in self._kept if old.start < node.start]
            self._kept = [*uncovered, (node, estimate)]
        return sum([kept for _, kept in self._kept], np.zeros(values.shape[1:]))

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Return the nodes whose estimates are kept and added up, from the left."""
        return tuple(node for node, _ in self._kept)


def concurrent_sums(tree: Tree, release: NodeRelease, *, read: ReadAt = read_at) -> Program:
    """Run the program on users' bits of shape (n,).

    It returns nothing: the adversary sees the shufflers' outputs and the public estimates.
    """

    def program(coins: Coins, bits: NDArray[Any]) -> None:
        server = ContinualServer(tree, release, read=read)
        for t in range(1, tree.horizon + 1):
            coins.reveal(float(server.step(coins, t, bits)), site="estimate", to=PUBLIC)

    return program
