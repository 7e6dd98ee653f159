"""Collect a suite file as pytest tests, one per row, each run in a separate process as by ``dpaudit run``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from dpaudit.blackbox.words import weakest_violation
from dpaudit.core.errors import DpauditError
from dpaudit.pytest_plugin.levels import KEY, NOTE, SUMMARY, WARNING
from dpaudit.report.file.parts import Part, Result
from dpaudit.report.terminal import bounds_in_words, one_line
from dpaudit.run.engine import execute
from dpaudit.run.plan import Settings, load_suites, plan_run, require_rows
from dpaudit.run.process import Pool
from dpaudit.run.select import exactly

__all__ = ["RowTest", "SuiteTests"]

#: Prefixes of notes on recorded draws.
RECORDED = ("recorded draws", "heard")


class SuiteTests(pytest.File):
    """The rows of one suite file. They divide the suite's share of the significance level by weight."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield one test per row. A suite that does not import or has no rows is a collection error."""
        pool = Pool(1)
        try:
            (suite,) = load_suites([str(self.path)], pool)
            require_rows(suite)
        except DpauditError as error:
            raise self.CollectError(str(error)) from None
        finally:
            pool.close()
        for row in suite.rows:
            yield RowTest.from_parent(self, name=row["id"])


class _FailedRowError(Exception):
    """Error of a row that is not as expected or crashed. pytest shows its text."""


class RowTest(pytest.Item):
    """Test that passes if the verdicts of a row and its cells are as the suite expects."""

    @property
    def dpaudit_suite(self) -> str:
        """The unit that gets a share of the significance level: the path of the suite."""
        return self.path.as_posix()

    def runtest(self) -> None:
        """Run the row as ``dpaudit run FILE -k =ID`` does, at the suite's share of the significance level."""
        settings = Settings(
            alpha=self.config.stash[KEY].each, seed=self.config.getoption("--dpaudit-seed"), jobs=1
        )
        pool = Pool(1)
        try:
            plan = plan_run([str(self.path)], settings, pool, select=exactly(self.name))
            ((_, found),) = execute(plan.rows, settings, pool)
        finally:
            pool.close()
        result = Result.from_json(found)
        self.user_properties += _properties(result)
        if not result.accepted:
            raise _FailedRowError(_failure(result))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the failure of the row, without the traceback through the runner."""
        if isinstance(excinfo.value, _FailedRowError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Return the file and name of the test."""
        return self.path, None, self.name


def _properties(result: Result) -> list[tuple[str, object]]:
    """Return what the session's summary shows of a row: one line, warnings, and notes."""
    parts = [result, *result.cells]
    found = [(SUMMARY, _in_one_line(result, parts))]
    found += [(WARNING, one_line(text)) for part in parts for text in _warnings(part)]
    found += [(NOTE, one_line(text)) for part in parts for text in part.notes if text not in _warnings(part)]
    return [*dict.fromkeys(found)]


def _in_one_line(result: Result, parts: Sequence[Part]) -> str:
    """Return the verdict, the claim, the runs, and the weakest detectable violation or the bounds."""
    powers = [item.details.get("power") for part in parts for item in part.estimates]
    detectable = [weakest_violation(power) for power in powers if power]
    wanted = "" if result.accepted else f", expected {result.expect}"
    if result.verdict == "inconclusive" and any(detectable):
        found = f"would have detected {' and '.join(filter(None, detectable))} with probability 1/2"
    elif result.traceback:
        found = result.traceback.strip().splitlines()[-1]
    else:
        found = bounds_in_words(result) or "; ".join(result.reasons[:1]) or "no bound"
    headline = f"{result.verdict.upper()}{wanted}: {result.claim.in_words}, {result.samples:,} runs"
    return one_line(f"{headline}, {found}")


def _warnings(part: Part) -> list[str]:
    """Return the unmet conditions of a row or cell, and its notes on recorded draws."""
    return [*part.obstacles, *(note for note in part.notes if note.startswith(RECORDED))]


def _failure(result: Result) -> str:
    lines = [
        f"{result.verdict.upper()}, expected {result.expect}: {result.title}",
        f"  claim: {result.claim.in_words}",
        *(f"  {line}" for line in [*result.reasons, *result.unexpected_cells][:6]),
        f"  again: {result.reproduce}",
    ]
    return "\n".join([*lines, result.traceback]).rstrip()
