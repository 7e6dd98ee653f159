"""A report is confirmed as written, and every change of a number, rule, claim, value or verdict is found."""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from dpaudit.certify import build
from dpaudit.certify.witnesses.transcript import WitnessSite, transcript_body
from dpaudit.core.claims import ApproxDP, Claim, PureDP
from dpaudit.core.errors import BrokenReportError
from dpaudit.core.evidence import Evidence, Witness
from dpaudit.core.suite import Outcome
from dpaudit.core.views import PUBLIC
from dpaudit.distributions import Laplace
from dpaudit.kernel.kernel_t0 import context_of
from dpaudit.run.finding import finding_of
from dpaudit.verify.bounded import BoundedChecker
from dpaudit.verify.report import MAX_RESULTS, verify_results
from tests.errors import raises

CLAIM = PureDP(epsilon="1/2")


def row(id: str, claim: Claim, evidence: list[Evidence], *, expect: str) -> dict[str, Any]:
    """A result as the runner writes it."""
    finding = finding_of(claim, Outcome(evidence), alpha=0.01)
    about = {"id": id, "claim": claim.to_json(), "expect": expect, "alpha": 0.01}
    return {**about, **finding, "as_expected": finding["verdict"] == expect}


def witness() -> Witness:
    noise = Laplace(scale=1)
    site = WitnessSite(
        site="sum",
        to=frozenset([PUBLIC]),
        distribution=noise.shift(1.0),
        distribution_neighbour=noise.shift(0.0),
        value=3.0,
    )
    bound = Fraction(1) - Fraction(1, 10**12)
    body = transcript_body([site], view=CLAIM.view, inputs=([0.0], [1.0]))
    return Witness(
        quantity="epsilon", bound=bound, form="transcript", body=body, origin="sampled", description="tail"
    )


def report() -> dict[str, Any]:
    certificate = build.laplace_mechanism(sensitivity=1, scale=2).certify(CLAIM)
    rows = [
        row("good", CLAIM, [certificate], expect="verified"),
        row("bad", CLAIM, [witness()], expect="refuted"),
    ]
    return dict(json.loads(json.dumps({"schema_version": 6, "results": rows})))


def test_good_report_holds() -> None:
    """Each certificate, witness and verdict of a report as written is confirmed, with progress."""
    seen: list[tuple[int, int, str]] = []
    rows = report()["results"]
    findings = verify_results(rows, progress=lambda done, total, name: seen.append((done, total, name)))
    assert [(f.id, f.what) for f in findings] == [
        ("good", "certificate"),
        ("good", "verdict"),
        ("bad", "witness (transcript)"),
        ("bad", "verdict"),
    ]
    assert all(f.ok for f in findings), findings
    assert seen == [(1, 2, "good"), (2, 2, "bad")]


Edit = Callable[[dict[str, Any], dict[str, Any]], object]


def _set(where: Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]], **values: Any) -> Edit:
    return lambda good, bad: where(good, bad).update(values)


EDITS: list[tuple[str, Edit]] = [
    ("claims too much", lambda good, bad: good["evidence"][0].update(bound="1/3")),
    (
        "claims too much",
        lambda good, bad: good["evidence"][0]["tree"]["premises"][0]["parameters"].update(scale="1"),
    ),
    ("knows", lambda good, bad: good["evidence"][0]["tree"]["premises"][0].update(rule="exec")),
    (
        "claims too much|integer",
        lambda good, bad: good["evidence"][0]["tree"]["premises"][0]["parameters"].update(sensitivity="2"),
    ),
    ("claim shown", lambda good, bad: good["claim"].update(epsilon=0.25, epsilon_exact="1/4")),
    ("must agree with", lambda good, bad: good["claim"].update(epsilon_exact="1/4")),
    ("added or removed", lambda good, bad: good["claim"].update(adjacency="add-remove")),
    ("claim shown", lambda good, bad: good["claim"].update(in_words="ε = 0.001")),
    ("claim shown", lambda good, bad: good["claim"].update(remark="for user-level privacy")),
    ("quantity shown", lambda good, bad: good.update(quantity="delta")),
    ("view shown", lambda good, bad: good.update(view="server")),
    ("number claimed", lambda good, bad: good.update(claimed=0.001)),
    ("verdict must be", lambda good, bad: good.update(verdict="refuted")),
    ("strength must be", lambda good, bad: good.update(strength="tested")),
    ("upper bound must be", lambda good, bad: good.update(upper=0.4)),
    ("upper_exact", lambda good, bad: good.update(upper_exact="2/5")),
    ("lower bound must be", lambda good, bad: bad.update(lower=None)),
    ("slack", lambda good, bad: good.update(slack=30.0)),
    ("as_expected", lambda good, bad: bad.update(as_expected=False)),
    ("verdict must be", lambda good, bad: bad.update(evidence=[])),
    ("claims too much", lambda good, bad: bad["evidence"][0].update(bound="3/2")),
    (
        "claims too much",
        lambda good, bad: bad["evidence"][0]["body"]["sites"][0]["law"].update(_first_number(bad)),
    ),
    (
        "claims too much",
        lambda good, bad: bad["evidence"][0]["body"]["sites"][0].update(value={"float": (0.25).hex()}),
    ),
    ("must be seen", lambda good, bad: bad["evidence"][0]["body"]["sites"][0].update(to=["server"])),
    ("evidence", lambda good, bad: good["evidence"][0].update(evidence="rumour")),
    ("must have the fields", lambda good, bad: bad["evidence"][0].update(body={})),
    ("must have the fields", lambda good, bad: bad["evidence"][0]["body"].pop("inputs")),
]


