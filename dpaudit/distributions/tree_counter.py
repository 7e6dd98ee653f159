"""Define the tree counter as an interactive kernel, with the joint distribution of its answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from dpaudit.core.errors import InvalidParameterError
from dpaudit.distributions.base import Distribution, distribution_from_json
from dpaudit.distributions.channels import Kernel, expect_keys, queried_numbers, register_kernel, same_length
from dpaudit.distributions.shared_level import Floats

__all__ = ["BinaryTree"]


@dataclass
class _Growth:
    """A session of ``BinaryTree``: the number of leaves, and the true sum of the last block of each size."""

    count: int = 0
    blocks: dict[int, Any] = field(default_factory=dict)

    def add(self, leaf: Any) -> tuple[int, Any]:
        """Add the next leaf, and return the level and the true sum of the node that it completes."""
        self.count += 1
        level = _level(self.count)
        # The block of size 2^level that ends here is this leaf and the last blocks of sizes
        # 2^(level-1), ..., 2, 1.
        total = leaf
        for lower in range(level):
            total = total + self.blocks[lower]
        self.blocks[level] = total
        return level, total


def _level(leaf: int) -> int:
    """Return the level of the node that leaf number ``leaf`` (1, 2, ...) completes, its trailing zeros."""
    return (leaf & -leaf).bit_length() - 1


@register_kernel("binary-tree")
@dataclass(frozen=True, init=False)
class BinaryTree(Kernel):
    """The tree counter: noisy sums of dyadic blocks of a stream.

    Sources: Dwork, Naor, Pitassi and Rothblum 2010; Chan, Shi and Song 2011. Query number i = 1, 2, ...,
    ``leaves`` is the value of leaf i, a number or an array. Its answer is the noisy p-sum of the node that
    leaf i completes: the block of 2^l leaves that ends at i, where 2^l is the largest power of two that
    divides i. Every prefix sum is the sum of the answers in the binary expansion of its length (``prefix``),
    and the counter uses no other values. Releasing the answers is therefore equivalent to releasing the
    prefix sums. Sums use the arithmetic of the queries, so dyadic data give exact sums. The channel is closed
    after ``leaves`` queries.

    Parameters
    ----------
    leaves : int
        The length of the longest stream, at least 1.
    noise : Distribution, optional
        The noise of every node, a scalar distribution.
    noise_by_level : sequence of Distribution, optional
        The noise of each of the ``leaves.bit_length()`` levels. Pass either ``noise`` or ``noise_by_level``.

    Raises
    ------
    InvalidParameterError
        ``leaves`` is out of range, both or neither kind of noise are given, or a noise is not scalar.
    """

    leaves: int
    noise_by_level: tuple[Distribution, ...]

    def __init__(
        self,
        *,
        leaves: int,
        noise: Distribution | None = None,
        noise_by_level: Sequence[Distribution] | None = None,
    ) -> None:
        if isinstance(leaves, bool) or not isinstance(leaves, int) or leaves < 1:
            raise InvalidParameterError(
                f"leaves must be an integer, 1 or more, got {leaves!r}.", code="E-LEAVES-RANGE"
            )
        if (noise is None) == (noise_by_level is None):
            raise InvalidParameterError(
                "a tree must have either noise or noise_by_level, got both or neither.",
                code="E-PARAMETER-CHOICE",
            )
        levels = leaves.bit_length()
        distributions = (noise,) * levels if noise is not None else tuple(noise_by_level or ())
        if len(distributions) != levels:
            raise InvalidParameterError(
                f"noise_by_level must have one distribution for each of the {levels} levels, got "
                f"{len(distributions)}.",
                code="E-LEVELS-COUNT",
            )
        for distribution in distributions:
            if distribution.batch_shape or distribution.event_ndim:
                raise InvalidParameterError(
                    f"noise must be a scalar distribution, got {distribution!r}. Each entry of an array of "
                    "leaves gets independent noise.",
                    code="E-DISTRIBUTION-NOT-SCALAR",
                )
        object.__setattr__(self, "leaves", leaves)
        object.__setattr__(self, "noise_by_level", distributions)

    def open(self) -> _Growth:
        return _Growth()

    def respond(
        self, state: _Growth, query: Any, rng: np.random.Generator, replicates: int | None = None
    ) -> Any:
        self._require_open(state)
        level, total = state.add(_leaf(query))
        if replicates is not None:
            if np.ndim(total) == 0:
                total = np.full(replicates, total)
            elif np.shape(total)[0] != replicates:
                raise InvalidParameterError(
                    f"an array-valued query must have the {replicates} replicates as its leading axis, got "
                    f"shape {np.shape(total)}.",
                    code="E-REPLICATES-SHAPE",
                )
        outcome = self.noise_by_level[level].shift(total).sample(rng, ())
        return outcome.item() if np.ndim(outcome) == 0 else outcome

    def node_distributions(self, queries: Sequence[Any]) -> list[Distribution]:
        """Return the distribution of each answer for these queries in order, at most ``leaves`` of them."""
        state = self.open()
        found = []
        for query in queries[: self.leaves]:
            level, total = state.add(_leaf(query))
            found.append(self.noise_by_level[level].shift(total))
        return found

    def answer_distribution(self, state: _Growth, query: Any) -> Distribution:
        level, total = replace(state, blocks=dict(state.blocks)).add(_leaf(query))
        return self.noise_by_level[min(level, len(self.noise_by_level) - 1)].shift(total)

    def take(self, state: _Growth, query: Any, answer: Any) -> None:
        self._require_open(state)
        state.add(_leaf(query))

    def respond_after(
        self, state: _Growth, queries: Sequence[Any], outcomes: Sequence[Any], rng: np.random.Generator
    ) -> Any:
        return self.respond(state, queries[-1], rng)  # the noise of the nodes is independent

    def _require_open(self, state: _Growth) -> None:
        if state.count >= self.leaves:
            raise InvalidParameterError(
                f"the channel is closed: all {self.leaves} leaves have been used. Open a new tree.",
                code="E-CHANNEL-CLOSED",
            )

    def _nodes(self, queries: Sequence[Any], outcomes: Sequence[Any]) -> Iterator[tuple[int, Any, Any]]:
        """Yield the level, the true sum and the answer of each node."""
        if same_length(queries, outcomes) > self.leaves:
            raise InvalidParameterError(
                f"a session must have at most {self.leaves} queries, got {len(queries)}.",
                code="E-SESSION-LENGTH",
            )
        state = self.open()
        for query, outcome in zip(queries, outcomes, strict=True):
            yield (*state.add(_leaf(query)), outcome)

    def log_joint(self, queries: Sequence[Any], outcomes: Sequence[Any]) -> Floats:
        total = np.zeros(())
        for part in self._log_nodes(list(self._nodes(queries, outcomes))):
            total = total + part
        return np.asarray(total)

    def _log_nodes(self, nodes: Sequence[tuple[int, Any, Any]]) -> list[Any]:
        """Return the log-density of each node's answer, level by level if all values are alike."""
        if not _are_alike(nodes):
            return [self.noise_by_level[level].shift(total).logp(answer) for level, total, answer in nodes]
        found: list[Any] = [None] * len(nodes)
        for level in {level for level, _, _ in nodes}:
            places = [place for place, node in enumerate(nodes) if node[0] == level]
            distribution = self.noise_by_level[level].shift(np.stack([nodes[place][1] for place in places]))
            logs = distribution.logp(np.stack([nodes[place][2] for place in places]))
            for place, part in zip(places, logs, strict=True):
                found[place] = part
        return found

    def log_joint_ball(self, queries: Sequence[Any], outcomes: Sequence[Any]) -> arb:
        nodes = self._nodes(queries, outcomes)
        return sum(
            (self.noise_by_level[level].shift(total).logp_ball(answer) for level, total, answer in nodes),
            arb(0),
        )

    @staticmethod
    def prefix_nodes(length: int) -> tuple[int, ...]:
        """Return the nodes whose blocks partition leaves 1 to ``length``.

        A node is named by the leaf (from 1) that completes it.
        """
        nodes = []
        while length > 0:
            nodes.append(length)
            length &= length - 1  # dropping the lowest bit removes the block that ends at ``length``
        return tuple(nodes)

    @staticmethod
    def prefix(outcomes: Sequence[Any], length: int) -> Any:
        """Return the noisy sum of the first ``length`` leaves, from the binary expansion of ``length``.

        ``length`` is from 0 to the number of answers.
        """
        if not 0 <= length <= len(outcomes):
            raise InvalidParameterError(
                f"length must be from 0 to {len(outcomes)}, the number of answers so far, got {length}.",
                code="E-LENGTH-RANGE",
            )
        return sum((outcomes[node - 1] for node in BinaryTree.prefix_nodes(length)), 0)

    @staticmethod
    def nodes_of_leaf(leaf: int, released_up_to: int) -> tuple[int, ...]:
        """Return the nodes that contain ``leaf``, among the nodes completed by leaf ``released_up_to``.

        A node is named by the leaf (from 1) that completes it.
        """
        if leaf < 1:
            raise InvalidParameterError(f"leaf must be 1 or more, got {leaf}.", code="E-LEAF-RANGE")
        nodes = []
        while leaf <= released_up_to:
            nodes.append(leaf)
            leaf += leaf & -leaf  # the next larger block that contains this one
        return tuple(nodes)

    def to_json(self) -> dict[str, Any]:
        return {
            "kernel": self.name,
            "leaves": self.leaves,
            "noise_by_level": [distribution.to_json() for distribution in self.noise_by_level],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> BinaryTree:
        expect_keys(data, {"leaves", "noise_by_level"})
        if not isinstance(data["noise_by_level"], list):
            raise InvalidParameterError(
                "noise_by_level must be a list of distributions.", code="E-KERNEL-FIELDS"
            )
        return cls(
            leaves=data["leaves"],
            noise_by_level=[distribution_from_json(item) for item in data["noise_by_level"]],
        )


def _are_alike(nodes: Sequence[tuple[int, Any, Any]]) -> bool:
    """Return whether all sums and answers are floats, or arrays of floats of one shape."""
    parts = [part for _, total, answer in nodes for part in (total, answer)]
    if any(type(part) is not float and getattr(part, "dtype", None) != np.float64 for part in parts):
        return False
    return len({np.shape(part) for part in parts}) == 1


def _leaf(query: Any) -> Any:
    """Return a leaf's value with ordinary arithmetic: a number unchanged, anything else as an array."""
    queried_numbers(query)
    return query if isinstance(query, int | float | Fraction) else np.asarray(query)
