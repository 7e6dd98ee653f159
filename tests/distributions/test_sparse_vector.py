"""Check that the joint distribution of the sparse vector's answers is the true one, and that it reproduces
the exact truths of the literature."""

from __future__ import annotations

import itertools
import json
import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from dpaudit.core.errors import InvalidParameterError, NotTractableError
from dpaudit.distributions import (
    AboveThreshold,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Gumbel,
    Laplace,
    kernel_from_json,
)
from dpaudit.distributions.shared_level import log_between
from dpaudit.kernel.ball import exceeds, lower, precision, upper
from tests.errors import raises
from tests.rates import FALSE_FAILURE_RATE

EPSILON = "1/10"
LAPLACE = {"threshold_noise": Laplace(scale=20), "query_noise": Laplace(scale=40)}


def svt(number):
    """Return the flag-answering variants of Lyu, Su and Li (2017) at epsilon 1/10 with cut-off 1, by
    number."""
    return {
        1: AboveThreshold(threshold="1/2", **LAPLACE),
        2: AboveThreshold(threshold=1, **LAPLACE, resample_threshold=True),
        4: AboveThreshold(threshold=1, threshold_noise=Laplace(scale=40), query_noise=Laplace(scale="40/3")),
        5: AboveThreshold(
            threshold=1, threshold_noise=Laplace(scale=20), query_noise=None, max_positives=None
        ),
        6: AboveThreshold(
            threshold=1, threshold_noise=Laplace(scale=20), query_noise=Laplace(scale=20), max_positives=None
        ),
    }[number]


def patterns(n=10):
    """Return the input pairs of the literature for component-wise neighbours, in both directions."""
    half, ones = n // 2, [1] * n
    others = [
        [2, *ones[1:]],
        [0, *ones[1:]],
        [2] + [0] * (n - 1),
        [0] + [2] * (n - 1),
        [2] * half + [0] * (n - half),
        [2] * n,
        [0] * n,
    ]
    pairs = [(ones, other) for other in others] + [
        ([1] * half + [0] * (n - half), [0] * half + [1] * (n - half))
    ]
    return pairs + [(b, a) for a, b in pairs]


def complete_answers(n, cut_off):
    """Return all answer sequences of n queries: every bit string, or False... up to the first True."""
    if not cut_off:
        return [list(bits) for bits in itertools.product((False, True), repeat=n)]
    return [[False] * k + [True] for k in range(n)] + [[False] * n]


def worst_loss(kernel, cut_off):
    """Return the largest log-ratio over patterns and answers, +inf if an answer is possible on one input
    only."""
    worst = 0.0
    for left, right in patterns():
        for answers in by_length(complete_answers(10, cut_off)):
            n = answers.shape[1]
            here, there = (kernel.log_joint(list(side[:n]), list(answers.T)) for side in (left, right))
            with np.errstate(invalid="ignore"):
                loss = np.where(np.isneginf(here), -np.inf, here - there)
            worst = max(worst, float(loss.max()))
    return worst


def by_length(sequences):
    groups = {}
    for sequence in sequences:
        groups.setdefault(len(sequence), []).append(sequence)
    return [np.array(group) for group in groups.values()]


# The number itself


def quadrature(kernel, queries, answers):
    """Return ∫ f(z) Π P(noise on its side) dz by mpmath."""

    def cdf(noise, x):
        if isinstance(noise, Gaussian):
            return mpmath.ncdf(x / mpmath.sqrt(float(noise.sigma2)))
        u = x / float(noise.scale)
        if isinstance(noise, Exponential):
            return 1 - mpmath.exp(-u) if u > 0 else mpmath.mpf(0)
        return mpmath.exp(u) / 2 if u < 0 else 1 - mpmath.exp(-u) / 2

    def density(noise, x):
        if isinstance(noise, Gaussian):
            return mpmath.npdf(x, 0, mpmath.sqrt(float(noise.sigma2)))
        u = x / float(noise.scale)
        if isinstance(noise, Exponential):
            return mpmath.exp(-u) / float(noise.scale) if u > 0 else mpmath.mpf(0)
        return mpmath.exp(-abs(u)) / (2 * float(noise.scale))

    def integrand(z):
        value = density(kernel.threshold_noise, z)
        for q, answer in zip(queries, answers, strict=True):
            below = cdf(kernel.query_noise, z + kernel_threshold - q)
            value *= 1 - below if answer else below
        return value

    kernel_threshold = float(kernel.threshold)
    with mpmath.workdps(25):
        kinks = sorted({0.0, *(q - kernel_threshold for q in queries)})
        points = [kinks[0] - 300, kinks[0] - 30, *kinks, kinks[-1] + 30, kinks[-1] + 300]
        return float(mpmath.quad(integrand, points))


