"""A report file that is broken in any way is refused with one message and exit code 2, never a traceback."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpaudit.core.errors import BrokenReportError
from dpaudit.report.file import strict
from dpaudit.report.file.document import read_report
from tests.cli.suites import REFUTED, VERIFIED, invoke, run, write_suite


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> str:
    suite = write_suite(tmp_path_factory.mktemp("report") / "suite.py", VERIFIED, REFUTED)
    run(suite)
    return (suite.parent / "dpaudit-report.json").read_text(encoding="utf-8")


def changed(good: str, **fields: Any) -> str:
    return json.dumps(json.loads(good) | fields)


def in_result(good: str, **fields: Any) -> str:
    report = json.loads(good)
    report["results"][0] |= fields
    return json.dumps(report)


BROKEN: dict[str, tuple[Callable[[str], str], str]] = {
    "empty": (lambda good: "", "E-REPORT-JSON"),
    "cut off": (lambda good: good[: len(good) // 2], "The file may be incomplete"),
    "not JSON": (lambda good: "<html></html>", "E-REPORT-JSON"),
    "a list": (lambda good: "[]", "must be a JSON object, got a list"),
    "an older version": (
        lambda good: changed(good, schema_version=1),
        "an older dpaudit wrote it, without roles and cells",
    ),
    "a later version": (lambda good: changed(good, schema_version=7), "must have schema_version 6, got 7"),
    "no version": (lambda good: "{}", "must have schema_version 6, got None"),
    "a true version": (lambda good: changed(good, schema_version=True), "schema_version 6, got True"),
    "no results": (lambda good: '{"schema_version": 6}', "is missing"),
    "results no list": (lambda good: changed(good, results={}), "results: {} is not of type 'array'"),
    "NaN": (lambda good: in_result(good, lower=float("nan")), "must be strict JSON"),
    "infinity": (lambda good: in_result(good, upper=float("inf")), "must be strict JSON"),
    "no such verdict": (lambda good: in_result(good, verdict="proved"), "results[0].verdict"),
    "bound no number": (lambda good: in_result(good, lower="1"), "results[0].lower"),
    "bound not exact": (lambda good: in_result(good, lower_exact="os.getpid()"), "results[0].lower_exact"),
    "no evidence": (lambda good: in_result(good, evidence=[{"evidence": "hearsay"}]), "[0].evidence[0]"),
    "a float beyond all": (lambda good: good.replace('"seed": 0', '"seed": 1e999'), "must be strict JSON"),
    "digits that a float loses": (
        lambda good: re.sub(r'"alpha": 0.05\b', '"alpha": 0.05000000000000000000001', good, count=1),
        "which is read as 0.05",
    ),
    "an id twice": (
        lambda good: changed(good, results=2 * json.loads(good)["results"]),
        "once in a report",
    ),
    "a key twice": (
        lambda good: good.replace('"seed": 0', '"seed": 1, "seed": 0'),
        "the key 'seed' twice in one object",
    ),
    "a key twice inside": (
        lambda good: good.replace('"method": "grid"', '"method": "grid", "m\\u0065thod": "other"'),
        "the key 'method' twice",
    ),
    "fullwidth digits": (
        lambda good: good.replace('"claimed_exact": "1"', '"claimed_exact": "\uff11"'),
        "E-REPORT-DIGITS",
    ),
    "Arabic digits": (
        lambda good: in_result(good, notes=["\u0663/\u0664"]),
        "E-REPORT-DIGITS",
    ),
    "underscores": (
        lambda good: good.replace('"claimed_exact": "1"', '"claimed_exact": "1_0"'),
        "E-REPORT-DIGITS",
    ),
    "a line end after a number": (lambda good: in_result(good, upper_exact="1/2\n"), "E-REPORT-DIGITS"),
    "an id with a Cyrillic letter": (lambda good: in_result(good, id="f\u0456ne"), "E-ID-FORM"),
    "an id with a combining mark": (lambda good: in_result(good, id="fine\u0301"), "E-ID-FORM"),
    "an id with an invisible character": (lambda good: in_result(good, id="fi\u200bne"), "E-ID-FORM"),
    "an id that turns the text round": (lambda good: in_result(good, id="\u202efine"), "E-ID-FORM"),
    "an id with a space to spare": (lambda good: in_result(good, id="fine "), "E-ID-FORM"),
    "ids that differ in case": (lambda good: in_result(good, id="False"), "E-ID-ALIKE"),
    "deep": (lambda good: "[" * 100_000, "E-REPORT-DEPTH"),
    "long integer": (lambda good: good.replace('"seed": 0', '"seed": ' + "9" * 5000), "must be strict JSON"),
}


@pytest.mark.parametrize("command", ["report", "verify"])
@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_file_is_refused(tmp_path: Path, good: str, fault: str, command: str) -> None:
    """Each fault is named; nothing is shown, verified or written from such a file."""
    spoil, told = BROKEN[fault]
    file = tmp_path / "r.json"
    file.write_text(spoil(good), encoding="utf-8")
    options = ["--markdown", tmp_path / "out.md"] if command == "report" else []
    result = invoke(command, file, *options)
    assert result.exit_code == 2
    assert told in result.stderr
    assert result.stdout == ""
    assert not (tmp_path / "out.md").exists()


@pytest.mark.parametrize("command", ["report", "verify"])
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, command: str) -> None:
    """A missing file, a folder and a file of other bytes are each told apart."""
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe{}")
    for name, told in (
        ("gone.json", "E-REPORT-READ"),
        (".", "E-REPORT-READ"),
        ("bytes.json", "E-REPORT-ENCODING"),
    ):
        result = invoke(command, tmp_path / name)
        assert result.exit_code == 2
        assert told in result.stderr


def test_only_regular_files_of_bounded_size_are_read(
    tmp_path: Path, good: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe that nobody writes to, an endless device and a file above the limit are refused at once; a link
    to a report is read."""
    os.mkfifo(tmp_path / "pipe.json")
    for path in (tmp_path / "pipe.json", Path("/dev/zero")):
        result = invoke("verify", path)
        assert result.exit_code == 2
        assert "not a regular file" in result.stderr
    (tmp_path / "report.json").write_text(good, encoding="utf-8")
    (tmp_path / "link.json").symlink_to(tmp_path / "report.json")
    assert read_report(tmp_path / "link.json") == json.loads(good)
    monkeypatch.setattr(strict, "MAX_BYTES", len(good.encode()) - 1)
    result = invoke("verify", tmp_path / "link.json")
    assert result.exit_code == 2
    assert "E-REPORT-SIZE" in result.stderr


