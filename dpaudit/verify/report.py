"""Verifying a report from the file alone: its results one by one, within limits, then what it says of itself.

The file is untrusted. Nothing that it names is imported or executed, and whatever goes wrong with one piece
becomes a finding about that piece.
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

#: Seconds for all results of a report together, where nothing else is said.
SECONDS = 3600.0

#: Called with (results done, results in all, id of the last one).
Progress = Callable[[int, int, str], None]


def verify_report(
    report: dict[str, Any],
    *,
    progress: Progress | None = None,
    seconds: float = SECONDS,
    seconds_per_result: float | None = 600.0,
    megabytes: int = 6144,
) -> list[Finding]:
    """Check every result of a JSON report; the report holds if every finding is ``ok``.

    Each result is checked in a child process, within ``seconds_per_result``, all of them within ``seconds``,
    and ``megabytes`` of address space; ``seconds_per_result=None`` checks in this process without limits, for
    reports of one's own. Raises ``BrokenReportError`` if there is no list of results to check.
    """
    results = report.get("results") if isinstance(report, dict) else None
    if not isinstance(results, list) or len(results) > MAX_RESULTS:
        raise BrokenReportError(
            f"a report must have a list of at most {MAX_RESULTS} results; write it with dpaudit run."
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
