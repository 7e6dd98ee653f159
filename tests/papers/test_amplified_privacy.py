"""P_Amp's two-sided bounds: lower bounds against simulated attacks, printed accounting against golden values,
conditions that must not be forgotten."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from audits.shuffle_linear_bandits import amplified_privacy as amplified
from audits.shuffle_linear_bandits.rows.central_tree import node_counts
from audits.shuffle_linear_bandits.rows.composition import hockey_stick
from audits.shuffle_linear_bandits.rows.separate_batches import OWN, SAME, message_distributions
from dpaudit.certify.witnesses.recompute import recompute
from dpaudit.core.claims import ApproxDP
from dpaudit.kernel.t2.gaussian import gaussian_delta
from dpaudit.reference.mechanisms.gaussian_randomiser import encode as encoded
from dpaudit.reference.mechanisms.gaussian_randomiser import in_noise_units, worst_pair
from dpaudit.reference.mechanisms.linear_bandit_noise import tree_levels


def claim_at(epsilon: str, delta: str = "1") -> ApproxDP:
    return ApproxDP(epsilon=epsilon, delta=delta, view=amplified.BATCH_VIEW, domain=amplified.DOMAIN)


def attack(
    users: int, variance: float, epsilon: float, others: int, runs: int = 20_000
) -> tuple[float, float]:
    """Estimate and standard error of delta: the exact likelihood ratio of the shuffled list of pairs, the
    other users holding the worst pair's first (0) or second (1) value, sampled under the first."""
    rng = np.random.default_rng(np.random.SeedSequence(11, spawn_key=(users, others)))
    values = [in_noise_units(*encoded(*person)) for person in worst_pair()]
    centres = np.array([values[0], *[values[others]] * (users - 1)])
    lists = centres + rng.normal(scale=math.sqrt(variance), size=(runs, *centres.shape))

    def ratios(value: Sequence[float]) -> np.ndarray:
        # each place may be the changed user's: density there over that of the others' value
        near, rest = (
            -((lists - np.asarray(c)) ** 2).sum(axis=2) / (2 * variance) for c in (value, values[others])
        )
        return np.exp(near - rest).mean(axis=1)

    gains = np.maximum(0.0, 1 - math.exp(epsilon) * ratios(values[1]) / ratios(values[0]))
    return float(gains.mean()), float(gains.std() / math.sqrt(runs))


@pytest.mark.parametrize("others", [0, 1])
@pytest.mark.parametrize(
    ("users", "variance", "epsilon"), [(2, 9, "1/4"), (5, 25, "1/10"), (20, 400, "1/20")]
)
def test_an_attack_on_the_list_lies_between(users: int, variance: int, epsilon: str, others: int) -> None:
    """The likelihood-ratio attack on a simulated list is below the certificate, and the sum's bound below
    the best of both attacks, within five standard errors."""
    claim = claim_at(epsilon)
    proof = amplified.batch_proof(
        variance=Fraction(variance), users=users, spare=1e-3, epsilon=Fraction(epsilon)
    )
    found, error = attack(users, variance, float(Fraction(epsilon)), others)
    assert found - 5 * error <= float(proof.certify(claim).bound)
    below = amplified.sum_witness(claim, variance=Fraction(variance), users=users)
    assert below.bound is not None
    best = max(attack(users, variance, float(Fraction(epsilon)), place)[0] for place in (0, 1))
    assert float(below.bound) <= best + 5 * error


def test_the_sum_is_the_gaussian_curve() -> None:
    """The witness re-computes to the exact delta of sensitivity sqrt 4.5 and variance Bσ², from the file
    alone; two batches of a returning user are one of half the variance."""
    claim = claim_at("1/4")
    one = amplified.sum_witness(claim, variance=Fraction(30), users=10)
    exact = gaussian_delta(Fraction(9, 2) / 300, Fraction(1, 4))
    assert one.bound is not None
    assert one.bound <= exact
    assert float(one.bound) == pytest.approx(float(exact), rel=1e-8)
    assert recompute(one, claim) == pytest.approx(float(one.bound), rel=1e-12)
    two = amplified.sum_witness(claim, variance=Fraction(60), users=10, batches=2)
    assert two.bound is not None
    assert float(two.bound) == pytest.approx(float(one.bound), rel=1e-8)


def test_one_batch_composed_is_its_own_certificate() -> None:
    """M = 1: the composition says what the batch alone says, by the user's own messages or by the list."""
    for variance, epsilon in ((Fraction(400), Fraction(1, 10)), (Fraction(10**6), Fraction(1))):
        claim = ApproxDP(epsilon=epsilon, delta=1, view=amplified.BATCH_VIEW)
        proof = amplified.returning_proof(variance=variance, users=50, batches=1, spare=1e-9, epsilon=epsilon)
        alone = amplified.batch_proof(variance=variance, users=50, spare=1e-10, epsilon=Fraction(0))
        assert float(proof.certify(claim).bound) <= 1.05 * float(alone.certify(claim).bound) + 1e-9


