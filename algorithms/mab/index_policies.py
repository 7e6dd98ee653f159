"""Index policies whose index changes at every pull: Hybrid-UCB and UCB1, many runs at once.

Exact in law. A round draws one reward and one node noise per run. The noisy mean of Hybrid-UCB needs, per
arm, only the sum of all rewards, the total noise of the closed arrays and the noise of the tree's current
prefix. Leaf i adds one new node, at level ctz(i) (trailing zeros); the nodes below it leave the prefix.
``_prefix[l]`` keeps the noise of the nodes at level l and above, hence prefix(i) = prefix(i without its
lowest set bit) + new node.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from algorithms.simulation import Draws
from dpaudit.errors import InvalidParameterError
from mechanisms.hybrid_counter import HybridVariant, node_scale

__all__ = ["HybridPolicy", "Ucb1Policy"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Ucb1Policy:
    """UCB1: mean + sqrt(2 ln t / pulls)."""

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


class HybridPolicy:
    """Hybrid-UCB, eqs. (32)-(35): ``epsilons`` has one value per run."""

    def __init__(
        self, shape: tuple[int, int], *, epsilons: Floats, horizon: int, variant: HybridVariant
    ) -> None:
        if len(epsilons) != shape[0] or not np.all(epsilons > 0):
            raise InvalidParameterError(
                f"epsilons must be {shape[0]} positive numbers, got {epsilons}; one per run."
            )
        self._promoted = variant == "promoted"
        self._per_cell = np.repeat(epsilons, shape[1])
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
        # One slot more than levels: it stays 0 and serves the prefix without nodes.
        self._prefix = np.zeros((cells, self._levels + 1))
        self._means = np.zeros(shape)
        self._widths = np.zeros(shape)  # 1 / sqrt(pulls)
        self._costs = np.zeros(shape)  # floor(log2(pulls + 1)) / (pulls * epsilon)
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
        pulls = self._pulls[cells] + 1
        totals = self._totals[cells] + rewards
        level = self._level[cells]
        leaf = self._leaf[cells] + 1
        self._pulls[cells], self._totals[cells], self._leaf[cells] = pulls, totals, leaf
        noise = self._node_noise(cells, level, leaf, draws)
        full = np.flatnonzero(leaf == 1 << level)
        before = self._closed[cells]
        if len(full):
            closing = cells[full]
            self._closed[closing] += draws.more_laplaces(len(full)) * 2 / self._per_cell[closing]
            self._level[closing] += 1
            self._leaf[closing] = 0
            # The first array has no tree, and a promoted block is read from its array.
            from_array = full if self._promoted else full[level[full] == 0]
            noise[from_array] = self._closed[cells[from_array]] - before[from_array]
        self._means.ravel()[cells] = (totals + before + noise) / pulls
        self._widths.ravel()[cells] = 1 / np.sqrt(pulls)
        self._costs.ravel()[cells] = self._level[cells] / (pulls * self._per_cell[cells])

    def _node_noise(self, cells: Ints, level: Ints, leaf: Ints, draws: Draws) -> Floats:
        """Noise of the prefix that ends at ``leaf``, with its new node drawn."""
        rest = leaf & (leaf - 1)
        above = np.where(rest == 0, self._levels, _trailing_zeros(rest))
        new = draws.laplaces() * self._scales[level] / self._per_cell[cells]
        prefix: Floats = self._prefix[cells, above] + new
        self._prefix[cells, _trailing_zeros(leaf)] = prefix
        return prefix


def _trailing_zeros(numbers: Ints) -> NDArray[Any]:
    return np.asarray(np.bitwise_count((numbers & -numbers) - 1))
