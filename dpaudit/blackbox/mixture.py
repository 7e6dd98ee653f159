"""Combine the wealth of all pairs of neighbours, against any number of claims.

One part of the capital is divided evenly among the pairs, and stays there. The other part follows the pair
with the largest wealth before each block, so that a search among many pairs costs the logarithm of this part
and not the logarithm of their number. That pair is determined before the block, so each part is a
non-negative supermartingale under the claim, and so is their sum.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpaudit.blackbox.statistics.capital import log_average

__all__ = ["FOLLOWING", "PairMixture"]

#: Share of the capital that follows the pair with the largest wealth, if there are several pairs.
FOLLOWING = 0.5

Floats = NDArray[np.float64]


class PairMixture:
    """Wealth of ``pairs`` pairs that share the capital, against J = ``claims`` claims in parallel."""

    def __init__(self, pairs: int, claims: int) -> None:
        following = FOLLOWING if pairs > 1 else 0.0
        self._shares = np.append(np.full(pairs, (1 - following) / pairs), following)
        #: The log-wealth of each pair, then of the following part, shape (pairs + 1, J).
        self._logs: Floats = np.zeros((pairs + 1, claims))

    @property
    def log_wealth(self) -> Floats:
        """Return the log of the combined wealth of all parts, shape (J,)."""
        return log_average(self._logs, self._shares)

    def keep(self, claims: NDArray[np.bool_]) -> None:
        """Continue against these claims only, shape (J,)."""
        self._logs = self._logs[:, claims]

    def update(self, place: int, log_wealth: Floats) -> Floats:
        """Set the log-wealths of pair ``place`` after a block, shape (J,), and return ``log_wealth``."""
        before = self._logs[place].copy()
        leads = (self._logs[:-1].argmax(axis=0) == place) & (before > 0)
        self._logs[-1] += np.where(leads, log_wealth - before, 0.0)
        self._logs[place] = log_wealth
        return self.log_wealth
