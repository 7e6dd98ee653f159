"""The counters count, and one record costs what the modules say it does."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from dpaudit.coins import Recorder, Sampler, record, replay
from dpaudit.core.errors import InvalidParameterError
from dpaudit.distributions import Laplace
from dpaudit.reference.mechanisms.array_sum import ArraySum
from dpaudit.reference.mechanisms.hybrid_counter import VARIANTS, HybridCounter, HybridNoise, node_scale
from dpaudit.reference.mechanisms.report_noisy_max import rnm_noise
from dpaudit.reference.mechanisms.tree_counter import TreeCounter, psum_nodes, touched_nodes

TINY = Laplace(scale=Fraction(1, 2**40))


def test_psum_nodes_tile_the_prefix() -> None:
    """HHM-TREE: the nodes of every prefix to 2^10 are adjacent, dyadic, and as many as the set bits."""
    for leaves in range(1, 1025):
        blocks = [(position << level, (position + 1) << level) for level, position in psum_nodes(leaves)]
        assert blocks[0][0] == 0
        assert blocks[-1][1] == leaves
        assert all(left[1] == right[0] for left, right in pairwise(blocks))
        assert len(blocks) == leaves.bit_count()


@pytest.mark.parametrize("levels", range(9))
def test_touched_nodes_are_those_that_some_prefix_uses(levels: int) -> None:
    """By brute force over all prefixes; the first leaf lies under levels + 1 of them, no leaf under more."""
    used = {node for leaves in range(1, 2**levels + 1) for node in psum_nodes(leaves)}
    assert len(used) == 2**levels
    for leaf in range(1, 2**levels + 1):
        above = {(level, position) for level, position in used if (leaf - 1) >> level == position}
        assert set(touched_nodes(leaf, levels=levels)) == above
    assert len(touched_nodes(1, levels=levels)) == levels + 1
    assert max(len(touched_nodes(leaf, levels=levels)) for leaf in range(1, 2**levels + 1)) == levels + 1


def test_the_tree_counter_counts() -> None:
    """With next to no noise every prefix comes out; one node per leaf; a leaf too many is refused."""
    values = np.random.default_rng(1).integers(0, 9, 64) / 8
    coins = Recorder(np.random.default_rng(2))
    tree = TreeCounter(coins, levels=6, noise=TINY, site="node")
    np.testing.assert_allclose([tree.add(value) for value in values], np.cumsum(values), atol=1e-9)
    assert len(coins.sites) == 64
    with pytest.raises(InvalidParameterError, match="at most 64"):
        tree.add(0.5)


def test_a_node_keeps_its_noise() -> None:
    """A prefix is the sum of the nodes of its binary expansion, each as it was released."""
    coins = Recorder(np.random.default_rng(3))
    tree = TreeCounter(coins, levels=4, noise=Laplace(scale=2), site="node")
    released = {}
    for leaf in range(1, 17):
        prefix = tree.add(1.0)
        released[psum_nodes(leaf)[-1]] = coins.sites[-1].value
        assert prefix == pytest.approx(sum(released[node] for node in psum_nodes(leaf)), abs=1e-9)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_hybrid_counter_counts(variant: str) -> None:
    """At a huge epsilon every running total comes out, across the block boundaries 1, 3, 7, 15, ..."""
    values = np.random.default_rng(4).integers(0, 9, 130) / 8
    noise = HybridNoise(epsilon=10**12, variant=variant)  # type: ignore[arg-type]
    counter = HybridCounter(Sampler(np.random.default_rng(5)), noise)
    np.testing.assert_allclose([counter.add(value) for value in values], np.cumsum(values), atol=1e-8)


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_one_observation_costs_in_the_hybrid_counter(variant: str) -> None:
    """Moving observation i by 1: the sum of 1/scale over all releases that move, exactly. ``printed`` costs
    epsilon (1 + 1/(2r)) at the first leaf of the tree on 2^r leaves, the other two at most epsilon, attained.
    """

    def program(coins: Recorder, data: list[float]) -> None:
        counter = HybridCounter(coins, HybridNoise(epsilon=1, variant=variant))  # type: ignore[arg-type]
        for value in data:
            coins.reveal(counter.count, site="count")
            counter.add(value)

    data = [0.0] * 31
    recording = record(program, data, rng=np.random.default_rng(6))
    costs = []
    for position in range(31):
        moved = [
            loss
            for loss in replay(program, [*data[:position], 1.0, *data[position + 1 :]], recording).losses
            if loss.moved
        ]
        costs.append(sum(_inverse_scale(loss.record.distribution) for loss in moved))
    assert costs[0] == Fraction(1, 2)
    for level in range(1, 5):
        block = costs[2**level - 1 : 2 ** (level + 1) - 1]
        expected = {"printed": 1 + Fraction(1, 2 * level), "repaired": 1, "promoted": 1}[variant]
        assert max(block) == block[0] == expected


def _inverse_scale(distribution: object) -> Fraction:
    base = getattr(distribution, "base", distribution)
    assert isinstance(base, Laplace)
    return 1 / base.scale


def test_scales_are_exact() -> None:
    """Noise scales as printed and repaired, as fractions."""
    assert node_scale(3, epsilon="0.1", variant="printed") == 60
    assert node_scale(3, epsilon="0.1", variant="repaired") == 80
    assert node_scale(3, epsilon="0.1", variant="promoted") == 60
    assert (
        rnm_noise(epsilon="0.1", variant="printed").scale,
        rnm_noise(epsilon="0.1", variant="repaired").scale,
    ) == (10, 20)
    assert ArraySum(epsilon="1/3").noise.scale == 3
    for wrong in ("-1", 0):
        with pytest.raises(InvalidParameterError, match="epsilon"):
            ArraySum(epsilon=wrong)
    with pytest.raises(InvalidParameterError, match="variant"):
        rnm_noise(epsilon=1, variant="other")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="variant"):
        HybridNoise(epsilon=1, variant="other")  # type: ignore[arg-type]
