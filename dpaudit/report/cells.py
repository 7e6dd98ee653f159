"""Turn one cell of a row into what the page shows: a line of the row's table, with folded evidence."""

from __future__ import annotations

from dataclasses import dataclass

from dpaudit.report.exhibits import Exhibit, exhibit
from dpaudit.report.file.parts import ResultCell
from dpaudit.report.notation import distinct, is_infinite, signs, symbol

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
    strength: str
    alarm: str
    deciding: bool
    reasons: tuple[str, ...]
    unmet: tuple[str, ...]
    notes: tuple[str, ...]
    exhibits: tuple[Exhibit, ...]
    traceback: str


def cell_view(cell: ResultCell) -> CellView:
    """Return everything that the page shows of one cell."""
    lower, claimed, upper = cell.numbers
    texts = distinct(lower, claimed, None if is_infinite(upper) else upper, quantity=cell.quantity)
    scope = (f"proved for {signs(cell.scope)}",) if cell.scope else ()
    reasons = (*scope, *cell.reasons)
    return CellView(
        name=cell.name,
        claim=signs(cell.claim.in_words),
        quantity=symbol(cell.quantity),
        relation="≥" if cell.claim.at_least else "≤",
        claimed=texts[1],
        lower=texts[0],
        upper=texts[2],
        verdict=cell.verdict,
        shown="refuted, as expected" if cell.verdict == cell.expect == "refuted" else cell.verdict,
        strength=cell.shown_strength,
        alarm=f"expected {cell.expect}" if cell.surprising else "",
        deciding=cell.deciding,
        reasons=reasons,
        unmet=tuple(line for line in cell.obstacles if line not in reasons),
        notes=cell.notes,
        exhibits=tuple(map(exhibit, cell.evidence)),
        traceback=cell.traceback,
    )
