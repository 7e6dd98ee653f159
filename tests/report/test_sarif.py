"""SARIF 2.1.0 of a report: which rows are findings, at which level, and in the standard's form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from jsonschema import Draft202012Validator

from dpaudit.report.sarif import place_of, sarif
from tests.cli.suites import RAISES, REFUTED, UNEXPECTED, VERIFIED, invoke, write_suite
from tests.report.sample import sample_report, typed, typed_row


def closed(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    """The schema of an object with these properties and no others."""
    properties = required | (optional or {})
    return {
        "type": "object",
        "required": list(required),
        "properties": properties,
        "additionalProperties": False,
    }


TEXT = {"type": "string", "minLength": 1}
MESSAGE = closed({"text": TEXT})
INDEX = {"type": "integer", "minimum": 0}
ARTIFACT = closed({"uri": TEXT}, {"uriBaseId": {"enum": ["%SRCROOT%", "DPAUDIT"]}})
REGION = closed({"startLine": {"type": "integer", "minimum": 1}})
LOCATION = closed({"physicalLocation": closed({"artifactLocation": ARTIFACT, "region": REGION})})
RULE = closed({"id": TEXT, "shortDescription": MESSAGE}, {"fullDescription": MESSAGE, "properties": {}})
RESULT = closed(
    {
        "ruleId": TEXT,
        "ruleIndex": INDEX,
        "level": {"enum": ["none", "note", "warning", "error"]},
        "message": MESSAGE,
        "locations": {"type": "array", "items": LOCATION},
    }
)
DRIVER = closed(
    {"name": TEXT}, {"version": TEXT, "rules": {"type": "array", "items": RULE, "uniqueItems": True}}
)
INVOCATION = closed({"executionSuccessful": {"type": "boolean"}}, {"commandLine": {"type": "string"}})
RUN = closed(
    {"tool": closed({"driver": DRIVER})},
    {
        "invocations": {"type": "array", "items": INVOCATION},
        "originalUriBaseIds": {"type": "object"},
        "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
        "properties": {"type": "object"},
        "results": {"type": "array", "items": RESULT},
    },
)
#: Written by hand from chapter 3 of the standard, for the objects used: not its whole schema.
LOG = closed({"version": {"const": "2.1.0"}, "runs": {"type": "array", "items": RUN}}, {"$schema": TEXT})


def read(report: dict[str, Any]) -> dict[str, Any]:
    """The one run of a valid log."""
    log = json.loads(sarif(typed(report)))
    Draft202012Validator(LOG).validate(log)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    return dict(run)


def levels(report: dict[str, Any]) -> dict[str, str]:
    """The level of each finding by the id of its row."""
    return {result["ruleId"].split("/", 1)[1]: result["level"] for result in read(report)["results"]}


def test_which_rows_are_findings() -> None:
    """Rows not accepted are errors, expected refutations are warnings, refuted what-ifs are no findings."""
    report = sample_report()
    found = levels(report)
    refused = {row["id"] for row in report["results"] if not row["accepted"]}
    assert len(refused) >= 4
    assert {name for name, level in found.items() if level == "error"} == refused
    assert {name for name, level in found.items() if level == "warning"} == {"Thm 7", "Fact 3", "Thm 8"}
    assert "Thm 7/lost" not in found
    assert read(report)["invocations"][0]["executionSuccessful"] is False  # a row crashed


@pytest.mark.parametrize(
    ("role", "level"),
    [("printed", "warning"), ("repaired", "warning"), ("step", "note"), ("sharper", None), ("control", None)],
)
def test_the_level_of_what_is_false_as_expected(role: str, level: str | None) -> None:
    """The role of a row that is refuted as expected decides its level."""
    report = sample_report()
    row = next(row for row in report["results"] if row["id"] == "Thm 7") | {"role": role}
    assert levels(report | {"results": [row]}) == ({"Thm 7": level} if level else {})


@pytest.mark.parametrize(
    ("suite", "uri", "base"),
    [
        ("audits/my claims.py", "audits/my%20claims.py", "%SRCROOT%"),
        ("a:b/#c?.py", "a%3Ab/%23c%3F.py", "%SRCROOT%"),
        ("/home/me/mine.py", "file:///home/me/mine.py", None),
        ("C:/me/mine.py", "file:///C:/me/mine.py", None),
        ("papers:hu/suite.py", "hu/suite.py", "DPAUDIT"),
    ],
    ids=["relative", "special characters", "absolute", "a drive", "ships with dpaudit"],
)
def test_where_a_finding_is(suite: str, uri: str, base: str | None) -> None:
    """Paths are relative to the run's folder, to the bundled suites, or absolute."""
    report = sample_report()
    row = next(row for row in report["results"] if not row["accepted"]) | {"suite": suite}
    run = read(report | {"results": [row]})
    (location,) = run["results"][0]["locations"]
    found = location["physicalLocation"]["artifactLocation"]
    assert found["uri"] == uri
    assert found.get("uriBaseId") == base
    assert base is None or base in run["originalUriBaseIds"]
    assert unquote(urlsplit(uri).path).endswith(suite.removeprefix("papers:"))


