"""Turn errors of a row's function into crashed cells, one for each point that raised.

The other points keep their results. The row crashes too, because it claims all its points and one of them is
unknown.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dpaudit.core.claims import Claim
from dpaudit.core.errors import DpauditError, InvalidParameterError
from dpaudit.core.suite import Cell
from dpaudit.suite.grid import Point, in_words

__all__ = ["Raised", "cells_or_crash", "crashed_cell", "crashed_points"]

#: Lines of a traceback that a cell keeps, and crashed points that are named one by one in a row without
#: cells.
TRACEBACK_LINES, NAMED = 40, 20


@dataclass(frozen=True)
class Raised:
    """An error, and the point of the grid at which it occurred."""

    point: Point
    error: Exception


def crashed_cell(name: str, claim: Claim, error: Exception, *, expect: str = "verified") -> Cell:
    """Return the cell ``name`` about ``claim``, which raised ``error``."""
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
    """Return the cells of ``find``, or a crashed cell if it raises."""
    try:
        return find()
    except Exception as error:  # a suite may raise anything, and other cells must not be lost
        return [crashed_cell(name, claim, error, expect=expect)]


def crashed_points(raised: Sequence[Raised], claim: Claim, *, before: str = "") -> list[Cell]:
    """Return a cell for each of the first points that raised, and one for all others.

    ``before`` is a prefix of their names, which may be taken otherwise.
    """
    cells: list[Cell] = []
    for number, item in enumerate(raised[:NAMED], start=1):
        cells.append(_named(item, claim, before, taken=[cell.name for cell in cells], number=number))
    if len(raised) > NAMED:
        rest = f"{before}{len(raised) - NAMED} more points that raised"
        cells.append(crashed_cell(rest, claim, raised[NAMED].error))
    return cells


def _named(item: Raised, claim: Claim, before: str, *, taken: Sequence[str], number: int) -> Cell:
    """Return the cell of one point, named by its parameters if these make a valid and unique name."""
    name = f"{before}{in_words(item.point) or 'the computation'}"
    try:
        if name not in taken:
            return crashed_cell(name, claim, item.error)
    except InvalidParameterError:
        pass  # the parameters are not a valid name: too long, or with characters that a name must not have
    return crashed_cell(f"{before}point {number} of those that raised", claim, item.error)


def _in_one_line(error: Exception) -> str:
    """Return the error's text, its type unless it is one of dpaudit's, and its notes (such as the point)."""
    text = str(error) if isinstance(error, DpauditError) else f"{type(error).__name__}: {error}"
    notes = getattr(error, "__notes__", [])
    return " ".join(" ".join([text.rstrip(": "), *(f"({note})" for note in notes)]).split())
