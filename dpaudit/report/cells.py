"""Turn one cell of a row into what the page shows: a line of the row's table, with folded evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dpaudit.core.claims import LowerBound
from dpaudit.core.estimates import shown_strength
from dpaudit.report.exhibits import Exhibit, exhibit
from dpaudit.report.fields import VERDICTS, read_lines, read_list, read_object, read_text
from dpaudit.report.notation import as_number, describe, distinct, is_infinite, signs, symbol

__all__ = ["CellView", "cell_view"]


@dataclass(frozen=True)
class CellView:
    """One cell as the template shows it. Strings are plain text."""

    name: str
    claim: str
    quantity: str
    relation: str
    claimed: str
    lower: str
    upper: str
    verdict: str
    shown: str
    verdict_class: str
    strength: str
    alarm: str
    deciding: bool
    reasons: tuple[str, ...]
    unmet: tuple[str, ...]
    notes: tuple[str, ...]
    exhibits: tuple[Exhibit, ...]
    traceback: str


def cell_view(data: object) -> CellView:
    """Return everything that the page shows of one cell. Missing or ill-typed fields are shown as missing."""
    cell = data if isinstance(data, Mapping) else {"name": describe(data)}
    claim = read_object(cell, "claim")
    verdict, expect = read_text(cell, "verdict"), read_text(cell, "expect")
    lower, claimed, upper = (as_number(cell.get(key)) for key in ("lower", "claimed", "upper"))
    texts = distinct(lower, claimed, None if is_infinite(upper) else upper, quantity=cell.get("quantity"))
    scope = (f"proved for {signs(read_text(cell, 'scope'))}",) if cell.get("scope") else ()
    reasons, notes = (*scope, *read_lines(cell, "reasons")), read_lines(cell, "notes")
    return CellView(
        name=read_text(cell, "name"),
        claim=signs(read_text(claim, "in_words")),
        quantity=symbol(cell.get("quantity")),
        relation="≥" if claim.get("type") == LowerBound.type else "≤",
        claimed=texts[1],
        lower=texts[0],
        upper=texts[2],
        verdict=verdict,
        shown="refuted, as expected" if verdict == expect == "refuted" else verdict,
        verdict_class=verdict if verdict in VERDICTS else "unknown",
        strength=shown_strength(cell),
        alarm="" if verdict == expect else f"expected {expect or 'nothing'}",
        deciding=cell.get("deciding") is not False,
        reasons=reasons,
        unmet=tuple(line for line in read_lines(cell, "obstacles") if line not in reasons),
        notes=tuple(notes),
        exhibits=tuple(exhibit(item) for item in read_list(cell, "evidence")),
        traceback=read_text(cell, "traceback"),
    )
