"""The plain per-round loops: every algorithm written exactly as its pseudo-code, one round after the other.

An independent route: tests compare the simulators' decisions with these loops, benchmarks their speed. They
share nothing with ``algorithms``: indices, trees, epochs and elimination are written out again. ``pull(arm)``
returns the reward of the round, ``vector()`` the round's reward vector, ``noise(site, scale)`` one Laplace
variable.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

__all__ = ["ftnl", "hybrid_ucb", "lazy_ucb", "lazy_ucb_tight", "successive_elimination", "ucb1"]

Pull = Callable[[int], float]
Noise = Callable[[str, float], float]


def lazy_ucb(n_arms: int, horizon: int, epsilon: float, pull: Pull, noise: Noise) -> list[int]:
    """Play Algorithm 1 of Hu, Huang and Mehta (arXiv 2102.07929); returns the arm of every round."""
    played: list[int] = []
    noisy_mean = [0.0] * n_arms
    size = [1] * n_arms
    array: list[list[float]] = [[] for _ in range(n_arms)]
    for j in range(min(n_arms, horizon)):
        played.append(j)
        reward = pull(j)
        if len(played) < horizon:
            noisy_mean[j] = reward + noise("array", 1 / epsilon)
    for t in range(n_arms + 1, horizon + 1):
        log_t = math.log(t)
        ucb = [
            noisy_mean[j] + math.sqrt(3 * log_t / size[j]) + 3 * log_t / (epsilon * size[j])
            for j in range(n_arms)
        ]
        arm = ucb.index(max(ucb))
        played.append(arm)
        array[arm].append(pull(arm))
        if len(array[arm]) == 2 * size[arm] and t < horizon:
            size[arm] *= 2
            noisy_mean[arm] = (sum(array[arm]) + noise("array", 1 / epsilon)) / size[arm]
            array[arm] = []
    return played


def lazy_ucb_tight(n_arms: int, horizon: int, epsilon: float, pull: Pull, noise: Noise) -> list[int]:
    """Play ``lazy_ucb`` in a tighter loop.

    It keeps no lists of observations, and reuses the parts of an index that a round does not change. Plays
    the same arms except for rounding.
    """
    log, sqrt, arms = math.log, math.sqrt, range(n_arms)
    played = list(range(min(n_arms, horizon)))
    mean = [pull(j) + noise("array", 1 / epsilon) for j in played]
    size, room, total = [1] * n_arms, [2] * n_arms, [0.0] * n_arms
    width, cost = [sqrt(3.0)] * n_arms, [3 / epsilon] * n_arms
    for t in range(n_arms + 1, horizon + 1):
        log_t = log(t)
        root = sqrt(log_t)
        best, arm = -math.inf, 0
        for j in arms:
            value = mean[j] + width[j] * root + cost[j] * log_t
            if value > best:
                best, arm = value, j
        played.append(arm)
        total[arm] += pull(arm)
        room[arm] -= 1
        if not room[arm]:
            n = size[arm] = 2 * size[arm]
            mean[arm] = (total[arm] + noise("array", 1 / epsilon)) / n
            room[arm], total[arm] = 2 * n, 0.0
            width[arm], cost[arm] = sqrt(3 / n), 3 / (epsilon * n)
    return played


def hybrid_ucb(
    n_arms: int,
    horizon: int,
    epsilon: float,
    pull: Pull,
    noise: Noise,
    *,
    extra_level: int = 0,
    promote: bool = False,
) -> list[int]:
    """Play Algorithm 4 with explicit trees.

    ``extra_level`` = 1 adds one level to the nodes' noise (``repaired``). ``promote`` reads a full block from
    its array at once.
    """
    played: list[int] = []
    count = [1] * n_arms
    level = [1] * n_arms
    closed_sum: list[float] = []  # noisy sum of the completed arrays, per arm
    prefix: list[list[float]] = []  # raw prefix sums of the current tree
    node_noise: list[dict[tuple[int, int], float]] = []
    for j in range(min(n_arms, horizon)):
        played.append(j)
        closed_sum.append(pull(j) + (noise("array", 2 / epsilon) if len(played) < horizon else 0.0))
        prefix.append([0.0])
        node_noise.append({})
    noisy_mean = list(closed_sum)
    for t in range(n_arms + 1, horizon + 1):
        log_t = math.log2(t)
        ucb = [
            noisy_mean[j]
            + math.sqrt(3 * log_t / count[j])
            + 6 * math.sqrt(8) * log_t * math.floor(math.log2(count[j] + 1)) / (count[j] * epsilon)
            for j in range(n_arms)
        ]
        arm = ucb.index(max(ucb))
        played.append(arm)
        prefix[arm].append(prefix[arm][-1] + pull(arm))
        count[arm] += 1
        if t == horizon:
            break
        leaves = len(prefix[arm]) - 1
        full = leaves == 2 ** level[arm]
        noisy_sum = closed_sum[arm]
        start, left = 0, 0 if full and promote else leaves
        while left:
            length = 2 ** (left.bit_length() - 1)
            if (start, length) not in node_noise[arm]:
                node_noise[arm][start, length] = noise("node", 2 * (level[arm] + extra_level) / epsilon)
            noisy_sum += prefix[arm][start + length] - prefix[arm][start] + node_noise[arm][start, length]
            start, left = start + length, left - length
        if full:
            closed_sum[arm] += prefix[arm][-1] + noise("array", 2 / epsilon)
            if promote:
                noisy_sum = closed_sum[arm]
            prefix[arm], node_noise[arm] = [0.0], {}
            level[arm] += 1
        noisy_mean[arm] = noisy_sum / count[arm]
    return played


def ucb1(n_arms: int, horizon: int, pull: Pull) -> list[int]:
    """Play UCB1 of Auer, Cesa-Bianchi and Fischer (2002)."""
    played = list(range(min(n_arms, horizon)))
    rewards = [[pull(j)] for j in played]
    totals = [row[0] for row in rewards]
    counts = [1] * len(played)
    for t in range(n_arms + 1, horizon + 1):
        ucb = [totals[j] / counts[j] + math.sqrt(2 * math.log(t) / counts[j]) for j in range(n_arms)]
        arm = ucb.index(max(ucb))
        played.append(arm)
        totals[arm] += pull(arm)
        counts[arm] += 1
    return played


def successive_elimination(
    n_arms: int, horizon: int, epsilon: float, beta: float, pull: Pull, noise: Noise
) -> list[int]:
    """Play DP-SE of Sajed and Sheffet (2019) with failure probability ``beta``."""
    played: list[int] = []
    alive = list(range(n_arms))
    e = 0
    while len(alive) > 1:
        e += 1
        gap = 2.0**-e
        log8 = math.log(8 * len(alive) * e**2 / beta)
        log4 = math.log(4 * len(alive) * e**2 / beta)
        length = math.floor(max(32 * log8 / gap**2, 8 * log4 / (epsilon * gap))) + 1
        noisy = {}
        for arm in alive:
            total = 0.0
            for _ in range(length):
                total += pull(arm)
                played.append(arm)
                if len(played) == horizon:
                    return played
            noisy[arm] = (total + noise("array", 1 / epsilon)) / length
        threshold = 2 * math.sqrt(log8 / (2 * length)) + 2 * (log4 / (length * epsilon))
        best = max(noisy.values())
        alive = [arm for arm in alive if best - noisy[arm] <= threshold]
    while len(played) < horizon:
        pull(alive[0])
        played.append(alive[0])
    return played


def ftnl(horizon: int, scale: float, vector: Callable[[], Any], noise: Noise) -> list[int]:
    """Play Algorithm 2 with Laplace noise of ``scale`` on every epoch sum, starting with action 0."""
    played: list[int] = []
    leader, s = 0, 0
    while True:
        totals: list[float] = []
        for _ in range(2**s):
            row = vector()
            totals = [total + x for total, x in zip(totals or [0.0] * len(row), row, strict=True)]
            played.append(leader)
            if len(played) == horizon:
                return played
        noisy = [total + noise("leader", scale) for total in totals]
        leader = noisy.index(max(noisy))
        s += 1
