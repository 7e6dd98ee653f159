"""Hybrid-UCB: UCB on a private running mean of all observations of an arm, updated at every pull.

Hu, Huang and Mehta (arXiv 2102.07929), Algorithm 4 and eqs. (32)-(35), logarithms base 2. Each arm has a
hybrid counter (``mechanisms.hybrid_counter``), whose variants are this algorithm's: ``printed`` (costs up to
1.5 epsilon), ``repaired`` and ``promoted`` (cost epsilon). Not event driven: the mean changes with every
pull. ``algorithms.mab.index_policies`` simulates many runs at once, with the same law.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from algorithms.play import Pulls, Strategy, bandit_program
from dpaudit.coins.base import Coins, Program
from dpaudit.exact import ExactLike, positive
from mechanisms.hybrid_counter import HybridCounter, HybridNoise, HybridVariant

__all__ = ["CounterFactory", "program", "strategy"]

#: Makes the counter of one arm.
CounterFactory = Callable[[Coins], HybridCounter]


def strategy(
    *, epsilon: ExactLike, variant: HybridVariant = "repaired", counter: CounterFactory | None = None
) -> Strategy:
    """Algorithm 4 with privacy parameter ``epsilon`` (exact, positive).

    ``counter`` makes one counter per arm (by default ``HybridCounter`` with the noise of ``variant``; sites
    ``array`` and ``node-<r>``).
    """
    exact_epsilon = positive(epsilon, name="epsilon")
    noise = HybridNoise(epsilon=exact_epsilon, variant=variant)
    make = counter if counter is not None else lambda coins: HybridCounter(coins, noise)

    def run(coins: Coins, n_arms: int) -> Pulls:
        return _run(coins, n_arms, float(exact_epsilon), make)

    return run


def program(*, epsilon: ExactLike, variant: HybridVariant = "repaired") -> Program:
    """``program(coins, data)`` for potential outcomes (T, K); returns the decisions as runs (arm, count)."""
    return bandit_program(strategy(epsilon=epsilon, variant=variant))


def _run(coins: Coins, n_arms: int, epsilon: float, make: CounterFactory) -> Pulls:
    counters = [make(coins) for _ in range(n_arms)]
    pulls = np.ones(n_arms)
    means = np.zeros(n_arms)
    for arm, counter in enumerate(counters):
        means[arm] = counter.add((yield arm, 1).sum())
    t = n_arms + 1
    while True:
        log_t = math.log2(t)
        # floor(log2(O + 1)) without a float logarithm: the exponent of O + 1 = m * 2^e with m in [1/2, 1),
        # less one
        levels = np.frexp(pulls + 1)[1] - 1
        indices = means + np.sqrt(3 * log_t / pulls) + 6 * math.sqrt(8) * log_t * levels / (pulls * epsilon)
        arm = int(indices.argmax())
        noisy_total = counters[arm].add((yield arm, 1).sum())
        pulls[arm] += 1
        means[arm] = noisy_total / pulls[arm]
        t += 1
