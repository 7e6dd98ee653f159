"""Mutants of Anytime-Lazy-UCB, Hybrid-UCB and DP-SE: broken releases, memories and counters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpaudit.coins import Coins, Program
from dpaudit.core.views import PUBLIC, SERVER
from dpaudit.distributions import Laplace
from dpaudit.reference.algorithms.environment import Batch
from dpaudit.reference.algorithms.mab import hybrid_ucb, lazy_ucb, successive_elimination
from dpaudit.reference.algorithms.play import Strategy
from dpaudit.reference.mechanisms.array_sum import ArraySum, NoisySum
from dpaudit.reference.mechanisms.hybrid_counter import HybridCounter, HybridNoise, node_scale
from dpaudit.reference.mechanisms.tree_counter import TreeCounter
from tests.papers.mutant import EPSILON, Mutant, bandit

__all__ = ["DP_SE", "HYBRID_UCB", "LAZY_UCB"]

# Broken releases of a sum: for everything that releases array sums.


def half_noise(coins: Coins, total: Any) -> Any:
    """Wrong scale: half the noise."""
    return ArraySum(epsilon=2 * EPSILON)(coins, total)


def recentred(coins: Coins, total: Any) -> Any:
    """Rewards moved to [-1, 1] for symmetry, with the noise for [0, 1]: the sensitivity is 2, not 1."""
    return ArraySum(epsilon=EPSILON)(coins, 2 * total) / 2


def raw_sum_shown(coins: Coins, total: Any) -> Any:
    """A debugging aid that stayed: the raw sum is published beside the noisy one."""
    coins.reveal(total, site="debug", to=PUBLIC)
    return ArraySum(epsilon=EPSILON)(coins, total)


def noise_only_if_needed(coins: Coins, total: Any) -> Any:
    """A branch on raw data: an empty sum is thought to need no noise."""
    return ArraySum(epsilon=EPSILON)(coins, total) if total else 0.0


class ReusedNoise:
    """Noise drawn at the first release (and every ``period`` releases) and used again in between."""

    def __init__(self, *, period: int | None = None, epsilon: Any = EPSILON) -> None:
        self.fresh, self.period, self.calls = ArraySum(epsilon=epsilon), period, 0
        self.noise: Any = 0.0

    def __call__(self, coins: Coins, total: Any) -> Any:
        first = self.calls == 0 if self.period is None else self.calls % self.period == 0
        self.calls += 1
        if first:
            noisy = self.fresh(coins, total)
            self.noise = noisy - total
            return noisy
        return coins.reveal(total + self.noise, site="array", to=SERVER)


class ReusedFromRoundRobin:
    """Fresh noise for the first release of each of two arms, and the same noise for all later ones."""

    def __init__(self) -> None:
        self.calls, self.noises = 0, [0.0, 0.0]

    def __call__(self, coins: Coins, total: Any) -> Any:
        arm = self.calls % 2
        self.calls += 1
        if self.calls <= 2:
            noisy = ArraySum(epsilon=EPSILON)(coins, total)
            self.noises[arm] = noisy - total
            return noisy
        return coins.reveal(total + self.noises[arm], site="array", to=SERVER)


class OldEpochsToo:
    """Means are not reset: every release adds the sums of the epochs before (two arms in turn)."""

    def __init__(self) -> None:
        self.calls, self.totals = 0, [0.0, 0.0]

    def __call__(self, coins: Coins, total: Any) -> Any:
        arm = self.calls % 2
        self.calls += 1
        self.totals[arm] += total
        return ArraySum(epsilon=EPSILON)(coins, self.totals[arm])


class LastBatchToo:
    """An extra touch: every release also contains half of the sum released before it."""

    def __init__(self) -> None:
        self.before = 0.0

    def __call__(self, coins: Coins, total: Any) -> Any:
        noisy = ArraySum(epsilon=EPSILON)(coins, total + self.before / 2)
        self.before = total
        return noisy


# Anytime-Lazy-UCB: broken memories.


class LastObservationTwice(lazy_ucb.Tuples):
    """An extra touch: the observation that fills an array is also the first of the next one."""

    last = 0.0

    def insert(self, batch: Batch) -> None:
        super().insert(batch)
        self.last = float(batch.values()[-1])

    def close(self) -> float:
        total = super().close()
        self.filled, self.total = 1, self.last
        return total


class NeverForgets(lazy_ucb.Tuples):
    """Reuse of old data: the sum of an array includes all arrays before it."""

    def close(self) -> float:
        total = super().close()
        self.total = total
        return total


class StopsWhenSure(lazy_ucb.Tuples):
    """A branch on raw data: an array without a success after half its observations counts as full."""

    @property
    def room(self) -> int:
        if self.filled and 2 * self.filled >= self.size and self.total == 0:
            return 0
        return min(super().room, max(1, self.size // 2))


def _lazy(
    noisy_sum: Callable[[], NoisySum] | None = None, memory: Callable[[], Any] = lazy_ucb.Tuples
) -> Program:
    return bandit(
        lambda: lazy_ucb.strategy(
            epsilon=EPSILON, memory=memory, noisy_sum=None if noisy_sum is None else noisy_sum()
        )
    )


LAZY_UCB = {
    "half the noise": Mutant(_lazy(lambda: half_noise), "accounting"),
    "sensitivity halved": Mutant(_lazy(lambda: recentred), "accounting"),
    "noise shared by all arms": Mutant(_lazy(lambda: ReusedNoise(period=2)), "leak"),
    "noise reused in later arrays": Mutant(_lazy(ReusedNoise), "leak"),
    "observation in two arrays": Mutant(_lazy(memory=LastObservationTwice), "accounting"),
    "old arrays not forgotten": Mutant(_lazy(memory=NeverForgets), "accounting"),
    "array closed on raw data": Mutant(_lazy(memory=StopsWhenSure), "leak"),
    "no noise for an empty sum": Mutant(_lazy(lambda: noise_only_if_needed), "leak"),
    "raw sum shown": Mutant(_lazy(lambda: raw_sum_shown), "leak"),
}


# Hybrid-UCB: broken counters.


class _ScaledNoise(HybridNoise):
    """Node noise of another level, or another split of the budget."""

    def __init__(self, *, shift: int = 0, array_epsilon: Any = None) -> None:
        super().__init__(epsilon=EPSILON, variant="repaired")
        self.shift = shift
        if array_epsilon is not None:
            self.array_sum = ArraySum(epsilon=array_epsilon)

    def node(self, level: int) -> Laplace:
        scale = node_scale(max(0, level + self.shift), epsilon=self.epsilon, variant=self.variant)
        return Laplace(scale=scale)


class ReusedNodeTree(TreeCounter):
    """One noise for all nodes of a tree: the first node's."""

    first_noise: Any = None

    def add(self, value: Any) -> Any:
        if self.first_noise is None:
            noisy = super().add(value)
            self.first_noise = noisy - value
            return noisy
        self.leaves += 1
        level = (self.leaves & -self.leaves).bit_length() - 1
        block = value + sum(self._sums[:level])
        self._sums[: level + 1] = [0.0] * level + [block]
        shown = self.coins.reveal(block + self.first_noise, site=self.site, to=SERVER)
        self._noisy[: level + 1] = [0.0] * level + [shown]
        return sum(reversed(self._noisy))


