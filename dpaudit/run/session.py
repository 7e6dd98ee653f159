"""Run a plan: take results from the journal, run the remaining rows, and make the report.

If Ctrl-C or a signal ends the run early, the report is marked as partial and holds the finished results, and
the journal has all of them for ``--resume``.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dpaudit
from dpaudit.core.row_verdicts import as_expected, is_accepted
from dpaudit.report.file.document import SCHEMA_VERSION, Entry, Journal, journal_path, read_entries
from dpaudit.report.file.parts import Result
from dpaudit.run.engine import execute, is_result_of
from dpaudit.run.plan import Plan, PlannedRow, Settings
from dpaudit.run.reading import has_changed
from dpaudit.run.remote import Executor
from dpaudit.run.stamps import library_versions, now, platform_name, tool_hash

__all__ = ["Session"]


class Session:
    """A run of a plan.

    ``remaining`` holds the rows that are still to run, and ``resumes`` is whether there is a journal to
    continue. ``run`` runs these rows. ``report`` may be called at any time.
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
        """Read the journal next to ``report_path`` if ``resume`` is set.

        ``command`` is the command line for the stamps. ``confirms`` tests whether everything in a result
        follows from its evidence. A result of the journal is used only if it does.
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
        """Return the results of rows whose key is in the journal.

        Crashed rows are left out and run again, because the machine may have caused the crash.
        """
        found = read_entries(self._journal)
        return {
            row.key: self._current(row, found[row.key].result)
            for row in self._plan.rows
            if row.key in found and self._still_holds(row, found[row.key])
        }

    def _still_holds(self, row: PlannedRow, entry: Entry) -> bool:
        """Return whether a result of the journal can be used for this row.

        It must belong to this row, and the files read for it must be unchanged. ``dpaudit verify`` must
        confirm it, because any program may have written the journal.
        """
        result = entry.result
        if result["verdict"] == "crashed" or not is_result_of(row, result):
            return False
        if has_changed(entry.read, row.suite.file.root):
            return False
        return self._confirms(result)

    def _current(self, row: PlannedRow, result: dict[str, Any]) -> dict[str, Any]:
        """Return a result of the journal with the fields that depend on this command line updated."""
        accepted = is_accepted(result, require=self._settings.require, accept=self._settings.accept)
        judged = {"as_expected": as_expected(result), "accepted": accepted}
        return result | judged | {"suite": row.suite.file.label, "reproduce": row.reproduce}

    @property
    def finished(self) -> bool:
        """Return whether all rows are done."""
        return self._finished is not None

    def run(
        self,
        pool: Executor,
        *,
        show: Callable[[Result], None],
        warn: Callable[[str], None],
        started: Callable[[str], None] | None = None,
        fail_fast: bool = False,
    ) -> None:
        """Run the remaining rows. Each result is on disk before ``show`` is called with it.

        ``started`` is called with the id of each row when it begins, from another thread. With ``fail_fast``
        the first row that is not accepted ends the run, and the report is partial if rows are left.

        If the journal cannot be written (a full disk), the run continues and ``warn`` is called with one
        message. Raises ``InvalidParameterError`` if another run writes the journal. A ``KeyboardInterrupt``
        is not caught.
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
                            f"the journal {self._journal} cannot be written ({error.strerror}). The run "
                            "continues, but --resume may not find the results from now on."
                        )
                    lost = True
                show(Result.from_json(result))
                left -= 1
                if fail_fast and left and not result["accepted"]:
                    return
        self._finished = now()

    def report(self) -> dict[str, Any]:
        """Return the report on the finished rows, with results in the order of the suites."""
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
