"""Write a report as Markdown: a table, also into an existing file, and a summary of a run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from dpaudit.core.errors import InvalidParameterError
from dpaudit.report.file.document import write_text
from dpaudit.report.file.parts import Result
from dpaudit.report.file.report import Report
from dpaudit.report.findings import PaperFindings, findings, named_repair
from dpaudit.report.notation import clean, distinct
from dpaudit.report.roles import (
    VERDICTS,
    about_a_paper,
    by_role,
    false_as_printed,
    in_words,
    role_headings,
)

__all__ = ["BEGIN", "END", "SHOWN_FINDINGS", "escape", "markdown_summary", "markdown_table", "refresh"]

BEGIN = "<!-- verdicts -->"
END = "<!-- /verdicts -->"

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~$])")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}

#: Rows of each list of findings in a summary. Code hosts cut off a summary above one megabyte.
SHOWN_FINDINGS = 100
#: Reasons of a row, and characters of each, in a summary.
SHOWN_REASONS, SHOWN_REASON = 3, 500

_HEAD = ("", "id", "claim", "verdict", "at least", "claimed", "at most", "cells")


def escape(text: object) -> str:
    """Escape foreign text so that Markdown shows exactly these characters on one line of a table cell."""
    line = " ".join(clean(text).split())
    return re.sub("[&<>]", lambda match: _ENTITIES[match[0]], _SPECIAL.sub(r"\\\1", line))


def markdown_table(report: Report) -> str:
    """Return the false claims of each paper with their repairs, then one table for each role.

    Stated claims and steps come first. The last line describes the run.
    """
    parts = []
    headings, of_a_paper = role_headings(report.results), about_a_paper(report.results)
    found = {paper.paper: paper for paper in findings(report)}
    for suite in report.suites:
        rows = [result for result in report.results if result.suite == suite.suite]
        if rows:
            heading = " — ".join(escape(text) for text in (suite.paper, suite.title) if text)
            parts += [f"**{heading}**", "", *_findings(found.get(suite.paper), of_a_paper=of_a_paper)]
            found.pop(suite.paper, None)  # show the findings of a paper with two suites once
        for role, group in by_role(rows).items():
            parts += [f"{headings[role]}: {in_words(group)}.", ""]
            parts += [_line(_HEAD), _line(["---"] * len(_HEAD)), *map(_row, group), ""]
    unchecked = report.shown_unchecked
    for item in unchecked:
        parts.append(f"- not checkable: {escape(item.id)} ({escape(item.paper)}): {escape(item.reason)}")
    parts += [""] if unchecked else []
    parts.append(_about_the_run(report))
    return "\n".join(parts) + "\n"


def _about_the_run(report: Report) -> str:
    run = f"profile {report.profile}, seed {report.seed}, significance level {report.alpha:g}"
    state = "" if report.complete else ". The run was interrupted, so this table is partial"
    return f"dpaudit {escape(report.tool_version)}, {run}{state}."


def markdown_summary(report: Report) -> str:
    """Return a summary of a run on one page.

    It lists suites that did not import, rows that are not as expected with their reasons, false claims,
    refuted repairs, and refuted what-ifs. Then it counts the verdicts of each role. Each list has at most
    ``SHOWN_FINDINGS`` rows and states its total.
    """
    results = report.results
    headings = role_headings(results)
    refused = [row for row in results if not row.accepted]
    count = f"{len(results)} rows" if len(results) != 1 else "1 row"
    parts = [f"## dpaudit: {count}, {len(results) - len(refused)} as expected, {len(refused)} not", ""]
    for item in report.broken:
        parts += [f"- not run: {escape(item.suite)}: {_cut(item.reason)}", ""]
    parts += _listed("Not as expected", refused)
    parts += [line for row in refused[:SHOWN_FINDINGS] for line in _why(row)]
    parts += [""] if refused else []
    repairs = [row for row in results if row.role == "repaired" and row.verdict == "refuted"]
    parts += _listed(
        "False as printed" if about_a_paper(results) else "False claims", false_as_printed(results)
    )
    parts += _listed("Refuted repairs", repairs)
    parts += _listed("Does not extend", [row for row in results if row.does_not_extend])
    parts += ["### All rows by role", "", _line(["role", *VERDICTS]), _line(["---"] * (1 + len(VERDICTS)))]
    for role, group in by_role(results).items():
        counts = [str(sum(row.verdict == verdict for row in group)) for verdict in VERDICTS]
        parts.append(_line([headings[role], *counts]))
    return "\n".join([*parts, "", _about_the_run(report)]) + "\n"


def _listed(heading: str, rows: Sequence[Result]) -> list[str]:
    """Return a heading with the number of rows and a table of the first rows, or nothing for no rows."""
    if not rows:
        return []
    left = len(rows) - SHOWN_FINDINGS
    more = [f"and {left} more in the report", ""] if left > 0 else []
    table = [_line(_HEAD), _line(["---"] * len(_HEAD)), *map(_row, rows[:SHOWN_FINDINGS]), ""]
    return [f"### {heading}: {len(rows)}", "", *table, *more]


def _why(row: Result) -> list[str]:
    reasons = [_cut(reason) for reason in row.reasons[:SHOWN_REASONS]]
    return [f"- {escape(row.id)}: {'; '.join([*reasons, 'again: ' + escape(row.reproduce)])}"]


def _cut(text: str) -> str:
    return escape(text if len(text) <= SHOWN_REASON else f"{text[:SHOWN_REASON]} ...")


def _findings(paper: PaperFindings | None, *, of_a_paper: bool) -> list[str]:
    """Return a table of a paper's false claims and steps, claims first, or nothing if there are none."""
    false = [item for group in (paper.false.values() if paper else ()) for item in group]
    if not false:
        return []
    columns = 4 if of_a_paper else 3  # claims without a paper have no repairs
    head = ("false as printed" if of_a_paper else "false", "claim", "by how much", "holds as")[:columns]
    lines = [
        _line(
            [
                escape(item.result.id),
                escape(item.result.title),
                escape(item.much),
                ", ".join(escape(named_repair(repair)) for repair in item.repairs) or "no repair here",
            ][:columns]
        )
        for item in false
    ]
    return [_line(head), _line(["---"] * len(head)), *lines, ""]


