"""Test that programs which detect that a record is a symbol, without a refusing method, are not proved."""

from __future__ import annotations

import collections.abc
import functools
import json
import operator
from typing import Any

import pytest

from dpaudit.core.claims import PureDP
from dpaudit.core.errors import CertificateError
from dpaudit.distributions import Laplace
from dpaudit.kernel import program_t0
from dpaudit.kernel.program_claim import examine_program
from dpaudit.prover import EachMoves, Symbols, prove


def is_callable(coins: Any, data: Any) -> Any:
    return "x" if callable(data[0]) else data[0]


def is_iterable(coins: Any, data: Any) -> Any:
    return "x" if isinstance(data[0], collections.abc.Iterable) else data[0]


def has_attribute(coins: Any, data: Any) -> Any:
    return "x" if hasattr(data[0], "__iter__") else data[0]


def matches(coins: Any, data: Any) -> Any:
    match data[0]:
        case int() | float():
            return data[0]
        case _:
            return "x"


def asks_the_number(coins: Any, data: Any) -> Any:
    return "z" if (0).__eq__(data[0]) else "n"


def asks_an_operator(coins: Any, data: Any) -> Any:
    return "z" if operator.methodcaller("__eq__", data[0])(0) else "n"


def writes_json(coins: Any, data: Any) -> Any:
    return json.dumps(data[0])


def is_the_same(coins: Any, data: Any) -> Any:
    return operator.is_(data[0], data[1])


def identities(coins: Any, data: Any) -> Any:
    return len(set(map(id, data)))


@functools.singledispatch
def dispatched(value: Any) -> Any:
    return "x"


@dispatched.register
def _(value: int) -> Any:
    return value


def dispatches(coins: Any, data: Any) -> Any:
    return dispatched(data[0])


def names_its_class(coins: Any, data: Any) -> Any:
    return data[0].__class__.__name__


PROGRAMS = (
    *(is_callable, is_iterable, has_attribute, matches, asks_the_number, asks_an_operator),
    *(writes_json, is_the_same, identities, dispatches, names_its_class),
)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_it_is_not_proved(program: Any) -> None:
    """Each program shows its record, or a part of it, without noise, and has no verdict and no bound."""
    proof = prove(program, PureDP(epsilon=1), data=Symbols(2), adjacency=EachMoves())
    assert (proof.verdict, proof.bound) == ("inconclusive", None)
    assert proof.reason


@pytest.mark.parametrize("kind", [[], {}, None, 3, "program, other"], ids=repr)
def test_a_proof_of_no_kind_is_refused(kind: Any) -> None:
    """A proof with an invalid kind is refused."""
    with pytest.raises(CertificateError, match="one of"):
        examine_program({"body": {"proof": kind}}, PureDP(epsilon=1))


def test_integers_without_a_whole_number_are_refused() -> None:
    """Integer data between 1/4 and 3/4 are refused, because no data exist."""

    def shows(coins: Any, data: Any) -> None:
        coins.release(data[0], Laplace(scale=1), site="value")

    proof = prove(
        shows, PureDP(epsilon=1), data=Symbols(1, low=0, high=1, integers=True), adjacency=EachMoves()
    )
    certificate: Any = proof.certificate
    certificate["data"].update(low="1/4", high="3/4")
    with pytest.raises(program_t0.ProgramProofError, match="whole"):
        program_t0.check(certificate)
