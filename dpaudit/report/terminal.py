"""Show a report on the terminal: one line for each result, a short summary of a run, and a table of a report.

No text of a suite is read as markup. Every foreign text enters as ``rich.text.Text``, without control
characters.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from dpaudit.report.file.parts import Part, Result
from dpaudit.report.file.report import Report
from dpaudit.report.findings import PaperFindings, findings, named_repair
from dpaudit.report.notation import attained, clean, distinct, short_numbers
from dpaudit.report.roles import (
    NO_PROGRAM,
    about_a_paper,
    by_role,
    counted_rows,
    in_words,
    role_headings,
)
from dpaudit.report.slack import how_much_smaller, slack_of

__all__ = [
    "COLOURS",
    "LiveResults",
    "bounds_in_words",
    "details",
    "duration",
    "one_line",
    "report_table",
    "result_line",
    "summary",
    "totals",
]

COLOURS = {
    "verified": "green",
    "consistent": "cyan",
    "refuted": "red",
    "inconclusive": "yellow",
    "crashed": "magenta",
}

#: The outcome of a stated claim, in words.
OUTCOMES = {
    "verified": "hold",
    "consistent": "consistent",
    "refuted": "false",
    "inconclusive": "open",
    "crashed": "crashed",
}
#: The largest number of unexpected cells that a result line names.
MAX_CELLS = 8
#: The time left is shown after this share of the rows, when their mean time is a usable estimate.
ESTIMATE_FROM = 0.1
#: Characters of the name of the cell whose bounds a row shows.
MAX_CELL = 90
#: The largest number of unmet conditions that an inconclusive row shows.
MAX_UNMET = 2
#: The largest number of running rows that the progress bar names.
MAX_RUNNING = 2
#: The largest number of unexpected rows that the summary of a run names.
MAX_NAMED = 12
#: The largest number of false claims of one paper that are listed with their numbers.
MAX_FALSE = 12


def one_line(text: object) -> str:
    """Return foreign text on one line, without control characters."""
    return " ".join(clean(text).split())


def duration(seconds: float) -> str:
    """Return a time span in words: ``0.4 s``, ``12 s``, ``3 min``, ``2.5 h``."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def bounds_in_words(part: Part) -> str:
    """Return both bounds and the claimed value: ``1.499 ≤ epsilon ≤ 1.5, claimed 1``.

    If only cells have bounds, the text refers to them. It is empty for a row without bounds and without a
    claimed value, and for a row about controls, whose cells hold its results.
    """
    if part.claim.counts_controls:
        return ""
    lower, claimed, upper = distinct(*part.numbers, quantity=part.quantity)
    quantity = one_line(part.quantity) or "value"
    parts = [f"{lower} ≤ "] if part.lower is not None else []
    parts += [quantity] if part.lower is not None or part.upper is not None else []
    parts += [f" ≤ {upper}"] if part.upper is not None else []
    claim = f"claimed {quantity + ' ' if not parts else ''}{claimed}" if part.claimed is not None else ""
    claim += ", attained" if attained(*part.numbers) else ""
    reference = "bounds: see the cells" if isinstance(part, Result) and part.bounds_in_cells else ""
    return ", ".join(text for text in ("".join(parts), claim, reference) if text)


def _many(count: int, name: str) -> str:
    return f"{count} {name}{'s' * (count != 1)}"


def _verdict(result: Result) -> Text:
    colour = COLOURS[result.verdict]
    text = Text(result.shown_verdict, style=f"bold {colour}")
    strength = result.shown_strength
    text.append(f" / {strength}" if strength else "", style=colour)
    return text


def _mark(result: Result) -> Text:
    """Return ✓ for an accepted row, else ✗. The ✓ of a refuted row is not green: its claim is false."""
    if not result.accepted:
        return Text("✗", style="bold red")
    return Text("✓") if result.refuted_as_expected else Text("✓", style="green")


def result_line(result: Result, *, id_width: int = 0, place: str = "") -> Text:
    """Return one result on one line. If it was not accepted, the lines below give the reasons."""
    text = Text.assemble(_mark(result), " ")
    verdict = _verdict(result)
    verdict.pad_right(max(0, 22 - len(verdict)))
    text.append_text(verdict)
    text.append(f" {one_line(result.id):<{id_width}}", style="bold")
    text.append(f"  {short_numbers(one_line(result.shown_title))}")
    bounds = bounds_in_words(result)
    text.append(f"  {bounds}" if bounds else "", style="cyan")
    text.append(f"  for {one_line(result.scope)}" if result.scope else "", style="cyan")
    under = _named_cells(result.refuted_cells)
    text.append(f"  refuted in {under}" if under else "", style="red")
    cells = _cells_in_words(result)
    text.append(f"{f'  {cells}' if cells else ''}  {duration(result.seconds)}{place}", style="dim")
    for line in _why_not_accepted(result):
        text.append(f"\n    {line}", style="red" if not result.accepted else "dim")
    return text