def test_foreign_text_is_no_link_and_no_placeholder() -> None:
    """Braces are doubled, a bracket is never followed by a parenthesis, control characters are replaced."""
    report = sample_report()
    hostile = "[here](http://x.example) {0} \x1b[2J \ud800"
    row = next(row for row in report["results"] if not row["accepted"])
    row |= {"title": hostile, "reasons": [hostile], "suite": hostile}
    broken = [{"suite": hostile, "reason": hostile}]
    run = read(report | {"results": [row], "broken": broken})
    assert run["results"][-1]["ruleId"] == "not-imported"
    for result in run["results"]:
        text = result["message"]["text"]
        assert "](" not in text
        assert "{{0}}" in text
        assert "\x1b" not in text


def test_run_and_report_write_the_same_findings(tmp_path: Path) -> None:
    """``run --sarif`` and ``report --sarif`` write one file: what was refuted, unexpected and crashed."""
    suite = write_suite(tmp_path / "suite.py", VERIFIED, REFUTED, UNEXPECTED, RAISES)
    files = [tmp_path / name for name in ("r.json", "run.sarif", "report.sarif")]
    run = invoke("run", suite, "--jobs", 1, "--no-html", "--json", files[0], "--sarif", files[1])
    assert run.exit_code == 3
    assert invoke("report", files[0], "--sarif", files[2]).exit_code == 0
    assert files[1].read_bytes() == files[2].read_bytes()
    report = json.loads(files[0].read_text(encoding="utf-8"))
    assert levels(report) == {"false": "warning", "surprise": "error", "raises": "error"}
    lost = invoke("run", suite, "--json", files[0], "--sarif", tmp_path / "nowhere" / "x.sarif")
    assert lost.exit_code == 2
    assert "existing folder" in lost.stderr


@pytest.mark.parametrize(
    ("suite", "location", "place"),
    [
        ("audits/x/suite.py", {"file": "rows/sums.py", "line": 7}, ("audits/x/rows/sums.py", 7)),
        ("suite.py", {"file": "suite.py", "line": 3}, ("suite.py", 3)),
        ("papers:x/suite.py", {"file": "../shared.py", "line": 9}, ("papers:shared.py", 9)),
        ("suite.py", {"file": "../elsewhere.py", "line": 9}, ("suite.py", 1)),
        ("suite.py", None, ("suite.py", 1)),
    ],
    ids=["a file of rows", "the suite's own", "shipped", "above the folder of the run", "not known"],
)
def test_a_place_is_the_row_s_own_where_it_is_known(
    suite: str, location: dict[str, Any] | None, place: tuple[str, int]
) -> None:
    """The file of the rows beside the suite's, and its line; else the first line of the suite's."""
    assert place_of(typed_row({"suite": suite} | ({"location": location} if location else {}))) == place


def test_a_finding_points_at_the_line_of_its_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the suite's text to the log: the line on which the row is declared."""
    monkeypatch.chdir(tmp_path)
    text = UNEXPECTED.rstrip("\n") + "\n"
    write_suite(tmp_path / "suite.py", text)
    invoke("run", "suite.py", "--json", "r.json", "--sarif", "r.sarif")
    [result] = json.loads(Path("r.json").read_text(encoding="utf-8"))["results"]
    declared = (tmp_path / "suite.py").read_text(encoding="utf-8").splitlines()
    line = result["location"]["line"]
    assert result["location"]["file"] == "suite.py"
    assert result["id"] in "".join(declared[line - 1 : line + 1])
    [found] = json.loads(Path("r.sarif").read_text(encoding="utf-8"))["runs"][0]["results"]
    assert found["locations"][0]["physicalLocation"]["region"]["startLine"] == line
