"""Continual private sums of bits by concurrent shufflers: Algorithms 2 and 3 of Tenenbaum et al. (ICML 2023).

Every node of the tree is one batch through one shuffler, with a node mechanism of budget (epsilon, delta)
divided by ``tree.budget_parts``. The estimate of a prefix adds up the nodes of V_t. Two routes give the same
distribution:

* ``by_messages`` simulates every user's messages, a real permutation in every shuffler, and the server of
  the program under audit (``concurrent_protocol``).
* ``noise`` and ``errors`` (``PrefixNoise``) draw once per node, for many runs at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.coins import Coins, Sampler
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, positive
from dpaudit.reference.mechanisms.binary_sum import BinarySum
from dpaudit.reference.mechanisms.concurrent_protocol import ContinualServer
from dpaudit.reference.mechanisms.concurrent_tree import Node, Tree
from dpaudit.reference.mechanisms.prefix_noise import PrefixNoise

__all__ = ["ConcurrentSum", "NodeMechanism"]

#: (n_users, epsilon, delta) -> the mechanism of one batch.
NodeMechanism = Callable[[int, Fraction, Fraction], BinarySum]


@dataclass(frozen=True)
class ConcurrentSum(PrefixNoise):
    """Continual sums of bits over ``tree`` with a node ``mechanism``.

    The whole budget is ``epsilon`` > 0 and ``delta``. Nodes of one height share one mechanism.
    """

    tree: Tree
    mechanism: NodeMechanism
    epsilon: ExactLike
    delta: ExactLike

    @cached_property
    def node_budget(self) -> tuple[Fraction, Fraction]:
        """Return (epsilon, delta) of one node."""
        parts = self.tree.budget_parts
        return positive(self.epsilon, name="epsilon") / parts, positive(self.delta, name="delta") / parts

    @cached_property
    def mechanisms(self) -> tuple[BinarySum, ...]:
        """Return the node mechanism of each height, height 1 first."""
        return tuple(self.mechanism(size, *self.node_budget) for size in self.tree.sizes)

    @property
    def nodes(self) -> tuple[BinarySum, ...]:
        return self.mechanisms

    def by_messages(self, bits: Sequence[int], rng: np.random.Generator) -> NDArray[np.float64]:
        """Return all estimates of one run, message by message as in Algorithm 1: shape (horizon,).

        Every user encodes for every batch. A full batch is permuted and analyzed, and the server is that of
        the program under audit.
        """
        if len(bits) != self.tree.horizon:
            raise InvalidParameterError(f"bits must be one per user, {self.tree.horizon}, got {len(bits)}.")

        def release(coins: Coins, batch: NDArray[Any], node: Node) -> float:
            mechanism = self.mechanisms[node.height - 1]
            sent = np.concatenate([mechanism.messages(int(bit), rng) for bit in batch])
            return float(mechanism.analyze(int(rng.permutation(sent).sum())))

        server, coins = ContinualServer(self.tree, release), Sampler(rng)
        times = range(1, self.tree.horizon + 1)
        return np.array([float(server.step(coins, t, np.asarray(bits))) for t in times])
