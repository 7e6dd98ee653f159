"""Continual private sums of bits by concurrent shufflers: Algorithms 2 and 3 of Tenenbaum et al. (ICML 2023).

Every node of the tree is one batch through one shuffler, with a node mechanism of budget (epsilon, delta)
divided by ``tree.budget_parts``. The estimate of a prefix adds up the nodes of V_t. Two routes give the same
distribution:

* ``by_messages`` simulates every user's messages, a real permutation in every shuffler, and the estimates
  that a server would keep.
* ``noise`` and ``errors`` (``PrefixNoise``) draw once per node, for many runs at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, positive
from dpaudit.reference.mechanisms.binary_sum import BinarySum
from dpaudit.reference.mechanisms.concurrent_tree import Node, Tree
from dpaudit.reference.mechanisms.prefix_noise import PrefixNoise
from dpaudit.reference.mechanisms.shuffler_schedule import active_batches, read_at

__all__ = ["ConcurrentSum", "NodeMechanism", "RunningEstimates"]

#: (n_users, epsilon, delta) -> the mechanism of one batch.
NodeMechanism = Callable[[int, Fraction, Fraction], BinarySum]


class RunningEstimates:
    """The server's memory: the estimates of the nodes of V_t, at most as many as V_t and one batch's
    siblings.

    ``read`` takes a completed node's estimate and forgets the siblings that the node covers. ``total`` is the
    estimate of the prefix, ``held`` the number of stored estimates.
    """

    def __init__(self) -> None:
        self._kept: dict[Node, float] = {}

    def read(self, node: Node, estimate: float) -> None:
        for other in [kept for kept in self._kept if node.start <= kept.start <= node.stop]:
            del self._kept[other]
        self._kept[node] = estimate

    @property
    def total(self) -> float:
        return float(sum(self._kept.values()))

    @property
    def held(self) -> int:
        return len(self._kept)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Return the nodes whose estimates are added up, from the left."""
        return tuple(sorted(self._kept, key=lambda node: node.start))


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

        Every user encodes for every open batch. A full batch is permuted and analyzed, and the server adds up
        the estimates in ``RunningEstimates``.
        """
        if len(bits) != self.tree.horizon:
            raise InvalidParameterError(f"bits must be one per user, {self.tree.horizon}, got {len(bits)}.")
        boxes: dict[Node, list[NDArray[np.int64]]] = {}
        server, estimates = RunningEstimates(), []
        for t, bit in enumerate(bits, start=1):
            for node in active_batches(self.tree, t):
                sent = self.mechanisms[node.height - 1].messages(bit, rng)
                boxes.setdefault(node, []).append(sent)
            for node in read_at(self.tree, t):
                shuffled = rng.permutation(np.concatenate(boxes.pop(node)))
                server.read(node, self.mechanisms[node.height - 1].analyze(int(shuffled.sum())))
            estimates.append(server.total)
        return np.array(estimates)
