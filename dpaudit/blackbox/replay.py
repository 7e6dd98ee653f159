"""The blocks of a check as they were played, for any other claim to be bet against.

Counts by expert and cell are all that a bettor needs, so a claim that was not tested while the runs came in
is tested afterwards with the bets that it would have had: what is staked on a block depends on the blocks
before it alone.
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

#: Claims times points that are replayed at once.
AT_ONCE = 48

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Played:
    """One pair of neighbours: shares of the experts and of the follower, pairs of runs in the block that was
    for learning only, and the blocks that were bet on."""

    weights: Sequence[float]
    follow: float
    first: int
    blocks: Sequence[CellBlock]


@dataclass(frozen=True)
class Replay:
    """``played``: what each pair of neighbours has seen (``None`` for one that never ran). ``order``: which
    of them ran in each round."""

    played: Sequence[Played | None]
    order: Sequence[int]

    def rejected_after(
        self, epsilons: Floats, deltas: Floats, *, log_threshold: ArrayLike, deadline: float | None = None
    ) -> Floats:
        """Runs after which each claim was rejected; infinity for those that stand. Shape (J,).

        ``epsilons`` and ``deltas``: shape (J, K), the points of each claim, among which its capital is
        divided evenly. ``log_threshold``: one number or shape (J,), of the log-wealth that rejects.
        ``deadline``: from this time (``time.monotonic``) on no further block is played, so that fewer claims
        are rejected.
        """
        thresholds = np.broadcast_to(np.asarray(log_threshold, dtype=float), len(epsilons))
        rows = max(1, AT_ONCE // epsilons.shape[1])
        parts = [
            self._rejected(epsilons[part], deltas[part], thresholds[part], deadline)
            for part in (slice(start, start + rows) for start in range(0, len(epsilons), rows))
        ]
        return np.concatenate(parts)

    def richest(self, epsilons: Floats, deltas: Floats) -> int:
        """The pair that has earned most in the end against one claim, of ``K`` points; 0 where none has
        played."""
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
                if not stands.all():  # what is rejected stays so, and is bet against no longer
                    found[standing[~stands]] = runs
                    standing = standing[stands]
                    mixture.keep(stands)
                    for bettor in bettors.values():
                        bettor.keep(np.repeat(stands, points))
                if not len(standing):
                    break
            seen.add(place)
        return found
