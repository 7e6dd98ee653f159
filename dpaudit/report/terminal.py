"""A report on the terminal: one line a result as it comes with the time left, and tables from a finished
report.

Nothing from a suite is ever read as markup: every foreign text enters as ``rich.text.Text``, without control
characters.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from dpaudit.core.claims import Controls
from dpaudit.core.estimates import shown_strength
from dpaudit.report.findings import PaperFindings, findings, named_repair
from dpaudit.report.notation import as_number, attained, clean, distinct
from dpaudit.report.roles import (
    ROLE_WORDS,
    by_role,
    not_extending,
    refuted_under,
    shown_title,
    unexpected_cells,
)
from dpaudit.report.slack import bounds_in_cells, in_one_line, slack_of

__all__ = [
    "COLOURS",
    "LiveResults",
    "bounds_in_words",
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

Result = Mapping[str, Any]

#: How what a paper states came out, in words.
CAME = {
    "verified": "hold",
    "consistent": "consistent",
    "refuted": "false",
    "inconclusive": "open",
    "crashed": "crashed",
}
#: Cells against expectation that a line on the terminal names.
MAX_CELLS = 8
#: The share of the rows after which their mean time says something about the others.
SAID_FROM = 0.1
#: Characters of the name of the cell whose bounds a row shows.
MAX_CELL = 90
#: What stands in the way of an inconclusive row: so many lines of it.
MAX_OBSTACLES = 2
#: Rows that run, by name.
MAX_RUNNING = 2
#: Claims with slack that the end of a run names.
MAX_SLACK = 3
#: False claims of one paper that the end of a run lists with their numbers.
MAX_FALSE = 12


def one_line(text: object) -> str:
    """Foreign text on one line, without anything that a terminal would act on."""
    return " ".join(clean(text).split())


def duration(seconds: float) -> str:
    """A time span for a reader: ``0.4 s``, ``12 s``, ``3 min``, ``2.5 h``."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def bounds_in_words(result: Result) -> str:
    """Both bounds and the claimed value: ``1.499 ≤ epsilon ≤ 1.5, claimed 1``.

    Where only cells have bounds, it says so. Empty where a row has none of them, and for a row about
    controls, whose cells say it all.
    """
    if result["claim"]["type"] == Controls.type:
        return ""
    numbers = [as_number(result[name]) for name in ("lower", "claimed", "upper")]
    lower, claimed, upper = distinct(*numbers, quantity=result["quantity"])
    quantity = one_line(result["quantity"]) or "value"
    parts = [f"{lower} ≤ "] if numbers[0] is not None else []
    parts += [quantity] if numbers[0] is not None or numbers[2] is not None else []
    parts += [f" ≤ {upper}"] if numbers[2] is not None else []
    claim = f"claimed {quantity + ' ' if not parts else ''}{claimed}" if numbers[1] is not None else ""
    claim += ", attained" if attained(*numbers) else ""
    where = "bounds: see the cells" if bounds_in_cells(result) else ""
    return ", ".join(part for part in ("".join(parts), claim, where) if part)


def _many(count: int, name: str) -> str:
    return f"{count} {name}{'s' * (count != 1)}"


def _verdict(result: Result) -> Text:
    colour = COLOURS[result["verdict"]]
    text = Text(result["verdict"], style=f"bold {colour}")
    strength = shown_strength(result)
    text.append(f" / {strength}" if strength else "", style=colour)
    return text


def _mark(result: Result) -> Text:
    return Text("✓", style="green") if result["accepted"] else Text("✗", style="bold red")


def result_line(result: Result, *, id_width: int = 0, place: str = "") -> Text:
    """One result on one line; below it, where the result was not accepted, what was expected and why it is
    not so.
    """
    text = Text.assemble(_mark(result), " ")
    verdict = _verdict(result)
    verdict.pad_right(max(0, 22 - len(verdict)))
    text.append_text(verdict)
    text.append(f" {one_line(result['id']):<{id_width}}", style="bold")
    text.append(f"  {one_line(shown_title(result))}")
    bounds = bounds_in_words(result)
    text.append(f"  {bounds}" if bounds else "", style="cyan")
    scope = result.get("scope")
    text.append(f"  for {one_line(scope)}" if scope else "", style="cyan")
    under = _named_cells(refuted_under(result))
    text.append(f"  refuted in {under}" if under else "", style="red")
    cells = _cells_in_words(result)
    text.append(f"{f'  {cells}' if cells else ''}  {duration(result['seconds'])}{place}", style="dim")
    for line in _objections(result):
        text.append(f"\n    {line}", style="red" if not result["accepted"] else "dim")
    return text