@pytest.mark.parametrize(
    ("threshold_noise", "query_noise"),
    [
        (Laplace(scale=2), Laplace(scale=4)),
        (Laplace(scale=3), Laplace(scale=3)),
        (Gaussian(sigma=2), Gaussian(sigma=3)),
        (Exponential(scale=2), Exponential(scale=3)),
        (Laplace(scale=2), Exponential(scale=3)),
    ],
    ids=["laplace", "equal scales", "gaussian", "exponential", "mixed"],
)
def test_floats_and_balls_agree_with_quadrature(threshold_noise, query_noise):
    """With three positives among six queries, floats and tight balls agree with an mpmath quadrature."""
    kernel = AboveThreshold(
        threshold="3/2", threshold_noise=threshold_noise, query_noise=query_noise, max_positives=3
    )
    queries, answers = [0.5, 2.0, 1.5, -4.0, 1.5, 3.25], [False, True, False, False, True, True]
    expected = math.log(quadrature(kernel, queries, answers))
    assert float(kernel.log_joint(queries, answers)) == pytest.approx(expected, abs=1e-12)
    enclosure = kernel.log_joint_ball(queries, answers)
    assert lower(enclosure) == pytest.approx(expected, abs=1e-12)
    assert upper(enclosure) - lower(enclosure) < 1e-13


@pytest.mark.parametrize("number", [1, 2, 4, 5, 6])
def test_the_answers_have_total_probability_one(number):
    """In balls: the probabilities of all complete answer sequences of four queries sum to 1."""
    kernel = svt(number)
    queries = [1, 0, 2, 1]
    sequences = complete_answers(4, kernel.max_positives is not None)
    total = sum(kernel.log_joint_ball(queries[: len(a)], a).exp() for a in sequences)
    assert total.contains(1)
    assert float(total.rad()) < 1e-13


def test_extending_a_session_splits_its_probability():
    """P(prefix) = P(prefix, False) + P(prefix, True), so conditional answers are well defined."""
    kernel = AboveThreshold(threshold=0, **LAPLACE, max_positives=3, resample_threshold=True)
    queries, prefix = [3.0, -50.0, 20.0, 7.0], [True, False, True]
    parts = [kernel.log_joint_ball(queries, [*prefix, answer]).exp() for answer in kernel.answers]
    assert sum(parts).overlaps(kernel.log_joint_ball(queries[:3], prefix).exp())


def test_resampling_makes_epochs_independent():
    """The joint distribution is the product over epochs if the threshold is drawn again, and only then."""
    queries, answers = [3.0, -9.0, 2.0, 5.0], [True, False, True, True]
    fresh = AboveThreshold(threshold=0, **LAPLACE, max_positives=3, resample_threshold=True)
    kept = AboveThreshold(threshold=0, **LAPLACE, max_positives=3)
    single = AboveThreshold(threshold=0, **LAPLACE)
    product = sum(float(single.log_joint(queries[a:b], answers[a:b])) for a, b in ((0, 1), (1, 3), (3, 4)))
    assert float(fresh.log_joint(queries, answers)) == pytest.approx(product, abs=1e-12)
    assert abs(float(kept.log_joint(queries, answers)) - product) > 0.01


def test_without_query_noise_the_threshold_lies_between():
    """P(answers) = P(largest False < level <= smallest True), by closed forms on all sides of the kink."""
    kernel = svt(5)
    cases = [
        ([1, 4], [False, True]),
        ([-30, -29.5], [False, True]),
        ([31, 31.0625], [False, True]),
        ([0], [True]),
        ([0], [False]),
    ]
    for queries, answers in cases:
        low = max((q - 1 for q, a in zip(queries, answers, strict=True) if not a), default=-np.inf)
        high = min((q - 1 for q, a in zip(queries, answers, strict=True) if a), default=np.inf)
        truth = float(
            mpmath.log(
                mpmath.quad(
                    lambda z: mpmath.exp(-abs(z) / 20) / 40,
                    sorted({low, high, *([0.0] if low < 0 < high else [])}),
                )
            )
        )
        assert float(kernel.log_joint(queries, answers)) == pytest.approx(truth, rel=1e-12)
        assert lower(kernel.log_joint_ball(queries, answers)) == pytest.approx(truth, rel=1e-12)
    assert float(kernel.log_joint([3, 2], [False, True])) == -np.inf
    assert float(kernel.log_joint_ball([3, 2], [False, True])) == -np.inf


