"""Sums over a stream with explicit noise draws: partial, prefix and smart sums, and a sequential test.

The programs that LightDP (Zhang and Kifer 2017) and CheckDP (Wang, Ding, Kifer and Zhang 2020) verify; smart
sums are the two-level counters of Chan, Shi and Song (2011). One record is replaced by another in [0, 1].
"""

from __future__ import annotations

from typing import Any

from dpaudit.coins.base import Coins, Program
from dpaudit.core.exact import ExactLike, exact
from dpaudit.distributions import Laplace

__all__ = ["partial_sum", "prefix_sums", "released_prefixes", "sequential_test", "smart_sums"]


def partial_sum(*, scale: ExactLike) -> Program:
    """Release the sum of all records once."""
    noise = Laplace(scale=exact(scale, name="scale"))

    def program(coins: Coins, data: Any) -> None:
        total = 0
        for value in data:
            total = total + value
        coins.release(total, noise, site="sum")

    return program


def prefix_sums(*, scale: ExactLike) -> Program:
    """Release every prefix sum of records that got noise once each."""
    noise = Laplace(scale=exact(scale, name="scale"))

    def program(coins: Coins, data: Any) -> None:
        noisy = 0
        for value in data:
            noisy = noisy + value + coins.draw(noise, site="noise")
            coins.reveal(noisy, site="prefix")

    return program


def released_prefixes(*, scale: ExactLike) -> Program:
    """Release every prefix sum with fresh noise: a record costs once for each prefix that contains it."""
    noise = Laplace(scale=exact(scale, name="scale"))

    def program(coins: Coins, data: Any) -> None:
        total = 0
        for value in data:
            total = total + value
            coins.release(total, noise, site="prefix")

    return program


def smart_sums(*, scale: ExactLike, block: int, restarts: bool = True, noisy_blocks: bool = True) -> Program:
    """Release prefix sums of noisy records and noisy blocks of ``block`` records; each record gets noise
    twice.

    Wrong without ``restarts`` (a block's sum keeps the previous blocks) and without ``noisy_blocks``.
    """
    noise = Laplace(scale=exact(scale, name="scale"))

    def program(coins: Coins, data: Any) -> None:
        blocks = prefix = inside = count = 0
        for value in data:
            inside = inside + value
            count += 1
            if count == block:
                count = 0
                blocks = (
                    blocks + inside if not noisy_blocks else blocks + inside + coins.draw(noise, site="block")
                )
                prefix = blocks
                inside = 0 if restarts else inside
            else:
                prefix = prefix + value + coins.draw(noise, site="record")
            coins.reveal(prefix, site="prefix")

    return program


def sequential_test(*, boundary: ExactLike, step: ExactLike, width: int = 10) -> Program:
    """Stop as soon as the noisy sum leaves an interval.

    One draw of scale ``boundary`` widens the interval on both sides. Each step has noise of scale ``step``.
    """
    noise_of_boundary = Laplace(scale=exact(boundary, name="boundary"))
    noise_of_step = Laplace(scale=exact(step, name="step"))

    def program(coins: Coins, data: Any) -> None:
        limit = width + coins.draw(noise_of_boundary, site="boundary")
        total = 0
        for value in data:
            total = total + value
            noisy = total + coins.draw(noise_of_step, site="step")
            if noisy >= limit:
                coins.reveal("above", site="end")
                return
            if noisy <= -limit:
                coins.reveal("below", site="end")
                return
            coins.reveal("on", site="step")

    return program
