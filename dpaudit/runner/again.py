"""Run the rows of a report again and hold what comes out against the report.

A report file shows laws, values and rule trees; that these are the program's own only the program can show.
With the same source (by hash), seed, profile and error level a row has the same evidence, whatever the number
of workers, so every difference is a finding. Other versions of the numeric libraries or another platform may
change the last bits of floats: a finding about a difference names them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dpaudit.certificates.findings import Finding
from dpaudit.errors import BrokenReportError
from dpaudit.runner.engine import execute
from dpaudit.runner.plan import PlannedRow, Settings, plan_run
from dpaudit.runner.process import Pool
from dpaudit.runner.stamps import library_versions, platform_name, tool_hash

__all__ = ["compare_with_report"]

#: What a row must reproduce: what it is about, what was found, and what a reader is shown of it.
COMPARED = (
    *("title", "kind", "source", "view", "claim", "expect", "verdict", "strength"),
    *("lower_exact", "upper_exact", "evidence", "obstacles", "reasons", "samples", "notes", "plots"),
)


def compare_with_report(
    report: Mapping[str, Any], paths: Sequence[str], *, jobs: int, pool: Pool
) -> Iterator[Finding]:
    """One finding a row of the report that belongs to a suite that ``paths`` name, as it is finished.

    A suite of the report that ``paths`` do not name is left alone. Raises ``InvalidParameterError`` for paths
    that name no suite, ``BrokenReportError`` where no suite is one of the report's.
    """
    settings = Settings(profile=report["profile"], alpha=report["alpha"], seed=report["seed"], jobs=jobs)
    plan = plan_run(paths, settings, pool)
    hashes = {entry["suite"]: entry["sha256"] for entry in plan.suites}
    written = {entry["sha256"]: entry["suite"] for entry in report["suites"]}
    known = {label for label, sha256 in hashes.items() if sha256 in written}
    if not known:
        raise BrokenReportError(
            f"a suite must be one that the report was made from, got {', '.join(hashes)} with other sources "
            "than any of them; check out the commit that the report names, or run the audit again."
        )
    for label in sorted(hashes.keys() - known):
        yield Finding(label, False, "source", "differs from all sources that the report was made from")
    results = {(result["suite"], result["id"]): result for result in report["results"]}
    rows, expected = [], {}
    for row in plan.rows:
        label = row.suite.file.label
        result = results.pop((written.get(hashes[label], label), row.id), None)
        if label in known and result is not None:
            rows.append(replace(row, alpha=result["alpha"]))  # its share of that run, whatever else ran then
            expected[row.key] = result
    named = {written[hashes[label]] for label in known}
    for label, row_id in results:
        if label in named:
            yield Finding(row_id, False, "row", "the suite has no such row")
        elif label not in written.values():
            yield Finding(row_id, False, "row", f"its suite, {label}, is none that the report lists")
    for row, found in execute(rows, settings, pool):
        yield _compared(row, expected[row.key], found, report["stamps"])


def _compared(
    row: PlannedRow, written: Mapping[str, Any], found: Mapping[str, Any], stamps: Mapping[str, Any]
) -> Finding:
    differing = [name for name in COMPARED if written[name] != found[name]]
    if not differing:
        return Finding(row.id, True, "run again: the same evidence", "")
    verdict = f"{written['verdict']} in the report, {found['verdict']} here"
    others = _differences(stamps)
    return Finding(
        row.id,
        False,
        "run again",
        f"another {', '.join(differing)} ({verdict})" + (f"; {others}" if others else ""),
    )


def _differences(stamps: Mapping[str, Any]) -> str:
    """In which versions and machine this run differs from the report's."""
    here: dict[str, Any] = {"platform": platform_name(), "dpaudit": tool_hash()[:12], **library_versions()}
    there: dict[str, Any] = {
        "platform": stamps["platform"],
        "dpaudit": str(stamps["tool_sha256"])[:12],
        **stamps["versions"],
    }
    return ", ".join(
        f"{name} {there.get(name)} in the report, {value} here"
        for name, value in here.items()
        if value != there.get(name)
    )
