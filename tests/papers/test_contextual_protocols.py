"""The programs of private linear bandits and continual sums, against plain loops and brute force."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dpaudit.coins import record
from dpaudit.core.errors import InvalidParameterError
from dpaudit.distributions import Gaussian
from dpaudit.reference.algorithms.contextual.batch_counters import (
    binomial_sums,
    by_batches,
    gaussian_sums,
    shuffled_lists,
    shuffled_pairs,
    tree_by_levels,
    tree_of_batches,
    trusted_sums,
)
from dpaudit.reference.algorithms.contextual.concurrent_linucb_protocol import ConcurrentLinUCB
from dpaudit.reference.algorithms.contextual.protocol_instances import (
    ROUNDED_SQUARES,
    grid_pairs,
    rounded_mechanism,
    turned_pairs,
)
from dpaudit.reference.algorithms.contextual.shuffle_linucb_protocol import (
    BatchedLinUCB,
    design_matrix,
    statistics,
)
from dpaudit.reference.mechanisms.binomial_vectors import VectorSheet, printed_sheet
from dpaudit.reference.mechanisms.concurrent_tree import build_tree


def users_of(rng, *, number, actions=3, dim=2):
    features = rng.normal(size=(number, actions, dim))
    features /= np.maximum(1, np.linalg.norm(features, axis=2, keepdims=True))
    return np.concatenate([features, rng.uniform(-1, 1, size=(number, actions, 1))], axis=2)


def algorithm(release, *, batch=2, **options):
    return BatchedLinUCB(
        counter=by_batches(release), dim=2, batch_size=batch, ridge=2.0, radius=lambda t: 1.0 + t, **options
    )


def exact_sum(coins, batch, *_):
    return batch.sum(axis=0)


def actions_of(program, users, seed=0):
    recording = record(program, users, rng=np.random.default_rng(seed))
    return [site.value for site in recording.sites if site.site == "action"]


def test_statistics_hold_the_vector_and_the_upper_triangle():
    """y x and x xᵀ come back from the flat statistics, for any shape before the features."""
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(4, 3)), rng.normal(size=4)
    flat = statistics(x, y)
    for row, one, reward in zip(flat, x, y, strict=True):
        np.testing.assert_allclose(row[:3], reward * one)
        np.testing.assert_allclose(design_matrix(row[3:], 3), np.outer(one, one))


@pytest.mark.parametrize("seed", range(3))
def test_batches_play_as_a_plain_loop_does(seed):
    """The actions of Algorithm 1 are those of a loop over users that solves for theta from the shown sums."""
    users = users_of(np.random.default_rng(seed), number=7)
    program = algorithm(gaussian_sums(variance="1/100"))
    recording = record(program, users, rng=np.random.default_rng(seed))
    shown = [site.value for site in recording.sites if site.site == "statistics/sum"]
    played = [site.value for site in recording.sites if site.site == "action"]
    gram, vector = 2.0 * np.eye(2), np.zeros(2)
    for t, row in enumerate(users):
        if t and t % 2 == 0:
            known = shown[t // 2 - 1]
            gram, vector = gram + known[2:][[0, 1, 1, 2]].reshape(2, 2), vector + known[:2]
        theta = np.linalg.solve(gram, vector)
        bonus = 1.0 + t // 2 * 2
        values = [x @ theta + bonus * np.sqrt(x @ np.linalg.solve(gram, x)) for x in row[:, :2]]
        assert played[t] == int(np.argmax(values))
    assert len(shown) == 3  # the seventh user's batch is never sent


@pytest.mark.parametrize("seed", range(3))
def test_one_shuffler_is_a_batch(seed):
    """Algorithm 4 with one shuffler and without noise plays as Algorithm 1 with its batches does."""
    users = users_of(np.random.default_rng(seed), number=8)
    tree = build_tree(horizon=8, n_shufflers=1)
    at_once = ConcurrentLinUCB(
        tree=tree, release=exact_sum, dim=2, ridge=2.0, radius=lambda t: 1.0 + t // 2 * 2
    )
    assert actions_of(at_once, users) == actions_of(algorithm(exact_sum), users)


@pytest.mark.parametrize(
    "tree",
    [tree_of_batches(variance="1/10000000000000000", batches=3), tree_by_levels(variance="1e-16")],
    ids=["channel", "releases"],
)
def test_a_tree_over_batches_adds_up_prefixes(tree):
    """With noise of almost no variance the tree's prefix sums are the sums of all statistics so far."""
    users = users_of(np.random.default_rng(5), number=6)
    counted = BatchedLinUCB(counter=tree, dim=2, batch_size=2, ridge=2.0, radius=lambda t: 1.0 + t)
    assert actions_of(counted, users) == actions_of(algorithm(exact_sum), users)


