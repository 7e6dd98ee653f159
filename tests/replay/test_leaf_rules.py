"""Family, scale, change and count decide whether an affected site is the mechanism of a leaf."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit.certify import build
from dpaudit.certify.sites import Site
from dpaudit.coins import Coins, record, replay
from dpaudit.coins.replayer import SessionPair
from dpaudit.core.claims import Adjacency, ApproxDP
from dpaudit.distributions import (
    AboveThreshold,
    BinaryTree,
    Binomial,
    Categorical,
    CountVector,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Laplace,
    NoisyArgmax,
    PolyaDifference,
    RandomisedResponse,
    Skellam,
    SubsampledGaussianSum,
    WrappedMod,
)
from dpaudit.replay.certificate_matching import above_pure_bound, fit, pure_bound
from dpaudit.replay.leaf_rules import match, match_session
from dpaudit.replay.leaves import leaves_of

SUM = build.BoundedSum(0, 1)
LAPLACE = build.laplace_mechanism(sensitivity=1, scale=2)
DISCRETE = build.discrete_laplace_mechanism(sensitivity=3, scale=2)
GAUSSIAN = build.gaussian_mechanism(sensitivity=1, scale=2)
SKELLAM = build.integer_noise("skellam", sensitivity=1, variance=9)
NORMAL = build.integer_noise("discrete-gaussian-sum", sensitivity=1, variance=9)
LEADER = build.report_noisy_max(sensitivity=1, scale=2, range="one_coordinate")
TABLE = build.finite_mechanism([["1/4", "3/4"], ["1/2", "1/2"]])
SHUFFLED = build.shuffled_response(users=3, local=1)
FLIPS = [NoisyArgmax(scores=q, noise=Exponential(scale=2)) for q in ((0, 1), (1, 0), (1, 1))]
STEP = build.poisson_subsampled_gaussian(sensitivity=1, rate="1/4", scale=2)


def sampled(*records: Any, rate: str = "1/4", sigma: int = 2) -> SubsampledGaussianSum:
    return SubsampledGaussianSum(records, rate=rate, sigma=sigma)


def bit(truth: int, epsilon: str = "1") -> RandomisedResponse:
    return RandomisedResponse(symbols=2, truth=truth, epsilon=epsilon)


def counted(*truths: int) -> CountVector:
    return CountVector([bit(truth) for truth in truths], outcomes=2)


def scores(*values: float, scale: int = 2) -> NoisyArgmax:
    return NoisyArgmax(np.array(values), Laplace(scale=scale))


RIGHT: dict[str, tuple[Any, Any, Any]] = {
    "a record that is replaced": (STEP, sampled(1), sampled("1/2")),
    "laplace": (LAPLACE, Laplace(scale=2).shift(0), Laplace(scale=2).shift(1)),
    "more noise": (LAPLACE, Laplace(scale=3).shift(0), Laplace(scale=3).shift(1)),
    "an unshifted distribution": (LAPLACE, Laplace(scale=2), Laplace(scale=2).shift(1)),
    "l1 of a vector": (
        LAPLACE,
        Laplace(scale=2).shift(np.zeros(2)),
        Laplace(scale=2).shift(np.array([0.5, -0.5])),
    ),
    "a tenth in floats": (
        build.laplace_mechanism(sensitivity="1/10", scale=2),
        Laplace(scale=2).shift(0.0),
        Laplace(scale=2).shift(0.1),
    ),
    "a bounded sum": (
        build.laplace_mechanism(sensitivity=SUM, scale=2),
        Laplace(scale=2).shift(0),
        Laplace(scale=2).shift(1),
    ),
    "modulo m, the short way": (
        DISCRETE,
        WrappedMod(DiscreteLaplace(scale=2), modulus=10, offset=9),
        WrappedMod(DiscreteLaplace(scale=2), modulus=10, offset=2),
    ),
    "shares": (
        build.polya_noise(sensitivity=1, scale=2, share="1/2"),
        PolyaDifference(shape="3/4", log_ratio="1/2").shift(0),
        PolyaDifference(shape="3/4", log_ratio="1/2").shift(1),
    ),
    "a table in exponentials": (build.finite_mechanism(distributions=FLIPS), FLIPS[0], FLIPS[1]),
    "the same distribution by other words": (
        build.finite_mechanism(distributions=[bit(0), bit(1)]),
        bit(0),
        RandomisedResponse(symbols=2, truth=1, epsilon=1),
    ),
    "a subsampled step": (STEP, sampled(1, "1/2"), sampled("1/2")),
    "a subsampled vector": (STEP, sampled([0.6, 0.8], [3, 0]), sampled([3, 0])),
    "less sampling, more noise": (STEP, sampled(1, rate="1/5", sigma=3), sampled(rate="1/5", sigma=3)),
    "gaussian": (GAUSSIAN, Gaussian(sigma=2).shift(0), Gaussian(sigma=2).shift(1)),
    "skellam": (SKELLAM, Skellam(variance=9).shift(0), Skellam(variance=9).shift(1)),
    "discrete gaussian": (NORMAL, DiscreteGaussian(sigma2=9), DiscreteGaussian(sigma2=9).shift(1)),
    "noisy maximum": (LEADER, scores(0, 5), scores(1, 5)),
    "a bit": (build.randomised_response(epsilon=1), bit(0), bit(1)),
    "a table": (TABLE, Categorical(weights=[1, 3]), Categorical(weights=[1, 1])),
    "shuffled bits": (SHUFFLED, counted(0, 0, 1), counted(0, 1, 1)),
}

WRONG: dict[str, tuple[Any, Any, Any]] = {
    "no row of a table in exponentials": (
        build.finite_mechanism(distributions=FLIPS),
        FLIPS[0],
        NoisyArgmax(scores=(0, 2), noise=Exponential(scale=2)),
    ),
    "balls of no table": (build.finite_mechanism(distributions=FLIPS), FLIPS[0], scores(0, 1)),
    "a sum whose sampling shows": (STEP, Gaussian(sigma=2).shift(1), Gaussian(sigma=2)),
    "more sampling": (STEP, sampled(1, rate="1/3"), sampled(rate="1/3")),
    "less noise on a subsample": (STEP, sampled(1, sigma=1), sampled(sigma=1)),
    "a record above the clip": (STEP, sampled([1, 1]), sampled([0, 0])),
    "two records that are replaced": (STEP, sampled(1, 1), sampled("1/2", "1/2")),
    "a record that is replaced by a larger one": (STEP, sampled(1), sampled("3/2")),
    "two records that go": (STEP, sampled(1, 1), sampled()),
    "a rate that moved": (STEP, sampled(1), sampled(rate="1/5")),
    "another family": (LAPLACE, Gaussian(sigma=9).shift(0), Gaussian(sigma=9).shift(1)),
    "one-sided noise": (LAPLACE, Exponential(scale=100).shift(0), Exponential(scale=100).shift(1)),
    "less noise": (LAPLACE, Laplace(scale=1).shift(0), Laplace(scale=1).shift(1)),
    "a scale that moved": (LAPLACE, Laplace(scale=2).shift(0), Laplace(scale=3).shift(0)),
    "too large a change": (LAPLACE, Laplace(scale=2).shift(0), Laplace(scale=2).shift(2)),
    "another shape": (LAPLACE, Laplace(scale=2).shift(np.zeros(1)), Laplace(scale=2).shift(np.zeros(2))),
    "another modulus": (
        DISCRETE,
        WrappedMod(DiscreteLaplace(scale=2), modulus=5, offset=1),
        WrappedMod(DiscreteLaplace(scale=2), modulus=7, offset=1),
    ),
    "too few shares": (
        build.polya_noise(sensitivity=1, scale=2, share="1/2"),
        PolyaDifference(shape="1/4", log_ratio="1/2").shift(0),
        PolyaDifference(shape="1/4", log_ratio="1/2").shift(1),
    ),
    "another variance": (NORMAL, DiscreteGaussian(sigma2=10), DiscreteGaussian(sigma2=10).shift(1)),
    "two shifts": (
        SKELLAM,
        Skellam(variance=9).shift(np.array([0, 0])),
        Skellam(variance=9).shift(np.array([1, 1])),
    ),
    "two scores": (LEADER, scores(0, 5), scores(1, 4)),
    "a maximum of less noise": (LEADER, scores(0, 5, scale=1), scores(1, 5, scale=1)),
    "a dearer bit": (build.randomised_response(epsilon=1), bit(0, "2"), bit(1, "2")),
    "no row of the table": (TABLE, Categorical(weights=[1, 3]), Categorical(weights=[1, 2])),
    "two users": (SHUFFLED, counted(0, 0, 1), counted(1, 1, 1)),
    "too few users": (SHUFFLED, counted(0, 1), counted(1, 1)),
}


@pytest.mark.parametrize("name", RIGHT)
def test_the_noise_of_a_leaf_fits(name: str) -> None:
    """The negative control, in both directions."""
    proof, distribution, other = RIGHT[name]
    (leaf,), _ = leaves_of(proof)
    for one, two in ((distribution, other), (other, distribution)):
        assert match(leaf, one, two, Adjacency.REPLACE_ONE).objection == ""


@pytest.mark.parametrize("name", WRONG)
def test_other_noise_does_not_fit(name: str) -> None:
    """Each case differs from the leaf in one respect."""
    proof, distribution, other = WRONG[name]
    (leaf,), _ = leaves_of(proof)
    for one, two in ((distribution, other), (other, distribution)):
        assert match(leaf, one, two, Adjacency.REPLACE_ONE).objection


def threshold(kernel: AboveThreshold, moved: float) -> str:
    proof = build.above_threshold(sensitivity=1, threshold_scale=2, query_scale=4)
    session = SessionPair(kernel, kernel, (0.0, 1.0), (moved, 1.0), (False, True), (0, 1))
    (leaf,), _ = leaves_of(proof)
    return match_session(session, Adjacency.REPLACE_ONE, leaf).objection


def svt(**options: Any) -> AboveThreshold:
    noise = {"threshold_noise": Laplace(scale=2), "query_noise": Laplace(scale=4)}
    return AboveThreshold(**{"threshold": 1, "max_positives": 1, **noise, **options})


def test_a_channel_fits_its_rule() -> None:
    """The sparse vector technique with the leaf's noise and answers; not with less noise or more answers."""
    assert threshold(svt(), 1.0) == ""
    assert "changed by 2" in threshold(svt(), 2.0)
    assert "threshold's noise" in threshold(svt(threshold_noise=Laplace(scale=1)), 1.0)
    assert "query's noise" in threshold(svt(query_noise=Laplace(scale=1)), 1.0)
    assert "answers" in threshold(svt(max_positives=2), 1.0)
    assert "again" in threshold(svt(resample_threshold=True), 1.0)


