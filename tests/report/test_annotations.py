"""Workflow commands of GitHub Actions: one a finding, and no text of a report starts another one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dpaudit.report.annotations import github_annotations
from dpaudit.report.sarif import sarif
from tests.cli.suites import RAISES, UNEXPECTED, VERIFIED, invoke, write_suite
from tests.report.sample import sample_report, typed

COMMAND = re.compile(r"::error file=([^:,\s]*),line=\d+,title=([^:,\n]*)::([^\n\r]*)")


def test_each_row_against_expectation_has_one() -> None:
    """As many commands as rows not accepted, each with its id."""
    report = sample_report()
    rows = [row for row in report["results"] if not row["accepted"]]
    found = [COMMAND.fullmatch(line) for line in github_annotations(typed(report))]
    assert rows
    assert len(found) == len(rows)
    for match, row in zip(found, rows, strict=True):
        assert match is not None
        assert row["verdict"] in match[3]


def test_a_text_cannot_start_a_command() -> None:
    """Line ends, colons, commas and percent signs of a row come out encoded: one command, one line."""
    report = sample_report()
    row = next(row for row in report["results"] if not row["accepted"])
    hostile = "a,b::\n::warning::%0A\r\n::stop-commands::x"
    row |= {"id": hostile, "title": hostile, "suite": "a,b:c.py", "reasons": [hostile]}
    (line,) = github_annotations(typed(report | {"results": [row]}))
    match = COMMAND.fullmatch(line)
    assert match is not None
    assert match[1] == "a%2Cb%3Ac.py"
    assert "%250A" in match[3]


@pytest.mark.parametrize("value", ["true", ""], ids=["on GitHub", "elsewhere"])
def test_a_run_writes_them_on_github_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    """With GITHUB_ACTIONS=true a run ends with them, and the exit code is what it was."""
    suite = write_suite(tmp_path / "suite.py", VERIFIED, UNEXPECTED, RAISES)
    monkeypatch.setenv("GITHUB_ACTIONS", value)
    result = invoke("run", suite, "--jobs", 1, "--no-html", "--json", tmp_path / "r.json")
    assert result.exit_code == 3
    assert len(re.findall(r"^::error file=", result.output, re.M)) == (2 if value else 0)


def test_the_first_words_say_what_is_not_as_expected() -> None:
    """An annotation and SARIF name the unexpected cells of a row, and a refusal by --require."""
    report = sample_report()
    row = next(row for row in report["results"] if row["cells"] and row["accepted"])
    cell = row["cells"][0]
    other = "refuted" if cell["expect"] != "refuted" else "verified"
    wrong = row | {
        "accepted": False,
        "as_expected": False,
        "cells": [cell | {"expect": other}, *row["cells"][1:]],
    }
    weak = row | {"accepted": False}
    for given, words in ((wrong, "cells are not as expected"), (weak, "but weaker than --require")):
        (line,) = github_annotations(typed(report | {"results": [given]}))
        first = line.partition("::error")[2].partition("::")[2].partition(": ")[0]
        assert words in first
        log = json.loads(sarif(typed(report | {"results": [given]})))
        (result,) = log["runs"][0]["results"]
        assert words in result["message"]["text"].partition(": ")[0]
