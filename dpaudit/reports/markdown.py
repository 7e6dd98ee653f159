"""A report as a Markdown table, and the place in an existing file (a README) that such a table refreshes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpaudit.errors import InvalidParameterError
from dpaudit.estimates import shown_strength
from dpaudit.report_file.document import write_text
from dpaudit.reports.findings import PaperFindings, findings
from dpaudit.reports.notation import as_number, clean, distinct
from dpaudit.reports.roles import ROLE_WORDS, by_role, in_words, refuted_under, shown_title, unexpected_cells

__all__ = ["BEGIN", "END", "escape", "markdown_table", "refresh"]

BEGIN = "<!-- verdicts -->"
END = "<!-- /verdicts -->"

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~$])")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_HEAD = ("", "id", "claim", "verdict", "at least", "claimed", "at most", "cells")


def escape(text: object) -> str:
    """Foreign text as Markdown that shows exactly these characters, on one line, inside a table cell."""
    line = " ".join(clean(text).split())
    return re.sub("[&<>]", lambda match: _ENTITIES[match[0]], _SPECIAL.sub(r"\\\1", line))


def markdown_table(report: Mapping[str, Any]) -> str:
    """For each paper what it states that is false, by how much and how it is repaired, then one table a role,
    printed claims and steps first; under them what the run was."""
    parts = []
    found = {paper.paper: paper for paper in findings(report)}
    for suite in report["suites"]:
        rows = [result for result in report["results"] if result["suite"] == suite["suite"]]
        if rows:
            heading = " — ".join(escape(suite[name]) for name in ("paper", "title") if suite[name])
            parts += [f"**{heading}**", "", *_findings(found.get(suite["paper"]))]
            found.pop(suite["paper"], None)  # two suites of one paper: its findings stand once
        for role, group in by_role(rows).items():
            parts += [f"{ROLE_WORDS[role]}: {in_words(group)}.", ""]
            parts += [_line(_HEAD), _line(["---"] * len(_HEAD)), *map(_row, group), ""]
    for item in report["unchecked"]:
        parts.append(
            f"- not checkable: {escape(item['id'])} ({escape(item['paper'])}): {escape(item['reason'])}"
        )
    parts += [""] if report["unchecked"] else []
    run = f"profile {report['profile']}, seed {report['seed']}, family-wise error level {report['alpha']:g}"
    state = "" if report["complete"] else "; the run was interrupted, this table is partial"
    parts.append(f"dpaudit {escape(report['tool_version'])}, {run}{state}.")
    return "\n".join(parts) + "\n"


def _findings(paper: PaperFindings | None) -> list[str]:
    """A table of what is false of what a paper states, claims first; nothing where nothing is."""
    false = [item for group in (paper.false.values() if paper else ()) for item in group]
    if not false:
        return []
    head = ("false as printed", "claim", "by how much", "holds as")
    lines = [
        _line(
            [
                escape(item.result["id"]),
                escape(item.result["title"]),
                escape(item.much),
                ", ".join(escape(repair["id"]) for repair in item.repairs) or "no repair here",
            ]
        )
        for item in false
    ]
    return [_line(head), _line(["---"] * len(head)), *lines, ""]


def _row(result: Mapping[str, Any]) -> str:
    numbers = [as_number(result[name]) for name in ("lower", "claimed", "upper")]
    bounds = distinct(*numbers, quantity=result["quantity"])
    strength = f" / {shown_strength(result)}" if shown_strength(result) else ""
    cells = "; ".join(map(escape, unexpected_cells(result)))
    wanted = f"expected {result['expect']}" if result["verdict"] != result["expect"] else cells
    verdict = f"{result['verdict']}{strength}" + ("" if result["as_expected"] else f" ({wanted})")
    verdict += f"; for {escape(result['scope'])}" if result.get("scope") else ""
    under = ", ".join(map(escape, refuted_under(result)))
    verdict += f"; refuted in {under}" if under else ""
    mark = "✓" if result["accepted"] else "✗"
    texts = [mark, *map(escape, (result["id"], shown_title(result))), f"**{verdict}**"]
    return _line([*texts, *map(escape, bounds), in_words(result["cells"])])


def _line(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def refresh(path: Path, table: str) -> None:
    """Write ``table`` to ``path``: between the markers of an existing file, or into a new file that has them.

    Raises ``InvalidParameterError`` where the file exists and does not have each marker once, in order:
    nothing is overwritten.
    """
    block = f"{BEGIN}\n{table}{END}"
    if not path.exists():
        write_text(path, f"{block}\n")
        return
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidParameterError(
            f"the Markdown file must be readable text, got {path}; name another file."
        ) from error
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise InvalidParameterError(
            f"an existing Markdown file must hold {BEGIN} and after it {END}, once each, got {path}; "
            f"add the two lines where the table belongs, or name a new file."
        )
    write_text(path, text[: text.index(BEGIN)] + block + text[text.index(END) + len(END) :])