def test_a_tree_fits_its_rule() -> None:
    """One leaf moved, every node's noise that of the premise."""
    (leaf, _), most = leaves_of(build.tree_mechanism(LAPLACE, leaves=4))
    assert most == 3
    for scale, right in ((2, True), (1, False)):
        kernel = BinaryTree(leaves=4, noise=Laplace(scale=scale))
        session = SessionPair(kernel, kernel, (0.0, 1.0), (1.0, 1.0), (0.5, 0.7), (0, 1))
        assert (match_session(session, Adjacency.REPLACE_ONE, leaf).objection == "") is right


def objections(proof: Any, sites: dict[str, int], *, pure: bool = True) -> list[str]:
    """Return the mismatches of a program that releases its datum at ``sites`` with Laplace noise."""

    def program(coins: Coins, data: float) -> None:
        for name, scale in sites.items():
            coins.release(data, Laplace(scale=scale), site=name)

    result = replay(program, 1.0, record(program, 0.0, rng=np.random.default_rng(0)))
    return fit(result, proof, Adjacency.REPLACE_ONE, pure=pure).mismatches


def test_all_sites_together_are_no_more_than_the_tree_adds_up() -> None:
    """Sequential composition covers each of its parts, parallel composition one of them."""
    both = build.compose_sequential([LAPLACE], times=[2])
    assert objections(both, {"a": 2, "b": 2}) == []
    assert " 3 times, the certificate has it 2 times" in objections(both, {"a": 2, "b": 2, "c": 2})[0]
    cells = build.compose_parallel([LAPLACE, LAPLACE], by="position")
    assert objections(cells, {"a": 2}) == []
    assert "uses 2 mechanisms" in objections(cells, {"a": 2, "b": 2})[-1]


