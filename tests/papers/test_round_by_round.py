"""The per-round programs that are proved are the event-driven programs that the other rows run: with the same
noise both show the same.

Noise is scripted: the k-th Laplace noise that a run adds is the k-th number of a list, whether it is added by
a release, a hidden draw or inside a noisy maximum.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dpaudit.coins import Coins
from dpaudit.core.views import SERVER
from dpaudit.distributions import Laplace, NoisyArgmax
from dpaudit.reference.algorithms.mab import batched_elimination, hybrid_ucb, lazy_ucb, successive_elimination
from dpaudit.reference.algorithms.mab.batched_elimination import NoiseTail, confidence_radius
from dpaudit.reference.algorithms.online import ftnl
from dpaudit.reference.algorithms.play import Strategy, bandit_program
from dpaudit.reference.mechanisms import lazy_bandit_programs, tree_counter
from dpaudit.reference.mechanisms.concurrent_protocol import concurrent_sums
from dpaudit.reference.mechanisms.concurrent_tree import Tree
from dpaudit.reference.mechanisms.counter_programs import concurrent_batches
from dpaudit.reference.mechanisms.counter_programs import tree_counter as tree_program
from dpaudit.reference.mechanisms.elimination_programs import elimination
from dpaudit.reference.mechanisms.hybrid_counter import HybridCounter, HybridNoise, HybridVariant
from dpaudit.reference.mechanisms.online_learning_programs import follow_noisy_leader
from dpaudit.reference.mechanisms.online_learning_programs import hybrid_counter as counter_program
from dpaudit.reference.mechanisms.online_learning_programs import hybrid_ucb as hybrid_program

SEEDS = range(12)


class Scripted(Coins):
    """Coins whose noise is given, as multiples of each distribution's scale; keeps what is released and
    shown."""

    def __init__(self, noise: Iterator[float]) -> None:
        self._noise = noise
        self.released: list[tuple[float, float]] = []
        self.shown: list[Any] = []

    @property
    def replicates(self) -> None:
        return None

    def draw(self, distribution: Any, *, site: str) -> float:
        return float(distribution.scale) * next(self._noise)

    def release(self, value: Any, noise: Any, *, site: str, to: Any = None) -> float:
        out = float(value) + self.draw(noise, site=site)
        self.released.append((round(float(value), 9), float(noise.scale)))
        return out

    def observe(self, distribution: Any, *, site: str, to: Any = None) -> int:
        assert isinstance(distribution, NoisyArgmax)
        return int(
            np.argmax([float(s) + self.draw(distribution.noise, site=site) for s in distribution.scores])
        )

    def reveal(self, value: Any, *, site: str, to: Any = None) -> Any:
        self.shown.append(value)
        return value

    def aggregate(self, distributions: Any, through: Any, *, site: str, to: Any = None) -> Any:
        raise AssertionError

    def channel(self, kernel: Any, *, site: str, to: Any = None) -> Any:
        raise AssertionError


def scripted(seed: int) -> Scripted:
    rng = np.random.default_rng([seed, 7])
    return Scripted(iter(rng.laplace(size=5000)))


def rewards(seed: int, rounds: int, arms: int) -> Any:
    return np.random.default_rng(seed).integers(0, 5, size=(rounds, arms)) / 4


def arms_of(decisions: Any) -> list[int]:
    """Runs (arm, count) as one arm a round."""
    return [int(arm) for arm, count in decisions for _ in range(count)]


def same(event_driven: Any, by_round: Any, data: Any, seed: int) -> None:
    """Both play the same arms and release the same sums with the same scales, in the same order. The game
    ends with the last round, after which the program of rounds still releases what is full then."""
    one, other, before = scripted(seed), scripted(seed), scripted(seed)
    decisions = event_driven(one, data)
    records = [tuple(row) for row in data.tolist()]
    by_round(other, records)
    by_round(before, records[:-1])
    assert other.shown[: len(data)] == arms_of(decisions)
    assert before.released == one.released == other.released[: len(one.released)]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("variant", ["printed", "repaired"])
def test_the_noisy_leader(seed: int, variant: Any) -> None:
    """Epochs of 1, 2, 4, ...: the same leaders."""
    scale = 1 if variant == "printed" else 2
    program = follow_noisy_leader(actions=3, scale=scale)
    same(ftnl.program(epsilon=1, variant=variant), program, rewards(seed, 31, 3), seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("wider", [False, True])
def test_hybrid_ucb(seed: int, wider: bool) -> None:
    """The same arms by the same indices, from the same nodes and arrays."""
    variant: HybridVariant = "repaired" if wider else "printed"
    program = hybrid_program(arms=3, array=2, node=2, wider=wider)
    same(hybrid_ucb.program(epsilon=1, variant=variant), program, rewards(seed, 60, 3), seed)


@pytest.mark.parametrize("variant", ["printed", "repaired", "promoted"])
def test_the_hybrid_counter(variant: HybridVariant) -> None:
    """The same nodes and arrays are released, with the same scales."""
    values = rewards(3, 40, 1)[:, 0].tolist()
    one, other = scripted(3), scripted(3)
    counter = HybridCounter(one, HybridNoise(epsilon=1, variant=variant))
    for value in values:
        counter.add(value)
    wider, promoted = variant == "repaired", variant == "promoted"
    counter_program(array=2, node=2, wider=wider, promoted=promoted)(other, values)
    assert one.released == other.released


@pytest.mark.parametrize("seed", SEEDS)
def test_lazy_ucb_releases_the_same_sums_of_an_arm(seed: int) -> None:
    """Sums of 1, 2, 4, ... pulls of an arm, each once and from scratch; the proof is about any indices."""
    data = rewards(seed, 60, 2)
    one, other = scripted(seed), scripted(seed)
    played = arms_of(lazy_ucb.program(epsilon=1)(one, data))
    lazy_bandit_programs.lazy_ucb(arms=2, scale=1)(other, [tuple(row) for row in data.tolist()])
    for run, arms in ((one, played[:-1]), (other, other.shown)):
        wanted, due, sums, count = [], [1, 1], [0.0, 0.0], [0, 0]
        for arm, row in zip(arms, data, strict=False):
            sums[arm] += row[arm]
            count[arm] += 1
            if count[arm] == due[arm]:
                wanted.append((round(sums[arm], 9), 1.0))
                due[arm], count[arm], sums[arm] = 2 * due[arm], 0, 0.0
        assert run.released == wanted


@pytest.mark.parametrize("seed", SEEDS)
def test_dp_se(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With batches of 2, 4, 8 rounds in both, and the radii of two arms: the same arms go out."""
    lengths = (2, 4, 8, 16, 32)
    monkeypatch.setattr(
        successive_elimination, "epoch_length", lambda epoch, n_alive, **_: lengths[epoch - 1]
    )
    radii = (1.5, 1.0, 0.5, 0.3, 0.1)
    monkeypatch.setattr(successive_elimination, "radius", lambda epoch, *_, **__: radii[epoch - 1])
    program = elimination(arms=2, lengths=lengths, radii=radii, noise=Laplace(scale=1))
    event_driven = successive_elimination.program(epsilon=1, failure_probability="1/2")
    same(event_driven, program, rewards(seed, 60, 2), seed)


