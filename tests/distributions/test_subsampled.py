"""Check the sum over a Poisson subsample with Gaussian noise against subsets, integrals and samples."""

from __future__ import annotations

import json
import math
import pickle
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.stats

import dpaudit.distributions as distributions
from dpaudit.core.errors import InvalidParameterError, NotTractableError
from dpaudit.distributions import SubsampledGaussianSum, distribution_from_json
from tests.errors import raises
from tests.rates import FALSE_FAILURE_RATE

NUMBERS = SubsampledGaussianSum([1, "-1/2", 0.25, 1], rate="1/3", sigma="3/2")
VECTORS = SubsampledGaussianSum([[1, 0], [0.5, -1], [0, 0]], rate="1/4", variance=2)
EMPTY = SubsampledGaussianSum([], rate="1/4", variance=2)


def by_subsets(rows: list[list[float]], rate: float, sigma: float, point: Any) -> float:
    """Return the density as a sum over subsets."""
    total = 0.0
    for chosen in product((0, 1), repeat=len(rows)):
        chance = math.prod(rate if c else 1 - rate for c in chosen)
        centre = np.array(rows).T @ np.array(chosen)
        total += chance * float(np.prod(scipy.stats.norm.pdf(np.atleast_1d(point), centre, sigma)))
    return total


def test_density_is_the_mixture_over_all_subsets() -> None:
    """Floats and balls equal the sum over subsets, for numbers and for vectors, near and far."""
    for point in (-1.0, 0.3, 2.5, 9.0):
        expected = math.log(by_subsets([[1.0], [-0.5], [0.25], [1.0]], 1 / 3, 1.5, point))
        assert float(NUMBERS.logp(point)) == pytest.approx(expected, rel=1e-12)
        assert float(NUMBERS.logp_ball(point).mid()) == pytest.approx(expected, rel=1e-12)
    points = np.array([[0.0, 0.0], [3.0, -2.0], [-7.0, 1.0]])
    expected = [math.log(by_subsets([[1, 0], [0.5, -1]], 0.25, math.sqrt(2), point)) for point in points]
    assert VECTORS.logp(points) == pytest.approx(expected, rel=1e-12)
    assert float(VECTORS.logp_ball(points[1]).mid()) == pytest.approx(expected[1], rel=1e-12)
    assert float(EMPTY.logp(1.0)) == pytest.approx(scipy.stats.norm.logpdf(1.0, 0, math.sqrt(2)), rel=1e-12)
    assert NUMBERS.logp(np.array([np.inf, -np.inf])).tolist() == [-np.inf, -np.inf]


def test_cdf_is_the_integral_of_the_density() -> None:
    """cdf, sf, their balls and the inverse agree with the integral, also in the tails."""
    for low, high in ((-9.0, -2.0), (-2.0, 0.5), (0.5, 4.0)):
        mass, _ = scipy.integrate.quad(lambda x: math.exp(float(NUMBERS.logp(x))), low, high, epsabs=1e-13)
        assert mass == pytest.approx(float(NUMBERS.cdf(high) - NUMBERS.cdf(low)), rel=1e-9)
    for x in (-8.0, 0.25, 11.0):
        assert float(NUMBERS.cdf_ball(x).mid()) == pytest.approx(float(NUMBERS.cdf(x)), rel=1e-12)
        assert float(NUMBERS.sf_ball(x).mid()) == pytest.approx(float(NUMBERS.sf(x)), rel=1e-12)
    for q in (1e-12, 0.01, 0.5, 0.9, 1 - 1e-9):
        assert float(NUMBERS.cdf(NUMBERS.ppf(q))) == pytest.approx(q, rel=1e-6)
    assert NUMBERS.ppf([0.0, 1.0]).tolist() == [-np.inf, np.inf]
    assert (NUMBERS.cdf_ball(-np.inf), NUMBERS.sf_ball(-np.inf)) == (0, 1)


def test_samples_follow_the_distribution() -> None:
    """20,000 samples pass a Kolmogorov test, and another rate fails it. Mean and variance agree."""
    rng = np.random.default_rng(np.random.SeedSequence(41))
    draws = NUMBERS.sample(rng, (20_000,))
    assert scipy.stats.kstest(draws, NUMBERS.cdf).pvalue > FALSE_FAILURE_RATE
    other = SubsampledGaussianSum([1, "-1/2", 0.25, 1], rate="1/2", sigma="3/2")
    assert scipy.stats.kstest(draws, other.cdf).pvalue < FALSE_FAILURE_RATE
    assert NUMBERS.mean() == pytest.approx(1.75 / 3)
    assert NUMBERS.variance() == pytest.approx(2.25 + 2 / 9 * (1 + 0.25 + 0.0625 + 1))
    assert np.mean(draws) == pytest.approx(NUMBERS.mean(), abs=0.06)
    assert np.var(draws) == pytest.approx(NUMBERS.variance(), rel=0.06)
    vectors = VECTORS.sample(rng, (4, 5000))
    assert vectors.shape == (4, 5000, 2)
    assert np.mean(vectors, axis=(0, 1)) == pytest.approx([1.5 / 4, -1 / 4], abs=0.06)
    assert EMPTY.sample(rng, (3,)).shape == (3,)


