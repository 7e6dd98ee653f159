"""The corpus of forged reports, third part: forged cells, and forged roles."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpaudit.core.claims import PureDP, Statement, claim_from_json
from tests.cli.forged import remade
from tests.cli.forged_evidence import ONE, Edit, Forgery, Rows, on, proof_of

__all__ = ["CELLS"]

Cells = list[dict[str, Any]]


def inside(row_id: str, change: Callable[[Cells], object]) -> Edit:
    """Change the cells of one row, and nothing else."""
    return lambda report, rows, other: change(rows[row_id]["cells"])


def anew(row_id: str, change: Callable[[Cells], object], **fields: Any) -> Edit:
    """Change the cells of one row, and make anew all that follows; then set ``fields`` of the row."""

    def edit(report: dict[str, Any], rows: Rows, other: dict[str, Any]) -> None:
        cells = copy.deepcopy(rows[row_id]["cells"])
        change(cells)
        remade(report, row_id, cells=cells).update(fields)

    return edit


def _claims(epsilon: str) -> Callable[[Cells], object]:
    """The first cell claims another epsilon, with a true proof of it."""
    claim = PureDP(epsilon=epsilon, domain="0 or 1")
    written = json.loads(json.dumps(claim.to_json()))
    return lambda cells: cells[0].update(claim=written, evidence=[proof_of(claim, 1)])


def _swapped(cells: Cells) -> None:
    cells[0]["verdict"], cells[1]["verdict"] = cells[1]["verdict"], cells[0]["verdict"]


def _missed(cells: Cells) -> None:
    """The broken program has all that the correct one has, and is expected to be verified as well."""
    cells[0] |= {name: value for name, value in cells[1].items() if name != "name"}


def _set_under(report: dict[str, Any], rows: Rows, other: dict[str, Any]) -> None:
    """A proof as the row's own evidence, and under it what refutes the row's very claim."""
    refuted = rows["controls"]["cells"][0] | {"deciding": False}
    shown = {name: value for name, value in rows["proved"].items() if name in SHOWN}
    rows["settings"].update(shown, cells=[refuted])


def _by_a_weaker_cell(report: dict[str, Any], rows: Rows, other: dict[str, Any]) -> None:
    """The row's number is lowered; its evidence is that of a cell with the former claim."""
    row = rows["sampled"]
    cell = copy.deepcopy(rows["settings"]["cells"][0]) | {name: row[name] for name in (*SHOWN, "claim")}
    cell |= {"name": "all", "quantity": row["quantity"], "claimed": row["claimed"]}
    claim = claim_from_json(row["claim"])
    assert isinstance(claim, Statement)
    less = json.loads(json.dumps(replace(claim, claimed=Fraction(row["upper_exact"]) / 2).to_json()))
    remade(report, "sampled", claim=less, evidence=[], cells=[cell]).update(PASSES | {"strength": "tested"})


SHOWN = (
    *("verdict", "strength", "lower", "upper", "lower_exact", "upper_exact", "slack", "confidence"),
    *("samples", "evidence", "reasons"),
)
PASSES = {"verdict": "verified", "strength": "proved", "as_expected": True, "accepted": True}


