"""Algorithm 4, simulated: against a delayed LinUCB written apart, its tree's prefixes, and its formulas."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from audits.concurrent_shuffle.error_bounds import prefix_proxy
from audits.concurrent_shuffle.regret_bounds import Setting
from audits.concurrent_shuffle.regret_runs import simulated
from audits.concurrent_shuffle.rows import regret, regret_exponents
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.row_verdicts import judge_row
from dpaudit.core.suite import Run
from dpaudit.kernel.ball import ball, lower, upper
from dpaudit.reference.algorithms.contextual.concurrent_linucb import ConcurrentPolicy, choose, simulate
from dpaudit.reference.algorithms.contextual.concurrent_linucb_protocol import ConcurrentLinUCB
from dpaudit.reference.algorithms.contextual.concurrent_radius import (
    concurrent_radius,
    entry_error_bound,
    printed_ridge,
    quoted_regret,
    regular_by_ridge,
)
from dpaudit.reference.algorithms.contextual.environments import Batch, FixedArms, sphere_arms
from dpaudit.reference.mechanisms.concurrent_tree import build_tree, prefix_nodes
from dpaudit.reference.mechanisms.prefix_noise import TreeNoise

ROWS = {row.id: row for group in (regret.rows, regret_exponents.rows) for row in group.rows}


@pytest.mark.parametrize("row_id", sorted(ROWS))
def test_every_row_comes_out_as_expected(row_id):
    """Verdicts of rows are the expected ones."""
    row = ROWS[row_id]
    run = Run(profile="quick", alpha=1e-3, seed=2, row_id=row_id)
    outcome = row.evaluate(run)
    judged = judge_row(row.claim, outcome.evidence, outcome.cells, unmet=outcome.unmet, alpha=run.alpha)
    assert judged.whole.judgement.verdict.value == row.expect


# The simulation


@dataclass(frozen=True)
class Counted:
    """Node noise that numbers its draws: 1, 2, 4, ... so that every sum of nodes tells which ones."""

    drawn: list

    @property
    def variance(self):
        return 1

    @property
    def proxy(self):
        return arb(1)

    def draw_noise(self, rng, size):
        value = 2.0 ** len(self.drawn)
        self.drawn.append(value)
        return np.full(size, value)


def _arms(replicates=3, dim=2, seed=0):
    return sphere_arms(replicates=replicates, n_arms=4, dim=dim, rng=np.random.default_rng(seed))


def test_without_noise_it_is_a_delayed_linucb():
    """k = 1, noise off: the same arms and regret as a LinUCB in plain loops that sees whole batches only."""
    tree, ridge = build_tree(horizon=64, n_shufflers=1), 1.5
    policy = ConcurrentPolicy(tree=tree, ridge=ridge, radius=lambda t: 0.3 + 0.01 * t)
    arms = _arms()
    grams, found = [], []
    runs = simulate(
        policy,
        arms,
        seed=5,
        checkpoints=list(range(1, 65)),
        watch=lambda s: (grams.append(s.gram), found.append(s)),
    )
    for r in range(3):
        v, u, seen, paid = ridge * np.eye(2), np.zeros(2), [], 0.0
        rewards = [state.reward_vec[r] for state in found]
        for t in range(1, 65):
            inverse = np.linalg.inv(v)
            theta = inverse @ u
            scores = [
                x @ theta + (0.3 + 0.01 * (t - 1)) * math.sqrt(x @ inverse @ x) for x in arms.features[r]
            ]
            x = arms.features[r, int(np.argmax(scores))]
            paid += arms.means[r].max() - x @ arms.theta[r]
            seen.append(np.outer(x, x))
            np.testing.assert_allclose(grams[t - 1][r], np.sum(seen, axis=0), atol=1e-9)
            assert runs.pseudo.curves[r, t - 1] == pytest.approx(paid, abs=1e-9)
            if t % tree.sizes[0] == 0:
                v, u = ridge * np.eye(2) + np.sum(seen, axis=0), rewards[t - 1]


@pytest.mark.parametrize(("horizon", "shufflers"), [(27, 1), (32, 2), (20, 2), (128, 3)])
def test_noise_is_that_of_the_nodes_of_the_prefix(horizon, shufflers):
    """Draws that are numbered: the noise of a time is of the nodes that Definition 3.1 names."""
    tree = build_tree(horizon=horizon, n_shufflers=shufflers)
    drawn: list[float] = []
    noises = (Counted(drawn),) * shufflers
    states = []
    policy = ConcurrentPolicy(tree=tree, ridge=1e40, radius=lambda t: 1.0, mat_noise=noises)
    simulate(policy, _arms(replicates=1), seed=1, watch=states.append)
    # the node whose draw is number i: the highest that ends at the i-th time at which a batch is full
    ends = [t for t in range(1, horizon + 1) if t % tree.sizes[0] == 0]
    for t, state in enumerate(states, start=1):
        held = state.mat.sum(axis=0)[0, 0, 0]
        named = {
            i
            for node in prefix_nodes(tree, t)
            for i, end in enumerate(ends)
            if end == node.stop and all(end % size for size in tree.sizes[node.height :])
        }
        assert held == sum(2.0**i for i in named)
        assert len(named) == len(prefix_nodes(tree, t))
        unreported = state.gram - state.full_gram
        np.testing.assert_allclose(state.mat_error, state.mat.sum(axis=0) - unreported, rtol=1e-9, atol=1e-6)


def test_errors_have_the_variance_of_the_prefix():
    """Variances of entries at some times against the exact ones; symmetric matrices, other entries apart."""
    at = Setting(m=2, shufflers=2, dim=2, epsilon=Fraction(1, 2), delta=Fraction(1, 1000))
    policy = ConcurrentPolicy(
        tree=at.tree, ridge=1e12, radius=lambda t: 1.0, vec_noise=at.nodes, mat_noise=at.nodes
    )
    mats, vecs = [], []
    simulate(
        policy,
        _arms(replicates=4000),
        seed=3,
        watch=lambda s: (mats.append(s.mat_error), vecs.append(s.vec_error)),
    )
    exact = TreeNoise(at.tree, at.nodes).noise_variance()
    for t in (2, 8, 14, 31, 32):
        for values in (mats[t - 1][:, 0, 0], mats[t - 1][:, 0, 1], vecs[t - 1][:, 1]):
            assert values.var() == pytest.approx(exact[t - 1], rel=0.15)
        np.testing.assert_array_equal(mats[t - 1], mats[t - 1].swapaxes(1, 2))
        off, on = mats[t - 1][:, 0, 1], mats[t - 1][:, 0, 0]
        assert abs(np.corrcoef(off, on)[0, 1]) < 0.08


def test_the_radius_is_that_of_the_round_before():
    """User t plays with β_{t-1}: a radius that is 0 before time 3 is first seen in the arm of user 4."""
    features = np.array([[[1.0, 0.0], [0.0, 0.9]]])
    environment = FixedArms(features, np.array([[0.0, 0.9]]))
    policy = ConcurrentPolicy(
        tree=build_tree(horizon=8, n_shufflers=1), ridge=1.0, radius=lambda t: 0.0 if t < 3 else 1.0
    )
    states = []
    simulate(policy, environment, seed=0, watch=states.append)
    assert choose(policy, states[1], features).tolist() == [0]
    assert choose(policy, states[2], features).tolist() == [1]
    assert [state.gram[0, 1, 1] for state in states[:4]] == pytest.approx([0, 0, 0, 0.81])


class Shown:
    """Coins that keep the actions that are shown."""

    def __init__(self):
        self.arms = []

    def reveal(self, value, *, site, to):
        self.arms.append(value)
        return value


@dataclass(frozen=True)
class Rows:
    """The users of a program as an environment, one a round: features (n, K, d), rewards 0 or 1 (n, K)."""

    features: np.ndarray
    rewards: np.ndarray
    played: list

    @property
    def shape(self):
        return (1, *self.features.shape[1:])

    def play(self, choose, size, rng):
        t = len(self.played)
        arm = int(choose(self.features[t][None])[0])
        self.played.append(arm)
        x, ones = self.features[t, arm][None, None], np.array([[int(self.rewards[t, arm])]])
        return Batch(x, np.ones((1, 1), dtype=np.int64), ones, np.zeros(1), np.zeros(1))


@pytest.mark.parametrize(("horizon", "shufflers"), [(27, 1), (32, 2), (16, 3)])
def test_the_program_under_audit_plays_the_same_arms(horizon, shufflers):
    """Exact sums of batches, new contexts each round: the protocol under coins and the simulation agree."""
    rng = np.random.default_rng(11)
    tree = build_tree(horizon=horizon, n_shufflers=shufflers)
    features = rng.normal(size=(horizon, 5, 3))
    # lengths differ, for equal ones tie while nothing is known
    features *= rng.random((horizon, 5, 1)) / np.linalg.norm(features, axis=2, keepdims=True)
    rewards = rng.integers(0, 2, size=(horizon, 5))
    radius = lambda t: 0.2 + 0.05 * t  # noqa: E731
    program = ConcurrentLinUCB(
        tree=tree, release=lambda coins, batch, node: batch.sum(axis=0), dim=3, ridge=1.0, radius=radius
    )
    shown = Shown()
    program(shown, np.concatenate([features, rewards[:, :, None]], axis=2))
    rows = Rows(features, rewards, [])
    simulate(ConcurrentPolicy(tree=tree, ridge=1.0, radius=radius), rows, seed=0)
    assert shown.arms == rows.played
    assert len(set(rows.played)) > 2


def test_refusals():
    """Ridge and number of noises."""
    tree = build_tree(horizon=8, n_shufflers=1)
    with pytest.raises(InvalidParameterError, match="ridge"):
        ConcurrentPolicy(tree=tree, ridge=0.0, radius=lambda t: 1.0)
    with pytest.raises(InvalidParameterError, match="one for each"):
        ConcurrentPolicy(tree=tree, ridge=1.0, radius=lambda t: 1.0, vec_noise=(Counted([]), Counted([])))


# Formulas


def test_formulas_in_floats():
    """λ, β_t and the regret bound written out again."""
    ridge, d, t, std, alpha = 7.0, 3, 50, 0.5, 0.01
    beta = std * math.sqrt(2 * math.log(2 / alpha) + d * math.log(3 + 2 * t / (d * ridge)))
    beta += math.sqrt(3 * ridge / 2) + math.sqrt(ridge / 2)
    found = concurrent_radius(
        t, dim=d, ridge=ball(7), reward_noise_std=Fraction(1, 2), confidence_alpha=Fraction(1, 100)
    )
    assert lower(found) == pytest.approx(beta, rel=1e-12)
    wide, plain = d * math.log(3 + 2 * t / (d * ridge)), d * math.log(1 + 2 * t / (d * ridge))
    inside = std * (2 * math.log(2 / alpha) + wide)
    inside += (math.sqrt(3 * ridge / 2) + math.sqrt(ridge / 2)) * math.sqrt(plain)
    bound = quoted_regret(
        t,
        dim=d,
        regular=regular_by_ridge(ball(7)),
        reward_noise_std=Fraction(1, 2),
        confidence_alpha=Fraction(1, 100),
    )
    assert lower(bound) == pytest.approx(math.sqrt(8 * t) * inside, rel=1e-12)
    sigma = entry_error_bound(ball(2), horizon=10, dim=3, blind=4)
    by_hand = 4 + math.sqrt(4 * math.log(20 * 200 * 12))
    assert lower(sigma) == pytest.approx(by_hand, rel=1e-12)
    assert lower(printed_ridge(sigma, dim=4)) == pytest.approx(4 * by_hand, rel=1e-12)


def test_the_largest_proxy_is_found_by_looking_at_all_times():
    """Closed form of the prefix's proxy against every time."""
    for m, k in itertools.product((2, 3), (1, 2)):
        at = Setting(m=m, shufflers=k, dim=2, epsilon=Fraction(1, 2), delta=Fraction(1, 1000))
        every = prefix_proxy(TreeNoise(at.tree, at.nodes))
        assert lower(at.proxy) == pytest.approx(upper(every), rel=1e-12)


