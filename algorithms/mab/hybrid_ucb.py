"""Hybrid-UCB: UCB on a private running mean of all observations of an arm, updated at every pull.

Hu, Huang and Mehta (arXiv 2102.07929), Algorithm 4 and eqs. (32)-(35), logarithms base 2. Each arm has a
hybrid counter (``mechanisms.hybrid_counter``), whose variants are also this algorithm's: ``printed`` (costs
up to 1.5 epsilon), ``repaired`` and ``promoted`` (cost epsilon). It is not event driven, because the mean
changes with every pull. ``HybridPolicy`` simulates many runs at once, with the same distribution.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpaudit.coins.base import Coins, Program
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, positive
from dpaudit.reference.algorithms.play import Pulls, Strategy, bandit_program
from dpaudit.reference.algorithms.simulation import Draws
from dpaudit.reference.mechanisms.hybrid_counter import HybridCounter, HybridNoise, HybridVariant, node_scale

__all__ = ["CounterFactory", "HybridPolicy", "program", "strategy"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Makes the counter of one arm.
CounterFactory = Callable[[Coins], HybridCounter]


def strategy(
    *, epsilon: ExactLike, variant: HybridVariant = "repaired", counter: CounterFactory | None = None
) -> Strategy:
    """Return Algorithm 4 with privacy parameter ``epsilon`` (exact, positive).

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
    """Run ``program(coins, data)`` for potential outcomes (T, K); returns the decisions as runs (arm,
    count).
    """
    return bandit_program(strategy(epsilon=epsilon, variant=variant))


def _run(coins: Coins, n_arms: int, epsilon: float, make: CounterFactory) -> Pulls:
    counters = [make(coins) for _ in range(n_arms)]
    pulls = np.ones(n_arms)
    levels = np.ones(n_arms)  # floor(log2(O + 1)) for O pulls
    means = np.zeros(n_arms)
    for arm, counter in enumerate(counters):
        means[arm] = counter.add((yield arm, 1).sum())
    t = n_arms + 1
    while True:
        log_t = math.log2(t)
        indices = means + np.sqrt(3 * log_t / pulls) + 6 * math.sqrt(8) * log_t * levels / (pulls * epsilon)
        arm = int(indices.argmax())
        counter = counters[arm]
        noisy_total = counter.add((yield arm, 1).sum())
        pulls[arm] += 1
        levels[arm] = (counter.count + 1).bit_length() - 1  # without a float logarithm
        means[arm] = noisy_total / pulls[arm]
        t += 1


class HybridPolicy:
    """The state of many runs, one row each (``algorithms.simulation.Policy``); ``epsilons`` has one value per
    run.

    Exact in distribution. A round draws one reward and one node noise per run. The noisy mean needs, per arm,
    only the sum of all rewards, the total noise of the closed arrays and the noise of the tree's current
    prefix. Leaf i adds one new node, at level ctz(i) (trailing zeros); the nodes below it leave the prefix.
    Slot l of a cell's ``_prefix`` keeps the noise of the nodes at level l and above, hence prefix(i) =
    prefix(i without its lowest set bit) + new node.
    """

    def __init__(
        self, shape: tuple[int, int], *, epsilons: Floats, horizon: int, variant: HybridVariant
    ) -> None:
        if len(epsilons) != shape[0] or not np.all(epsilons > 0):
            raise InvalidParameterError(f"epsilons must be {shape[0]} positive numbers, got {epsilons}.")
        self._promoted = variant == "promoted"
        self._epsilons = np.array(epsilons, dtype=np.float64)
        self._levels = int(horizon).bit_length() + 1
        self._scales = np.array(
            [0.0] + [float(node_scale(r, epsilon=1, variant=variant)) for r in range(1, self._levels + 1)]
        )
        cells = shape[0] * shape[1]
        self._pulls = np.zeros(cells)
        self._totals = np.zeros(cells)
        self._closed = np.zeros(cells)  # noise of the closed arrays
        self._level = np.zeros(cells, dtype=np.int64)
        self._leaf = np.zeros(cells, dtype=np.int64)
        # One slot more than levels for each cell: it stays 0 and serves the prefix without nodes.
        self._slots = self._levels + 1
        self._prefix = np.zeros(cells * self._slots)
        # For each leaf (no block has more than half of all): the level of its new node, and the level of the
        # node before it in its prefix.
        leaves = np.arange(int(horizon) // 2 + 2)
        before = leaves & (leaves - 1)
        self._own = _trailing_zeros(leaves)
        self._above = np.where(before == 0, self._levels, _trailing_zeros(before))
        self._means = np.zeros(shape)
        self._widths = np.zeros(shape)  # 1 / sqrt(pulls)
        self._costs = np.zeros(shape)  # floor(log2(pulls + 1)) / (pulls * epsilon)
        self._flat_means, self._flat_widths = self._means.reshape(-1), self._widths.reshape(-1)
        self._flat_costs = self._costs.reshape(-1)
        self._buffer = np.zeros(shape)
        self._second = np.zeros(shape)

    def indices(self, t: int) -> Floats:
        log_t = np.log2(t)
        np.multiply(self._widths, np.sqrt(3 * log_t), out=self._buffer)
        np.multiply(self._costs, 6 * np.sqrt(8) * log_t, out=self._second)
        self._buffer += self._second
        self._buffer += self._means
        return self._buffer

    def update(self, cells: Ints, rewards: Floats, draws: Draws) -> None:
        pulls = self._pulls.take(cells) + 1
        totals = self._totals.take(cells) + rewards
        level = self._level.take(cells)
        leaf = self._leaf.take(cells) + 1
        self._pulls[cells], self._totals[cells], self._leaf[cells] = pulls, totals, leaf
        noise = self._node_noise(cells, level, leaf, draws)
        before = self._closed.take(cells)
        full = (leaf == 1 << level).nonzero()[0]
        if len(full):
            self._close(cells, full, draws)
            # The first array has no tree, and a promoted block is read from its array.
            from_array = full if self._promoted else full[level[full] == 0]
            noise[from_array] = self._closed[cells[from_array]] - before[from_array]
            level[full] += 1
        self._flat_means[cells] = (totals + before + noise) / pulls
        self._flat_widths[cells] = 1 / np.sqrt(pulls)
        self._flat_costs[cells] = level / (pulls * self._epsilons)

    def _close(self, cells: Ints, full: Ints, draws: Draws) -> None:
        """Close the blocks of the runs ``full``: draw the noise of their arrays."""
        closing = cells[full]
        self._closed[closing] += draws.more_laplaces(len(full)) * 2 / self._epsilons[full]
        self._level[closing] += 1
        self._leaf[closing] = 0

    def _node_noise(self, cells: Ints, level: Ints, leaf: Ints, draws: Draws) -> Floats:
        """Return the noise of the prefix that ends at ``leaf``, with its new node drawn."""
        new = draws.laplaces() * self._scales.take(level) / self._epsilons
        slots = cells * self._slots
        prefix: Floats = self._prefix.take(slots + self._above.take(leaf)) + new
        self._prefix[slots + self._own.take(leaf)] = prefix
        return prefix


def _trailing_zeros(numbers: Ints) -> Ints:
    return np.asarray(np.bitwise_count((numbers & -numbers) - 1), dtype=np.int64)
