"""The Markdown summary of a run shows findings first, counts every row by role, and escapes foreign text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dpaudit.report.markdown import SHOWN_FINDINGS, markdown_summary
from tests.cli.suites import RAISES, REFUTED, UNEXPECTED, VERIFIED, invoke, write_suite
from tests.report.sample import many_rows, sample_report, typed


def section(text: str, heading: str) -> str:
    """Return the text under a heading."""
    (found,) = re.findall(rf"^### {heading}[^\n]*\n(.*?)(?=^### |\Z)", text, re.M | re.S)
    return str(found)


def test_findings_come_first_and_every_row_is_counted() -> None:
    """Rows against expectation, then what is false as printed, then counts by role that add up."""
    report = sample_report()
    text = markdown_summary(typed(report))
    headings = [line.split(":")[0] for line in text.splitlines() if line.startswith("### ")]
    assert headings == [
        "### Not as expected",
        "### False as printed",
        "### Does not extend",
        "### All rows by role",
    ]
    for row in report["results"]:
        named = row["id"] in section(text, "Not as expected")
        assert named or row["accepted"]
    assert "Thm 7" in section(text, "False as printed")
    assert "Thm 7/lost" in section(text, "Does not extend")
    counts = re.findall(r"^\| [^|]+((?:\| \d+ )+)\|$", section(text, "All rows by role"), re.M)
    assert sum(int(number) for line in counts for number in re.findall(r"\d+", line)) == len(
        report["results"]
    )


def test_many_findings_are_cut_and_counted() -> None:
    """A report with thousands of findings stays far below a megabyte and says how many there are."""
    report = many_rows(3000)
    refused = sum(not row["accepted"] for row in report["results"])
    assert refused > SHOWN_FINDINGS
    text = markdown_summary(typed(report))
    assert len(text.encode()) < 400_000
    assert f"### Not as expected: {refused}" in text
    assert f"and {refused - SHOWN_FINDINGS} more" in section(text, "Not as expected")


def test_foreign_text_stays_in_its_line() -> None:
    """A reason cannot begin a heading, a row of a table or markup, and a long one is cut."""
    report = sample_report()
    hostile = "a\n### All rows by role\n| <b>x</b> |" + "y" * 5000
    row = next(row for row in report["results"] if not row["accepted"])
    row |= {"title": hostile, "reasons": [hostile] * 50}
    broken = [{"suite": hostile, "reason": hostile}]
    text = markdown_summary(typed(report | {"results": [row], "broken": broken}))
    assert text.count("\n### All rows by role") == 1
    assert "<b>" not in text
    assert len(text) < 20_000


@pytest.mark.parametrize("writable", [True, False], ids=["a file", "no such folder"])
def test_a_run_appends_it_where_github_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writable: bool
) -> None:
    """The summary is appended to GITHUB_STEP_SUMMARY, or an error is printed and nothing else changes."""
    suite = write_suite(tmp_path / "suite.py", VERIFIED, REFUTED, UNEXPECTED, RAISES)
    file = tmp_path / "summary.md" if writable else tmp_path / "nowhere" / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(file))
    if writable:
        file.write_text("before\n", encoding="utf-8")
    result = invoke("run", suite, "--jobs", 1, "--no-html", "--json", tmp_path / "r.json")
    assert result.exit_code == 3
    assert (tmp_path / "r.json").exists()
    if writable:
        text = file.read_text(encoding="utf-8")
        assert text.startswith("before\n## dpaudit: 4 rows, 2 as expected, 2 not\n")
        assert "surprise" in section(text, "Not as expected")
    else:
        assert "error [E-OUTPUT-WRITE]: GITHUB_STEP_SUMMARY" in result.stderr
