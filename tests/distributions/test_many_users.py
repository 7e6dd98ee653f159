"""Check sums and counts of many users with different distributions against integer arithmetic, moments and
closed forms."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpz_poly

from dpaudit.distributions import Bernoulli, Categorical, ConvolvedIntegers, CountVector, Sum, SumMod
from dpaudit.distributions.convolution import product_of
from dpaudit.kernel.ball import arb, ball


def different_users(count: int, values: int) -> list[Categorical]:
    rng = np.random.default_rng(7)
    return [Categorical(weights=rng.integers(1, 100, values).tolist()) for _ in range(count)]


def in_integers(distributions: list[Categorical]) -> list[Fraction]:
    """Return the probabilities of the sum in integers, adding user by user."""
    table = [1]
    for distribution in distributions:
        following = [0] * (len(table) + len(distribution.weights) - 1)
        for i, here in enumerate(table):
            for j, weight in enumerate(distribution.weights):
                following[i + j] += here * weight
        table = following
    return [
        Fraction(entry, math.prod(distribution.total for distribution in distributions)) for entry in table
    ]


def test_a_sum_of_different_users_equals_integer_arithmetic() -> None:
    """For 40 users with 16 values, all 601 balls contain the exact fraction with full accuracy."""
    distributions = different_users(40, 16)
    atoms = dict(Sum().image_distribution(distributions).atoms())
    assert sorted(atoms) == list(range(601))
    for k, exact in enumerate(in_integers(distributions)):
        assert (atoms[k] - ball(exact)).contains(0)
        assert atoms[k].rel_accuracy_bits() >= 49


def test_a_thousand_users_with_sixteen_values_each() -> None:
    """Mass, mean and variance of 15,001 outcomes agree with the users', and both end masses with products."""
    distributions = different_users(1000, 16)
    distribution = Sum().image_distribution(distributions)
    atoms = dict(distribution.atoms())
    assert sorted(atoms) == list(range(15_001))
    means = [Fraction(sum(j * w for j, w in enumerate(one.weights)), one.total) for one in distributions]
    squares = [
        Fraction(sum(j * j * w for j, w in enumerate(one.weights)), one.total) for one in distributions
    ]
    mean, variance = sum(means), sum(s - m**2 for s, m in zip(squares, means, strict=True))
    total, first, second = arb(0), arb(0), arb(0)
    for k, p in atoms.items():
        total, first, second = total + p, first + k * p, second + k * k * p
    for found, wanted in ((total, 1), (first, mean), (second, variance + mean**2)):
        assert (found / ball(Fraction(wanted)) - 1).contains(0)
        assert abs(found / ball(Fraction(wanted)) - 1) < 1e-10
    for k, entry in ((0, 0), (15_000, 15)):
        exact = math.prod(Fraction(one.weights[entry], one.total) for one in distributions)
        assert (atoms[k] / ball(exact) - 1).contains(0)
        assert abs(atoms[k] / ball(exact) - 1) < 1e-12


def test_residues_of_many_users_are_the_folded_sum() -> None:
    """In Z_64, every residue is the sum of the fractions at this residue."""
    distributions = different_users(30, 16)
    folded = [sum(in_integers(distributions)[y::64], Fraction(0)) for y in range(64)]
    for y, p in SumMod(64).image_distribution(distributions).atoms():
        assert (p - ball(folded[y])).contains(0)
        assert abs(p / ball(folded[y]) - 1) < 1e-12


def test_a_product_of_any_number_of_factors_is_the_product() -> None:
    """Products of one to nine polynomials equal left-to-right products, and no factors are refused."""
    factors = [fmpz_poly([1] * (1 + 5 * j % 7) + [j + 2]) for j in range(9)]
    for count in range(1, 10):
        expected = fmpz_poly([1])
        for factor in factors[:count]:
            expected *= factor
        assert product_of(factors[:count]) == expected
    with pytest.raises(IndexError):
        product_of([])


def test_a_sum_survives_the_way_to_another_process() -> None:
    """Pickling sends only the parts, without hashes or tables of this process."""
    distribution = ConvolvedIntegers([Bernoulli(p="1/3"), Bernoulli(p="1/2")])
    hash(distribution)
    list(distribution.atoms())
    assert distribution.__getstate__().keys() == {"groups"}
    again = pickle.loads(pickle.dumps(distribution))
    assert again == distribution
    assert hash(again) == hash(distribution)


def counted(distributions: list[Categorical], outcomes: int) -> dict[tuple[int, ...], Fraction]:
    """Return the probabilities of the counts in fractions, adding user by user."""
    table = {(0,) * outcomes: Fraction(1)}
    for distribution in distributions:
        following: dict[tuple[int, ...], Fraction] = {}
        for vector, p in table.items():
            for j in range(len(distribution.weights)):
                key = tuple(c + (i == j) for i, c in enumerate(vector))
                following[key] = following.get(key, Fraction(0)) + p * distribution.probability_of(j)
        table = following
    return {vector: p for vector, p in table.items() if p}


@pytest.mark.parametrize("gap", [0, 1], ids=["all symbols", "symbols that some never say"])
def test_counts_of_different_users_equal_fractions(gap: int) -> None:
    """For ten users and three symbols, vectors and probabilities agree with fractions, in the same order."""
    distributions = [Categorical(weights=[1 + j, 2, 7 - j % 4]) for j in range(8)]
    distributions += [Categorical(weights=[3, 0 if gap else 1, 5])] * 2
    expected = counted(distributions, 3)
    atoms = {tuple(v.tolist()): p for v, p in CountVector(distributions, outcomes=3).atoms()}
    assert list(atoms) == sorted(expected)
    for vector, p in atoms.items():
        assert (p - ball(expected[vector])).contains(0)
        assert abs(p / ball(expected[vector]) - 1) < 1e-12


def test_impossible_counts_are_left_out() -> None:
    """Users whose symbol is certainly 0 are always counted there."""
    distributions = [Categorical(weights=[1, 0, 0])] * 3 + [Categorical(weights=[1, 1, 0])] * 2
    atoms = {tuple(v.tolist()): p for v, p in CountVector(distributions, outcomes=3).atoms()}
    assert list(atoms) == [(3, 2, 0), (4, 1, 0), (5, 0, 0)]


def test_counts_of_a_thousand_users_are_a_sum_of_two_binomials() -> None:
    """The number of ones from half zeros and half ones equals a convolution in integers."""
    distributions = [Categorical(weights=[3, 1])] * 500 + [Categorical(weights=[1, 3])] * 500
    atoms = {int(v[1]): p for v, p in CountVector(distributions, outcomes=2).atoms()}
    assert sorted(atoms) == list(range(1001))
    for ones in (0, 1, 499, 500, 731, 1000):
        exact = sum(
            Fraction(math.comb(500, j) * math.comb(500, ones - j) * 3 ** (500 - j + ones - j), 4**1000)
            for j in range(max(0, ones - 500), min(500, ones) + 1)
        )
        assert (atoms[ones] / ball(exact) - 1).contains(0)
        assert abs(atoms[ones] / ball(exact) - 1) < 1e-12
