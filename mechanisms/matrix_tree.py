"""The binary tree of Sarmasarkar's Algorithm 2: prefix sums of symmetric matrices with symmetric Gaussian
noise.

This file also holds the printed noise formulas. A node gets Z = (Z' + Z'ᵀ)/2 ("half", Appendix I.1) or (Z' +
Z'ᵀ)/√2 ("root", Appendix P), with the entries of Z' independent N(0, σ²). Off the diagonal Z has variance
σ²/2 (σ²), on it σ² (2σ²). A change M of a node therefore costs μ² = |M|_F²/σ² (|M|_F²/(2σ²)): the diagonal
counts once, and each pair (i, j), (j, i) twice, with half of the variance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpaudit.coins import Coins
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, positive
from dpaudit.core.exact_functions import ceil_log2, ln
from dpaudit.distributions import Gaussian
from dpaudit.kernel.ball import arb, ball, integer

__all__ = ["Symmetrise", "levels", "node_mu_squared", "noise_units", "prefixes", "printed_variance"]

Symmetrise = Literal["half", "root"]


def levels(horizon: int, *, base: Literal["2", "e"] = "2") -> int:
    """Return m = ⌈log T + 1⌉: nodes above a leaf for base 2; the print names no base."""
    if horizon < 1:
        raise InvalidParameterError(f"horizon must be 1 or more, got {horizon}.")
    if base == "2":
        return ceil_log2(horizon) + 1
    return 1 if horizon == 1 else integer(ln(horizon).ceil()) + 1


def printed_variance(
    *, epsilon: ExactLike, delta: ExactLike, depth: int, sensitivity: arb | ExactLike
) -> arb:
    """Return σ² = 36 m log(32/δ)² s²/ε², m = ``depth``, s = ``sensitivity`` (1/κ* in print, for both
    trees).
    """
    e, loss = positive(epsilon, name="epsilon"), positive(delta, name="delta")
    s = sensitivity if isinstance(sensitivity, arb) else ball(positive(sensitivity, name="sensitivity"))
    return 36 * depth * (ln(32 / loss) * s / ball(e)) ** 2


def node_mu_squared(*, norm_squared: ExactLike, variance: Fraction, symmetrise: Symmetrise) -> Fraction:
    """Return μ² of one node for a change of squared Frobenius norm ``norm_squared``, σ² = ``variance``."""
    times = {"half": 1, "root": 2}[symmetrise]
    return positive(norm_squared, name="norm_squared") / (times * variance)


def noise_units(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the entries on and above the diagonal, with off-diagonal entries times √2: against "half" each
    has variance σ².
    """
    upper, weights = _upper(len(matrix))
    return np.asarray(matrix[upper] * weights)


@lru_cache(maxsize=16)
def _upper(
    dimension: int,
) -> tuple[tuple[NDArray[np.intp], NDArray[np.intp]], NDArray[np.float64]]:
    """Return the places on and above the diagonal, and the weight of each; read-only."""
    rows, columns = np.triu_indices(dimension)
    weights = np.where(rows == columns, 1.0, math.sqrt(2.0))
    for array in (rows, columns, weights):
        array.flags.writeable = False
    return (rows, columns), weights


def prefixes(
    coins: Coins, leaves: Sequence[NDArray[np.float64]], *, variance: ExactLike
) -> list[NDArray[np.float64]]:
    """Return the noisy sums of the first 1, ..., T of ``leaves`` [T, d, d] in noise units ("half").

    Each node is released once, at the step that completes it. A prefix adds up the nodes of its binary
    expansion.
    """
    nodes: dict[tuple[int, int], Any] = {}
    distribution = Gaussian(variance=variance)
    shown = []
    for t in range(1, len(leaves) + 1):
        for level in range((t & -t).bit_length()):
            total = np.sum(leaves[t - 2**level : t], axis=0)
            nodes[level, t >> level] = coins.release(noise_units(total), distribution, site="node")
        shown.append(np.sum([nodes[key] for key in cover(t)], axis=0))
    return shown


def cover(time: int) -> list[tuple[int, int]]:
    """Return (level, index from 1) of the nodes whose leaves are the first ``time`` leaves, one node per bit
    of ``time``.
    """
    return [(k, time >> k) for k in range(time.bit_length()) if time >> k & 1]
