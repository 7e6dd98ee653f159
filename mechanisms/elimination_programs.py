"""Successive elimination in batches, round by round, for proofs of programs.

DP-SE (Sajed and Sheffet 2019; ``algorithms.mab.successive_elimination``) and Algorithm 1 of Chowdhury and
Zhou (ICLR 2023; ``algorithms.mab.batched_elimination``). Every surviving arm is pulled a number of times, and
its sum is released once. Arms that are too far behind are eliminated, and the next batch starts from scratch.
A record is one round's rewards, one for each arm.
"""

from __future__ import annotations

from typing import Any

from dpaudit.coins.base import Coins, Program
from dpaudit.distributions.base import Distribution

__all__ = ["elimination"]


def elimination(
    *,
    arms: int,
    lengths: tuple[int, ...],
    radii: tuple[float, ...],
    noise: Distribution,
    forgets: bool = True,
) -> Program:
    """Pull every surviving arm ``lengths[b]`` times in batch b, then eliminate arms by noisy means.

    An arm is eliminated if its noisy mean is more than ``radii[b]`` below the best mean. There are as many
    radii as lengths, and the last entries serve all later batches. The last arm is played to the end. A batch
    that the horizon cuts releases nothing. Without ``forgets`` a sum holds all batches (wrong).
    """

    def program(coins: Coins, data: Any) -> None:
        alive = list(range(arms))
        sums: list[Any] = [0] * arms
        means: list[Any] = [0] * arms
        batch, place, pulled = 0, 0, 0
        for rewards in data:
            arm = alive[place]
            coins.reveal(arm, site="arm")
            if len(alive) > 1:
                sums[arm] = sums[arm] + rewards[arm]
                pulled += 1
                if pulled == lengths[batch]:
                    means[arm] = coins.release(sums[arm], noise, site="sum") / pulled
                    sums[arm] = 0 if forgets else sums[arm]
                    pulled = 0
                    place += 1
                    if place == len(alive):
                        best = means[alive[0]]
                        for other in alive:
                            if means[other] > best:
                                best = means[other]
                        near: Any = [other for other in alive if best - means[other] <= radii[batch]]
                        # The best arm has gap 0, but the loop branches on public values without using that.
                        alive = near + alive if len(near) == 0 else [*near]
                        near, place = 0, 0
                        batch = min(batch + 1, len(lengths) - 1)

    return program