def _cells_in_words(result: Result) -> str:
    """Return the number of cells, and the cell whose bounds the row shows, if it shows the bounds of a cell.

    The text is ``worst of 3 cells: n = 2``, or ``6 cells, bounds of n = 2`` if the cells have other claims.
    """
    many = _many(len(result.cells), "cell") if result.cells else ""
    cells = [cell for cell in result.cells if cell.deciding]
    if result.evidence or len(cells) < 2 or result.lower is result.upper is None:
        return many
    shown = [cell for cell in cells if (cell.lower, cell.upper) == (result.lower, result.upper)]
    if not shown:
        return many
    # If several cells have these bounds, name the one with the row's verdict and claim.
    best = min(shown, key=lambda cell: (cell.verdict != result.verdict, _numbers(cell) != _numbers(result)))
    name = one_line(best.name)
    if all(_numbers(cell) == _numbers(result) for cell in cells):
        return f"worst of {_many(len(cells), 'cell')}: {name}"
    return f"{many}, bounds of {name if len(name) <= MAX_CELL else name[: MAX_CELL - 1] + '…'}"


def _numbers(part: Part) -> dict[str, Any]:
    """Return the exact numbers that a row or a cell claims."""
    exact = {key: value for key, value in part.claim.data.items() if key.endswith("_exact")}
    return exact or {"claimed": part.claimed}


def _named_cells(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_CELLS} more" if len(names) > MAX_CELLS else ""
    return ", ".join(one_line(name) for name in names[:MAX_CELLS]) + more


def _why_not_accepted(result: Result) -> list[str]:
    reasons = [one_line(reason) for reason in result.reasons]
    if result.accepted:
        return []
    if result.as_expected:
        return [f"only {result.shown_strength}, and --require demands more", *reasons]
    cells = [f"cell {one_line(line)}" for line in result.unexpected_cells]
    own = [f"expected {result.expect}"] if result.surprising else []
    return [*own, *cells[:MAX_CELLS], *reasons, *_unmet_conditions(result)[:MAX_UNMET]]


def _unmet_conditions(result: Result) -> list[str]:
    """Return the unmet conditions of an inconclusive row and of its inconclusive deciding cells.

    A cell without unmet conditions contributes its reasons. Lines that the row's reasons contain are left
    out.
    """
    if result.verdict != "inconclusive":
        return []
    deciding = [c for c in result.cells if c.deciding and c.verdict == "inconclusive"]
    lines = [*result.obstacles, *(line for c in deciding for line in c.obstacles or c.reasons)]
    return [one_line(line) for line in dict.fromkeys(lines) if line not in result.reasons]


class LiveResults:
    """Context manager that prints results as they arrive.

    A terminal also shows a progress bar, the time left and the running rows. The time left assumes that the
    remaining rows take as long, on average, as the finished ones.
    """

    def __init__(self, console: Console, *, total: int, id_width: int) -> None:
        self._console = console
        self._total = total
        self._id_width = min(id_width, 36)
        self._done = 0
        self._started = time.monotonic()
        self._running: dict[str, None] = {}
        self._lock = threading.Lock()
        columns = (
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}", markup=False),
            TextColumn("{task.fields[running]}", markup=False, style="dim"),
        )
        self._progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._task = self._progress.add_task("", total=total, left="", running="")

    def start(self, row_id: str) -> None:
        """Show that a row is running. Any thread may call this."""
        with self._lock:
            self._running[row_id] = None
            self._progress.update(self._task, running=self._running_rows())

    def _running_rows(self) -> str:
        names = [one_line(name) for name in self._running]
        more = f" and {len(names) - MAX_RUNNING} more" if len(names) > MAX_RUNNING else ""
        return f"running {', '.join(names[:MAX_RUNNING])}{more}" if names else ""

    def show(self, result: Result) -> None:
        """Print one result and advance the progress bar."""
        self._done += 1
        place = "" if self._console.is_terminal else f"  [{self._done}/{self._total}{self._left(', ')}]"
        self._console.print(result_line(result, id_width=self._id_width, place=place), soft_wrap=True)
        with self._lock:
            self._running.pop(result.id, None)
            left, running = self._left(""), self._running_rows()
            self._progress.update(self._task, completed=self._done, left=left, running=running, refresh=True)

    def _left(self, before: str) -> str:
        """Return the time left, or an empty text if too few rows are finished to estimate it."""
        remaining = self._total - self._done
        if self._done < ESTIMATE_FROM * self._total:
            return ""
        each = (time.monotonic() - self._started) / self._done
        return f"{before}about {duration(each * remaining)} left" if remaining else ""

    def __enter__(self) -> LiveResults:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()


def report_table(report: Report) -> Table:
    """Return the results of a report as one table in the report's order, with their roles if these differ."""
    results = report.results
    roles = any(result.role != "printed" for result in results)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("", "verdict", *(["role"] if roles else []), "id", "claim", "bounds", "time"):
        table.add_column(name, overflow="fold")
    for result in results:
        role = result.role if result.role != "printed" or about_a_paper(results) else "claim"
        table.add_row(
            _mark(result),
            _verdict(result),
            *([Text(role, style="dim")] if roles else []),
            Text(one_line(result.id), style="bold"),
            Text(one_line(result.shown_title)),
            Text(bounds_in_words(result), style="cyan"),
            Text(duration(result.seconds), style="dim"),
        )
    return table