def _batched(lengths: tuple[int, ...]) -> Strategy:
    return batched_elimination.strategy(
        lambda size: lambda coins, batch: coins.release(sum(batch), Laplace(scale=1), site="sum", to=SERVER),
        failure_prob="1/2",
        tail=lambda length: NoiseTail(0.1, 0.1),
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_batched_elimination(seed: int) -> None:
    """Algorithm 1 of Chowdhury and Zhou with a central release: an arm is out where intervals do not meet."""
    lengths = (2, 4, 8, 16, 32)
    tail = NoiseTail(0.1, 0.1)
    radii = tuple(
        2 * float(confidence_radius(b, 2, length, failure_prob=0.5, tail=tail))
        for b, length in enumerate(lengths, start=1)
    )
    program = elimination(arms=2, lengths=lengths, radii=radii, noise=Laplace(scale=1))
    same(bandit_program(_batched(lengths)), program, rewards(seed, 60, 2), seed)


def test_the_tree_counter() -> None:
    """The node that ends at each leaf, of the same leaves."""
    values = rewards(5, 16, 1)[:, 0].tolist()
    one, other = scripted(5), scripted(5)
    counter = tree_counter.TreeCounter(one, levels=4, noise=Laplace(scale=5), site="node")
    for value in values:
        counter.add(value)
    tree_program(levels=4, noise=Laplace(scale=5))(other, values)
    assert one.released == other.released


def test_concurrent_batches() -> None:
    """A user is in one batch of every height, as in the shufflers' schedule; each full batch that the server
    reads is one that the program releases."""
    sizes = (2, 4, 8)
    tree = Tree(horizon=16, sizes=sizes, length=16, budget_parts=3)
    bits = np.random.default_rng(1).integers(0, 2, size=16)
    one, other = scripted(1), scripted(1)

    def release(coins: Any, users: Any, node: Any) -> Any:
        return coins.release(users.sum(), Laplace(scale=3), site="batch")

    concurrent_sums(tree, release)(one, bits)
    concurrent_batches(sizes=sizes, noise=Laplace(scale=3))(other, bits.tolist())
    assert sorted(one.released) == sorted(other.released)