def _cells_in_words(result: Result) -> str:
    """How many cells a row has; where its bounds are those of one of several, which: ``worst of 3 cells: n =
    2``, or ``6 cells, bounds of n = 2`` where not all of them are about one claim."""
    many = _many(len(result["cells"]), "cell") if result["cells"] else ""
    cells = [cell for cell in result["cells"] if cell["deciding"]]
    bounded = result["lower"] is not None or result["upper"] is not None
    if result["evidence"] or len(cells) < 2 or not bounded:
        return many
    shown = [cell for cell in cells if all(cell[name] == result[name] for name in ("lower", "upper"))]
    # Of cells with the same bounds, the one about the row's own claim is the one that is shown.
    shown.sort(key=lambda cell: (cell["verdict"] != result["verdict"], _numbers(cell) != _numbers(result)))
    if not shown:
        return many
    name = one_line(shown[0]["name"])
    if all(_numbers(cell) == _numbers(result) for cell in cells):
        return f"worst of {_many(len(cells), 'cell')}: {name}"
    return f"{many}, bounds of {name if len(name) <= MAX_CELL else name[: MAX_CELL - 1] + '…'}"


def _numbers(part: Result) -> dict[str, Any]:
    """The exact numbers that a row or a cell claims."""
    exact = {key: value for key, value in part["claim"].items() if key.endswith("_exact")}
    return exact or {"claimed": part["claimed"]}


def _named_cells(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_CELLS} more" if len(names) > MAX_CELLS else ""
    return ", ".join(one_line(name) for name in names[:MAX_CELLS]) + more


def _objections(result: Result) -> list[str]:
    reasons = [one_line(reason) for reason in result["reasons"]]
    if result["accepted"]:
        return []
    if result["as_expected"]:
        return [f"only {shown_strength(result)}, and --require asks for more", *reasons]
    cells = [f"cell {one_line(line)}" for line in unexpected_cells(result)]
    own = [] if result["verdict"] == result["expect"] else [f"expected {result['expect']}"]
    return [*own, *cells[:MAX_CELLS], *reasons, *_in_the_way(result)[:MAX_OBSTACLES]]


def _in_the_way(result: Result) -> list[str]:
    """Unmet conditions of an inconclusive row and of the cells that make it so, which its reasons do not
    name; the reasons of a cell without unmet conditions."""
    if result["verdict"] != "inconclusive":
        return []
    deciding = [c for c in result["cells"] if c["deciding"] and c["verdict"] == "inconclusive"]
    lines = [*result["obstacles"], *(line for c in deciding for line in c["obstacles"] or c["reasons"])]
    return [one_line(line) for line in dict.fromkeys(lines) if line not in result["reasons"]]


class LiveResults:
    """Results as they come, with a progress bar, the time left and the rows that run on a terminal, or plain
    lines elsewhere.

    The time left assumes that the rows to come take as long as those that are done. Use as a context manager.
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
        """Name a row among those that run; any thread may call this."""
        with self._lock:
            self._running[row_id] = None
            self._progress.update(self._task, running=self._run())

    def _run(self) -> str:
        names = [one_line(name) for name in self._running]
        more = f" and {len(names) - MAX_RUNNING} more" if len(names) > MAX_RUNNING else ""
        return f"running {', '.join(names[:MAX_RUNNING])}{more}" if names else ""

    def show(self, result: Result) -> None:
        """Print one result and move on."""
        self._done += 1
        place = "" if self._console.is_terminal else f"  [{self._done}/{self._total}{self._left(', ')}]"
        self._console.print(result_line(result, id_width=self._id_width, place=place), soft_wrap=True)
        with self._lock:
            self._running.pop(str(result["id"]), None)
            left, running = self._left(""), self._run()
            self._progress.update(self._task, completed=self._done, left=left, running=running, refresh=True)

    def _left(self, before: str) -> str:
        """The time left, from the mean of the rows that are done; nothing before they are a tenth of all."""
        remaining = self._total - self._done
        if self._done < SAID_FROM * self._total:
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


def report_table(report: Mapping[str, Any]) -> Table:
    """The results of a report as one table in the report's order, each with its role."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("", "verdict", "role", "id", "claim", "bounds", "time"):
        table.add_column(name, overflow="fold")
    for result in report["results"]:
        table.add_row(
            _mark(result),
            _verdict(result),
            Text(result["role"], style="dim"),
            Text(one_line(result["id"]), style="bold"),
            Text(one_line(shown_title(result))),
            Text(bounds_in_words(result), style="cyan"),
            Text(duration(result["seconds"]), style="dim"),
        )
    return table


