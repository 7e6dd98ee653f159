"""Trees and schedules of concurrent shufflers: three routes to V_t, the paper's Figure 2, hand-made
schedules."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpaudit.core.errors import InvalidParameterError
from dpaudit.reference.mechanisms.concurrent_tree import (
    Tree,
    binary_tree,
    build_tree,
    highest_complete_nodes,
    highest_levels,
    left_siblings,
    lowest_levels,
    node_counts,
    prefix_nodes,
)
from dpaudit.reference.mechanisms.shuffler_schedule import (
    active_batches,
    conflicts,
    opened_at,
    read_at,
    shuffler_schedule,
)

TREES = [
    *(binary_tree(2**i) for i in range(2, 8)),
    *(build_tree(horizon=n, n_shufflers=k) for n in (1, 2, 7, 8, 27, 30, 100) for k in (1, 2, 3)),
    build_tree(horizon=128, n_shufflers=3),
    build_tree(horizon=50, n_shufflers=2, degree=3, leaf_degree=7),
    *(lowest_levels(32, n_shufflers=k) for k in (1, 2, 4)),
    *(highest_levels(32, n_shufflers=k) for k in (1, 2, 4)),
]


def ranges(nodes):
    return [(node.start, node.stop) for node in nodes]


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: f"{tree.horizon}-{tree.sizes}")
def test_three_routes_to_the_nodes_of_a_prefix_agree(tree):
    """Greedy, maximal complete nodes and left siblings name one V_t; it is a partition of all but blind
    users."""
    counts = node_counts(tree)
    for t in range(tree.horizon + 1):
        greedy = prefix_nodes(tree, t)
        assert greedy == highest_complete_nodes(tree, t) == left_siblings(tree, t)
        users = [user for node in greedy for user in range(node.start, node.stop + 1)]
        assert users == list(range(1, t - tree.blind(t) + 1))
        if t:
            heights = [node.height for node in greedy]
            assert [heights.count(h) for h in range(1, tree.n_shufflers + 1)] == counts[t - 1].tolist()


def test_worked_examples_of_figure_2():
    """k = 2, n = 8: V_6 = V_7 = {[1,4], [5,6]} and V_8 = {[1,4], [5,8]}."""
    tree = build_tree(horizon=8, n_shufflers=2)
    assert ranges(prefix_nodes(tree, 6)) == ranges(prefix_nodes(tree, 7)) == [(1, 4), (5, 6)]
    assert ranges(prefix_nodes(tree, 8)) == [(1, 4), (5, 8)]


@pytest.mark.parametrize(
    ("k", "sizes", "terms", "blind"),
    [
        (1, (2,), [0, 1, 1, 2, 2, 3, 3, 4], [1, 0, 1, 0, 1, 0, 1, 0]),
        (2, (2, 4), [0, 1, 1, 1, 1, 2, 2, 2], [1, 0, 1, 0, 1, 0, 1, 0]),
        (3, (1, 2, 4), [1, 1, 2, 1, 2, 2, 3, 2], [0] * 8),
    ],
)
def test_hand_made_trees_of_eight_users(k, sizes, terms, blind):
    """Sizes, |V_t| and blind users at n = 8 as worked out by hand."""
    tree = build_tree(horizon=8, n_shufflers=k)
    assert tree.sizes == sizes
    assert [len(prefix_nodes(tree, t)) for t in range(1, 9)] == terms
    assert [tree.blind(t) for t in range(1, 9)] == blind


def test_schedule_of_eight_users_by_hand():
    """n = 8, k = 2: the batches, when they open and when they are read."""
    schedule = shuffler_schedule(build_tree(horizon=8, n_shufflers=2))
    low = [(1, 1, 2), (3, 3, 4), (5, 5, 6), (7, 7, 8)]
    assert [(b.open_time, b.start, b.stop) for b in schedule if b.shuffler == 1] == low
    assert [(b.open_time, b.close_time) for b in schedule if b.shuffler == 2] == [(1, 4), (5, 8)]


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: f"{tree.horizon}-{tree.sizes}")
def test_schedules_can_be_kept_and_match_the_steps(tree):
    """No shuffler holds two batches at once; opening, sending and reading step by step give the schedule."""
    schedule = shuffler_schedule(tree)
    assert conflicts(schedule) == []
    steps = [(t, node) for t in range(1, tree.horizon + 1) for node in opened_at(tree, t)]
    assert [(b.open_time, b.node) for b in schedule] == steps
    read = {node for t in range(1, tree.horizon + 1) for node in read_at(tree, t)}
    assert read == {b.node for b in schedule if b.close_time is not None} == set(tree.nodes())
    for t in range(1, tree.horizon + 1):
        open_now = {b.node for b in schedule if b.open_time <= t <= (b.close_time or tree.horizon)}
        assert set(active_batches(tree, t)) == open_now


def test_a_shuffler_reopened_too_early_is_a_conflict():
    """A batch opened in the step in which the one before is read, or while it is open, is named."""
    first, second, *_ = (b for b in shuffler_schedule(build_tree(horizon=8, n_shufflers=1)))
    late = replace(second, open_time=2)
    assert conflicts([first, late]) == [(first, late)]
    assert conflicts([replace(first, close_time=None), second]) != []


@pytest.mark.parametrize(
    "exponents", [(8, 1), (64, 1), (512, 1), (32, 2), (243, 2), (1024, 2), (128, 3), (2187, 3)]
)
def test_exact_instances_need_no_padding(exponents):
    """n = m^(2k+1): d = m^2 at the root and inside, d_low = m, no leaf beyond n."""
    n, k = exponents
    tree = build_tree(horizon=n, n_shufflers=k)
    m = round(n ** (1 / (2 * k + 1)))
    assert tree.ratios == (m**2,) * k
    assert tree.sizes[0] == m
    assert tree.padding == 1
    assert node_counts(tree)[-1].tolist() == [0] * (k - 1) + [m**2]


def test_binary_tree_has_the_sizes_and_budget_of_algorithm_2():
    """n = 64: heights of 2..32, one fewer than log2 n, by which the budget is divided."""
    tree = binary_tree(64)
    assert tree.sizes == (2, 4, 8, 16, 32)
    assert (tree.n_shufflers, tree.budget_parts) == (5, 6)
    assert np.max(node_counts(tree).sum(axis=1)) == 5


@pytest.mark.parametrize(
    "build",
    [
        lambda: binary_tree(12),
        lambda: build_tree(horizon=9, n_shufflers=1, degree=2, leaf_degree=4),
        lambda: build_tree(horizon=9, n_shufflers=0),
        lambda: lowest_levels(16, n_shufflers=4),
        lambda: Tree(horizon=12, sizes=(2, 5), length=15, budget_parts=2),
        lambda: prefix_nodes(binary_tree(8), 9),
    ],
)
def test_impossible_trees_and_times_are_refused(build):
    """Errors say what is wrong and what to do."""
    with pytest.raises(InvalidParameterError, match="must"):
        build()


@pytest.mark.parametrize(
    ("n", "k", "low", "degrees", "padding"),
    [
        (2**20, 15, 2, {2, 3}, 1.07),
        (2**30, 22, 2, {2, 3}, 1.02),
        (10**6, 2, 16, {251}, 1.01),
        (512, 1, 8, {64}, 1),
    ],
)
def test_degrees_off_the_exact_horizons_waste_little(n, k, low, degrees, padding):
    """Both degrees are next to n^(2/(2k+1)), the leaf degree is next to n^(1/(2k+1)), and n is covered."""
    tree = build_tree(horizon=n, n_shufflers=k)
    assert tree.sizes[0] == low
    assert set(tree.ratios) == degrees
    assert all(abs(d - max(2, n ** (2 / (2 * k + 1)))) < 1 for d in degrees)
    assert 1 <= tree.padding <= padding
