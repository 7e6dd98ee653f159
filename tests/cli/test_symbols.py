"""A paper's symbols: from the suite to the report, the page and ``dpaudit explain``."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import pytest

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.suite import Suite
from dpaudit.report.symbols import name_of, symbols_in
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
    unused = [key for key in told["symbols"] if name_of(key).casefold() not in text.casefold()]
    assert len(told["symbols"]) >= 10
    assert not unused


@pytest.mark.parametrize("paper", PAPERS)
def test_a_meaning_for_a_part_of_a_paper_is_shown_there(paper: str) -> None:
    """Each key with places is shown for some row, and never beside the key without them."""
    told = describe(importlib.import_module(f"audits.{paper}.suite").suite, file="suite.py", root=Path())
    shown = set()
    for row in told["rows"]:
        text = f"{row['title']}\n{row['does']}\n{row['claim']['in_words']}"
        keys = [key for key, _ in symbols_in(told["symbols"], text=text, source=row["source"])]
        names = [name_of(key) for key in keys]
        assert len(names) == len(set(names)), (row["id"], keys)
        shown.update(keys)
    assert set(told["symbols"]) <= shown


@pytest.mark.parametrize(
    ("source", "key"),
    [
        ("Lemma R.1", "γ (R, 126)"),
        ("(126)", "γ (R, 126)"),
        ("Appendix R, a line", "γ (R, 126)"),
        ("Lemma Q.1", "γ"),
        ("(1260)", "γ"),
        ("proof of Lemma K.1: (60) from K.2 and R.1", "γ"),
        ("reward bound R", "γ"),
    ],
)
def test_a_letter_means_what_it_means_at_the_rows_place(source: str, key: str) -> None:
    """The key for a place replaces the key without one there, and nowhere else."""
    symbols = {"γ": "a radius", "γ (R, 126)": "a distance", "P(n, k)": "a probability"}
    assert [name for name, _ in symbols_in(symbols, text="at most γ, with P(n, k)", source=source)] == [
        key,
        "P(n, k)",
    ]