@pytest.mark.parametrize(
    "distribution",
    [Laplace(scale=3), Exponential(scale=3), Gaussian(sigma=3)],
    ids=lambda distribution: distribution.name,
)
def test_interval_probabilities_keep_their_digits(distribution):
    """Short, long, far and straddling intervals against differences of 200-digit distribution functions."""
    below = {
        "laplace": lambda z: mpmath.exp(z / 3) / 2 if z < 0 else 1 - mpmath.exp(-z / 3) / 2,
        "exponential": lambda z: 1 - mpmath.exp(-z / 3) if z > 0 else mpmath.mpf(0),
        "gaussian": lambda z: mpmath.ncdf(z, 0, 3),
    }[distribution.name]
    ends = [
        (0.5, 0.5 + 2.0**-30),
        (-1.0, 2.0),
        (60.0, 60.5),
        (1.0, 90.0),
        (-np.inf, 1.0),
        (2.0, np.inf),
        (-70.0, -69.0),
        (60.0, 90.0),
    ]
    for low, high in ends:
        with mpmath.workdps(200):
            chance = below(mpmath.mpf(high)) - below(mpmath.mpf(low))
            truth = float(mpmath.log(chance)) if chance > 0 else -np.inf
        assert float(log_between(distribution, low, high)) == pytest.approx(truth, rel=1e-13)
    assert float(log_between(distribution, 2.0, 2.0)) == -np.inf


def test_without_threshold_noise_the_answers_are_independent():
    """With a known threshold, the joint distribution is a product of single comparisons."""
    kernel = AboveThreshold(threshold=1, threshold_noise=None, query_noise=Gaussian(sigma=2), max_positives=2)
    queries, answers = [0.0, 3.0, -60.0], [False, True, True]
    expected = stats.norm.logcdf(0.5) + stats.norm.logcdf(1) + stats.norm.logcdf(-30.5)
    assert float(kernel.log_joint(queries, answers)) == pytest.approx(expected, rel=1e-13)
    assert lower(kernel.log_joint_ball(queries, answers)) == pytest.approx(expected, rel=1e-13)


# The truths of the literature


@pytest.mark.parametrize(("number", "truth"), [(1, 0.0885), (2, 0.0882), (4, 0.1725), (6, 0.4200)])
def test_true_epsilon_on_the_patterns(number, truth):
    """The exact largest loss over all patterns and answers equals the published truth to 1e-4."""
    assert worst_loss(svt(number), svt(number).max_positives is not None) == pytest.approx(truth, abs=1e-4)


def test_without_query_noise_nothing_is_private():
    """In Algorithm 5, some answer is possible on one input and impossible on its neighbour."""
    kernel = svt(5)
    assert worst_loss(kernel, cut_off=False) == np.inf
    assert float(kernel.log_joint_ball([1, 2], [True, False])) == -np.inf
    assert lower(kernel.log_joint_ball([2, 1], [True, False])) > -10


def test_the_correct_variant_never_exceeds_its_claim():
    """Algorithm 1 has loss at most 1/10 on random neighbours, and Algorithm 4 exceeds it on some."""
    rng = np.random.default_rng(4)
    for _ in range(15):
        queries = rng.integers(-60, 60, size=6)
        neighbour = queries + rng.integers(-1, 2, size=6)
        for answers in complete_answers(6, cut_off=True)[::2]:
            n = len(answers)
            with precision(80):
                loss = svt(1).log_joint_ball(queries[:n].tolist(), answers) - svt(1).log_joint_ball(
                    neighbour[:n].tolist(), answers
                )
                assert not exceeds(loss, 0.1 + 1e-12)
    answers = [False] * 9 + [True]
    loss = svt(4).log_joint_ball([1] * 9 + [2], answers) - svt(4).log_joint_ball([2] * 9 + [0], answers)
    assert lower(loss) > 0.1 or lower(-loss) > 0.1


# Sampling


@pytest.mark.parametrize("number", [1, 2, 5, 6])
def test_samples_follow_the_joint_distribution(number):
    """20,000 sessions pass a chi-square test, and another threshold fails it."""
    kernel = svt(number)
    queries = [30.0, -20.0, 25.0, 10.0]
    draws = session(kernel, queries, np.random.default_rng(number), 20_000)
    rows, counts = np.unique(draws, axis=0, return_counts=True)
    wrong = AboveThreshold(
        threshold=15,
        threshold_noise=kernel.threshold_noise,
        query_noise=kernel.query_noise,
        max_positives=kernel.max_positives,
        resample_threshold=kernel.resample_threshold,
    )
    for candidate, fits in ((kernel, True), (wrong, False)):
        expected = len(draws) * np.exp(candidate.log_joint(queries, list(rows.T)))
        if fits:
            assert expected.sum() == pytest.approx(len(draws), rel=1e-2)
        statistic = ((counts - expected) ** 2 / np.maximum(expected, 1e-9))[
            (expected >= 5) | (not fits)
        ].sum()
        assert (stats.chi2.sf(statistic, len(rows)) > FALSE_FAILURE_RATE) == fits


def session(kernel, queries, rng, replicates):
    state, answers = kernel.open(), []
    for query in queries:
        answers.append(kernel.respond(state, query, rng, replicates))
    return np.stack(answers, axis=1)


