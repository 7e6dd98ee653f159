"""Check a report for internal contradictions in significance levels, accepted rows, suites and fields.

These checks need neither the kernel nor a program. ``Report.read`` has checked the form of the file, its ids
and its numbers before.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime

from dpaudit.core.errors import BrokenReportError
from dpaudit.core.row_verdicts import is_accepted
from dpaudit.core.skeletons import skeleton
from dpaudit.report.file.document import known_fields
from dpaudit.report.file.report import Report
from dpaudit.report.file.strict import require_readable
from dpaudit.run.commands import read_command
from dpaudit.run.plan import MAX_LEVEL
from dpaudit.verify.findings import Finding, id_of

__all__ = ["inconsistencies"]


def inconsistencies(report: Report) -> list[Finding]:
    """Return a failed finding for every contradiction between the parts of ``report``."""
    return [
        *_readable(report),
        *_levels(report),
        *_accepted(report),
        *_suites(report),
        *_commands(report),
        *_times(report),
        *_unknown(report),
    ]


def _failed(name: str, what: str, reason: str) -> Finding:
    return Finding(name, False, what, f"{reason}: the file was edited.")


def _readable(report: Report) -> Iterator[Finding]:
    """Check that there are rows, and the texts outside of rows. ``verify_result`` checks those of a row."""
    if not report.results:
        yield Finding("report", False, "results", "a report must have at least one row, got none")
    try:
        require_readable({name: value for name, value in report.document.items() if name != "results"})
    except BrokenReportError as error:
        yield Finding("report", False, "reading", str(error))


def _levels(report: Report) -> Iterator[Finding]:
    """Check that the significance levels of the rows are shares of the level of the run.

    None is above it, and their sum is at most it. The level of the run is at most ``MAX_LEVEL``.
    """
    level = report.alpha
    if not 0 < level <= MAX_LEVEL:
        yield _failed(
            "report",
            "significance level",
            f"the level of the run must be above 0 and at most {MAX_LEVEL}, got {level:g}",
        )
    for row in report.results:
        if not 0 < row.alpha <= level * (1 + 1e-9):
            yield _failed(
                row.id,
                "significance level",
                f"it must be above 0 and at most the level of the run, {level:g}, got {row.alpha:g}",
            )
    total = math.fsum(row.alpha for row in report.results)
    if total > level * (1 + 1e-9):
        yield _failed(
            "report",
            "significance level",
            f"the levels of the rows must sum to at most the level of the run, {level:g}, got {total:g}",
        )


def _accepted(report: Report) -> Iterator[Finding]:
    for result in report.document["results"]:
        wanted = is_accepted(result, require=report.require, accept=report.accept)
        if result["accepted"] is not wanted:
            yield _failed(
                id_of(result),
                "accepted",
                f"accepted must be {wanted} if --require is {report.require} and --accept is {report.accept}",
            )


def _suites(report: Report) -> Iterator[Finding]:
    """Check that rows and uncheckable claims belong to suites that the report lists."""
    papers = {suite.suite: suite.paper for suite in report.suites}
    if len(set(map(skeleton, papers))) < len(report.suites):
        yield _failed("report", "suites", "suites must have names that are distinct and look distinct")
    for row in report.results:
        if row.suite not in papers:
            yield _failed(row.id, "row", f"the report does not list its suite, {row.suite}")
        elif row.paper != papers[row.suite]:
            yield _failed(row.id, "row", f"its paper must be that of its suite, {papers[row.suite]!r}")
    for item in report.unchecked:
        if item.paper not in papers.values():
            yield _failed(item.id, "row", f"the report does not list its paper, {item.paper}")


def _commands(report: Report) -> Iterator[Finding]:
    """Check that commands, which a reader may paste, are exactly those of this run and its rows."""
    try:
        command = read_command(report.command)
    except ValueError as error:
        yield _failed("report", "command", f"it cannot be read: {error}")
        return
    for name in ("profile", "seed", "alpha", "require"):
        value, written = getattr(command, name), getattr(report, name)
        if value != written or type(value) is not type(written):  # 3 is not 3.0
            yield _failed("report", "command", f"its {name} is {value!r}, but the report has {written!r}")
    listed = [*(suite.suite for suite in report.suites), *(suite.suite for suite in report.broken)]
    for stranger in command.strangers(listed)[:5]:
        yield _failed("report", "command", f"its paths must name the suites of the report, got {stranger!a}")
    selected = command.matches
    for row in report.results:
        if not selected(row.id):
            reason = f"the report's command, with -k {command.select!r}, does not select this row"
            yield _failed(row.id, "row", reason)
        wanted = command.of_row(row.id).text
        if row.reproduce != wanted:
            yield _failed(row.id, "reproduce", f"it must be {wanted}")


def _times(report: Report) -> Iterator[Finding]:
    """Check the form of times, which is all that can be checked about them, and whether the run ended."""
    stamps = report.document["stamps"]
    for name in ("started", "finished"):
        if stamps[name] is not None and not _is_time(stamps[name]):
            yield _failed(
                "report", "stamps", f"{name} must be a time in UTC (ISO 8601), got {stamps[name][:40]!a}"
            )
    if report.complete is (stamps["finished"] is None):
        yield _failed("report", "complete", "a report must be complete if and only if its run was finished")


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).isoformat(timespec="seconds") == text
    except ValueError:
        return False


def _unknown(report: Report) -> Iterator[Finding]:
    """Refuse fields that dpaudit does not write, because nothing checks them and a page may show them."""
    document = report.document
    parts = [("report", "", document), ("report", "stamps", document["stamps"])]
    parts += [("report", "suite", suite) for suite in document["suites"]]
    parts += [("report", "unchecked", item) for item in document["unchecked"]]
    parts += [(id_of(result), "result", result) for result in document["results"]]
    for name, part, data in parts:
        unknown = sorted(data.keys() - known_fields(part))
        if unknown:
            yield _failed(name, "fields", f"dpaudit does not write the field {unknown[0][:60]!a} here")