def _counts(results: Sequence[Result]) -> Text:
    """How many came out how, each verdict in its colour, with the strengths behind it."""
    parts = []
    for verdict, colour in COLOURS.items():
        group = [result for result in results if result["verdict"] == verdict]
        kinds = Counter(strength for strength in map(shown_strength, group) if strength)
        inside = f" ({', '.join(f'{count} {kind}' for kind, count in kinds.most_common())})" if kinds else ""
        if group:
            parts.append(Text(f"{len(group)} {verdict}{inside}", style=colour))
    return Text(", ").join(parts)


def summary(report: Mapping[str, Any]) -> Text:
    """What each paper states and what of it is false, by how much and with which repair; how many rows of
    each role came out how; at the end what needs somebody: rows that were not accepted, a run cut short.
    """
    results: Sequence[Result] = report["results"]
    text = Text()
    for paper in findings(report):
        text.append_text(_paper(paper))
    for role, group in by_role(results).items():
        text.append(f"{ROLE_WORDS[role]}: ")
        text.append_text(_counts(group))
        text.append("\n")
    for line in (*_beside(results), *_slack(results)):
        text.append(f"{line}\n")
    papers = {result["paper"] for result in results}  # with -k only those of which rows ran
    unchecked = sum(item["paper"] in papers for item in report["unchecked"])
    if unchecked:
        text.append(f"{_many(unchecked, 'claim')} cannot be checked by computation; the report says why\n")
    text.append_text(totals(report))
    return text


def totals(report: Mapping[str, Any]) -> Text:
    """How many rows came out as expected, which did not, and whether the run was cut short."""
    results: Sequence[Result] = report["results"]
    refused = [result for result in results if not result["accepted"]]
    cells = sum(len(result["cells"]) for result in results)
    text = Text(_many(len(results), "row") + (f" with {_many(cells, 'cell')}: " if cells else ": "))
    text.append(f"{len(results) - len(refused)} as expected", style="green" if not refused else "")
    if refused:
        text.append(f", {len(refused)} not: ", style="bold red")
        text.append(", ".join(one_line(result["id"]) for result in refused), style="red")
    if not report["complete"]:
        text.append(
            "\nthe run was interrupted: this report is partial (go on with --resume)", style="bold yellow"
        )
    return text


def _paper(found: PaperFindings) -> Text:
    """What a paper states and how it came out; of what is false the numbers and the repairs, claims first."""
    text = Text()
    if not found.stated:
        return text
    text.append(f"{one_line(found.title or found.paper or 'Rows')}\n", style="bold")
    counts = Counter(row["verdict"] for group in found.stated.values() for row in group)
    stated = " and ".join(
        _many(len(group), ROLE_WORDS[role].lower().removesuffix("s")) for role, group in found.stated.items()
    )
    came = [f"{counts[verdict]} {words}" for verdict, words in CAME.items() if counts[verdict]]
    text.append(f"  states {stated}: {', '.join(came)}\n")
    false = [item for group in found.false.values() for item in group]
    for item in false[:MAX_FALSE]:
        text.append("  false ", style=COLOURS["refuted"])
        text.append(one_line(item.result["id"]), style="bold")
        text.append(f"  {one_line(item.much)}" if item.much else "")
        repairs = ", ".join(one_line(named_repair(repair)) for repair in item.repairs)
        text.append(f"; holds as {repairs}\n" if repairs else "; no repair here\n", style="dim")
    if len(false) > MAX_FALSE:
        text.append(f"  false too: {', '.join(one_line(item.result['id']) for item in false[MAX_FALSE:])}\n")
    return text


def _beside(results: Sequence[Result]) -> Iterator[str]:
    """What is false outside the stated conditions, and in cells of rows that are not refuted."""
    outside = not_extending(results)
    if outside:
        yield f"Does not extend: {', '.join(one_line(row['id']) for row in outside)}"
    for result in results:
        under = _named_cells(refuted_under(result))
        if under:
            yield f"Refuted under {one_line(result['id'])}, which is {result['verdict']}: {under}"


def _slack(results: Sequence[Result]) -> Iterator[str]:
    """What could be claimed much smaller: the rows where by most, and how many more."""
    told = [(result, in_one_line(result)) for result in results]
    slack = [(result, words) for result, words in told if words]
    for result, words in sorted(slack, key=lambda one: -(slack_of(one[0]) or 0.0))[:MAX_SLACK]:
        yield f"slack: {one_line(result['id'])}: {one_line(words)}"
    if len(slack) > MAX_SLACK:
        yield f"slack: {len(slack) - MAX_SLACK} more rows, in the report's column of that name"
