"""Further rules against independent computations: Polya shares, sparse vector, Gaussian selection, finite
tables, groups, joint privacy.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.stats

from dpaudit.certify import build
from dpaudit.certify.build import LossGrid
from dpaudit.certify.sites import Site
from dpaudit.core.claims import Adjacency, ApproxDP, GaussianDP, PureDP, RenyiDP, Unit, ZeroConcentratedDP
from dpaudit.core.errors import CertificateError
from dpaudit.core.views import PUBLIC, View, user
from dpaudit.kernel import check as kernel

PURE = PureDP(epsilon=1)


def polya_masses(share: float, p: float, size: int) -> np.ndarray[Any, Any]:
    """The distribution of the difference of two Polya(share, p), on -size..size, by convolution of the two
    series."""
    j = np.arange(4 * size)
    one = scipy.stats.nbinom.pmf(j, share, 1 - p)
    return np.array([float(np.dot(one[abs(k) :], one[: one.size - abs(k)])) for k in range(-size, size + 1)])


@pytest.mark.parametrize(
    ("share", "scale", "shift"), [("9/10", 1, 1), ("1/2", 1, 1), ("1/2", 2, 3), ("1/10", 3, 2), ("1", 2, 3)]
)
def test_polya_bound_is_the_largest_ratio(share: str, scale: int, shift: int) -> None:
    """The certified epsilon is the largest log-ratio over outcomes and shifts up to D, computed by
    convolution; it is attained at 0.
    """
    f = polya_masses(float(Fraction(share)), math.exp(-1 / scale), 60)
    worst = 0.0
    for d in range(1, shift + 1):
        here, there = f[d + 20 : -20], f[20 : -20 - d]
        worst = max(worst, float(np.max(np.abs(np.log(here / there)))))
    bound = build.polya_noise(sensitivity=shift, scale=scale, share=share).certify(PureDP(epsilon=9)).bound
    assert float(bound) == pytest.approx(worst, rel=1e-9)


@pytest.mark.parametrize(("share", "digits"), [("9/10", "1.099"), ("1/2", "1.675")])
def test_polya_reference_values(share: str, digits: str) -> None:
    """A design for epsilon = 1 gives 1.099 at nine tenths participation and 1.675 at one half: the claim at
    full participation does not survive.
    """
    bound = build.polya_noise(sensitivity=1, scale=1, share=share).certify(PURE).bound
    assert abs(bound - Fraction(digits)) < Fraction(1, 2000)
    assert bound > 1


def test_polya_distribution_is_log_convex() -> None:
    """What the proof uses: on k >= 0 the ratios f(k+1)/f(k) do not fall, and stay below p."""
    for share, p in itertools.product((0.1, 0.5, 0.9), (0.2, 0.7)):
        f = polya_masses(share, p, 30)[30:]
        ratios = f[1:] / f[:-1]
        assert np.all(np.diff(ratios) > -1e-10)
        assert np.all(ratios < p + 1e-10)


def sparse_vector(
    queries: np.ndarray[Any, Any], answers: list[int], noise: str, threshold: float, query: float
) -> float:
    """P(answers) by Simpson's rule over the threshold noise (threshold value 0)."""
    z = np.linspace(0 if noise == "exponential" else -40 * threshold, 40 * threshold, 16_001)
    distribution = scipy.stats.laplace(scale=1) if noise == "laplace" else scipy.stats.expon(scale=1)
    weights = np.where(np.arange(z.size) % 2, 4.0, 2.0)
    weights[[0, -1]] = 1.0
    value = weights * (z[1] - z[0]) / 3 * distribution.pdf(z / threshold) / threshold
    for q, answer in zip(queries, answers, strict=True):
        above = distribution.sf((z - q) / query)
        value = value * (above if answer else 1 - above)
    return float(value.sum())


