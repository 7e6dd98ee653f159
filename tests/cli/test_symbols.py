"""A paper's symbols: from the suite to the report, the page and ``dpaudit explain``."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import pytest

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.suite import Suite
from dpaudit.run.describe import describe
from tests.cli.suites import invoke, run, write_suite
from tests.report.dom import parse
from tests.report.sample import page_of

SUITE = """
suite.symbols = {"λ": "the <ridge>", "κ*": "a slope", "κ": "a flatness", "ρ": "used by no row"}

@suite.row("fine", title="the error is at most λ/κ*", kind="utility", claim=CLAIM)
def fine(run):
    return Outcome([exactly(0.25, 0.5)])
"""
PAPERS = ("glm_bandits", "shuffle_linear_bandits", "concurrent_shuffle")


def test_symbols_reach_report_page_and_explanation(tmp_path: Path) -> None:
    """The report and its page have all of them, the page as text; ``explain`` those that the row uses, of
    which κ in κ* is none. The report verifies, and an edited symbol is found by ``--suite``."""
    suite = write_suite(tmp_path / "suite.py", SUITE)
    _, report = run(suite)
    symbols = {"λ": "the <ridge>", "κ*": "a slope", "κ": "a flatness", "ρ": "used by no row"}
    assert report["suites"][0]["symbols"] == symbols
    (listed,) = parse(page_of(report)).find("details", "symbols")
    assert "Symbols of Tiny claims" in listed.words()
    for name, meaning in symbols.items():
        assert f"{name}{meaning}" in listed.words()
    said = invoke("explain", "fine", suite).stdout
    assert re.search("λ +the <ridge>\n +κ\\* +a slope\n", said)
    assert "flatness" not in said
    assert "no row" not in said
    path = tmp_path / "dpaudit-report.json"
    assert invoke("verify", "-v", path).exit_code == 0
    report["suites"][0]["symbols"]["λ"] = "something else"
    path.write_text(json.dumps(report), encoding="utf-8")
    assert "symbols" in invoke("verify", "-v", path, "--suite", suite).stdout


def test_a_symbol_without_a_meaning_is_refused() -> None:
    """By its name."""
    with pytest.raises(InvalidParameterError, match="got 'λ'"):
        describe(Suite(paper="mine", title="Mine", symbols={"λ": " "}), file="suite.py", root=Path())


@pytest.mark.parametrize("paper", PAPERS)
def test_the_papers_symbols_are_used(paper: str) -> None:
    """Each one stands in the words of some row."""
    told = describe(importlib.import_module(f"audits.{paper}.suite").suite, file="suite.py", root=Path())
    text = "\n".join(f"{row['title']}\n{row['does']}\n{row['claim']['in_words']}" for row in told["rows"])
    unused = [name for name in told["symbols"] if name.casefold() not in text.casefold()]
    assert len(told["symbols"]) >= 10
    assert not unused
