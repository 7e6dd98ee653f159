"""UCB1 (Auer, Cesa-Bianchi and Fischer 2002): the non-private baseline, index mean_j + sqrt(2 ln t / O_j)."""

from __future__ import annotations

import math

import numpy as np

from algorithms.play import Pulls, Strategy, bandit_program
from dpaudit.coins.base import Coins, Program

__all__ = ["program", "strategy"]


def strategy() -> Strategy:
    """UCB1 without randomness of its own. ``algorithms.mab.index_policies`` simulates many runs at once."""
    return _run


def program() -> Program:
    """``program(coins, data)`` for potential outcomes (T, K); returns the decisions as runs (arm, count)."""
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
