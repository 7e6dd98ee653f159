"""Continual sums: message by message, one draw a node and exact variances agree; offsets are the blind
users'."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpaudit.core.errors import InvalidParameterError
from dpaudit.reference.mechanisms.binary_sum import binary_sum_mechanism
from dpaudit.reference.mechanisms.concurrent_protocol import ContinualServer
from dpaudit.reference.mechanisms.concurrent_sum import ConcurrentSum
from dpaudit.reference.mechanisms.concurrent_tree import binary_tree, build_tree, prefix_nodes

SUMS = [
    ConcurrentSum(binary_tree(16), binary_sum_mechanism, 3, "1/5"),
    ConcurrentSum(build_tree(horizon=27, n_shufflers=1), binary_sum_mechanism, 3, "1/5"),
    ConcurrentSum(build_tree(horizon=20, n_shufflers=2), binary_sum_mechanism, 3, "1/5"),
]


@pytest.mark.parametrize("counter", SUMS, ids=lambda counter: str(counter.tree.sizes))
def test_messages_draws_and_formulas_agree(counter):
    """Mean and variance of the error at every t: by messages, by one draw a node, by the formula."""
    n, runs = counter.tree.horizon, 3000
    rng = np.random.default_rng(5)
    bits = rng.integers(0, 2, size=n)
    by_messages = np.stack([counter.by_messages(bits.tolist(), rng) for _ in range(runs)]) - np.cumsum(bits)
    drawn = counter.errors(bits, rng, runs=20 * runs)
    exact = counter.noise_variance()
    for found, count in ((by_messages, runs), (drawn, 20 * runs)):
        margin = 5 * np.sqrt(exact / count)
        assert (np.abs(found.mean(axis=0) - counter.offsets(bits)) <= margin + 1e-9).all()
        assert (np.abs(found.var(axis=0) - exact) <= 7 * exact / np.sqrt(count) + 1e-9).all()


def test_joint_distribution_of_two_times_by_both_routes():
    """The covariance of two errors is the variance of the nodes that both prefixes use."""
    counter = SUMS[0]
    rng = np.random.default_rng(6)
    drawn = counter.noise(rng, runs=40_000)
    each = [float(mechanism.variance) for mechanism in counter.mechanisms]
    for s, t in ((6, 7), (6, 14), (8, 15), (4, 16)):
        common = set(prefix_nodes(counter.tree, s)) & set(prefix_nodes(counter.tree, t))
        expected = sum(each[node.height - 1] for node in common)
        found = np.mean(drawn[:, s - 1] * drawn[:, t - 1])
        scale = np.sqrt(counter.noise_variance()[s - 1] * counter.noise_variance()[t - 1])
        assert abs(found - expected) < 6 * scale / np.sqrt(40_000)


def test_offsets_are_the_blind_users_values():
    """All ones: minus the number of blind users; otherwise minus their values."""
    counter = SUMS[1]
    n = counter.tree.horizon
    assert counter.offsets(np.ones(n, int)).tolist() == [-(t % 3) for t in range(1, n + 1)]
    bits = np.arange(n) % 2
    expected = [-sum(bits[t - t % 3 : t]) for t in range(1, n + 1)]
    assert counter.offsets(bits).tolist() == expected


def test_budgets_are_divided_as_printed():
    """By log2 n in Algorithm 2, although there is one height fewer; by k in Algorithm 3."""
    assert SUMS[0].node_budget == (Fraction(3, 4), Fraction(1, 20))
    assert SUMS[2].node_budget == (Fraction(3, 2), Fraction(1, 10))


def test_the_server_keeps_the_nodes_of_the_prefix():
    """Estimates kept after each step are those of V_t; a wrong node (a covered one kept) would add up
    otherwise."""
    tree = build_tree(horizon=40, n_shufflers=3, degree=2, leaf_degree=5)
    server = ContinualServer(tree, lambda coins, batch, node: float(node.size))
    for t in range(1, 41):
        total = server.step(None, t, np.zeros(40))
        assert server.nodes == prefix_nodes(tree, t)
        assert total == t - tree.blind(t)


def test_the_largest_errors_do_not_depend_on_how_they_are_cut():
    """One chunk or many: as many runs, errors of the same distribution."""
    counter = SUMS[0]
    bits = np.ones(16, int)
    whole = counter.largest_errors(bits, np.random.default_rng(1), runs=3000)
    parts = counter.largest_errors(bits, np.random.default_rng(2), runs=3000, chunk=160)
    assert whole.shape == parts.shape == (3000,)
    assert abs(whole.mean() - parts.mean()) < 5 * whole.std() * np.sqrt(2 / 3000)


def test_a_run_of_another_length_is_refused():
    """Bits must be one a user."""
    with pytest.raises(InvalidParameterError, match="16"):
        SUMS[0].by_messages([0, 1], np.random.default_rng(0))
