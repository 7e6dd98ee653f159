"""Continual private sums by concurrent shufflers: Algorithms 2 and 3 of Tenenbaum et al. (ICML 2023).

Every node of the tree is one batch through one shuffler, with a node mechanism of budget (epsilon, delta)
divided by ``tree.budget_parts``; the estimate of a prefix adds up the nodes of V_t. Two routes to the same
law:

* ``by_messages``: every user's messages, a real permutation in every shuffler, estimates kept as a server
  would;
* ``noise``: one draw a node, for many runs at once, since the noise does not depend on the bits.

``noise_variance`` is the third route: the exact variance of what is added, for every t.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpaudit.errors import InvalidParameterError
from dpaudit.exact import ExactLike, positive
from mechanisms.binary_sum import BinarySum
from mechanisms.concurrent_tree import Node, Tree, node_counts
from mechanisms.shuffler_schedule import active_batches, read_at

__all__ = ["ConcurrentSum", "NodeMechanism", "RunningEstimates"]

Floats = NDArray[np.float64]

#: (n_users, epsilon, delta) -> the mechanism of one batch.
NodeMechanism = Callable[[int, Fraction, Fraction], BinarySum]


class RunningEstimates:
    """What the server keeps: the estimates of the nodes of V_t, at most as many as V_t and one batch's
    siblings.

    ``read`` a completed node's estimate; siblings that it covers are forgotten. ``total`` is the estimate of
    the prefix, ``held`` how many numbers are stored.
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
        """The nodes whose estimates are added up, from the left."""
        return tuple(sorted(self._kept, key=lambda node: node.start))


@dataclass(frozen=True)
class ConcurrentSum:
    """Continual sums of bits over ``tree`` with a node ``mechanism`` and a whole budget of ``epsilon`` > 0
    and ``delta``. Nodes of one height have one mechanism."""

    tree: Tree
    mechanism: NodeMechanism
    epsilon: ExactLike
    delta: ExactLike

    @cached_property
    def node_budget(self) -> tuple[Fraction, Fraction]:
        """(epsilon, delta) of one node."""
        parts = self.tree.budget_parts
        return positive(self.epsilon, name="epsilon") / parts, positive(self.delta, name="delta") / parts

    @cached_property
    def mechanisms(self) -> tuple[BinarySum, ...]:
        """The node mechanism of each height, height 1 first."""
        return tuple(self.mechanism(size, *self.node_budget) for size in self.tree.sizes)

    def noise_variance(self) -> Floats:
        """The variance of the noise in the estimate of each prefix t = 1..horizon: shape (horizon,)."""
        each = np.array([float(mechanism.variance) for mechanism in self.mechanisms])
        return np.asarray(node_counts(self.tree) @ each)

    def noise_proxy(self) -> Floats:
        """The sub-Gaussian variance proxy of the same, by the optimal ones of the nodes, which add up:
        (horizon,)."""
        each = np.array([float(mechanism.proxy) for mechanism in self.mechanisms])
        return np.asarray(node_counts(self.tree) @ each)

    def blind_users(self) -> NDArray[np.int64]:
        """How many users no complete batch holds, for t = 1..horizon."""
        return np.arange(1, self.tree.horizon + 1) % self.tree.sizes[0]

    def offsets(self, bits: NDArray[np.integer]) -> Floats:
        """Minus the sum of the blind users' values, ``bits`` of shape (..., horizon): the part of the error
        that is not noise."""
        sums = np.concatenate([np.zeros((*bits.shape[:-1], 1)), np.cumsum(bits, axis=-1)], axis=-1)
        t = np.arange(1, self.tree.horizon + 1)
        return np.asarray(sums[..., t - self.blind_users()] - sums[..., t])

    def noise(self, rng: np.random.Generator, *, runs: int) -> Floats:
        """The noise in all estimates of ``runs`` independent runs, one draw a node: shape (runs, horizon)."""
        n, sizes, ratios = self.tree.horizon, self.tree.sizes, self.tree.ratios
        t = np.arange(1, n + 1)
        total = np.zeros((runs, n))
        for height, mechanism in enumerate(self.mechanisms):
            law, count = mechanism.noise, n // sizes[height]
            draws = rng.binomial(law.trials, float(law.p), size=(runs, count)) - float(law.trials * law.p)
            before = np.concatenate([np.zeros((runs, 1)), np.cumsum(draws, axis=1)], axis=1)
            done = t // sizes[height]
            top = height + 1 == len(sizes)
            covered = np.zeros_like(done) if top else t // sizes[height + 1] * ratios[height]
            total += before[:, done] - before[:, covered]
        return total

    def errors(self, bits: NDArray[np.integer], rng: np.random.Generator, *, runs: int) -> Floats:
        """Estimate minus true prefix sum at every t, ``bits`` of shape (horizon,) or (runs, horizon)."""
        return self.noise(rng, runs=runs) + self.offsets(np.asarray(bits))

    def largest_errors(
        self, bits: NDArray[np.integer], rng: np.random.Generator, *, runs: int, chunk: int = 1 << 22
    ) -> Floats:
        """max over t of |error| in each of ``runs`` runs on ``bits`` of shape (horizon,): shape (runs,).

        Computed about ``chunk`` numbers at a time.
        """
        step = max(1, chunk // self.tree.horizon)
        parts = [
            np.abs(self.errors(bits, rng, runs=min(step, runs - done))).max(axis=1)
            for done in range(0, runs, step)
        ]
        return np.concatenate(parts)

    def by_messages(self, bits: Sequence[int], rng: np.random.Generator) -> Floats:
        """All estimates of one run, message by message as in Algorithm 1: shape (horizon,).

        Every user encodes for every open batch; a full one is permuted and analyzed, and the server adds up
        what ``RunningEstimates`` holds.
        """
        if len(bits) != self.tree.horizon:
            raise InvalidParameterError(
                f"bits must be one a user, {self.tree.horizon}, got {len(bits)}; build the tree for them."
            )
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