def test_a_suite_whose_ids_look_alike_does_not_run(tmp_path: Path) -> None:
    """What a report may not hold is refused before a row runs, not when the report is read."""
    suite = write_suite(tmp_path / "suite.py", VERIFIED, VERIFIED.replace('"fine", title', '"Fine", title'))
    result = invoke("run", suite, "--no-html", "--json", tmp_path / "r.json")
    assert result.exit_code == 2
    assert "more than case" in result.stderr
    assert not (tmp_path / "fine.ran").exists()


def test_a_good_file_is_read(tmp_path: Path, good: str) -> None:
    """The control: unchanged, the same file passes every check, and both commands accept it."""
    file = tmp_path / "r.json"
    file.write_text(good, encoding="utf-8")
    assert invoke("report", file).exit_code == 0
    assert invoke("verify", file).exit_code == 0


def test_a_file_whose_verdict_was_edited_is_not_confirmed(tmp_path: Path, good: str) -> None:
    """``verify`` judges the evidence again: a verdict that it does not support gives exit code 1."""
    file = tmp_path / "r.json"
    file.write_text(in_result(good, verdict="refuted"), encoding="utf-8")
    result = invoke("verify", file)
    assert result.exit_code == 1
    assert "✗ fine verdict" in result.stdout


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_no_edit_of_a_field_gets_past_the_reader_as_another_error(
    tmp_path: Path, good: str, data: st.DataObject
) -> None:
    """Whatever stands in a field, reading gives a report or a ``BrokenReportError``, and ``report`` never
    fails on it.
    """
    report = json.loads(good)
    place = data.draw(st.sampled_from([report, report["results"][0], report["stamps"], report["suites"][0]]))
    field = data.draw(st.sampled_from(sorted(place)))
    scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(st.characters()))
    place[field] = data.draw(
        scalars | st.lists(scalars, max_size=2) | st.dictionaries(st.text(), scalars, max_size=2)
    )
    file = tmp_path / "r.json"
    file.write_text(json.dumps(report), encoding="utf-8")
    try:
        read_report(file)
    except BrokenReportError:
        assert invoke("report", file).exit_code == 2
    else:
        assert invoke("report", file, "--junit", tmp_path / "j.xml").exit_code == 0
