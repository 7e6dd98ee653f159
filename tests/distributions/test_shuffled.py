"""Check the distributions of counts and shuffled multisets against enumeration."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpaudit.core.errors import InvalidParameterError, NotTractableError
from dpaudit.distributions import (
    Bernoulli,
    Categorical,
    Counts,
    CountVector,
    Gaussian,
    Laplace,
    PointMass,
    Product,
    RandomisedResponse,
    Shuffle,
    ShuffledMultiset,
    Skellam,
    distribution_from_json,
    image_from_json,
)
from dpaudit.kernel.ball import lower, upper
from tests.errors import raises
from tests.rates import FALSE_FAILURE_RATE

MIXED = [
    Categorical(weights=[1, 2, 3]),
    RandomisedResponse(symbols=3, truth=2, epsilon="3/2"),
    RandomisedResponse(symbols=3, truth=2, epsilon="3/2"),
    Bernoulli(p="1/3"),
    PointMass(2),
]


def brute_force(distributions, image):
    """Return the probability of every image, over all outcomes of all users."""
    found = {}
    for combination in itertools.product(*(list(distribution.atoms()) for distribution in distributions)):
        key = tuple(image([value for value, _ in combination]))
        found[key] = found.get(key, 0) + math.prod(p for _, p in combination)
    return found


# Counts


def test_counts_of_different_users_equal_enumeration():
    """Count vectors of five users on three symbols equal enumeration and sum to 1."""
    distribution = Counts(3).image_distribution(MIXED)
    truth = brute_force(MIXED, lambda values: [values.count(j) for j in range(3)])
    atoms = {tuple(v.tolist()): p for v, p in distribution.atoms()}
    assert set(atoms) == set(truth)
    for counts, probability in truth.items():
        assert atoms[counts].overlaps(probability)
        assert float(distribution.logp(np.array(counts))) == pytest.approx(
            math.log(float(probability)), abs=1e-13
        )
        enclosure = distribution.logp_ball(np.array(counts))
        assert lower(enclosure) == pytest.approx(math.log(float(probability)), abs=1e-13)
        assert upper(enclosure) - lower(enclosure) < 1e-13
    assert sum(atoms.values()).contains(1)


def test_one_changed_user_among_many():
    """With 1,000 users who hold 0 and one who holds 1, counts are a mixture of two binomials."""
    distributions = [RandomisedResponse(symbols=2, truth=0, epsilon=1)] * 1000 + [
        RandomisedResponse(symbols=2, truth=1, epsilon=1)
    ]
    distribution = Counts(2).image_distribution(distributions)
    keep = math.e / (1 + math.e)
    k = np.arange(1002)
    others = stats.binom(1000, 1 - keep)
    expected = np.logaddexp(others.logpmf(k) + math.log(1 - keep), others.logpmf(k - 1) + math.log(keep))
    assert distribution.logp(np.stack([1001 - k, k], axis=-1)) == pytest.approx(expected, rel=1e-10)
    assert float(distribution.logp_ball(np.array([700, 301]))) == pytest.approx(expected[301], rel=1e-12)


def test_many_distinct_coins_are_poisson_binomial():
    """The counts of sixty different coins are the convolution of the coins."""
    chances = [Fraction(j, 61) for j in range(1, 61)]
    distribution = Counts(2).image_distribution([Bernoulli(p=p) for p in chances])
    direct = np.array([1.0])
    for p in chances:
        direct = np.convolve(direct, [1 - float(p), float(p)])
    k = np.arange(61)
    assert distribution.logp(np.stack([60 - k, k], axis=-1)) == pytest.approx(np.log(direct), rel=1e-11)


def test_three_large_groups_on_three_symbols():
    """For three groups of forty, polynomials and pairs agree, also with impossible symbols."""
    for kinds in (
        [RandomisedResponse(symbols=3, truth=j, epsilon=1) for j in range(3)],
        [Categorical(weights=[1, 2]), Categorical(weights=[0, 1, 2]), Categorical(weights=[1, 0, 1])],
    ):
        distribution = CountVector([kind for kind in kinds for _ in range(40)], outcomes=3)
        rows = np.array([[40, 40, 40], [60, 30, 30], [80, 40, 0], [0, 0, 120]])
        pairwise = distribution.logp(rows)
        for row, expected in zip(rows, pairwise, strict=True):
            chance = distribution._coefficient(tuple(row.tolist()))
            assert (chance.is_zero() and expected == -np.inf) or float(chance.log()) == pytest.approx(
                expected, abs=1e-11
            )
            assert float(distribution.logp_ball(row)) == pytest.approx(expected, abs=1e-11)
    large = CountVector(
        [RandomisedResponse(symbols=3, truth=j % 3, epsilon=1) for j in range(300)], outcomes=3
    )
    draws = large.sample(np.random.default_rng(0), (3,))
    assert np.isfinite(large.logp(draws)).all()


def test_impossible_counts():
    """Negative, fractional or wrong totals of counts, and impossible symbols, have log-probability -inf."""
    distribution = Counts(3).image_distribution([Bernoulli(p="1/2"), Bernoulli(p="1/2")])
    rows = np.array([[-1, 3, 0], [1, 0, 0], [0.5, 1.5, 0], [1, 0, 1]])
    assert distribution.logp(rows).tolist() == [-np.inf] * 4
    assert all(float(distribution.logp_ball(row)) == -np.inf for row in rows)
    assert float(distribution.logp(np.array([1, 1, 0]))) == pytest.approx(math.log(0.5))


# Multisets


def test_a_multiset_of_symbols_equals_enumeration():
    """Each sorted outcome of five users has the summed probability of its orders, including ties."""
    distribution = Shuffle().image_distribution(MIXED)
    truth = brute_force(MIXED, sorted)
    atoms = {tuple(v.tolist()): p for v, p in distribution.atoms()}
    assert set(atoms) == set(truth)
    for outcome, probability in truth.items():
        assert atoms[outcome].overlaps(probability)
        assert float(distribution.logp(np.array(outcome))) == pytest.approx(
            math.log(float(probability)), abs=1e-13
        )
    assert sum(atoms.values()).contains(1)


def test_a_multiset_of_symbols_is_the_counts():
    """Counts and sorted symbols have equal probabilities."""
    counts, multiset = Counts(3).image_distribution(MIXED), Shuffle().image_distribution(MIXED)
    for vector, probability in counts.atoms():
        symbols = np.repeat(np.arange(3), vector)
        assert multiset.logp_ball(symbols).exp().overlaps(probability)


def test_equal_distributions_have_the_multinomial_coefficient():
    """For thirty equal users, the probability is the multinomial formula."""
    distribution = Shuffle().image_distribution([RandomisedResponse(symbols=3, truth=0, epsilon=1)] * 30)
    outcome = np.sort(np.random.default_rng(0).integers(3, size=30))
    single = RandomisedResponse(symbols=3, truth=0, epsilon=1)
    repeats = Counter(outcome.tolist())
    expected = (
        float(single.logp(outcome).sum())
        + math.lgamma(31)
        - sum(math.lgamma(c + 1) for c in repeats.values())
    )
    assert float(distribution.logp(outcome)) == pytest.approx(expected, rel=1e-12)
    assert lower(distribution.logp_ball(outcome)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("users", [1, 2, 5])
def test_the_density_of_sorted_numbers_is_the_sum_over_permutations(users):
    """The density of sorted numbers sums over all n! assignments, as for order statistics."""
    rng = np.random.default_rng(users)
    centres = rng.integers(-3, 4, size=users) / 2
    distributions = [Laplace(scale=2).shift(float(c)) for c in centres]
    rows = np.sort(np.round(rng.normal(size=(4, users)) * 64) / 64, axis=-1)
    distribution = Shuffle().image_distribution(distributions)
    for row in rows:
        direct = sum(
            math.prod(stats.laplace.pdf(row[list(order)], loc=centres, scale=2))
            for order in itertools.permutations(range(users))
        )
        assert float(distribution.logp(row)) == pytest.approx(math.log(direct), abs=1e-12)
        assert lower(distribution.logp_ball(row)) == pytest.approx(math.log(direct), abs=1e-12)
    assert distribution.logp(rows).shape == (4,)
    same = Shuffle().image_distribution([Laplace(scale=2)] * users)
    expected = Laplace(scale=2).logp(rows).sum(axis=-1) + math.lgamma(users + 1)
    assert same.logp(rows) == pytest.approx(expected, abs=1e-12)


def test_vectors_are_sorted_by_rows():
    """Vectors are sorted lexicographically, and the density sums over permutations of rows."""
    centres = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    distribution = Shuffle().image_distribution([Gaussian(variance=1).shift(c) for c in centres])
    assert distribution.event_ndim == 2
    draw = distribution.sample(np.random.default_rng(3), (5,))
    assert draw.shape == (5, 3, 2)
    for rows in draw:
        assert rows.tolist() == sorted(rows.tolist())
        direct = sum(
            math.prod(stats.norm.pdf(rows[list(order)], loc=centres).ravel())
            for order in itertools.permutations(range(3))
        )
        assert float(distribution.logp(rows)) == pytest.approx(math.log(direct), abs=1e-12)
        assert lower(distribution.logp_ball(rows)) == pytest.approx(math.log(direct), abs=1e-12)
        assert float(distribution.logp(rows[::-1])) == -np.inf
    ties = Shuffle(row_ndim=1).apply(np.array([[1, 5], [0, 9], [1, 2]]))
    assert ties.tolist() == [[0, 9], [1, 2], [1, 5]]


def test_vectors_of_different_distributions_are_messages_too():
    """A product distribution is a vector message."""
    distributions = [
        Product([Bernoulli(p="1/3"), Bernoulli(p="1/4")]),
        Product([Bernoulli(p="1/2"), Bernoulli(p="1/5")]),
    ]
    distribution = Shuffle().image_distribution(distributions)
    rows = np.array([[0, 1], [1, 0]])
    direct = Fraction(2, 3) * Fraction(1, 4) * Fraction(1, 2) * Fraction(4, 5) + Fraction(1, 2) * Fraction(
        1, 5
    ) * Fraction(1, 3) * Fraction(3, 4)
    assert float(distribution.logp(rows)) == pytest.approx(math.log(direct), abs=1e-13)
    assert lower(distribution.logp_ball(rows)) == pytest.approx(math.log(direct), abs=1e-13)


def test_twelve_different_users():
    """For twelve different distributions, the permanent equals a symmetric closed form."""
    chances = [Fraction(j, 13) for j in range(1, 13)]
    distributions = [Bernoulli(p=p) for p in chances]
    multiset, counts = (
        Shuffle().image_distribution(distributions),
        Counts(2).image_distribution(distributions),
    )
    for ones in (0, 4, 12):
        outcome = np.array([0] * (12 - ones) + [1] * ones)
        assert float(multiset.logp(outcome)) == pytest.approx(
            float(counts.logp(np.array([12 - ones, ones]))), abs=1e-11
        )


def test_replicates_are_copies_when_the_message_is_named():
    """row_ndim=0 keeps a replicate axis outside the multiset."""
    distributions = [
        Gaussian(variance=1).shift(np.array([0.0, 5.0])),
        Gaussian(variance=1).shift(np.array([1.0, 7.0])),
    ]
    distribution = Shuffle(row_ndim=0).image_distribution(distributions)
    assert (distribution.batch_shape, distribution.event_ndim) == ((2,), 1)
    draw = distribution.sample(np.random.default_rng(0), (3,))
    assert draw.shape == (3, 2, 2)
    single = Shuffle().image_distribution([Gaussian(variance=1).shift(5.0), Gaussian(variance=1).shift(7.0)])
    assert distribution.logp(draw)[:, 1] == pytest.approx(single.logp(draw[:, 1]), abs=1e-14)
    assert Shuffle(row_ndim=0).sample(distributions, np.random.default_rng(0), (3,)).shape == (3, 2, 2)


# Per-user samples


@pytest.mark.parametrize("image", [Counts(3), Shuffle()], ids=["counts", "shuffle"])
def test_users_one_by_one_have_the_distribution_of_the_image(image):
    """30,000 samples by user and by image pass a chi-square test, and one other user fails it."""
    distribution = image.image_distribution(MIXED)
    wrong = image.image_distribution([*MIXED[:4], PointMass(1)])
    for sampler in (
        lambda rng: image.sample(MIXED, rng, (30_000,)),
        lambda rng: distribution.sample(rng, (30_000,)),
    ):
        draws = Counter(map(tuple, sampler(np.random.default_rng(8)).tolist()))
        assert p_value(distribution, draws) > FALSE_FAILURE_RATE
        assert p_value(wrong, draws) < FALSE_FAILURE_RATE


def p_value(distribution, draws):
    total = sum(draws.values())
    atoms = {tuple(value.tolist()): total * float(p) for value, p in distribution.atoms()}
    if any(outcome not in atoms for outcome in draws):
        return 0.0
    common = [outcome for outcome, expected in atoms.items() if expected >= 10]
    rest = total - sum(atoms[o] for o in common)
    statistic = sum((draws[o] - atoms[o]) ** 2 / atoms[o] for o in common)
    if rest > 1:
        statistic += (total - sum(draws[o] for o in common) - rest) ** 2 / rest
    return float(stats.chi2.sf(statistic, len(common) - (rest <= 1)))


def test_apply_counts_and_sorts():
    """Counts are on a new last axis and multisets are sorted, with users on the first axis of the parts."""
    parts = np.array([[0, 1], [2, 1], [2, 0]])
    assert Counts(3).apply(parts).tolist() == [[1, 0, 2], [1, 2, 0]]
    assert Shuffle(row_ndim=0).apply(parts).tolist() == [[0, 2, 2], [0, 1, 1]]
    assert Shuffle().apply([3, 1, 2]).tolist() == [1, 2, 3]


def test_json_round_trips():
    """Images and image distributions are read back equal."""
    for image in (Counts(4), Shuffle(), Shuffle(row_ndim=1)):
        assert image_from_json(json.loads(json.dumps(image.to_json()))) == image
    for distribution in (
        CountVector(MIXED, outcomes=4),
        ShuffledMultiset(MIXED),
        ShuffledMultiset([Gaussian(variance=1).shift(np.array([0.5, 1.0]))] * 2),
    ):
        again = distribution_from_json(json.loads(json.dumps(distribution.to_json())))
        assert again == distribution
        assert again.event_ndim == distribution.event_ndim
        assert again.base_measure is distribution.base_measure


def test_refusals_say_why():
    """Too many different users, symbols out of range, mixed messages and no users are refused."""
    many = [Bernoulli(p=Fraction(j, 20)) for j in range(1, 20)]
    with raises(NotTractableError, code="E-TERMS-TOO-MANY"):
        Shuffle().image_distribution(many)
    assert Counts(2).image_distribution(many).users == 19
    with raises(NotTractableError, code="E-TERMS-TOO-MANY"):
        Counts(8).image_distribution([Categorical(weights=[j, *range(1, 8)]) for j in range(1, 40)]).logp(
            np.array([39, *[0] * 7])
        )
    with raises(InvalidParameterError, code="E-OUTCOME-RANGE", match=r"0\.\.1"):
        Counts(2).image_distribution([Categorical(weights=[1, 1, 1])])
    with raises(InvalidParameterError, code="E-OUTCOME-RANGE", match=r"0\.\.1"):
        Counts(2).image_distribution([Skellam(variance=1)])
    with raises(InvalidParameterError, code="E-OUTCOME-RANGE", match=r"0\.\.1"):
        Counts(2).apply([0, 2])
    with raises(InvalidParameterError, code="E-MESSAGES-DIFFER"):
        Shuffle().image_distribution([Bernoulli(p="1/2"), Gaussian(variance=1)])
    with raises(InvalidParameterError, code="E-ROW-NDIM-RANGE"):
        Shuffle().image_distribution([Gaussian(variance=1).shift(np.zeros((2, 2)))])
    with raises(InvalidParameterError, code="E-USERS-MISSING"):
        Shuffle().image_distribution([])
    with raises(NotTractableError, code="E-ATOMS-MISSING"):
        list(Shuffle().image_distribution([Gaussian(variance=1)]).atoms())
