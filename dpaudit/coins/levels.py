"""Outcomes of a distribution and their places in it: the outcome at a level of its distribution function, the
uniform that an outcome stands for, and all outcomes where they are few."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpaudit.core.errors import DpauditError, InvalidParameterError, NotTractableError
from dpaudit.distributions.base import BaseMeasure, Distribution

__all__ = ["outcome_at", "outcomes_of", "uniform_of"]


def outcome_at(distribution: Distribution, level: ArrayLike) -> Any:
    """The outcome of ``distribution`` at a quantile in (0, 1), or at one for each entry; of a distribution
    without an order the atom at the first of them; ``None`` where there is neither."""
    levels = np.broadcast_to(np.asarray(level, dtype=float), distribution.batch_shape)
    try:
        value = np.asarray(distribution.ppf(levels))
        return value.item() if value.ndim == 0 else value
    except NotTractableError:
        pass
    except (InvalidParameterError, OverflowError):
        return None  # an outcome that floats cannot hold
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
    """A uniform whose inverse cdf is ``value``, in every entry: the middle of those of an atom. ``None`` for
    a distribution without an order."""
    try:
        level = np.asarray(distribution.cdf(value), dtype=float)
        if distribution.base_measure is BaseMeasure.COUNTING:
            level = level - np.exp(np.asarray(distribution.logp(value))) / 2
        return np.clip(level, 0.0, 1.0)[()]
    except DpauditError:
        return None


def outcomes_of(distribution: Distribution, *, most: int) -> list[Any]:
    """The outcomes of a distribution that have a probability above 0; none where there are more than
    ``most``, or no atoms."""
    try:
        atoms = list(islice(distribution.atoms(), most + 1))
    except (DpauditError, ValueError):
        return []
    return [value for value, mass in atoms if not mass.is_zero()] if len(atoms) <= most else []
