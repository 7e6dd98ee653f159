"""Check the distribution of a sum of users' outcomes, in Z and Z_m, against enumeration and samples."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpaudit.core.errors import InvalidParameterError, NotTractableError
from dpaudit.distributions import (
    Bernoulli,
    Binomial,
    Categorical,
    ConvolvedIntegers,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    NoisyArgmax,
    PointMass,
    Polya,
    PolyaDifference,
    Product,
    RandomisedResponse,
    Shifted,
    Skellam,
    Sum,
    SumMod,
    WrappedMod,
    distribution_from_json,
    image_from_json,
)
from dpaudit.kernel.ball import arb, ball, lower, precision, upper
from tests.errors import raises
from tests.rates import FALSE_FAILURE_RATE


def convolve(distributions, reach):
    """Return the sum's probabilities on -reach..reach by convolution of the parts' float densities."""
    grid = np.arange(-reach, reach + 1)
    total = np.where(grid == 0, 1.0, 0.0)
    for distribution in distributions:
        total = np.convolve(total, np.exp(distribution.logp(grid)))[reach:-reach]
    return grid, total


def test_the_cumulant_of_a_sum_is_the_sum_of_cumulants() -> None:
    """Repeated parts count with their multiplicity."""
    one, other = Categorical(weights=[1, 0, 0, 2]), Categorical(weights=[1, 3])
    distribution = ConvolvedIntegers([one, one, one, other])
    with precision(128):
        wanted = 3 * one.log_mgf_ball(Fraction(1, 2)) + other.log_mgf_ball(Fraction(1, 2))
        found = distribution.log_mgf_ball(Fraction(1, 2))
        assert upper(abs(found - wanted)) < 1e-30
        by_hand = 3 * math.log((1 + 2 * math.exp(1.5)) / 3) + math.log((1 + 3 * math.exp(0.5)) / 4)
        assert float(found.mid()) == pytest.approx(by_hand, rel=1e-14)


# Closed families


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([Skellam(variance=2), Skellam(variance="1/3")], Skellam(variance="7/3")),
        ([Polya(shape="1/4", log_ratio="1/2")] * 3, Polya(shape="3/4", log_ratio="1/2")),
        ([Polya(shape=2, ratio="1/3"), Polya(shape=1, ratio="1/3")], Polya(shape=3, ratio="1/3")),
        ([Binomial(trials=3, p="1/5"), Bernoulli(p="1/5")], Binomial(trials=4, p="1/5")),
        ([PolyaDifference(shape="1/4", log_ratio="1/3")] * 3, PolyaDifference(shape="3/4", log_ratio="1/3")),
        ([PolyaDifference(shape="1/4", log_ratio="1/3")] * 4, DiscreteLaplace(scale=3)),
    ],
    ids=["skellam", "polya", "polya by ratio", "binomial", "polya difference", "full participation"],
)
def test_closed_families_equal_the_convolution(parts, expected):
    """The image distribution is in the family and has the probabilities of the convolution."""
    distribution = Sum().image_distribution(parts)
    assert distribution == expected
    grid, total = convolve(parts, 150)
    middle = slice(120, 181)
    assert np.exp(distribution.logp(grid[middle])) == pytest.approx(total[middle], rel=1e-9, abs=1e-14)


def test_gaussian_variances_and_shifts_add():
    """Sums of shifted Gaussians are Gaussian with summed variance and shift, also for arrays."""
    distributions = [Gaussian(variance=j).shift(np.array([0.25 * j, 1.0])) for j in (1, 2, 3)]
    assert Sum().image_distribution(distributions) == Shifted(Gaussian(variance=6), np.array([1.5, 3.0]))
    assert Sum().image_distribution([Skellam(variance=1).shift(2), PointMass(3)]) == Shifted(
        Skellam(variance=1), 5
    )
    thirds = [Skellam(variance=1).shift(Fraction(1, 3))] * 3
    assert Sum().image_distribution(thirds) == Shifted(Skellam(variance=3), 1)
    assert Sum().image_distribution([PointMass(2), PointMass(3)]) == PointMass(5)


def test_vectors_of_different_distributions_add_by_coordinate():
    """A sum of products is the product of the sums."""
    rows = [
        Product([Skellam(variance=1), Bernoulli(p="1/2")]),
        Product([Skellam(variance=2), Bernoulli(p="1/2")]),
    ]
    assert Sum().image_distribution(rows) == Product([Skellam(variance=3), Binomial(trials=2, p="1/2")])


# Polya differences


@pytest.mark.parametrize(
    ("shape", "log_ratio"),
    [("1/10", "1/2"), ("9/10", "1"), ("5/2", "1/5"), ("1/1000", "1/5"), ("16", "1/2"), ("17", "1/2")],
)
def test_polya_difference_equals_the_double_sum(shape, log_ratio):
    """P(k) = Σ_j p(j+k) p(j) over two Pólya distributions, in floats and in balls, on both sides of 0."""
    distribution, part = (
        PolyaDifference(shape=shape, log_ratio=log_ratio),
        Polya(shape=shape, log_ratio=log_ratio),
    )
    j = np.arange(0.0, 60 / float(Fraction(log_ratio)) + 60)
    for k in (0, 1, -1, 7, -30):
        direct = float(np.logaddexp.reduce(part.logp(j + abs(k)) + part.logp(j)))
        assert float(distribution.logp(k)) == pytest.approx(direct, abs=1e-12)
        assert lower(distribution.logp_ball(k)) == pytest.approx(direct, abs=1e-12)
    grid = np.arange(-100.0, 101.0)  # long enough for the table and its recurrence
    assert distribution.logp(grid) == pytest.approx(
        [float(distribution.logp_ball(int(k))) for k in grid], abs=1e-12
    )


@pytest.mark.parametrize("shape", ["1/1000", "1", "4/3", "16"])
@pytest.mark.parametrize("log_ratio", ["1/2", "5"])
def test_the_series_agrees_with_the_library(shape, log_ratio):
    """The 2F1 series agrees with the library to 60 bits, and the next mass (a control) does not."""
    distribution = PolyaDifference(shape=shape, log_ratio=log_ratio)
    with precision(2000):
        r, x = ball(distribution.shape), ball(-distribution.log_ratio).exp()
        for k in (0, 1, 40, 379):
            series = (x * x).hypgeom_2f1(r, r + k, arb(k + 1))
            rising = (r + k).gamma() / (r.gamma() * arb(k + 1).gamma())
            mass = (1 - x) ** (2 * r) * x**k * rising * series
            with precision(64):
                found, beside = distribution.logp_ball(k).exp(), distribution.logp_ball(k + 1).exp()
            assert found.overlaps(mass)
            assert found.rel_accuracy_bits() >= 40
            assert mass.rel_accuracy_bits() >= 60
            assert not beside.overlaps(mass)


def test_polya_difference_of_full_shape_is_discrete_laplace():
    """Shape 1 gives the closed form of the discrete Laplace distribution."""
    distribution, closed = PolyaDifference(shape=1, log_ratio="1/7"), DiscreteLaplace(scale=7)
    k = np.arange(-300, 301)
    assert distribution.logp(k) == pytest.approx(closed.logp(k), abs=1e-11)
    assert distribution.cdf(k) == pytest.approx(closed.cdf(k), abs=1e-13)
    assert distribution.variance() == pytest.approx(closed.variance(), rel=1e-13)


def test_partial_participation_costs_what_the_reference_says():
    """At design epsilon 1, ln p(0)/p(1) is 1.099 at 90% participation and 1.675 at half."""
    for shape, epsilon in (("9/10", 1.099), ("1/2", 1.675)):
        distribution = PolyaDifference(shape=shape, log_ratio=1)
        assert float(distribution.logp_ball(0) - distribution.logp_ball(1)) == pytest.approx(
            epsilon, abs=6e-4
        )


def test_polya_difference_tails_enclose_the_sums():
    """P(X > k) in balls equals one minus the finite sum, for shapes below and above 1."""
    for shape in ("1/3", "3"):
        distribution = PolyaDifference(shape=shape, log_ratio="1/2")
        inside = sum(distribution.logp_ball(k).exp() for k in range(-200, 5))
        assert distribution.sf_ball(4).overlaps(1 - inside)
        assert float(distribution.sf_ball(4)) == pytest.approx(float(distribution.sf(4)), rel=1e-12)
        assert distribution.ppf(np.array([0.5])).tolist() == [0]


# Convolutions


def enumerated(distributions):
    """Return the sum's probabilities in balls, over all combinations of outcomes."""
    found = {}
    for combination in itertools.product(*(list(distribution.atoms()) for distribution in distributions)):
        key = sum(value for value, _ in combination)
        found[key] = found.get(key, 0) + math.prod(p for _, p in combination)
    return found


