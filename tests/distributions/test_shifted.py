"""Check shifts: exact on a lattice, combined into one offset, and independent copies for arrays."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpaudit.core.errors import InvalidParameterError, NotTractableError
from dpaudit.distributions import (
    BaseMeasure,
    Bernoulli,
    DiscreteLaplace,
    Distribution,
    Gaussian,
    Laplace,
    PointMass,
    Polya,
    Product,
    Shifted,
    Skellam,
    WrappedMod,
    distribution_from_json,
)
from tests.errors import raises

NOISE = DiscreteLaplace(scale=2)


@pytest.mark.parametrize("offset", [3, -2.5, Fraction(7, 4), np.float64(0.1), np.array(4)])
def test_scalar_shift_moves_everything_by_the_offset(offset: float) -> None:
    """Density, cdf, sf, quantile, mean and ball of X + c at x equal those of X at x - c."""
    distribution, base, c = Laplace(scale=2).shift(offset), Laplace(scale=2), float(offset)
    x = np.array([-3.0, 0.0, 1.5])
    np.testing.assert_array_equal(distribution.logp(x), base.logp(x - c))
    np.testing.assert_array_equal(distribution.cdf(x), base.cdf(x - c))
    np.testing.assert_array_equal(distribution.sf(x), base.sf(x - c))
    np.testing.assert_array_equal(distribution.ppf([0.2, 0.9]), base.ppf([0.2, 0.9]) + c)
    assert distribution.mean() == c
    assert distribution.variance() == base.variance()
    assert distribution.logp_ball(1.5).overlaps(base.logp_ball(Fraction(1.5) - Fraction(c)))
    assert distribution.cdf_ball(1.5).overlaps(base.cdf_ball(Fraction(1.5) - Fraction(c)))
    assert float((distribution.log_mgf_ball("1/3") - base.log_mgf_ball("1/3")).mid()) == pytest.approx(
        c / 3, abs=1e-15
    )


def test_array_shift_is_independent_copies() -> None:
    """An array of offsets gives one density and one sample for each entry, and one total ball."""
    offsets = np.array([[0, 5, -3], [2, 2, 100]])
    distribution = NOISE.shift(offsets)
    assert distribution.batch_shape == (2, 3)
    x = distribution.sample(np.random.default_rng(0), (4,))
    assert x.shape == (4, 2, 3)
    assert x.dtype == np.int64
    np.testing.assert_array_equal(distribution.logp(x), NOISE.logp(x - offsets))
    assert float(distribution.logp_ball(x[0]).mid()) == pytest.approx(
        distribution.logp(x[0]).sum(), rel=1e-14
    )
    columns = distribution.sample(np.random.default_rng(1), (4000,))
    np.testing.assert_allclose(columns.mean(axis=0), offsets, atol=6 * math.sqrt(NOISE.variance() / 4000))
    assert np.abs(np.corrcoef(columns.reshape(4000, 6).T) - np.eye(6)).max() < 0.1


def test_a_shift_of_a_shift_collapses_exactly() -> None:
    """Offsets are added as exact numbers, so 0.1 + 0.2 is not rounded to a float."""
    distribution = Laplace(scale=1).shift(0.1).shift(0.2)
    assert isinstance(distribution, Shifted)
    assert distribution.base == Laplace(scale=1)
    assert distribution.offset == Fraction(0.1) + Fraction(0.2)
    assert distribution.offset != Fraction(0.1 + 0.2)
    assert NOISE.shift(np.array([1, 2])).shift(3) == NOISE.shift(np.array([4, 5]))
    assert NOISE.shift(3).shift(np.array([0.5, 2])) == NOISE.shift(np.array([3.5, 5.0]))


def test_arrays_that_cannot_be_added_exactly_stay_nested() -> None:
    """If the sum of two float arrays rounds, both shifts are kept and the ball is exact."""
    distribution = Gaussian(sigma=1).shift(np.array([0.1])).shift(np.array([0.2]))
    assert isinstance(distribution, Shifted)
    assert isinstance(distribution.base, Shifted)
    exact = Gaussian(sigma=1).logp_ball(Fraction(1) - Fraction(0.1) - Fraction(0.2))
    assert distribution.logp_ball([1.0]).overlaps(exact)
    assert distribution.logp([1.0])[0] == pytest.approx(float(exact.mid()), rel=1e-14)


@settings(max_examples=1000, deadline=None, derandomize=True)
@example(-1.00001, -31)  # the difference rounds away from an integer, whose neighbour must not be chosen
@given(st.floats(-1e6, 1e6), st.integers(-50, 50))
def test_floats_and_balls_agree_on_what_is_on_the_lattice(offset: float, k: int) -> None:
    """On a lattice, the density is finite if and only if outcome - offset is exactly an integer."""
    x = offset + k
    on_lattice = (Fraction(x) - Fraction(offset)).denominator == 1
    for distribution, outcome in ((NOISE.shift(offset), x), (NOISE.shift(np.array([offset])), [x])):
        assert bool(np.all(np.isfinite(distribution.logp(outcome)))) is on_lattice
        assert bool(distribution.logp_ball(outcome).is_finite()) is on_lattice


@settings(max_examples=1000, deadline=None, derandomize=True)
@example(-1.00001, -31.0)
@given(st.floats(-1e6, 1e6), st.floats(-100, 100))
def test_cdf_on_a_shifted_lattice_steps_at_the_right_place(offset: float, distance: float) -> None:
    """cdf(x) of X + c is the cdf of X at the exact floor of x - c, not at a rounded difference."""
    x = offset + distance
    exact = math.floor(Fraction(x) - Fraction(offset))
    assert float(NOISE.shift(offset).cdf(x)) == float(NOISE.cdf(exact))
    assert float(NOISE.shift(np.array([offset])).sf([x])[0]) == float(NOISE.sf(exact))


def test_a_lattice_sum_that_rounds_is_refused_in_sampling() -> None:
    """Sampling integers + 0.1 raises, because floats cannot represent it, and dyadic offsets are exact."""
    rng = np.random.default_rng(3)
    for offset in (0.1, np.array([0.5, 0.1]), Fraction(1, 3)):
        with raises(InvalidParameterError, code="E-SUM-ROUNDS"):
            Skellam(variance=400).shift(offset).sample(rng, (50,))
    x = NOISE.shift(0.375).sample(rng, (50,))
    assert np.all(np.isfinite(NOISE.shift(0.375).logp(x)))
    assert NOISE.shift(2.0).sample(rng).dtype == np.int64
    assert NOISE.shift(np.array([2.0])).sample(rng).dtype == np.float64


def test_equality_is_of_values_dtype_and_shape() -> None:
    """Scalars compare as exact numbers, arrays by dtype, shape and values, and equal shifts have equal
    hashes."""
    assert NOISE.shift(3) == NOISE.shift(3.0) == NOISE.shift(Fraction(3))
    assert NOISE.shift(3) != NOISE.shift(4)
    assert NOISE.shift(3) != DiscreteLaplace(scale=3).shift(3)
    assert NOISE.shift(np.array([1, 2])) == NOISE.shift(np.array([1, 2], dtype=np.int32))
    assert NOISE.shift(np.array([1, 2])) != NOISE.shift(np.array([1.0, 2.0]))
    assert NOISE.shift(np.array([1, 2])) != NOISE.shift(np.array([[1, 2]]))
    assert NOISE.shift(np.array([1, 1])) != NOISE.shift(1)
    assert NOISE.shift(np.array([0.0])) == NOISE.shift(np.array([-0.0]))
    assert hash(NOISE.shift(np.array([0.0]))) == hash(NOISE.shift(np.array([-0.0])))
    assert NOISE.shift(0) != NOISE


def test_the_offset_is_a_copy() -> None:
    """Changing the caller's array does not change the distribution, whose own array is read-only."""
    sums = np.array([1.0, 2.0])
    distribution = NOISE.shift(sums)
    sums += 10
    assert distribution == NOISE.shift(np.array([1.0, 2.0]))
    assert isinstance(distribution, Shifted)
    with pytest.raises(ValueError, match="read-only"):
        distribution.offset[0] = 5  # type: ignore[index]


