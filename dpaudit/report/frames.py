"""Convert a report to tidy data frames with one line per row, or one line per cell.

Use ``Report.read("dpaudit-report.json").to_frame()``. Only this module imports pandas, and only when a frame
is made, because checking a report does not need it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpaudit.report.file.document import read_report
from dpaudit.report.notation import as_number, is_infinite
from dpaudit.report.roles import claim_id, unexpected_cells

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Report"]

#: Fields that rows and cells share, unchanged from the report.
_SHARED = ("expect", "verdict", "strength", "quantity")
_NUMBERS = ("claimed", "lower", "upper", "slack", "confidence")

_ROW = [
    *("id", "claim_id", "paper", "role", "kind", "view", "title", "claim"),
    *_SHARED,
    *("as_expected", "accepted"),
    *_NUMBERS,
    *("alpha", "samples", "seconds", "cells", "cells_not_as_expected", "source", "suite", "scope"),
]
_CELL = [
    "id",
    "claim_id",
    "paper",
    "role",
    "cell",
    "deciding",
    "claim",
    *_SHARED,
    *_NUMBERS,
    "samples",
    "scope",
]


@dataclass(frozen=True)
class Report:
    """A report that was read.

    Parameters
    ----------
    document : mapping
        The JSON report.

    Examples
    --------
    ``Report.read("dpaudit-report.json").to_frame()`` returns a pandas data frame with one line per row.
    """

    document: Mapping[str, Any]

    def __repr__(self) -> str:
        """Return the profile and the number of rows by verdict."""
        counts = Counter(str(row["verdict"]) for row in self.document["results"])
        told = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
        return f"<Report: profile {self.document['profile']}, {counts.total()} rows: {told}>"

    @classmethod
    def read(cls, path: str | Path) -> Report:
        """Read the report at ``path``. Raises ``BrokenReportError`` unless it is a complete report file."""
        return cls(read_report(Path(path)))

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with one line per row.

        ``claim`` is the claim in words, ``claim_id`` is the row's id up to its first slash, and ``cells`` is
        the number of cells. A missing bound is NaN, and an infinite bound is infinite.
        """
        return _frame(self._rows(), columns=_ROW)

    def cells_frame(self) -> pd.DataFrame:
        """Return a data frame with one line per cell, with the ``id`` and ``role`` of its row."""
        return _frame(self._cells(), columns=_CELL)

    def _rows(self) -> Iterator[dict[str, Any]]:
        for result in self.document["results"]:
            own = {
                "claim_id": claim_id(result["id"]),
                "claim": result["claim"]["in_words"],
                "cells": len(result["cells"]),
                "scope": result.get("scope", ""),
                "cells_not_as_expected": len(unexpected_cells(result)),
            }
            yield {name: result[name] for name in _ROW if name not in own} | own | _numbers(result)

    def _cells(self) -> Iterator[dict[str, Any]]:
        for result in self.document["results"]:
            about = {name: result[name] for name in ("id", "paper", "role")}
            for cell in result["cells"]:
                own = {
                    **about,
                    "claim_id": claim_id(result["id"]),
                    "cell": cell["name"],
                    "scope": cell.get("scope", ""),
                    "claim": cell["claim"]["in_words"],
                }
                yield {name: cell[name] for name in _CELL if name not in own} | own | _numbers(cell)


def _numbers(part: Mapping[str, Any]) -> dict[str, float]:
    return {name: _number(part[name]) for name in _NUMBERS}


def _number(value: object) -> float:
    number = as_number(value)
    if number is None:
        return math.nan
    return math.copysign(math.inf, number) if is_infinite(number) else number


def _frame(lines: Iterator[dict[str, Any]], *, columns: list[str]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(list(lines), columns=columns)
