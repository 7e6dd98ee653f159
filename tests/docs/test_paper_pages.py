"""The pages on the papers: every row that they name exists with the stated verdict, and holds the numbers."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dpaudit
from tests.cli.suites import invoke

DOCS = Path(dpaudit.__file__).parents[1] / "docs"
PAPERS = (
    "private_online_learning",
    "distributed_mab",
    "shuffle_linear_bandits",
    "concurrent_shuffle",
    "glm_bandits",
)
ROW_ID = re.compile(r"`((?:HHM|CZ23|CZ22|TKMS23|SAR)-[^`\s]+)`")
#: A row, its verdict, and the numbers that are quoted from it.
REFERENCE = re.compile(
    ROW_ID.pattern + r"\s+(verified|consistent|refuted|inconclusive)\b(?:,?\s+\(([^()`]*)\))?", re.DOTALL
)
#: A number, but no power of ten that is written with raised digits.
NUMBER = re.compile(r"(?<![\w.^])\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\d⁰¹²³⁴⁵⁶⁷⁸⁹])")
#: Rows that take several seconds. Only their verdicts are compared.
SLOW = {
    *("HHM-T5P", "HHM-T6", "HHM-RNM"),
    *("CZ23-T1P", "CZ23-T3P", "CZ23-I/protocol", "CZ23-T1P/returning"),
}

Row = dict[str, Any]


def page(paper: str) -> str:
    return (DOCS / "papers" / f"{paper}.md").read_text(encoding="utf-8")


def references(text: str) -> list[tuple[str, str, str]]:
    """Id, verdict and quoted numbers of each reference to a row."""
    return [(found[1], found[2], found[3] or "") for found in REFERENCE.finditer(text)]


def misquoted(numbers: str, row: Row) -> list[str]:
    """The quoted numbers that do not occur in a row's result, rounded either way to the quoted digits."""
    known = set(numbers_in(row))
    return [text for text in NUMBER.findall(numbers) if not any(same(text, value) for value in known)]


def same(text: str, value: float) -> bool:
    mantissa, _, exponent = text.partition("e")
    digits = len(mantissa.partition(".")[2]) - int(exponent or 0)
    unit = 10.0**-digits if "." in mantissa or exponent else 0.0
    return abs(float(text) - value) <= unit * (1 - 1e-9) + 1e-12


def numbers_in(value: object) -> Iterator[float]:
    """All numbers of a result, those in its texts included."""
    if isinstance(value, str):
        yield from (float(text) for text in NUMBER.findall(value))
    elif isinstance(value, bool):
        return
    elif isinstance(value, int | float):
        yield float(value)
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from numbers_in(item)


@pytest.mark.parametrize("paper", PAPERS)
def test_named_rows_exist_with_the_stated_verdict(paper: str) -> None:
    """The run compares each row with the verdict that its suite expects, so the page may rely on it."""
    expected = {row.id: row.expect for row in importlib.import_module(f"audits.{paper}.suite").suite.rows}
    text = page(paper)
    stated = references(text)
    assert [row_id for row_id, _, _ in stated] == ROW_ID.findall(text), "a row is named without its verdict"
    wrong = [(row_id, verdict) for row_id, verdict, _ in stated if expected.get(row_id) != verdict]
    assert not wrong
    assert len(stated) >= 20


@pytest.mark.parametrize("paper", PAPERS)
def test_every_refuted_claim_of_the_paper_is_on_its_page(paper: str) -> None:
    """A printed claim that is refuted or open may not be missing."""
    suite = importlib.import_module(f"audits.{paper}.suite").suite
    open_claims = [
        row.id for row in suite.rows if row.role == "printed" and row.expect in ("refuted", "inconclusive")
    ]
    named = {row_id for row_id, _, _ in references(page(paper))}
    assert [row_id for row_id in open_claims if row_id not in named] == []


@pytest.mark.parametrize("paper", PAPERS)
def test_quoted_numbers_are_results_of_the_row(paper: str, tmp_path: Path) -> None:
    """For rows that are quick."""
    quoted = [(row_id, numbers) for row_id, _, numbers in references(page(paper)) if row_id not in SLOW]
    quoted = [(row_id, numbers) for row_id, numbers in quoted if NUMBER.search(numbers)]
    assert len(quoted) >= 4
    report = tmp_path / "report.json"
    select = " or ".join(dict.fromkeys(f"={row_id}" for row_id, _ in quoted))
    result = invoke("run", "papers", "-k", select, "--json", report, "--no-html", "--jobs", 1, "--quiet")
    assert result.exit_code == 0, result.output
    rows = {row["id"]: row for row in json.loads(report.read_text(encoding="utf-8"))["results"]}
    wrong = {row_id: found for row_id, text in quoted if (found := misquoted(text, rows[row_id]))}
    assert not wrong


def test_a_wrong_number_or_verdict_is_found() -> None:
    """The comparison itself: rounding either way is right, another number is not."""
    row = {"lower": 1.49525, "notes": ["fails at ε = 8, T = 258"], "cells": [{"upper": 10.7069}]}
    assert misquoted("1.495 at ε = 8, 10.70 and 10.71", row) == []
    assert misquoted("1.51", row) == ["1.51"]
    assert misquoted("259", row) == ["259"]
    assert misquoted("10⁸ users", row) == []
    assert references("`SAR-Q.1` refuted (1.5,\n2) and `SAR-Q.2` holds") == [
        ("SAR-Q.1", "refuted", "1.5,\n2")
    ]
