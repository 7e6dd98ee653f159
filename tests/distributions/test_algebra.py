"""What a distribution says about itself and another one: distances, amounts of noise, costs, far outcomes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit.core.errors import InvalidParameterError
from dpaudit.distributions import (
    Bernoulli,
    Binomial,
    ConvolvedIntegers,
    CountVector,
    DiscreteGaussian,
    DiscreteLaplace,
    Distribution,
    Exponential,
    Gaussian,
    Gumbel,
    Laplace,
    NoisyArgmax,
    PointMass,
    PolyaDifference,
    Product,
    Shuffle,
    ShuffledMultiset,
    Skellam,
    Student,
    Sum,
    SumMod,
    WrappedMod,
)

F = Fraction


def test_distances_are_exact_and_short_modulo_m() -> None:
    """Shifts, entries of arrays, residues; other noise, other shapes and other moduli have no distance."""
    noise = Laplace(scale=2)
    assert noise.shift(F(1, 3)).distances(noise) == [F(1, 3)]
    assert noise.shift(np.array([1.0, 5.0])).distances(noise.shift(np.array([1.5, 5.0]))) == [F(1, 2), F(0)]
    assert noise.shift(1).distances(Laplace(scale=3)) is None
    assert noise.shift(np.array([1, 2])).distances(noise.shift(1)) is None
    lattice = DiscreteLaplace(scale=2)
    here, there = (WrappedMod(lattice, modulus=10, offset=offset) for offset in (9, 1))
    assert here.distances(there) == [F(2)]
    assert here.distances(WrappedMod(lattice, modulus=11, offset=1)) is None
    assert here.distances(lattice.shift(1)) is lattice.shift(1).distances(here) is None
    assert here.added_noise == lattice.shift(3).added_noise == lattice


@pytest.mark.parametrize(
    ("noise", "family", "stated", "amount"),
    [
        (Laplace(scale=3), "laplace", {"scale": "2"}, F(3, 2)),
        (Laplace(scale=1), "laplace", {"scale": "2"}, F(1, 2)),
        (Laplace(scale=3), "gaussian", {"variance": "2"}, None),
        (Gaussian(variance=3), "gaussian", {"variance": "2"}, F(3, 2)),
        (Skellam(variance=3), "skellam", {"variance": "6"}, F(1, 2)),
        (Exponential(scale=3), "exponential", {"scale": "2"}, 0),
        (Gumbel(scale=2), "gumbel", {"scale": "2"}, 1),
        (Student(df=3, scale=2), "student", {"scale": "2", "df": "3"}, 1),
        (Student(df=3, scale=2), "student", {"scale": "2", "df": "4"}, None),
        (DiscreteGaussian(sigma2=4), "discrete-gaussian-sum", {"variance": "4"}, 1),
        (DiscreteGaussian(sigma2=5), "discrete-gaussian-sum", {"variance": "4"}, 0),
        (DiscreteGaussian(sigma2=4), "discrete-gaussian-sum", {"variance": "4", "count": "2"}, None),
        (Binomial(trials=6, p="1/2"), "binomial", {"trials": "4", "probability": "1/2"}, F(3, 2)),
        (Binomial(trials=6, p="1/2"), "binomial", {"trials": "4", "probability": "1/3"}, None),
        (PolyaDifference(shape=1, log_ratio="1/2"), "discrete-laplace", {"scale": "2"}, 1),
        (PolyaDifference(shape="1/2", log_ratio="1/2"), "discrete-laplace", {"scale": "2"}, 0),
        (
            PolyaDifference(shape="1/2", log_ratio="1/2"),
            "discrete-laplace",
            {"scale": "2", "share": "1/4"},
            1,
        ),
        (PolyaDifference(shape=1, log_ratio=1), "discrete-laplace", {"scale": "2"}, None),
    ],
)
def test_more_than_the_stated_noise_is_that_noise_and_more(
    noise: Distribution, family: str, stated: dict[str, Any], amount: Any
) -> None:
    """At least 1 only where the noise is the stated one plus independent noise."""
    assert noise.amount_over(family, stated) == amount


def test_costs_in_squares() -> None:
    """D^2/s for Gaussian tails, e^2 otherwise, and a quarter of it with Gumbel noise."""

    def no_loss() -> Fraction | None:
        raise AssertionError

    noise = Gaussian(variance=2)
    assert noise.shift(3).squared_cost(noise, no_loss) == F(9, 2)
    assert Skellam(variance=2).shift(3).squared_cost(Skellam(variance=2), no_loss) == F(9, 2)
    assert Laplace(scale=1).shift(3).squared_cost(Laplace(scale=1), lambda: F(3)) == 9
    assert Laplace(scale=1).shift(3).squared_cost(Laplace(scale=1), lambda: None) is None
    one, two = (NoisyArgmax([a, 5], noise) for a in (1, 2))
    assert one.squared_cost(two, no_loss) == F(1, 4)
    assert NoisyArgmax([1, 5], noise).squared_cost(NoisyArgmax([2, 6], noise), no_loss) == 0
    gumbel = [NoisyArgmax([a, 5], Gumbel(scale=1)) for a in (1, 2)]
    assert gumbel[0].squared_cost(gumbel[1], lambda: F(2)) == 1


def test_the_parts_of_a_sum_are_what_the_kernel_reads() -> None:
    """Constants and shifts are apart, groups are counted, and a batch of copies is refused."""
    coin = Bernoulli(p="1/3")
    convolved = ConvolvedIntegers([coin, coin, Binomial(trials=3, p="1/4")])
    found = sorted((str(part), count) for part, count, _ in convolved.noise_parts(2))
    assert found == sorted([(str(coin.to_json()), 4), (str(Binomial(trials=3, p="1/4").to_json()), 2)])
    assert list(Laplace(scale=1).shift(F(1, 2)).noise_parts(3)) == [
        (Laplace(scale=1).to_json(), 3, 0),
        (None, 0, F(3, 2)),
    ]
    assert list(PointMass(F(1, 4)).noise_parts(3)) == [(None, 0, F(3, 4))]
    with pytest.raises(InvalidParameterError):
        list(Product([Laplace(scale=1)] * 2).shift(np.array([1, 2])).noise_parts())


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (Laplace(scale=1).shift(1), Laplace(scale=1).shift(0)),
        (
            DiscreteGaussian(sigma2=4).shift(np.array([1, 0])),
            DiscreteGaussian(sigma2=4).shift(np.array([0, 0])),
        ),
        (WrappedMod(Skellam(variance=4), modulus=19, offset=3), WrappedMod(Skellam(variance=4), modulus=19)),
        (Bernoulli(p="1/3"), Bernoulli(p="2/3")),
        (
            CountVector([Bernoulli(p="1/3")] * 2, outcomes=2),
            CountVector([Bernoulli(p="1/2")] * 2, outcomes=2),
        ),
        (
            ShuffledMultiset([Gaussian(variance=1).shift(9), Gaussian(variance=1)]),
            ShuffledMultiset([Gaussian(variance=1).shift(1), Gaussian(variance=1)]),
        ),
    ],
    ids=str,
)
def test_an_outcome_against_another_distribution_is_likelier(one: Distribution, two: Distribution) -> None:
    """The forced outcome has a positive loss."""
    outcome = one.outcome_against(two, 4.0)
    assert np.sum(one.logp(outcome)) > np.sum(two.logp(outcome))


def test_nothing_is_known_of_unlike_distributions() -> None:
    noise = Laplace(scale=1)
    assert (
        noise.shift(np.array([1, 2])).outcome_against(Laplace(scale=2).shift(np.array([1, 2])), 4.0) is None
    )
    assert noise.outcome_against(Gaussian(variance=1), 4.0) is None


def test_one_number_describes_an_outcome_of_two_counts() -> None:
    counts = CountVector([Bernoulli(p="1/3")] * 5, outcomes=2)
    assert counts.as_outcome(2).tolist() == [3, 2]
    assert CountVector([Bernoulli(p="1/3")] * 5, outcomes=3).as_outcome(2) is None
    assert Laplace(scale=1).as_outcome(2) == 2
    assert ShuffledMultiset([Bernoulli(p="1/3")] * 2).as_outcome(1) is None
    assert counts.messages == {Bernoulli(p="1/3"): 5}
    assert Laplace(scale=1).messages is None


def test_images_know_whether_they_are_residues() -> None:
    assert (SumMod(7).ring, Sum().ring, Shuffle().ring) == (7, None, None)