@pytest.mark.parametrize(
    ("distribution", "x"),
    [
        (NOISE.shift(Fraction(1, 3)), Fraction(7, 3)),
        (NOISE.shift(np.array([1, 2])), [4, 4]),
        (Gaussian(sigma=1).shift(np.array([[0.1], [0.25]])), [[1.0], [2.0]]),
        (Product([Laplace(scale=1), Gaussian(sigma=2)]).shift(np.array([0.5, -1.0])), [1.0, 2.0]),
        (Product([NOISE, Bernoulli(p="1/2")]).shift(2), [1, 3]),
    ],
    ids=repr,
)
def test_json_and_pickle_round_trip(distribution: Distribution, x: object) -> None:
    """JSON and pickle give back an equal distribution with the same ball and base measure."""
    for copy in (distribution_from_json(distribution.to_json()), pickle.loads(pickle.dumps(distribution))):
        assert copy == distribution
        assert copy.base_measure is distribution.base_measure
        assert str(copy.logp_ball(x)) == str(distribution.logp_ball(x))


def test_shift_of_a_product_moves_each_coordinate() -> None:
    """A shifted product has the coordinates' densities at the differences, for any shape of shift."""
    distributions = [Laplace(scale=1), Gaussian(sigma=2)]
    distribution = Product(distributions)
    assert distribution.base_measure is BaseMeasure.LEBESGUE
    x = np.array([1.0, 2.0])
    by_hand = [float(distributions[0].logp(1.0 - 0.5)), float(distributions[1].logp(2.0 + 1.0))]
    np.testing.assert_array_equal(distribution.shift(np.array([0.5, -1.0])).logp(x), by_hand)
    stacked = distribution.shift(np.array([[0.5, -1.0], [0.0, 0.0]]))
    assert stacked.batch_shape == (2, 2)
    assert stacked.sample(np.random.default_rng(0), (7,)).shape == (7, 2, 2)
    total = stacked.logp_ball([[1.0, 2.0], [1.0, 2.0]])
    assert float(total.mid()) == pytest.approx(sum(by_hand) + distribution.logp(x).sum(), rel=1e-14)
    with raises(InvalidParameterError, code="E-OUTCOME-SHAPE"):
        distribution.shift(np.array([1.0, 2.0, 3.0]))


