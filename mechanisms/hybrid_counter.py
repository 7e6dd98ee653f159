"""A counter without a horizon: arrays for completed blocks, a tree in the current one, epsilon/2 each.

Chan, Shi and Song (2011) call it the hybrid mechanism. This is the form of Hu, Huang and Mehta (arXiv
2102.07929), Algorithm 4, eqs. (32)-(34): blocks of 1, 2, 4, ... observations. An observation enters its
block's array (one release, Laplace(2/epsilon)) and, except for the first, the tree of that block.

Three variants of the tree on 2^r leaves:

* ``printed``: every node has Laplace(r / (epsilon/2)), because a release adds up at most r nodes. But the
  *first leaf* lies under r + 1 nodes that are used, the nodes that end the prefixes 1, 2, 4, ..., 2^r. It
  costs epsilon/2 * (r+1)/r for the tree and epsilon * (1 + 1/(2r)) in all: 1.5 epsilon for r = 1.
* ``repaired``: every node has Laplace((r+1) / (epsilon/2)). With one scale for all nodes the same leaf
  allows no smaller scale.
* ``promoted``: the printed noise, but a full block is read from its array at once (the reading of the paper's
  section 4.2). The root is then never released, and the first leaf lies under r nodes. Epsilon in all.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

from dpaudit.coins.base import Coins
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, positive
from dpaudit.distributions import Laplace
from dpaudit.reference.mechanisms.array_sum import ArraySum
from dpaudit.reference.mechanisms.tree_counter import TreeCounter

__all__ = ["VARIANTS", "HybridCounter", "HybridNoise", "HybridVariant", "node_scale"]

HybridVariant = Literal["printed", "repaired", "promoted"]
VARIANTS: tuple[HybridVariant, ...] = ("printed", "repaired", "promoted")


def node_scale(level: int, *, epsilon: ExactLike, variant: HybridVariant) -> Fraction:
    """Return the scale of a node's Laplace noise in the tree on 2^level leaves, ``level`` >= 1."""
    if variant not in VARIANTS:
        raise InvalidParameterError(f"variant must be one of {VARIANTS}, got {variant!r}.")
    return 2 * (level + (variant == "repaired")) / positive(epsilon, name="epsilon")


#: The largest level of a tree: 2^64 observations are more than any run has.
MAX_LEVEL = 64


@lru_cache(maxsize=64)
def _node_distributions(epsilon: Fraction, variant: HybridVariant) -> tuple[Laplace, ...]:
    """Return the distributions of a node's noise in the trees of levels 1, 2, ..., ``MAX_LEVEL``."""
    levels = range(1, MAX_LEVEL + 1)
    return tuple(Laplace(scale=node_scale(level, epsilon=epsilon, variant=variant)) for level in levels)


class HybridNoise:
    """The arrays' release and the node noise of each tree, for the counters of all arms."""

    def __init__(self, *, epsilon: ExactLike, variant: HybridVariant) -> None:
        self.epsilon = positive(epsilon, name="epsilon")
        self.variant: HybridVariant = variant
        self.array_sum = ArraySum(epsilon=self.epsilon / 2)
        self._nodes = _node_distributions(self.epsilon, variant)

    def node(self, level: int) -> Laplace:
        """Return the distribution of a node's noise in the tree on 2^level leaves."""
        return self._nodes[level - 1]

    def tree(self, coins: Coins, level: int) -> TreeCounter:
        """Return an empty tree on 2^level leaves; its releases are at site ``node-<level>``."""
        return TreeCounter(coins, levels=level, noise=self.node(level), site=f"node-{level}")


class HybridCounter:
    """A counter of one arm: ``add`` an observation in [0, 1] and get the noisy sum of all so far.

    Its sites are ``array`` and ``node-<r>``.
    """

    def __init__(self, coins: Coins, noise: HybridNoise) -> None:
        self.coins, self.noise = coins, noise
        self.count = 0
        self.level = 0  # of the current block; the first one, of a single observation, has no tree
        self._closed: Any = 0.0  # noisy sum of the completed arrays
        self._block: Any = 0.0
        self._tree: TreeCounter | None = None

    def add(self, value: Any) -> Any:
        """Insert one observation and return the noisy sum of all of them."""
        self.count += 1
        self._block += value
        if self._tree is None:
            self._close_block()
            return self._closed
        before = self._closed
        if self.noise.variant == "promoted" and self._tree.leaves + 1 == 2**self.level:
            self._close_block()
            return self._closed
        noisy = before + self._tree.add(value)
        if self._tree.full:
            self._close_block()
        return noisy

    def _close_block(self) -> None:
        self._closed = self._closed + self.noise.array_sum(self.coins, self._block)
        self._block = 0.0
        self.level += 1
        self._tree = self.noise.tree(self.coins, self.level)
