"""What is made from a report file shows foreign text as it is, and nothing of it acts."""

from __future__ import annotations

import io
import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from dpaudit.report.file.report import Report
from dpaudit.report.markdown import BEGIN, END, escape
from dpaudit.report.terminal import LiveResults, duration
from tests.cli.suites import RAISES, REFUTED, UNEXPECTED, VERIFIED, invoke, run, write_suite

HOSTILE = "[red]a[/red] | <b>`b`</b> <!-- /verdicts --> ]]> \x1b[2J \x00 \u202e \ud800 :smile: \\ $x$ & *c*"
HOSTILE_ROW = f"""
NASTY = {HOSTILE!r}
PLAIN = " ".join("".join(c for c in NASTY if c.isascii() and c.isprintable()).split())  # as an id may be
suite.title = NASTY
suite.not_checkable(PLAIN, reason=NASTY)

HOSTILE = ErrorRate(text=NASTY, claimed=1)

@suite.row("hostile " + PLAIN, title=NASTY, kind="utility", claim=HOSTILE, source=NASTY)
def hostile(run):
    raise ValueError(NASTY)
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    suite = write_suite(
        tmp_path_factory.mktemp("formats") / "suite.py", VERIFIED, REFUTED, UNEXPECTED, RAISES, HOSTILE_ROW
    )
    run(suite)
    return suite.parent / "dpaudit-report.json"


def test_the_terminal_shows_markup_as_text(report: Path) -> None:
    """Square brackets stay; no escape sequence, control character or lone surrogate gets through."""
    for arguments in (("report", report), ("list", report.parent), ("explain", "fine", report.parent)):
        output = invoke(*arguments).output
        assert not set(output) & {"\x1b", "\x00", "\u202e", "\ud800"}
    assert "[red]a[/red] | <b>`b`</b>" in invoke("report", report).stdout
    assert ":smile:" in invoke("list", report.parent).stdout


def test_an_error_message_quotes_a_file_without_its_escape_sequences(tmp_path: Path, report: Path) -> None:
    """A report made to paint the terminal through an error message does not."""
    document = json.loads(report.read_text())
    document["results"][0]["verdict"] = "\x1b[2J"
    (tmp_path / "r.json").write_text(json.dumps(document))
    result = invoke("report", tmp_path / "r.json")
    assert result.exit_code == 2
    assert "\x1b" not in result.stderr


def test_markdown_tables_keep_their_shape_whatever_the_text(tmp_path: Path, report: Path) -> None:
    """Findings without a paper have three columns and rows eight, and foreign text adds no cell or markup."""
    out = tmp_path / "verdicts.md"
    assert invoke("report", report, "--markdown", out).exit_code == 0
    text = out.read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    bars = [line.replace("\\|", "").count("|") for line in rows]
    false = sum(result["verdict"] == "refuted" for result in json.loads(report.read_text())["results"])
    assert bars == [4] * (2 + false) + [9] * (2 + 5)
    assert text.count(END) == 1
    assert "<b>" not in text
    assert "**refuted / tested (expected verified)**" in text


@pytest.mark.parametrize("character", "\\`*_{}[]()#+!|~$<>&")
def test_markdown_escapes_every_character_that_means_something(character: str) -> None:
    """No special character survives bare."""
    assert escape(f"a{character}b") not in (f"a{character}b", "ab")


def test_markdown_refreshes_a_readme_between_its_markers_only(tmp_path: Path, report: Path) -> None:
    """What stands around the markers stays; doing it twice changes nothing; a file without markers is not
    touched.
    """
    readme = tmp_path / "README.md"
    readme.write_text(f"# Title\n\n{BEGIN}\nstale\n{END}\n\nAfter.\n")
    assert invoke("report", report, "--markdown", readme).exit_code == 0
    once = readme.read_text(encoding="utf-8")
    assert once.startswith(f"# Title\n\n{BEGIN}\n**tiny")
    assert once.endswith(f"{END}\n\nAfter.\n")
    assert "stale" not in once
    invoke("report", report, "--markdown", readme)
    assert readme.read_text(encoding="utf-8") == once
    for text in ("no markers", f"{END}\n{BEGIN}\n", f"{BEGIN}\n{BEGIN}\n{END}\n"):
        readme.write_text(text)
        result = invoke("report", report, "--markdown", readme)
        assert result.exit_code == 2
        assert "an existing Markdown file must hold" in result.stderr
        assert readme.read_text() == text


def test_junit_is_well_formed_and_counts_right(tmp_path: Path, report: Path) -> None:
    """An XML parser reads it back: a pass, an expected refutation, a failure and two errors, text intact."""
    out = tmp_path / "junit.xml"
    assert invoke("report", report, "--junit", out).exit_code == 0
    root = ET.fromstring(out.read_text(encoding="utf-8"))
    assert {name: root.get(name) for name in ("tests", "failures", "errors")} == {
        "tests": "5",
        "failures": "1",
        "errors": "2",
    }
    cases = {case.get("name", "")[:8]: case for case in root.iter("testcase")}
    assert [cases[name].find("failure") is None for name in ("fine", "false", "surprise")] == [
        True,
        True,
        False,
    ]
    error = cases["hostile "].find("error")
    assert error is not None
    assert "<b>`b`</b> <!-- /verdicts --> ]]>" in error.get("message", "")


def test_the_page_is_written_beside_the_report_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``dpaudit run`` alone writes both files; ``report --html`` makes the same page from the file."""
    monkeypatch.chdir(tmp_path)
    write_suite(tmp_path / "audits" / "suite.py", VERIFIED)
    assert invoke("run").exit_code == 0
    page = (tmp_path / "dpaudit-report.html").read_bytes()
    assert b"holds on the grid" in page
    assert invoke("report", "dpaudit-report.json", "--html", "again.html").exit_code == 0
    assert (tmp_path / "again.html").read_bytes() == page


