"""What a row's function raises at one of its points: that point is a cell that crashed, the others keep what
they found.

The row has crashed with it: nothing is claimed of all its points while one of them is unknown. A function
that raises when the suite is imported leaves a row that can only crash (``built``); the other rows run.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from dpaudit.core.claims import Claim, Unbuilt
from dpaudit.core.errors import DpauditError, InvalidParameterError
from dpaudit.core.suite import Cell, Group, Outcome, Role, Row, Run
from dpaudit.suite.grid import Point, in_words

__all__ = ["Raised", "built", "cells_or_crash", "crashed_cell", "crashed_points"]

Built = TypeVar("Built")

#: Lines of a traceback that a cell keeps, and crashed points that a row without cells names one by one.
TRACEBACK_LINES, NAMED = 40, 20


@dataclass(frozen=True)
class Raised:
    """An error, and the point of the grid at which it came up."""

    point: Point
    error: Exception


def built(
    rows: Group,
    id: str,
    source: str,
    make: Callable[[], Built],
    *,
    title: str,
    role: Role,
    expect: str = "verified",
    repairs: str | Sequence[str] = (),
) -> Built | None:
    """Return what ``make`` returns, which calls a row's function while the suite is imported. If it raises,
    add the row ``id`` without a claim, whose evaluation raises that error, and return ``None``."""
    try:
        return make()
    except Exception as raised:  # a suite may raise anything: it is that row's, and loses no other
        error, trace = raised, raised.__traceback__

    def evaluate(run: Run) -> Outcome:
        raise error.with_traceback(trace)

    evaluate.__doc__ = title
    rows.add(
        Row(
            id=id,
            title=title,
            kind="structure",  # "privacy" takes a privacy claim, and there is none
            claim=Unbuilt(text="no claim: the row's function raised when the suite was imported"),
            evaluate=evaluate,
            expect=expect,
            source=source,
            role=role,
            repairs=repairs,
        )
    )
    return None


def crashed_cell(name: str, claim: Claim, error: Exception, *, expect: str = "verified") -> Cell:
    """The cell ``name``, which was to be about ``claim`` and raised ``error``."""
    lines = "".join(traceback.format_exception(error)).splitlines()
    kept = lines if len(lines) <= TRACEBACK_LINES else [*lines[:3], "  ...", *lines[4 - TRACEBACK_LINES :]]
    return Cell(
        name=name,
        claim=claim,
        evidence=[],
        expect=expect,
        error=_in_one_line(error),
        traceback="\n".join(kept),
    )


def cells_or_crash(
    name: str, claim: Claim, find: Callable[[], list[Cell]], *, expect: str = "verified"
) -> list[Cell]:
    """The cells that ``find`` returns, or the one that says what it raised."""
    try:
        return find()
    except Exception as error:  # a suite may raise anything: it is that cell's, and loses no other
        return [crashed_cell(name, claim, error, expect=expect)]


def crashed_points(raised: Sequence[Raised], claim: Claim, *, before: str = "") -> list[Cell]:
    """A cell for each of the first points that raised, and one for all others; ``before`` goes before their
    names, which would otherwise be taken."""
    cells: list[Cell] = []
    for number, item in enumerate(raised[:NAMED], start=1):
        cells.append(_named(item, claim, before, taken=[cell.name for cell in cells], number=number))
    if len(raised) > NAMED:
        rest = f"{before}{len(raised) - NAMED} more points that raised"
        cells.append(crashed_cell(rest, claim, raised[NAMED].error))
    return cells


def _named(item: Raised, claim: Claim, before: str, *, taken: Sequence[str], number: int) -> Cell:
    """The cell of one point, by its parameters where they make a name of their own."""
    name = f"{before}{in_words(item.point) or 'the computation'}"
    try:
        if name not in taken:
            return crashed_cell(name, claim, item.error)
    except InvalidParameterError:
        pass  # parameters that are no name: too long, or in letters that a name must not have
    return crashed_cell(f"{before}point {number} of those that raised", claim, item.error)


def _in_one_line(error: Exception) -> str:
    """The error in words, its type where it is none of ours, and what was noted on it (its point)."""
    text = str(error) if isinstance(error, DpauditError) else f"{type(error).__name__}: {error}"
    notes = getattr(error, "__notes__", [])
    return " ".join(" ".join([text.rstrip(": "), *(f"({note})" for note in notes)]).split())