def test_equal_distributions_are_equal() -> None:
    """Order and null records do not matter; JSON, pickle and repr give the distribution back."""
    assert SubsampledGaussianSum([1, 1, 0.25, "-1/2", 0], rate="1/3", variance="9/4") == NUMBERS
    assert SubsampledGaussianSum([1], rate="1/3", variance=1) != SubsampledGaussianSum(
        [[1]], rate="1/3", variance=1
    )
    empty = SubsampledGaussianSum(np.zeros((0, 3)), rate="1/3", variance=1)
    assert (empty.dimension, empty.event_ndim) == (3, 1)
    for distribution in (NUMBERS, VECTORS, EMPTY, empty):
        read = distribution_from_json(json.loads(json.dumps(distribution.to_json()), parse_float=pytest.fail))
        for copy in (
            read,
            pickle.loads(pickle.dumps(distribution)),
            eval(repr(distribution), vars(distributions)),
        ):
            assert copy == distribution
            assert hash(copy) == hash(distribution)
            assert copy.event_ndim == distribution.event_ndim


def test_many_records_are_sampled_and_few_are_written_out() -> None:
    """A thousand different records have no density, and sixty equal records have one."""
    many = SubsampledGaussianSum(np.arange(1, 1001) / 7, rate="1/100", sigma=1)
    assert many.sample(np.random.default_rng(1), (2,)).shape == (2,)
    with raises(NotTractableError, code="E-TERMS-TOO-MANY"):
        many.logp(0.0)
    equal = SubsampledGaussianSum([1] * 60, rate="1/10", sigma=1)
    expected = sum(
        float(scipy.stats.binom.pmf(k, 60, 0.1)) * float(scipy.stats.norm.pdf(4.0, k, 1)) for k in range(61)
    )
    assert float(equal.logp(4.0)) == pytest.approx(math.log(expected), rel=1e-10)


@pytest.mark.parametrize(
    "make",
    [
        lambda: SubsampledGaussianSum([1], rate="3/2", sigma=1),
        lambda: SubsampledGaussianSum([1], rate="1/2", sigma=0),
        lambda: SubsampledGaussianSum([1], rate="1/2"),
        lambda: SubsampledGaussianSum([1], rate="1/2", sigma=1, variance=1),
        lambda: SubsampledGaussianSum([1, [1, 2]], rate="1/2", sigma=1),
        lambda: SubsampledGaussianSum([np.nan], rate="1/2", sigma=1),
        lambda: distribution_from_json({**NUMBERS.to_json(), "rate": 0.5}),
        lambda: distribution_from_json({**NUMBERS.to_json(), "records": [["1", "2"]]}),
        lambda: distribution_from_json({**NUMBERS.to_json(), "records": "1"}),
        lambda: distribution_from_json({**NUMBERS.to_json(), "more": "1"}),
        lambda: NUMBERS.logp_ball([1.0, 2.0]),
        lambda: VECTORS.logp_ball(1.0),
    ],
)
def test_what_is_refused(make: Any) -> None:
    """Bad rates, missing noise, ragged records, foreign files and outcomes of other shapes are refused."""
    with pytest.raises(InvalidParameterError):
        make()


def test_a_vector_has_no_cdf() -> None:
    """The cdf, quantiles and moments are refused for vectors."""
    for call in (
        lambda: VECTORS.cdf(0.0),
        lambda: VECTORS.ppf(0.5),
        lambda: VECTORS.sf_ball(0.0),
        VECTORS.mean,
    ):
        with raises(NotTractableError, code="E-DISTRIBUTION-NOT-SCALAR"):
            call()


def test_an_outcome_far_out_points_at_the_changed_record() -> None:
    """An outcome in the direction of an additional record has a large loss."""
    more, less = (
        SubsampledGaussianSum(rows, rate="1/4", variance=2) for rows in ([[1, 0], [0, 2]], [[1, 0]])
    )
    point = more.outcome_against(less, 8.0)
    assert float(more.logp(point) - less.logp(point)) > 3
    one, none = (SubsampledGaussianSum(rows, rate=Fraction(1, 4), variance=2) for rows in ([1], []))
    assert one.outcome_against(none, 8.0) > 0 > none.outcome_against(one, 8.0)