def test_two_batches_cost_more_than_one_and_less_than_unshuffled() -> None:
    """M = 2: between the sums' exact curve and the user's own messages."""
    variance, epsilon = Fraction(100), Fraction(1, 10)
    claim = ApproxDP(epsilon=epsilon, delta=1, view=amplified.BATCH_VIEW)
    proof = amplified.returning_proof(variance=variance, users=10, batches=2, spare=1e-5, epsilon=epsilon)
    bound = float(proof.certify(claim).bound)
    least = amplified.sum_witness(claim, variance=variance, users=10, batches=2).bound
    assert least is not None
    assert float(least) <= bound < float(gaussian_delta(2 * Fraction(9, 2) / variance, epsilon))


def test_lemma_golden_values() -> None:
    """Lemma B.4's closed form and condition at the values computed apart; beyond the condition it is
    negative."""
    golden = [
        ("1/2", "5e-7", 10**4, 3.716337, 0.0958793937),
        ("1", "5e-7", 10**5, 6.018923, 0.0741293322),
        ("1", "0.05", 1000, 2.829844, 0.3460928038),
    ]
    for local, slack, users, bound, epsilon in golden:
        assert float(amplified.condition_bound(users, Fraction(slack))) == pytest.approx(bound, abs=1e-6)
        found, _ = amplified.closed_form(users, Fraction(local), Fraction(slack), Fraction(0))
        assert float(found) == pytest.approx(epsilon, rel=1e-9)
    assert float(amplified.condition_bound(40, Fraction("1e-3"))) == pytest.approx(-1.111976, abs=1e-6)


def test_epsilon_needed_brackets() -> None:
    """Below the first end the sum refutes, at the second the list is certified; 0 where delta is large."""
    variance, users, delta = Fraction(10**4), 100, Fraction(1, 10**5)
    low, high = amplified.epsilon_needed(variance, users, delta)
    assert 0 < low < high < 3 * low
    curve = Fraction(9, 2) / (variance * users)
    assert gaussian_delta(curve, low) > delta >= gaussian_delta(curve, low * Fraction(101, 100))
    assert amplified.epsilon_needed(variance, users, Fraction(1, 2)) == (0, 0)


def test_orders_of_randomising() -> None:
    """One table: both orders have one distribution; a table for each user: they differ, and each is a
    distribution."""
    for tables, same in ((SAME, True), (OWN, False)):
        after, before = message_distributions(tables, (0, 1, 2))
        assert sum(after.values()) == sum(before.values()) == 1
        assert (after == before) == same


def test_tree_nodes_by_flipping_a_leaf() -> None:
    """The nodes below which a leaf lies are those whose sum changes with it, computed from the sums
    themselves."""
    for size in (1, 4, 6, 16):
        height = tree_levels(size) - 1
        data = np.zeros(2**height)
        for leaf in range(size):
            flipped = data.copy()
            flipped[leaf] = 1
            changed = sum(
                int(np.sum(flipped.reshape(-1, 2**level).sum(axis=1) != 0)) for level in range(height + 1)
            )
            assert sum(node_counts((leaf,), size).values()) == changed == height + 1


def test_hockey_stick_by_events() -> None:
    """The largest P(S) - factor Q(S) over all events is the sum of positive parts."""
    p, q = (Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)), (Fraction(1, 5), Fraction(1, 5), Fraction(3, 5))
    events = [[i for i in range(3) if mask >> i & 1] for mask in range(8)]
    best = max(sum(p[i] - Fraction(3, 2) * q[i] for i in event) for event in events)
    assert hockey_stick(p, q, Fraction(3, 2)) == best


@pytest.mark.parametrize(("users", "variance", "epsilon"), [(20, "3107/10000", "1"), (5, "1", "1/2")])
def test_the_largest_message_is_evaluated_by_its_closed_form(users: int, variance: str, epsilon: str) -> None:
    """1 - Φ(t)^(B-1) Φ(t - 2/σ) minus e^ε (1 - Φ(t)^B), largest over t, t in σ above the others' mean."""
    witness = amplified.largest_message_witness(claim_at(epsilon), variance=Fraction(variance), users=users)
    t, shift = np.linspace(-2, 8, 20_001), 2 / math.sqrt(Fraction(variance))
    below = stats.norm.cdf(t)
    here, there = 1 - below ** (users - 1) * stats.norm.cdf(t - shift), 1 - below**users
    exact = (here - math.exp(Fraction(epsilon)) * there).max()
    assert witness.bound is not None
    assert exact - 1e-3 < float(witness.bound) <= exact + 1e-9
    assert recompute(witness, claim_at(epsilon)) == pytest.approx(float(witness.bound), rel=1e-12)


def test_the_largest_message_does_not_refute_what_is_certified() -> None:
    """At noise that a certificate covers, the event's bound is below the certificate's."""
    claim = claim_at("1/4")
    proof = amplified.batch_proof(variance=Fraction(9), users=20, spare=1e-3, epsilon=Fraction(1, 4))
    witness = amplified.largest_message_witness(claim, variance=Fraction(9), users=20)
    certified = proof.certify(claim).bound
    assert witness.bound is not None
    assert certified is not None
    assert witness.bound <= certified
