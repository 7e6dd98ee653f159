"""Test `prove` on declared data against proofs on symbols."""

from __future__ import annotations

from typing import Any

import pytest

from dpaudit import (
    Anything,
    Ball,
    Categories,
    Integers,
    Interval,
    PureDP,
    Records,
    Table,
    ZeroConcentratedDP,
    prove,
)
from dpaudit.core.data import Domain
from dpaudit.core.errors import InvalidParameterError
from dpaudit.distributions import DiscreteLaplace, Gaussian, Laplace
from dpaudit.prover import EVERY, EachMoves, OneReplaced, Symbols
from tests.errors import raises

ONE = PureDP(epsilon=1)


def noisy_sum(coins: Any, data: Any) -> Any:
    total = 0
    for record in data:
        total = total + record
    return coins.release(total, Laplace(scale=1), site="sum")


def whole_sum(coins: Any, data: Any) -> Any:
    return coins.release(sum(data), DiscreteLaplace(scale=2), site="sum")


def second_numbers(coins: Any, data: Any) -> Any:
    return coins.release(sum(row[1] for row in data), Laplace(scale=2), site="sum")


def normal_sum(coins: Any, data: Any) -> Any:
    return coins.release(sum(data), Gaussian(sigma=1), site="sum")


def listed(domain: Domain, **options: Any) -> Records:
    return Records(domain, container="list", **options)


CASES: list[tuple[Any, Any, Records, Symbols, str]] = [
    (noisy_sum, ONE, listed(Interval(0, 1)), Symbols(EVERY, low=0, high=1), "verified"),
    (noisy_sum, ONE, listed(Interval(0, 1), size=3), Symbols(3, low=0, high=1), "verified"),
    (noisy_sum, ONE, listed(Interval(0, "5/4"), size=2), Symbols(2, low=0, high="5/4"), "refuted"),
    (whole_sum, ONE, listed(Categories(3), size=2), Symbols(2, low=0, high=2, integers=True), "verified"),
    (whole_sum, ONE, listed(Integers(-2, 1), size=2), Symbols(2, low=-2, high=1, integers=True), "refuted"),
    (
        second_numbers,
        ONE,
        listed(Interval(-1, 1), size=2, width=2),
        Symbols(2, low=-1, high=1, width=2),
        "verified",
    ),
    (
        normal_sum,
        ZeroConcentratedDP(rho="1/2"),
        listed(Interval(0, 1), size=3),
        Symbols(3, low=0, high=1),
        "verified",
    ),
]


@pytest.mark.parametrize(("program", "claim", "data", "symbols", "verdict"), CASES)
def test_a_declaration_is_proved_as_its_symbols_are(
    program: Any, claim: Any, data: Records, symbols: Symbols, verdict: str
) -> None:
    """Declared data have the verdict, bound, scope and certificate of their symbols."""
    found = prove(program, claim, data=data)
    same = prove(program, claim, data=symbols, adjacency=OneReplaced())
    assert found.verdict == verdict
    assert (found.bound, found.scope, found.certificate) == (same.bound, same.scope, same.certificate)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"data": Records(Interval(0, 1), size=3)}, "E-DATA-NOT-A-LIST"),
        ({"data": listed(Ball(1, 2), size=3)}, "E-DATA-NOT-A-LIST"),
        ({"data": listed(Integers(0, 1, bits=True), size=3)}, "E-DATA-NOT-A-LIST"),
        ({"data": listed(Interval(0, 1), size=3, group=2)}, "E-DATA-NOT-A-LIST"),
        ({"data": listed(Anything(), size=3)}, "E-DATA-UNBOUNDED"),
        ({"data": Table({"x": Interval(0, 1)}, size=3)}, "E-DATA-NOT-A-LIST"),
        ({"data": listed(Interval(0, 1), size=3), "adjacency": OneReplaced()}, "E-ADJACENCY-TWICE"),
        ({"data": listed(Interval(0, 1), size=3), "adjacency": EachMoves()}, "E-ADJACENCY-TWICE"),
        (
            {"data": listed(Interval(0, 1), size=3), "claim": PureDP(epsilon=1, adjacency="add-remove")},
            "E-CLAIM-NOT-REPLACE-ONE",
        ),
        (
            {"data": listed(Interval(0, 1), size=3), "claim": PureDP(epsilon=1, adjacency="zero-out")},
            "E-CLAIM-NOT-REPLACE-ONE",
        ),
        (
            {"data": listed(Interval(0, 1), size=3, group=2), "claim": PureDP(epsilon=1, unit="user")},
            "E-DATA-NOT-A-LIST",
        ),
        ({"data": Symbols(3, low=0, high=1)}, "E-DATA-NOT-SYMBOLIC"),
        ({"data": [0, 1]}, "E-DATA-NOT-SYMBOLIC"),
    ],
)
def test_data_and_claims_that_symbols_cannot_express_are_refused(options: dict[str, Any], code: str) -> None:
    """`prove` refuses data and neighbours for which a proof would be about other data."""
    with raises(InvalidParameterError, code=code):
        prove(noisy_sum, **{"claim": ONE, **options})


def test_a_list_of_rows_holds_tuples() -> None:
    """Sampled rows are tuples, as in a proof."""
    pair = next(iter(listed(Interval(0, 1), size=2, width=2).pairs()))
    assert pair.left == [(0.0, 0.0), (0.0, 0.0)]