def details(report: Report) -> Text:
    """Return the findings of each paper, and what is refuted outside stated conditions or in single cells."""
    headings = role_headings(report.results)
    text = Text()
    for paper in findings(report):
        text.append_text(_paper(paper, headings, of_a_paper=about_a_paper(report.results)))
    for line in _refuted_elsewhere(report.results):
        text.append(f"{line}\n")
    return text


def summary(report: Report, *, written: Iterable[Path] = ()) -> Text:
    """Return the last lines of a run.

    They count the verdicts of each role, name the rows that are not as expected, and state slack, claims that
    cannot be checked and rows without a program in one line each. The last line names the ``written`` files.
    """
    results = report.results
    headings = role_headings(results)
    text = Text()
    for role, group in by_role(results).items():
        text.append(f"{headings[role]}: {in_words(group)}\n")
    text.append_text(Text("".join(f"{line}\n" for line in _remarks(report)), style="dim"))
    text.append_text(totals(report))
    paths = ", ".join(str(path) for path in written)
    text.append(f" Reports: {paths}" if paths else "")
    return text


def totals(report: Report) -> Text:
    """Return how many rows are as expected, which are not, and whether the run was interrupted."""
    results = report.results
    refused = [one_line(result.id) for result in results if not result.accepted]
    cells = sum(len(result.cells) for result in results)
    text = Text()
    if not report.complete:
        text.append(
            "The run was interrupted, so this report is partial. Continue it with --resume.\n",
            style="bold yellow",
        )
    rows = _many(len(results), "row") + (f" ({_many(cells, 'cell')})" if cells else "")
    if not refused:
        return text.append(f"{'All ' if len(results) > 1 else ''}{rows} came out as expected.", style="green")
    text.append(f"{len(results) - len(refused)} of {rows} came out as expected. ")
    more = f" and {len(refused) - MAX_NAMED} more" if len(refused) > MAX_NAMED else ""
    return text.append(f"Not as expected: {', '.join(refused[:MAX_NAMED])}{more}.", style="bold red")


def _remarks(report: Report) -> Iterator[str]:
    """Yield one line each on slack, on claims that cannot be checked, and on rows without a program."""
    results = report.results
    slack = [(result, words) for result in results if (words := how_much_smaller(result))]
    if slack:
        result, words = max(slack, key=lambda pair: slack_of(pair[0]) or 0.0)
        subject = "1 claim has" if len(slack) == 1 else f"{len(slack)} claims have"
        example = f"{':' if len(slack) == 1 else ', such as'} {one_line(result.id)} ({one_line(words)})"
        yield f"{subject} a certified bound of at most half the claimed value{example}."
    unchecked = len(report.shown_unchecked)
    if unchecked:
        yield f"{_many(unchecked, 'claim')} cannot be checked by computation (reasons in the report)."
    # A crashed row may have had a program that did not answer in its fresh process.
    without = sum(row.fresh_processes == 0 and row.verdict != "crashed" for row in results)
    if without:
        yield f"{_many(without, 'row')} {'has' if without == 1 else 'have'} {NO_PROGRAM}."


def _paper(found: PaperFindings, headings: Mapping[str, str], *, of_a_paper: bool) -> Text:
    """Return what a paper states and how it came out, with the numbers and repairs of each false claim."""
    text = Text()
    if not found.stated:
        return text
    text.append(f"{one_line(found.title or found.paper or 'Rows')}\n", style="bold")
    counts = Counter(row.verdict for group in found.stated.values() for row in group)
    stated = " and ".join(counted_rows(headings[role], len(group)) for role, group in found.stated.items())
    outcomes = [f"{counts[verdict]} {words}" for verdict, words in OUTCOMES.items() if counts[verdict]]
    text.append(f"  {stated}: {', '.join(outcomes)}\n")
    false = [item for group in found.false.values() for item in group]
    for item in false[:MAX_FALSE]:
        text.append("  false ", style=COLOURS["refuted"])
        text.append(one_line(item.result.id), style="bold")
        text.append(f"  {one_line(item.much)}" if item.much else "")
        repairs = ", ".join(one_line(named_repair(repair)) for repair in item.repairs)
        if of_a_paper:
            text.append(f", holds as {repairs}" if repairs else ", no repair here", style="dim")
        text.append("\n")
    if len(false) > MAX_FALSE:
        text.append(f"  also false: {', '.join(one_line(item.result.id) for item in false[MAX_FALSE:])}\n")
    return text


def _refuted_elsewhere(results: Sequence[Result]) -> Iterator[str]:
    """Yield what is false outside the stated conditions, and in cells of rows that are not refuted."""
    outside = [row for row in results if row.does_not_extend]
    if outside:
        yield f"Does not extend: {', '.join(one_line(row.id) for row in outside)}"
    for result in results:
        under = _named_cells(result.refuted_cells)
        if under:
            yield f"Refuted under {one_line(result.id)}, which is {result.verdict}: {under}"