def test_a_parallel_node_pays_for_one_branch() -> None:
    """Leaves of two branches cost more than either branch, so they are not covered in combination."""
    cheap, dear = (build.laplace_mechanism(sensitivity=1, scale=scale) for scale in (10, 1))
    branches = [dear, build.compose_sequential([cheap], times=[2])]
    for pure in (True, False):
        one = build.compose_parallel(branches, by="position")
        assert objections(one, {"a": 10, "b": 10}, pure=pure) == []
        assert objections(one, {"a": 1}, pure=pure) == []
        assert "in combination" in objections(one, {"a": 10, "b": 1}, pure=pure)[0]
        assert objections(one, {"a": 1, "b": 1}, pure=pure)
        twice = build.compose_sequential([one], times=[2])
        assert objections(twice, {"a": 10, "b": 1}, pure=pure) == []
        assert "in combination" in objections(twice, {"a": 10, "b": 1, "c": 1}, pure=pure)[0]
        group = build.group_privacy(one, events=2, declared="two") if pure else twice
        assert objections(group, {"a": 1, "b": 10, "c": 10}, pure=pure) == []


def test_a_pure_bound_holds_for_claims_of_every_quantity() -> None:
    """The pure bound is what the tree derives, up to rounding, or ``None``."""
    claim = ApproxDP(epsilon=1, delta="1/1000000")
    bound = pure_bound(build.compose_sequential([LAPLACE], times=[3]), claim)
    assert bound == Fraction(3, 2)
    assert above_pure_bound(bound * (1 + Fraction(1, 10**10)), bound) == []
    assert "covers only 1.5" in above_pure_bound(Fraction(151, 100), bound)[0]
    assert pure_bound(build.gaussian_mechanism(sensitivity=1, variance=9), claim) is None
    assert above_pure_bound(Fraction(10**6), None) == []


