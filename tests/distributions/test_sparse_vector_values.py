"""Check the joint distribution and the loss of the sparse vector technique that releases values."""

from __future__ import annotations

import json
import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from dpaudit.core.errors import InvalidParameterError, NotTractableError
from dpaudit.distributions import Exponential, Gaussian, Laplace, ValuesAboveThreshold, kernel_from_json
from dpaudit.kernel.ball import lower, upper
from tests.errors import raises
from tests.rates import FALSE_FAILURE_RATE

NAN = float("nan")
KERNEL = ValuesAboveThreshold(
    threshold=1, threshold_noise=Laplace(scale=2), query_noise=Laplace(scale="3/2"), max_positives=2
)
ONE_SIDED = ValuesAboveThreshold(
    threshold=0, threshold_noise=Exponential(scale=2), query_noise=Exponential(scale=1), max_positives=None
)
SESSIONS = [
    ([0.5], [NAN]),
    ([0.5], [-3.0]),
    ([0.5, 2.0, -1.0], [NAN, NAN, 2.5]),
    ([0.5, 2.0, -1.0, 0.0], [NAN, 1.25, NAN, 8.0]),
    ([3.0, 3.0, 0.0], [NAN, NAN, -20.0]),
]


def integrated(kernel, queries, outcomes):
    """Return the joint density by its definition, integrated over the threshold by mpmath at fifty digits."""
    with mpmath.workdps(50):
        level, noise = kernel.threshold_noise, kernel.query_noise
        one_sided = isinstance(level, Exponential)
        b, c = (
            mpmath.mpf(distribution.scale.numerator) / distribution.scale.denominator
            for distribution in (level, noise)
        )

        def density(x, scale):
            if one_sided:
                return mpmath.exp(-x / scale) / scale if x >= 0 else mpmath.mpf(0)
            return mpmath.exp(-abs(x) / scale) / (2 * scale)

        def below(x):
            if one_sided:
                return 1 - mpmath.exp(-x / c) if x >= 0 else mpmath.mpf(0)
            return mpmath.exp(x / c) / 2 if x < 0 else 1 - mpmath.exp(-x / c) / 2

        threshold = mpmath.mpf(kernel.threshold.numerator) / kernel.threshold.denominator
        shown = [(q, v) for q, v in zip(queries, outcomes, strict=True) if not math.isnan(v)]
        hidden = [q for q, v in zip(queries, outcomes, strict=True) if math.isnan(v)]
        top = min((mpmath.mpf(v) - threshold for _, v in shown), default=mpmath.inf)
        kinks = sorted({mpmath.mpf(0), *(mpmath.mpf(q) - threshold for q in hidden)})
        start = mpmath.mpf(0) if one_sided else -mpmath.inf
        ends = [start, *(k for k in kinks if start < k < top), top]

        def inside(z):
            value = density(z, b)
            for q in hidden:
                value *= below(threshold + z - q)
            return value

        total = mpmath.quad(inside, ends) if top > start else mpmath.mpf(0)
        for q, v in shown:
            total *= density(mpmath.mpf(v) - q, c)
        return mpmath.log(total) if total else -mpmath.inf


@pytest.mark.parametrize("kernel", [KERNEL, ONE_SIDED], ids=["laplace", "exponential"])
@pytest.mark.parametrize(("queries", "outcomes"), SESSIONS)
def test_the_joint_density_is_the_integral(kernel, queries, outcomes):
    """Ball, float and an independent integral of the definition agree on the density of a session."""
    truth = integrated(kernel, queries, outcomes)
    enclosed = kernel.log_joint_ball(queries, outcomes)
    if truth == -mpmath.inf:
        assert upper(enclosed) == -math.inf
        assert kernel.log_joint(queries, outcomes) == -np.inf
        return
    assert float(truth) == pytest.approx(lower(enclosed), abs=1e-12)
    assert float(truth) == pytest.approx(upper(enclosed), abs=1e-12)
    assert float(kernel.log_joint(queries, outcomes)) == pytest.approx(float(truth), abs=1e-9)


def test_samples_follow_the_distribution():
    """The probability of "below", then a value under 2, agrees with 40,000 sessions."""
    queries, rng = [0.5, 1.5], np.random.default_rng(3)
    hits = 0
    for _ in range(40_000):
        state = KERNEL.open()
        first, second = (KERNEL.respond(state, query, rng) for query in queries)
        hits += math.isnan(first) and second < 2
    grid = np.linspace(-60, 2, 60_001)
    density = np.exp([float(KERNEL.log_joint(queries, [NAN, v])) for v in grid[::20]])
    chance = np.trapezoid(density, grid[::20])
    assert stats.binomtest(hits, 40_000, chance).pvalue > FALSE_FAILURE_RATE


def test_answers_after_chosen_ones_follow_the_conditional_distribution():
    """After a chosen "below", the next answer follows the conditional distribution."""
    queries, rng = [0.5, 1.5], np.random.default_rng(5)
    hits = 0
    for _ in range(4_000):
        state = KERNEL.open()
        KERNEL.take(state, queries[0], NAN)
        hits += KERNEL.respond_after(state, queries, [NAN], rng) < 2
    grid = np.linspace(-60, 2, 3_001)
    density = np.exp([float(KERNEL.log_joint(queries, [NAN, v])) for v in grid])
    chance = np.trapezoid(density, grid) / np.exp(float(KERNEL.log_joint(queries[:1], [NAN])))
    assert stats.binomtest(hits, 4_000, chance).pvalue > FALSE_FAILURE_RATE


def test_the_loss_grows_with_the_queries():
    """Algorithm 3 at epsilon 1/10 and c = 1 has loss n epsilon/2 for n - 1 answers "below" and a low
    value."""
    kernel = ValuesAboveThreshold(
        threshold=1, threshold_noise=Laplace(scale=20), query_noise=Laplace(scale=20)
    )
    for n in (2, 10, 30):
        answers = [NAN] * (n - 1) + [-200.0]
        here, there = [0.0] * n, [1.0] * n
        loss = kernel.log_joint_ball(here, answers) - kernel.log_joint_ball(there, answers)
        assert lower(loss) == pytest.approx(n / 20, abs=1e-4)


def test_files_and_faults():
    """A kernel is read back equal, and a closed channel, a wrong answer and Gaussian noise are refused."""
    assert kernel_from_json(json.loads(json.dumps(KERNEL.to_json()))) == KERNEL
    state, rng = KERNEL.open(), np.random.default_rng(1)
    for _ in range(2):
        KERNEL.respond(state, 1e9, rng)
    with raises(InvalidParameterError, code="E-CHANNEL-CLOSED"):
        KERNEL.respond(state, 1e9, rng)
    with raises(InvalidParameterError, code="E-SESSION-AFTER-CLOSE", match="value number 2"):
        KERNEL.log_joint([0, 0, 0], [1.0, 1.0, NAN])
    with raises(InvalidParameterError, code="E-ANSWER-TYPE"):
        KERNEL.log_joint([0], [True])
    with raises(NotTractableError, code="E-NOISE-NOT-SUPPORTED"):
        ValuesAboveThreshold(threshold=0, threshold_noise=Gaussian(sigma=1), query_noise=Laplace(scale=1))
    with raises(NotTractableError, code="E-REPLICATES-NOT-SUPPORTED"):
        KERNEL.respond(KERNEL.open(), 0.0, rng, 4)