class _ReusedNodes(HybridNoise):
    def tree(self, coins: Coins, level: int) -> TreeCounter:
        return ReusedNodeTree(coins, levels=level, noise=self.node(level), site=f"node-{level}")


class ArraysDrawnAgain(HybridCounter):
    """The closed arrays get fresh noise at every release, instead of one noise that is kept."""

    raw_closed = 0.0

    def add(self, value: Any) -> Any:
        before, raw = self._closed, self.raw_closed
        noisy = super().add(value)
        return noisy - before + self.noise.array_sum(self.coins, raw) if self.count > 1 else noisy

    def _close_block(self) -> None:
        self.raw_closed += self._block
        super()._close_block()


class LastLeafTwice(HybridCounter):
    """An extra touch: the observation that fills a tree is also the first leaf of the next tree."""

    def add(self, value: Any) -> Any:
        level = self.level
        noisy = super().add(value)
        if self._tree is not None and self.level > level:
            self._tree.add(value)
            self._block += value
        return noisy


class QuietWhenEmpty(HybridCounter):
    """A branch on raw data: a zero is not inserted into the tree, for nothing would change."""

    last: Any = 0.0

    def add(self, value: Any) -> Any:
        if self.count and not value:
            return self.last
        self.last = super().add(value)
        return self.last


