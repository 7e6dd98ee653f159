"""Families: several e-values at once, by Bonferroni or by e-BH, several p-values, by Holm, and the weights
of a search that has no end.

An e-value is non-negative with mean at most 1 under its null. Their weighted average is one again, whatever
their dependence.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpaudit.core.errors import InvalidParameterError

__all__ = ["bonferroni", "e_benjamini_hochberg", "holm", "pair_weight"]


def pair_weight(index: int) -> float:
    """The weight 1/(i(i+1)) of the i-th pair of a search, i = 1, 2, ...: it is fixed when the pair is
    created, and all sum to 1.
    """
    if index < 1:
        raise InvalidParameterError(f"a pair's index must be 1 or more, got {index}; count pairs from 1.")
    return 1.0 / (index * (index + 1))


def bonferroni(e_values: ArrayLike, *, alpha: float, weights: ArrayLike | None = None) -> NDArray[np.bool_]:
    """Which nulls to reject so that any false rejection at all has probability at most ``alpha``.

    Null i is rejected where ``weights[i] * e_values[i] >= 1/alpha``; equal weights unless given. Shapes
    (m,). E-processes may enter at their running maximum: Ville's inequality holds for each at its share of
    alpha.
    """
    values = _checked(e_values, alpha)
    shares = np.full(len(values), 1.0 / len(values)) if weights is None else np.asarray(weights, dtype=float)
    if shares.shape != values.shape or np.any(shares < 0) or shares.sum() > 1 + 1e-12:
        raise InvalidParameterError(
            f"weights must be one non-negative number for each e-value with sum at most 1, got {weights!r}; "
            "rescale them."
        )
    rejected: NDArray[np.bool_] = shares * values >= 1.0 / alpha
    return rejected


def e_benjamini_hochberg(e_values: ArrayLike, *, alpha: float) -> NDArray[np.bool_]:
    """Which nulls to reject so that the expected share of false rejections is at most ``alpha``, under any
    dependence.

    The e-BH procedure (Wang & Ramdas 2022, section 4): reject the k largest, k the largest with ``k * e_(k)
    >= m/alpha``. E-values must be taken at one stopping time, not at running maxima.
    """
    values = _checked(e_values, alpha)
    order = np.argsort(-values, kind="stable")
    ranks = np.arange(1, len(values) + 1)
    passing = np.flatnonzero(ranks * values[order] >= len(values) / alpha)
    rejected = np.zeros(len(values), dtype=bool)
    if len(passing):
        rejected[order[: passing[-1] + 1]] = True
    return rejected


def holm(p_values: ArrayLike, *, alpha: float) -> NDArray[np.bool_]:
    """Which nulls to reject so that any false rejection at all has probability at most ``alpha``, under any
    dependence (Holm 1979). Shapes (m,).

    Each p-value belongs to a number of trials that was fixed beforehand: one that was watched until it was
    small is none. What may be watched has e-values, and ``bonferroni``.
    """
    from statsmodels.stats.multitest import multipletests

    values = _checked(p_values, alpha)
    if np.any(values > 1):
        raise InvalidParameterError(f"p_values must be in [0, 1], got {p_values!r}; e-values go elsewhere.")
    rejected: NDArray[np.bool_] = multipletests(values, alpha=alpha, method="holm")[0]
    return rejected


def _checked(e_values: ArrayLike, alpha: float) -> NDArray[np.float64]:
    values = np.asarray(e_values, dtype=float)
    if values.ndim != 1 or not len(values) or np.any(np.isnan(values)) or np.any(values < 0):
        raise InvalidParameterError(
            f"a family must be a non-empty vector of non-negative numbers, got {e_values!r}; flatten it."
        )
    if not 0 < alpha < 1:
        raise InvalidParameterError(
            f"alpha must be in (0, 1), got {alpha}; pass an error level such as 0.05."
        )
    return values