@pytest.mark.parametrize("noise", ["laplace", "exponential"])
@pytest.mark.parametrize("moved", ["general", "monotone"])
def test_sparse_vector_bound_covers_quadrature(noise: Any, moved: Any) -> None:
    """No answer sequence with at most k "above" has a log-ratio over the bound, for changes at the corners
    of the allowed box; one comes within a fifth.
    """
    bound = float(
        build.above_threshold(
            sensitivity=1, threshold_scale=2, query_scale=3, answers=2, range=moved, noise=noise
        )
        .certify(PureDP(epsilon=1, adjacency=Adjacency.ADD_REMOVE))
        .bound
    )
    assert bound == pytest.approx(1 / 2 + (4 if moved == "general" else 2) / 3)
    sides = [(-1, 1)] if moved == "general" else [(0, 1), (0, -1)]
    worst = 0.0
    for below, above in ((0, 2), (1, 2), (8, 2), (3, 0)):
        answers = [0] * below + [1] * above
        start = np.array([8.0] * below + [-8.0] * above)
        before = sparse_vector(start, answers, noise, 2, 3)
        # all queries answered alike move alike: corners of the box that the proof names
        for first, second in itertools.chain.from_iterable(
            itertools.product(side, repeat=2) for side in sides
        ):
            after = sparse_vector(start + np.repeat([first, second], [below, above]), answers, noise, 2, 3)
            worst = max(worst, abs(math.log(before / after)))
    assert worst <= bound + 1e-6
    assert worst > 0.8 * bound


def gaussian_winner(scores: list[float]) -> np.ndarray[Any, Any]:
    """P(argmax = i) under N(0, 1) noise by Simpson's rule."""
    z = np.linspace(-9, 9, 4001)
    weights = np.where(np.arange(z.size) % 2, 4.0, 2.0)
    weights[[0, -1]] = 1.0
    weights *= (z[1] - z[0]) / 3 * scipy.stats.norm.pdf(z)
    result = []
    for i, score in enumerate(scores):
        beaten = [scipy.stats.norm.cdf(z + score - other) for j, other in enumerate(scores) if j != i]
        result.append(float(np.sum(weights * np.prod(beaten, axis=0))))
    return np.array(result)


@pytest.mark.parametrize(("moved", "low", "high"), [("general", -1, 1), ("monotone", 0, 1)])
@pytest.mark.parametrize("candidates", [2, 3, 4])
def test_gaussian_selection_covers_quadrature(moved: Any, low: int, high: int, candidates: int) -> None:
    """delta of the index under Gaussian noise, at corners of the change and many score vectors, stays
    below the certificate; for two candidates it is attained.
    """
    proof = build.report_noisy_max(
        sensitivity=1, scale=1, range=moved, noise="gaussian", candidates=candidates
    )
    epsilon = 0.5
    claim = ApproxDP(epsilon="1/2", delta=1, adjacency=Adjacency.ADD_REMOVE)
    bound = float(proof.certify(claim).bound)
    rng = np.random.default_rng(7)
    starts = [rng.normal(0, 1.5, candidates).tolist() for _ in range(12)]
    if candidates == 2:
        starts = [[gap, 0.0] for gap in np.linspace(-3, 3, 61)]
    worst = 0.0
    for start, step in itertools.product(starts, itertools.product((low, high), repeat=candidates)):
        p, q = gaussian_winner(start), gaussian_winner([s + d for s, d in zip(start, step, strict=True)])
        worst = max(worst, float(np.maximum(p - math.exp(epsilon) * q, 0).sum()))
    assert worst <= bound + 1e-9
    if candidates == 2:
        assert worst > 0.99 * bound


def test_gaussian_selection_of_one_coordinate() -> None:
    """One score that moves by D among K: mu^2 = (1 - 1/K) D^2 / v, exactly."""
    proof = build.report_noisy_max(
        sensitivity=2, scale=3, range="one_coordinate", noise="gaussian", candidates=4
    )
    assert proof.certify(GaussianDP(mu=2)).bound ** 2 == pytest.approx(
        Fraction(3, 4) * Fraction(4, 9), rel=1e-15
    )


