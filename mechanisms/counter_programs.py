"""Counters over a stream, round by round, for proofs of programs: one tree, and batches of shufflers.

``tree_counter`` is ``mechanisms.tree_counter``. ``concurrent_batches`` has the batches of Tenenbaum, Kaplan,
Mansour and Stemmer (ICML 2023): user t sends to the open batch of every height, and a full batch is released
with noise. The privacy cost depends on the number of batches of a user.
"""

from __future__ import annotations

from typing import Any

from dpaudit.coins.base import Coins, Program
from dpaudit.distributions.base import Distribution

__all__ = ["concurrent_batches", "tree_counter"]


def tree_counter(*, levels: int, noise: Distribution) -> Program:
    """Release the node that ends at each leaf, when the leaf arrives; the tree has 2^``levels`` leaves."""

    def program(coins: Coins, data: Any) -> None:
        sums: list[Any] = [0] * (levels + 1)
        leaves = 0
        for value in data:
            leaves += 1  # noqa: SIM113  (a proof for every size reads the loop's own state)
            rank = 0
            while leaves % 2 ** (rank + 1) == 0:
                rank += 1
            covered = value
            for lower in range(rank):
                covered = covered + sums[lower]
                sums[lower] = 0
            sums[rank] = covered
            coins.release(covered, noise, site="node")

    return program


def concurrent_batches(*, sizes: tuple[int, ...], noise: Distribution) -> Program:
    """Release the sum of each full batch; batches have ``sizes`` users, with one shuffler per size."""

    def program(coins: Coins, data: Any) -> None:
        sums: list[Any] = [0] * len(sizes)
        users = [0] * len(sizes)
        for value in data:
            for height in range(len(sizes)):
                sums[height] = sums[height] + value
                users[height] += 1
                if users[height] == sizes[height]:
                    coins.release(sums[height], noise, site="batch")
                    sums[height] = 0
                    users[height] = 0

    return program
