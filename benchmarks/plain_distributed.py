"""The plain per-user loop of the distributed protocol: Algorithm 1 of Chowdhury and Zhou, literally.

An independent route: tests compare the decisions and parameters of ``algorithms`` with it, the benchmark
their speed. Parameters, analyzer, radius and elimination are written out again, in floats. ``pull(arm)``
returns one user's reward, ``secure(rewards, run)`` the aggregate ŷ of one batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

__all__ = ["Constants", "Run", "constants", "distributed_elimination", "user_by_user"]


class Constants(NamedTuple):
    """The differences between the variants: noise tail (σ, h), ε s for g, and τ from (g, log(2/p))."""

    sigma: float
    h: float
    fineness: float
    margin: Callable[[int, float], float]


class Run(NamedTuple):
    """The parameters of one protocol run."""

    n: int
    g: int
    tau: int
    m: int


def constants(name: str, *, epsilon: float, s: float = 1.0) -> Constants:
    """Return the variant ``dist_dp_se``, ``dist_rdp_se`` or ``dist_cdp_se``."""
    root = math.sqrt(2)
    if name == "dist_rdp_se":
        return Constants(
            2 / epsilon + root / (s * epsilon),
            1 / (s * epsilon),
            s * epsilon,
            lambda g, log: 2 * g / epsilon * math.sqrt(log) + root * log,
        )
    if name == "dist_cdp_se":
        return Constants(
            (root + root / s) / epsilon, 0.0, s * epsilon, lambda g, log: g / epsilon * math.sqrt(2 * log)
        )
    return Constants(root / epsilon, 1 / epsilon, epsilon, lambda g, log: g / epsilon * log)


def distributed_elimination(
    n_arms: int,
    horizon: int,
    p: float,
    chosen: Constants,
    pull: Callable[[int], float],
    secure: Callable[[list[float], Run], int],
    *,
    growth: int = 2,
) -> list[int]:
    """Return the arm of every round."""
    played: list[int] = []
    alive = list(range(n_arms))
    b = 1
    while len(alive) > 1:
        n = growth**b
        g = math.ceil(chosen.fineness * math.sqrt(n))
        tau = math.ceil(chosen.margin(g, math.log(2 / p)))
        run = Run(n, g, tau, n * g + 2 * tau + 1)
        mean = {}
        for arm in alive:
            rewards = []
            for _ in range(n):
                rewards.append(pull(arm))
                played.append(arm)
                if len(played) == horizon:
                    return played
            y = secure(rewards, run)
            z = (y - run.m) / g if y > n * g + tau else y / g
            mean[arm] = z / n
        log2 = math.log(2 * len(alive) * b * b / p)
        beta = (
            math.sqrt(math.log(4 * len(alive) * b * b / p) / (2 * n))
            + chosen.sigma * math.sqrt(log2) / n
            + chosen.h * log2 / n
        )
        best = max(mean[arm] - beta for arm in alive)
        alive = [arm for arm in alive if mean[arm] + beta >= best]
        b += 1
    while len(played) < horizon:
        pull(alive[0])
        played.append(alive[0])
    return played


def user_by_user(rng: np.random.Generator, epsilon: float) -> Callable[[list[float], Run], int]:
    """Let every user encode, draw a Pólya difference by footnote 3, clip and send."""

    def secure(rewards: list[float], run: Run) -> int:
        odds = 1 / math.expm1(epsilon / run.g)  # β/(1 - β) for β = e^{-ε/g}
        total = 0
        for reward in rewards:
            scaled = reward * run.g
            encoded = math.floor(scaled) + (rng.random() < scaled - math.floor(scaled))
            noise = int(rng.poisson(rng.gamma(1 / run.n, odds))) - int(
                rng.poisson(rng.gamma(1 / run.n, odds))
            )
            total = (total + (encoded + noise) % run.m) % run.m
        return total

    return secure
