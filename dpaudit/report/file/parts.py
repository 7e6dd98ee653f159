"""Typed values of a report: results, cells and their evidence, made once from checked JSON.

Every format of a report takes these values. They are made after the schema check of
``dpaudit.report.file.document``, so a required field is there and has its type. What the schema leaves open
(a claim's own fields, the bodies of certificates and witnesses, plots) stays JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from dpaudit.core.claims import Controls, LowerBound
from dpaudit.core.evidence import COMPUTATION

__all__ = [
    "OUTSIDE",
    "BodyRecord",
    "ClaimRecord",
    "EstimateRecord",
    "EvidenceRecord",
    "Location",
    "Part",
    "Result",
    "ResultCell",
    "claim_id",
    "mended_rows",
]

Json = Mapping[str, Any]

#: Prefix of the title of a refuted what-if, whose title is a full sentence.
OUTSIDE = "outside the stated conditions, false: "


@dataclass(frozen=True)
class ClaimRecord:
    """A claim: its type, its sentence, and all its fields as JSON."""

    type: str
    in_words: str
    data: Json

    @property
    def at_least(self) -> bool:
        """Whether the claim is that a value is at least a number."""
        return self.type == LowerBound.type

    @property
    def counts_controls(self) -> bool:
        """Whether the claim is about controls, so that its number counts cells and is no bound."""
        return self.type == Controls.type


@dataclass(frozen=True)
class BodyRecord:
    """A certificate, a proof of a program or of an inequality, or a witness: an exact bound (``None``:
    infinite) with its body.

    ``kind`` is the kind of evidence. ``body`` is the tree of rules of a certificate. ``scope`` is of a
    proof. ``form``, ``origin`` and ``description`` are of a witness.
    """

    kind: str
    quantity: str
    bound: str | None
    body: Json
    assumptions: tuple[str, ...] = ()
    scope: str = ""
    form: str = ""
    origin: str = ""
    description: str = ""


@dataclass(frozen=True)
class EstimateRecord:
    """Bounds from runs, or a computation on a named grid if the confidence is 1."""

    quantity: str
    lower: float | None
    upper: float | None
    confidence: float
    samples: int
    method: str
    scope: str
    seed: int | None
    covers_claim: bool
    details: Json
    kind: str

    @property
    def exact(self) -> bool:
        """Whether this is a computation without samples."""
        return self.kind == COMPUTATION


EvidenceRecord = BodyRecord | EstimateRecord


#: The further texts of each kind of evidence with a body. Other fields of a file are not read.
_TEXTS = {
    "certificate": (),
    "program-proof": ("scope",),
    "inequality-proof": ("scope",),
    "witness": ("form", "origin", "description"),
}


def _evidence(data: Json) -> EvidenceRecord:
    kind = data["evidence"]
    if kind in ("estimate", COMPUTATION):
        names = [field.name for field in fields(EstimateRecord) if field.name != "kind"]
        return EstimateRecord(kind=kind, **{name: data[name] for name in names})
    return BodyRecord(
        kind=kind.replace("-", " "),
        quantity=data["quantity"],
        bound=data["bound"],
        body=data["tree" if kind == "certificate" else "body"],
        assumptions=() if kind == "witness" else tuple(data["assumptions"]),
        **{name: data[name] for name in _TEXTS[kind]},
    )


@dataclass(frozen=True, kw_only=True)
class Part:
    """What results and cells have in common: a claim, its evidence, and the verdict on it."""

    claim: ClaimRecord
    quantity: str
    claimed: float | None
    expect: str
    verdict: str
    strength: str
    lower: float | None
    upper: float | None
    slack: float | None
    confidence: float | None
    samples: int
    evidence: tuple[EvidenceRecord, ...]
    scope: str
    notes: tuple[str, ...]
    obstacles: tuple[str, ...]
    reasons: tuple[str, ...]
    traceback: str

    @classmethod
    def from_json(cls, data: Json) -> Self:
        """Return the typed value of checked JSON."""
        return cls(**cls._fields_of(data))

    @classmethod
    def _fields_of(cls, data: Json) -> dict[str, Any]:
        claim = data["claim"]
        plain = {field.name: data[field.name] for field in fields(cls) if field.name in data}
        numbers = ("claimed", "lower", "upper", "slack", "confidence")
        lines = ("notes", "obstacles", "reasons")
        return plain | {
            "claim": ClaimRecord(claim["type"], claim["in_words"], claim),
            "evidence": tuple(_evidence(item) for item in data["evidence"]),
            "scope": data.get("scope", ""),
            "traceback": data.get("traceback") or "",
            **{name: None if data[name] is None else float(data[name]) for name in numbers},
            **{name: tuple(data[name]) for name in lines},
        }

    @property
    def numbers(self) -> tuple[float | None, float | None, float | None]:
        """The lower bound, the claimed value and the upper bound."""
        return self.lower, self.claimed, self.upper

    @property
    def shown_strength(self) -> str:
        """The strength as reports print it, empty for ``none``."""
        return "" if self.strength == "none" else self.strength

    @property
    def surprising(self) -> bool:
        """Whether the verdict of this part itself differs from the expected one."""
        return self.verdict != self.expect

    @property
    def estimates(self) -> tuple[EstimateRecord, ...]:
        """The estimates and computations of its evidence."""
        return tuple(item for item in self.evidence if isinstance(item, EstimateRecord))


@dataclass(frozen=True, kw_only=True)
class ResultCell(Part):
    """A setting in which a row was checked."""

    name: str
    deciding: bool


@dataclass(frozen=True)
class Location:
    """Where a row is declared, with the file relative to the folder of the suite's file."""

    file: str
    line: int


