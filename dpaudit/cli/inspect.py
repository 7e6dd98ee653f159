"""Provide ``dpaudit list`` and ``dpaudit explain``: show what suites claim, without running them."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dpaudit.cli.console import BROKEN_SUITE, make_console, show_broken
from dpaudit.core.errors import InvalidParameterError
from dpaudit.report.file.parts import EstimateRecord, EvidenceRecord, Part, Result, mended_rows
from dpaudit.report.file.report import Report
from dpaudit.report.notation import clean
from dpaudit.report.roles import NO_PROGRAM, of_a_paper
from dpaudit.report.terminal import bounds_in_words, duration, one_line, result_line
from dpaudit.run.plan import BrokenSuite, LoadedSuite, load_suites
from dpaudit.run.process import Pool
from dpaudit.verify.statement import assumed_in_words

__all__ = ["explain_command", "list_command", "rows_named"]

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
                words.insert(1, Text(_role(suite, row)))
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


@click.command("explain")
@click.argument("row_id", metavar="ID")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option(
    "--report",
    "report_path",
    type=click.Path(path_type=Path),
    help="Also show how this report decided the row.",
)
def explain_command(row_id: str, paths: tuple[str, ...], report_path: Path | None) -> None:
    """Show what a row claims, its source, what the row does, and how it was decided."""
    console = make_console()
    results = Report.read(report_path).results if report_path is not None else ()
    with rows_named(row_id, paths) as found:
        for suite, row in found:
            _explain(console, suite, row)
            # Not by the suite's label, which is a path and differs between folders.
            name = (suite.description["paper"], row["id"])
            matching = [result for result in results if (result.paper, result.id) == name]
            for result in matching:
                _explain_result(console, result)
            if report_path is not None and not matching:
                console.print(Text(f"\nthe report has no row {one_line(row['id'])} of this suite"))


def _explain(console: Console, suite: LoadedSuite, row: Mapping[str, Any]) -> None:
    console.print(Text(f"{one_line(row['id'])}: {one_line(row['title'])}", style="bold"))
    menders = [other["id"] for other in suite.rows if row["id"] in _mends(other)]
    facts = {
        "claims": row["claim"]["in_words"],
        "paper" if _about_a_paper(suite) else "project": ", ".join(
            filter(None, (suite.description["paper"], suite.description["reference"]))
        ),
        "source": row["source"],
        "view": row["view"],
        "kind": row["kind"],
        "role": _role(suite, row),
        "mends": ", ".join(_mends(row)),
        "mended": f"by {', '.join(menders)}" if menders else "",
        "expected": row["expect"],
        "checked": FRESH if row["has_fingerprint"] else NOT_FRESH,
        "suite": suite.file.label,
    }
    for name, value in facts.items():
        if value:
            console.print(Text.assemble((f"  {name:<9}", "dim"), one_line(value)))
    for name, meaning in _symbols_in(suite, row):
        console.print(Text.assemble((f"  {one_line(name):<9}", "dim"), one_line(meaning)))
    if row["does"]:
        console.print(Text("\n" + "\n".join(f"  {line}" for line in clean(row["does"]).splitlines())))


def _mends(row: Mapping[str, Any]) -> tuple[str, ...]:
    return mended_rows(row["id"], row["role"], tuple(row.get("repairs", ())))


def _about_a_paper(suite: LoadedSuite) -> bool:
    return of_a_paper(row["role"] for row in suite.rows)


def _role(suite: LoadedSuite, row: Mapping[str, Any]) -> str:
    """Return the role of a row. A project's own claims are not printed anywhere, so they are just claims."""
    return "claim" if row["role"] == "printed" and not _about_a_paper(suite) else one_line(row["role"])


def _symbols_in(suite: LoadedSuite, row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the suite's symbols that occur in the row's texts, in the suite's order."""
    texts = "\n".join((row["title"], row["does"], row["claim"]["in_words"]))
    for name, meaning in suite.description["symbols"].items():
        flags = (
            re.IGNORECASE if " " in name else 0
        )  # a term may start a sentence, but a letter is case-sensitive
        if re.search(rf"(?<![\w*]){re.escape(name)}(?![\w*])", texts, flags):
            yield name, meaning


def _explain_result(console: Console, result: Result) -> None:
    console.print()
    console.print(result_line(result))
    _explain_part(console, result, indent="  ")
    bounds = bounds_in_words(result)
    if bounds:
        console.print(Text(f"  bounds: {bounds}"))
    for cell in result.cells:
        strength = f" / {cell.shown_strength}" if cell.shown_strength else ""
        wanted = f" (expected {cell.expect})" if cell.surprising else ""
        beside = "" if cell.deciding else ", does not decide the row"
        bounds = bounds_in_words(cell)
        line = f"  cell {one_line(cell.name)}: {cell.verdict}{strength}{wanted}{beside}"
        console.print(Text(line + (f"  {bounds}" if bounds else "")))
        console.print(Text(f"    claims: {one_line(cell.claim.in_words)}", style="dim"))
        _explain_part(console, cell, indent="    ")
    console.print(Text(f"  again: {one_line(result.reproduce)}", style="dim"))


def _explain_part(console: Console, part: Part, *, indent: str) -> None:
    """Print the reasons, unmet conditions, notes and evidence of a row or cell."""
    lines = {"reason": part.reasons, "unmet condition": part.obstacles, "note": part.notes}
    for title, texts in lines.items():
        for text in texts:
            console.print(Text(f"{indent}{title}: {one_line(text)}"))
    for item in part.evidence:
        console.print(Text(f"{indent}{one_line(_evidence(item))}"))


def _evidence(item: EvidenceRecord) -> str:
    """Return one line on a piece of evidence: its kind, bound and basis."""
    if isinstance(item, EstimateRecord):
        bounds = f"{item.quantity} from {item.lower} to {item.upper}"
        points = f"{item.samples} point{'' if item.samples == 1 else 's'}"
        samples = f"at confidence {item.confidence:g}, {item.samples} samples"
        kind, basis = ("computation", f", {points}") if item.exact else ("estimate", f" {samples}")
        return f"{kind}: {bounds}{basis}, {item.method}: {item.scope}"
    if item.kind == "certificate":
        return f"certificate: {item.quantity} <= {item.bound}, {assumed_in_words(item.assumptions)}"
    if item.kind == "witness":
        bound = "infinity" if item.bound is None else item.bound
        return f"witness ({item.origin}): {item.quantity} >= {bound}: {item.description}"
    return f"{item.kind}: {item.quantity} <= {item.bound}, {item.scope}"
