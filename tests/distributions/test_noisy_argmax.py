"""Check the distribution of the argmax of noisy scores, in floats and balls, against other computations."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import special, stats

from dpaudit.core.errors import InvalidParameterError, NotTractableError
from dpaudit.distributions import (
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Gumbel,
    Laplace,
    NoisyArgmax,
    distribution_from_json,
    shared_level,
)
from dpaudit.kernel.ball import lower, precision, upper
from tests.errors import raises
from tests.rates import FALSE_FAILURE_RATE

SCORES = {
    3: [0.5, 0.0, 2.25],
    5: [1.0, 1.0, -0.75, 3.5, 0.125],
}
NOISES = [Laplace(scale="3/2"), Exponential(scale=2), Gaussian(sigma="5/4"), Gumbel(scale=2)]


def quadrature(noise, scores, winner, digits=30):
    """Return P(winner) = ∫ f(z - q_i) Π F(z - q_j) dz by mpmath, with independent formulas."""
    b = mpmath.mpf(float(getattr(noise, "scale", 0)) or math.sqrt(noise.variance()))
    kind = type(noise).__name__
    density = {
        "Laplace": lambda u: mpmath.exp(-abs(u)) / 2,
        "Exponential": lambda u: mpmath.exp(-u) if u >= 0 else mpmath.mpf(0),
        "Gaussian": mpmath.npdf,
        "Gumbel": lambda u: mpmath.exp(-u - mpmath.exp(-u)),
    }[kind]
    below = {
        "Laplace": lambda u: mpmath.exp(u) / 2 if u < 0 else 1 - mpmath.exp(-u) / 2,
        "Exponential": lambda u: 1 - mpmath.exp(-u) if u >= 0 else mpmath.mpf(0),
        "Gaussian": mpmath.ncdf,
        "Gumbel": lambda u: mpmath.exp(-mpmath.exp(-u)),
    }[kind]
    with mpmath.workdps(digits):
        centres = [mpmath.mpf(q) / b for q in scores]
        kinks = sorted({*centres})
        points = [kinks[0] - 80, kinks[0] - 8, *kinks, kinks[-1] + 8, kinks[-1] + 80]

        def integrand(z):
            product = density(z - centres[winner])
            for j, centre in enumerate(centres):
                product *= below(z - centre) if j != winner else 1
            return product

        return mpmath.quad(integrand, points)


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.name)
@pytest.mark.parametrize("count", SCORES)
def test_floats_and_balls_agree_with_quadrature(noise, count):
    """For K = 3 and 5, floats and tight balls agree with an mpmath quadrature."""
    scores = SCORES[count]
    distribution = NoisyArgmax(np.array(scores), noise)
    for winner in range(count):
        expected = float(mpmath.log(quadrature(noise, scores, winner)))
        enclosure = distribution.logp_ball(winner)
        assert float(distribution.logp(winner)) == pytest.approx(expected, abs=1e-13)
        assert lower(enclosure) == pytest.approx(expected, abs=1e-13)
        assert upper(enclosure) - lower(enclosure) < 1e-13


@pytest.mark.parametrize("gap", [0.0, 0.25, 3.0, 40.0, 700.0])
def test_two_candidates_have_the_closed_form(gap):
    """For K = 2 and Laplace noise, a score lower by x scales wins with probability (2 + x) e^-x / 4."""
    distribution = NoisyArgmax(np.array([0.0, gap]), Laplace(scale=1))
    expected = math.log(2 + gap) - gap - math.log(4)
    assert float(distribution.logp(0)) == pytest.approx(expected, rel=1e-14)
    assert lower(distribution.logp_ball(0)) == pytest.approx(expected, rel=1e-14)
    three = NoisyArgmax(np.array([0.0, gap, -1e4]), Laplace(scale=1))  # the panels, with a hopeless third one
    assert float(three.logp(0)) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.name)
@pytest.mark.parametrize("spread", [0.0, 1.0, 60.0])
def test_floats_lie_in_the_balls_for_many_candidates(noise, spread):
    """For K = 40, floats agree with balls to 13 digits, also for probabilities far below 1e-300."""
    rng = np.random.default_rng(5)
    scores = np.round(rng.normal(size=40) * spread * 64) / 64
    distribution = NoisyArgmax(scores, noise)
    for winner in (int(np.argmax(scores)), 0, int(np.argmin(scores))):
        middle = float(distribution.logp_ball(winner).mid())
        assert float(distribution.logp(winner)) == pytest.approx(middle, rel=1e-13, abs=1e-13)


def test_sixty_four_candidates_sum_to_one_in_balls():
    """K = 64, Laplace: the enclosures of all probabilities sum to a ball around 1."""
    scores = [Fraction(j * j, 97) for j in range(64)]
    total = sum(p for _, p in NoisyArgmax(scores, Laplace(scale=7)).atoms())
    assert total.contains(1)
    assert float(total.rad()) < 1e-12


def test_higher_working_precision_gives_tighter_balls():
    """A caller who doubles the precision gets twice the digits, for the closed forms and for the integral."""
    for noise in NOISES:
        distribution = NoisyArgmax([0, 1, "5/2"], noise)
        with precision(200):
            assert float(distribution.logp_ball(0).rad()) < 2.0**-180


def test_gumbel_noise_is_the_exponential_mechanism():
    """Softmax, exactly: probabilities proportional to exp(score / scale)."""
    scores = np.array([[0.0, 1.0, 5.0], [2.0, 2.0, -900.0]])
    distribution = NoisyArgmax(scores, Gumbel(scale=2))
    for winner in range(3):
        expected = special.log_softmax(scores / 2, axis=-1)[:, winner]
        assert distribution.logp(np.full(2, winner)) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.name)
def test_samples_follow_the_distribution(noise):
    """40,000 samples pass a chi-square test, and the distribution of other scores fails it."""
    scores = np.array(SCORES[5])
    distribution = NoisyArgmax(scores, noise)
    counts = np.bincount(distribution.sample(np.random.default_rng(11), (40_000,)), minlength=5)
    wrong = NoisyArgmax(scores + np.array([0.5, 0, 0, 0, 0]), noise)
    for candidate, fits in ((distribution, True), (wrong, False)):
        expected = 40_000 * np.exp(candidate.logp(np.arange(5)))
        assert (
            stats.chisquare(counts, expected * counts.sum() / expected.sum()).pvalue > FALSE_FAILURE_RATE
        ) == fits


def test_leading_axes_are_independent_copies():
    """A batch is evaluated, sampled, summed in balls and inverted entry by entry."""
    scores = np.array([[0.0, 1.0], [3.0, 0.0], [5.0, 5.0]])
    distribution = NoisyArgmax(scores, Laplace(scale=2))
    singles = [NoisyArgmax(row, Laplace(scale=2)) for row in scores]
    outcome = np.array([0, 1, 1])
    assert distribution.batch_shape == (3,)
    assert distribution.sample(np.random.default_rng(0), (4,)).shape == (4, 3)
    each = [float(single.logp(x)) for single, x in zip(singles, outcome, strict=True)]
    assert distribution.logp(outcome) == pytest.approx(each, rel=1e-15)
    assert distribution.logp(np.stack([outcome, 1 - outcome])).shape == (2, 3)
    assert float(distribution.logp_ball(outcome)) == pytest.approx(sum(each), rel=1e-14)
    levels = np.array([0.05, 0.5, 0.95])
    assert distribution.ppf(levels).tolist() == [int(s.ppf(q)) for s, q in zip(singles, levels, strict=True)]
    assert distribution.cdf(np.array([0, 0, 1])) == pytest.approx(
        [math.exp(singles[0].logp(0)), math.exp(singles[1].logp(0)), 1.0]
    )


def test_the_inverse_cdf_returns_the_smallest_index_that_reaches_the_level():
    """ppf(q) = min{j : P(X <= j) >= q}, and uniform levels give the distribution."""
    distribution = NoisyArgmax(np.array(SCORES[5]), Laplace(scale=2))
    sums = np.cumsum(np.exp(distribution.logp(np.arange(5))))
    for q in (1e-9, 0.2, 0.7, 1 - 1e-9):
        assert int(distribution.ppf(q)) == int(np.argmax(sums >= q))
    assert distribution.cdf(np.array([-1, 4, 9])).tolist() == [0.0, 1.0, 1.0]


def test_a_common_shift_moves_nothing_and_a_larger_score_wins_more():
    """Probabilities depend only on differences of scores, and P(i) increases with score i."""
    base = [0, 1, 3]
    for noise in NOISES:
        one, moved = NoisyArgmax(base, noise), NoisyArgmax([q + 10 for q in base], noise)
        better = NoisyArgmax([1, 1, 3], noise)
        assert float(one.logp(0)) == pytest.approx(float(moved.logp(0)), abs=1e-15)
        assert lower(better.logp_ball(0)) > upper(one.logp_ball(0))


def test_report_noisy_max_attains_the_gallery_numbers():
    """At claim 0.1, the largest losses are 0.0946 (Laplace) and 0.1000 (exponential), at most 0.1."""
    pairs = [
        ([1] * 5, [2, 1, 1, 1, 1]),
        ([1] * 5, [2, 0, 0, 0, 0]),
        ([1] * 5, [0, 2, 2, 2, 2]),
        ([1, 1, 0, 0, 0], [0, 0, 1, 1, 1]),
    ]
    index = np.arange(5)
    for noise, truth in ((Laplace(scale=20), 0.0946), (Exponential(scale=20), 0.1)):
        losses = [
            np.abs(NoisyArgmax(a, noise).logp(index) - NoisyArgmax(b, noise).logp(index)).max()
            for a, b in pairs
        ]
        assert max(losses) == pytest.approx(truth, abs=1e-4)
        assert max(losses) <= 0.1 + 1e-12


def test_json_round_trip_and_equality():
    """Integers, floats and fractions are read back equal, and other scores or noise differ."""
    for scores in (np.array([1, 2]), np.array([[0.1, 0.2], [1.0, 2.0]]), [Fraction(1, 3), 2, "0.1"]):
        distribution = NoisyArgmax(scores, Laplace(scale=2))
        again = distribution_from_json(json.loads(json.dumps(distribution.to_json())))
        assert again == distribution
        assert hash(again) == hash(distribution)
    assert NoisyArgmax([1, 2], Laplace(scale=2)) != NoisyArgmax([1, 3], Laplace(scale=2))
    assert NoisyArgmax([1, 2], Laplace(scale=2)) != NoisyArgmax([1, 2], Laplace(scale=3))


def test_what_is_off_the_support_is_impossible():
    """Indices outside 0..K-1 and fractions have log-probability -inf, in floats and in balls."""
    distribution = NoisyArgmax([0, 1], Laplace(scale=1))
    assert distribution.logp(np.array([-1, 2, 0.5])).tolist() == [-np.inf] * 3
    assert all(float(distribution.logp_ball(x)) == -np.inf for x in (-1, 2, 0.5))


def test_one_candidate_always_wins():
    """With K = 1 the probability is 1, for any noise."""
    for noise in NOISES:
        distribution = NoisyArgmax([3], noise)
        assert float(distribution.logp(0)) == 0.0
        assert float(distribution.logp_ball(0)) == 0.0


def test_refusals_say_why():
    """Discrete noise, scores that are not finite, and noise that is not scalar are refused."""
    with raises(NotTractableError, code="E-NOISE-NOT-CONTINUOUS"):
        NoisyArgmax([0, 1], DiscreteLaplace(scale=1))
    with raises(InvalidParameterError, code="E-SCORES-NOT-FINITE"):
        NoisyArgmax(np.array([0.0, np.nan]), Laplace(scale=1))
    with raises(InvalidParameterError, code="E-SCORES-SHAPE"):
        NoisyArgmax(np.zeros((2, 0)), Laplace(scale=1))
    with raises(InvalidParameterError, code="E-DISTRIBUTION-NOT-SCALAR"):
        NoisyArgmax([0, 1], Laplace(scale=1).shift(np.zeros(2)))
    with raises(NotTractableError, code="E-NOISE-NOT-SUPPORTED"):
        NoisyArgmax([0, 1, 2], Laplace(scale=1).shift(1)).logp(0)
    with raises(NotTractableError, code="E-ATOMS-MISSING"):
        list(NoisyArgmax(np.zeros((2, 2)), Laplace(scale=1)).atoms())


def test_outcomes_of_another_shape_are_refused():
    """A batch requires one index per copy on the last axes."""
    distribution = NoisyArgmax(np.zeros((3, 2)), Laplace(scale=1))
    with raises(InvalidParameterError, code="E-OUTCOME-SHAPE"):
        distribution.logp(np.zeros(2))
    with raises(InvalidParameterError, code="E-OUTCOME-SHAPE"):
        distribution.logp_ball(1)


def test_an_integral_that_is_kept_is_the_one_that_is_computed() -> None:
    """Cached integrals equal computed ones bit by bit, and writing to a result changes no other result."""
    noise, wider = Laplace(scale=1), Laplace(scale=2)
    rows = np.random.default_rng(0).integers(-3, 4, size=(shared_level._SMALL, 3)) / 2
    rows = np.concatenate([rows, np.eye(3)])
    whole = shared_level.log_level_integral(noise, noise, rows, False)
    for _ in range(2):
        single = [shared_level.log_level_integral(noise, noise, row, False) for row in rows[-40:]]
        assert np.array_equal(single, whole[-40:])
        for result in single:
            result[...] = 0.0
    before = shared_level.log_level_integral(noise, noise, rows[-1], False)
    assert shared_level.log_level_integral(noise, noise, rows[-1], True) != before
    assert shared_level.log_level_integral(noise, wider, rows[-1], False) != before
    assert shared_level.log_level_integral(wider, noise, rows[-1], False) != before
