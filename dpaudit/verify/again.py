"""Run the rows of a report again and hold all that the report says against what comes out.

A report file shows distributions, values and rule trees; that these are the program's own only the program
can show.
With the same source (by hash), seed, profile and error level a row has the same evidence, whatever the number
of workers, so every difference is a finding. Other versions of the numeric libraries or another platform may
change the last bits of floats: they are findings of their own, and a finding about a difference names them.

Every field of the report is compared, unless it is listed in ``FREE``: what a run took, when it took place,
and how its output files were called.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

import dpaudit
from dpaudit.core.errors import BrokenReportError
from dpaudit.run.commands import RunCommand, read_command
from dpaudit.run.engine import execute
from dpaudit.run.plan import Plan, PlannedRow, Settings, plan_run
from dpaudit.run.process import Pool
from dpaudit.run.stamps import library_versions, platform_name, python_version, tool_hash
from dpaudit.verify.findings import Finding, first_difference

__all__ = ["FREE", "compare_with_report"]

#: Fields that another run of the same rows may have otherwise, by the part of the report that they are in.
FREE: dict[str, frozenset[str]] = {
    "report": frozenset({"results", "suites", "unchecked", "stamps"}),  # compared one by one
    "stamps": frozenset({"started", "finished", "command"}),  # when; and the command is compared by its parts
    "suite": frozenset({"suite"}),  # where the file lay, as seen from where the run was started
    "result": frozenset({"seconds"}),
}

#: The settings of a run that its report repeats.
_SETTINGS = ("profile", "seed", "alpha", "require", "accept")


def compare_with_report(
    report: Mapping[str, Any],
    paths: Sequence[str],
    *,
    jobs: int,
    pool: Pool,
) -> Iterator[Finding]:
    """One finding for each row of the suites that ``paths`` name, as it is finished, and one for each field
    besides that is another here; the report holds if every finding is ``ok``.

    Raises ``InvalidParameterError`` for paths that name no suite, ``BrokenReportError`` where no suite is one
    of the report's.
    """
    command = _command_of(report)
    settings = Settings(**{name: report[name] for name in _SETTINGS}, jobs=jobs)
    plan = plan_run(paths, settings, pool)
    labels = _labels(report["suites"], plan)
    if not labels:
        names = ", ".join(entry["suite"] for entry in plan.suites)
        raise BrokenReportError(
            f"a suite must be one that the report was made from, got {names} with other sources than any of "
            "them; check out the commit that the report names, or run the audit again."
        )
    whole = len(labels) == len(plan.suites) == len(report["suites"])
    yield from _about_the_run(report, plan, labels)
    yield from _about_unchecked(report, plan, labels)
    yield from _about_rows(report, plan, labels, command)
    rows, expected = [], {}
    for row, result in _pairs(report, plan, labels):
        # Among other suites the row's share of the error level was another one.
        alpha = row.alpha if whole else result["alpha"]
        again = command.of_row(row.id).text if command is not None else result["reproduce"]
        rows.append(replace(row, alpha=alpha, reproduce=again))
        expected[row.key] = result
    for row, found in execute(rows, settings, pool):
        here = {**found, "suite": labels[row.suite.file.label]}
        yield _compared(row, expected[row.key], here, report["stamps"])


def _command_of(report: Mapping[str, Any]) -> RunCommand | None:
    """The command that the report names; ``None`` if it is none, which is a finding about the file alone."""
    try:
        return read_command(report["stamps"]["command"])
    except ValueError:
        return None


def _labels(written: Sequence[Mapping[str, Any]], plan: Plan) -> dict[str, str]:
    """For each suite here that has the sources of one of the report's: its label there. The label is that of
    the same file where there are several with the same sources."""
    free = list(written)
    found: dict[str, str] = {}
    for same_place in (True, False):
        for entry in plan.suites:
            for other in free if entry["suite"] not in found else ():
                at_place = _same_place(entry["suite"], other["suite"])
                if entry["sha256"] == other["sha256"] and (at_place or not same_place):
                    found[entry["suite"]] = other["suite"]
                    free.remove(other)
                    break
    return found


def _same_place(here: str, there: str) -> bool:
    """Whether two labels may name one file, seen from two folders: one ends like the other."""
    short, long = sorted((PurePosixPath(here).parts, PurePosixPath(there).parts), key=len)
    return long[len(long) - len(short) :] == short


def _failed(name: str, what: str, reason: str) -> Finding:
    return Finding(name, False, what, reason)


def _about_the_run(report: Mapping[str, Any], plan: Plan, labels: Mapping[str, str]) -> Iterator[Finding]:
    """Whether the report is whole, and its stamps and suites are those of here."""
    if report["complete"] is not True or report["stamps"]["finished"] is None:
        yield _failed("report", "complete", "the run was interrupted: its rows are not all there")
    expected = {"schema_version": report["schema_version"], "tool_version": dpaudit.__version__}
    expected |= {"complete": report["complete"]} | {name: report[name] for name in _SETTINGS}
    yield from _fields("report", "report", report, expected)
    yield from _fields("report", "stamps", report["stamps"], _stamps_here())
    there = {entry["suite"]: entry for entry in report["suites"]}
    for entry in plan.suites:
        label = labels.get(entry["suite"])
        if label is None:
            yield _failed(entry["suite"], "source", "differs from all sources that the report was made from")
            continue
        if not _same_place(entry["suite"], label):
            yield _failed(label, "suite", f"its sources are those of {entry['suite']}, another file")
        yield from _fields(label, "suite", there[label], entry)
    for label in there.keys() - labels.values():
        yield _failed(label, "suite", "its rows were not run again; name it with --suite")


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
    """The fields that differ, or that one of the two lacks. Compared as JSON text: 1, 1.0 and true are three
    values."""
    missing = object()
    fields = (written.keys() | here.keys()) - FREE[part]
    return sorted(
        field
        for field in fields
        if missing in (written.get(field, missing), here.get(field, missing))
        or json.dumps(written[field], sort_keys=True) != json.dumps(here[field], sort_keys=True)
    )


def _about_unchecked(report: Mapping[str, Any], plan: Plan, labels: Mapping[str, str]) -> Iterator[Finding]:
    """The claims that nothing can check, of the papers of the suites here, one by one."""
    papers = {entry["paper"] for entry in plan.suites if entry["suite"] in labels}
    others = {entry["paper"] for entry in report["suites"] if entry["suite"] not in labels.values()}
    here = [json.dumps(item, sort_keys=True) for item in plan.unchecked if item["paper"] in papers]
    for item in report["unchecked"]:
        text = json.dumps(item, sort_keys=True)
        if text in here:
            here.remove(text)
        elif item["paper"] not in others:
            yield _failed(item["id"], "not checkable", "the suites list it otherwise, or not at all")
    for text in here:
        yield _failed(json.loads(text)["id"], "not checkable", "the suites list it, the report does not")


def _about_rows(
    report: Mapping[str, Any], plan: Plan, labels: Mapping[str, str], command: RunCommand | None
) -> Iterator[Finding]:
    """Rows that only one side has, and their order. The rows that ``-k`` left out are one finding a suite."""
    named = set(labels.values())
    listed = {entry["suite"] for entry in report["suites"]}
    there = [(result["suite"], result["id"]) for result in report["results"] if result["suite"] in named]
    here = [(labels[row.suite.file.label], row.id) for row in plan.rows if row.suite.file.label in labels]
    ours, theirs = set(here), set(there)
    select = command.select if command is not None else None
    selected = command.matches if command is not None else _every
    for _, row_id in (pair for pair in here if pair not in theirs and selected(pair[1])):
        yield _failed(row_id, "row", "the suite has this row, the report does not")
    for label in sorted(named):
        lacking = [row_id for at, row_id in here if at == label and (at, row_id) not in theirs]
        lacking = [row_id for row_id in lacking if not selected(row_id)]
        if lacking:
            names = ", ".join(lacking[:5]) + (", ..." if len(lacking) > 5 else "")
            rows = f"{len(lacking)} of the suite's rows are missing"
            yield _failed(label, "rows", f"the report was made with -k {select!r}: {rows} ({names})")
    for _, row_id in (pair for pair in there if pair not in ours):
        yield _failed(row_id, "row", "the suite has no such row")
    for result in report["results"]:
        if result["suite"] not in listed:
            reason = f"its suite, {result['suite']}, is none that the report lists"
            yield _failed(result["id"], "row", reason)
    for label in sorted(named):
        order = [pair for pair in there if pair[0] == label and pair in ours]
        if order != [pair for pair in here if pair[0] == label and pair in theirs]:
            yield _failed(label, "order", "its rows must stand once each, in the order of the suite")


def _pairs(
    report: Mapping[str, Any], plan: Plan, labels: Mapping[str, str]
) -> Iterator[tuple[PlannedRow, dict[str, Any]]]:
    results = {(result["suite"], result["id"]): result for result in report["results"]}
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
    return Finding(
        row.id,
        False,
        "run again",
        f"another {', '.join(differing)} ({verdict}): {_first(differing, written, found)}"
        + (f"; the report was made with {others}" if others else ""),
    )


def _every(_row_id: str) -> bool:
    return True


def _first(differing: Sequence[str], written: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    """Where the first of the fields differs, the evidence before what follows from it."""
    name = next((field for field in ("evidence", "cells") if field in differing), differing[0])
    sides = ({name: side[name]} if name in side else {} for side in (written, found))
    return first_difference(*sides, name="", where=("in the report", "here"))
