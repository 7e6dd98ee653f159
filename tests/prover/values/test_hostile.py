"""Programs that are not private, or must not be followed, are never verified."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from dpaudit.core.claims import Profile, PureDP
from dpaudit.core.data import Interval, Records
from dpaudit.core.errors import InvalidParameterError
from dpaudit.prover.values.prove import prove_values
from tests.errors import raises
from tests.prover.values.hostile_programs import FINE, HOSTILE, Hostile


def name_of(case: Any) -> str:
    return str(getattr(case.function, "__name__", "partial"))


@pytest.mark.parametrize("case", HOSTILE, ids=name_of)
def test_a_hostile_program_is_not_verified(case: Hostile) -> None:
    """A hostile program is refused, or its bound is above the claim."""
    proof = prove_values(case.function, case.claim, data=case.data)
    assert proof.verdict == "inconclusive"
    assert proof.certificate is None
    assert proof.reason


@pytest.mark.parametrize("case", FINE, ids=name_of)
def test_a_private_program_does_not_crash(case: Hostile) -> None:
    """A private program is verified or refused, and never crashes the prover."""
    assert prove_values(case.function, case.claim, data=case.data).verdict in ("verified", "inconclusive")


def needs_more(data: Any, rng: Any, epsilon: float) -> Any:
    return data


def generator_with_a_default(data: Any, rng: Any = None) -> Any:
    return data.sum()


@pytest.mark.parametrize(
    ("program", "code"),
    [
        (needs_more, "E-PROGRAM-PARAMETERS"),
        (generator_with_a_default, "E-PROGRAM-PARAMETERS"),
        (print, "E-PROGRAM-NOT-FUNCTION"),
        (len, "E-PROGRAM-NOT-FUNCTION"),
    ],
)
def test_a_program_with_an_unsupported_signature_is_an_error(program: Any, code: str) -> None:
    """A program that raises because an argument is missing would satisfy every claim, so it is an error."""
    case = HOSTILE[0]
    with raises(InvalidParameterError, code=code):
        prove_values(program, case.claim, data=case.data)


def noisy_sum(data: Any, rng: Any) -> Any:
    return data.sum() + rng.laplace()


UNIT = Interval(0, 1)
PURE, PER_USER = PureDP(epsilon=1), PureDP(epsilon=1, unit="user")


@pytest.mark.parametrize(
    ("program", "claim", "data", "code"),
    [
        (noisy_sum, Profile(points=[(1, "1/2")]), Records(UNIT), "E-CLAIM-NOT-PROVABLE"),
        (
            noisy_sum,
            PureDP(epsilon=1, participation="half of all users"),
            Records(UNIT),
            "E-CLAIM-NOT-PROVABLE",
        ),
        (noisy_sum, PureDP(epsilon=1, model="as_run"), Records(UNIT), "E-CLAIM-NOT-PROVABLE"),
        (noisy_sum, PURE, [0, 1], "E-DATA-TYPE"),
        (noisy_sum, PURE, Records(UNIT, container="list"), "E-DATA-LIST"),
        (noisy_sum, PER_USER, Records(UNIT), "E-UNIT-GROUP"),
        (noisy_sum, PURE, Records(UNIT, group=2), "E-UNIT-GROUP"),
        (functools.partial(noisy_sum, [0, 1]), PURE, Records(UNIT), "E-PROGRAM-PARTIAL"),
    ],
)
def test_unsupported_arguments_are_errors(program: Any, claim: Any, data: Any, code: str) -> None:
    """A claim, data or program that the prover does not support raises an error with a stable code."""
    with raises(InvalidParameterError, code=code):
        prove_values(program, claim, data=data)
