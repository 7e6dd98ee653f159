"""A whole report as typed values, from which every format is made, and as pandas data frames.

Use ``Report.read("dpaudit-report.json").to_frame()``. Only this module imports pandas, and only when a frame
is made, because checking a report does not need it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dpaudit.report.file.document import read_report
from dpaudit.report.file.parts import Part, Result
from dpaudit.report.notation import is_infinite

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")

__all__ = ["BrokenRecord", "Report", "SuiteRecord", "UncheckedRecord"]

_NUMBERS = ("claimed", "lower", "upper", "slack", "confidence")
#: Fields that rows and cells share.
_SHARED = ("claim", "expect", "verdict", "strength", "quantity")
_ROW = [
    *("id", "claim_id", "paper", "role", "kind", "view", "title"),
    *_SHARED,
    *("as_expected", "accepted"),
    *_NUMBERS,
    *("alpha", "samples", "seconds", "cells", "cells_not_as_expected", "source", "suite", "scope"),
]
_CELL = ["id", "claim_id", "paper", "role", "cell", "deciding", *_SHARED, *_NUMBERS, "samples", "scope"]


@dataclass(frozen=True)
class SuiteRecord:
    """A suite of a report: its file, its paper, and the sources that it was made from."""

    suite: str
    paper: str
    title: str
    reference: str
    sha256: str
    commit: str | None
    modified: bool | None
    symbols: Mapping[str, str]


@dataclass(frozen=True)
class UncheckedRecord:
    """A claim that no computation can check."""

    paper: str
    id: str
    reason: str


@dataclass(frozen=True)
class BrokenRecord:
    """A suite that did not import."""

    suite: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Report:
    """A report that was read.

    Parameters
    ----------
    document : mapping
        The JSON report. The other fields are its parts as typed values.

    Examples
    --------
    ``Report.read("dpaudit-report.json").to_frame()`` returns a pandas data frame with one line per row.
    """

    document: Mapping[str, Any]
    tool_version: str
    profile: str
    seed: int
    alpha: float
    complete: bool
    require: str | None
    accept: str | None
    started: str
    command: str
    suites: tuple[SuiteRecord, ...]
    broken: tuple[BrokenRecord, ...]
    unchecked: tuple[UncheckedRecord, ...]
    results: tuple[Result, ...]

    def __repr__(self) -> str:
        """Return the profile and the number of rows by verdict."""
        counts = Counter(row.verdict for row in self.results)
        told = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
        return f"<Report: profile {self.profile}, {counts.total()} rows: {told}>"

    @classmethod
    def read(cls, path: str | Path) -> Report:
        """Read the report at ``path``. Raises ``BrokenReportError`` unless it is a complete report file."""
        return cls.from_json(read_report(Path(path)))

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Report:
        """Return the typed values of a JSON report that fits the schema."""
        settings = ("tool_version", "profile", "seed", "alpha", "complete", "require", "accept")
        return cls(
            document=document,
            **{name: document[name] for name in settings},
            started=document["stamps"]["started"],
            command=document["stamps"]["command"],
            suites=tuple(_known(SuiteRecord, {"symbols": {}} | suite) for suite in document["suites"]),
            broken=tuple(_known(BrokenRecord, item) for item in document.get("broken", ())),
            unchecked=tuple(_known(UncheckedRecord, item) for item in document["unchecked"]),
            results=tuple(map(Result.from_json, document["results"])),
        )

    @property
    def shown_unchecked(self) -> list[UncheckedRecord]:
        """The claims that no computation can check, of the papers with a row in this report.

        A run with ``-k`` reports only these. A report without rows keeps all of them.
        """
        papers = {row.paper for row in self.results}
        return [item for item in self.unchecked if not papers or item.paper in papers]

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with one line per row.

        ``claim`` is the claim in words, ``claim_id`` is the row's id up to its first slash, and ``cells`` is
        the number of cells. A missing bound is NaN, and an infinite bound is infinite.
        """
        return _frame(
            (
                _line(row, _ROW, cells=len(row.cells), cells_not_as_expected=len(row.unexpected_cells))
                for row in self.results
            ),
            columns=_ROW,
        )

    def cells_frame(self) -> pd.DataFrame:
        """Return a data frame with one line per cell, with the ``id`` and ``role`` of its row."""
        lines = (
            _line(cell, _CELL, cell=cell.name)
            | {name: getattr(row, name) for name in ("id", "claim_id", "paper", "role")}
            for row in self.results
            for cell in row.cells
        )
        return _frame(lines, columns=_CELL)


def _known(kind: type[T], data: Mapping[str, Any]) -> T:
    """Return a record of the fields that this version knows."""
    return kind(**{name: data[name] for name in kind.__annotations__})


def _line(part: Part, columns: list[str], **own: Any) -> dict[str, Any]:
    plain = {name: getattr(part, name) for name in columns if name not in own and hasattr(part, name)}
    numbers = {name: _number(getattr(part, name)) for name in _NUMBERS}
    return plain | own | {"claim": part.claim.in_words} | numbers


def _number(number: float | None) -> float:
    if number is None:
        return math.nan
    return math.copysign(math.inf, number) if is_infinite(number) else number


def _frame(lines: Iterable[dict[str, Any]], *, columns: list[str]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(list(lines), columns=columns)
