"""Links of generalized linear bandits: moments of the distribution, derivatives of the log-partition, closed
forms."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from flint import arb_series
from scipy import stats

from dpaudit.core.errors import InvalidParameterError
from dpaudit.kernel.ball import arb, ball, lower, precision, upper
from dpaudit.reference.algorithms.contextual.links import (
    Linear,
    Link,
    Probit,
    bernoulli,
    finite_family,
    logistic,
    regularity,
)

SKEWED = finite_family("skewed", ("0", "1/3", "2"), ("1", "5", "1/100"))
LINKS: list[Link] = [logistic(), bernoulli("5/2"), SKEWED, Probit(), Linear()]
SCORES = np.array([-9.0, -2.5, -0.3, 0.0, 0.7, 4.0])


@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.name)
def test_floats_and_balls_say_the_same(link: Link) -> None:
    """Each float function is within rounding of its ball, at scores on both sides of 0."""
    for i, score in enumerate(SCORES):
        exact = link.at(ball(Fraction(float(score))))
        floats = [f(SCORES)[i] for f in (link.log_partition, link.mean, link.slope, link.curvature)]
        assert np.allclose(floats, [float(value.mid()) for value in exact], rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.name)
def test_moments_are_derivatives_of_the_log_partition(link: Link) -> None:
    """Central differences of b, mu and mu' come out as the next function, by no moment at all."""
    step = 1e-5
    chain = [link.log_partition, link.mean, link.slope, link.curvature]
    for lower_one, higher in pairwise(chain):
        slope = (lower_one(SCORES + step) - lower_one(SCORES - step)) / (2 * step)
        assert np.allclose(slope, higher(SCORES), atol=2e-9 * max(1, np.abs(lower_one(SCORES)).max()))


def test_power_series_of_the_log_partition_has_the_moments_as_coefficients() -> None:
    """log Σ w exp(r (z + t)) expanded in t by ball arithmetic has mean, variance/2, third moment/6."""
    with precision(160):
        for score in (ball(Fraction(-7, 3)), arb(2)):
            terms = zip(SKEWED.support, SKEWED.weights, strict=True)
            series = sum(
                (ball(w) * (ball(r) * arb_series([score, 1], prec=4)).exp() for r, w in terms),
                arb_series([0], prec=4),
            ).log()
            found = SKEWED.at(score)
            wanted = [found.log_partition, found.mean, found.slope / 2, found.curvature / 6]
            assert all(series[k].overlaps(value) for k, value in enumerate(wanted))
            assert all(value.rel_accuracy_bits() > 100 for value in wanted)


def test_closed_forms_of_bernoulli_rewards() -> None:
    """mu = R/(1 + exp(-R z)), mu' = mu (R - mu), mu'' = mu' (R - 2 mu)."""
    link, top = bernoulli("5/2"), 2.5
    mean = top / (1 + np.exp(-top * SCORES))
    assert np.allclose(link.mean(SCORES), mean)
    assert np.allclose(link.slope(SCORES), mean * (top - mean), atol=1e-14)
    assert np.allclose(link.curvature(SCORES), mean * (top - mean) * (top - 2 * mean), atol=1e-14)


@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.name)
def test_draws_have_the_mean(link: Link) -> None:
    """20 000 draws at each score: the mean within 5 deviations, rewards within [0, R] where R is named."""
    rng = np.random.default_rng(7)
    drawn = link.draw(np.tile(SCORES, (20_000, 1)), rng)
    apart = np.abs(drawn.mean(axis=0) - link.mean(SCORES))
    assert (apart <= 5 * drawn.std(axis=0) / np.sqrt(20_000) + 1e-3).all()
    if link.largest_reward is not None:
        assert drawn.min() >= 0
        assert drawn.max() <= float(link.largest_reward)


def test_draws_of_a_family_have_its_masses() -> None:
    """A chi-square test of 20 000 draws at score 1 against the exact masses."""
    drawn = SKEWED.draw(np.full(20_000, 1.0), np.random.default_rng(11))
    counts = [(drawn == float(r)).sum() for r in SKEWED.support]
    masses = np.array([float(p.mid()) for p in SKEWED.masses_at(arb(1))])
    assert stats.chisquare(counts, 20_000 * masses).pvalue > 1e-4


def test_regularity_encloses_a_dense_grid() -> None:
    """m <= b'' <= M and abs(b''') <= L at 1001 scores, and m is within a tenth of the smallest one."""
    grid = np.linspace(-1, 1, 1001)
    for link in (logistic(), bernoulli(2), SKEWED):
        found = regularity(link, radius=Fraction(1))
        slopes = link.slope(grid)
        assert upper(found.smallest_slope) <= slopes.min() <= 1.2 * lower(found.smallest_slope)
        assert slopes.max() <= upper(found.largest_slope)
        assert np.abs(link.curvature(grid)).max() <= upper(found.largest_curvature)


@pytest.mark.parametrize(("support", "weights"), [(("1", "0"), "11"), (("0",), "1"), (("0", "1"), "10")])
def test_what_is_no_family_is_refused(support: tuple[str, ...], weights: str) -> None:
    """A support that falls, of one reward, or with a weight of 0."""
    with pytest.raises(InvalidParameterError):
        finite_family("wrong", support, tuple(weights))
