"""Provide ``dpaudit list``, which shows what suites claim without running them, and find rows by id."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from dpaudit.cli.console import BROKEN_SUITE, make_console, show_broken
from dpaudit.core.errors import InvalidParameterError
from dpaudit.report.file.report import Report
from dpaudit.report.roles import NO_PROGRAM, of_a_paper
from dpaudit.report.terminal import duration, one_line
from dpaudit.run.plan import BrokenSuite, LoadedSuite, load_suites
from dpaudit.run.process import Pool

__all__ = ["about_a_paper", "list_command", "role_of", "rows_named"]

FRESH = "its program must do the same in two fresh processes, or the row crashes"
NOT_FRESH = f"the row has {NO_PROGRAM}"


@contextmanager
def _loaded(paths: tuple[str, ...]) -> Iterator[list[LoadedSuite]]:
    """Yield the suites that import. At the end, print errors for the others and exit with 2."""
    pool = Pool(1)
    broken: list[BrokenSuite] = []
    try:
        loaded = load_suites(paths, pool, broken=broken)
    finally:
        pool.close()
    try:
        yield loaded
    finally:
        show_broken(broken)
    if broken:
        sys.exit(BROKEN_SUITE)


@click.command("list")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option(
    "--durations",
    "report_path",
    type=click.Path(path_type=Path),
    help="Show how long the rows took in this report.",
)
def list_command(paths: tuple[str, ...], report_path: Path | None) -> None:
    """List the rows of suites: id, role, kind, expected verdict, title.

    With --durations, also show how long each row took in an earlier report, or a dash for a new row.
    """
    console = make_console()
    seconds = None if report_path is None else _seconds_of(report_path)
    times: list[float | None] = []
    with _loaded(paths) as suites:
        for suite in suites:
            about = suite.description
            console.print(Text(f"{one_line(about['paper'])}: {one_line(about['title'])}", style="bold"))
            table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
            for row in suite.rows:
                words = [Text(one_line(row[name])) for name in ("id", "kind", "expect", "title")]
                words.insert(1, Text(role_of(suite, row)))
                if seconds is not None:
                    times.append(seconds.get((about["paper"], row["id"])))
                    words.insert(1, Text("-" if times[-1] is None else duration(times[-1]), style="dim"))
                table.add_row(*words)
            console.print(table)
            for item in about["unchecked"]:
                console.print(
                    Text(f"not checkable: {one_line(item['id'])}: {one_line(item['reason'])}", style="dim")
                )

        known = [time for time in times if time is not None]
        if seconds is not None:
            took = f"{len(known)} of {len(times)} rows have a duration, {duration(sum(known))} in total"
            console.print(took, style="dim")


def _seconds_of(path: Path) -> dict[tuple[str, str], float]:
    """Return the seconds of each row by paper and id, because suite labels differ between folders."""
    return {(row.paper, row.id): row.seconds for row in Report.read(path).results}


@contextmanager
def rows_named(row_id: str, paths: tuple[str, ...]) -> Iterator[list[tuple[LoadedSuite, dict[str, Any]]]]:
    """Yield the rows with this id, ignoring case, each with its suite.

    Raises ``InvalidParameterError`` if there is no such row.
    """
    with _loaded(paths) as suites:
        found = [
            (suite, row)
            for suite in suites
            for row in suite.rows
            if row["id"].casefold() == row_id.casefold()
        ]
        if not found:
            names = [row["id"] for suite in suites for row in suite.rows]
            close = ", ".join(difflib.get_close_matches(row_id, names, n=3, cutoff=0.3))
            raise InvalidParameterError(
                f"ID must be the id of a row, got {row_id!r}. "
                + (f"Did you mean {close}?" if close else "See `dpaudit list`.")
                + ("" if paths else " For a row of your own suite, add its path: dpaudit explain ID PATH"),
                code="E-ROW-UNKNOWN",
            )
        yield found


def role_of(suite: LoadedSuite, row: Mapping[str, Any]) -> str:
    """Return the role of a row. A project's own claims are not printed anywhere, so they are just claims."""
    return "claim" if row["role"] == "printed" and not about_a_paper(suite) else one_line(row["role"])


def about_a_paper(suite: LoadedSuite) -> bool:
    return of_a_paper(row["role"] for row in suite.rows)
