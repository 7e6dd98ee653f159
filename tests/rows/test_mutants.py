"""Generic mutants: each is the mistake that its name says, and is caught; the program itself is not."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit.coins import Coins, enumerate_view, record, replay
from dpaudit.errors import InvalidParameterError
from dpaudit.laws import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Law,
    PointMass,
    Skellam,
    SumMod,
)
from dpaudit.rows.mutants import (
    Mutation,
    branching,
    one_share_less,
    reusing,
    scaled,
    shared,
    twice,
    with_scale,
    without,
)
from dpaudit.views import PUBLIC, SERVER, View

LEFT, RIGHT = np.array([0.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0])


def sums(coins: Coins, data: Any) -> list[Any]:
    """Two sums of the same records, each with the noise for half of epsilon = 1, and one vector."""
    total = float(data.sum())
    first = coins.release(total, Laplace(scale=2), site="first")
    second = coins.release(total, Laplace(scale=2), site="second")
    return [first, second]


def vector(coins: Coins, data: Any) -> Any:
    return coins.release(np.array([data[0], data[1]]), Laplace(scale=1), site="vector")


def aggregate(coins: Coins, data: Any) -> Any:
    laws: Sequence[Law] = [DiscreteLaplace(scale=1).shift(int(value)) for value in data]
    return coins.aggregate(laws, SumMod(8), site="sum")


def loss(program: Any, *, seed: int = 0) -> float:
    """The exact loss of one sampled transcript, or infinity for a leak."""
    recording = record(program, LEFT, rng=np.random.default_rng(seed))
    result = replay(program, RIGHT, recording)
    if result.leaks:
        return float("inf")
    return float(abs(result.loss(View.of(PUBLIC, SERVER))))


def worst(program: Any) -> float:
    return max(loss(program, seed=seed) for seed in range(200))


def test_the_programs_themselves_are_private() -> None:
    """The controls: a loss of at most 1, no leak."""
    assert worst(sums) <= 1 + 1e-9
    assert worst(vector) <= 1 + 1e-9


@pytest.mark.parametrize(
    ("mutation", "program", "expected"),
    [
        (scaled("1/2"), sums, 2.0),
        (scaled("1/2", sites="first"), sums, 1.5),
        (without("first"), sums, float("inf")),
        (reusing(), sums, float("inf")),
        (shared(), vector, float("inf")),
        (twice(), sums, 2.0),
        (branching(), sums, float("inf")),
    ],
    ids=["scale", "scale of one site", "no noise", "reused", "shared", "twice", "raw branch"],
)
def test_each_mistake_costs_what_it_must(mutation: Mutation, program: Any, expected: float) -> None:
    """The worst sampled loss is that of the mistake: half the scale doubles it, a leak makes it infinite."""
    assert worst(mutation(program)) == pytest.approx(expected, rel=1e-9)


def test_noise_left_out_at_first_is_drawn_later() -> None:
    """Only the first release is bare; where it is not shown, its site shows nothing."""
    for shown, seen in ((True, ["first", "second"]), (False, ["second"])):
        mutant = without(first=1, shown=shown)(sums)
        recording = record(mutant, RIGHT, rng=np.random.default_rng(0))
        assert [site.site for site in recording.sites[:-1]] == seen
        assert recording.returned[0] == 1.0 != recording.returned[1]


def test_one_share_less_is_the_law_of_fewer_shares() -> None:
    """By enumeration: the aggregate of three users has the noise of two."""

    def fewer(coins: Coins, data: Any) -> Any:
        laws: list[Law] = [DiscreteLaplace(scale=1).shift(int(value)) for value in data[:-1]]
        return coins.aggregate([*laws, PointMass(value=int(data[-1]))], SumMod(8), site="sum")

    view = View.of(SERVER)
    data = [1, 0, 1]
    mutant = enumerate_view(one_share_less()(aggregate), data, view=view, tail=1e-6)
    wanted = enumerate_view(fewer, data, view=view, tail=1e-6)
    plain = enumerate_view(aggregate, data, view=view, tail=1e-6)
    assert _masses(mutant) == pytest.approx(_masses(wanted), rel=1e-9)
    assert _masses(mutant) != pytest.approx(_masses(plain), rel=1e-3)


def _masses(law: Any) -> dict[Any, float]:
    return {seen[-1]: float(law.probabilities[key]) for key, seen in law.transcripts.items()}


@pytest.mark.parametrize(
    "law",
    [
        Laplace(scale=2),
        Gaussian(sigma=2),
        DiscreteLaplace(scale=2),
        DiscreteGaussian(sigma2=4),
        Skellam(variance=4),
    ],
    ids=lambda law: type(law).__name__,
)
def test_a_scaled_law_has_the_scaled_deviation(law: Law) -> None:
    """Variance by the square of the factor (discrete laws: up to their lattice), around the same centre."""
    wide = with_scale(law.shift(3), Fraction(5))
    assert wide.variance() == pytest.approx(25 * law.variance(), rel=0.03)
    assert with_scale(law, Fraction(1)) == law


def test_a_law_without_a_scale_is_refused_by_name() -> None:
    """A factor on what has no scale would be no mistake at all."""
    with pytest.raises(InvalidParameterError, match="PointMass"):
        with_scale(PointMass(value=1), Fraction(2))
