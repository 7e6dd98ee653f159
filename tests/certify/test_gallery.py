"""The mechanisms that auditors are tested on (StatDP 2018, Lyu, Su, Li 2017, DP-Sniper 2021), from both
sides: the certified epsilon, and the exact loss on the published input patterns.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit.certify import build
from dpaudit.certify.build import Proof
from dpaudit.core.claims import Adjacency, ApproxDP, PureDP
from dpaudit.core.errors import CertificateError
from dpaudit.distributions import (
    AboveThreshold,
    Distribution,
    Exponential,
    Gumbel,
    Laplace,
    NoisyArgmax,
    NoisyMaximum,
)
from dpaudit.kernel.t1.readout import pure_delta
from dpaudit.kernel.t1.two_candidates import two_candidate_delta
from tests.blackbox import black_boxes

CLAIM = PureDP(epsilon="1/10")


def bits(keep: str, times: int) -> Proof:
    """Bits reported as 1 with probability ``keep`` or its complement, ``times`` of which differ."""
    one = build.finite_mechanism([[keep, str(1 - Fraction(keep))], [str(1 - Fraction(keep)), keep]])
    return build.compose_sequential([one], times=[times])


def sparse(threshold: str, query: str, *, answers: int = 1) -> Proof:
    return build.above_threshold(sensitivity=1, threshold_scale=threshold, query_scale=query, answers=answers)


def noisy_queries(count: int, scale: int) -> Proof:
    """Whatever is computed from ``count`` noisy queries that may all move by 1."""
    return build.post_processing(
        build.laplace_mechanism(sensitivity=count, scale=scale), function="of noisy queries"
    )


#: Name, the proof that certifies it, and the true epsilon of the published table (claimed: 0.1).
GALLERY: list[tuple[str, Proof, float]] = [
    ("Laplace", build.laplace_mechanism(sensitivity=1, scale=10), 0.1),
    ("NoisyHist1", build.laplace_mechanism(sensitivity=1, scale=10), 0.1),
    ("NoisyHist2", build.laplace_mechanism(sensitivity=1, scale="1/10"), 10.0),
    ("ReportNoisyMax1", build.report_noisy_max(sensitivity=1, range="general", scale=20), 0.1),
    (
        "ReportNoisyMax2",
        build.report_noisy_max(sensitivity=1, range="general", scale=20, noise="exponential"),
        0.1,
    ),
    ("ReportNoisyMax3", noisy_queries(5, 20), 0.25),
    ("SVT1", sparse("20", "40"), 0.1),
    ("SVT1, c = 3", sparse("20", "120", answers=3), 0.1),
    ("SVT2, c = 3", build.compose_sequential([sparse("60", "120")], times=[3]), 0.1),
    ("SVT3, 10 queries", noisy_queries(10, 20), 0.5),
    ("SVT4", sparse("40", "40/3"), 0.175),
    ("SVT4, c = 2", sparse("40", "40/3", answers=2), 0.325),
    ("SVT6, 10 queries", noisy_queries(10, 20), 0.5),
    ("RAPPOR", bits("0.5125", 8), 0.4001),
    ("RAPPOR on two values", bits("0.5125", 6), 0.3001),
    ("OneTimeRAPPOR", bits("0.525", 8), 0.8007),
    ("LaplaceParallel", build.laplace_mechanism(sensitivity=20, scale=200), 0.1),
    ("PrefixSum", noisy_queries(10, 10), 1.0),
    (
        "NumericalSVT",
        build.compose_sequential(
            [sparse("30", "120", answers=2), build.laplace_mechanism(sensitivity=1, scale=60)], times=[1, 2]
        ),
        0.1,
    ),
]


@pytest.mark.parametrize(("name", "proof", "truth"), GALLERY, ids=[row[0] for row in GALLERY])
def test_certified_epsilon_is_the_true_one(name: str, proof: Proof, truth: float) -> None:
    """The certificate states the true epsilon of the table: the correct ones reach 0.1, the broken ones do
    not.
    """
    assert float(proof.certify(CLAIM).bound) == pytest.approx(truth, abs=5e-5)


def patterns(size: int) -> list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    """The component-wise input patterns of StatDP, in both directions."""
    pairs: Any = [(pair.left, pair.right) for pair in black_boxes.patterns(size)]
    return pairs + [(there, here) for here, there in pairs]


@pytest.mark.parametrize(("noise", "truth"), [(Laplace(scale=20), 0.0946), (Exponential(scale=20), 0.1)])
def test_noisy_max_on_the_patterns(noise: Distribution, truth: float) -> None:
    """The exact distribution of the index gives the published loss on the patterns, below the certified
    0.1."""
    index = np.arange(5)
    losses = [
        NoisyArgmax(np.tile(here, (5, 1)), noise).logp(index)
        - NoisyArgmax(np.tile(there, (5, 1)), noise).logp(index)
        for here, there in patterns(5)
    ]
    assert float(np.max(losses)) == pytest.approx(truth, abs=5e-5)


def test_noisy_max_reaches_its_bound_far_out() -> None:
    """With Laplace noise the certified 0.1 is the supremum: two scores 2000 apart lose more than 0.099."""
    here = NoisyArgmax([-1000, 1000], Laplace(scale=20)).logp_ball(0)
    there = NoisyArgmax([-1001, 1001], Laplace(scale=20)).logp_ball(0)
    assert 0.099 < float((here - there).mid()) < 0.1


def single_stops(kernel: AboveThreshold, here: Any, there: Any) -> float:
    """The largest loss over the outputs of a run that stops at its first answer "above"."""
    outputs = [[False] * k + [True] for k in range(len(here))] + [[False] * len(here)]
    return max(
        float(kernel.log_joint(list(here[: len(o)]), o) - kernel.log_joint(list(there[: len(o)]), o))
        for o in outputs
    )


SVT_PATTERNS = [("1/2", 20, 40, 0.0885, 0.1), ("1", 20, 40, 0.0882, 0.1), ("1", 40, "40/3", 0.1725, 0.175)]


@pytest.mark.parametrize(("threshold", "b", "c", "truth", "bound"), SVT_PATTERNS)
def test_sparse_vector_on_the_patterns(threshold: str, b: Any, c: Any, truth: float, bound: float) -> None:
    """Algorithms 1, 2 and 4 with one answer: the exact joint distribution gives the published loss on the
    patterns, below the certified one.
    """
    kernel = AboveThreshold(
        threshold=threshold, threshold_noise=Laplace(scale=b), query_noise=Laplace(scale=c), max_positives=1
    )
    loss = max(single_stops(kernel, here, there) for here, there in patterns(10))
    assert loss == pytest.approx(truth, abs=5e-5)
    assert loss < bound


def test_without_a_cut_off_ten_queries_lose_more_than_claimed() -> None:
    """Algorithm 6 on ten queries loses 0.4200 on the patterns, over all 1024 outputs: 4 times its claim."""
    kernel = AboveThreshold(
        threshold=1, threshold_noise=Laplace(scale=20), query_noise=Laplace(scale=20), max_positives=None
    )
    flags = np.array(list(itertools.product([False, True], repeat=10)))

    def joint(queries: Any) -> Any:
        return kernel.log_joint([np.full(len(flags), q) for q in queries], list(flags.T))

    loss = max(float(np.max(joint(here) - joint(there))) for here, there in patterns(10))
    assert loss == pytest.approx(0.42, abs=5e-5)


def test_without_query_noise_no_epsilon_holds() -> None:
    """Algorithm 5: an output that is possible on one side only; a certificate without query noise is
    refused.
    """
    kernel = AboveThreshold(
        threshold=0, threshold_noise=Laplace(scale=20), query_noise=None, max_positives=None
    )
    assert kernel.log_joint_ball([0, 1], [False, True]).is_finite()
    assert not kernel.log_joint_ball([1, 0], [False, True]).is_finite()
    with pytest.raises(CertificateError):
        sparse("20", "0")


def test_the_released_maximum_costs_every_score() -> None:
    """Report Noisy Max with the value released: 0.25 in the lower tail (Laplace), infinite (exponential)."""
    loss = NoisyMaximum([1] * 5, Laplace(scale=20)).logp_ball(-50) - NoisyMaximum(
        [2] * 5, Laplace(scale=20)
    ).logp_ball(-50)
    assert float(loss.mid()) == pytest.approx(0.25, rel=1e-12)
    ended = NoisyMaximum([2] * 5, Exponential(scale=20)).logp_ball(Fraction(3, 2))
    assert not ended.is_finite()


def test_values_released_with_the_comparisons_own_noise() -> None:
    """Algorithm 3 with ten queries: nine answers "below" and then a value far down lose up to 0.5, the
    certified bound, by quadrature over the threshold.
    """
    level, b, c = 1.0, 20.0, 20.0
    z = np.linspace(-900.0, 900.0, 400_001)

    def log_density(queries: Any, value: float) -> float:
        # P(all below, value >= level + rho): the threshold T = level + rho lies below the value
        below = np.ones_like(z)
        for q in queries[:-1]:
            gap = (z - q) / c
            below *= np.where(
                gap < 0, 0.5 * np.exp(np.minimum(gap, 0)), 1 - 0.5 * np.exp(-np.maximum(gap, 0))
            )
        weight = np.where(z <= value, np.exp(-np.abs(z - level) / b) / (2 * b) * below, 0.0)
        density = math.exp(-abs(value - queries[-1]) / c) / (2 * c)
        return math.log(float(np.trapezoid(weight, z)) * density)

    here, there = np.ones(10), 2 * np.ones(10)
    loss = log_density(here, -300.0) - log_density(there, -300.0)
    assert 0.499 < loss <= 0.5 + 1e-9


def test_losses_of_random_sparse_vectors_stay_within_their_certificates() -> None:
    """Random scales, cut-offs, ranges and neighbouring queries: no exact loss exceeds the certified bound,
    and in each range some loss comes within 20 % of it.
    """
    rng = np.random.default_rng(np.random.SeedSequence(17))
    closest: dict[str, float] = {"general": 0.0, "monotone": 0.0, "one_query": 0.0}
    moves: dict[str, Callable[[int], Any]] = {
        "general": lambda n: rng.choice([-1.0, 1.0], n),
        "monotone": lambda n: rng.choice([0.0, 1.0], n) * rng.choice([-1.0, 1.0]),
        "one_query": lambda n: np.eye(n)[rng.integers(n)] * rng.choice([-1.0, 1.0]),
    }
    for trial in range(240):
        moving = list(moves)[trial % 3]
        b, c, answers = (int(rng.choice(options)) for options in ([1, 2, 8], [1, 2, 8], [1, 2]))
        proof = build.above_threshold(
            sensitivity=1,
            threshold_scale=b,
            query_scale=c,
            answers=answers,
            range=moving,  # type: ignore[arg-type]
        )
        kernel = AboveThreshold(
            threshold=0, threshold_noise=Laplace(scale=b), query_noise=Laplace(scale=c), max_positives=answers
        )
        flags = [False] * int(rng.integers(0, 12)) + [True] * answers
        queries = np.where(flags, -30.0, rng.choice([-3.0, 0.0, 3.0, 10.0], len(flags)))
        move = moves[moving](len(flags))
        if trial % 2:  # the worst direction: answers "below" come down, answers "above" go up
            worst = np.where(flags, -1.0, 1.0)
            move = worst if moving == "general" else move
        loss = float(kernel.log_joint(list(queries), flags) - kernel.log_joint(list(queries + move), flags))
        claim = PureDP(epsilon=1, adjacency=Adjacency.ADD_REMOVE)
        bound = float(proof.certify(claim).bound)
        assert abs(loss) <= bound * (1 + 1e-9)
        closest[moving] = max(closest[moving], abs(loss) / bound)
    assert min(closest.values()) > 0.8, closest


@pytest.mark.parametrize("epsilon", ["0", "1/4", "1/2", "9/10"])
def test_gumbel_delta_bounds_every_number_of_candidates(epsilon: str) -> None:
    """For the exponential mechanism the certified delta bounds the exact one over random score changes for 2
    to 6 candidates, is reached for two, and is well below what epsilon alone implies.
    """
    e, rng = Fraction(epsilon), np.random.default_rng(np.random.SeedSequence(3))
    bound = build.report_noisy_max(sensitivity=1, range="general", scale=2, noise="gumbel").certify(
        ApproxDP(epsilon=e, delta="1/2")
    )
    largest = 0.0
    for _ in range(400):
        count = int(rng.integers(2, 7))
        scores = rng.normal(0, 3, count)
        move = rng.choice([-1.0, 1.0], count)
        p, q = np.exp(scores / 2), np.exp((scores + move) / 2)
        p, q = p / p.sum(), q / q.sum()
        largest = max(largest, float(np.maximum(p - math.exp(float(e)) * q, 0).sum()))
    assert largest <= float(bound.bound)
    assert largest > 0.9 * float(bound.bound)
    assert float(bound.bound) < 0.75 * float(pure_delta(Fraction(1), e))
    assert abs(
        bound.bound - Fraction(float(two_candidate_delta("gumbel", ratio=Fraction(1), epsilon=e).mid()))
    ) < (Fraction(1, 10**12))
    distribution = NoisyArgmax([0, 1, 2], Gumbel(scale=2))
    weights = np.exp(np.arange(3) / 2)
    np.testing.assert_allclose(
        [float(p.mid()) for _, p in distribution.atoms()], weights / weights.sum(), rtol=1e-12
    )


def test_one_moving_query_costs_the_query_noise_alone() -> None:
    """With Laplace query noise one moving query costs D/c whatever the cut-off; with exponential noise the
    monotone bound stays, and an answer "below" shows why.
    """
    for answers in (1, 10):
        proof = build.above_threshold(
            sensitivity=1, threshold_scale=4, query_scale=8, answers=answers, range="one_query"
        )
        assert proof.certify(CLAIM).bound == Fraction(1, 8)
    one_sided = build.above_threshold(
        sensitivity=1, threshold_scale=4, query_scale=8, range="one_query", noise="exponential"
    )
    assert one_sided.certify(CLAIM).bound == Fraction(1, 4) + Fraction(1, 8)
    kernel = AboveThreshold(
        threshold=0, threshold_noise=Exponential(scale=4), query_noise=Exponential(scale=8), max_positives=1
    )
    loss = kernel.log_joint_ball([0], [False]) - kernel.log_joint_ball([1], [False])
    assert 0.125 < float(loss.mid()) <= 0.375
