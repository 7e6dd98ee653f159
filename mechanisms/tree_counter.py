"""The binary mechanism: all prefix sums of one tree of observations, from nodes that are released once.

Dwork, Naor, Pitassi and Rothblum (2010); Chan, Shi and Song (2011), as used by Hu, Huang and Mehta (arXiv
2102.07929), eq. (33). The tree has 2^levels leaves. A node covers a dyadic block of leaves. The prefix of the
first i leaves is the sum of one node per set bit of i, the longest block first.

Releases. When leaf i arrives, exactly one node becomes complete and needed: the node at level ctz(i)
(trailing zeros of i) that ends at leaf i. The counter releases that node's sum with its one noise and adds up
nodes afterwards. Prefix sums and released nodes determine each other, so publishing the nodes reveals exactly
as much as publishing every prefix.
"""

from __future__ import annotations

from typing import Any

from dpaudit.coins.base import Coins
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.views import SERVER
from dpaudit.distributions.base import Distribution

__all__ = ["Node", "TreeCounter", "psum_nodes", "touched_nodes"]

#: A node: its level (it covers 2^level leaves) and its position from the left, from 0.
Node = tuple[int, int]


def psum_nodes(leaves: int) -> tuple[Node, ...]:
    """Return the nodes whose sum is the prefix of the first ``leaves`` >= 1 leaves, the longest block
    first.
    """
    if leaves < 1:
        raise InvalidParameterError(f"leaves must be 1 or more, got {leaves}; an empty prefix needs no node.")
    nodes, start = [], 0
    for level in reversed(range(leaves.bit_length())):
        if leaves >> level & 1:
            nodes.append((level, start >> level))
            start += 1 << level
    return tuple(nodes)


def touched_nodes(leaf: int, *, levels: int) -> tuple[Node, ...]:
    """Return the nodes above leaf number ``leaf`` (from 1) that some prefix uses, the lowest first.

    They have even positions only: a right child is never used, because its parent is complete at the same
    leaf. The first leaf lies under ``levels + 1`` of them.
    """
    if not 1 <= leaf <= 1 << levels:
        raise InvalidParameterError(f"leaf must be in 1..{1 << levels} for {levels} levels, got {leaf}.")
    path = ((level, (leaf - 1) >> level) for level in range(levels + 1))
    return tuple((level, position) for level, position in path if position % 2 == 0)


class TreeCounter:
    """One tree: ``add`` an observation and get the noisy prefix sum.

    ``noise`` is the distribution of every node's noise, ``site`` the name of the releases to the server.
    Keeps one partial sum and one noisy node per level. Adding beyond 2^levels leaves raises
    ``InvalidParameterError``.
    """

    def __init__(self, coins: Coins, *, levels: int, noise: Distribution, site: str) -> None:
        if levels < 0:
            raise InvalidParameterError(
                f"levels must be 0 or more, got {levels}; a tree has at least one leaf."
            )
        self.coins, self.levels, self.noise, self.site = coins, levels, noise, site
        self.leaves = 0
        self._sums: list[Any] = [0.0] * (levels + 1)
        self._noisy: list[Any] = [0.0] * (levels + 1)

    @property
    def full(self) -> bool:
        return self.leaves == 2**self.levels

    def add(self, value: Any) -> Any:
        """Insert ``value`` into the left-most empty leaf and return the noisy sum of all leaves so far."""
        if self.full:
            raise InvalidParameterError(f"a tree must have at most {self.leaves} leaves, got one more.")
        self.leaves += 1
        level = (self.leaves & -self.leaves).bit_length() - 1
        block = value + sum(self._sums[:level])
        self._sums = [*[0.0] * level, block, *self._sums[level + 1 :]]
        noisy_block = self.coins.release(block, self.noise, site=self.site, to=SERVER)
        self._noisy = [*[0.0] * level, noisy_block, *self._noisy[level + 1 :]]
        return sum(reversed(self._noisy))
