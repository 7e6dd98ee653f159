"""Programs written with classes, generators and exceptions, in proofs of numpy functions."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from dpaudit import PureDP
from dpaudit.core.data import Interval, Records
from dpaudit.core.errors import InvalidParameterError, code_of
from dpaudit.prover.values.prove import prove_values
from dpaudit.reference.algorithms import environment, play
from dpaudit.reference.algorithms.mab import successive_elimination
from dpaudit.reference.mechanisms import array_sum
from tests.prover.values.object_programs import CLAIM, DATA, RIGHT, WRONG, Counter

FILES = [str(module.__file__) for module in (environment, play, successive_elimination, array_sum)]


def _name(program: Any) -> str:
    return getattr(program, "__qualname__", type(program).__name__)


@pytest.mark.parametrize("program", RIGHT, ids=_name)
def test_a_private_program_with_objects_is_proved(program: Any) -> None:
    """Objects, generators and exceptions of the program do not change the bound."""
    proof = prove_values(program, CLAIM, data=DATA)
    assert proof.verdict == "verified", proof.reason


@pytest.mark.parametrize("program", WRONG, ids=_name)
def test_a_wrong_or_hostile_program_with_objects_is_not_proved(program: Any) -> None:
    """Neither less noise, nor hidden state, nor a caught exception gives a proof."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert prove_values(program, CLAIM, data=DATA).verdict == "inconclusive"


@pytest.mark.parametrize(("epsilon", "verdict"), [(1, "verified"), (2, "inconclusive")])
def test_successive_elimination_is_followed(epsilon: int, verdict: str) -> None:
    """A reference algorithm with a strategy, an environment and a journal has the bound of its noise."""
    program = successive_elimination.program(epsilon=epsilon, failure_probability=1)
    data = Records(Interval(0, 1), width=2, size=800)
    proof = prove_values(program, PureDP(epsilon=1), data=data, files=FILES)
    assert proof.verdict == verdict, proof.reason
    assert proof.bound == epsilon
    assert proof.paths > 1


@pytest.mark.parametrize("program", [Counter, Counter(), len, "text"])
def test_objects_that_cannot_be_called_as_a_program(program: Any) -> None:
    """A class, an object without __call__ and a builtin have one code."""
    with pytest.raises(InvalidParameterError) as raised:
        prove_values(program, CLAIM, data=DATA)
    assert code_of(raised.value) == "E-PROGRAM-NOT-FUNCTION"
