"""Make the page on public packages from reports: ``python -m benchmarks.libraries REPORT PAGE``.

    dpaudit run audits/libraries --quick --json libraries.json
    python -m benchmarks.libraries libraries.json docs/libraries.md

Not all packages can be installed in one environment, so there may be several reports. If a row is in two of
them, the later report counts. The text between the markers of the page is replaced.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

from dpaudit.core.errors import InvalidParameterError
from dpaudit.report.file.document import write_text
from dpaudit.report.file.parts import Result
from dpaudit.report.file.report import Report
from dpaudit.report.markdown import escape
from dpaudit.report.notation import distinct

__all__ = ["BEGIN", "END", "main", "page_of"]

BEGIN, END = "<!-- libraries -->", "<!-- /libraries -->"

PAPER = "libraries"

_HEAD = ("row", "claim", "verdict", "lower bound", "claimed", "run on")


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the reports and write the page; the page must have both markers."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.libraries",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("reports", nargs="+", type=Path, metavar="REPORT")
    parser.add_argument("page", type=Path, metavar="PAGE")
    chosen = parser.parse_args(arguments)
    text = chosen.page.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise InvalidParameterError(
            f"the page must hold {BEGIN} and after it {END}, once each, got {chosen.page}."
        )
    made = page_of([Report.read(path) for path in chosen.reports])
    write_text(chosen.page, f"{text[: text.index(BEGIN)]}{BEGIN}\n{made}{text[text.index(END) :]}")


def page_of(reports: Sequence[Report]) -> str:
    """Return the text between the markers: each refutation with its reason, then all rows."""
    rows: dict[str, tuple[Result, str]] = {}
    for report in reports:
        rows |= {row.id: (row, report.started[:10]) for row in report.results if row.paper == PAPER}
    if not rows:
        raise InvalidParameterError(f"the reports must hold rows of the suite {PAPER!r}, got none.")
    dated = [rows[name] for name in sorted(rows)]
    ordered = [row for row, _ in dated]
    refuted = [row for row in ordered if row.verdict == "refuted"]
    printed = [row for row in refuted if row.role == "printed"]
    beyond = [row for row in refuted if row.role != "printed"]
    parts = ["## Refuted claims", "", *_findings(printed)]
    parts += ["## Does not extend", "", *_findings(beyond)] if beyond else []
    parts += ["## All rows", "", _count(ordered), "", _line(_HEAD), _line(["---"] * len(_HEAD))]
    return "\n".join([*parts, *(_row(row, day) for row, day in dated)]) + "\n"


def _findings(rows: Iterable[Result]) -> list[str]:
    """Return a paragraph for each row: the claim, the size of the violation, its cause and a repair."""
    return [part for row in rows for part in (f"### {escape(row.title)}", "", _finding(row), "")]


def _finding(row: Result) -> str:
    lower, claimed, _ = _bounds(row)
    claim = row.claim.data
    return (
        f"`{row.id}`, model `{claim['model']}`, {claim['adjacency']}: the formula gives "
        f"{escape(row.quantity)} at least {lower}, and {claimed} is claimed. Refuted after "
        f"{row.samples:,} runs. {escape(row.notes[0])}"
    )


def _count(rows: Sequence[Result]) -> str:
    packages = len({row.source.split()[0] for row in rows})
    refuted = sum(row.verdict == "refuted" for row in rows)
    return f"{len(rows)} rows on {packages} packages: {refuted} refuted, {len(rows) - refuted} inconclusive."


def _bounds(row: Result) -> tuple[str, str, str]:
    lower, claimed, upper = map(escape, distinct(*row.numbers, quantity=row.quantity))
    return lower, claimed, upper


def _row(row: Result, day: str) -> str:
    lower, claimed, _ = _bounds(row)
    verdict = f"**{row.verdict}**" + (f" ({row.role})" if row.role != "printed" else "")
    return _line([f"`{row.id}`", escape(row.title), verdict, lower, claimed, day])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