def test_finite_table_by_hand() -> None:
    """A 3 by 3 table: epsilon is the largest column ratio, delta the largest sum of positive parts,
    composition by enumeration.
    """
    table = [
        [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)],
        [Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)],
        [Fraction(1, 8), Fraction(1, 8), Fraction(3, 4)],
    ]
    proof = build.finite_mechanism(table)
    assert float(proof.certify(PureDP(epsilon=9)).bound) == pytest.approx(math.log(4), rel=1e-12)

    def delta(copies: int, epsilon: float) -> float:
        worst = 0.0
        for i, j in itertools.permutations(range(3), 2):
            total = 0.0
            for outcome in itertools.product(range(3), repeat=copies):
                p = math.prod(float(table[i][y]) for y in outcome)
                q = math.prod(float(table[j][y]) for y in outcome)
                total += max(0.0, p - math.exp(epsilon) * q)
            worst = max(worst, total)
        return worst

    assert float(proof.certify(ApproxDP(epsilon="1/2", delta=1)).bound) == pytest.approx(
        delta(1, 0.5), rel=1e-12
    )
    twice = (
        build.compose_sequential([proof], times=[2], grid=LossGrid())
        .certify(ApproxDP(epsilon="1/2", delta=1))
        .bound
    )
    assert delta(2, 0.5) <= float(twice)
    with pytest.raises(CertificateError, match="sum to 1"):
        build.finite_mechanism([[1, 0], ["1/2", "1/3"]])
    impossible = build.finite_mechanism([[1, 0], ["1/2", "1/2"]])
    with pytest.raises(CertificateError, match="must bound epsilon"):
        impossible.certify(PURE)
    assert impossible.certify(ApproxDP(epsilon=5, delta=1)).bound == Fraction(1, 2)


def test_group_privacy_needs_a_user_claim() -> None:
    """k events per user multiply epsilon by k, mu by k and rho by k^2, with the declaration as an
    assumption; an event claim refuses it.
    """
    both = build.compose_sequential([build.laplace_mechanism(sensitivity=1, scale=10)])
    proof = build.group_privacy(both, events=3, declared="at most three visits")
    certificate = proof.certify(PureDP(epsilon=1, unit=Unit.USER))
    assert certificate.bound == Fraction(3, 10)
    assert "three visits" in certificate.assumptions[0]
    gaussian = build.group_privacy(build.gaussian_mechanism(sensitivity=1, scale=2), events=3, declared="x")
    assert gaussian.certify(GaussianDP(mu=9, unit=Unit.USER)).bound == Fraction(3, 2)
    assert gaussian.certify(ZeroConcentratedDP(rho=9, unit=Unit.USER)).bound == Fraction(9, 8)
    with pytest.raises(CertificateError, match="per user"):
        proof.certify(PURE)


def test_joint_privacy_needs_a_joint_view() -> None:
    """The billboard rule speaks in the view of everybody but one user, and nowhere else."""
    proof = build.billboard(
        build.laplace_mechanism(sensitivity=1, scale=2), actions="best arm for the own type"
    )
    joint = PureDP(epsilon=1, view=View.everybody_but(user(3)))
    assert proof.certify(joint).bound == Fraction(1, 2)
    assert proof.certify(joint).strength == "accounted"
    for view in (View.of(PUBLIC), View.everybody_but(user(1), user(2))):
        with pytest.raises(CertificateError, match="everybody but one"):
            proof.certify(PureDP(epsilon=1, view=view))


def test_accounting_with_loss_distributions_is_tighter() -> None:
    """A declared accounting of 40 touches composes by loss distributions: below the sum of parameters, above
    one touch, and the bound passes the kernel.
    """
    claim = ApproxDP(epsilon=1, delta=1)
    step = Site("sum", touches=40, mechanism=build.laplace_mechanism(sensitivity=1, scale=20, dimension=1))
    loose = build.accounted([step], declared="d").certify(claim)
    tight = build.accounted([step], declared="d", grid=LossGrid()).certify(claim)
    assert 0 < tight.bound < loose.bound
    assert kernel.check(tight, claim) <= tight.bound


