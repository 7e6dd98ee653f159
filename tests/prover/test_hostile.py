"""Test hostile programs: no bound is below the true loss, and no program that keeps its claim is refuted.

An oracle that shares no code with the prover computes the losses that the rows state.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import pytest

from dpaudit.core.claims import PureDP
from dpaudit.core.errors import DpauditError
from tests.prover import oracle, prove_row
from tests.prover.hostile.every import ALL
from tests.prover.hostile.row import EACH, ONE_REPLACED, ONE_WAY, Row

#: The largest error of the oracle's integration.
SLACK = 1e-6


def named(row: Row) -> str:
    return f"{row.rule}-{row.name}"


def numbers(data: Any) -> list[Fraction]:
    """Return all coordinates of all records."""
    return [Fraction(x) for record in data for x in (record if isinstance(record, tuple) else (record,))]


def test_every_rule_has_hostile_programs() -> None:
    """Every rule A, E, G 1 to 15 and H 1 to 12 has a program, and there are at least 120."""
    counted = Counter(row.rule for row in ALL)
    rules = {"A", "E", *(f"G{i}" for i in range(1, 16) if i != 13), *(f"H{i}" for i in range(1, 13))}
    assert rules <= set(counted)
    assert len(ALL) >= 120


@pytest.mark.parametrize("row", ALL, ids=named)
def test_the_inputs_are_neighbours(row: Row) -> None:
    """The two inputs of each row are neighbours in the domain."""
    changes = [two - one for one, two in zip(numbers(row.left), numbers(row.right), strict=True)]
    assert any(changes)
    for value in (*numbers(row.left), *numbers(row.right)):
        assert row.low is None or value >= row.low
        assert row.high is None or value <= row.high
    if row.adjacency == ONE_REPLACED:
        assert sum(one != two for one, two in zip(row.left, row.right, strict=True)) == 1
        return
    assert row.adjacency in (EACH, ONE_WAY)
    assert all(abs(change) <= row.by for change in changes)
    assert row.adjacency == EACH or len({change > 0 for change in changes if change}) == 1


@pytest.mark.parametrize("row", [row for row in ALL if row.event is not None], ids=named)
def test_the_stated_loss_is_there(row: Row) -> None:
    """The oracle confirms the stated loss of each event."""
    assert row.event is not None
    found = oracle.loss(row.program, row.left, row.right, row.event)
    assert found >= row.loss * (1 - SLACK)
    assert found <= row.at_most + SLACK


@pytest.mark.timeout(120)
@pytest.mark.parametrize("row", ALL, ids=named)
def test_nothing_false_is_proved(row: Row) -> None:
    """No bound is below the stated loss, and no claim that holds is refuted."""
    try:
        proof = prove_row.proof_of_row(row)
    except DpauditError:
        return
    if proof.bound is not None:
        assert proof.bound >= row.loss * (1 - SLACK)
    if proof.verdict == "verified":
        assert proof.bound is not None
        assert proof.bound <= Fraction(row.claim)
        assert row.loss <= Fraction(row.claim) * (1 + Fraction(SLACK))
    if row.at_most <= float(Fraction(row.claim)):
        assert proof.verdict != "refuted"
    assert proof.verdict in {"verified", "refuted", "inconclusive"}
    assert proof.verdict == "verified" or proof.reason


def test_the_claims_are_pure() -> None:
    """Every row has a valid claim."""
    for row in ALL:
        assert PureDP(epsilon=row.claim).epsilon == Fraction(row.claim)
