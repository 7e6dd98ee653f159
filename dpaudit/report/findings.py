"""Collect the findings of each paper: what it states, what is false and by how much, and the repairs.

The page, ``dpaudit report`` and the Markdown table begin with these findings. Fields of the report that are
missing or of an unexpected type are shown as missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpaudit.core.claims import Controls, LowerBound
from dpaudit.core.estimates import shown_strength
from dpaudit.report.fields import STRENGTHS, read_lines, read_list, read_object, read_text
from dpaudit.report.notation import as_number, distinct, is_infinite, natural_key, show, signs, symbol
from dpaudit.report.roles import HOLDS, STATED, mended_by, role_of

__all__ = ["Finding", "PaperFindings", "by_how_much", "counted", "findings", "first_reason", "named_repair"]

Result = Mapping[str, Any]

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


def findings(report: Mapping[str, Any]) -> list[PaperFindings]:
    """Return the findings of each paper with a row, in the order of the suites, then other papers by name."""
    rows: dict[str, list[Result]] = {}
    for result in sorted(read_list(report, "results"), key=_place):
        rows.setdefault(read_text(result, "paper"), []).append(result)
    suites = [suite for suite in read_list(report, "suites") if isinstance(suite, Mapping)]
    titles: dict[str, dict[str, None]] = {}  # a dict keeps each title of a paper once, in order
    for suite in suites:
        titles.setdefault(read_text(suite, "paper"), {})[read_text(suite, "title")] = None
    named = [read_text(suite, "paper") for suite in suites]
    left = sorted(rows.keys() - set(named), key=natural_key)
    unchecked = Counter(
        read_text(item, "paper") for item in read_list(report, "unchecked") if isinstance(item, Mapping)
    )
    return [
        _paper(name, ", ".join(titles.get(name, ())), rows[name], unchecked[name])
        for name in dict.fromkeys([*named, *left])
        if name in rows
    ]


def _place(result: Result) -> tuple[Any, ...]:
    return natural_key(read_text(result, "id"))


def _paper(name: str, title: str, rows: Sequence[Result], unchecked: int) -> PaperFindings:
    stated = {role: tuple(row for row in rows if role_of(row) == role) for role in STATED}
    mending: dict[str, list[Result]] = {}
    for row in rows:
        for mended in dict.fromkeys(mended_by(row)):
            mending.setdefault(mended, []).append(row)
    false = {
        role: tuple(_finding(row, mending) for row in group if row.get("verdict") == "refuted")
        for role, group in stated.items()
    }
    return PaperFindings(
        paper=name,
        title=title,
        stated={role: group for role, group in stated.items() if group},
        false={role: group for role, group in false.items() if group},
        open=tuple(row for group in stated.values() for row in group if row.get("verdict") == "inconclusive"),
        outside=tuple(r for r in rows if role_of(r) == "what-if" and r.get("verdict") == "refuted"),
        unchecked=unchecked,
    )


def _finding(row: Result, mending: Mapping[str, Sequence[Result]]) -> Finding:
    repairs = mending.get(read_text(row, "id"), ())
    return Finding(
        row,
        by_how_much(row),
        tuple(repair for repair in repairs if repair.get("verdict") in HOLDS),
        tuple(repair for repair in repairs if repair.get("verdict") not in HOLDS),
    )


def counted(rows: Iterable[Result], verdict: str) -> str:
    """Return how many rows have a verdict, split by strength: ``12 (8 proved, 4 tested)``."""
    group = [row for row in rows if row.get("verdict") == verdict]
    kinds = Counter(shown_strength(row) for row in group)
    known = [f"{kinds[kind]} {kind}" for kind in STRENGTHS[::-1] if kind != "none" and kinds[kind]]
    return f"{len(group)} ({', '.join(known)})" if known else str(len(group))


def by_how_much(result: Result) -> str:
    """Compare the bound of a refuted row with its claim: ``ε ≥ 1.499, claimed ≤ 1 (1.49 times)``.

    If the row itself has no such bound, the text names the first refuted deciding cell that has one. It is
    empty if there is none, and for rows about controls, whose number counts cells.
    """
    if read_object(result, "claim").get("type") == Controls.type:
        return ""
    own = _missed(result)
    if own:
        return own
    for cell in read_list(result, "cells"):
        if (
            isinstance(cell, Mapping)
            and cell.get("verdict") == "refuted"
            and cell.get("deciding") is not False
        ):
            missed = _missed(cell)
            if missed:
                return f"{missed} at {signs(read_text(cell, 'name'))}"
    return ""


def _missed(part: Result) -> str:
    """Return the bound of a row or cell that contradicts its claim, and the claim, or an empty text."""
    at_least = read_object(part, "claim").get("type") == LowerBound.type
    lower, claimed, upper = (as_number(part.get(key)) for key in ("lower", "claimed", "upper"))
    found = upper if at_least else lower
    if found is None or claimed is None or not (found < claimed if at_least else found > claimed):
        return ""
    low, claim, high = distinct(lower, claimed, upper, quantity=part.get("quantity"))
    quantity = symbol(part.get("quantity"))
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
    verdict = read_text(repair, "verdict")
    return read_text(repair, "id") + (f" ({verdict})" if verdict != "verified" else "")


def first_reason(result: Result) -> str:
    """Return the first reason or unmet condition of an open row, or of its first open cell that has one."""
    cells = [cell for cell in read_list(result, "cells") if isinstance(cell, Mapping)]
    for part in (result, *(cell for cell in cells if cell.get("verdict") == "inconclusive")):
        for line in (*read_lines(part, "reasons"), *read_lines(part, "obstacles")):
            return line
    return ""
