"""Provide ``dpaudit explain``: show what a row claims, what it does, and how it is decided.

Without a report the row runs now, because its notes and the numbers of its evidence are results.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from dpaudit.cli.console import make_console, show_error
from dpaudit.cli.inspect import about_a_paper, role_of, rows_named
from dpaudit.report.file.parts import EstimateRecord, EvidenceRecord, Part, Result, mended_rows
from dpaudit.report.file.report import Report
from dpaudit.report.notation import Toward, clean, describe, short_numbers, show_bound
from dpaudit.report.roles import NO_PROGRAM
from dpaudit.report.symbols import symbols_in
from dpaudit.report.terminal import bounds_in_words, one_line, result_line
from dpaudit.run.plan import LoadedSuite, Settings, plan_run, run_command_of
from dpaudit.run.process import Pool
from dpaudit.run.session import Session
from dpaudit.verify.statement import assumed_in_words

__all__ = ["explain_command"]

FRESH = "its program must do the same in two fresh processes, or the row crashes"
NOT_FRESH = f"the row has {NO_PROGRAM}"
#: The largest number of rows of a table that are printed.
MAX_ROWS = 20


@click.command("explain")
@click.argument("row_id", metavar="ID")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option(
    "--report",
    "report_path",
    type=click.Path(path_type=Path),
    help="Show how this report decided the row, instead of running it.",
)
@click.option("--no-run", is_flag=True, help="Do not run the row: show only what it claims and does.")
def explain_command(row_id: str, paths: tuple[str, ...], report_path: Path | None, no_run: bool) -> None:
    """Show what a row claims, its source, what the row does, and how it is decided.

    Without --report, the row runs now with the settings of `dpaudit run --quick`. Its reasons, notes and
    evidence are those of that run.
    """
    console = make_console()
    report = Report.read(report_path) if report_path is not None else None
    with rows_named(row_id, paths) as found:
        for suite, row in found:
            _explain(console, suite, row)
            if report is None and no_run:
                continue
            # Suites that share an id cannot run together.
            chosen = paths if len(found) == 1 else (suite.file.label,)
            results = _run(row["id"], chosen) if report is None else report.results
            # Not by the suite's label, which is a path and differs between folders.
            name = (suite.description["paper"], row["id"])
            matching = [result for result in results if (result.paper, result.id) == name]
            for result in matching:
                _explain_result(console, result)
            if not matching:
                console.print(Text(f"\nthe report has no row {one_line(row['id'])} of this suite"))


def _run(row_id: str, paths: tuple[str, ...]) -> tuple[Result, ...]:
    """Return the result of a row that runs now, as ``dpaudit run -k =ID`` has it. No file is kept."""
    settings = Settings()
    pool = Pool(settings.jobs)
    try:
        with tempfile.TemporaryDirectory(prefix="dpaudit-") as folder:
            plan = plan_run(paths, settings, pool, select=f"={row_id}", broken=[])
            session = Session(
                plan,
                settings,
                report_path=Path(folder) / "explain.json",
                resume=False,
                command=run_command_of(paths, settings).text,
                confirms=lambda _result: False,
            )
            session.run(pool, show=lambda _result: None, warn=show_error)
            return Report.from_json(session.report()).results
    finally:
        pool.close()


def _explain(console: Console, suite: LoadedSuite, row: Mapping[str, Any]) -> None:
    console.print(Text(f"{one_line(row['id'])}: {_line(row['title'])}", style="bold"))
    menders = [other["id"] for other in suite.rows if row["id"] in _mends(other)]
    facts = {
        "claims": row["claim"]["in_words"],
        "paper" if about_a_paper(suite) else "project": ", ".join(
            filter(None, (suite.description["paper"], suite.description["reference"]))
        ),
        "source": row["source"],
        "view": row["view"],
        "kind": row["kind"],
        "role": role_of(suite, row),
        "mends": ", ".join(_mends(row)),
        "mended": f"by {', '.join(menders)}" if menders else "",
        "expected": row["expect"],
        "checked": FRESH if row["has_fingerprint"] else NOT_FRESH,
        "suite": suite.file.label,
        "code": _place(row),
    }
    for name, value in facts.items():
        if value:
            console.print(Text.assemble((f"  {name:<8} ", "dim"), _line(value)))
    texts = "\n".join((row["title"], row["does"], row["claim"]["in_words"]))
    for name, meaning in symbols_in(suite.description["symbols"], text=texts, source=row["source"]):
        console.print(Text.assemble((f"  {one_line(name):<8} ", "dim"), one_line(meaning)))
    if row["does"]:
        console.print(Text("\n" + "\n".join(f"  {line}" for line in clean(row["does"]).splitlines())))


def _place(row: Mapping[str, Any]) -> str:
    """Return the file and line of a row, relative to the folder of its suite, if they are known."""
    place = row.get("location")
    return f"{place['file']}:{place['line']}" if place else ""


def _mends(row: Mapping[str, Any]) -> tuple[str, ...]:
    return mended_rows(row["id"], row["role"], tuple(row.get("repairs", ())))


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
        line = f"  cell {_line(cell.name)}: {cell.verdict}{strength}{wanted}{beside}"
        console.print(Text(line + (f"  {bounds}" if bounds else "")))
        if cell.claim.in_words != result.claim.in_words:
            console.print(Text(f"    claims: {_line(cell.claim.in_words)}", style="dim"))
        _explain_part(console, cell, indent="    ")
    for line in _tables(result):
        console.print(Text(f"  {line}"))
    console.print(Text(f"  again: {one_line(result.reproduce)}", style="dim"))


def _explain_part(console: Console, part: Part, *, indent: str) -> None:
    """Print the reasons, unmet conditions, notes and evidence of a row or cell, with its details."""
    lines = {"reason": part.reasons, "unmet condition": part.obstacles, "note": part.notes}
    for title, texts in lines.items():
        for text in texts:
            console.print(Text(f"{indent}{title}: {_line(text)}"))
    for item in part.evidence:
        console.print(Text(f"{indent}{_line(_evidence(item))}"))
        for detail in _details(item):
            console.print(Text(f"{indent}  {_line(detail)}"))


def _tables(result: Result) -> Iterator[str]:
    """Yield the tables of a result, one line for a row of a table: ``column value, column value``."""
    for plot in result.plots:
        if plot["kind"] != "table":
            continue
        rows = [row for row in plot["rows"] if isinstance(row, list)]
        yield f"table: {_line(plot['title'])}"
        for row in rows[:MAX_ROWS]:
            cells = zip(plot["columns"], row, strict=False)
            yield f"  {_line('; '.join(f'{name} {_value(value)}' for name, value in cells))}"
        if len(rows) > MAX_ROWS:
            yield f"  and {len(rows) - MAX_ROWS} more, in the report"


def _value(value: object) -> str:
    return value if isinstance(value, str) else describe(value)


def _line(text: object) -> str:
    """Return foreign text on one line, with long numbers shortened."""
    return short_numbers(one_line(text))


def _evidence(item: EvidenceRecord) -> str:
    """Return one line on a piece of evidence: its kind, bound and basis."""
    if isinstance(item, EstimateRecord):
        points = f"{item.samples} point{'' if item.samples == 1 else 's'}"
        samples = f"at confidence {item.confidence:g}, {item.samples} samples"
        basis = f", {points}" if item.exact else f" {samples}"
        return f"{item.kind}: {_range(item)}{basis}, {item.method}: {item.scope}"
    toward: Toward = "down" if item.kind == "witness" else "up"
    bound = "infinity" if item.bound is None else show_bound(item.bound, toward=toward)
    if item.kind == "certificate":
        return f"certificate: {item.quantity} <= {bound}, {assumed_in_words(item.assumptions)}"
    if item.kind == "witness":
        return f"witness ({item.origin}): {item.quantity} >= {bound}: {item.description}"
    return f"{item.kind}: {item.quantity} <= {bound}, {item.scope}"


def _range(item: EstimateRecord) -> str:
    """Return the bounds of an estimate in words. A bound that it does not have is not named."""
    if item.lower is not None and item.upper is not None:
        return f"{item.quantity} from {item.lower} to {item.upper}"
    ends = (("at least", item.lower), ("at most", item.upper))
    known = [f"{words} {bound}" for words, bound in ends if bound is not None]
    return f"{item.quantity} {known[0] if known else 'without a bound'}"


def _details(item: EvidenceRecord) -> Iterator[str]:
    """Yield the details of a piece of evidence: the points and numbers to compute again."""
    if isinstance(item, EstimateRecord):
        for name, value in item.details.items():
            yield f"{name}: {_value(value)}"
        if item.seed is not None:
            yield f"seed: {item.seed}"
