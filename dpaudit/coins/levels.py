"""Convert between outcomes of a distribution and levels of its distribution function, and list outcomes."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpaudit.core.errors import DpauditError, InvalidParameterError, NotTractableError
from dpaudit.distributions.base import BaseMeasure, Distribution

__all__ = ["outcome_at", "outcomes_of", "uniform_of"]


def outcome_at(distribution: Distribution, level: ArrayLike) -> Any:
    """Return the outcome of ``distribution`` at a quantile in (0, 1), or at one quantile per entry.

    For a distribution without an order, return the atom at the first quantile, by cumulated probability.
    Return ``None`` if there is neither.
    """
    levels = np.broadcast_to(np.asarray(level, dtype=float), distribution.batch_shape)
    try:
        value = np.asarray(distribution.ppf(levels))
        return value.item() if value.ndim == 0 else value
    except NotTractableError:
        pass
    except (InvalidParameterError, OverflowError):
        return None  # floats cannot represent the outcome
    try:
        below = 0.0
        for value, probability in distribution.atoms():
            below += float(probability)
            if below >= levels.flat[0]:
                return value
    except (DpauditError, ValueError):
        return None
    return None


def uniform_of(distribution: Distribution, value: Any) -> Any:
    """Return a uniform number whose inverse cdf is ``value``, for every entry.

    For an atom, return the middle of its interval. For a distribution without an order, return ``None``.
    """
    try:
        level = np.asarray(distribution.cdf(value), dtype=float)
        if distribution.base_measure is BaseMeasure.COUNTING:
            level = level - np.exp(np.asarray(distribution.logp(value))) / 2
        return np.clip(level, 0.0, 1.0)[()]
    except DpauditError:
        return None


def outcomes_of(distribution: Distribution, *, most: int) -> list[Any]:
    """Return the outcomes of positive probability, or none if there are no atoms or more than ``most``."""
    try:
        atoms = list(islice(distribution.atoms(), most + 1))
    except (DpauditError, ValueError):
        return []
    return [value for value, mass in atoms if not mass.is_zero()] if len(atoms) <= most else []
