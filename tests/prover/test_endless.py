"""Test that endless programs, millions of changes, long numbers and other Python versions are refused
quickly."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from dpaudit.core.claims import PureDP
from dpaudit.distributions import DiscreteLaplace, Laplace
from dpaudit.prover import EVERY, EachMoves, Symbols, opcodes, prove
from dpaudit.prover.step_limit import of_limited_length
from dpaudit.prover.symbols import RefusedError
from dpaudit.reference.mechanisms.sparse_vector_programs import sparse_vector
from tests.errors import raises
from tests.prover.frames import needs_frames


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
        (idle, Symbols(2), EachMoves(), "endless loop"),
        (counts, Symbols(2), EachMoves(), "more than 1000000 lines"),
        pytest.param(
            counts_in_its_loop, Symbols(EVERY), EachMoves(), "more than 1000000 lines", marks=needs_frames
        ),
        (digits, Symbols(2), EachMoves(), "digits"),
    ],
    ids=["idle", "counts", "counts in its loop", "digits"],
)
def test_it_is_refused_with_the_reason(program: Any, data: Symbols, adjacency: EachMoves, why: str) -> None:
    """An endless or too long program gives no verdict, no bound and a reason."""
    proof = prove(program, PureDP(epsilon=1), data=data, adjacency=adjacency)
    assert (proof.verdict, proof.bound) == ("inconclusive", None)
    assert why in proof.reason


def test_other_versions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proof for every size under an untested Python version gives no verdict."""
    monkeypatch.setattr(opcodes, "TESTED", ("cpython", (3, 99)))
    program = sparse_vector(threshold=2, query=4)
    proof = prove(program, PureDP(epsilon=1), data=Symbols(EVERY), adjacency=EachMoves())
    assert (proof.verdict, proof.bound) == ("inconclusive", None)
    assert "CPython 3.11" in proof.reason


def test_millions_of_whole_changes_are_no_bound() -> None:
    """Millions of whole changes of both signs are not listed, and the claim is not verified."""
    data = Symbols(2, integers=True)
    proof = prove(spread, PureDP(epsilon=1), data=data, adjacency=EachMoves(10**7))
    assert proof.verdict != "verified"
    assert proof.bound is None or proof.bound > 1


def test_what_traces_already_stays() -> None:
    """The step limit keeps a debugger's trace function, and leaves none behind without one."""

    def tracer(*_: Any) -> None:
        return None

    before = sys.gettrace()
    try:
        sys.settrace(tracer)
        with of_limited_length(0):
            sum([1, 2])
        assert sys.gettrace() is tracer
        sys.settrace(None)
        with raises(RefusedError, code="E-RUN-TOO-LONG"), of_limited_length(2):
            counts(None, None)
        assert sys.gettrace() is None
    finally:
        sys.settrace(before)