def test_atoms_of_shifted_distributions() -> None:
    """Atoms are shifted, copies have products of atoms, and infinite supports leave out a bounded tail."""
    assert [(v, float(p)) for v, p in Bernoulli(p="1/4").shift(3).atoms()] == [(3, 0.75), (4, 0.25)]
    assert [v for v, _ in Bernoulli(p="1/4").shift(0.5).atoms()] == [0.5, 1.5]
    joint = {tuple(v.tolist()): float(p) for v, p in Bernoulli(p="1/4").shift(np.array([0, 10])).atoms()}
    assert joint == {(0, 10): 0.5625, (0, 11): 0.1875, (1, 10): 0.1875, (1, 11): 0.0625}
    mass = sum(float(p) for _, p in NOISE.shift(np.array([0, 10])).atoms(tail=1e-3))
    assert 1 - 1e-3 <= mass <= 1
    with raises(NotTractableError, code="E-OUTCOMES-NOT-FINITE"):
        NOISE.shift(1).atoms()


def test_support_and_log_concavity_follow_the_base() -> None:
    """The ends are shifted, and a half-integer lattice has no integer support."""
    ends = Polya(shape=2, ratio="1/2").shift(-4).support
    assert (ends.lower, ends.upper, ends.integer) == (-4, None, True)
    assert not NOISE.shift(0.5).support.integer
    assert NOISE.shift(0.5).log_concave.holds
    assert not Polya(shape="1/2", ratio="1/2").shift(1).log_concave.holds


