"""Report noisy max with explicit noise draws, right and wrong, for proofs of programs.

After Dwork and Roth (2014, section 3.3); with the gap to the runner-up, Ding, Wang, Zhang and Kifer (2019).
Data are the scores. Laplace noise of scale b costs 2/b if the scores change in any direction, 1/b if all
change in the same direction. One-sided exponential noise costs the same.
"""

from __future__ import annotations

from typing import Any

from dpaudit.coins.base import Coins, Program
from dpaudit.core.exact import ExactLike, exact
from dpaudit.distributions import DiscreteLaplace, Exponential, Laplace

__all__ = ["gap_noisy_max", "noisy_max"]

Distribution = type[Laplace] | type[Exponential] | type[DiscreteLaplace]


def noisy_max(*, scale: ExactLike, distribution: Distribution = Laplace, with_value: bool = False) -> Program:
    """Return the index of the largest noisy score, the first on ties.

    ``with_value`` also releases that score, which costs more.
    """
    noise = distribution(scale=exact(scale, name="scale"))

    def program(coins: Coins, data: Any) -> None:
        best = None
        winner = position = 0
        for score in data:
            noisy = score + coins.draw(noise, site="noise")
            if best is None or noisy > best:
                best = noisy
                winner = position
            position += 1  # noqa: SIM113  (counted by hand: a proof for every size reads the loop's own state)
        coins.reveal(winner, site="winner")
        if with_value:
            coins.reveal(best, site="value")

    return program


def gap_noisy_max(*, scale: ExactLike) -> Program:
    """Return the index of the largest noisy score and its lead over the second, at no extra cost."""
    noise = Laplace(scale=exact(scale, name="scale"))

    def program(coins: Coins, data: Any) -> None:
        noisy = [score + coins.draw(noise, site="noise") for score in data]
        winner = 0
        for i in range(1, len(noisy)):
            if noisy[i] > noisy[winner]:
                winner = i
        second = None
        for i in range(len(noisy)):
            if i != winner and (second is None or noisy[i] > second):
                second = noisy[i]
        coins.reveal(winner, site="winner")
        coins.reveal(noisy[winner] - second, site="gap")

    return program
