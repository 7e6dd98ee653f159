"""Programs without an end, changes without number and endless digits are refused, and soon."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from dpaudit.claims import PureDP
from dpaudit.laws import DiscreteLaplace, Laplace
from dpaudit.prover import EVERY, EachMoves, Symbols, prove
from dpaudit.prover.endless import of_limited_length
from dpaudit.prover.symbols import RefusedError


def idle(coins: Any, data: Any) -> None:
    while True: pass  # fmt: skip  # noqa: E701  one instruction that jumps to itself


def counts(coins: Any, data: Any) -> None:
    total = 0
    while True:
        total = total + 1


def counts_in_its_loop(coins: Any, data: Any) -> None:
    for _ in data:
        total = 0
        while True:
            total = total + 1


def digits(coins: Any, data: Any) -> bool:
    return bool(data[0] + coins.draw(Laplace(scale=1), site="noise") > 10**5000)


def spread(coins: Any, data: Any) -> bool:
    noise = coins.draw(DiscreteLaplace(scale=1), site="noise")
    return bool(data[0] - data[1] + noise > data[1] - data[0])


@pytest.mark.parametrize(
    ("program", "data", "adjacency", "why"),
    [
        (idle, Symbols(2), EachMoves(), "does nothing"),
        (counts, Symbols(2), EachMoves(), "more than 1000000 lines"),
        (counts_in_its_loop, Symbols(EVERY), EachMoves(), "more than 1000000 lines"),
        (digits, Symbols(2), EachMoves(), "digits"),
    ],
    ids=["idle", "counts", "counts in its loop", "digits"],
)
def test_it_is_refused_with_the_reason(program: Any, data: Symbols, adjacency: EachMoves, why: str) -> None:
    """No verdict, no bound, no hang."""
    if data.size == EVERY and sys.version_info[:2] != (3, 11):
        pytest.skip("every size is proved on CPython 3.11 alone")
    proof = prove(program, PureDP(epsilon=1), data=data, adjacency=adjacency)
    assert (proof.verdict, proof.bound) == ("inconclusive", None)
    assert why in proof.reason


def test_millions_of_whole_changes_are_no_bound() -> None:
    """Each whole change of a number of both signs would be a case: none of them is listed."""
    data = Symbols(2, integers=True)
    proof = prove(spread, PureDP(epsilon=1), data=data, adjacency=EachMoves(10**7))
    assert proof.verdict != "verified"
    assert proof.bound is None or proof.bound > 1


def test_what_traces_already_stays() -> None:
    """A debugger's trace is neither replaced nor removed; without one, none is left behind."""

    def tracer(*_: Any) -> None:
        return None

    before = sys.gettrace()
    try:
        sys.settrace(tracer)
        with of_limited_length(0):
            sum([1, 2])
        assert sys.gettrace() is tracer
        sys.settrace(None)
        with pytest.raises(RefusedError), of_limited_length(2):
            counts(None, None)
        assert sys.gettrace() is None
    finally:
        sys.settrace(before)
