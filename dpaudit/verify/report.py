"""Verify a report from the file alone: its results one by one within limits, then its consistency.

The file is untrusted. Nothing that it names is imported or executed, and every error about a part becomes a
finding about that part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from dpaudit.core.errors import BrokenReportError
from dpaudit.report.file.report import Report
from dpaudit.verify.bounded import BoundedChecker
from dpaudit.verify.consistency import inconsistencies
from dpaudit.verify.findings import Finding, id_of
from dpaudit.verify.result import verify_result

__all__ = ["SECONDS", "Progress", "verify_report", "verify_results"]

MAX_RESULTS = 100_000

#: The default time limit in seconds for all results of a report.
SECONDS = 3600.0

#: Called with the number of checked results, the number of all results, and the id of the last one.
Progress = Callable[[int, int, str], None]


def verify_report(
    report: Report, *, progress: Progress | None = None, seconds: float = SECONDS
) -> list[Finding]:
    """Check every result of a report within limits, and the consistency of its parts.

    The report is confirmed if every finding is ``ok``. ``progress`` and ``seconds`` are those of
    ``verify_results``.
    """
    found = verify_results(report.document["results"], progress=progress, seconds=seconds)
    return found + inconsistencies(report)


def verify_results(
    results: Sequence[Any],
    *,
    progress: Progress | None = None,
    seconds: float = SECONDS,
    seconds_per_result: float | None = 600.0,
    megabytes: int = 6144,
) -> list[Finding]:
    """Check the results of a report one by one. They are confirmed if every finding is ``ok``.

    Parameters
    ----------
    results : sequence
        The results as JSON, as the file has them. Each may be anything.
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
        The findings about every result.

    Raises
    ------
    BrokenReportError
        There are too many results.
    """
    if len(results) > MAX_RESULTS:
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
    return findings
