"""A row says what kind of claim it holds, and a suite holds each id once."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from dpaudit.core.claims import Claim, ErrorRate, PureDP
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.evidence import Estimate
from dpaudit.core.suite import Outcome, Row, Run, Suite
from dpaudit.core.verdicts import Strength, VerdictKind, judge
from tests.errors import raises

ERROR = ErrorRate(text="the error is at most 1", claimed=1)


def nothing(run: Run) -> Outcome:
    return Outcome([])


def row(claim: Claim, kind: str, **options: Any) -> Row:
    return Row(id="row", title="row", kind=kind, claim=claim, evaluate=nothing, **options)


@pytest.mark.parametrize(
    ("claim", "kind"), [(ERROR, "privacy"), (PureDP(epsilon=1), "structure"), (PureDP(epsilon=1), "utility")]
)
def test_privacy_claims_and_the_kind_privacy_go_together(claim: Claim, kind: str) -> None:
    """Otherwise ``--require proved`` would let a privacy claim pass, or a tested row count as privacy."""
    with raises(InvalidParameterError, code="E-ROW-KIND", match="'privacy'"):
        row(claim, kind)


@pytest.mark.parametrize(("claim", "kind"), [(ERROR, "utility"), (PureDP(epsilon=1), "privacy")])
def test_matching_kinds_are_accepted(claim: Claim, kind: str) -> None:
    """Negative control."""
    assert row(claim, kind).kind == kind


@pytest.mark.parametrize("options", [{"kind": "speed"}, {"kind": "utility", "expect": "true"}])
def test_unknown_options_are_refused(options: dict[str, Any]) -> None:
    """An unknown kind or expected verdict is refused."""
    with pytest.raises(InvalidParameterError, match=r"row: .* must be"):
        row(ERROR, **options)


def test_an_id_is_unique_in_its_suite() -> None:
    """A second row with the same id is refused and does not replace the first."""
    suite, first = Suite(paper="tiny", title="Tiny"), row(ERROR, "utility")
    suite.add(first)
    with raises(InvalidParameterError, code="E-ROW-TWICE"):
        suite.add(replace(first, title="another"))
    assert [item.title for item in suite.rows] == ["row"]


@pytest.mark.parametrize(("value", "verdict"), [(Fraction(1, 2), "verified"), (1.5, "refuted")])
def test_an_exact_value_decides_its_claim_either_way(value: float | Fraction, verdict: str) -> None:
    """One number computed on the whole of the claim's scope is both bounds, and no more than tested."""
    found = Estimate.exactly(value, quantity="error", samples=3, method="count", scope="all three")
    judged = judge(ERROR, [found], alpha=0.01)
    assert (found.lower, found.upper, found.confidence) == (float(value), float(value), 1.0)
    assert (judged.verdict, judged.strength) == (VerdictKind(verdict), Strength.TESTED)
