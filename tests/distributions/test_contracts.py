"""Check JSON, equality, atoms, log-concavity, supports and errors of every distribution."""

from __future__ import annotations

import json
import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpaudit.distributions as distributions
from dpaudit.core.errors import InvalidParameterError, NotTractableError
from dpaudit.distributions import (
    BaseMeasure,
    Bernoulli,
    Binomial,
    Categorical,
    Cauchy,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    PointMass,
    Polya,
    Product,
    RandomisedResponse,
    Skellam,
    Student,
    Truncated,
    distribution_from_json,
)
from dpaudit.kernel.ball import lower, precision, upper
from tests.distributions.catalogue import CASES, CONTINUOUS_CASES, INTEGER_CASES, Case, name
from tests.errors import raises


@pytest.mark.parametrize("case", CASES, ids=name)
def test_round_trips(case: Case) -> None:
    """JSON text, pickle and repr each give back an equal distribution with an equal hash, and no float is
    written."""
    text = json.dumps(case.distribution.to_json())
    read = distribution_from_json(json.loads(text, parse_float=pytest.fail))
    names = {**vars(distributions), "Fraction": Fraction}
    for copy in (
        read,
        pickle.loads(pickle.dumps(case.distribution)),
        eval(repr(case.distribution), names),
    ):
        assert copy == case.distribution
        assert hash(copy) == hash(case.distribution)


def test_distributions_with_other_parameters_differ() -> None:
    """All distributions of the catalogue are pairwise unequal, and the same distribution written in two ways
    is equal."""
    everything = [case.distribution for case in CASES]
    assert len(set(everything)) == len(everything)
    assert Gaussian(sigma="1.5") == Gaussian(variance="9/4")
    assert Categorical(weights=[2, 4]) == Categorical(probabilities=["1/3", "2/3"])
    assert Laplace(scale="0.5") == Laplace(scale=Fraction(1, 2))
    assert Bernoulli(p="1/2") != Binomial(trials=1, p="1/2")


@pytest.mark.parametrize("case", CASES, ids=name)
def test_broken_json_is_refused(case: Case) -> None:
    """A missing, an unknown or a float parameter, and an unknown distribution name, raise
    InvalidParameterError."""
    data = case.distribution.to_json()
    key = next(k for k in data if k != "law")
    for broken in (
        {k: v for k, v in data.items() if k != key},
        {**data, "extra": "1"},
        {**data, key: 0.5},
        {**data, "law": "unheard-of"},
    ):
        with pytest.raises(InvalidParameterError):
            distribution_from_json(broken)


@pytest.mark.parametrize("case", INTEGER_CASES, ids=name)
def test_log_concavity_flag_is_what_the_numbers_say(case: Case) -> None:
    """p(k)^2 >= p(k-1) p(k+1) holds around the mean if and only if the log-concavity flag is set."""
    ends = case.distribution.support
    reach = 3 * math.ceil(math.sqrt(case.distribution.variance())) + 5
    low = -reach if ends.lower is None else int(ends.lower)
    high = round(case.distribution.mean()) + reach if ends.upper is None else int(ends.upper)
    with precision(200):
        balls = [case.distribution.logp_ball(k) for k in range(low, high + 1)]
        seconds = [2 * b - a - c for a, b, c in zip(balls, balls[1:], balls[2:], strict=False)]
    assert not any(math.isinf(upper(b)) for b in balls)
    violated = any(s < 0 for s in seconds)
    assert violated is not case.distribution.log_concave.holds
    assert case.distribution.log_concave.reason


def _ends(case: Case, low: float, high: float) -> tuple[float, float]:
    """Return the ends of the support, or ``low`` and ``high`` where it is infinite."""
    ends = case.distribution.support
    lower, upper = ends.lower, ends.upper
    return (low if lower is None else float(lower), high if upper is None else float(upper))


@pytest.mark.parametrize("case", CONTINUOUS_CASES, ids=name)
def test_densities_are_log_concave(case: Case) -> None:
    """The flag is set if and only if no second difference of the log-density is positive on a grid."""
    sd = case.spread
    start, end = _ends(case, -6 * sd, 6 * sd)
    y = case.distribution.logp(np.linspace(start, end, 501))
    assert case.distribution.log_concave.reason
    assert bool(np.all(np.diff(y, 2) <= 1e-12)) is case.distribution.log_concave.holds


