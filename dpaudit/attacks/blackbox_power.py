"""What a run that refuted nothing could have refuted: the power of the same bettor on the same schedule,
computed.

For an event of given probability under one input, the smaller its probability under the other, the faster
the bettor earns. The same code that played the run is fed with *expected* counts of such an event, block by
block, one expert seeing it and all others nothing; the smallest violation whose expected path reaches the
threshold is one that about half of all such runs would have refuted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpaudit.statistics.capital import log_average
from dpaudit.statistics.cells import CellBetting, CellBlock

__all__ = ["Schedule", "exclusive_probability", "visible_epsilon"]

MAX_EXTRA_EPSILON = 40.0
BISECTIONS = 30


@dataclass(frozen=True)
class Schedule:
    """How one pair was attacked: claim, pairs of runs known before each block, block sizes, experts'
    shares, number of pairs, level.
    """

    epsilon: float
    delta: float
    blocks: tuple[tuple[int, int], ...]
    weights: tuple[float, ...]
    follow: float
    candidates: int
    alpha: float

    @classmethod
    def of(
        cls,
        sizes: Sequence[int],
        *,
        first: int,
        epsilon: float,
        delta: float,
        weights: Sequence[float],
        follow: float,
        candidates: int,
        alpha: float,
    ) -> Schedule:
        """``sizes``: pairs of runs in each block that was bet on; ``first``: in the learning block before
        them.
        """
        known = first + np.cumsum([0, *sizes[:-1]])
        blocks = tuple((int(n), int(size)) for n, size in zip(known, sizes, strict=True))
        return cls(epsilon, delta, blocks, tuple(weights), follow, candidates, alpha)

    def refutes(self, first: float, second: float) -> bool:
        """Whether an event with these probabilities on the two inputs would, on its expected path, have
        refuted the claim.
        """
        betting = CellBetting([self.epsilon], deltas=[self.delta], weights=self.weights, follow=self.follow)
        share = np.array([[first, 1 - first], [second, 1 - second]])
        threshold = math.log(1 / self.alpha)
        expert = int(
            np.argsort(self.weights)[len(self.weights) // 2]
        )  # an expert with a middling share sees the event
        for known, size in self.blocks:
            wealth = betting.update(
                CellBlock(self._counts(known * share, expert), self._counts(size * share, expert))
            )
            parts = np.array([wealth[0], 0.0])
            if log_average(parts, [1 / self.candidates, 1 - 1 / self.candidates]) >= threshold:
                return True
        return False

    def _counts(self, expected: NDArray[np.float64], expert: int) -> NDArray[np.float64]:
        counts = np.zeros((2, len(self.weights), 2))
        counts[:, expert] = expected
        return counts


def visible_epsilon(schedule: Schedule, *, probability: float) -> float | None:
    """The smallest epsilon' at which an event of this probability on one input, e^-epsilon' times it on the
    other, would have been seen.

    ``None`` where even an event that the other input never produces would have been missed.
    """
    return _smallest(
        lambda extra: schedule.refutes(probability, probability * math.exp(-schedule.epsilon - extra)),
        upper=MAX_EXTRA_EPSILON,
        offset=schedule.epsilon,
    )


def exclusive_probability(schedule: Schedule) -> float | None:
    """The smallest probability at which an event that the other input never produces would have been seen;
    ``None`` for none.
    """
    return _smallest(lambda probability: schedule.refutes(probability, 0.0), upper=1.0, offset=0.0)


def _smallest(seen: Callable[[float], bool], *, upper: float, offset: float) -> float | None:
    low, high = 0.0, upper
    if not seen(high):
        return None
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if seen(middle) else (middle, high)
    return offset + high