CELLS: dict[str, Forgery] = {
    "a cell's verdict": (inside("settings", lambda cells: cells[1].update(verdict="refuted")), ""),
    "two cells' verdicts exchanged": (inside("controls", _swapped), ""),
    "a cell's strength": (inside("settings", lambda cells: cells[2].update(strength="proved")), ""),
    "a cell's bound": (inside("settings", lambda cells: cells[0].update(upper=0.5, upper_exact="1/2")), ""),
    "a cell's confidence": (inside("settings", lambda cells: cells[0].update(confidence=0.5)), ""),
    "a cell's reasons": (inside("settings", lambda cells: cells[0].update(reasons=["sure"])), ""),
    "a cell's certificate lowered": (
        inside("settings", lambda cells: cells[1]["evidence"][0].update(bound="1/9")),
        "",
    ),
    "a cell's certificate for another claim": (
        inside("settings", lambda cells: cells[0].update(evidence=cells[2]["evidence"])),
        "",
    ),
    "a cell's certificate of more noise, all made anew": (
        anew("settings", lambda cells: cells[0].update(evidence=[proof_of(ONE, 2)])),
        "trees",
    ),
    "a cell's witness raised": (
        inside("controls", lambda cells: cells[0]["evidence"][0].update(bound="9")),
        "",
    ),
    "a cell's claim in other words": (
        inside("settings", lambda cells: cells[0]["claim"].update(in_words="perfect secrecy")),
        "",
    ),
    "a cell's claimed number": (inside("settings", lambda cells: cells[0].update(claimed=0.1)), ""),
    "a cell's quantity": (inside("settings", lambda cells: cells[0].update(quantity="delta")), ""),
    "a cell that claims less than its row": (anew("settings", _claims("2"), **PASSES), ""),
    "a row that claims more than its cells": (
        lambda report, rows, other: rows["settings"].update(
            claim=PureDP(epsilon="1/9", domain="0 or 1").to_json(), claimed=1 / 9
        ),
        "",
    ),
    "a cell taken away": (inside("settings", lambda cells: cells.pop(1)), ""),
    "a cell taken away, all made anew": (anew("settings", lambda cells: cells.pop(1)), "cell is missing"),
    "a cell under the row taken away": (inside("settings", lambda cells: cells.pop(2)), "cell is missing"),
    "a control taken away": (inside("controls", lambda cells: cells.pop(0)), ""),
    "all controls taken away": (inside("controls", lambda cells: cells.clear()), ""),
    "all cells taken away": (inside("settings", lambda cells: cells.clear()), ""),
    "a cell twice": (inside("settings", lambda cells: cells.append(dict(cells[0]))), ""),
    "two cells with one name": (inside("settings", lambda cells: cells[1].update(name=cells[0]["name"])), ""),
    "two cells with names that look the same": (
        inside("settings", lambda cells: cells[1].update(name="scale\u00a01")),
        "",
    ),
    "a cell with another name": (inside("settings", lambda cells: cells[1].update(name="any")), "texts"),
    "a cell with two lines for a name": (inside("settings", lambda cells: cells[1].update(name="a\nb")), ""),
    "a cell that no longer decides": (inside("settings", lambda cells: cells[1].update(deciding=False)), ""),
    "a cell that no longer decides, all made anew": (
        anew("settings", lambda cells: cells[1].update(deciding=False)),
        "set aside",
    ),
    "a cell that decides now": (inside("settings", lambda cells: cells[2].update(deciding=True)), ""),
    "a cell that decides perhaps": (inside("settings", lambda cells: cells[0].update(deciding=1)), ""),
    "a cell's expectation": (inside("settings", lambda cells: cells[1].update(expect="refuted")), ""),
    "a control's expectation": (inside("controls", lambda cells: cells[0].update(expect="verified")), ""),
    "a control that was not refuted, as if it were": (
        inside("controls", lambda cells: cells[0].update(evidence=cells[1]["evidence"])),
        "",
    ),
    "a control that was missed, as if that were right": (inside("controls", _missed), ""),
    "a control with another name": (inside("controls", lambda cells: cells[0].update(name="no noise")), ""),
    "controls in another order": (inside("controls", lambda cells: cells.reverse()), ""),
    "a control taken out of the claim": (
        lambda report, rows, other: rows["controls"]["claim"]["cells"].pop(0),
        "",
    ),
    "a cell's name in Cyrillic letters": (
        inside("settings", lambda cells: cells[1].update(name="sc\u0430le 2")),
        "",
    ),
    "a cell's name with a mark that nobody sees": (
        inside("settings", lambda cells: cells[1].update(name="scale 2\ufe0f")),
        "",
    ),
    "a cell's samples beyond any run": (
        inside("settings", lambda cells: cells[0].update(samples=10**18)),
        "",
    ),
    "a refutation set under its row": (
        _set_under,
        "",
    ),
    "a row verified by a weaker cell": (
        _by_a_weaker_cell,
        "",
    ),
    "a control's note": (inside("controls", lambda cells: cells[0].update(notes=["fine"])), "texts"),
    "a cell's unmet condition": (
        inside("settings", lambda cells: cells[0].update(obstacles=["a branch"])),
        "",
    ),
    "a cell's samples": (inside("settings", lambda cells: cells[0].update(samples=10**9)), "texts"),
    "a field of a cell that nobody knows": (
        inside("settings", lambda cells: cells[0].update(certified_by="an authority")),
        "",
    ),
    "evidence beside the controls": (
        lambda report, rows, other: rows["controls"].update(
            evidence=rows["settings"]["cells"][0]["evidence"]
        ),
        "",
    ),
    "a role": (on("settings", role="printed"), "roles"),
    "a control as a claim of the paper": (on("controls", role="printed"), ""),
    "a claim of the paper as a control": (on("witness", role="control"), "roles"),
    "a role that there is not": (on("settings", role="main"), ""),
}
