"""``dpaudit compare`` names what got worse, and nothing else."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from dpaudit.report_file.document import write_report
from dpaudit.reports.comparison import got_better, got_worse
from tests.cli.suites import invoke
from tests.reports.sample import sample_report


def changed(report: dict[str, Any], place: int, **fields: Any) -> dict[str, Any]:
    """The report with other fields in one of its rows."""
    other = copy.deepcopy(report)
    other["results"][place].update(fields)
    return other


def fine_row(report: dict[str, Any]) -> int:
    """The place of a verified row that was accepted and has evidence."""
    rows = enumerate(report["results"])
    return next(i for i, row in rows if row["verdict"] == "verified" and row["accepted"])


@pytest.mark.parametrize(
    "fields",
    [
        {"verdict": "refuted", "accepted": False},
        {"verdict": "crashed", "accepted": False},
        {"verdict": "inconclusive", "expect": "inconclusive"},
        {"strength": "none"},
        {"accepted": False},
    ],
    ids=["refuted", "crashed", "expected less", "weaker", "not accepted"],
)
def test_each_loss_is_worse_and_its_return_better(fields: dict[str, Any]) -> None:
    """A verified row that lost something is named once; the other way round it is better, not worse."""
    old = sample_report()
    place = fine_row(old)
    new = changed(old, place, **fields)
    (line,) = got_worse(old, new)
    assert line.startswith(f"{old['results'][place]['id']}: verified")
    assert got_better(old, new) == []
    assert got_worse(new, old) == []
    assert len(got_better(new, old)) == 1


def test_known_findings_are_not_worse() -> None:
    """A report with failures, refutations and crashes is not worse than itself."""
    report = sample_report()
    assert any(not row["accepted"] for row in report["results"])
    assert got_worse(report, report) == got_better(report, report) == []


def test_a_row_that_is_gone_and_a_new_finding_are_worse(tmp_path: Path) -> None:
    """The command exits with 1 for either, names the row, and with 0 where nothing changed."""
    report = sample_report()
    bad = next(i for i, row in enumerate(report["results"]) if not row["accepted"] and not row["cells"])
    name = report["results"][bad]["id"]
    without = report | {"results": [row for row in report["results"] if row["id"] != name]}
    whole, less = tmp_path / "whole.json", tmp_path / "less.json"
    write_report(whole, report)
    write_report(less, without)
    for first, second, word in ((whole, less, "gone now"), (less, whole, "new, ")):
        result = invoke("compare", first, second)
        assert result.exit_code == 1
        assert any(name in line and word in line for line in result.output.splitlines())
        assert "1 worse, 0 better" in result.output
    assert invoke("compare", whole, whole).exit_code == 0
