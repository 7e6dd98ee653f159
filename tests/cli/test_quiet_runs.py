"""Runs that print little or stop early, and lists that say how long rows took."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from dpaudit.report.file.document import read_journal
from tests.cli.suites import RAISES, REFUTED, UNEXPECTED, VERIFIED, by_id, invoke, run, write_suite

#: A row that takes ten minutes until there is a file ``quick`` beside the suite.
SLOW = """
@suite.row("slow", title="slow at first", kind="utility", claim=CLAIM)
def slow(run):
    if not (Path(__file__).parent / "quick").exists():
        time.sleep(600)
    return Outcome([exactly(0.25, 0.5)])
"""


def test_quiet_prints_what_needs_a_reader(tmp_path: Path) -> None:
    """With -q: the row that was not accepted with its reason, one line of totals, and the same report."""
    suite = write_suite(tmp_path / "suite.py", VERIFIED, REFUTED, UNEXPECTED)
    loud, report = run(suite)
    quiet, same = run(suite, "-q")
    assert quiet.exit_code == loud.exit_code == 1
    first, *_, last = quiet.stdout.splitlines()
    assert "surprise" in first
    assert last == "2 of 3 rows came out as expected. Not as expected: surprise."
    assert "thought to hold" in quiet.stdout
    assert "holds on the grid" not in quiet.stdout
    assert "holds on the grid" in loud.stdout
    for one in (report, same):
        for row in one["results"]:
            row["seconds"] = 0
    assert same["results"] == report["results"]


def test_quiet_success_is_one_line(tmp_path: Path) -> None:
    """Where all came out as expected -q prints the totals alone."""
    result, _ = run(write_suite(tmp_path / "suite.py", VERIFIED, REFUTED), "-q")
    assert result.output == "All 2 rows came out as expected.\n"


@pytest.mark.parametrize(("bad", "code"), [(UNEXPECTED, 1), (RAISES, 3)], ids=["unexpected", "crashed"])
def test_fail_fast_stops_after_the_first_failure(tmp_path: Path, bad: str, code: int) -> None:
    """With --fail-fast an expected refutation goes on, a failure ends the run and a row of ten minutes with
    it: the report is partial, the exit code that of the failure, and --resume runs what is left."""
    suite = write_suite(tmp_path / "suite.py", REFUTED, bad, SLOW, VERIFIED)
    started = time.monotonic()
    result, report = run(suite, "--fail-fast")
    assert result.exit_code == code
    assert report["complete"] is False
    assert len(report["results"]) == 2
    assert time.monotonic() - started < 300
    assert "--fail-fast" in result.stdout
    (tmp_path / "quick").touch()
    rest, whole = run(suite, "--resume")
    assert rest.exit_code == code
    assert whole["complete"] is True
    assert by_id(whole).keys() >= {"fine", "slow", "false"}


def test_fail_fast_at_the_last_row_is_complete(tmp_path: Path) -> None:
    """Where the failure was the last row, nothing is left out and the report is complete."""
    suite = write_suite(tmp_path / "suite.py", VERIFIED, UNEXPECTED)
    result, report = run(suite, "--fail-fast")
    assert result.exit_code == 1
    assert report["complete"] is True
    assert len(read_journal(tmp_path / "dpaudit-report.jsonl")) == 2
    assert "--fail-fast" not in result.stdout


def test_durations_are_those_of_the_report(tmp_path: Path) -> None:
    """``list --durations`` shows the seconds of each row of a report, a dash for a row that it lacks, and
    their sum; without it there is no such column."""
    suite = write_suite(tmp_path / "suite.py", VERIFIED, REFUTED, UNEXPECTED)
    _, report = run(suite, "-k", "not surprise")
    for row, seconds in zip(report["results"], (3.0, 200.0), strict=True):
        row["seconds"] = seconds
    file = tmp_path / "dpaudit-report.json"
    file.write_text(json.dumps(report), encoding="utf-8")
    listed = invoke("list", suite, "--durations", file)
    assert listed.exit_code == 0
    _, *rows, total = [line.split() for line in listed.stdout.splitlines()]
    assert [row[:3] for row in rows] == [
        ["fine", "3.0", "s"],
        ["false", "3", "min"],
        ["surprise", "-", "claim"],
    ]
    assert " ".join(total) == "2 of 3 rows have a duration, 3 min in total"
    assert invoke("list", suite).stdout.splitlines()[1].split()[:2] == ["fine", "claim"]
    assert invoke("list", suite, "--durations", tmp_path / "nowhere.json").exit_code == 2