@pytest.mark.parametrize("shape", ["1/10", "99/100", "1", "101/100", "7"])
def test_polya_is_log_concave_from_shape_one_on(shape: str) -> None:
    """The flag changes at shape 1, like the sign of p(1)^2 - p(0) p(2) = r rho^2 (r - (r+1)/2) p(0)^2."""
    distribution = Polya(shape=shape, ratio="1/2")
    with precision(256):
        gap = 2 * distribution.logp_ball(1) - distribution.logp_ball(0) - distribution.logp_ball(2)
    assert distribution.log_concave.holds is (Fraction(shape) >= 1)
    assert (lower(gap) > -1e-60) is distribution.log_concave.holds


@pytest.mark.parametrize(
    ("distribution", "holds"),
    [
        (RandomisedResponse(symbols=2, truth=1, epsilon=3), True),
        (RandomisedResponse(symbols=3, truth=1, epsilon=1), True),
        (RandomisedResponse(symbols=3, truth=0, epsilon=1), False),
        (RandomisedResponse(symbols=4, truth=1, epsilon=1), False),
        (RandomisedResponse(symbols=4, truth=1, epsilon=0), True),
        (RandomisedResponse(symbols=4, truth=1, keep="1/4"), True),
        (RandomisedResponse(symbols=4, truth=1, keep="1/8"), False),
        (RandomisedResponse(symbols=4, truth=3, keep="1/8"), True),
        (RandomisedResponse(symbols=4, truth=1, keep=0), False),
        (RandomisedResponse(symbols=4, truth=0, keep=0), True),
        (RandomisedResponse(symbols=4, truth=2, keep=1), True),
        (Categorical(weights=[1, 0, 1]), False),
        (Categorical(weights=[0, 1, 2, 1, 0]), True),
        (Categorical(weights=[4, 1, 1]), False),
    ],
    ids=repr,
)
def test_log_concavity_of_finite_distributions(
    distribution: distributions.LatticeDistribution, holds: bool
) -> None:
    """The flag of a finite distribution agrees with the definition in exact arithmetic."""
    ends = distribution.support
    p = [distribution.logp_ball(k).exp() for k in range(int(ends.lower or 0), int(ends.upper or 0) + 1)]
    violated = any(
        b * b < a * c or (b.is_zero() and not a.is_zero()) for a, b, c in zip(p, p[1:], p[2:], strict=False)
    )
    assert distribution.log_concave.holds is holds
    assert violated is not holds


@pytest.mark.parametrize("case", INTEGER_CASES, ids=name)
def test_atoms_enumerate_the_distribution(case: Case) -> None:
    """Atoms are distinct, have the right probabilities, come in order, and leave out at most the tail."""
    with precision(100):
        atoms = list(case.distribution.atoms(tail=1e-9))
        total = sum((p for _, p in atoms), start=0)
    values = [v for v, _ in atoms]
    assert len(set(values)) == len(values)
    assert upper(1 - total) <= 1e-9
    mids = np.array([float(p.mid()) for _, p in atoms])
    assert np.all(np.diff(mids) <= 1e-12 * mids[:-1])
    np.testing.assert_allclose(np.log(mids), case.distribution.logp(values), rtol=1e-12, atol=1e-12)
    if len(atoms) > 1:  # the last one was needed
        assert upper(1 - total + atoms[-1][1]) > 1e-9


@pytest.mark.parametrize("case", INTEGER_CASES, ids=name)
def test_atoms_without_a_tail_are_complete_or_refused(case: Case) -> None:
    """With tail=0, finite atoms are complete and sum to 1, and infinite distributions raise."""
    if not case.distribution.support.finite:
        with raises(NotTractableError, code="E-OUTCOMES-NOT-FINITE"):
            case.distribution.atoms()
        return
    with precision(100):
        total = sum((p for _, p in case.distribution.atoms()), start=0)
    assert total.contains(1)
    assert float(total.rad()) < 1e-25


def test_densities_have_no_atoms_and_impossible_outcomes_are_left_out() -> None:
    """A distribution with a density has no atoms, and outcomes of weight 0 are not atoms."""
    with raises(NotTractableError, code="E-ATOMS-MISSING"):
        Laplace(scale=1).atoms()
    assert [v for v, _ in Categorical(weights=[0, 3, 0, 1, 0]).atoms()] == [1, 3]
    assert [v for v, _ in RandomisedResponse(symbols=3, truth=1, keep=0).atoms()] == [0, 2]
    assert [v for v, _ in Binomial(trials=5, p=1).atoms()] == [5]