class RawBlockShown(HybridCounter):
    """The raw sum of a completed block goes to the server with the noisy one."""

    def _close_block(self) -> None:
        self.coins.reveal(self._block, site="debug", to=SERVER)
        super()._close_block()


def _hybrid(
    counter: type[HybridCounter] = HybridCounter, noise: Callable[[], HybridNoise] | None = None
) -> Program:
    def make() -> Strategy:
        own = HybridNoise(epsilon=EPSILON, variant="repaired") if noise is None else noise()
        return hybrid_ucb.strategy(epsilon=EPSILON, counter=lambda coins: counter(coins, own))

    return bandit(make)


class _SharedArrays(HybridNoise):
    """The noise of the first array serves for all arrays of all arms."""

    def __init__(self) -> None:
        super().__init__(epsilon=EPSILON, variant="repaired")
        self.array_sum = ReusedNoise(epsilon=self.epsilon / 2)  # type: ignore[assignment]


HYBRID_UCB = {
    "half the noise": Mutant(
        _hybrid(noise=lambda: HybridNoise(epsilon=2 * EPSILON, variant="repaired")), "accounting"
    ),
    "level count off by one": Mutant(_hybrid(noise=lambda: _ScaledNoise(shift=-1)), "accounting"),
    "budget not split": Mutant(_hybrid(noise=lambda: _ScaledNoise(array_epsilon=EPSILON)), "accounting"),
    "noise shared by all arms": Mutant(_hybrid(noise=_SharedArrays), "leak"),
    "noise shared by all nodes": Mutant(
        _hybrid(noise=lambda: _ReusedNodes(epsilon=EPSILON, variant="repaired")), "leak"
    ),
    "array noise drawn again": Mutant(_hybrid(ArraysDrawnAgain), "accounting"),
    "leaf in two trees": Mutant(_hybrid(LastLeafTwice), "accounting"),
    "zeros not inserted": Mutant(_hybrid(QuietWhenEmpty), "leak"),
    "raw sum shown": Mutant(_hybrid(RawBlockShown), "leak"),
}


# DP-SE, on two arms.


def _elimination(noisy_sum: Callable[[], NoisySum]) -> Program:
    return bandit(
        lambda: successive_elimination.strategy(
            epsilon=EPSILON, failure_probability="1/2", noisy_sum=noisy_sum()
        )
    )


def _raw_first_look(coins: Coins, total: Any) -> Any:
    """A branch on raw data: an arm without any success is dropped without a noisy look."""
    if total == 0:
        return -1e9
    return ArraySum(epsilon=EPSILON)(coins, total)


DP_SE = {
    "half the noise": Mutant(_elimination(lambda: half_noise), "accounting"),
    "sensitivity halved": Mutant(_elimination(lambda: recentred), "accounting"),
    "noise shared by all arms": Mutant(_elimination(lambda: ReusedNoise(period=2)), "leak"),
    "noise reused in later epochs": Mutant(_elimination(ReusedFromRoundRobin), "leak"),
    "old epochs not forgotten": Mutant(_elimination(OldEpochsToo), "accounting"),
    "batch in two releases": Mutant(_elimination(LastBatchToo), "accounting"),
    "empty arm dropped unseen": Mutant(_elimination(lambda: _raw_first_look), "leak"),
    "raw sum shown": Mutant(_elimination(lambda: raw_sum_shown), "leak"),
}
