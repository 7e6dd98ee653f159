"""The findings of each paper, false claims with bounds and repairs, are the same in every format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dpaudit.core.claims import Controls, LowerBound, PureDP
from dpaudit.report.findings import by_how_much, counted, findings, first_reason
from dpaudit.report.markdown import markdown_table
from dpaudit.report.terminal import details, result_line, summary
from tests.report.dom import parse
from tests.report.sample import page_of, sample_report, typed, typed_row

PURE = PureDP(epsilon=1).to_json()


def part(lower: float | None, claimed: float | None, upper: float | None, **changes: Any) -> dict[str, Any]:
    """A refuted row, or a cell, about epsilon."""
    numbers = {"lower": lower, "claimed": claimed, "upper": upper}
    base = {"claim": PURE, "quantity": "epsilon", "verdict": "refuted", "cells": []}
    return base | numbers | changes


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (part(1.499, 1.0, 1.5), "ε ≥ 1.499, claimed ≤ 1"),
        (part(3.0, 2.0, None), "ε ≥ 3, claimed ≤ 2 (1.5 times)"),
        (part(2.001, 2.0, 2.002), "ε ≥ 2.001, claimed ≤ 2"),
        (part(1.7976931348623157e308, 2.0, None), "ε ≥ ∞, claimed ≤ 2"),
        (part(1.0, 0.0, None), "ε ≥ 1, claimed ≤ 0"),
        (part(0.5, 2.0, None), ""),
        (part(None, 2.0, 3.0), ""),
        (part(None, None, None), ""),
        (part(0.2, 4.0, 1.0, claim={"type": LowerBound.type}), "ε ≤ 1, claimed ≥ 4"),
        (part(0.2, 5.0, 2.0, claim={"type": LowerBound.type}), "ε ≤ 2, claimed ≥ 5 (2.5 times)"),
        (part(3.0, 2.0, None, claim={"type": Controls.type}), ""),
    ],
    ids=range(11),
)
def test_by_how_much(row: dict[str, Any], text: str) -> None:
    """The text has the contradicting bound, the claim, and the factor, and is empty without a violation."""
    assert by_how_much(typed_row(row)) == text


def test_a_cell_stands_for_a_row_without_bounds() -> None:
    """The text names the first refuted deciding cell, and never a cell that does not decide."""
    under = part(9.0, 1.0, None, name="under", deciding=False)
    open_cell = part(None, 1.0, 3.0, name="open", verdict="inconclusive")
    false = part(1.25, 1.0, None, name="n = 2", deciding=True)
    assert (
        by_how_much(typed_row(part(None, None, None, cells=[under, open_cell, false])))
        == "ε ≥ 1.25, claimed ≤ 1 at n = 2"
    )
    assert by_how_much(typed_row(part(0.5, 1.0, None, cells=[under]))) == ""


def test_every_format_begins_with_the_same_findings() -> None:
    """The page, ``dpaudit report`` and Markdown name the same false rows, numbers and repairs in order."""
    report = sample_report()
    suites = {suite["paper"]: suite["suite"] for suite in report["suites"]}
    for row in report["results"]:
        row["suite"] = suites[row["paper"]]
    expected = [
        (item.result.id, item.much, [repair.id for repair in item.repairs])
        for paper in findings(typed(report))
        for group in paper.false.values()
        for item in group
    ]
    assert [name for name, _, _ in expected] == ["Alg 2", "Fact 3", "Thm 7", "Thm 8"]
    end, table = (
        (details(typed(report)) + summary(typed(report))).plain,
        markdown_table(typed(report)).replace("\\", ""),
    )
    page = parse(page_of(report))
    lines = [line for line in end.splitlines() if line.startswith("  false ")]
    false = [row for part in page.find("table", "false") for row in part.find("tbody")[0].children]
    cells = [
        line.split(" | ") for line in table.splitlines() if line.endswith(("no repair here |", "/repaired |"))
    ]
    assert len(lines) == len(false) == len(cells) == len(expected)
    for (name, much, repairs), line, row, (first, _, number, holds) in zip(
        expected, lines, false, cells, strict=True
    ):
        wanted = ", ".join(repairs) or "no repair here"
        assert line == f"  false {name}  {much}, {'holds as ' if repairs else ''}{wanted}"
        assert row.find("a")[0].words() == name
        assert row.find("td", "much")[0].words() == much
        assert [a.find("a")[0].words() for a in row.find("span", "holds")] == repairs
        assert (first, number, holds) == (f"| {name}", much, f"{wanted} |")
    assert end.index("  false ") < end.index("Stated claims:")
    assert table.index("false as printed") < table.index("Stated claims:")


def test_files_of_one_paper_are_named_together() -> None:
    """Rows of two files of one paper are shown under both titles, each once and in order."""
    report = sample_report()
    first = report["suites"][0]
    for title in ("Another part", first["title"]):
        report["suites"].append(first | {"title": title})
    found = next(paper for paper in findings(typed(report)) if paper.paper == first["paper"])
    assert found.title == f"{first['title']}, Another part"


def test_of_a_selection_only_its_own_papers_are_counted() -> None:
    """The terminal, the page and Markdown count the same uncheckable claims: those of papers with rows."""
    report = sample_report()
    suites = {suite["paper"]: suite["suite"] for suite in report["suites"]}
    for row in report["results"]:
        row["suite"] = suites[row["paper"]]

    def require_one_count(count: int) -> None:
        assert len(typed(report).shown_unchecked) == count
        page = parse(page_of(report))
        assert page.find("li", "plain")[0].find("b")[0].words() == str(count)
        assert len(page.find("section", "unchecked")[0].find("li")) == count
        assert markdown_table(typed(report)).count("- not checkable: ") == count

    require_one_count(2)
    assert "2 claims cannot be checked by computation" in summary(typed(report)).plain
    paper = report["unchecked"][0]["paper"]
    report["results"] = [row for row in report["results"] if row["paper"] == paper]
    assert "1 claim cannot be checked by computation" in summary(typed(report)).plain
    require_one_count(1)


def test_what_needs_somebody_is_at_the_end_of_a_run() -> None:
    """The last line of the terminal counts and names the rows that are not as expected."""
    report = sample_report()
    refused = [row["id"] for row in report["results"] if not row["accepted"]]
    assert refused
    last = summary(typed(report)).plain.splitlines()[-1]
    assert last.startswith(f"{len(report['results']) - len(refused)} of {len(report['results'])} rows")
    assert last.endswith(f"Not as expected: {', '.join(refused)}.")


def test_own_suites_have_no_words_of_papers() -> None:
    """Without roles of a paper, headings say claims, and no output mentions printed or stated claims."""
    report = sample_report()
    rows = [row for row in report["results"] if row["role"] in ("printed", "control")]
    suite = report["suites"][0] | {"paper": "mine", "title": "Mechanisms", "reference": "", "symbols": {}}
    rows = [row | {"paper": "mine", "suite": suite["suite"]} for row in rows]
    report |= {"results": rows, "suites": [suite], "unchecked": []}
    page = parse(page_of(report))
    assert page.find("h2", "headline")[0].words() == "Claims: 15"
    shown = "".join(node.words() for node in (*page.find("header"), *page.find("section", "findings")))
    for text in (
        shown,
        (details(typed(report)) + summary(typed(report))).plain,
        markdown_table(typed(report)),
    ):
        assert "laims" in text
        for word in ("printed claim", "stated claim", "paper", "repair"):
            assert word not in text.lower(), word


def test_a_run_ends_with_few_lines() -> None:
    """The summary has one line per role, at most three remarks, and one line of totals and files."""
    report = sample_report()
    roles = {row["role"] for row in report["results"]}
    lines = summary(typed(report), written=[Path("r.json"), Path("r.html")]).plain.splitlines()
    assert len(lines) <= len(roles) + 4
    assert lines[-1].endswith(" Reports: r.json, r.html")


def test_an_expected_refutation_has_no_green_tick() -> None:
    """Its line reads refuted, as expected, and only the ticks of claims that hold are green."""
    row = next(row for row in sample_report()["results"] if row["verdict"] == "refuted" and row["accepted"])
    line = result_line(typed_row(row))
    assert line.plain.startswith("✓ refuted, as expected / ")
    assert not any(span.start == 0 and "green" in str(span.style) for span in line.spans)
    unexpected = result_line(typed_row(row | {"expect": "verified", "accepted": False, "as_expected": False}))
    assert unexpected.plain.startswith("✗ refuted / ")
    held = next(row for row in sample_report()["results"] if row["verdict"] == "verified" and row["accepted"])
    assert any(span.start == 0 and "green" in str(span.style) for span in result_line(typed_row(held)).spans)


def test_counts_and_reasons() -> None:
    """Counts start with the strongest rows, and an open row shows its reason or that of its open cell."""
    rows = [typed_row({"verdict": "verified", "strength": s}) for s in ("tested", "proved", "tested")]
    assert counted(rows, "verified") == "3 (1 proved, 2 tested)"
    assert counted(rows, "refuted") == "0"
    assert first_reason(typed_row({"reasons": ["a"], "obstacles": ["b"]})) == "a"
    cell = {"verdict": "inconclusive", "obstacles": ["c"]}
    assert first_reason(typed_row({"cells": [{"verdict": "verified", "reasons": ["x"]}, cell]})) == "c"
    assert first_reason(typed_row({})) == ""