@pytest.mark.parametrize(
    "offset",
    [
        math.nan,
        math.inf,
        np.array([1.0, math.nan]),
        np.array(["a"]),
        "3",
        [1, 2],
        None,
        1j,
        np.array([2**62]),
        2**70,
    ],
    ids=repr,
)
def test_offsets_that_are_no_numbers_are_refused(offset: object) -> None:
    """NaN, infinities, texts, lists and integers beyond 2^62 are refused as offsets."""
    with pytest.raises(InvalidParameterError):
        NOISE.shift(offset)


def test_outcomes_of_the_wrong_shape_are_refused() -> None:
    """NaN and outcomes without the axes of the copies are refused and never broadcast."""
    distribution = NOISE.shift(np.array([1, 2]))
    for x in (0, [1, 2, 3], [[1], [2]]):
        with raises(InvalidParameterError, code="E-OUTCOME-SHAPE"):
            distribution.logp(x)
    with raises(InvalidParameterError, code="E-OUTCOME-SHAPE"):
        distribution.logp_ball([[1, 2]])
    with raises(InvalidParameterError, code="E-OUTCOME-NAN"):
        distribution.logp([math.nan, 0.0])
    with raises(NotTractableError, code="E-DISTRIBUTION-NOT-SCALAR"):
        distribution.mean()
    with raises(InvalidParameterError, code="E-OUTCOME-SHAPE"):
        PointMass("a").logp_ball([1])


def test_arrays_are_never_turned_into_fractions_for_sampling_and_logp(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """sample, logp, cdf and ppf of a million copies use no exact arithmetic."""
    distributions = [
        base.shift(np.arange(1_000_000) % 50) for base in (NOISE, Laplace(scale=1), Skellam(variance=3))
    ]
    distributions.append(Laplace(scale=1).shift(np.linspace(0, 1, 1_000_000)))

    def forbidden(value: object) -> Fraction:
        raise AssertionError(f"an exact number was made from {value!r}")

    monkeypatch.setattr("dpaudit.distributions.shifted.dyadic", forbidden)
    for distribution in distributions:
        x = distribution.sample(np.random.default_rng(0))
        assert np.all(np.isfinite(distribution.logp(x)))
        assert np.all(distribution.cdf(x) > 0)
        with pytest.raises(AssertionError, match="exact number"):
            distribution.logp_ball(x)


def test_an_entry_is_one_of_the_copies() -> None:
    """Entries are counted in C order, with their exact offsets. A distribution without copies refuses."""
    noise = Laplace(scale=2)
    grid = noise.shift(np.array([[0.5, 1.0], [0.1, -2.0]]))
    assert [grid.entry(place) for place in range(4)] == [noise.shift(x) for x in (0.5, 1.0, 0.1, -2.0)]
    assert noise.shift(Fraction(1, 3)).entry(0) == noise.shift(Fraction(1, 3))
    wrapped = WrappedMod(Skellam(variance=2), modulus=7, offset=np.array([3, 9]))
    assert wrapped.entry(1) == WrappedMod(Skellam(variance=2), modulus=7, offset=2)
    for whole in (noise, Product([noise, noise]).shift(np.zeros((3, 2)))):
        with raises(NotTractableError, code="E-COPIES-MISSING"):
            whole.entry(0)


def test_noise_and_offset_add_up_to_the_distribution() -> None:
    """A shift is taken apart, and every other distribution, also a residue, is its own noise."""
    noise = Skellam(variance=2)
    assert noise.shift(3).noise_and_offset == (noise, 3)
    for whole in (noise, WrappedMod(noise, modulus=7, offset=2)):
        assert whole.noise_and_offset == (whole, 0)
