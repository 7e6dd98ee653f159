"""Collect the findings of each paper: what it states, what is false and by how much, and the repairs.

The page, ``dpaudit report`` and the Markdown table begin with these findings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dpaudit.report.file.parts import Part, Result
from dpaudit.report.file.report import Report
from dpaudit.report.notation import distinct, is_infinite, natural_key, show, signs, symbol
from dpaudit.report.roles import HOLDS, STATED, STRENGTHS

__all__ = ["Finding", "PaperFindings", "by_how_much", "counted", "findings", "first_reason", "named_repair"]

#: The factor between bound and claim is shown only if it is at least this.
FACTOR_FROM = 1.005


@dataclass(frozen=True)
class Finding:
    """A stated row that is false.

    ``much`` compares the bound with the claim in words. ``repairs`` are the repairs of this row that hold.
    ``tried`` are its repairs that are refuted or open.
    """

    result: Result
    much: str
    repairs: tuple[Result, ...]
    tried: tuple[Result, ...]


@dataclass(frozen=True)
class PaperFindings:
    """The findings of one paper.

    ``stated`` holds the rows that the paper itself states, by role (``STATED``), without empty roles.
    ``false`` and ``open`` are among them, claims before steps. ``outside`` holds refuted settings outside the
    stated conditions. ``unchecked`` counts the claims that no computation can check.
    """

    paper: str
    title: str
    stated: Mapping[str, tuple[Result, ...]]
    false: Mapping[str, tuple[Finding, ...]]
    open: tuple[Result, ...]
    outside: tuple[Result, ...]
    unchecked: int


def findings(report: Report) -> list[PaperFindings]:
    """Return the findings of each paper with a row, in the order of the suites, then other papers by name."""
    rows: dict[str, list[Result]] = {}
    for result in sorted(report.results, key=lambda row: natural_key(row.id)):
        rows.setdefault(result.paper, []).append(result)
    titles: dict[str, dict[str, None]] = {}  # a dict keeps each title of a paper once, in order
    for suite in report.suites:
        titles.setdefault(suite.paper, {})[suite.title] = None
    left = sorted(rows.keys() - titles.keys(), key=natural_key)
    unchecked = Counter(item.paper for item in report.unchecked)
    return [
        _paper(name, ", ".join(titles.get(name, ())), rows[name], unchecked[name])
        for name in (*titles, *left)
        if name in rows
    ]


def _paper(name: str, title: str, rows: Sequence[Result], unchecked: int) -> PaperFindings:
    stated = {role: tuple(row for row in rows if row.role == role) for role in STATED}
    false = {
        role: tuple(_finding(row, rows) for row in group if row.verdict == "refuted")
        for role, group in stated.items()
    }
    return PaperFindings(
        paper=name,
        title=title,
        stated={role: group for role, group in stated.items() if group},
        false={role: group for role, group in false.items() if group},
        open=tuple(row for group in stated.values() for row in group if row.verdict == "inconclusive"),
        outside=tuple(row for row in rows if row.does_not_extend),
        unchecked=unchecked,
    )


def _finding(false: Result, rows: Sequence[Result]) -> Finding:
    repairs = [row for row in rows if false.id in row.mends]
    return Finding(
        false,
        by_how_much(false),
        tuple(row for row in repairs if row.verdict in HOLDS),
        tuple(row for row in repairs if row.verdict not in HOLDS),
    )


def counted(rows: Iterable[Result], verdict: str) -> str:
    """Return how many rows have a verdict, split by strength: ``12 (8 proved, 4 tested)``."""
    group = [row for row in rows if row.verdict == verdict]
    kinds = Counter(row.shown_strength for row in group)
    known = [f"{kinds[kind]} {kind}" for kind in STRENGTHS[::-1] if kinds[kind]]
    return f"{len(group)} ({', '.join(known)})" if known else str(len(group))


def by_how_much(result: Result) -> str:
    """Compare the bound of a refuted row with its claim: ``ε ≥ 1.499, claimed ≤ 1 (1.49 times)``.

    If the row itself has no such bound, the text names the first refuted deciding cell that has one. It is
    empty if there is none, and for rows about controls, whose number counts cells.
    """
    if result.claim.counts_controls:
        return ""
    false = (cell for cell in result.cells if cell.verdict == "refuted" and cell.deciding)
    inside = (f"{missed} at {signs(cell.name)}" for cell in false if (missed := _missed(cell)))
    return _missed(result) or next(inside, "")


def _missed(part: Part) -> str:
    """Return the bound of a row or cell that contradicts its claim, and the claim, or an empty text."""
    at_least, claimed = part.claim.at_least, part.claimed
    found = part.upper if at_least else part.lower
    if found is None or claimed is None or not (found < claimed if at_least else found > claimed):
        return ""
    low, claim, high = distinct(*part.numbers, quantity=part.quantity)
    quantity = symbol(part.quantity)
    if at_least:
        return f"{quantity} ≤ {high}, claimed ≥ {claim}{_factor(claimed, found)}"
    return f"{quantity} ≥ {low}, claimed ≤ {claim}{_factor(found, claimed)}"


def _factor(large: float, small: float) -> str:
    """Return the ratio of bound and claim, rounded down.

    The text is empty if either number is 1, because the other one is then the factor, and if there is no
    finite ratio.
    """
    if not 0 < small < large or 1 in (large, small) or is_infinite(large) or large < FACTOR_FROM * small:
        return ""
    return f" ({show(large / small, digits=3, toward='down')} times)"


def named_repair(repair: Result) -> str:
    """Return the id of a repair that holds, with its verdict if that is only consistent."""
    return repair.id + (f" ({repair.verdict})" if repair.verdict != "verified" else "")


def first_reason(result: Result) -> str:
    """Return the first reason or unmet condition of an open row, or of its first open cell that has one."""
    parts = (result, *(cell for cell in result.cells if cell.verdict == "inconclusive"))
    return next((line for part in parts for line in (*part.reasons, *part.obstacles)), "")