def test_tiny_tails_are_proved_not_guessed() -> None:
    """A tail of 1e-40, beyond the resolution of floats, is proved at a higher precision."""
    total = Fraction(0)
    with precision(53):
        for _, p in DiscreteLaplace(scale=1).atoms(tail=1e-40):
            total += Fraction(int(p.mid().man_exp()[0])) * Fraction(2) ** int(p.mid().man_exp()[1])
    assert 0 < 1 - total < Fraction(2, 10**40)


@pytest.mark.parametrize("case", CASES, ids=name)
def test_moments_match_the_density(case: Case) -> None:
    """mean and variance equal sums (or trapezoid sums) of the float density."""
    distribution = case.distribution
    if case.without_moments:
        assert isinstance(distribution, Cauchy | Student | Truncated)
        with pytest.raises(NotTractableError):
            distribution.mean()
        return
    centre, spread = distribution.mean(), math.sqrt(distribution.variance())
    if case.integer:
        x = np.arange(
            math.floor(centre - 60 * spread) - 40, math.ceil(centre + 60 * spread) + 40, dtype=float
        )
        step = 1.0
    else:
        start, end = _ends(case, centre - 45 * spread, centre + 45 * spread)
        x, step = np.linspace(start, end, 2_000_001, retstep=True)
    p = np.exp(distribution.logp(x)) * step
    if not case.integer:
        p[0] /= 2
    tolerance = 1e-12 if case.integer else 1e-7 if len(case.corners) == 1 else 3e-7
    assert (p * (x - centre)).sum() == pytest.approx(0, abs=tolerance * (spread + abs(centre)))
    assert (p * (x - centre) ** 2).sum() == pytest.approx(distribution.variance(), rel=100 * tolerance)


SCALED = {Laplace, Gaussian, distributions.Exponential, distributions.Gumbel, Cauchy, Student}
SCALED |= {distributions.Staircase, DiscreteLaplace, DiscreteGaussian, Skellam}


@pytest.mark.parametrize("case", CASES, ids=name)
def test_scaled_noise_is_the_noise_times_the_factor(case: Case) -> None:
    """A scaled density is that of factor X. On the integers the deviation grows by about the factor."""
    noise = case.distribution
    if type(noise) not in SCALED:
        with raises(InvalidParameterError, code="E-SCALE-MISSING", match=type(noise).__name__):
            noise.scaled(2)
        return
    wide = noise.scaled("5/2")
    assert wide.scaled("2/5") == noise == noise.scaled(1)
    assert noise.shift(3).scaled("5/2") == wide.shift(3)
    with raises(InvalidParameterError, code="E-PARAMETER-RANGE"):
        noise.scaled(0)
    if not case.integer:
        x = np.array([float(point) for point in case.points])
        np.testing.assert_allclose(wide.logp(x * 2.5), noise.logp(x) - math.log(2.5), rtol=1e-13)
    elif noise.variance() > 3:
        assert wide.variance() == pytest.approx(6.25 * noise.variance(), rel=0.05)


@pytest.mark.parametrize("case", CASES, ids=name)
def test_nan_and_text_are_refused_as_outcomes(case: Case) -> None:
    """NaN, text, complex numbers and None are refused as outcomes."""
    for method in (case.distribution.logp, case.distribution.cdf, case.distribution.sf):
        for x in (math.nan, np.array([0.0, math.nan]), "a", 1j, None):
            with pytest.raises(InvalidParameterError):
                method(x)
    for x in (math.nan, "a", None, np.array([1.0, 2.0])):
        with pytest.raises(InvalidParameterError):
            case.distribution.logp_ball(x)
    for q in (-0.1, 1.1, math.nan):
        with pytest.raises(InvalidParameterError):
            case.distribution.ppf(q)


ONE_PARAMETER: list[tuple[Any, str]] = [
    (distributions.Laplace, "scale"),
    (distributions.Cauchy, "scale"),
    (distributions.Exponential, "scale"),
    (distributions.Gumbel, "scale"),
    (distributions.Gaussian, "sigma"),
    (distributions.Gaussian, "variance"),
    (distributions.DiscreteLaplace, "scale"),
    (distributions.DiscreteGaussian, "sigma2"),
    (distributions.Skellam, "variance"),
    (distributions.Poisson, "rate"),
]