def test_a_record_that_moves_pays_for_two_branches() -> None:
    """A record that changes cells is charged for both cells, and for no third one."""
    cells = [build.laplace_mechanism(sensitivity=1, scale=scale) for scale in (1, 2, 3)]
    moving = build.compose_parallel(cells, by="public data", partition="by day", moves=True)
    assert objections(moving, {"a": 1, "b": 2}, pure=False) == []
    assert objections(moving, {"a": 1, "b": 2, "c": 3}, pure=False) != []


def test_branches_are_tried_until_one_pays() -> None:
    """A site that fits two branches is not restricted to the first."""
    branches = [LAPLACE, build.compose_sequential([LAPLACE], times=[2])]
    for order in (branches, branches[::-1]):
        assert objections(build.compose_parallel(order, by="position"), {"a": 2, "b": 2}, pure=False) == []


def test_two_sites_at_half_the_cost_are_one_for_a_pure_claim_only() -> None:
    """Pure costs add up. For other notions, half the cost twice is not the whole once."""
    assert objections(LAPLACE, {"a": 4, "b": 4}) == []
    assert " 2 times, the certificate has it 1 times" in objections(LAPLACE, {"a": 4, "b": 4}, pure=False)[0]


def test_declared_sites_go_by_name() -> None:
    """An accounting names the sites of each class, and other names are not covered."""
    proof = build.accounted([Site("a*", mechanism=LAPLACE)], declared="one")
    assert objections(proof, {"a1": 2}) == []
    assert "no mechanism of the certificate covers it" in objections(proof, {"b": 2})[0]


def test_a_move_that_is_there_always_is_no_rounding() -> None:
    """Sixteen entries that all move by one fit no leaf that pays for 1e-6 in squares, whether or not it
    speaks of rounded entries; a leaf that pays for 16 they fit."""
    noise = Binomial(trials=10_000, p="1/4")
    distribution, other = noise.shift(np.zeros(16, dtype=int)), noise.shift(np.ones(16, dtype=int))
    for squared, rounding, fits in (
        ("1/1000000", "unbiased", False),
        (16, "unbiased", True),
        (16, "none", True),
    ):
        proof = build.binomial_vectors(
            trials=10_000,
            probability="1/4",
            dimension=16,
            l2_squared=squared,
            largest=1,
            orders=(20, 40),
            deviation=300,
            rounding=rounding,
        )
        (leaf,), _ = leaves_of(proof)
        assert (not match(leaf, distribution, other, Adjacency.REPLACE_ONE).objection) is fits