def test_replicates_match_single_sessions():
    """log_joint over replicates equals single sessions, also with closed replicates and array queries."""
    kernel = AboveThreshold(threshold=0, **LAPLACE, max_positives=2)
    rng = np.random.default_rng(0)
    queries = [np.round(rng.normal(size=50) * 30), 5.0, np.round(rng.normal(size=50) * 30), -3.0, 8.0]
    draws = session(kernel, queries, rng, 50)
    together = kernel.log_joint(queries, list(draws.T))
    for r, row in enumerate(draws):
        spent = np.flatnonzero(np.cumsum(row) == 2)
        n = spent[0] + 1 if spent.size else len(row)
        mine = [float(np.broadcast_to(q, 50)[r]) for q in queries[:n]]
        assert together[r] == pytest.approx(float(kernel.log_joint(mine, row[:n].tolist())), abs=1e-12)
        assert not row[n:].any()
    broken = draws.copy()
    broken[:, :3] = True  # a third positive, after the channel is closed
    assert np.isneginf(kernel.log_joint(queries, list(broken.T))).all()


def test_a_closed_channel_answers_no_more():
    """After max_positives answers True, a query is refused, and never without a cut-off."""
    kernel = AboveThreshold(threshold=0, **LAPLACE, max_positives=2)
    rng, state = np.random.default_rng(0), kernel.open()
    answers = [kernel.respond(state, 1e6, rng) for _ in range(2)]
    assert answers == [True, True]
    assert type(answers[0]) is bool
    with raises(InvalidParameterError, code="E-CHANNEL-CLOSED", match="2 of max_positives=2"):
        kernel.respond(state, 0.0, rng)
    with raises(InvalidParameterError, code="E-SESSION-AFTER-CLOSE"):
        kernel.log_joint([1e6] * 3, [True, True, False])
    with raises(InvalidParameterError, code="E-SESSION-AFTER-CLOSE"):
        kernel.log_joint_ball([1e6] * 3, [True, True, False])
    endless, state = svt(6), svt(6).open()
    assert sum(endless.respond(state, 1e6, rng) for _ in range(50)) == 50


def test_the_same_seed_gives_the_same_session():
    """Sampling takes all randomness from the generator."""
    first, second = (session(svt(2), [1.0, 2.0], np.random.default_rng(5), 200) for _ in range(2))
    assert np.array_equal(first, second)


def test_json_round_trip_and_equality():
    """Kernels are read back equal, other parameters differ, and unknown kernels are refused."""
    for number in (1, 2, 4, 5, 6):
        assert kernel_from_json(json.loads(json.dumps(svt(number).to_json()))) == svt(number)
    assert svt(1) != svt(2)
    with raises(InvalidParameterError, code="E-KERNEL-UNKNOWN"):
        kernel_from_json({"kernel": "oracle"})
    with raises(InvalidParameterError, code="E-KERNEL-FIELDS"):
        kernel_from_json({"kernel": "above-threshold"})


def test_refusals_say_why():
    """Missing or unsupported noise, a bad cut-off, and bad queries and answers are refused."""
    with raises(InvalidParameterError, code="E-NOISE-MISSING"):
        AboveThreshold(threshold=0, threshold_noise=None, query_noise=None)
    with raises(InvalidParameterError, code="E-NOISE-NOT-CONTINUOUS"):
        AboveThreshold(threshold=0, threshold_noise=DiscreteLaplace(scale=1), query_noise=None)
    with raises(NotTractableError, code="E-NOISE-NOT-SUPPORTED"):
        AboveThreshold(threshold=0, threshold_noise=Gaussian(sigma=1), query_noise=Laplace(scale=1))
    with raises(NotTractableError, code="E-NOISE-NOT-SUPPORTED", match="gumbel"):
        AboveThreshold(threshold=0, threshold_noise=Gumbel(scale=1), query_noise=None)
    with raises(InvalidParameterError, code="E-MAX-POSITIVES-RANGE"):
        AboveThreshold(threshold=0, **LAPLACE, max_positives=0)
    with pytest.raises(InvalidParameterError, match="threshold must be finite"):
        AboveThreshold(threshold=float("nan"), **LAPLACE)
    kernel = svt(1)
    with raises(InvalidParameterError, code="E-QUERY-NOT-FINITE"):
        kernel.respond(kernel.open(), float("nan"), np.random.default_rng(0))
    with raises(InvalidParameterError, code="E-QUERY-SHAPE"):
        kernel.respond(kernel.open(), np.zeros(3), np.random.default_rng(0))
    with raises(InvalidParameterError, code="E-ANSWER-TYPE"):
        kernel.log_joint([1.0], [0.5])
    with raises(InvalidParameterError, code="E-SESSION-LENGTH"):
        kernel.log_joint([1.0, 2.0], [True])
