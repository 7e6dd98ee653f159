"""Test other claims on the blocks of a check after the runs.

A bettor uses only counts by expert and cell. The stakes on a block depend only on earlier blocks, so a claim
that was not tested during the runs is tested afterwards with the same bets.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpaudit.blackbox.mixture import PairMixture
from dpaudit.blackbox.statistics.capital import log_average
from dpaudit.blackbox.statistics.cells import CellBetting, CellBlock

__all__ = ["Played", "Replay"]

#: Largest number of claims times points that are replayed at once.
AT_ONCE = 48

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Played:
    """Blocks of one pair of neighbours.

    Attributes
    ----------
    weights : sequence of float
        Shares of the experts.
    follow : float
        Share of the follower.
    first : int
        Pairs of runs in the first block, which was for learning only.
    blocks : sequence of CellBlock
        The later blocks, which were bet on.
    """

    weights: Sequence[float]
    follow: float
    first: int
    blocks: Sequence[CellBlock]


@dataclass(frozen=True)
class Replay:
    """Blocks of all pairs of neighbours.

    Attributes
    ----------
    played : sequence of Played or None
        The blocks of each pair, or None for a pair that never ran.
    order : sequence of int
        The index of the pair that ran in each round.
    """

    played: Sequence[Played | None]
    order: Sequence[int]

    def rejected_after(
        self, epsilons: Floats, deltas: Floats, *, log_threshold: ArrayLike, deadline: float | None = None
    ) -> Floats:
        """Return the runs after which each claim was rejected, or infinity, shape (J,).

        Parameters
        ----------
        epsilons, deltas : array, shape (J, K)
            The points of each claim, which share its capital evenly.
        log_threshold : number or array, shape (J,)
            The log-wealth that rejects a claim.
        deadline : float, optional
            After this time (``time.monotonic``), no further block is used, so fewer claims are rejected.
        """
        thresholds = np.broadcast_to(np.asarray(log_threshold, dtype=float), len(epsilons))
        rows = max(1, AT_ONCE // epsilons.shape[1])
        parts = [
            self._rejected(epsilons[part], deltas[part], thresholds[part], deadline)
            for part in (slice(start, start + rows) for start in range(0, len(epsilons), rows))
        ]
        return np.concatenate(parts)

    def richest(self, epsilons: Floats, deltas: Floats) -> int:
        """Return the pair with the largest final wealth against a claim of K points, or 0 if none has run."""
        weights = np.full(len(epsilons), 1.0 / len(epsilons))
        wealth = np.full(len(self.played), -np.inf)
        for place, item in enumerate(self.played):
            if item is not None:
                bettor = CellBetting(epsilons, deltas=deltas, weights=item.weights, follow=item.follow)
                logs = np.zeros(len(epsilons))
                for block in item.blocks:
                    logs = bettor.update(block)
                wealth[place] = log_average(logs, weights)
        return int(np.argmax(wealth))

    def _rejected(
        self, epsilons: Floats, deltas: Floats, thresholds: Floats, deadline: float | None
    ) -> Floats:
        claims, points = epsilons.shape
        shares = np.full(points, 1.0 / points)
        bettors = {
            place: CellBetting(
                epsilons.ravel(), deltas=deltas.ravel(), weights=item.weights, follow=item.follow
            )
            for place, item in enumerate(self.played)
            if item is not None
        }
        blocks = [iter(item.blocks if item else ()) for item in self.played]
        mixture = PairMixture(len(self.played), claims)
        found, standing = np.full(claims, np.inf), np.arange(claims)
        runs, seen = 0, set[int]()
        until = math.inf if deadline is None else deadline
        for place in self.order:
            if time.monotonic() >= until:
                break
            played = self.played[place]
            if played is not None and place not in seen:
                runs += 2 * played.first  # the first block of a pair was for learning only
            else:
                block = next(blocks[place])
                runs += 2 * block.pairs
                logs = bettors[place].update(block).reshape(len(standing), points)
                wealth = mixture.update(place, log_average(logs, shares, axis=1))
                stands = ~(wealth >= thresholds[standing])
                if not stands.all():  # a rejected claim stays rejected, so betting against it ends
                    found[standing[~stands]] = runs
                    standing = standing[stands]
                    mixture.keep(stands)
                    for bettor in bettors.values():
                        bettor.keep(np.repeat(stands, points))
                if not len(standing):
                    break
            seen.add(place)
        return found
