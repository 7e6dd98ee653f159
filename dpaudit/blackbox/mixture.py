"""The wealth of all pairs of neighbours together, against any number of claims.

One part of the capital is divided evenly among the pairs, and stays there. The other part goes with the pair
that is the richest before each block, so that a search among many pairs costs the logarithm of this part and
not that of their number. Which pair that is was settled before the block, so each part is a non-negative
supermartingale under the claim, and their sum is one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpaudit.blackbox.statistics.capital import log_average

__all__ = ["FOLLOWING", "PairMixture"]

#: The share of the capital that goes with the richest pair, where there are several.
FOLLOWING = 0.5

Floats = NDArray[np.float64]


class PairMixture:
    """``pairs``: among how many the capital is divided. ``claims``: J, the bets against which go on side by
    side."""

    def __init__(self, pairs: int, claims: int) -> None:
        following = FOLLOWING if pairs > 1 else 0.0
        self._shares = np.append(np.full(pairs, (1 - following) / pairs), following)
        #: The log-wealth of each pair, then that of the part that follows, shape (pairs + 1, J).
        self._logs: Floats = np.zeros((pairs + 1, claims))

    @property
    def log_wealth(self) -> Floats:
        """Log of the wealth of all parts together, shape (J,)."""
        return log_average(self._logs, self._shares)

    def keep(self, claims: NDArray[np.bool_]) -> None:
        """Go on against these claims alone, shape (J,)."""
        self._logs = self._logs[:, claims]

    def update(self, place: int, log_wealth: Floats) -> Floats:
        """The pair at ``place`` has played a block, which brought it to these log-wealths, shape (J,); return
        ``log_wealth`` after it."""
        before = self._logs[place].copy()
        leads = (self._logs[:-1].argmax(axis=0) == place) & (before > 0)
        self._logs[-1] += np.where(leads, log_wealth - before, 0.0)
        self._logs[place] = log_wealth
        return self.log_wealth
