"""Check density, cdf, samples and tail ratios of the value of the largest noisy score."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.integrate
import scipy.stats

from dpaudit.core.errors import InvalidParameterError
from dpaudit.distributions import (
    DiscreteLaplace,
    Distribution,
    Exponential,
    Gaussian,
    Gumbel,
    Laplace,
    NoisyMaximum,
    distribution_from_json,
)
from tests.errors import raises
from tests.rates import FALSE_FAILURE_RATE

NOISES: list[Distribution] = [Laplace(scale=2), Gaussian(variance=2), Gumbel(scale=1), Exponential(scale=2)]
SCORES = [1, "1/2", -1.5, 1]


@pytest.mark.parametrize("noise", NOISES, ids=lambda distribution: distribution.name)
def test_density_is_the_derivative_of_the_cdf(noise: Distribution) -> None:
    """The integral of the density is the difference of the cdf, and balls and floats agree."""
    distribution = NoisyMaximum(SCORES, noise)
    for low, high in ((1.25, 2.0), (2.0, 5.5), (5.5, 9.0)):
        mass, _ = scipy.integrate.quad(
            lambda v: math.exp(float(distribution.logp(v))), low, high, epsabs=1e-12
        )
        assert mass == pytest.approx(float(distribution.cdf(high) - distribution.cdf(low)), rel=1e-9)
        assert float(distribution.sf(high)) == pytest.approx(1 - float(distribution.cdf(high)), rel=1e-9)
    for v in (1.25, 3.0, 8.0):
        assert float(distribution.logp_ball(v).mid()) == pytest.approx(float(distribution.logp(v)), rel=1e-12)
        assert float(distribution.cdf_ball(v).mid()) == pytest.approx(float(distribution.cdf(v)), rel=1e-12)
        assert (distribution.cdf_ball(v) + distribution.sf_ball(v)).overlaps(1)


@pytest.mark.parametrize("noise", NOISES, ids=lambda distribution: distribution.name)
def test_samples_follow_the_cdf(noise: Distribution) -> None:
    """20,000 samples pass a Kolmogorov test against the cdf, and the cdf of other scores fails it."""
    distribution = NoisyMaximum(SCORES, noise)
    draws = distribution.sample(np.random.default_rng(np.random.SeedSequence(5)), (20_000,))
    assert scipy.stats.kstest(draws, distribution.cdf).pvalue > FALSE_FAILURE_RATE
    other = NoisyMaximum([1, 1, 1, 1], noise)
    assert scipy.stats.kstest(draws, other.cdf).pvalue < FALSE_FAILURE_RATE


def test_the_lower_tail_pays_for_every_score() -> None:
    """Five scores that change by 1 have log-ratio 5/b below them, 2.5 times the claim at b = 2/epsilon."""
    noise = Laplace(scale=20)
    here, there = NoisyMaximum([1] * 5, noise), NoisyMaximum([2] * 5, noise)
    loss = here.logp_ball(-100) - there.logp_ball(-100)
    assert loss.overlaps(0.25)
    assert float(loss.mid()) == pytest.approx(0.25, rel=1e-15)


def test_one_sided_noise_has_an_end_that_moves() -> None:
    """With exponential noise, a value between the two largest scores is possible on one input only."""
    noise = Exponential(scale=20)
    here, there = NoisyMaximum([0, 0], noise), NoisyMaximum([0, 1], noise)
    assert here.logp_ball(Fraction(1, 2)).is_finite()
    assert not there.logp_ball(Fraction(1, 2)).is_finite()
    assert float(there.logp(0.5)) == -math.inf
    assert math.isfinite(float(here.logp(0.5)))
    assert there.support.lower == 1


def test_json_and_refusals() -> None:
    """JSON is read back equal, and discrete noise, no scores and malformed files are refused."""
    distribution = NoisyMaximum(SCORES, Laplace(scale="1/3"))
    assert distribution_from_json(distribution.to_json()) == distribution
    with raises(InvalidParameterError, code="E-NOISE-NOT-CONTINUOUS"):
        NoisyMaximum([1], DiscreteLaplace(scale=1))
    with raises(InvalidParameterError, code="E-SCORES-SHAPE"):
        NoisyMaximum([], Laplace(scale=1))
    for change in ({"scores": [1, 2]}, {"scores": "1"}, {"extra": 1}):
        with raises(InvalidParameterError, code="E-DISTRIBUTION-FIELDS"):
            distribution_from_json({**distribution.to_json(), **change})