def test_a_tree_by_levels_releases_every_complete_node_once():
    """Seven leaves: seven, three and one nodes by level, each the sum of its leaves."""

    def program(coins, leaves):
        opened = tree_by_levels(variance="1e-16")(coins)
        return [opened(leaf[None, :]) for leaf in leaves]

    leaves = np.arange(14.0).reshape(7, 2)
    sites = record(program, leaves, rng=np.random.default_rng(1)).sites
    shown = [(site.site, site.value) for site in sites if site.random]
    for level, count in enumerate((7, 3, 1)):
        values = [value for name, value in shown if name == f"statistics/level {level}"]
        blocks = leaves[: count * 2**level].reshape(count, 2**level, 2).sum(axis=1)
        np.testing.assert_allclose(values, blocks, atol=1e-6)
    assert len(shown) == 11


@pytest.mark.parametrize(
    "release",
    [
        gaussian_sums(variance=4),
        trusted_sums(variance=8),
        shuffled_pairs(variance=4),
        shuffled_lists(variance=4, dim=2),
    ],
)
def test_every_release_estimates_the_sum(release):
    """Sums of two users' statistics come out unbiased, with variance 8 in every entry: 4000 draws."""
    batch = statistics(np.array([[0.6, 0.8], [1.0, 0.0]]), np.array([1.0, -0.5]))
    rng, found = np.random.default_rng(3), []
    program = lambda coins, data: found.append(release(coins, data))  # noqa: E731
    for _ in range(4000):
        record(program, batch, rng=rng)
    errors = np.stack(found) - batch.sum(axis=0)
    assert np.all(np.abs(errors.mean(axis=0)) < 5 * np.sqrt(8 / 4000))
    assert np.all(np.abs(errors.var(axis=0) / 8 - 1) < 5 * np.sqrt(2 / 4000))


def test_binomial_sums_are_unbiased_where_they_round():
    """Off the grid the analyzer's output has the right mean, rounding and noise included: 4000 draws."""
    sheet = VectorSheet(dim=2, batch_size=2, precision=4, trials=8)
    batch = statistics(np.array([[0.61, 0.33], [-0.27, 0.9]]), np.array([0.71, -0.5]))
    rng, found, release = np.random.default_rng(4), [], binomial_sums(sheet)
    program = lambda coins, data: found.append(release(coins, data))  # noqa: E731
    for _ in range(4000):
        record(program, batch, rng=rng)
    errors = np.stack(found) - batch.sum(axis=0)
    assert np.all(np.abs(errors.mean(axis=0)) < 5 * np.sqrt((16 * 3 / 16 + 0.5) / 16 / 4000))


def grid_points():
    entries = (-1.0, -0.5, 0.0, 0.5, 1.0)
    for x in itertools.product(entries, repeat=2):
        if np.dot(x, x) <= 1:
            yield from (statistics(x, y) for y in (-1.0, 0.0, 1.0))


def test_the_pairs_move_by_four():
    """Over all pairs of users on the grid the statistics move by exactly 4 squared at most; the audits' first
    pair does, and the turned one by 9/2."""
    points = np.unique(np.stack(list(grid_points())), axis=0)
    gaps = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    assert gaps.max() == 4

    def moved(pair):
        here, there = (statistics(side[0, 0, :2], side[0, 0, 2]) for side in (pair.left, pair.right))
        return float(((here - there) ** 2).sum())

    assert moved(grid_pairs(2)[0]) == 4
    assert moved(turned_pairs(2)[0]) == pytest.approx(4.5)


def test_rounded_statistics_stay_in_their_ranges():
    """All ways to round the statistics of users move by ROUNDED_SQUARES at most, and two ways attain it."""
    angles = np.linspace(0, 2 * np.pi, 41)
    points = np.array([[np.cos(a), np.sin(a)] for a in angles])
    exact = np.concatenate([statistics(points, np.full(41, y)) for y in (-1.0, 0.3, 1.0)]) * 4
    low, high = (np.floor(exact + 1e-9), np.ceil(exact - 1e-9))
    spread = ((high.max(axis=0) - low.min(axis=0)) ** 2).sum()
    assert spread == ROUNDED_SQUARES * 4**2


def test_wrong_users_sheets_and_ridges_are_refused():
    """Users out of bounds, a sheet off the grid and a ridge of 0 are refused."""
    right = algorithm(exact_sum)
    with pytest.raises(InvalidParameterError, match="length at most 1"):
        record(right, 2 * turned_pairs(3)[0].left, rng=np.random.default_rng(0))
    with pytest.raises(InvalidParameterError, match="users must have shape"):
        record(right, np.zeros((4, 2, 2)), rng=np.random.default_rng(0))
    with pytest.raises(InvalidParameterError, match="ridge"):
        BatchedLinUCB(counter=by_batches(exact_sum), dim=2, batch_size=2, ridge=0.0, radius=lambda t: 1.0)
    sheet = printed_sheet(dim=2, batch_size=5, epsilon=1, delta="1/10")
    with pytest.raises(InvalidParameterError, match="multiple of 4"):
        rounded_mechanism(sheet)


def test_noise_is_gaussian_of_the_batch():
    """The distribution of the shown sum is normal around the true one, B times the users' variance."""
    users = users_of(np.random.default_rng(2), number=2)
    recording = record(algorithm(gaussian_sums(variance="9/4")), users, rng=np.random.default_rng(0))
    distribution = next(site.distribution for site in recording.sites if site.site == "statistics/sum")
    assert distribution.base == Gaussian(variance=Fraction(9, 2))