def test_convolved_integers_equal_enumeration():
    """Five users of four kinds, with a gap in the support: every probability, the cdf and the ends."""
    distributions = [
        Bernoulli(p="1/3"),
        Bernoulli(p="1/4"),
        Categorical(weights=[1, 0, 0, 2]),
        RandomisedResponse(symbols=3, truth=1, epsilon=1),
        Binomial(trials=2, p="2/3"),
    ]
    distribution = Sum().image_distribution(distributions)
    assert isinstance(distribution, ConvolvedIntegers)
    truth = enumerated(distributions)
    atoms = dict(distribution.atoms())
    assert set(atoms) == set(truth)
    for value, probability in truth.items():
        assert atoms[value].overlaps(probability)
        assert float(atoms[value].rad()) < 1e-14
        assert float(distribution.logp(value)) == pytest.approx(math.log(float(probability)), abs=1e-13)
        reached = sum(float(p) for v, p in truth.items() if v <= value)
        assert float(distribution.cdf(value)) == pytest.approx(reached, abs=1e-13)
    assert distribution.mean() == pytest.approx(sum(v * float(p) for v, p in truth.items()), rel=1e-13)


def test_outcomes_between_the_atoms_are_impossible_exactly():
    """A lattice of step 3 keeps exact zeros after fast multiplication."""
    distribution = ConvolvedIntegers([Categorical(weights=[1, 0, 0, 2])] * 40)
    assert [k for k, _ in distribution.atoms()] == list(range(0, 121, 3))
    assert distribution.logp(np.array([1, 2, 121])).tolist() == [-np.inf] * 3
    assert float(distribution.logp_ball(1)) == -np.inf


