"""Bet against claims by all that they imply: (epsilon, delta) points and bounds on Rényi divergences.

The capital against a claim is divided evenly between its points and its divergences, and then among the
points. A mixture of e-processes is an e-process.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpaudit.blackbox.hypotheses import Points
from dpaudit.blackbox.statistics.capital import log_average
from dpaudit.blackbox.statistics.cells import CellBetting, CellBlock
from dpaudit.blackbox.statistics.divergences import DivergenceBetting

__all__ = ["ClaimBetting"]

Floats = NDArray[np.float64]


class ClaimBetting:
    """E-processes against J claims on the same blocks.

    Parameters
    ----------
    points : Points
        What the J claims imply, with K points and D orders each.
    weights : array, shape (E,)
        Shares of the experts in the capital for points. With ``follow``, they sum to 1.
    follow : float
        Share of the bettor that copies the richest expert.
    divergence_weights : array, shape (E,)
        Shares of the experts in the capital for divergences.
    """

    def __init__(
        self, points: Points, *, weights: ArrayLike, follow: float, divergence_weights: ArrayLike
    ) -> None:
        self._count = points.epsilons.shape[1]
        self._cells = CellBetting(
            points.epsilons.ravel(), deltas=points.deltas.ravel(), weights=weights, follow=follow
        )
        self._divergences = (
            DivergenceBetting(points.orders, points.divergences, weights=divergence_weights)
            if len(points.orders)
            else None
        )
        self._shares = np.full(self._count, points.share)

    @property
    def log_wealth(self) -> Floats:
        """Return the log of the wealth against each claim, shape (J,)."""
        logs = self._cells.log_wealth.reshape(-1, self._count)
        if self._divergences is None:
            return log_average(logs, self._shares, axis=1)
        logs = np.column_stack([logs, self._divergences.log_wealth])
        return log_average(logs, np.append(self._shares, 0.5), axis=1)

    @property
    def richest_expert(self) -> int:
        """Return the expert with the largest wealth against any claim."""
        if self._divergences is None or self.richest_order is None:
            return int(np.unravel_index(self._cells.experts.argmax(), self._cells.experts.shape)[1])
        own = self._divergences.experts
        return int(self._divergences.chosen[np.unravel_index(own.argmax(), own.shape)[3]])

    @property
    def richest_order(self) -> int | None:
        """Return the index of the order that has gained most, or None if a point has gained more."""
        if self._divergences is None or self._divergences.experts.max() <= self._cells.experts.max():
            return None
        return int(np.unravel_index(self._divergences.experts.argmax(), self._divergences.experts.shape)[1])

    def keep(self, claims: NDArray[np.bool_]) -> None:
        """Continue against these claims only, shape (J,)."""
        self._cells.keep(np.repeat(claims, self._count))
        if self._divergences is not None:
            self._divergences.keep(claims)

    def update(self, block: CellBlock) -> Floats:
        """Bet on one block, and return ``log_wealth`` after it, shape (J,)."""
        self._cells.update(block)
        if self._divergences is not None:
            self._divergences.update(block)
        return self.log_wealth
