"""The counters of private linear UCB: sums of the statistics of batches of users in each trust model.

``by_batches`` adds up what a release of every batch shows. The releases are those of Chowdhury and Zhou (ICML
2022): Gaussian messages (P_Amp, Algorithms 2 to 4) and binomial messages (P_Vec, Algorithms 5 to 7).

* ``shuffled_lists``: the shuffler's output, permuted vectors and permuted matrices, under two independent
  permutations; ``shuffled_pairs``: the same under one permutation, which reveals more.
* ``messages``: each message is seen by itself, as in the local model.
* ``gaussian_sums``: the analyzer's sums of P_Amp alone, less than the shuffler's output.
* ``binomial_sums``: P_Vec. Bits under one label are exchangeable, so the shuffler's output is the number of
  ones for every label: an integer sum. The number of zeros adds no information.

``tree_of_batches`` is the trusted server of Appendix F: a binary tree with a batch in each leaf.
``tree_by_levels`` releases every node of the same tree at a separate site, for users who are in several
leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dpaudit.coins.base import Coins
from dpaudit.core.exact import ExactLike
from dpaudit.core.views import SERVER, SHUFFLER_OUTPUT, Principal
from dpaudit.distributions import BinaryTree, Distribution, Gaussian, Shuffle, Sum
from dpaudit.reference.algorithms.contextual.shuffle_linucb_protocol import Counter, Floats, Opened
from dpaudit.reference.mechanisms.binomial_vectors import VectorSheet
from dpaudit.reference.mechanisms.tree_counter import Node, psum_nodes
from dpaudit.reference.mechanisms.vector_messages import release as release_ones

__all__ = [
    "Release",
    "binomial_sums",
    "by_batches",
    "gaussian_sums",
    "messages",
    "shuffled_lists",
    "shuffled_pairs",
    "tree_by_levels",
    "tree_of_batches",
    "trusted_sums",
]

#: From one batch's statistics, shape (B, D), to the analyzer's estimate of their sum, shape (D,).
Release = Callable[[Coins, Floats], Floats]


def by_batches(release: Release) -> Counter:
    """Release batches one by one, and add up their estimates: Algorithm 1."""

    def counter(coins: Coins) -> Opened:
        sums: list[Floats] = []

        def opened(batch: Floats) -> Floats:
            sums.append(release(coins, batch))
            return _total(sums)

        return opened

    return counter


def _total(rows: Sequence[Floats]) -> Floats:
    total = rows[0]
    for row in rows[1:]:
        total = total + row
    return total


# P_Amp: every user adds Gaussian noise of one variance to the vector and to the matrix


def _noisy(batch: Floats, variance: ExactLike) -> list[Distribution]:
    """Return the distribution of each user's message, with one noise for all entries."""
    noise = Gaussian(variance=variance)
    return [noise.shift(row) for row in batch]


def shuffled_pairs(*, variance: ExactLike) -> Release:
    """Release the users' pairs of messages under one permutation, as the shuffler outputs them."""

    def release(coins: Coins, batch: Floats) -> Floats:
        pairs = coins.aggregate(
            _noisy(batch, variance), Shuffle(), site="statistics/pairs", to=SHUFFLER_OUTPUT
        )
        return _total(pairs)

    return release


def shuffled_lists(*, variance: ExactLike, dim: int) -> Release:
    """Release the permuted vectors and the permuted matrices under independent permutations (Algorithm 3).

    This is the output of ``shuffled_pairs`` with the second parts permuted once more.
    """

    def release(coins: Coins, batch: Floats) -> Floats:
        noise = Gaussian(variance=variance)
        first, second = [noise.shift(row[:dim]) for row in batch], [noise.shift(row[dim:]) for row in batch]
        vectors = coins.aggregate(first, Shuffle(), site="statistics/vectors", to=SHUFFLER_OUTPUT)
        matrices = coins.aggregate(second, Shuffle(), site="statistics/matrices", to=SHUFFLER_OUTPUT)
        size = batch.shape[1]
        return np.asarray(
            _total(vectors) @ np.eye(dim, size) + _total(matrices) @ np.eye(size - dim, size, dim)
        )

    return release


def messages(*, variance: ExactLike, to: Principal = SERVER) -> Release:
    """Release each user's message by itself: the identity shuffler of the local model (Appendix F)."""

    def release(coins: Coins, batch: Floats) -> Floats:
        noise = Gaussian(variance=variance)
        sent = [coins.release(row, noise, site="statistics/message", to=to) for row in batch]
        return _total(sent)

    return release


def gaussian_sums(*, variance: ExactLike, to: Principal = SHUFFLER_OUTPUT) -> Release:
    """Release the sums of the users' messages, each with noise of ``variance`` in every entry."""

    def release(coins: Coins, batch: Floats) -> Floats:
        return np.asarray(coins.aggregate(_noisy(batch, variance), Sum(), site="statistics/sum", to=to))

    return release


def trusted_sums(*, variance: ExactLike, to: Principal = SERVER) -> Release:
    """Release the true sums with noise of ``variance`` in every entry, added by a trusted party."""

    def release(coins: Coins, batch: Floats) -> Floats:
        noise = Gaussian(variance=variance)
        return np.asarray(coins.release(batch.sum(axis=0), noise, site="statistics/sum", to=to))

    return release


# P_Vec: every user sends bits, x̂ + Bin(b, p) ones under each label


def binomial_sums(sheet: VectorSheet, *, site: str = "statistics/ones") -> Release:
    """Release the number of ones under each label, d + d (d + 1) / 2 of them, and estimate the sum
    (``vector_messages.release``).
    """

    def release(coins: Coins, batch: Floats) -> Floats:
        return release_ones(coins, batch, sheet, site=site)

    return release


# A trusted server


def tree_of_batches(*, variance: ExactLike, batches: int, to: Principal = SERVER) -> Counter:
    """Build a binary tree over at most ``batches`` batches, every node with Gaussian noise of
    ``variance``.
    """
    kernel = BinaryTree(leaves=batches, noise=Gaussian(variance=variance))

    def counter(coins: Coins) -> Opened:
        session = coins.channel(kernel, site="statistics/tree", to=to)
        nodes: list[Floats] = []

        def opened(batch: Floats) -> Floats:
            nodes.append(session.ask(batch.sum(axis=0)))
            known: Floats = BinaryTree.prefix(nodes, len(nodes))
            return known

        return opened

    return counter


def tree_by_levels(*, variance: ExactLike, to: Principal = SERVER) -> Counter:
    """Build a binary tree over the batches that releases each node when it is complete.

    Every node has Gaussian noise of ``variance``. Its site, "statistics/level 0" and up, names its level.
    """
    noise = Gaussian(variance=variance)

    def counter(coins: Coins) -> Opened:
        leaves: list[Floats] = []
        nodes: dict[Node, Floats] = {}

        def opened(batch: Floats) -> Floats:
            leaves.append(batch.sum(axis=0))
            t = len(leaves)
            for level in range((t & -t).bit_length()):
                total = _total(leaves[t - 2**level :])
                shown = coins.release(total, noise, site=f"statistics/level {level}", to=to)
                nodes[level, (t >> level) - 1] = shown
            return _total([nodes[node] for node in psum_nodes(t)])

        return opened

    return counter
