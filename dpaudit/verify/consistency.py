"""What a report says of itself, held against itself: ids, error levels, what was accepted, the suites that
rows name, unknown fields. None of it needs the kernel or a program.
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
    """A failed finding for everything in which the parts of ``report`` contradict each other. Its
    ``results`` is a list; anything else may be missing."""
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
    return Finding(name, False, what, f"{reason}; the file was edited.")


def _rows(results: Sequence[Any]) -> Iterator[Finding]:
    if not results:
        yield Finding("report", False, "results", "a report must have a row, got none; run the audit again")


def _ids(report: Mapping[str, Any], results: Sequence[Any]) -> Iterator[Finding]:
    counts = Counter(id_of(result) for result in results)
    for name in sorted(name for name, count in counts.items() if count > 1):
        yield Finding(name, False, "id", "an id must be used once in a report, it is used again")
    try:
        require_clear_ids(result["id"] for result in results if isinstance(result, dict) and "id" in result)
        rest = {name: value for name, value in report.items() if name != "results"}
        require_ascii_numbers(rest)
        require_readable(rest)
    except BrokenReportError as error:
        yield Finding("report", False, "reading", str(error))


def _levels(level: Any, results: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """The error levels of the rows are shares of that of the run: none is above it, and together they are at
    most the whole. A run that errs more often than not says nothing."""
    shares: list[Any] = [result.get("alpha") for result in results]
    if not all(isinstance(share, int | float) for share in (level, *shares)):
        return  # a report without levels, or one that does not fit the schema
    if not 0 < level <= MAX_LEVEL:
        yield _failed(
            "report", "error level", f"that of the run must be above 0 and at most {MAX_LEVEL}, got {level:g}"
        )
    for result, share in zip(results, shares, strict=True):
        if not 0 < share <= level * (1 + 1e-9):
            yield _failed(
                id_of(result),
                "error level",
                f"it must be above 0 and at most {level:g}, that of the run, got {share:g}",
            )
    total = math.fsum(shares)
    if total > level * (1 + 1e-9):
        yield _failed(
            "report",
            "error level",
            f"the rows' error levels must add up to at most {level:g}, that of the run, they add up to "
            f"{total:g}",
        )


def _accepted(report: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    for result in results:
        if result.keys() >= {"accepted", "verdict", "expect", "kind", "strength"}:
            wanted = is_accepted(result, require=report.get("require"), accept=report.get("accept"))
            if result["accepted"] is not wanted:
                yield _failed(
                    id_of(result),
                    "accepted",
                    f"accepted must be {wanted} where --require is {report.get('require')} and --accept is "
                    f"{report.get('accept')}",
                )


def _suites(report: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """Rows, and claims that nothing can check, belong to suites that the report lists."""
    if not isinstance(report.get("suites"), list):
        return
    papers = {suite["suite"]: suite["paper"] for suite in report["suites"]}
    if len({skeleton(str(label)) for label in papers}) < len(report["suites"]):
        yield _failed("report", "suites", "a suite must be listed once, by a name that looks like no other")
    for result in results:
        label = result.get("suite")
        if label not in papers:
            yield _failed(id_of(result), "row", f"its suite, {label}, is none that the report lists")
        elif result.get("paper") != papers[label]:
            yield _failed(id_of(result), "row", f"its paper must be that of its suite, {papers[label]!r}")
    for item in report.get("unchecked", []):
        if item["paper"] not in papers.values():
            yield _failed(item["id"], "row", f"its paper, {item['paper']}, is none that the report lists")


def _commands(report: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """A reader may paste a command: each must be the one that dpaudit writes for this run, or for the row."""
    stamps, suites = report.get("stamps"), report.get("suites")
    if not isinstance(stamps, Mapping) or not isinstance(stamps.get("command"), str):
        return
    try:
        command = read_command(stamps["command"])
    except ValueError as error:
        yield _failed("report", "command", f"it cannot be read: {error}")
        return
    for name in ("profile", "seed", "alpha", "require"):
        said = getattr(command, name)
        if name in report and (said != report[name] or type(said) is not type(report[name])):  # 3 is not 3.0
            said = f"its {name} is {said!r}, that of the report {report[name]!r}"
            yield _failed("report", "command", said)
    listed = [*suites, *report.get("broken", [])] if isinstance(suites, list) else []
    for stranger in command.strangers(str(entry["suite"]) for entry in listed)[:5]:
        yield _failed("report", "command", f"its paths must name the suites of the report, got {stranger!a}")
    selected = command.matches
    for result in results:
        row_id = str(result.get("id"))
        if not selected(row_id):
            reason = f"the report's command selects -k {command.select!r}, which it is not"
            yield _failed(row_id[:200], "row", reason)
        wanted = command.of_row(row_id).text
        if result.get("reproduce", wanted) != wanted:
            yield _failed(row_id[:200], "reproduce", f"it must be {wanted}")


def _times(report: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """Times are compared with nothing; that they are times is all that can be asked."""
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
                id_of(result), "seconds", f"they must be a number from 0 on, got {str(seconds)[:40]!a}"
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
        yield _failed("report", "complete", "a report is complete where its run was finished, and only there")


def _unknown(report: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """Fields that dpaudit does not write are checked by nothing, and a page may show them."""
    stamps = report.get("stamps")
    parts: list[tuple[str, str, Any]] = [("report", "", report), ("report", "stamps", stamps)]
    parts += [("report", "suite", suite) for suite in report.get("suites", [])]
    parts += [("report", "unchecked", item) for item in report.get("unchecked", [])]
    parts += [(id_of(result), "result", result) for result in results]
    for name, part, data in parts:
        unknown = data.keys() - known_fields(part) if isinstance(data, Mapping) else ()
        if unknown:
            yield _failed(
                name, "fields", f"dpaudit writes no field {sorted(map(str, unknown))[0][:60]!a} there"
            )
