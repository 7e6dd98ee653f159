"""Run the rows of a report again and compare everything in the report with the new results.

A report file holds distributions, values and rule trees. Only the program can show that they are its own.
With the same source (by hash), seed, profile and significance level, a row has the same evidence for any
number of workers, so every difference is a finding. Other versions of the numeric libraries or another
platform may change the last bits of floats. They are separate findings, and a finding about a difference
names them.

Every field of the report is compared, except for those in ``FREE``: durations, times, and names of output
files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

import dpaudit
from dpaudit.core.errors import BrokenReportError
from dpaudit.report.file.report import Report, SuiteRecord
from dpaudit.run.commands import RunCommand, read_command
from dpaudit.run.engine import execute
from dpaudit.run.plan import Plan, PlannedRow, Settings, plan_run
from dpaudit.run.process import Pool
from dpaudit.run.stamps import library_versions, platform_name, python_version, tool_hash
from dpaudit.verify.findings import Finding, first_difference

__all__ = ["FREE", "compare_with_report"]

#: The fields that may differ between two runs of the same rows, by the part of the report.
FREE: dict[str, frozenset[str]] = {
    "report": frozenset({"results", "suites", "unchecked", "stamps"}),  # compared one by one
    "stamps": frozenset({"started", "finished", "command"}),  # times; the command is compared by its parts
    "suite": frozenset({"suite"}),  # the path of the file relative to the folder of the run
    "result": frozenset({"seconds"}),
}

#: The settings of a run that its report repeats.
_SETTINGS = ("profile", "seed", "alpha", "require", "accept")


def compare_with_report(report: Report, paths: Sequence[str], *, jobs: int, pool: Pool) -> Iterator[Finding]:
    """Yield a finding for each row of the suites in ``paths`` and for each differing field.

    A row's finding is yielded when the row is finished. The report holds if every finding is ``ok``.
    Raises ``InvalidParameterError`` for paths that name no suite, and ``BrokenReportError`` if the report was
    made from none of the suites.
    """
    command = _command_of(report)
    settings = Settings(**{name: getattr(report, name) for name in _SETTINGS}, jobs=jobs)
    plan = plan_run(paths, settings, pool)
    labels = _labels(report.suites, plan)
    if not labels:
        names = ", ".join(entry["suite"] for entry in plan.suites)
        raise BrokenReportError(
            f"the report was not made from {names}: their sources differ. Check out its commit.",
            code="E-REPORT-SUITES",
        )
    whole = len(labels) == len(plan.suites) == len(report.suites)
    yield from _about_the_run(report, plan, labels)
    yield from _about_unchecked(report.document, plan, labels)
    yield from _about_rows(report, plan, labels, command)
    rows, expected = [], {}
    for row, result in _pairs(report, plan, labels):
        # With other suites in the run, the row had another share of the significance level.
        alpha = row.alpha if whole else result["alpha"]
        again = command.of_row(row.id).text if command is not None else result["reproduce"]
        rows.append(replace(row, alpha=alpha, reproduce=again))
        expected[row.key] = result
    for row, found in execute(rows, settings, pool):
        here = {**found, "suite": labels[row.suite.file.label]}
        yield _compared(row, expected[row.key], here, report.document["stamps"])


def _command_of(report: Report) -> RunCommand | None:
    """Return the command of the report, or ``None`` if it cannot be read, which is a separate finding."""
    try:
        return read_command(report.command)
    except ValueError:
        return None


def _labels(written: Sequence[SuiteRecord], plan: Plan) -> dict[str, str]:
    """Return the label in the report for each suite here with the same sources.

    If several suites of the report have the same sources, prefer the label of the same file.
    """
    free = list(written)
    found: dict[str, str] = {}
    for same_place in (True, False):
        for entry in plan.suites:
            for other in free if entry["suite"] not in found else ():
                at_place = _same_place(entry["suite"], other.suite)
                if entry["sha256"] == other.sha256 and (at_place or not same_place):
                    found[entry["suite"]] = other.suite
                    free.remove(other)
                    break
    return found


def _same_place(here: str, there: str) -> bool:
    """Return whether two labels may name one file, seen from two folders: one is a suffix of the other."""
    short, long = sorted((PurePosixPath(here).parts, PurePosixPath(there).parts), key=len)
    return long[len(long) - len(short) :] == short


def _failed(name: str, what: str, reason: str) -> Finding:
    return Finding(name, False, what, reason)


def _about_the_run(report: Report, plan: Plan, labels: Mapping[str, str]) -> Iterator[Finding]:
    """Yield findings if the report is incomplete or its settings, stamps or suites differ from those here."""
    document = report.document
    if not report.complete or document["stamps"]["finished"] is None:
        yield _failed("report", "complete", "the run was interrupted, so rows are missing")
    expected = {name: document[name] for name in ("schema_version", "complete", *_SETTINGS)}
    expected["tool_version"] = dpaudit.__version__
    yield from _fields("report", "report", document, expected)
    yield from _fields("report", "stamps", document["stamps"], _stamps_here())
    there = {entry["suite"]: entry for entry in document["suites"]}
    for entry in plan.suites:
        label = labels.get(entry["suite"])
        if label is None:
            yield _failed(entry["suite"], "source", "differs from all sources of the report")
            continue
        if not _same_place(entry["suite"], label):
            yield _failed(label, "suite", f"its sources are in {entry['suite']}, another file")
        yield from _fields(label, "suite", there[label], entry)
    for label in there.keys() - labels.values():
        yield _failed(label, "suite", "its rows were not run again. Name it with --suite")


def _stamps_here() -> dict[str, Any]:
    return {
        "python": python_version(),
        "platform": platform_name(),
        "versions": library_versions(),
        "tool_sha256": tool_hash(),
    }


def _fields(name: str, part: str, written: Mapping[str, Any], here: Mapping[str, Any]) -> Iterator[Finding]:
    for field in _differing(part, written, here):
        shown = [str(side.get(field, "nothing"))[:80] for side in (written, here)]
        yield _failed(name, part, f"its {field} is {shown[0]} in the report, {shown[1]} here")


def _differing(part: str, written: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """Return the fields that differ or that one of the two lacks.

    They are compared as JSON text, so 1, 1.0 and true are three values.
    """
    missing = object()
    fields = (written.keys() | here.keys()) - FREE[part]
    return sorted(
        field
        for field in fields
        if missing in (written.get(field, missing), here.get(field, missing))
        or json.dumps(written[field], sort_keys=True) != json.dumps(here[field], sort_keys=True)
    )


def _about_unchecked(report: Mapping[str, Any], plan: Plan, labels: Mapping[str, str]) -> Iterator[Finding]:
    """Yield findings about uncheckable claims, of the papers of the suites here, that only one side has."""
    papers = {entry["paper"] for entry in plan.suites if entry["suite"] in labels}
    others = {entry["paper"] for entry in report["suites"] if entry["suite"] not in labels.values()}
    here = [json.dumps(item, sort_keys=True) for item in plan.unchecked if item["paper"] in papers]
    for item in report["unchecked"]:
        text = json.dumps(item, sort_keys=True)
        if text in here:
            here.remove(text)
        elif item["paper"] not in others:
            yield _failed(item["id"], "not checkable", "the suites list it differently, or not at all")
    for text in here:
        yield _failed(json.loads(text)["id"], "not checkable", "the suites list it, but the report does not")


def _about_rows(
    report: Report, plan: Plan, labels: Mapping[str, str], command: RunCommand | None
) -> Iterator[Finding]:
    """Yield findings about rows that only one side has, and about their order.

    The rows that ``-k`` left out give one finding for each suite.
    """
    named = set(labels.values())
    listed = {suite.suite for suite in report.suites}
    there = [(result.suite, result.id) for result in report.results if result.suite in named]
    here = [(labels[row.suite.file.label], row.id) for row in plan.rows if row.suite.file.label in labels]
    ours, theirs = set(here), set(there)
    select = command.select if command is not None else None
    selected = command.matches if command is not None else _every
    for _, row_id in (pair for pair in here if pair not in theirs and selected(pair[1])):
        yield _failed(row_id, "row", "the suite has this row, but the report does not")
    for label in sorted(named):
        lacking = [row_id for at, row_id in here if at == label and (at, row_id) not in theirs]
        lacking = [row_id for row_id in lacking if not selected(row_id)]
        if lacking:
            names = ", ".join(lacking[:5]) + (", ..." if len(lacking) > 5 else "")
            rows = f"{len(lacking)} of the suite's rows are missing"
            yield _failed(label, "rows", f"the report was made with -k {select!r}: {rows} ({names})")
    for _, row_id in (pair for pair in there if pair not in ours):
        yield _failed(row_id, "row", "the suite has no such row")
    for result in report.results:
        if result.suite not in listed:
            yield _failed(result.id, "row", f"the report does not list its suite, {result.suite}")
    for label in sorted(named):
        order = [pair for pair in there if pair[0] == label and pair in ours]
        if order != [pair for pair in here if pair[0] == label and pair in theirs]:
            yield _failed(label, "order", "its rows must be listed once each, in the order of the suite")


def _pairs(
    report: Report, plan: Plan, labels: Mapping[str, str]
) -> Iterator[tuple[PlannedRow, dict[str, Any]]]:
    """Yield each row of the plan that the report has, with its result as JSON: every field is compared."""
    results = {(result["suite"], result["id"]): result for result in report.document["results"]}
    for row in plan.rows:
        label = labels.get(row.suite.file.label)
        if (label, row.id) in results:
            yield row, results[str(label), row.id]


def _compared(
    row: PlannedRow, written: Mapping[str, Any], found: Mapping[str, Any], stamps: Mapping[str, Any]
) -> Finding:
    differing = _differing("result", written, found)
    if not differing:
        return Finding(row.id, True, "run again: the same evidence", "")
    verdict = f"{written['verdict']} in the report, {found['verdict']} here"
    here = _stamps_here()
    others = ", ".join(f"another {field}" for field in _differing("stamps", stamps, here))
    names = ", ".join(differing)
    return Finding(
        row.id,
        False,
        "run again",
        f"different {names} ({verdict}): {_first(differing, written, found)}"
        + (f". The report was made with {others}" if others else ""),
    )


def _every(_row_id: str) -> bool:
    return True


def _first(differing: Sequence[str], written: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    """Return the difference in the first field, with the evidence before the fields that follow from it."""
    name = next((field for field in ("evidence", "cells") if field in differing), differing[0])
    sides = ({name: side[name]} if name in side else {} for side in (written, found))
    return first_difference(*sides, name="", where=("in the report", "here"))
