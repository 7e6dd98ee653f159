"""Each generic mutant makes its mistake and is caught, and the program itself is not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit.coins import Coins, enumerate_view, record, replay
from dpaudit.coins.base import To
from dpaudit.core.errors import InvalidParameterError, MechanismError
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Group
from dpaudit.core.views import PUBLIC, SERVER, View
from dpaudit.distributions import (
    DiscreteGaussian,
    DiscreteLaplace,
    Distribution,
    Gaussian,
    Laplace,
    PointMass,
    Skellam,
    SumMod,
)
from dpaudit.replay.domains import ListedPairs
from dpaudit.suite import Control, broken, controls
from dpaudit.suite.mutants import (
    Mutation,
    _mutation,
    _Passing,
    branching,
    one_share_less,
    reusing,
    scaled,
    shared,
    twice,
    without,
)
from tests.errors import raises
from tests.suite.test_row_kinds import RUN, audit_at, found

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
    distributions: Sequence[Distribution] = [DiscreteLaplace(scale=1).shift(int(value)) for value in data]
    return coins.aggregate(distributions, SumMod(8), site="sum")


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


def test_one_share_less_is_the_distribution_of_fewer_shares() -> None:
    """By enumeration: the aggregate of three users has the noise of two."""

    def fewer(coins: Coins, data: Any) -> Any:
        distributions: list[Distribution] = [
            DiscreteLaplace(scale=1).shift(int(value)) for value in data[:-1]
        ]
        return coins.aggregate([*distributions, PointMass(value=int(data[-1]))], SumMod(8), site="sum")

    view = View.of(SERVER)
    data = [1, 0, 1]
    mutant = enumerate_view(one_share_less()(aggregate), data, view=view, tail=1e-6)
    wanted = enumerate_view(fewer, data, view=view, tail=1e-6)
    plain = enumerate_view(aggregate, data, view=view, tail=1e-6)
    assert _masses(mutant) == pytest.approx(_masses(wanted), rel=1e-9)
    assert _masses(mutant) != pytest.approx(_masses(plain), rel=1e-3)


def _masses(distribution: Any) -> dict[Any, float]:
    return {
        seen[-1]: float(distribution.probabilities[key]) for key, seen in distribution.transcripts.items()
    }


@pytest.mark.parametrize(
    "distribution",
    [
        Laplace(scale=2),
        Gaussian(sigma=2),
        DiscreteLaplace(scale=2),
        DiscreteGaussian(sigma2=4),
        Skellam(variance=4),
    ],
    ids=lambda distribution: type(distribution).__name__,
)
def test_a_scaled_distribution_has_the_scaled_deviation(distribution: Distribution) -> None:
    """Variance by the square of the factor (discrete distributions: up to their lattice), around the same
    centre."""
    wide = distribution.shift(3).scaled(5)
    assert wide.variance() == pytest.approx(25 * distribution.variance(), rel=0.03)
    assert distribution.scaled(1) == distribution


def test_a_distribution_without_a_scale_is_refused_by_name() -> None:
    """Scaling a distribution without a scale is refused."""
    with raises(InvalidParameterError, code="E-SCALE-MISSING", match="PointMass"):
        PointMass(value=1).scaled(2)


# What counts as caught


def _table(found: Mapping[str, Control]) -> Any:
    def table() -> Mapping[str, Control]:
        """Mistakes are caught"""
        return found

    return table


def caught(program: Any, mutation: Mutation) -> dict[str, Any]:
    """The row of one control: this mutant of ``program``, which claims to be 1-DP."""
    rows = Group()
    audit = replace(audit_at(Fraction(1), Fraction(1)), program=program)
    controls(rows, "M", "here")(_table({"mutant": broken(audit, mutation)}))
    return found(rows.rows[0])


def checked(error: Any) -> Any:
    """A noisy sum that ends by ``error(sum)`` where the sum comes out without noise and that is an error."""

    def program(coins: Coins, data: Any) -> float:
        shown = float(coins.release(float(np.sum(data)), Laplace(scale=1), site="sum"))
        reason = error(shown) if shown == float(np.sum(data)) else None
        if reason is not None:
            raise reason
        return round(shown)

    return program


def test_an_error_on_one_input_alone_is_shown() -> None:
    """Without noise the sum 2 is refused and 1 is not: a real difference, and the mutant is caught."""
    result = caught(checked(lambda total: ValueError("2") if total == 2 else None), without(shown=False))
    assert (result["verdict"], result["cells"][0]["verdict"]) == ("verified", "refuted")


@pytest.mark.parametrize(
    "error",
    [
        lambda total: ValueError("no noise"),
        lambda total: ValueError(f"no noise at {total}"),
        lambda total: ValueError("2") if total == 2 else KeyError("1"),
    ],
    ids=["same", "message", "type"],
)
def test_a_mutant_that_raises_on_both_inputs_is_not_caught(error: Any) -> None:
    """A control whose mutant raises on both inputs crashes, whether or not the errors are equal."""
    result = caught(checked(error), without(shown=False))
    assert result["verdict"] == "crashed"
    crashes = ("a mutant must run on at least one", "the program did not finish")
    assert result["reasons"][0].startswith(tuple(f"the control mutant crashed: {text}" for text in crashes))


def test_two_errors_do_not_tell_inputs_apart_where_others_run() -> None:
    """No witness is made from two different errors, although another pair runs."""
    program = checked(lambda total: {1.0: KeyError("1"), 2.0: ValueError("2")}.get(total))
    pairs = [
        Neighbours("errors", np.array([0.0, 1.0]), np.array([1.0, 1.0])),
        Neighbours("runs", np.array([0.0, 5.0]), np.array([0.0, 5.5])),
    ]
    audit = replace(
        audit_at(Fraction(1), Fraction(1)),
        program=program,
        neighbours=lambda run: pairs,
        domain=ListedPairs(),
    )
    evaluate = broken(audit, without(shown=False)).evaluate
    with raises(MechanismError, code="E-MUTANT-RAISED", match="KeyError: '1' on one and ValueError: 2"):
        evaluate(RUN)


def raising(where: float) -> Mutation:
    """A transformation that fails by itself where the raw sum is ``where``."""

    def scaled_there(distribution: Distribution) -> Distribution:
        if float(getattr(distribution, "offset", 0)) == where:
            raise ZeroDivisionError("no such factor")
        return distribution.scaled("1/2")

    class Failing(_Passing):
        def observe(self, distribution: Distribution, *, site: str, to: To = PUBLIC) -> Any:
            return super().observe(scaled_there(distribution), site=site, to=to)

    return _mutation(lambda coins: Failing(coins))


def noisy(coins: Coins, data: Any) -> float:
    return float(coins.release(float(np.sum(data)), Laplace(scale=1), site="sum"))


def test_a_transformation_that_breaks_on_one_input_catches_nothing() -> None:
    """Half the noise is refuted; where making it fails on one of the inputs, the control crashes and says
    what failed, though the program catches every error."""

    def swallowing(coins: Coins, data: Any) -> float:
        try:
            return noisy(coins, data)
        except Exception:
            return 0.0

    assert caught(noisy, raising(where=7.0))["cells"][0]["verdict"] == "refuted"
    for program in (noisy, swallowing):
        for where in (1.0, 2.0):
            result = caught(program, raising(where=where))
            assert result["verdict"] == "crashed"
            assert "failing at site 'sum': ZeroDivisionError: no such factor" in result["reasons"][0]


def test_a_mutant_that_cannot_be_made_crashes_its_control_alone() -> None:
    """A distribution without a scale, at a site of its own: there is a fingerprint, the other one is
    caught."""

    def revealing(coins: Coins, data: Any) -> float:
        coins.observe(PointMass(value=1), site="fixed")
        return noisy(coins, data)

    rows = Group()
    audit = replace(audit_at(Fraction(1), Fraction(1)), program=revealing)
    table = {"all": broken(audit, scaled("1/2")), "sum": broken(audit, scaled("1/2", sites="sum"))}
    controls(rows, "M", "here")(_table(table))
    row = rows.rows[0]
    assert row.fingerprint is not None
    assert row.fingerprint(3) == row.fingerprint(3)
    assert [cell["verdict"] for cell in found(row)["cells"]] == ["crashed", "refuted"]
