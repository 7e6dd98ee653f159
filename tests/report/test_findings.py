"""Findings: of each paper what is false, by how much, and how it is repaired, the same in every format."""

from __future__ import annotations

from typing import Any

import pytest

from dpaudit.core.claims import Controls, LowerBound, PureDP
from dpaudit.report.findings import by_how_much, counted, findings, first_reason
from dpaudit.report.html import render_html
from dpaudit.report.markdown import markdown_table
from dpaudit.report.terminal import summary
from tests.report.dom import parse
from tests.report.sample import sample_report

PURE = PureDP(epsilon=1).to_json()


def part(lower: float | None, claimed: float | None, upper: float | None, **changes: Any) -> dict[str, Any]:
    """A refuted row, or a cell, about epsilon."""
    numbers = {"lower": lower, "claimed": claimed, "upper": upper}
    base = {"claim": PURE, "quantity": "epsilon", "verdict": "refuted", "cells": []}
    return base | numbers | changes


@pytest.mark.parametrize(
    ("row", "told"),
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
def test_by_how_much(row: dict[str, Any], told: str) -> None:
    """The bound that contradicts the claim, the claim, and the factor where the claim is not 1; a bound on
    the right side of the claim is never told as a violation."""
    assert by_how_much(row) == told


def test_a_cell_speaks_for_a_row_without_bounds() -> None:
    """The first refuted cell that decides, by its name; one that stands under the row does not."""
    under = part(9.0, 1.0, None, name="under", deciding=False)
    open_cell = part(None, 1.0, 3.0, name="open", verdict="inconclusive")
    false = part(1.25, 1.0, None, name="n = 2", deciding=True)
    assert (
        by_how_much(part(None, None, None, cells=[under, open_cell, false]))
        == "ε ≥ 1.25, claimed ≤ 1 at n = 2"
    )
    assert by_how_much(part(0.5, 1.0, None, cells=[under])) == ""


def test_every_format_begins_with_the_same_findings() -> None:
    """The page, the terminal and the Markdown table name the same false rows, numbers and repairs, in one
    order, before any count."""
    report = sample_report()
    suites = {suite["paper"]: suite["suite"] for suite in report["suites"]}
    for row in report["results"]:
        row["suite"] = suites[row["paper"]]
    expected = [
        (item.result["id"], item.much, [repair["id"] for repair in item.repairs])
        for paper in findings(report)
        for group in paper.false.values()
        for item in group
    ]
    assert [name for name, _, _ in expected] == ["Alg 2", "Fact 3", "Thm 7", "Thm 8"]
    end, table = summary(report).plain, markdown_table(report).replace("\\", "")
    page = parse(render_html(report))
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
        assert line == f"  false {name}  {much}; {'holds as ' if repairs else ''}{wanted}"
        assert row.find("a")[0].words() == name
        assert row.find("td", "much")[0].words() == much
        assert [a.find("a")[0].words() for a in row.find("span", "holds")] == repairs
        assert (first, number, holds) == (f"| {name}", much, f"{wanted} |")
    assert end.index("  false ") < end.index("Printed claims:")
    assert table.index("false as printed") < table.index("Printed claims:")


def test_files_of_one_paper_are_named_together() -> None:
    """Rows of two files that name one paper stand under both titles, each once and in their order."""
    report = sample_report()
    first = report["suites"][0]
    for title in ("Another part", first["title"]):
        report["suites"].append(first | {"title": title})
    found = next(paper for paper in findings(report) if paper.paper == first["paper"])
    assert found.title == f"{first['title']}, Another part"


def test_of_a_selection_only_its_own_papers_are_counted() -> None:
    """A run of one paper's rows does not speak of claims that cannot be checked in another."""
    report = sample_report()
    assert "2 claims cannot be checked by computation" in summary(report).plain
    paper = report["unchecked"][0]["paper"]
    report["results"] = [row for row in report["results"] if row["paper"] == paper]
    assert "1 claim cannot be checked by computation" in summary(report).plain


def test_what_needs_somebody_is_at_the_end_of_a_run() -> None:
    """The last line of the terminal counts the rows that were not accepted, and names them."""
    report = sample_report()
    refused = [row["id"] for row in report["results"] if not row["accepted"]]
    assert refused
    last = summary(report).plain.splitlines()[-1]
    assert last.endswith(f", {len(refused)} not: {', '.join(refused)}")


def test_counts_and_reasons() -> None:
    """Strengths from the strongest; why a row is open is its reason, or that of its open cell."""
    rows = [{"verdict": "verified", "strength": s} for s in ("tested", "proved", "tested")]
    assert counted(rows, "verified") == "3 (1 proved, 2 tested)"
    assert counted(rows, "refuted") == "0"
    assert first_reason({"reasons": ["a"], "obstacles": ["b"]}) == "a"
    cell = {"verdict": "inconclusive", "obstacles": ["c"]}
    assert first_reason({"cells": [{"verdict": "verified", "reasons": ["x"]}, cell]}) == "c"
    assert first_reason({}) == ""
