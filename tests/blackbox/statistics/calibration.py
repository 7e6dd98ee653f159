"""Calibration of e-processes: simulated paths under a null, the worst stopping rule, and an exact bound on
the error rate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats

from tests.rates import FALSE_FAILURE_RATE

#: One path of log-wealth under the null, or its maximum.
Path = Callable[[np.random.Generator], np.ndarray | float]


@dataclass(frozen=True)
class Calibration:
    """How often the wealth ever reached 1/alpha, and a lower bound on the probability of that."""

    repeats: int
    rejections: int
    lower: float
    alpha: float

    @property
    def valid(self) -> bool:
        """Whether the rate is compatible with ``alpha``: wrong for a valid process with probability
        FALSE_FAILURE_RATE.
        """
        return self.lower <= self.alpha

    def __str__(self) -> str:
        return f"{self.rejections} of {self.repeats} paths reached 1/{self.alpha}: P >= {self.lower:.4f}"


def calibrate(path: Path, *, alpha: float = 0.2, repeats: int = 400, seed: int = 0) -> Calibration:
    """Simulate ``repeats`` paths; a path rejects if its *maximum* does, which is the worst stopping rule
    there is.
    """
    rejections = 0
    for child in np.random.SeedSequence(seed).spawn(repeats):
        wealth = path(np.random.default_rng(child))
        rejections += bool(np.max(wealth) >= math.log(1 / alpha))
    lower = stats.beta.ppf(FALSE_FAILURE_RATE, rejections, repeats - rejections + 1) if rejections else 0.0
    return Calibration(repeats, rejections, float(lower), alpha)
