"""What one bit costs in concurrent sums, by other routes: optimal composition, float sums, exact small
tables."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from audits.concurrent_shuffle import labelled_messages
from audits.concurrent_shuffle.error_bounds import Setting, prefix_proxy, quantile_below, radius
from audits.concurrent_shuffle.labelled_messages import labelled_distance, order_distance
from audits.concurrent_shuffle.node_privacy import any_nodes, claim_of, fair_nodes, fair_witness, nodes_proof
from audits.concurrent_shuffle.prefix_errors import error_split
from audits.concurrent_shuffle.sequential_batches import in_turn, overlapping
from dpaudit.kernel.ball import lower
from dpaudit.reference.mechanisms.binary_sum import binary_sum_mechanism
from dpaudit.reference.mechanisms.concurrent_sum import ConcurrentSum
from dpaudit.reference.mechanisms.concurrent_tree import binary_tree, build_tree
from dpaudit.reference.mechanisms.prefix_noise import LaplaceNoise, TreeNoise, VectorEntryNoise


def optimal_delta(count, epsilon, delta, at):
    """Kairouz, Oh and Viswanath: delta at ``at`` of ``count`` of the worst (epsilon, delta) mechanisms."""
    total = 0.0
    for i in range(count + 1):
        loss = (2 * i - count) * epsilon
        if loss > at:
            chance = math.comb(count, i) * math.exp(i * epsilon) / (1 + math.exp(epsilon)) ** count
            total += chance * (1 - math.exp(at - loss))
    return 1 - (1 - delta) ** count * (1 - total)


@pytest.mark.parametrize("count", [2, 3, 6])
@pytest.mark.parametrize("at", ["1/5", "1/2"])
def test_any_node_composes_as_the_optimal_theorem_says(count, at):
    """The certificate's delta is that of the closed form, from above and within the grid."""
    epsilon, delta = Fraction(1, 10), Fraction(1, 1000)
    proof = any_nodes(count=count, epsilon=epsilon, delta=delta, grid=epsilon / 20)
    bound = float(proof.certify(claim_of(at, "9/10")).bound)
    expected = optimal_delta(count, 0.1, 1e-3, float(Fraction(at)))
    assert expected * (1 - 1e-9) <= bound <= expected * 1.02 + 1e-12


def composed_delta(trials, at):
    """Positive parts of all joint counts of nodes with fair bits, every one moved by 1, in floats."""
    tables = []
    for count in trials:
        k = np.arange(count + 2)
        tables.append((stats.binom.pmf(k, count, 0.5), stats.binom.pmf(k - 1, count, 0.5)))
    total = 0.0
    for cells in itertools.product(*(zip(*table, strict=True) for table in tables)):
        p = math.prod(cell[0] for cell in cells)
        q = math.prod(cell[1] for cell in cells)
        total += max(p - math.exp(at) * q, 0)
    return total


def test_nodes_above_a_user_by_the_full_joint_distribution():
    """n = 8 with two shufflers and n = 16: enumerated joint counts lie between witness and certificate."""
    for trials in ([20, 24], [12, 12, 16]):
        claim = claim_of("7/10", "1/2")
        exact = composed_delta(trials, 0.7)
        above = float(fair_nodes(trials, grid="1/10000").certify(claim).bound)
        below = float(fair_witness(claim, trials).bound)
        assert below <= exact * (1 + 1e-9)
        assert exact * (1 - 1e-9) <= above <= exact * 1.01
        assert below >= 0.9 * exact


def test_a_budget_that_is_not_divided_is_caught():
    """Nodes that get all of (epsilon, delta) each: the certificate is refused what the divided ones are
    granted."""
    tree = build_tree(horizon=32, n_shufflers=2)
    claim = claim_of("1/2", "1/1000000")
    right = ConcurrentSum(tree, binary_sum_mechanism, "1/2", "1/1000000")
    assert nodes_proof(right).certify(claim).bound <= Fraction(1, 10**6)
    needed = binary_sum_mechanism(4, "1/2", "1/1000000").noise.trials
    assert fair_witness(claim, [needed, needed]).bound > Fraction(1, 10**5)


def test_two_batches_in_turn_by_hand():
    """delta of one batch of three fair bits at epsilon = 1, and of two overlapping ones, in fractions."""
    mass = [Fraction(math.comb(3, k), 8) for k in range(4)] + [Fraction(0)]
    e = Fraction(math.e)
    one = sum(max(mass[k] - e * (mass[k - 1] if k else 0), 0) for k in range(5))
    assert float(in_turn.node_delta) == pytest.approx(float(one), rel=1e-9)
    both = composed_delta([3, 3], 1.0)
    assert both > 2 * float(overlapping.node_delta)


def test_labels_would_show_a_biased_permutation(monkeypatch):
    """Uniform permutations give distance 0; leaving one order out is seen by both distances."""
    assert labelled_distance(users=3, labels=2) == order_distance(users=3, labels=2) == 0
    whole = labelled_messages._orders(2, 2)
    short = type(whole)(dict(list(whole.items())[1:]))
    monkeypatch.setattr(labelled_messages, "_orders", lambda users, labels: short)
    assert labelled_distance(users=2, labels=2) > 0
    assert order_distance(users=2, labels=2) > 0


