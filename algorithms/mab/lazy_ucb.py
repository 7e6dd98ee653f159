"""Anytime-Lazy-UCB: an arm's mean is refreshed when its array is full, and the array is then forgotten.

Hu, Huang and Mehta (arXiv 2102.07929), Algorithm 1. Arm j fills arrays of 1, 2, 4, ... fresh observations.
Each full array gives one noisy sum (eq. (3)). The arm with the largest index (eq. (4)) is pulled. Every
observation enters one release, which is the proof of epsilon-DP (Theorem 2).

The run is event driven: all pulls up to the next refresh or overtake are one request (``race``), so the cost
of a run depends on its decisions and not on the horizon. Appendix A's tuples (``Tuples``) and the literal
arrays (``Arrays``) are two memories of one algorithm.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpaudit.coins.base import Coins, Program
from dpaudit.core.exact import ExactLike, positive
from dpaudit.reference.algorithms.environment import Batch
from dpaudit.reference.algorithms.mab.standings import Standings
from dpaudit.reference.algorithms.play import Pulls, Strategy, bandit_program
from dpaudit.reference.mechanisms.array_sum import ArraySum, NoisySum

__all__ = ["Arrays", "Memory", "Tuples", "program", "strategy"]


class Memory(Protocol):
    """The memory of one arm for its current array; array r holds 2^r observations."""

    @property
    def size(self) -> int:
        """Return the size of the current array."""

    @property
    def room(self) -> int:
        """Return how many observations it still takes."""

    def insert(self, batch: Batch) -> None:
        """Add observations, at most ``room`` of them."""

    def close(self) -> float:
        """Return the sum of the full array, and open the next array, twice as long."""


class Tuples:
    """Appendix A: the tuple (N, S, lambda), constant space."""

    def __init__(self) -> None:
        self.size = 1
        self.filled = 0
        self.total = 0.0

    @property
    def room(self) -> int:
        return self.size - self.filled

    def insert(self, batch: Batch) -> None:
        self.filled += len(batch.rounds)
        self.total += batch.sum()

    def close(self) -> float:
        total = self.total
        self.size, self.filled, self.total = 2 * self.size, 0, 0.0
        return total


class Arrays:
    """Algorithm 1 literally: every array with every observation, none discarded."""

    def __init__(self) -> None:
        self.arrays: list[list[NDArray[np.float64]]] = [[]]

    @property
    def size(self) -> int:
        return 1 << (len(self.arrays) - 1)

    @property
    def room(self) -> int:
        return self.size - sum(len(values) for values in self.arrays[-1])

    def insert(self, batch: Batch) -> None:
        self.arrays[-1].append(batch.values())

    def close(self) -> float:
        total = float(np.concatenate(self.arrays[-1]).sum())
        self.arrays.append([])
        return total


def strategy(
    *, epsilon: ExactLike, memory: Callable[[], Memory] = Tuples, noisy_sum: NoisySum | None = None
) -> Strategy:
    """Return Algorithm 1 with privacy parameter ``epsilon`` (exact, positive).

    ``memory`` makes one memory per arm, ``noisy_sum`` releases a full array's sum (by default
    ``ArraySum(epsilon=epsilon)``, at site ``array``).
    """
    exact_epsilon = positive(epsilon, name="epsilon")
    release = ArraySum(epsilon=exact_epsilon) if noisy_sum is None else noisy_sum

    def run(coins: Coins, n_arms: int) -> Pulls:
        return _run(coins, n_arms, float(exact_epsilon), memory, release)

    return run


def program(*, epsilon: ExactLike, memory: Callable[[], Memory] = Tuples) -> Program:
    """Run ``program(coins, data)`` for potential outcomes (T, K); returns the decisions as runs (arm,
    count).
    """
    return bandit_program(strategy(epsilon=epsilon, memory=memory))


def _run(coins: Coins, n_arms: int, epsilon: float, memory: Callable[[], Memory], release: NoisySum) -> Pulls:
    memories = [memory() for _ in range(n_arms)]
    first = []
    for arm, kept in enumerate(memories):
        kept.insert((yield arm, 1))
        first.append(release(coins, kept.close()))
    standings = Standings(tuple(float(mean) for mean in first), epsilon=epsilon)
    t = n_arms + 1  # rounds count from 1, as in the paper
    while True:
        arm = int(standings.leader(t))
        kept = memories[arm]
        count = min(max(int(standings.rounds_in_lead(arm, t, limit=kept.room)), 1), kept.room)
        kept.insert((yield arm, count))
        t += count
        if not kept.room:
            size = kept.size
            standings.renew(arm, mean=float(release(coins, kept.close()) / size), size=size)