def test_explain_finds_the_row_by_paper_and_id(report: Path, tmp_path: Path) -> None:
    """A report may name the suite's file by another path; what it holds of another paper is not taken for it,
    and where it has no such row, ``explain`` says so."""
    document = json.loads(report.read_text(encoding="utf-8"))
    document["results"] = [row | {"suite": "papers:elsewhere.py"} for row in document["results"]]
    moved, foreign = tmp_path / "moved.json", tmp_path / "foreign.json"
    moved.write_text(json.dumps(document), encoding="utf-8")
    document["results"] = [row | {"paper": "another"} for row in document["results"]]
    foreign.write_text(json.dumps(document), encoding="utf-8")
    missing = "the report has no row fine of this suite"
    shown = invoke("explain", "fine", report.parent, "--report", moved).stdout
    assert "verified / tested" in shown
    assert missing not in shown
    shown = invoke("explain", "fine", report.parent, "--report", foreign).stdout
    assert "verified / tested" not in shown
    assert missing in shown


def test_explain_without_a_path_names_the_path(report: Path) -> None:
    """Without a path the error says where that of an own suite goes; with one there is no such hint."""
    hint = "For a row of your own suite, add its path: dpaudit explain ID PATH"
    assert hint in invoke("explain", "no-such-row").stderr
    assert hint not in invoke("explain", "no-such-row", report.parent).stderr


def test_explain_says_what_is_claimed_done_and_decided(report: Path) -> None:
    """The claim in words, the row function's own words, and with a report the verdict, its evidence and the
    command.
    """
    result = invoke("explain", "FINE", report.parent, "--report", report)
    for text in (
        "the error is at most 1",
        "Computes the error on the whole grid.",
        "verified / tested",
        "computation: error from 0.25 to 0.5, 10 points, grid: the whole grid",
        "dpaudit run",
    ):
        assert text in result.stdout
    assert "Theorem 2" in invoke("explain", "false", report.parent).stdout
    unknown = invoke("explain", "fin", report.parent)
    assert unknown.exit_code == 2
    assert "Did you mean fine" in unknown.stderr


def test_no_time_left_is_guessed_from_a_few_rows(report: Path) -> None:
    """Before a tenth of the rows is done their mean says nothing of the others: only the count is shown."""
    result = Report.read(report).results[0]
    out = io.StringIO()
    console = Console(width=120, file=out, markup=False, color_system=None)
    with LiveResults(console, total=21, id_width=8) as live:
        for _ in range(3):
            live.show(result)
    lines = out.getvalue()
    assert "[2/21]" in lines
    assert "[3/21, about" in lines


def test_the_time_left_is_shown(report: Path) -> None:
    """On a terminal a bar, elsewhere on each line: how many of how many, and about how long it will take."""
    result = Report.read(report).results[0]
    for terminal in (True, False):
        out = io.StringIO()
        console = Console(force_terminal=terminal, width=120, file=out, markup=False, color_system=None)
        with LiveResults(console, total=2, id_width=8) as live:
            live.show(result)
            live.show(result)
        assert out.getvalue().count("holds on the grid") == 2
        assert re.search(
            r"1/2.*about 0.. s left" if terminal else r"\[1/2, about 0.. s left\]", out.getvalue()
        )
        assert ("━" in out.getvalue()) is terminal


def test_the_rows_that_run_are_named(report: Path) -> None:
    """On a terminal those that began and have no result yet, the first two by name; elsewhere nothing."""
    result = Report.read(report).results[0]
    for terminal in (True, False):
        out = io.StringIO()
        console = Console(force_terminal=terminal, width=160, file=out, markup=False, color_system=None)
        with LiveResults(console, total=4, id_width=8) as live:
            for name in (result.id, "B", "C\x1b[2J"):
                live.start(name)
            live.show(result)
            live.start("D")
            live.show(replace(result, id="B"))
        said = out.getvalue()
        assert (f"running {result.id}, B and 1 more" in said) is False  # a bar is drawn with each result
        assert ("running B, C" in said) is terminal
        assert re.search("running C.*, D", said) is not None if terminal else "running" not in said
        assert "C\x1b" not in said


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0.0 s"), (9.94, "9.9 s"), (42, "42 s"), (600, "10 min"), (9000, "2.5 h")]
)
def test_durations_read_well(seconds: float, text: str) -> None:
    """Two digits are enough, in the unit that a reader would choose."""
    assert duration(seconds) == text
