"""Broken releases of a batch's statistics: the right noise used wrongly.

An audit that does not catch them is broken. ``averaged`` and ``all_entries`` look alike and are correct. Each
function takes the ``variance`` of a trusted party's noise on the sum (``batch_counters.trusted_sums``), or of
a message. Statistics are the vector's d entries, then the matrix's on and above the diagonal.
"""

from __future__ import annotations

import numpy as np

from dpaudit.coins.base import Coins
from dpaudit.core.exact import ExactLike
from dpaudit.core.views import SERVER, SHUFFLER_OUTPUT, Principal
from dpaudit.distributions import Gaussian, Shuffle
from dpaudit.reference.algorithms.contextual.batch_counters import Release
from dpaudit.reference.algorithms.contextual.shuffle_linucb_protocol import Floats, design_matrix

__all__ = [
    "all_entries",
    "announced",
    "averaged",
    "half_matrix",
    "matrix_as_it_is",
    "vector_noise_again",
    "vectors_in_order",
]


def matrix_as_it_is(*, variance: ExactLike, dim: int) -> Release:
    """Add noise to the vector only, as if contexts were public."""

    def release(coins: Coins, batch: Floats) -> Floats:
        total = batch.sum(axis=0)
        noise = Gaussian(variance=variance)
        vector = coins.release(total[:dim], noise, site="statistics/vector", to=SERVER)
        matrix = coins.reveal(total[dim:], site="statistics/matrix", to=SERVER)
        return np.concatenate([vector, matrix])

    return release


def vector_noise_again(*, variance: ExactLike, dim: int) -> Release:
    """Add the noise of the vector's first entry to every entry of the matrix as well."""

    def release(coins: Coins, batch: Floats) -> Floats:
        total = batch.sum(axis=0)
        noise = Gaussian(variance=variance)
        vector = coins.release(total[:dim], noise, site="statistics/vector", to=SERVER)
        same = vector[0] - total[0]
        matrix = coins.reveal(total[dim:] + same, site="statistics/matrix", to=SERVER)
        return np.concatenate([vector, matrix])

    return release


def half_matrix(*, variance: ExactLike, dim: int) -> Release:
    """Give the matrix half the variance, on the diagonal too, as if symmetrisation needed less.

    Its entries are released sqrt 2 times, with the whole variance, and divided by sqrt 2: the same
    distribution.
    """

    def release(coins: Coins, batch: Floats) -> Floats:
        total = batch.sum(axis=0)
        factors = np.where(np.arange(len(total)) < dim, 1.0, 2**0.5)
        noise = Gaussian(variance=variance)
        return np.asarray(coins.release(total * factors, noise, site="statistics/sum", to=SERVER) / factors)

    return release


def announced(right: Release, *, dim: int, to: Principal = SERVER) -> Release:
    """Announce a batch without any reward, and do not release it."""

    def release(coins: Coins, batch: Floats) -> Floats:
        empty = coins.reveal(not np.any(batch[:, :dim]), site="no reward", to=to)
        return np.zeros(batch.shape[1]) if empty else right(coins, batch)

    return release


def vectors_in_order(*, variance: ExactLike, dim: int) -> Release:
    """Permute the messages' matrices, and pass on their vectors in the order of the users."""

    def release(coins: Coins, batch: Floats) -> Floats:
        noise = Gaussian(variance=variance)
        site, to = "statistics/vectors", SHUFFLER_OUTPUT
        vectors = [coins.release(row[:dim], noise, site=site, to=to) for row in batch]
        sent = [noise.shift(row[dim:]) for row in batch]
        matrices = coins.aggregate(sent, Shuffle(), site="statistics/matrices", to=to)
        return np.concatenate([np.sum(vectors, axis=0), np.sum(matrices, axis=0)])

    return release


# Correct, though it looks like less noise


def averaged(*, variance: ExactLike, dim: int) -> Release:
    """Add (N + Nᵀ)/2 to the matrix with N independent in all entries: off the diagonal half the variance.

    Off the diagonal the number is released sqrt 2 times, with the whole variance, and divided by sqrt 2: the
    same distribution. It is no more private than a copied triangle at most. ||x xᵀ - x' x'ᵀ|| in the
    Frobenius norm counts these entries twice, and the joint change is at most 9/2 squared in either
    (``gaussian_randomiser``).
    """
    scale = np.ones((dim, dim)) * 2**0.5
    np.fill_diagonal(scale, 1.0)
    factors = np.concatenate([np.ones(dim), scale[np.triu_indices(dim)]])

    def release(coins: Coins, batch: Floats) -> Floats:
        noise = Gaussian(variance=variance)
        shown = coins.release(batch.sum(axis=0) * factors, noise, site="statistics/sum", to=SERVER)
        return np.asarray(shown / factors)

    return release


def all_entries(*, variance: ExactLike, dim: int) -> Release:
    """Release all d x d entries of the matrix with independent noise.

    The matrix is then not symmetric, and the triangles are averaged.
    """

    def release(coins: Coins, batch: Floats) -> Floats:
        total = batch.sum(axis=0)
        whole = np.concatenate([total[:dim], design_matrix(total[dim:], dim).ravel()])
        shown = coins.release(whole, Gaussian(variance=variance), site="statistics/sum", to=SERVER)
        square = shown[dim:].reshape(dim, dim)
        return np.concatenate([shown[:dim], ((square + square.T) / 2)[np.triu_indices(dim)]])

    return release
