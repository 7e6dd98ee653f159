"""A whole run: take what the journal already has, run the rest, and put the report together.

Whatever ends the run early (Ctrl-C, a signal), the report holds the results that were finished, says that it
is partial, and the journal has them all for ``--resume``.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dpaudit
from dpaudit.core.row_verdicts import as_expected, is_accepted
from dpaudit.report.file.document import SCHEMA_VERSION, Entry, Journal, journal_path, read_entries
from dpaudit.run.engine import execute, is_result_of
from dpaudit.run.plan import Plan, PlannedRow, Settings
from dpaudit.run.reading import has_changed
from dpaudit.run.remote import Asking
from dpaudit.run.stamps import library_versions, now, platform_name, tool_hash

__all__ = ["Session"]


class Session:
    """One run of a plan.

    ``remaining`` are the rows that are still to run, ``resumes`` is whether there is a journal to go on from;
    ``run`` runs them, ``report`` may be called at any time.
    """

    def __init__(
        self,
        plan: Plan,
        settings: Settings,
        *,
        report_path: Path,
        resume: bool,
        command: str,
        confirms: Callable[[dict[str, Any]], bool],
    ) -> None:
        """Read the journal beside ``report_path`` if ``resume``; ``command`` is the command line, for the
        stamps. ``confirms`` is whether everything in a result follows from its evidence: one of the journal
        counts only then.
        """
        self._plan = plan
        self._settings = settings
        self._journal = journal_path(report_path)
        self._resume = resume
        self._command = command
        self._confirms = confirms
        self._started = now()
        self._finished: str | None = None
        self.resumes = resume and self._journal.exists()
        self._results = self._done_before() if resume else {}
        self.remaining = [row for row in plan.rows if row.key not in self._results]

    def _done_before(self) -> dict[str, dict[str, Any]]:
        """Results of rows whose key is in the journal.

        A crashed row may have been the machine's fault, and runs again.
        """
        found = read_entries(self._journal)
        return {
            row.key: self._current(row, found[row.key].result)
            for row in self._plan.rows
            if row.key in found and self._still_holds(row, found[row.key])
        }

    def _still_holds(self, row: PlannedRow, entry: Entry) -> bool:
        """Whether a result is this row's, the files read for it are as they were, and ``dpaudit verify``
        would confirm all of it: the journal is a file that anything may have written."""
        result = entry.result
        if result["verdict"] == "crashed" or not is_result_of(row, result):
            return False
        if has_changed(entry.read, row.suite.file.root):
            return False
        return self._confirms(result)

    def _current(self, row: PlannedRow, result: dict[str, Any]) -> dict[str, Any]:
        """A journalled result with the fields that depend on this command line and not on the row."""
        accepted = is_accepted(result, require=self._settings.require, accept=self._settings.accept)
        judged = {"as_expected": as_expected(result), "accepted": accepted}
        return result | judged | {"suite": row.suite.file.label, "reproduce": row.reproduce}

    @property
    def finished(self) -> bool:
        """Whether all rows are done."""
        return self._finished is not None

    def run(
        self,
        pool: Asking,
        *,
        show: Callable[[dict[str, Any]], None],
        warn: Callable[[str], None],
        started: Callable[[str], None] | None = None,
        fail_fast: bool = False,
    ) -> None:
        """Run the remaining rows; each result is on disk before ``show`` gets it. ``started`` gets the id of
        each row as it begins, from another thread. With ``fail_fast`` the first row that is not accepted ends
        the run, and the report is partial where rows are left.

        Where the journal cannot be written (a full disk) the run goes on and ``warn`` gets one message.
        Raises ``InvalidParameterError`` where another run writes the journal; a ``KeyboardInterrupt`` passes
        through.
        """
        lost, left = False, len(self.remaining)
        read: dict[str, dict[str, str]] = {}
        with Journal(self._journal, keep=self._resume) as journal:
            for row, result in execute(self.remaining, self._settings, pool, started=started, read=read):
                self._results[row.key] = result
                try:
                    journal.append(row.key, result, read=read.pop(row.key, {}))
                except OSError as error:
                    if not lost:
                        warn(
                            f"the journal {self._journal} cannot be written ({error.strerror}): the run goes "
                            "on, but --resume may not find what comes from here on."
                        )
                    lost = True
                show(result)
                left -= 1
                if fail_fast and left and not result["accepted"]:
                    return
        self._finished = now()

    def report(self) -> dict[str, Any]:
        """The report on what is finished, results in the order of the suites."""
        return {
            "schema_version": SCHEMA_VERSION,
            "tool_version": dpaudit.__version__,
            "profile": self._settings.profile,
            "seed": self._settings.seed,
            "alpha": self._settings.alpha,
            "complete": self._finished is not None,
            "require": self._settings.require,
            "accept": self._settings.accept,
            "stamps": {
                "started": self._started,
                "finished": self._finished,
                "command": self._command,
                "python": platform.python_version(),
                "platform": platform_name(),
                "versions": library_versions(),
                "tool_sha256": tool_hash(),
            },
            "suites": self._plan.suites,
            "unchecked": self._plan.unchecked,
            **({"broken": _broken(self._plan)} if self._plan.broken else {}),
            "results": [self._results[row.key] for row in self._plan.rows if row.key in self._results],
        }


def _broken(plan: Plan) -> list[dict[str, str]]:
    return [{"suite": suite.file.label, "reason": suite.reason} for suite in plan.broken]
