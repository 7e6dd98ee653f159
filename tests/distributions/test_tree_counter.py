"""Check the blocks and the joint distribution of the tree counter against hand enumeration."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats

from dpaudit.core.errors import InvalidParameterError
from dpaudit.distributions import BinaryTree, DiscreteLaplace, Gaussian, Laplace, kernel_from_json
from dpaudit.kernel.ball import lower, upper
from tests.errors import raises
from tests.rates import FALSE_FAILURE_RATE

#: Leaf i completes the block of these leaves: written down by hand for eight leaves.
BLOCKS = {1: {1}, 2: {1, 2}, 3: {3}, 4: {1, 2, 3, 4}, 5: {5}, 6: {5, 6}, 7: {7}, 8: {1, 2, 3, 4, 5, 6, 7, 8}}
LEAVES = [1.0, -2.0, 4.0, 8.0, -16.0, 32.0, 64.0, 128.0]


def answers(kernel, leaves, rng, replicates=None):
    state = kernel.open()
    return [kernel.respond(state, leaf, rng, replicates) for leaf in leaves]


def block_sum(node):
    return sum(LEAVES[leaf - 1] for leaf in BLOCKS[node])


def test_each_answer_is_the_sum_of_its_block():
    """With noise of scale 2^-400, the answers are the p-sums of the blocks written by hand."""
    kernel = BinaryTree(leaves=8, noise=Laplace(scale=f"1/{2**400}"))
    assert answers(kernel, LEAVES, np.random.default_rng(0)) == [block_sum(i) for i in range(1, 9)]


def test_prefix_sums_come_from_the_binary_expansion():
    """The nodes of a prefix partition it, their answers add up, and the nodes of a leaf contain it."""
    exact = [block_sum(i) for i in range(1, 9)]
    for length in range(9):
        nodes = BinaryTree.prefix_nodes(length)
        covered = [leaf for node in nodes for leaf in BLOCKS[node]]
        assert sorted(covered) == list(range(1, length + 1))
        assert len(nodes) == bin(length).count("1")
        assert BinaryTree.prefix(exact, length) == sum(LEAVES[:length])
        for leaf in range(1, 9):
            holders = tuple(node for node in range(1, length + 1) if leaf in BLOCKS[node])
            assert BinaryTree.nodes_of_leaf(leaf, length) == holders


def test_answers_are_equivalent_to_the_prefix_sums():
    """Every answer is a difference of noisy prefix sums."""
    noisy = answers(BinaryTree(leaves=8, noise=Laplace(scale=3)), LEAVES, np.random.default_rng(1))
    sums = [BinaryTree.prefix(noisy, length) for length in range(9)]
    for node in range(1, 9):
        start = node - (node & -node)
        assert sums[node] - sums[start] == pytest.approx(noisy[node - 1], abs=1e-12)


def test_the_joint_density_is_the_product_over_nodes():
    """Floats and balls equal the product of the densities at the block sums, with noise by level."""
    distributions = (Laplace(scale=1), Laplace(scale=2), Gaussian(sigma=3), Gaussian(sigma=5))
    kernel = BinaryTree(leaves=8, noise_by_level=distributions)
    levels = {1: 0, 2: 1, 3: 0, 4: 2, 5: 0, 6: 1, 7: 0, 8: 3}
    outcome = [0.5, -3.25, 4.0, 20.0, -15.5, 14.0, 66.0, 200.0]
    frozen = [stats.laplace(scale=1), stats.laplace(scale=2), stats.norm(scale=3), stats.norm(scale=5)]
    expected = sum(frozen[levels[i]].logpdf(outcome[i - 1] - block_sum(i)) for i in range(1, 9))
    assert float(kernel.log_joint(LEAVES, outcome)) == pytest.approx(expected, rel=1e-13)
    enclosure = kernel.log_joint_ball(LEAVES, outcome)
    assert lower(enclosure) == pytest.approx(expected, rel=1e-13)
    assert upper(enclosure) - lower(enclosure) < 1e-12
    assert float(kernel.log_joint(LEAVES[:3], outcome[:3])) == pytest.approx(
        sum(frozen[levels[i]].logpdf(outcome[i - 1] - block_sum(i)) for i in range(1, 4)), rel=1e-13
    )


def test_prefix_sums_have_the_covariance_of_shared_nodes():
    """The covariance of two noisy prefix sums is σ² times the number of shared nodes."""
    kernel, runs = BinaryTree(leaves=8, noise=Gaussian(sigma=2)), 40_000
    noisy = answers(kernel, LEAVES, np.random.default_rng(2), runs)
    sums = np.stack([BinaryTree.prefix(noisy, t) - sum(LEAVES[:t]) for t in range(1, 9)])
    shared = np.array(
        [
            [4 * len({*BinaryTree.prefix_nodes(s)} & {*BinaryTree.prefix_nodes(t)}) for t in range(1, 9)]
            for s in range(1, 9)
        ]
    )
    # A sample covariance of Gaussians has variance (σ_s² σ_t² + c²) / n; 64 entries share the error rate.
    spread = np.sqrt((np.outer(np.diag(shared), np.diag(shared)) + shared**2) / runs)
    width = stats.norm.isf(FALSE_FAILURE_RATE / 128)
    assert (np.abs(np.cov(sums) - shared) < width * spread).all()
    wrong = shared + 4 * (shared == 0)  # negative control: pretend that unrelated prefix sums share a node
    assert not (np.abs(np.cov(sums) - wrong) < width * spread).all()


def test_one_changed_leaf_moves_exactly_its_nodes():
    """The loss of a changed leaf is the sum over its nodes, at most levels · change / scale, attained."""
    kernel = BinaryTree(leaves=8, noise=Laplace(scale=2))
    neighbour = [*LEAVES[:2], LEAVES[2] + 1, *LEAVES[3:]]
    low = [-1e3] * 8
    loss = kernel.log_joint_ball(LEAVES, low) - kernel.log_joint_ball(neighbour, low)
    assert float(loss) == pytest.approx(len(BinaryTree.nodes_of_leaf(3, 8)) * 0.5, abs=1e-11)
    for seed in range(20):
        outcome = answers(kernel, LEAVES, np.random.default_rng(seed))
        assert (
            abs(float(kernel.log_joint(LEAVES, outcome) - kernel.log_joint(neighbour, outcome)))
            <= 1.5 + 1e-12
        )


def test_integer_streams_stay_integers():
    """With discrete noise, integer leaves give integer answers, and other answers have density -inf."""
    kernel = BinaryTree(leaves=5, noise=DiscreteLaplace(scale=2))
    stream = [1, 0, 1, 1, 1]
    outcome = answers(kernel, stream, np.random.default_rng(0))
    assert all(type(x) is int for x in outcome)
    expected = sum(
        math.log(math.tanh(0.25)) - abs(x - s) / 2 for x, s in zip(outcome, [1, 1, 1, 3, 1], strict=True)
    )
    assert float(kernel.log_joint(stream, outcome)) == pytest.approx(expected, rel=1e-13)
    assert float(kernel.log_joint(stream, [0.5, *outcome[1:]])) == -np.inf
    assert float(kernel.log_joint_ball(stream, [0.5, *outcome[1:]])) == -np.inf


def test_vectors_and_replicates():
    """Vector leaves get independent noise, and replicates add a leading axis."""
    kernel = BinaryTree(leaves=4, noise=Gaussian(sigma=1))
    vectors = [np.array([1.0, 2.0]), np.array([0.0, 4.0]), np.array([8.0, 0.0])]
    outcome = answers(kernel, vectors, np.random.default_rng(0))
    assert [x.shape for x in outcome] == [(2,)] * 3
    joint = kernel.log_joint(vectors, outcome)
    for j in range(2):
        single = kernel.log_joint([v[j] for v in vectors], [x[j] for x in outcome])
        assert joint[j] == pytest.approx(float(single), rel=1e-14)
    assert float(kernel.log_joint_ball(vectors, outcome)) == pytest.approx(joint.sum(), rel=1e-13)
    shared = answers(kernel, [1.0, 2.0], np.random.default_rng(1), 6)
    assert [x.shape for x in shared] == [(6,)] * 2
    assert kernel.log_joint([1.0, 2.0], shared).shape == (6,)
    own = answers(kernel, [np.arange(6.0)[:, None] * np.ones(3)], np.random.default_rng(1), 6)
    assert own[0].shape == (6, 3)
    with raises(InvalidParameterError, code="E-REPLICATES-SHAPE"):
        answers(kernel, [np.zeros(3)], np.random.default_rng(0), 6)


def test_json_round_trip():
    """Kernels are read back equal, including the levels."""
    for kernel in (
        BinaryTree(leaves=6, noise=Laplace(scale="1/3")),
        BinaryTree(leaves=2, noise_by_level=[Laplace(scale=1), Gaussian(sigma=2)]),
    ):
        assert kernel_from_json(json.loads(json.dumps(kernel.to_json()))) == kernel
    assert BinaryTree(leaves=4, noise=Laplace(scale=1)) != BinaryTree(leaves=5, noise=Laplace(scale=1))


def test_refusals_say_why():
    """Closed trees, wrong level counts, missing or double noise, bad prefixes and queries are refused."""
    kernel, rng = BinaryTree(leaves=2, noise=Laplace(scale=1)), np.random.default_rng(0)
    state = kernel.open()
    for _ in range(2):
        kernel.respond(state, 1.0, rng)
    with raises(InvalidParameterError, code="E-CHANNEL-CLOSED", match="all 2 leaves"):
        kernel.respond(state, 1.0, rng)
    with raises(InvalidParameterError, code="E-SESSION-LENGTH", match="at most 2"):
        kernel.log_joint([1.0] * 3, [1.0] * 3)
    with raises(InvalidParameterError, code="E-LEVELS-COUNT", match="3 levels"):
        BinaryTree(leaves=4, noise_by_level=[Laplace(scale=1)])
    with raises(InvalidParameterError, code="E-PARAMETER-CHOICE"):
        BinaryTree(leaves=4)
    with raises(InvalidParameterError, code="E-DISTRIBUTION-NOT-SCALAR"):
        BinaryTree(leaves=4, noise=Laplace(scale=1).shift(np.zeros(2)))
    with raises(InvalidParameterError, code="E-LEAVES-RANGE"):
        BinaryTree(leaves=0, noise=Laplace(scale=1))
    with raises(InvalidParameterError, code="E-LENGTH-RANGE", match="from 0 to 2"):
        BinaryTree.prefix([1.0, 2.0], 3)
    with raises(InvalidParameterError, code="E-QUERY-NOT-FINITE"):
        kernel.respond(kernel.open(), float("inf"), rng)