def test_quoted_regret_covers_what_its_proof_bounds():
    """2 β_n sqrt(n Σ min(1, ‖x‖²)), with the potential's bound, is at most the quoted bound."""
    for d, n, ridge in itertools.product((1, 3, 20), (10, 10**4), (1, 50)):
        regular, alpha, std = regular_by_ridge(ball(ridge)), Fraction(1, n), Fraction(1, 2)
        beta = concurrent_radius(n, dim=d, ridge=ball(ridge), reward_noise_std=std, confidence_alpha=alpha)
        potential = 2 * d * (1 + n / (d * regular.min_eig)).log()
        quoted = quoted_regret(n, dim=d, regular=regular, reward_noise_std=std, confidence_alpha=alpha)
        assert upper(2 * beta * (n * potential).sqrt()) <= upper(quoted)


def test_runs_are_below_the_bounds_on_their_norms():
    """Norms over all times of 20 runs, in units of σ-tilde sqrt(d), and regret within [0, n]."""
    at = Setting(m=3, shufflers=1, dim=3, epsilon=Fraction(1, 2), delta=Fraction(1, 1000))
    seen = simulated(at, replicates=20, n_arms=5, seed=np.random.SeedSequence(4))
    assert 0.02 < seen.vec_norm < 1
    assert 0.02 < seen.mat_norm < 1
    assert lower(at.norm_bound) >= lower(at.error_bound)
    assert (seen.regret >= 0).all()
    assert seen.indefinite == 0
    assert seen.regret.mean() == pytest.approx(seen.uniform, rel=0.6)
