"""A report as SARIF 2.1.0, the format of findings of static analysis that code hosts and editors show.

The form is that of the OASIS standard "Static Analysis Results Interchange Format (SARIF) Version 2.1.0"
(its chapter 3); numbers below are its sections. A result is a row that came out against expectation,
or a claim, repair or step of a proof that was refuted as expected; a rule is a row. The levels:

* ``error``: it makes the run fail: against expectation, crashed, or a suite that does not import;
* ``warning``: a printed claim or a repair is false, as expected;
* ``note``: a printed step of a proof is false, as expected.

A result is located where its row is declared, or where the report does not say that at line 1 of its suite's
file, which stands for the file. The published schema does not come with this package: the tests hold the
output against the standard's required properties and lists of values for the objects used here, not against
the whole schema.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import quote

from dpaudit.report.notation import clean
from dpaudit.report.roles import ROLE_WORDS, against_expectation, role_of, unexpected_cells
from dpaudit.report.terminal import bounds_in_words

__all__ = ["FIRST_LINE", "SARIF_SCHEMA", "place_of", "sarif"]

SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

#: The level of what is false as expected, by role; of other roles it is no finding.
REFUTED_LEVELS = {"printed": "warning", "repaired": "warning", "step": "note"}

#: The rule of a suite that does not import. No row has it: the rule of a row begins with its paper.
NOT_IMPORTED = "not-imported"

#: The folder that locations are relative to, by the name that code hosts know.
BASE = "%SRCROOT%"
#: The folder of the suites that ship with dpaudit.
SHIPPED = "DPAUDIT"
BASES = {
    BASE: {"description": {"text": "the folder that the run started in"}},
    SHIPPED: {"description": {"text": "the audits that ship with dpaudit"}},
}

#: Stands for the whole file: GitHub's code scanning asks for a line.
FIRST_LINE = 1

#: What the label of a suite that ships with dpaudit begins with.
BUNDLED = "papers:"


def sarif(report: Mapping[str, Any]) -> str:
    """The report as a SARIF log with one run."""
    found = [(row, level) for row in report["results"] if (level := _level(row))]
    broken = report.get("broken", ())
    rules = {_rule_id(row): _rule(row) for row, _ in found}
    if broken:
        rules[NOT_IMPORTED] = {
            "id": NOT_IMPORTED,
            "shortDescription": {"text": "a suite of claims must import"},
        }
    index = {name: place for place, name in enumerate(rules)}
    results = [_result(_rule_id(row), index, level, _message(row), *place_of(row)) for row, level in found]
    results += [
        _result(NOT_IMPORTED, index, "error", one["reason"], one["suite"], FIRST_LINE) for one in broken
    ]
    driver = {"name": "dpaudit", "version": clean(report["tool_version"]), "rules": list(rules.values())}
    crashed = any(row["verdict"] == "crashed" for row in report["results"])
    run = {
        "tool": {"driver": driver},
        "invocations": [
            {
                "commandLine": clean(report["stamps"]["command"]),
                "executionSuccessful": report["complete"] and not broken and not crashed,
            }
        ],
        "originalUriBaseIds": BASES,
        "columnKind": "unicodeCodePoints",
        "properties": {name: report[name] for name in ("profile", "seed", "alpha")},
        "results": results,
    }
    log = {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _level(row: Mapping[str, Any]) -> str | None:
    """The level of a row that is a finding; ``None`` for one that is none."""
    if not row["accepted"]:
        return "error"
    return REFUTED_LEVELS.get(role_of(row)) if row["verdict"] == "refuted" else None


def _rule_id(row: Mapping[str, Any]) -> str:
    return f"{clean(row['paper'])}/{clean(row['id'])}"


def _rule(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": _rule_id(row),
        "shortDescription": {"text": _text(row["title"])},
        "fullDescription": {"text": _text(row["claim"]["in_words"])},
        "properties": {"role": role_of(row), "kind": clean(row["kind"]), "source": clean(row["source"])},
    }


def _message(row: Mapping[str, Any]) -> str:
    """What came out, in words; a message must not be empty (3.11.8)."""
    return "\n".join([f"{against_expectation(row)}: {row['title']}", *_details(row)])


def _details(row: Mapping[str, Any]) -> Iterator[str]:
    yield f"{ROLE_WORDS[role_of(row)]}; {row['claim']['in_words']}"
    bounds = bounds_in_words(row)
    if bounds:
        yield bounds
    yield from row["reasons"]
    yield from unexpected_cells(row)
    yield f"again: {row['reproduce']}"


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
    """Foreign text in a message: braces are doubled, since a number in them is a placeholder (3.11.5), and
    nothing is a link (3.11.6)."""
    return clean(text).replace("{", "{{").replace("}", "}}").replace("](", "] (")


def place_of(row: Mapping[str, Any]) -> tuple[str, int]:
    """The file and the line where a row is declared, the file named as the suite is; without them line 1 of
    the suite's file, which stands for the whole of it."""
    suite, found = str(row["suite"]), row.get("location")
    if not found:
        return suite, FIRST_LINE
    label = suite.removeprefix(BUNDLED)
    file = posixpath.normpath(posixpath.join(posixpath.dirname(label), found["file"]))
    if file.startswith(".."):
        return suite, FIRST_LINE  # above the folder of the run: no code host knows it
    return (BUNDLED if suite.startswith(BUNDLED) else "") + file, found["line"]


def _location(suite: str, line: int) -> dict[str, Any]:
    """A file of a suite: below the folder of the run (3.4.4), among those that ship with dpaudit, or by an
    address of its own."""
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