def test_skellam_through_trees_and_accounting() -> None:
    """Noise without pure or GDP bound composes by loss distributions and by its Renyi curve: a tree of 8
    leaves costs four nodes. Without a grid delta is 1, unless orders are listed for the conversion.
    """
    node = build.integer_noise("skellam", sensitivity=1, variance=100)
    claim = ApproxDP(epsilon=1, delta=1)
    tree = build.tree_mechanism(node, leaves=8, grid=LossGrid()).certify(claim).bound
    four = build.compose_sequential([node], times=[4], grid=LossGrid()).certify(claim).bound
    assert tree == four < Fraction(1, 100)
    assert build.tree_mechanism(node, leaves=8).certify(claim).bound == 1
    renyi = RenyiDP(order=2, epsilon=1)
    once, nodes = (proof.certify(renyi).bound for proof in (node, build.tree_mechanism(node, leaves=8)))
    assert nodes == pytest.approx(4 * once, rel=1e-15)
    orders = [8, 16, 32, 64]
    listed = build.compose_sequential([node], times=[4], orders=orders).certify(claim).bound
    assert four < listed < Fraction(1, 100)


def test_parallel_takes_the_worst_profile() -> None:
    """Two cells with Skellam noise of different widths: delta is that of the narrower noise."""
    wide, narrow = (build.integer_noise("skellam", sensitivity=1, variance=v) for v in (100, 10))
    claim = ApproxDP(epsilon=1, delta=1)
    assert build.compose_parallel([wide, narrow]).certify(claim).bound == pytest.approx(
        narrow.certify(claim).bound, rel=1e-15
    )


@pytest.mark.parametrize("noise", ["laplace", "gumbel", "exponential"])
@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.7, 1.2, 1.9])
@pytest.mark.parametrize("moved", ["general", "monotone"])
def test_two_candidates_are_exact(noise: Any, epsilon: float, moved: Any) -> None:
    """With two candidates, delta is the largest value over a fine grid of score gaps, found with the
    noise's own cdf: attained, not only bounded.
    """
    proof = build.report_noisy_max(sensitivity=1, scale=1, range=moved, noise=noise, candidates=2)
    claim = ApproxDP(epsilon=str(epsilon), delta=1, adjacency=Adjacency.ADD_REMOVE)
    bound = float(proof.certify(claim).bound)
    reach = 2.0 if moved == "general" else 1.0
    gaps = np.linspace(-40, 40, 400_001)
    difference = {
        "laplace": lambda x: np.where(
            x < 0, (2 - x) * np.exp(-np.abs(x)) / 4, 1 - (2 + x) * np.exp(-np.abs(x)) / 4
        ),
        "gumbel": lambda x: scipy.stats.logistic.cdf(x),
        "exponential": lambda x: scipy.stats.laplace.cdf(x),
    }[noise]
    largest = float(np.max(difference(gaps + reach) - math.exp(epsilon) * difference(gaps)))
    assert bound == pytest.approx(max(largest, 0.0), abs=2e-8)
    assert bound >= largest - 1e-13


def test_difference_of_two_laplace_variables() -> None:
    """The survival function used for two Laplace candidates, against the convolution of two densities."""
    z = np.linspace(-40, 40, 80_001)
    density = scipy.stats.laplace.pdf(z)
    for x in (-3.0, -0.5, 0.0, 1.0, 4.0):
        convolved = float(np.trapezoid(density * scipy.stats.laplace.sf(z + x), z))
        closed = (2 + x) * math.exp(-x) / 4 if x >= 0 else 1 - (2 - x) * math.exp(x) / 4
        assert convolved == pytest.approx(closed, abs=1e-6)