@pytest.mark.parametrize(("distribution", "key"), ONE_PARAMETER)
def test_impossible_scales_are_refused(distribution: Any, key: str) -> None:
    """Scales that are not positive, unparsable, infinite or far out of range raise, and a float is its
    decimal."""
    assert distribution(**{key: 0.1}) == distribution(**{key: "1/10"})
    for bad in (0, -1, "x", "1e-3000", "1e3000", None, True, 0.0, math.nan, math.inf):
        with pytest.raises(InvalidParameterError):
            distribution(**{key: bad})
    with pytest.raises(TypeError):
        distribution(1)


@pytest.mark.parametrize(("distribution", "key"), ONE_PARAMETER)
def test_arrays_of_parameters_point_to_product_and_shift(distribution: Any, key: str) -> None:
    """A list or an array as a parameter raises an error that names Product and shift."""
    for many in ([1, 2], np.array([1, 2]), (1, 2)):
        with raises(InvalidParameterError, code="E-PARAMETER-NOT-SCALAR", match=r"Product.*shift"):
            distribution(**{key: many})


@pytest.mark.parametrize(
    "make",
    [
        lambda: Gaussian(),
        lambda: Gaussian(sigma=1, variance=1),
        lambda: distributions.Poisson(rate=2**20 + 1),
        lambda: distributions.Staircase(epsilon=101),
        lambda: distributions.Staircase(epsilon=1, gamma=1),
        lambda: Truncated(Laplace(scale=1), lower=1, upper=1),
        lambda: Truncated(Laplace(scale=1), lower=20, upper=30),
        lambda: Truncated(Skellam(variance=1), lower=0, upper=3),
        lambda: Truncated(Laplace(scale=1).shift(np.zeros(2)), lower=0, upper=3),
        lambda: Polya(shape=1),
        lambda: Polya(shape=1, ratio="1/2", log_ratio=1),
        lambda: Polya(shape=0, ratio="1/2"),
        lambda: Polya(shape=1, ratio=1),
        lambda: Polya(shape=1, log_ratio=0),
        lambda: Binomial(trials="1/2", p="1/2"),
        lambda: Binomial(trials=-1, p="1/2"),
        lambda: Binomial(trials=2**60, p="1/2"),
        lambda: Binomial(trials=3, p=math.nan),
        lambda: Bernoulli(p="1.01"),
        lambda: Bernoulli(p=[0, 1]),
        lambda: Categorical(),
        lambda: Categorical(probabilities=["1/3", "1/3"]),
        lambda: Categorical(probabilities=[0.5, 0.4]),
        lambda: Categorical(weights=[]),
        lambda: Categorical(weights=[0, 0]),
        lambda: Categorical(weights=[1, -1, 2]),
        lambda: Categorical(weights="12"),
        lambda: Categorical.of_floats([math.nan, 1.0]),
        lambda: RandomisedResponse(symbols=1, truth=0, keep=1),
        lambda: RandomisedResponse(symbols=3, truth=3, keep=1),
        lambda: RandomisedResponse(symbols=3, truth=0),
        lambda: RandomisedResponse(symbols=3, truth=0, keep="3/2"),
        lambda: RandomisedResponse(symbols=3, truth=0, epsilon=-1),
        lambda: RandomisedResponse(symbols=3, truth=0, epsilon=1, keep=1),
        lambda: Product([]),
        lambda: Product([Laplace(scale=1).shift(np.zeros(2))]),
        lambda: Product([1]),  # type: ignore[list-item]
        lambda: PointMass(math.nan),
        lambda: PointMass(np.array(["a", "b"])),
        lambda: PointMass({"a": 1}),  # type: ignore[arg-type]
        lambda: PointMass(None),  # type: ignore[arg-type]
    ],
)
def test_contradictory_constructions_are_refused(make: Any) -> None:
    """Each of these calls raises InvalidParameterError before anything is computed."""
    with pytest.raises(InvalidParameterError):
        make()


def test_floating_weights_enter_as_the_numbers_that_they_are() -> None:
    """Categorical.of_floats keeps exact float values, so 0.1 and 0.3 are not in proportion 1 to 3."""
    distribution = Categorical.of_floats([0.1, 0.3])
    assert distribution.probability_of(0) == Fraction(0.1) / (Fraction(0.1) + Fraction(0.3))
    assert distribution != Categorical(weights=[1, 3])
    assert distribution.logp(1) == pytest.approx(math.log(0.75), rel=1e-14)


