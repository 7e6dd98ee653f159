"""Write a report as SARIF 2.1.0, the format in which code hosts and editors read static-analysis findings.

The format is the OASIS standard "Static Analysis Results Interchange Format (SARIF) Version 2.1.0", chapter
3. Numbers below are its sections. A rule is a row. A result is a row that is not as expected, or a stated
claim, repair or proof step that was refuted as expected. The levels are:

* ``error``: it makes the run fail: not as expected, crashed, or a suite that does not import
* ``warning``: a stated claim or a repair is false, as expected
* ``note``: a step of a proof is false, as expected

A result is located at the declaration of its row. If the report does not name that place, the location is
line 1 of the suite's file, which stands for the file. The published schema does not come with this package.
The tests check the standard's required properties and lists of values for the objects used here, not the
whole schema.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import quote

from dpaudit.report.file.parts import Result
from dpaudit.report.file.report import Report
from dpaudit.report.notation import clean
from dpaudit.report.roles import role_headings
from dpaudit.report.terminal import bounds_in_words

__all__ = ["FIRST_LINE", "SARIF_SCHEMA", "place_of", "sarif"]

SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

#: Levels of rows that are refuted as expected, by role. Rows of other roles are not findings.
REFUTED_LEVELS = {"printed": "warning", "repaired": "warning", "step": "note"}

#: The rule of a suite that does not import. No row has this rule, because the rule of a row begins with its
#: paper.
NOT_IMPORTED = "not-imported"

#: The folder that locations are relative to, under the name that code hosts use.
BASE = "%SRCROOT%"
#: The folder of the suites that ship with dpaudit.
SHIPPED = "DPAUDIT"
BASES = {
    BASE: {"description": {"text": "the folder that the run started in"}},
    SHIPPED: {"description": {"text": "the audits that ship with dpaudit"}},
}

#: The line that stands for a whole file, because GitHub's code scanning requires a line.
FIRST_LINE = 1

#: Prefix of the label of a suite that ships with dpaudit.
BUNDLED = "papers:"


def sarif(report: Report) -> str:
    """Return the report as a SARIF log with one run."""
    found = [(row, level) for row in report.results if (level := _level(row))]
    headings = role_headings(report.results)
    broken = report.broken
    rules = {_rule_id(row): _rule(row) for row, _ in found}
    if broken:
        rules[NOT_IMPORTED] = {
            "id": NOT_IMPORTED,
            "shortDescription": {"text": "a suite of claims must import"},
        }
    index = {name: place for place, name in enumerate(rules)}
    results = [
        _result(_rule_id(row), index, level, _message(row, headings), *place_of(row)) for row, level in found
    ]
    results += [_result(NOT_IMPORTED, index, "error", one.reason, one.suite, FIRST_LINE) for one in broken]
    driver = {"name": "dpaudit", "version": clean(report.tool_version), "rules": list(rules.values())}
    crashed = any(row.verdict == "crashed" for row in report.results)
    run = {
        "tool": {"driver": driver},
        "invocations": [
            {
                "commandLine": clean(report.command),
                "executionSuccessful": report.complete and not broken and not crashed,
            }
        ],
        "originalUriBaseIds": BASES,
        "columnKind": "unicodeCodePoints",
        "properties": {name: getattr(report, name) for name in ("profile", "seed", "alpha")},
        "results": results,
    }
    log = {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _level(row: Result) -> str | None:
    """Return the level of a row that is a finding, and ``None`` for other rows."""
    if not row.accepted:
        return "error"
    return REFUTED_LEVELS.get(row.role) if row.verdict == "refuted" else None


def _rule_id(row: Result) -> str:
    return f"{clean(row.paper)}/{clean(row.id)}"


def _rule(row: Result) -> dict[str, Any]:
    return {
        "id": _rule_id(row),
        "shortDescription": {"text": _text(row.title)},
        "fullDescription": {"text": _text(row.claim.in_words)},
        "properties": {"role": row.role, "kind": clean(row.kind), "source": clean(row.source)},
    }


def _message(row: Result, headings: Mapping[str, str]) -> str:
    """Return the outcome in words. A message must not be empty (3.11.8)."""
    return "\n".join([f"{row.against_expectation}: {row.title}", *_details(row, headings)])


def _details(row: Result, headings: Mapping[str, str]) -> Iterator[str]:
    yield f"{headings[row.role]}: {row.claim.in_words}"
    bounds = bounds_in_words(row)
    if bounds:
        yield bounds
    yield from row.reasons
    yield from row.unexpected_cells
    yield f"again: {row.reproduce}"


def _result(
    rule: str, index: Mapping[str, int], level: str, message: str, file: str, line: int
) -> dict[str, Any]:
    return {
        "ruleId": rule,
        "ruleIndex": index[rule],
        "level": level,
        "message": {"text": _text(message)},
        "locations": [_location(file, line)],
    }


def _text(text: object) -> str:
    """Return foreign text for a message.

    Braces are doubled, because a number in braces is a placeholder (3.11.5). No text forms a link (3.11.6).
    """
    return clean(text).replace("{", "{{").replace("}", "}}").replace("](", "] (")


def place_of(row: Result) -> tuple[str, int]:
    """Return the file and line of a row's declaration, with the file named relative to the suite's label.

    If the report does not name them, return line 1 of the suite's file, which stands for the file.
    """
    suite, found = row.suite, row.location
    if not found:
        return suite, FIRST_LINE
    label = suite.removeprefix(BUNDLED)
    file = posixpath.normpath(posixpath.join(posixpath.dirname(label), found.file))
    if file.startswith(".."):
        return suite, FIRST_LINE  # above the folder of the run, which code hosts cannot show
    return (BUNDLED if suite.startswith(BUNDLED) else "") + file, found.line


def _location(suite: str, line: int) -> dict[str, Any]:
    """Return the location of a suite's file.

    It is relative to the folder of the run (3.4.4) or to the audits that ship with dpaudit, or absolute.
    """
    path = quote(clean(suite))
    if suite.startswith(BUNDLED):
        found = {"uri": quote(clean(suite.removeprefix(BUNDLED))), "uriBaseId": SHIPPED}
    elif PureWindowsPath(suite).is_absolute():
        found = {"uri": f"file:///{path.replace('%3A', ':', 1)}"}
    elif PurePosixPath(suite).is_absolute():
        found = {"uri": f"file://{path}"}
    else:
        found = {"uri": path, "uriBaseId": BASE}
    return {"physicalLocation": {"artifactLocation": found, "region": {"startLine": line}}}
