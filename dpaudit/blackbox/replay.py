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

from dpaudit.blackbox.claim_betting import ClaimBetting
from dpaudit.blackbox.hypotheses import Points
from dpaudit.blackbox.mixture import PairMixture
from dpaudit.blackbox.statistics.cells import CellBlock

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
    divergence_weights : sequence of float
        Shares of the experts that bet on divergences.
    first : int
        Pairs of runs in the first block, which was for learning only.
    blocks : sequence of CellBlock
        The later blocks, which were bet on.
    """

    weights: Sequence[float]
    follow: float
    divergence_weights: Sequence[float]
    first: int
    blocks: Sequence[CellBlock]

    def betting(self, points: Points) -> ClaimBetting:
        """Return a new bettor against claims that imply ``points``, to be updated with ``blocks``."""
        return ClaimBetting(
            points, weights=self.weights, follow=self.follow, divergence_weights=self.divergence_weights
        )


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
        self, points: Points, *, log_threshold: ArrayLike, deadline: float | None = None
    ) -> Floats:
        """Return the runs after which each claim was rejected, or infinity, shape (J,).

        Parameters
        ----------
        points : Points
            What each of J claims implies.
        log_threshold : number or array, shape (J,)
            The log-wealth that rejects a claim.
        deadline : float, optional
            After this time (``time.monotonic``), no further block is used, so fewer claims are rejected.
        """
        count, size = points.epsilons.shape
        thresholds = np.broadcast_to(np.asarray(log_threshold, dtype=float), count)
        rows = max(1, AT_ONCE // size)
        parts = [slice(start, start + rows) for start in range(0, count, rows)]
        return np.concatenate([self._rejected(points.at(part), thresholds[part], deadline) for part in parts])

    def richest(self, points: Points) -> int:
        """Return the pair with the largest final wealth against one claim, or 0 if none has run."""
        wealth = np.full(len(self.played), -np.inf)
        for place, item in enumerate(self.played):
            if item is not None:
                bettor = item.betting(points)
                for block in item.blocks:
                    bettor.update(block)
                wealth[place] = bettor.log_wealth[0]
        return int(np.argmax(wealth))

    def _rejected(self, points: Points, thresholds: Floats, deadline: float | None) -> Floats:
        claims = len(points.epsilons)
        bettors = {place: item.betting(points) for place, item in enumerate(self.played) if item is not None}
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
                wealth = mixture.update(place, bettors[place].update(block))
                stands = ~(wealth >= thresholds[standing])
                if not stands.all():  # a rejected claim stays rejected, so betting against it ends
                    found[standing[~stands]] = runs
                    standing = standing[stands]
                    mixture.keep(stands)
                    for bettor in bettors.values():
                        bettor.keep(stands)
                if not len(standing):
                    break
            seen.add(place)
        return found
