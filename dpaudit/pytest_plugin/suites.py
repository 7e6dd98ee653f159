"""A suite file as pytest tests: one a row, run in a process of its own as ``dpaudit run`` does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dpaudit.errors import DpauditError
from dpaudit.pytest_plugin.levels import KEY
from dpaudit.reports.roles import unexpected_cells
from dpaudit.runner.engine import execute
from dpaudit.runner.plan import Settings, load_suites, plan_run, require_rows
from dpaudit.runner.process import Pool
from dpaudit.runner.select import exactly

__all__ = ["RowTest", "SuiteTests"]


class SuiteTests(pytest.File):
    """The rows of one suite file. They share the suite's part of the session's error level by weight."""

    def collect(self) -> Iterator[pytest.Item]:
        """One test a row; a suite that does not import, or has none, is an error of collection."""
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
    """A row came out against its expectation, or crashed; the text is what pytest shows."""


class RowTest(pytest.Item):
    """One row: passes where its verdict and those of its cells are as the suite expects."""

    @property
    def dpaudit_suite(self) -> str:
        """What this test shares the error level as."""
        return self.path.as_posix()

    def runtest(self) -> None:
        """Run the row as ``dpaudit run FILE -k =ID`` does, at the suite's part of the error level."""
        settings = Settings(
            alpha=self.config.stash[KEY].each, seed=self.config.getoption("--dpaudit-seed"), jobs=1
        )
        pool = Pool(1)
        try:
            plan = plan_run([str(self.path)], settings, pool, select=exactly(self.name))
            ((_, result),) = execute(plan.rows, settings, pool)
        finally:
            pool.close()
        if not result["accepted"]:
            raise _FailedRowError(_failure(result))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What the row says; the traceback through the runner would help nobody."""
        if isinstance(excinfo.value, _FailedRowError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Where pytest says that the test is."""
        return self.path, None, self.name


def _failure(result: dict[str, Any]) -> str:
    lines = [
        f"{result['verdict'].upper()}, expected {result['expect']}: {result['title']}",
        f"  claim: {result['claim']['in_words']}",
        *(f"  {line}" for line in [*result["reasons"], *unexpected_cells(result)][:6]),
        f"  again: {result['reproduce']}",
    ]
    return "\n".join([*lines, result["traceback"] or ""]).rstrip()
