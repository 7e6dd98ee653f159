"""Check a report for internal contradictions in ids, significance levels, accepted rows, suites and fields.

These checks need neither the kernel nor a program.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from dpaudit.core.errors import BrokenReportError
from dpaudit.core.row_verdicts import is_accepted
from dpaudit.core.skeletons import skeleton
from dpaudit.report.file.document import known_fields
from dpaudit.report.file.strict import require_ascii_numbers, require_clear_ids, require_readable
from dpaudit.run.commands import read_command
from dpaudit.run.plan import MAX_LEVEL
from dpaudit.verify.findings import Finding, id_of

__all__ = ["inconsistencies"]


def inconsistencies(report: Mapping[str, Any]) -> list[Finding]:
    """Return a failed finding for every contradiction between the parts of ``report``.

    ``results`` must be a list. Anything else may be missing.
    """
    results = report["results"]
    plain = [result for result in results if isinstance(result, dict)]
    return [
        *_rows(results),
        *_ids(report, results),
        *_levels(report.get("alpha"), plain),
        *_accepted(report, plain),
        *_suites(report, plain),
        *_commands(report, plain),
        *_times(report, plain),
        *_whole(report),
        *_unknown(report, plain),
    ]


def _failed(name: str, what: str, reason: str) -> Finding:
    return Finding(name, False, what, f"{reason}: the file was edited.")


def _rows(results: Sequence[Any]) -> Iterator[Finding]:
    if not results:
        yield Finding("report", False, "results", "a report must have at least one row, got none")


def _ids(report: Mapping[str, Any], results: Sequence[Any]) -> Iterator[Finding]:
    counts = Counter(id_of(result) for result in results)
    for name in sorted(name for name, count in counts.items() if count > 1):
        yield Finding(name, False, "id", "an id must be unique in a report, got this id twice")
    try:
        require_clear_ids(result["id"] for result in results if isinstance(result, dict) and "id" in result)
        rest = {name: value for name, value in report.items() if name != "results"}
        require_ascii_numbers(rest)
        require_readable(rest)
    except BrokenReportError as error:
        yield Finding("report", False, "reading", str(error))


def _levels(level: Any, results: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """Check that the significance levels of the rows are shares of the level of the run.

    None is above it, and their sum is at most it. The level of the run is at most ``MAX_LEVEL``.
    """
    shares: list[Any] = [result.get("alpha") for result in results]
    if not all(isinstance(share, int | float) for share in (level, *shares)):
        return  # a report without levels, or a report that does not fit the schema
    if not 0 < level <= MAX_LEVEL:
        yield _failed(
            "report",
            "significance level",
            f"the level of the run must be above 0 and at most {MAX_LEVEL}, got {level:g}",
        )
    for result, share in zip(results, shares, strict=True):
        if not 0 < share <= level * (1 + 1e-9):
            yield _failed(
                id_of(result),
                "significance level",
                f"it must be above 0 and at most the level of the run, {level:g}, got {share:g}",
            )
    total = math.fsum(shares)
    if total > level * (1 + 1e-9):
        yield _failed(
            "report",
            "significance level",
            f"the levels of the rows must sum to at most the level of the run, {level:g}, got {total:g}",
        )


def _accepted(report: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    for result in results:
        if result.keys() >= {"accepted", "verdict", "expect", "kind", "strength"}:
            wanted = is_accepted(result, require=report.get("require"), accept=report.get("accept"))
            if result["accepted"] is not wanted:
                yield _failed(
                    id_of(result),
                    "accepted",
                    f"accepted must be {wanted} if --require is {report.get('require')} and --accept is "
                    f"{report.get('accept')}",
                )


def _suites(report: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """Check that rows and uncheckable claims belong to suites that the report lists."""
    if not isinstance(report.get("suites"), list):
        return
    papers = {suite["suite"]: suite["paper"] for suite in report["suites"]}
    if len({skeleton(str(label)) for label in papers}) < len(report["suites"]):
        yield _failed("report", "suites", "suites must have names that are distinct and look distinct")
    for result in results:
        label = result.get("suite")
        if label not in papers:
            yield _failed(id_of(result), "row", f"the report does not list its suite, {label}")
        elif result.get("paper") != papers[label]:
            yield _failed(id_of(result), "row", f"its paper must be that of its suite, {papers[label]!r}")
    for item in report.get("unchecked", []):
        if item["paper"] not in papers.values():
            yield _failed(item["id"], "row", f"the report does not list its paper, {item['paper']}")


def _commands(report: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """Check that commands, which a reader may paste, are exactly those of this run and its rows."""
    stamps, suites = report.get("stamps"), report.get("suites")
    if not isinstance(stamps, Mapping) or not isinstance(stamps.get("command"), str):
        return
    try:
        command = read_command(stamps["command"])
    except ValueError as error:
        yield _failed("report", "command", f"it cannot be read: {error}")
        return
    for name in ("profile", "seed", "alpha", "require"):
        value = getattr(command, name)
        same = name not in report or (value == report[name] and type(value) is type(report[name]))
        if not same:  # 3 is not 3.0
            reason = f"its {name} is {value!r}, but the report has {report[name]!r}"
            yield _failed("report", "command", reason)
    listed = [*suites, *report.get("broken", [])] if isinstance(suites, list) else []
    for stranger in command.strangers(str(entry["suite"]) for entry in listed)[:5]:
        yield _failed("report", "command", f"its paths must name the suites of the report, got {stranger!a}")
    selected = command.matches
    for result in results:
        row_id = str(result.get("id"))
        if not selected(row_id):
            reason = f"the report's command, with -k {command.select!r}, does not select this row"
            yield _failed(row_id[:200], "row", reason)
        wanted = command.of_row(row_id).text
        if result.get("reproduce", wanted) != wanted:
            yield _failed(row_id[:200], "reproduce", f"it must be {wanted}")


def _times(report: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """Check that times have the form of times, which is all that can be checked about them."""
    stamps = report.get("stamps")
    for name, value in stamps.items() if isinstance(stamps, Mapping) else ():
        if name in ("started", "finished") and value is not None and not _is_time(value):
            yield _failed(
                "report", "stamps", f"{name} must be a time in UTC (ISO 8601), got {str(value)[:40]!a}"
            )
    for result in results:
        seconds = result.get("seconds", 0)
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < math.inf:
            yield _failed(
                id_of(result), "seconds", f"it must be a finite number >= 0, got {str(seconds)[:40]!a}"
            )


def _is_time(value: object) -> bool:
    try:
        return isinstance(value, str) and datetime.fromisoformat(value).isoformat(timespec="seconds") == value
    except ValueError:
        return False


def _whole(report: Mapping[str, Any]) -> Iterator[Finding]:
    stamps = report.get("stamps")
    finished = stamps.get("finished") is not None if isinstance(stamps, Mapping) else None
    if "complete" in report and finished is not None and report["complete"] is not finished:
        yield _failed("report", "complete", "a report must be complete if and only if its run was finished")


def _unknown(report: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """Refuse fields that dpaudit does not write, because nothing checks them and a page may show them."""
    stamps = report.get("stamps")
    parts: list[tuple[str, str, Any]] = [("report", "", report), ("report", "stamps", stamps)]
    parts += [("report", "suite", suite) for suite in report.get("suites", [])]
    parts += [("report", "unchecked", item) for item in report.get("unchecked", [])]
    parts += [(id_of(result), "result", result) for result in results]
    for name, part, data in parts:
        unknown = data.keys() - known_fields(part) if isinstance(data, Mapping) else ()
        if unknown:
            yield _failed(
                name, "fields", f"dpaudit does not write the field {sorted(map(str, unknown))[0][:60]!a} here"
            )