def test_tiny_probabilities_keep_their_digits():
    """The probability that 600 different coins all succeed, far below the float range, is the product."""
    chances = [Fraction(j, 1000) for j in range(1, 601)]
    distribution = Sum().image_distribution([Bernoulli(p=p) for p in chances])
    expected = sum(math.log(p) for p in chances)
    assert float(distribution.logp(600)) == pytest.approx(expected, rel=1e-13)
    assert lower(distribution.logp_ball(600)) == pytest.approx(expected, rel=1e-13)
    assert distribution.log_concave.holds


# Sums in Z_m


@pytest.mark.parametrize(
    "base",
    [
        Skellam(variance=20),
        DiscreteLaplace(scale=3),
        DiscreteGaussian(sigma2=5),
        Polya(shape="3/10", log_ratio="1/2"),
        Polya(shape=3, log_ratio="1/2"),
        PolyaDifference(shape="3/10", log_ratio="1/2"),
        Binomial(trials=40, p="3/10"),
    ],
    ids=lambda distribution: f"{distribution.name}-{distribution.parameters()}",
)
@pytest.mark.parametrize("modulus", [1, 7, 64])
def test_wrapped_probabilities_equal_the_folded_sum(base, modulus):
    """Σ_j p(y + j m) folded from a wide grid equals the floats and lies in the balls, for every residue."""
    distribution = WrappedMod(base, modulus=modulus, offset=5)
    grid = np.arange(-700, 701)
    folded = np.bincount((grid + 5) % modulus, weights=np.exp(base.logp(grid)), minlength=modulus)
    residues = np.arange(modulus)
    assert np.exp(distribution.logp(residues)) == pytest.approx(folded, rel=1e-10)
    total = sum(p for _, p in distribution.atoms())
    assert total.contains(1)
    for y in {0, modulus // 2, modulus - 1}:
        chance = distribution.logp_ball(y).exp()
        assert lower(chance) - 1e-14 <= folded[y] <= upper(chance) + 1e-14


def test_far_residues_keep_their_digits():
    """With a modulus of 1,000 standard deviations, the probability opposite the mode (about 1e-400) is
    right."""
    distribution = WrappedMod(DiscreteLaplace(scale=1), modulus=2000)
    expected = math.log(math.tanh(0.5)) - 1000 + math.log(2)
    assert float(distribution.logp(1000)) == pytest.approx(expected, rel=1e-13)
    assert lower(distribution.logp_ball(1000)) == pytest.approx(expected, rel=1e-13)


def test_sum_mod_of_shifted_users_is_the_wrapped_sum():
    """Shifts of scalars and arrays are taken modulo m, masks cancel, and copies stay independent."""
    distribution = SumMod(16).image_distribution(
        [Skellam(variance=1).shift(np.array([3, 20])), Skellam(variance=2).shift(np.array([14, -1]))]
    )
    assert distribution == WrappedMod(Skellam(variance=3), modulus=16, offset=np.array([1, 3]))
    assert float(distribution.logp_ball(np.array([1, 3]))) == pytest.approx(
        float(distribution.logp(np.array([1, 3])).sum()), rel=1e-13
    )
    single = WrappedMod(Skellam(variance=3), modulus=16, offset=1)
    assert int(distribution.ppf(np.array([0.3, 0.3]))[0]) == int(single.ppf(0.3))
    assert float(single.cdf(5)) == pytest.approx(sum(math.exp(single.logp(y)) for y in range(6)), rel=1e-13)
    assert SumMod(16).image_distribution([PointMass(30)]) == PointMass(np.int64(14))


# Per-user samples have the image's distribution


@pytest.mark.parametrize(
    ("distributions", "image"),
    [
        (
            [Bernoulli(p="1/3").shift(j) for j in range(3)]
            + [RandomisedResponse(symbols=4, truth=2, epsilon=1)],
            Sum(),
        ),
        ([PolyaDifference(shape="1/4", log_ratio="1/2").shift(j) for j in range(4)], Sum()),
        ([PolyaDifference(shape="1/5", log_ratio="1/2").shift(j) for j in range(3)], SumMod(8)),
        ([Skellam(variance=2).shift(7 * j) for j in range(3)], SumMod(10)),
    ],
    ids=["convolution", "full participation", "partial participation in Z_8", "skellam in Z_10"],
)
def test_users_one_by_one_have_the_distribution_of_the_image(distributions, image):
    """30,000 per-user samples and image samples pass a chi-square test, and a shifted one fails."""
    distribution = image.image_distribution(distributions)
    for draws in (
        image.sample(distributions, np.random.default_rng(1), (30_000,)),
        distribution.sample(np.random.default_rng(2), (30_000,)),
    ):
        assert fits(distribution, draws)
        assert not fits(distribution, (draws + 1) % image.modulus if isinstance(image, SumMod) else draws + 1)


def fits(distribution, draws):
    """Return whether samples pass Pearson's test with rare outcomes pooled."""
    values, counts = np.unique(draws, return_counts=True)
    expected = len(draws) * np.exp(distribution.logp(values))
    common = expected >= 20
    observed = np.append(counts[common], len(draws) - counts[common].sum())
    wanted = np.append(expected[common], len(draws) - expected[common].sum())
    keep = wanted > 5
    statistic = ((observed - wanted)[keep] ** 2 / wanted[keep]).sum()
    return stats.chi2.sf(statistic, max(int(keep.sum()) - 1, 1)) > FALSE_FAILURE_RATE


def test_apply_pushes_outcomes_through():
    """Sums are over the users' axis, elementwise, and do not overflow in Z_m."""
    parts = np.array([[[1, 2], [3, 4]], [[10, 20], [30, 40]]])
    assert Sum().apply(parts).tolist() == [[11, 22], [33, 44]]
    assert Sum().apply([1, 2, 3]) == 6
    assert SumMod(7).apply(parts).tolist() == [[4, 1], [5, 2]]
    large = 2**52
    assert int(SumMod(large).apply(np.full(5000, large - 1))) == large - 5000


def test_json_round_trips():
    """Images and image distributions are read back equal."""
    for image in (Sum(), SumMod(12)):
        assert image_from_json(json.loads(json.dumps(image.to_json()))) == image
    for distribution in (
        ConvolvedIntegers([Bernoulli(p="1/3"), Bernoulli(p="1/3"), Categorical(weights=[1, 2])]),
        WrappedMod(ConvolvedIntegers([Bernoulli(p="1/3")]), modulus=3, offset=np.array([[0, 4]])),
        PolyaDifference(shape="1/3", log_ratio="2/7"),
    ):
        assert distribution_from_json(json.loads(json.dumps(distribution.to_json()))) == distribution
    with raises(InvalidParameterError, code="E-IMAGE-UNKNOWN"):
        image_from_json({"image": "median"})
    with raises(InvalidParameterError, code="E-IMAGE-FIELDS"):
        image_from_json({"image": "sum", "modulus": 3})


def test_the_order_of_users_does_not_matter():
    """A sum of the same distributions in another order is an equal distribution with an equal hash."""
    distributions = [Bernoulli(p="1/3"), Bernoulli(p="1/2"), Bernoulli(p="1/3")]
    assert Sum().image_distribution(distributions) == Sum().image_distribution(distributions[::-1])
    assert hash(Sum().image_distribution(distributions)) == hash(
        Sum().image_distribution(distributions[::-1])
    )


def test_precision_follows_the_caller():
    """At 300 bits, every enclosure has about 300 bits."""
    coarse = PolyaDifference(shape="1/3", log_ratio="1/2").logp_ball(4)  # must not be kept for finer ones
    with precision(300):
        assert float(PolyaDifference(shape="1/3", log_ratio="1/2").logp_ball(4).rad()) < 2.0**-270
        assert float(WrappedMod(DiscreteLaplace(scale=3), modulus=8).logp_ball(3).rad()) < 2.0**-250
        assert (
            float(ConvolvedIntegers([Bernoulli(p="1/3"), Bernoulli(p="1/7")]).logp_ball(1).rad()) < 2.0**-280
        )
        assert float(PolyaDifference(shape="1/3", log_ratio="1/5").logp_ball(4).rad()) < 2.0**-270
    assert float(coarse.rad()) > 2.0**-200


def test_refusals_say_why():
    """Sums without a closed form, infinite parts, mixed shapes, fractions in Z_m and structured parts are
    refused."""
    with raises(NotTractableError, code="E-SUM-NO-CLOSED-FORM", match="discrete-gaussian"):
        Sum().image_distribution([DiscreteGaussian(sigma2=1), DiscreteGaussian(sigma2=1)])
    with raises(NotTractableError, code="E-SUM-NO-CLOSED-FORM"):
        Sum().image_distribution([Laplace(scale=1), Laplace(scale=1)])
    with raises(NotTractableError, code="E-SUM-NO-CLOSED-FORM"):
        Sum().image_distribution([Polya(shape=1, log_ratio=1), Polya(shape=1, log_ratio=2)])
    with raises(NotTractableError, code="E-OUTCOMES-NOT-FINITE"):
        ConvolvedIntegers([Skellam(variance=1)])
    with raises(NotTractableError, code="E-OUTCOMES-TOO-MANY"):
        ConvolvedIntegers([Binomial(trials=2**17, p="1/2")])
    with raises(NotTractableError, code="E-DISTRIBUTION-NOT-SCALAR"):
        Sum().image_distribution([Sum().image_distribution([Bernoulli(p="1/2")]), shuffled()])
    with raises(NotTractableError, code="E-DISTRIBUTION-NOT-LATTICE"):
        SumMod(5).image_distribution([Gaussian(variance=1), Gaussian(variance=1)])
    with raises(InvalidParameterError, code="E-OUTCOME-SHAPE"):
        Sum().image_distribution([Skellam(variance=1), Skellam(variance=1).shift(np.array([1, 2]))])
    with raises(InvalidParameterError, code="E-OUTCOME-NOT-INTEGER"):
        SumMod(5).image_distribution([Skellam(variance=1).shift(0.5)])
    with raises(InvalidParameterError, code="E-OUTCOME-NOT-INTEGER"):
        SumMod(5).apply([0.5, 1.0])
    with raises(InvalidParameterError, code="E-USERS-MISSING"):
        Sum().image_distribution([])
    with raises(InvalidParameterError, code="E-MODULUS-RANGE"):
        SumMod(0)
    assert Sum().image_distribution([Laplace(scale=1)]) == Laplace(scale=1)
    assert NoisyArgmax([0, 1], Laplace(scale=1)) == Sum().image_distribution(
        [NoisyArgmax([0, 1], Laplace(scale=1))]
    )


def shuffled():
    """Return a structured distribution, which cannot be summed."""
    from dpaudit.distributions import CountVector

    return CountVector([Bernoulli(p="1/2")], outcomes=2)
