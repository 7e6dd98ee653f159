"""What a run found, for each paper: what it states, what holds, what does not, by how much, how it is
repaired. The page, the terminal and the Markdown table all begin with it.

It reads results as a report has them; fields that are missing or of another type are shown as missing.
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

#: A claim that is missed by less than this factor is told by its numbers alone.
WORTH_A_FACTOR = 1.005


@dataclass(frozen=True)
class Finding:
    """A statement of a paper that is false. ``much`` is by how much, in words; ``repairs`` are the repairs of
    this very row that hold, ``tried`` those that do not or are open.
    """

    result: Result
    much: str
    repairs: tuple[Result, ...]
    tried: tuple[Result, ...]


@dataclass(frozen=True)
class PaperFindings:
    """One paper. ``stated`` has the rows that the paper itself states, by role (``STATED``), roles without
    rows left out; ``false`` and ``open`` are among them, claims before steps. ``outside`` are the settings
    that a claim does not extend to, ``unchecked`` counts the claims that no computation can check.
    """

    paper: str
    title: str
    stated: Mapping[str, tuple[Result, ...]]
    false: Mapping[str, tuple[Finding, ...]]
    open: tuple[Result, ...]
    outside: tuple[Result, ...]
    unchecked: int


def findings(report: Mapping[str, Any]) -> list[PaperFindings]:
    """The findings of each paper that has a row, in the order of the suites, other papers by name."""
    rows: dict[str, list[Result]] = {}
    for result in sorted(read_list(report, "results"), key=_place):
        rows.setdefault(read_text(result, "paper"), []).append(result)
    suites = [suite for suite in read_list(report, "suites") if isinstance(suite, Mapping)]
    titles: dict[str, dict[str, None]] = {}  # of a paper in several files each title once, in their order
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
    """How many rows have a verdict, with the strengths behind it: ``12 (8 proved, 4 tested)``."""
    group = [row for row in rows if row.get("verdict") == verdict]
    kinds = Counter(shown_strength(row) for row in group)
    known = [f"{kinds[kind]} {kind}" for kind in STRENGTHS[::-1] if kind != "none" and kinds[kind]]
    return f"{len(group)} ({', '.join(known)})" if known else str(len(group))


def by_how_much(result: Result) -> str:
    """What a refuted row found against what it claims: ``ε ≥ 1.499, claimed ≤ 1 (1.49 times)``.

    Where the row has no bound of its own, the first refuted cell that decides speaks for it, by name. Empty
    where neither has one, and for rows about controls, whose number counts cells.
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
            told = _missed(cell)
            if told:
                return f"{told} at {signs(read_text(cell, 'name'))}"
    return ""


def _missed(part: Result) -> str:
    """The bound of a row or a cell that contradicts its claim, and the claim; empty where none does."""
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
    """How many times too large or too small, rounded down; nothing where the claim is 1, so that the bound is
    the factor, or where there is no ratio."""
    if not 0 < small < large or 1 in (large, small) or is_infinite(large) or large < WORTH_A_FACTOR * small:
        return ""
    return f" ({show(large / small, digits=3, toward='down')} times)"


def named_repair(repair: Result) -> str:
    """The id of a repair that holds, with its verdict where that is no more than consistent."""
    held = read_text(repair, "verdict")
    return read_text(repair, "id") + (f" ({held})" if held != "verified" else "")


def first_reason(result: Result) -> str:
    """Why a row is open: its first reason, else its first unmet condition, else those of its open cells."""
    cells = [cell for cell in read_list(result, "cells") if isinstance(cell, Mapping)]
    for part in (result, *(cell for cell in cells if cell.get("verdict") == "inconclusive")):
        for line in (*read_lines(part, "reasons"), *read_lines(part, "obstacles")):
            return line
    return ""
