"""``dpaudit explain`` gives a reader the claim, the instance and the numbers, without a report too."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.suites import VERIFIED, invoke, run, write_suite

LONG = """
@suite.row("long", title="holds at n = 1" + "0" * 100, kind="utility", claim=CLAIM, source="eq. (7)")
def long(run):
    # The first bound is missing.
    found = exactly(None, 0.5, details={"worst at": "n = 7", "value": 3})
    return Outcome([found], notes=["claimed 18466987926577872439/147573952589676412928"])

@suite.row("steps", title="a fraction", kind="privacy", claim=PureDP(epsilon=1), view="public")
def steps(run):
    third = Fraction(10**40 + 1, 3 * 10**40)
    return Outcome([certificate(third)])
"""


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_suite(tmp_path_factory.mktemp("explain") / "suite.py", VERIFIED, LONG)


def test_the_row_runs_without_a_report(suite: Path) -> None:
    """The verdict, the notes and the evidence of ``explain`` are those of a run."""
    run(suite)
    report = suite.parent / "dpaudit-report.json"
    shown = invoke("explain", "long", suite).stdout
    assert "verified / tested" in shown
    told = invoke("explain", "long", suite, "--report", report).stdout
    assert [line for line in shown.splitlines() if "note:" in line or "computation:" in line] == [
        line for line in told.splitlines() if "note:" in line or "computation:" in line
    ]


def test_no_run_shows_only_what_is_declared(suite: Path) -> None:
    """With ``--no-run`` no program runs."""
    mark = suite.parent / "fine.ran"
    before = mark.read_text() if mark.exists() else ""
    shown = invoke("explain", "fine", suite, "--no-run").stdout
    assert "the error is at most 1" in shown
    assert "verified / tested" not in shown
    assert (mark.read_text() if mark.exists() else "") == before
    invoke("explain", "fine", suite)
    assert mark.read_text() == before + "x"


def test_the_numbers_to_recompute_are_shown(suite: Path) -> None:
    """Equation, place of the row, and each detail of an estimate. A missing bound is not called None."""
    shown = invoke("explain", "long", suite).stdout
    assert "source   eq. (7)" in shown
    assert "suite.py:" in shown
    assert "worst at: n = 7" in shown
    assert "value: 3" in shown
    assert "error at most 0.5, 10 points" in shown
    assert "None" not in shown


def test_long_numbers_are_short(suite: Path) -> None:
    """A power of ten is written as one, and a long fraction with six digits, a bound rounded outward."""
    shown = invoke("explain", "long", suite).stdout
    assert "holds at n = 10\u00b9\u2070\u2070" in shown
    assert "0" * 30 not in shown
    assert "claimed \u2248 0.125137" in shown
    steps = invoke("explain", "steps", suite).stdout
    assert "certificate: epsilon <= 0.333334" in steps
