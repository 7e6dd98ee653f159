"""Verify a report from the file alone: its results one by one within limits, then its consistency.

The file is untrusted. Nothing that it names is imported or executed, and every error about a part becomes a
finding about that part.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from dpaudit.core.errors import BrokenReportError
from dpaudit.verify.bounded import BoundedChecker
from dpaudit.verify.consistency import inconsistencies
from dpaudit.verify.findings import Finding, id_of
from dpaudit.verify.result import verify_result

__all__ = ["SECONDS", "Progress", "verify_report"]

MAX_RESULTS = 100_000

#: The default time limit in seconds for all results of a report.
SECONDS = 3600.0

#: Called with the number of checked results, the number of all results, and the id of the last one.
Progress = Callable[[int, int, str], None]


def verify_report(
    report: dict[str, Any],
    *,
    progress: Progress | None = None,
    seconds: float = SECONDS,
    seconds_per_result: float | None = 600.0,
    megabytes: int = 6144,
) -> list[Finding]:
    """Check every result of a JSON report. The report is confirmed if every finding is ``ok``.

    Parameters
    ----------
    report : dict
        The report.
    progress : callable, optional
        Called after each result (``Progress``).
    seconds : float
        The time limit for all results (3600).
    seconds_per_result : float or None
        The time limit for one result, which is checked in a child process (600). With ``None``, all results
        are checked in this process without limits. Use this only for your own reports.
    megabytes : int
        The limit on the address space of the child (6144).

    Returns
    -------
    list of Finding
        The findings about every result and about the file.

    Raises
    ------
    BrokenReportError
        There is no list of results to check.
    """
    results = report.get("results") if isinstance(report, dict) else None
    if not isinstance(results, list) or len(results) > MAX_RESULTS:
        raise BrokenReportError(
            f"a report must have a list of at most {MAX_RESULTS} results.", code="E-REPORT-RESULTS"
        )
    findings: list[Finding] = []
    with ExitStack() as stack:
        check: Callable[[Any], list[Finding]] = verify_result
        if seconds_per_result is not None:
            checker = BoundedChecker(seconds=seconds_per_result, megabytes=megabytes, total=seconds)
            check = stack.enter_context(checker).check
        for number, result in enumerate(results, start=1):
            findings.extend(check(result))
            if progress is not None:
                progress(number, len(results), id_of(result))
    return findings + inconsistencies(report)
