"""Test programs and certificates for which the prover once gave a false result."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from dpaudit import PureDP, prove
from dpaudit.distributions import Laplace
from dpaudit.kernel import program_t0, step_t0
from dpaudit.prover import EachMoves, Symbols
from dpaudit.prover.data import EVERY
from dpaudit.prover.post import post

INFINITY = math.inf


def _counter() -> Callable[[], int]:
    n = 0

    def seen() -> int:
        nonlocal n
        n += 1
        return n

    return seen


def _flag() -> tuple[Callable[[], None], Callable[[], int], Callable[[], None]]:
    n = 0

    def put() -> None:
        nonlocal n
        n = 1

    def get() -> int:
        return n

    def zero() -> None:
        nonlocal n
        n = 0

    return put, get, zero


seen = _counter()
put, get, zero = _flag()


def after_a_million_calls(coins: Any, data: Any) -> None:
    for x in data:
        if seen() > 1_000_000:
            coins.reveal(x, site="r")


def from_the_second_record(coins: Any, data: Any) -> None:
    zero()
    for x in data:
        if get() > 0:
            coins.reveal(x, site="r")
        put()


def asked_twice(coins: Any, data: Any) -> bool:
    out = coins.release(0, Laplace(scale=1), site="o")
    one, two = post(_answer, out, choices=(0, 1)), post(_answer, out, choices=(0, 1))
    return data[0] > 0 if one != two else False


def _answer(out: Any) -> int:
    return seen() % 2


def two_names(coins: Any, data: Any) -> None:
    flag = True
    a = b = None
    for x in data:
        if a is not None and a is (b if flag else None):
            coins.reveal(x, site="r")
        a = x
        b = x


def small_integers(coins: Any, data: Any) -> bool:
    if data[0] is (data[1] if len(data) > 1 else None):
        return bool(data[0] > 0)
    return False


def no_number(coins: Any, data: Any) -> Any:
    out = coins.release(0, Laplace(scale=1), site="o")
    y = out * INFINITY * 0
    for x in data:
        n = coins.draw(Laplace(scale=1), site="n")
        if n < y:
            continue
        if n >= y:
            continue
        return x
    return None


@pytest.mark.parametrize(
    ("program", "data"),
    [
        (after_a_million_calls, Symbols(EVERY)),
        (after_a_million_calls, Symbols(2)),
        (from_the_second_record, Symbols(EVERY)),
        (asked_twice, Symbols(1)),
        (two_names, Symbols(EVERY)),
        (small_integers, Symbols(2)),
        (small_integers, Symbols(2, integers=True)),
        (no_number, Symbols(EVERY)),
    ],
    ids=lambda value: getattr(value, "__name__", None) or f"{value.size}",
)
def test_state_identity_and_no_number_are_refused(program: Any, data: Symbols) -> None:
    """Programs that show a record by state in a cell, identity after a jump, or NaN are not proved."""
    found = prove(program, PureDP(epsilon=1), data=data, adjacency=EachMoves())
    assert found.verdict == "inconclusive"
    assert found.bound is None


def test_an_empty_range_of_data_proves_nothing() -> None:
    """The checkers reject data between 1 and 0, whose contradiction would prove every tree."""
    replaced = {"kind": "one-replaced", "by": "1", "at_most": False}
    nothing = [["empty", {"x0>": "1", "x0<": "1"}]]
    data = {"size": "every", "width": None, "low": "1", "high": "0", "integers": False}
    step = {
        "proof": "program, generic step", "claim": {"epsilon": "1"}, "data": data, "adjacency": replaced,
        "apart": False, "before": [["goto", 0, {}]],
        "states": [{"symbols": [], "names": [], "step": nothing, "exit": [["end"]]}],
        "runs": [{
            "nodes": [[0, 0, {}, "0"], [0, 1, {}, "0"]], "start": [[0, []]],
            "moves": [[[], [], []], [[]]], "exits": [[[None, []]], [[None, []]]],
        }],
    }  # fmt: skip
    with pytest.raises(step_t0.StepProofError, match="range"):
        step_t0.check(step)
    own = {
        "proof": "program, own regions", "claim": {"epsilon": "1"}, "data": {**data, "size": 1},
        "adjacency": replaced, "tree": nothing, "cells": [],
    }  # fmt: skip
    with pytest.raises(program_t0.ProgramProofError, match="range"):
        program_t0.check(own)


@pytest.mark.parametrize("data", [Symbols(2001), Symbols(EVERY, width=65), Symbols(EVERY, width=13)])
def test_what_the_checker_does_not_read_is_inconclusive(data: Symbols) -> None:
    """More numbers than the checker reads give no verdict and no exception."""

    def one(coins: Any, data: Any) -> int:
        return 1

    found = prove(one, PureDP(epsilon=1), data=data, adjacency=EachMoves())
    assert found.verdict == "inconclusive"
    assert found.reason
