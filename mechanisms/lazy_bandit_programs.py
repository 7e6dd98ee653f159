"""Anytime-Lazy-UCB as a program of coins and plain lists, for proofs of programs.

Hu, Huang and Mehta (arXiv 2102.07929): an arm's rewards are summed while it is pulled, and released with
Laplace noise when its number of pulls has doubled. Then the sum starts again. Indices depend only on released
sums. A record is one round's rewards, one for each arm, in [0, 1].
"""

from __future__ import annotations

from typing import Any

from dpaudit.coins.base import Coins, Program
from dpaudit.core.exact import ExactLike, exact
from dpaudit.distributions import Laplace

__all__ = ["lazy_ucb"]


def lazy_ucb(*, arms: int, scale: ExactLike, forgets: bool = True) -> Program:
    """Play ``len(data)`` rounds. Without ``forgets`` a release holds all rewards of the arm (wrong)."""
    noise = Laplace(scale=exact(scale, name="scale"))

    def program(coins: Coins, data: Any) -> None:
        sums: list[Any] = [0] * arms
        pulls = [0] * arms
        wanted = [1] * arms
        index: list[Any] = [None] * arms
        current = 0
        for rewards in data:
            coins.reveal(current, site="arm")
            sums[current] = sums[current] + rewards[current]
            pulls[current] += 1
            if pulls[current] == wanted[current]:
                released = coins.release(sums[current], noise, site="sum")
                index[current] = released / pulls[current] + 1 / wanted[current]
                sums[current] = 0 if forgets else sums[current]
                pulls[current] = 0
                wanted[current] *= 2
                best = current
                for arm in range(arms):
                    if index[arm] is None:
                        best = arm
                        break
                    if index[arm] > index[best]:
                        best = arm
                current = best

    return program
