"""UCB1 (Auer, Cesa-Bianchi and Fischer 2002): the non-private baseline, index mean_j + sqrt(2 ln t / O_j)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpaudit.coins.base import Coins, Program
from dpaudit.reference.algorithms.play import Pulls, Strategy, bandit_program
from dpaudit.reference.algorithms.simulation import Draws

__all__ = ["Ucb1Policy", "program", "strategy"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def strategy() -> Strategy:
    """Return UCB1, which uses no randomness. ``Ucb1Policy`` simulates many runs at once."""
    return _run


def program() -> Program:
    """Run ``program(coins, data)`` for potential outcomes (T, K); returns the decisions as runs (arm,
    count).
    """
    return bandit_program(strategy())


def _run(coins: Coins, n_arms: int) -> Pulls:
    pulls = np.ones(n_arms)
    totals = np.zeros(n_arms)
    for arm in range(n_arms):
        totals[arm] = (yield arm, 1).sum()
    t = n_arms + 1
    while True:
        arm = int((totals / pulls + np.sqrt(2 * math.log(t) / pulls)).argmax())
        totals[arm] += (yield arm, 1).sum()
        pulls[arm] += 1
        t += 1


class Ucb1Policy:
    """The state of many runs, one row each (``dpaudit.reference.algorithms.simulation.Policy``)."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self._pulls = np.zeros(shape)
        self._totals = np.zeros(shape)
        self._means = np.zeros(shape)
        self._widths = np.zeros(shape)  # 1 / sqrt(pulls)
        self._buffer = np.zeros(shape)

    def indices(self, t: int) -> Floats:
        np.multiply(self._widths, np.sqrt(2 * np.log(t)), out=self._buffer)
        self._buffer += self._means
        return self._buffer

    def update(self, cells: Ints, rewards: Floats, draws: Draws) -> None:
        pulls = self._pulls.ravel()
        pulls[cells] += 1
        self._totals.ravel()[cells] += rewards
        self._means.ravel()[cells] = self._totals.ravel()[cells] / pulls[cells]
        self._widths.ravel()[cells] = 1 / np.sqrt(pulls[cells])