@pytest.mark.parametrize(
    "tree", [binary_tree(32), build_tree(horizon=128, n_shufflers=3)], ids=["binary", "k=3"]
)
def test_offsets_from_nodes_and_from_blind_users(tree):
    """Both routes agree, and the smallest offset is minus the largest number of blind users, for all ones."""
    assert error_split(tree) == (0, -(tree.sizes[0] - 1), 0)


def test_the_radius_holds_in_simulations():
    """The bound for every input lies above the simulated quantile and not far above it."""
    for setting in (
        Setting(epsilon=Fraction(1, 2), delta=Fraction(1, 10**6), beta=Fraction(1, 10), levels=8),
        Setting(epsilon=Fraction(1, 2), delta=Fraction(1, 10**6), beta=Fraction(1, 10), m=3, shufflers=2),
    ):
        rng = np.random.default_rng(3)
        low = quantile_below(setting.noise, setting.beta, rng, runs=1000, alpha=0.01)
        high = float(radius(setting.noise, setting.beta))
        assert low < high < 2.5 * low
        assert float(prefix_proxy(setting.noise)) == pytest.approx(
            setting.noise.noise_proxy().max(), rel=1e-12
        )


def test_a_quantile_from_too_few_runs_is_no_bound():
    """One run says nothing about a median at level 1/100."""
    setting = Setting(epsilon=Fraction(1), delta=Fraction(1, 100), beta=Fraction(1, 2), levels=3)
    assert quantile_below(setting.noise, Fraction(1, 2), np.random.default_rng(0), runs=1, alpha=0.01) == 0.0


def test_lower_quantile_bounds_err_as_rarely_as_they_say():
    """Coverage of the order statistic on a distribution whose quantile is known by many runs."""
    setting = Setting(epsilon=Fraction(1), delta=Fraction(1, 100), beta=Fraction(1, 2), levels=4)
    noise = setting.noise
    truth = np.quantile(noise.largest_errors(np.ones(16, int), np.random.default_rng(1), runs=40_000), 0.5)
    rng = np.random.default_rng(2)
    above = sum(
        quantile_below(noise, Fraction(1, 2), rng, runs=40, alpha=0.1) > truth + 1e-9 for _ in range(600)
    )
    assert above <= 600 * 0.1 + 4 * math.sqrt(600 * 0.09)


def test_noise_of_a_vector_entry_by_draws_and_by_formula():
    """P_Vec's entry: the stated variance, and a proxy above it; printed g and b at a hand-computed point."""
    node = VectorEntryNoise(n_users=50, precision=15, bits=7)
    draws = node.draw_noise(np.random.default_rng(4), (200_000,))
    assert draws.mean() == pytest.approx(0, abs=5 * math.sqrt(float(node.variance) / 200_000))
    assert draws.var() == pytest.approx(float(node.variance), rel=0.03)
    assert float(node.proxy) > float(node.variance)
    printed = VectorEntryNoise.printed(100, Fraction(1), Fraction(1, 100), dim=2)
    assert printed.precision == 20
    assert printed.bits == math.ceil(240_000 * 400 * math.log(2000) ** 2 / 100)


def test_laplace_nodes_have_the_variance_of_the_central_tree():
    """Figure 1's tree: prefix 3 of 4 users is two nodes, of variance 2 scale^2 each."""
    tree = build_tree(horizon=4, n_shufflers=2, degree=2, leaf_degree=1)
    noise = TreeNoise(tree, (LaplaceNoise(Fraction(2)),) * 2)
    assert noise.noise_variance().tolist() == [8, 8, 16, 16]
    drawn = noise.noise(np.random.default_rng(0), runs=100_000)
    assert drawn.var(axis=0) == pytest.approx(noise.noise_variance(), rel=0.05)


def test_bernsteins_radius_bounds_the_exact_tails_of_rare_coins():
    """Large sparse batches: the radius is below the sub-Gaussian one, and above the exact quantile."""
    setting = Setting(epsilon=Fraction(99, 100), delta=Fraction(1, 1000), beta=Fraction(1, 10), levels=16)
    noise = setting.noise
    largest = max(noise.mechanisms, key=lambda node: node.n_users)
    assert largest.p < Fraction(1, 10)
    one = binary_sum_mechanism(largest.n_users, largest.epsilon, largest.delta)
    level = math.log(2 / 1e-3)
    variance = float(one.variance)
    reach = level / 3 + math.sqrt(level**2 / 9 + 2 * variance * level)
    coins = stats.binom(one.noise.trials, float(one.p))
    mean = one.noise.trials * float(one.p)
    assert coins.cdf(mean - reach) + coins.sf(mean + reach - 1) <= 1e-3
    gaussian = math.sqrt(2 * lower(prefix_proxy(noise)) * math.log(2 * 2**16 / 0.1))
    assert lower(radius(noise, setting.beta)) < gaussian
