"""Test families of hypotheses: e-values by Bonferroni or e-BH, p-values by Holm, and unbounded searches.

An e-value is non-negative with mean at most 1 under its null. A weighted average of e-values is an e-value,
whatever their dependence.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpaudit.core.errors import InvalidParameterError

__all__ = ["bonferroni", "e_benjamini_hochberg", "holm", "pair_weight"]


def pair_weight(index: int) -> float:
    """Return the weight 1/(i(i+1)) of the i-th pair of a search, i = 1, 2, ...

    The weight is fixed when the pair is created, and all weights sum to 1.
    """
    if index < 1:
        raise InvalidParameterError(f"index must be at least 1, got {index}.", code="E-PAIR-INDEX-RANGE")
    return 1.0 / (index * (index + 1))


def bonferroni(e_values: ArrayLike, *, alpha: float, weights: ArrayLike | None = None) -> NDArray[np.bool_]:
    """Return which nulls to reject, with probability at most ``alpha`` of any false rejection.

    Null i is rejected if ``weights[i] * e_values[i] >= 1/alpha``. Weights are equal by default. All shapes
    are (m,). E-processes may enter at their running maximum, because Ville's inequality holds for each at its
    share of alpha.
    """
    values = _checked(e_values, alpha)
    shares = np.full(len(values), 1.0 / len(values)) if weights is None else np.asarray(weights, dtype=float)
    if shares.shape != values.shape or np.any(shares < 0) or shares.sum() > 1 + 1e-12:
        raise InvalidParameterError(
            f"weights must be one non-negative number for each e-value with sum at most 1, got {weights!r}.",
            code="E-WEIGHTS-SUM",
        )
    rejected: NDArray[np.bool_] = shares * values >= 1.0 / alpha
    return rejected


def e_benjamini_hochberg(e_values: ArrayLike, *, alpha: float) -> NDArray[np.bool_]:
    """Return which nulls to reject, with an expected share of false rejections of at most ``alpha``.

    The bound holds under any dependence. The e-BH procedure (Wang & Ramdas 2022, section 4) rejects the k
    largest e-values for the largest k with ``k * e_(k) >= m/alpha``. E-values must be taken at one stopping
    time, not at running maxima.
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
    """Return which nulls to reject, with probability at most ``alpha`` of any false rejection (Holm 1979).

    The bound holds under any dependence. All shapes are (m,). The number of trials behind each p-value must
    be fixed beforehand: a p-value that was observed until it was small is not valid. For sequential
    observation, use e-values and ``bonferroni``.
    """
    from statsmodels.stats.multitest import multipletests

    values = _checked(p_values, alpha)
    if np.any(values > 1):
        raise InvalidParameterError(f"p_values must be in [0, 1], got {p_values!r}.", code="E-P-VALUE-RANGE")
    rejected: NDArray[np.bool_] = multipletests(values, alpha=alpha, method="holm")[0]
    return rejected


def _checked(e_values: ArrayLike, alpha: float) -> NDArray[np.float64]:
    values = np.asarray(e_values, dtype=float)
    if values.ndim != 1 or not len(values) or np.any(np.isnan(values)) or np.any(values < 0):
        raise InvalidParameterError(
            f"a family must be a non-empty vector of non-negative numbers, got {e_values!r}.",
            code="E-FAMILY-RANGE",
        )
    if not 0 < alpha < 1:
        raise InvalidParameterError(f"alpha must be in (0, 1), got {alpha}.", code="E-ALPHA-RANGE")
    return values
