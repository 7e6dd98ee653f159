"""What is made from a report survives its largest numbers: infinite losses, claims and bounds near or beyond
all floats, and numbers that are not read as such."""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from dpaudit.core.errors import DpauditError
from dpaudit.report.file.report import Report
from dpaudit.report.html import render_html
from dpaudit.report.junit import junit_xml
from dpaudit.report.markdown import markdown_table
from dpaudit.report.sarif import sarif
from dpaudit.report.terminal import report_table, summary
from dpaudit.verify.report import verify_results
from tests.cli.forged import ROWS, leaves, put
from tests.cli.suites import invoke, run, write_suite
from tests.report.sample import typed

HUGE = """
HUGE = ErrorRate(text="the error is at most 10^400", claimed=10**400)
LARGEST = ErrorRate(text="the error is below all floats", claimed="179769313486231570" + "0" * 291)
TINY = PureDP(epsilon="1e-400", domain="0 or 1")
PLOT = {"kind": "line", "title": "error", "x": [-1.7e308, 1.7e308], "y": [-1.7e308, 1.7e308]}

@suite.row("beyond", title="a claim beyond all floats", kind="utility", claim=HUGE)
def beyond(run):
    return Outcome([exactly(0.25, 0.5)], plots=[PLOT])

@suite.row("largest", title="a claim near the largest float", kind="utility", claim=LARGEST)
def largest(run):
    return Outcome([exactly(5e-324, 1.7e308)])

@suite.row("far", title="a bound near the largest float", kind="utility", claim=CLAIM, expect="refuted")
def far(run):
    return Outcome([exactly(1.7976931348623157e308, float("inf"))])

@suite.row("tiny", title="a claim below all floats", kind="privacy", claim=TINY, expect="refuted")
def tiny(run):
    return Outcome([witness(None)])
"""


def terminal(report: Report) -> str:
    """What ``dpaudit report`` prints."""
    console = Console(file=io.StringIO(), width=200)
    console.print(report_table(report))
    console.print(summary(report))
    return str(console.file)


WRITERS: dict[str, Callable[[Report], object]] = {
    "html": render_html,
    "terminal": terminal,
    "markdown": markdown_table,
    "junit": junit_xml,
    "sarif": sarif,
}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A report with an infinite loss and with numbers near and beyond all floats, which verifies."""
    suite = write_suite(tmp_path_factory.mktemp("huge") / "suite.py", HUGE + ROWS)
    made = run(suite)[1]
    crashed = {row["id"] for row in made["results"] if row["verdict"] == "crashed"}
    assert crashed == {"crashes"}
    assert all(finding.ok for finding in verify_results(made["results"], seconds_per_result=None))
    return made


@pytest.mark.parametrize("name", WRITERS)
def test_writers_take_what_verifies(name: str, report: dict[str, Any]) -> None:
    """Each makes something of infinite and huge bounds."""
    assert WRITERS[name](typed(report))


def test_numbers_that_can_be_read_can_be_shown(report: dict[str, Any], tmp_path: Path) -> None:
    """A number of each field in turn is huge, tiny, or a text that looks like one: the file is refused
    as a whole, or every writer takes it."""
    file, taken = tmp_path / "report.json", 0
    texts = ("1" + "0" * 400, "1/1" + "0" * 400, "1e400", "1" + "0" * 5000, "inf", "-Infinity", "nan")
    kinds = {tuple(step for step in path if isinstance(step, str)): path for path in leaves(report)}
    for path in kinds.values():  # one of each field
        value: Any = report
        for step in path:
            value = value[step]
        if isinstance(value, bool):
            continue
        if value is None or isinstance(value, int | float):
            options: tuple[Any, ...] = (1.7e308, -1.7e308, 5e-324, 10**299, -(10**299))
        elif isinstance(value, str) and value.replace("/", "").removeprefix("-").isdigit():
            options = texts
        else:
            continue
        for option in options:
            edited = copy.deepcopy(report)
            put(edited, path, option)
            file.write_text(json.dumps(edited), encoding="utf-8")
            try:
                read = Report.read(file)
            except DpauditError:
                continue
            taken += 1
            for name in ("terminal", "markdown", "junit", "sarif"):
                assert WRITERS[name](read), (path, option, name)
            if option in (1.7e308, "1e400", "1" + "0" * 5000):  # the page takes longest
                assert WRITERS["html"](read), (path, option)
    assert taken


def test_a_claim_or_a_bound_that_nobody_could_read_is_refused(tmp_path: Path) -> None:
    """5000 digits in a claim, and an integer beyond all floats in an estimate: an error, and no green row."""
    long = '@suite.row("long", title="t", kind="utility", claim=ErrorRate(text="e", claimed=10**5000))\n'
    suite = write_suite(
        tmp_path / "long.py", long + "def row(run):\n    return Outcome([exactly(0.25, 0.5)])\n"
    )
    assert invoke("run", suite, "--no-html", "--json", tmp_path / "long.json").exit_code not in (0, 1)
    wide = '@suite.row("wide", title="t", kind="utility", claim=CLAIM)\n'
    suite = write_suite(
        tmp_path / "wide.py", wide + "def row(run):\n    return Outcome([exactly(0, 10**400)])\n"
    )
    result, made = run(suite)
    assert result.exit_code == 3
    assert "in the range of floats" in made["results"][0]["traceback"]