def _first_number(bad: dict[str, Any]) -> dict[str, Any]:
    """The neighbour's distribution in place of the recorded one: the loss becomes 0."""
    return dict(bad["evidence"][0]["body"]["sites"][0]["law_neighbour"])


@pytest.mark.parametrize(("reason", "edit"), EDITS)
def test_every_change_is_found(reason: str, edit: Edit) -> None:
    """One change anywhere makes at least one finding fail, and the reason names it."""
    changed = copy.deepcopy(report())
    edit(*changed["results"])
    findings = verify_results(changed["results"], seconds_per_result=None)
    reasons = " | ".join(f.reason for f in findings if not f.ok)
    assert any(word in reasons for word in reason.split("|")), reasons


@pytest.mark.parametrize(
    "junk", [None, 3, "x", [], {}, {"claim": 1}, {"claim": {"type": "pure-dp"}, "evidence": []}]
)
def test_junk_results_are_findings(junk: Any) -> None:
    """A result without the fields of a result becomes a failed finding and does not raise."""
    findings = verify_results([junk], seconds_per_result=None)
    assert findings
    assert not findings[0].ok


def with_noise(rule: str, parameters: dict[str, str | list[str]]) -> list[dict[str, Any]]:
    """The two rows, the first with a delta certificate from the given rule instead of its own."""
    rows: list[dict[str, Any]] = copy.deepcopy(report())["results"]
    claim = ApproxDP(epsilon="1", delta="1/2")
    tree = {"rule": rule, "parameters": parameters, "premises": []}
    rows[0]["claim"] = claim.to_json()
    rows[0]["evidence"][0].update(quantity="delta", bound="1/2")
    rows[0]["evidence"][0]["tree"].update(parameters=context_of(claim.to_json()), premises=[tree])
    return rows


def test_limits_turn_overruns_into_findings() -> None:
    """A result that cannot be checked in time is a failed finding; the results after it are still checked."""
    sizes = {
        "dimension": "1",
        "l2_squared": "1",
        "largest": "180",
        "cut": "2000",
        "times": "1",
        "orders": ["2", "3", "4"],
    }
    slow = with_noise("vector-noise", {"family": "skellam", "variance": "10000", **sizes})
    findings = verify_results(slow, seconds_per_result=1.0)
    assert [(f.id, f.ok, f.what) for f in findings] == [
        ("good", False, "limits"),
        ("bad", True, "witness (transcript)"),
        ("bad", True, "verdict"),
    ]
    assert "1 seconds" in findings[0].reason


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux enforces a limit on the address space")
def test_memory_is_limited() -> None:
    """A certificate that needs more memory than allowed becomes a failed finding."""
    large = with_noise(
        "integer-noise", {"family": "skellam", "variance": str(16 * 10**8), "sensitivity": "40000"}
    )
    with BoundedChecker(seconds=60, megabytes=1) as checker:
        findings = checker.check(large[0])
    assert not findings[0].ok
    assert "memory" in findings[0].reason.lower() or "died" in findings[0].reason


def test_a_report_has_a_largest_number_of_results() -> None:
    """A file with more results is refused before the first of them is checked."""
    with raises(BrokenReportError, code="E-REPORT-RESULTS"):
        verify_results([None] * (MAX_RESULTS + 1))


def test_a_report_with_a_crashed_row_is_confirmed() -> None:
    """A row that crashed before it had evidence claims nothing, so nothing fails."""
    result = {
        "id": "x",
        "claim": CLAIM.to_json(),
        "evidence": [],
        "verdict": "crashed",
        "strength": "none",
        "expect": "verified",
    }
    assert [f.ok for f in verify_results([result], seconds_per_result=None)] == [True]
