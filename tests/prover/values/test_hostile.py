"""No program that is not private, or must not be followed, is verified."""

from __future__ import annotations

from typing import Any

import pytest

from dpaudit.core.errors import InvalidParameterError
from dpaudit.prover.values.prove import prove_values
from tests.prover.values.hostile_programs import FINE, HOSTILE, Hostile


def name_of(case: Any) -> str:
    return str(getattr(case.function, "__name__", "partial"))


@pytest.mark.parametrize("case", HOSTILE, ids=name_of)
def test_a_hostile_program_is_not_verified(case: Hostile) -> None:
    """Refused, or with a bound above the claim."""
    proof = prove_values(case.function, case.claim, data=case.data)
    assert proof.verdict == "inconclusive"
    assert proof.certificate is None
    assert proof.reason


@pytest.mark.parametrize("case", FINE, ids=name_of)
def test_a_private_program_does_not_crash(case: Hostile) -> None:
    """Verified or refused: both are right."""
    assert prove_values(case.function, case.claim, data=case.data).verdict in ("verified", "inconclusive")


def needs_more(data: Any, rng: Any, epsilon: float) -> Any:
    return data


def generator_with_a_default(data: Any, rng: Any = None) -> Any:
    return data.sum()


@pytest.mark.parametrize("program", [needs_more, generator_with_a_default, print, len])
def test_a_program_that_would_not_run_as_it_is_proved_is_an_error(program: Any) -> None:
    """A call that raises for want of an argument would prove everything."""
    case = HOSTILE[0]
    with pytest.raises(InvalidParameterError):
        prove_values(program, case.claim, data=case.data)