def test_randomised_response_by_epsilon_has_that_epsilon() -> None:
    """The log-ratio of the true and another symbol is epsilon, in balls and in floats."""
    distribution = RandomisedResponse(symbols=10, truth=4, epsilon="0.7")
    with precision(200):
        gap = distribution.logp_ball(4) - distribution.logp_ball(5)
    assert gap.overlaps(type(gap)("0.7"))
    assert lower(gap) == pytest.approx(0.7, abs=1e-15)
    assert float(distribution.logp(4) - distribution.logp(0)) == pytest.approx(0.7, abs=1e-15)


def test_base_measures() -> None:
    """Base measures are Lebesgue or counting, and Lebesgue for a mixed product."""
    for case in CASES:
        expected = BaseMeasure.COUNTING if case.integer else BaseMeasure.LEBESGUE
        assert case.distribution.base_measure is expected
        assert case.distribution.shift(1).base_measure is expected
    assert Product([Skellam(variance=1), Bernoulli(p=1)]).base_measure is BaseMeasure.COUNTING
    assert Product([Skellam(variance=1), Laplace(scale=1)]).base_measure is BaseMeasure.LEBESGUE


@pytest.mark.parametrize(
    "value", [3, -2.5, True, "stop", Fraction(1, 3), 2**80, np.arange(3), np.zeros((2, 0))], ids=repr
)
def test_point_mass_accepts_its_value_only(value: Any) -> None:
    """The log-density is 0 at the value and -inf elsewhere, and JSON gives back an equal distribution."""
    distribution = PointMass(value)
    drawn = distribution.sample(np.random.default_rng(0), (2,))
    assert drawn.shape == (2, *np.shape(value))
    np.testing.assert_array_equal(distribution.logp(value), np.zeros(np.shape(value)))
    assert distribution.logp_ball(value).is_zero()
    read = distribution_from_json(json.loads(json.dumps(distribution.to_json())))
    assert read == distribution
    assert hash(read) == hash(distribution)
    if np.size(value) and not isinstance(value, str):
        assert np.all(distribution.logp(np.asarray(value) + 1) == -math.inf)
        assert not distribution.logp_ball(np.asarray(value) + 1).is_finite()


def test_point_masses_compare_by_type_and_bits() -> None:
    """1, 1.0 and True differ as values, and a ball distinguishes a large integer from the nearest float."""
    assert len({PointMass(1), PointMass(1.0), PointMass(True), PointMass("1")}) == 4
    assert PointMass(np.array([1, 2])) != PointMass(np.array([1.0, 2.0]))
    assert not PointMass(2**60 + 1).logp_ball(float(2**60)).is_finite()
    assert PointMass(2.0).cdf([1, 2, 3]).tolist() == [0, 1, 1]
    assert PointMass(2.0).ppf([0.1, 0.9]).tolist() == [2, 2]
    with raises(NotTractableError, code="E-ORDER-MISSING"):
        PointMass("a").cdf(0)
    with raises(NotTractableError, code="E-ORDER-MISSING"):
        PointMass("a").shift(1)


def test_product_evaluates_each_coordinate_with_its_own_distribution() -> None:
    """logp, cdf, sf and ppf act per coordinate, the ball is the total, and atoms multiply."""
    parts = [
        Skellam(variance=3),
        Categorical(weights=[1, 2]),
        Skellam(variance=3),
        DiscreteGaussian(sigma2=2),
    ]
    distribution, x = Product(parts), np.array([[2, 1, -1, 0], [0, 0, 5, 3]])
    for method in ("logp", "cdf", "sf"):
        by_hand = np.stack([getattr(p, method)(x[:, j]) for j, p in enumerate(parts)], axis=1)
        np.testing.assert_array_equal(getattr(distribution, method)(x), by_hand)
    q = np.random.default_rng(0).random((6, 4))
    np.testing.assert_array_equal(
        distribution.ppf(q), np.stack([p.ppf(q[:, j]) for j, p in enumerate(parts)], axis=1)
    )
    assert float(distribution.logp_ball(x[0]).mid()) == pytest.approx(
        distribution.logp(x[0]).sum(), rel=1e-14
    )
    coins = Product([Bernoulli(p="1/4"), Categorical(weights=[1, 2])])
    joint = {tuple(v.tolist()): float(p) for v, p in coins.atoms()}
    assert joint == pytest.approx({(0, 0): 0.25, (0, 1): 0.5, (1, 0): 1 / 12, (1, 1): 1 / 6})
    assert distribution_from_json(distribution.to_json()) == distribution
    assert distribution.log_concave.holds
    assert not Product([*parts, Polya(shape="1/2", ratio="1/2")]).log_concave.holds