def _row(result: Result) -> str:
    bounds = distinct(*result.numbers, quantity=result.quantity)
    strength = f" / {result.shown_strength}" if result.shown_strength else ""
    cells = "; ".join(map(escape, result.unexpected_cells))
    wanted = f"expected {result.expect}" if result.surprising else cells
    verdict = f"{result.shown_verdict}{strength}" + ("" if result.as_expected else f" ({wanted})")
    verdict += f"; for {escape(result.scope)}" if result.scope else ""
    under = ", ".join(map(escape, result.refuted_cells))
    verdict += f"; refuted in {under}" if under else ""
    mark = "✓" if result.accepted else "✗"
    texts = [mark, *map(escape, (result.id, result.shown_title)), f"**{verdict}**"]
    return _line([*texts, *map(escape, bounds), in_words(result.cells)])


def _line(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def refresh(path: Path, table: str) -> None:
    """Write ``table`` between the markers of an existing file, or into a new file with markers.

    Raises ``InvalidParameterError`` if the file exists and does not have each marker once, in order. Other
    text is never overwritten.
    """
    block = f"{BEGIN}\n{table}{END}"
    if not path.exists():
        write_text(path, f"{block}\n")
        return
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidParameterError(
            f"the Markdown file must be readable text, got {path}.", code="E-MARKDOWN-READ"
        ) from error
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise InvalidParameterError(
            f"an existing Markdown file must hold {BEGIN} and after it {END}, once each, got {path}. "
            "Add the two lines where the table belongs.",
            code="E-MARKDOWN-MARKERS",
        )
    write_text(path, text[: text.index(BEGIN)] + block + text[text.index(END) + len(END) :])