@dataclass(frozen=True, kw_only=True)
class Result(Part):
    """The result of one row."""

    id: str
    paper: str
    title: str
    kind: str
    role: str
    view: str
    source: str
    suite: str
    alpha: float
    seconds: float
    fresh_processes: int | None
    as_expected: bool
    accepted: bool
    plots: tuple[Json, ...]
    cells: tuple[ResultCell, ...]
    repairs: tuple[str, ...]
    location: Location | None
    reproduce: str

    @classmethod
    def _fields_of(cls, data: Json) -> dict[str, Any]:
        return super()._fields_of(data) | {
            "fresh_processes": data.get("fresh_processes"),
            "plots": tuple(data["plots"]),
            "cells": tuple(ResultCell.from_json(cell) for cell in data["cells"]),
            "repairs": tuple(data.get("repairs", ())),
            "location": Location(**data["location"]) if "location" in data else None,
        }

    @property
    def claim_id(self) -> str:
        """The id of the claim that the row belongs to."""
        return claim_id(self.id)

    @property
    def refuted_as_expected(self) -> bool:
        """Whether the row is refuted, as its author expected, and was accepted."""
        return self.verdict == self.expect == "refuted" and self.accepted

    @property
    def shown_verdict(self) -> str:
        """The verdict in words: ``refuted, as expected`` if the author of the suite expected that."""
        return "refuted, as expected" if self.refuted_as_expected else self.verdict

    @property
    def does_not_extend(self) -> bool:
        """Whether this is a refuted what-if: the claim does not extend to its setting."""
        return self.role == "what-if" and self.verdict == "refuted"

    @property
    def shown_title(self) -> str:
        """The title. For a refuted what-if it says that this is not an error of the paper."""
        return f"{OUTSIDE}{self.title}" if self.does_not_extend else self.title

    @property
    def mends(self) -> tuple[str, ...]:
        """The ids of the rows that this repair mends."""
        return mended_rows(self.id, self.role, self.repairs)

    @property
    def refuted_cells(self) -> list[str]:
        """The names of refuted cells in a row that is not refuted.

        These are cells that do not decide the row, and cells of a crashed row. Every format names them beside
        the row's verdict. A row about controls has none, because its cells are meant to be refuted.
        """
        if self.claim.counts_controls or self.verdict == "refuted":
            return []
        return [cell.name for cell in self.cells if cell.verdict == "refuted"]

    @property
    def bounds_in_cells(self) -> bool:
        """Whether the row itself has no bound, but some of its cells have one."""
        return self.lower is self.upper is None and any(
            cell.lower is not None or cell.upper is not None for cell in self.cells
        )

    @property
    def unexpected_cells(self) -> list[str]:
        """One line for each cell whose verdict differs from the expected one."""
        return [
            f"{cell.name}: {cell.verdict}, expected {cell.expect}" for cell in self.cells if cell.surprising
        ]

    @property
    def unexpected_count(self) -> str:
        """How many cells are not as expected, in words."""
        return f"{len(self.unexpected_cells)} of {len(self.cells)} cells are not as expected"

    @property
    def against_expectation(self) -> str:
        """The verdicts of the row and its cells, compared with the expected ones."""
        if self.surprising:
            return f"{self.verdict}, expected {self.expect}"
        if self.unexpected_cells:
            return f"{self.verdict}, but {self.unexpected_count}"
        if not self.accepted:
            return f"{self.verdict} as expected, but weaker than --require demands"
        return f"{self.verdict}, as expected"


def claim_id(row_id: str) -> str:
    """Return the id of the claim that a row belongs to: the row id up to its first slash."""
    return row_id.split("/", 1)[0]


def mended_rows(row_id: str, role: str, repairs: tuple[str, ...]) -> tuple[str, ...]:
    """Return the ids of the rows that a repair mends: the named rows, or ``ID`` for ``ID/repaired...``."""
    if role != "repaired" or repairs:
        return repairs if role == "repaired" else ()
    before, found, _ = row_id.rpartition("/repaired")
    return (before,) if found else ()
