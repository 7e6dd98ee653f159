"""Convert the outcome of a row function to the plain data of its finding: check it, then decide the verdict.

The verdict is computed from the evidence as the report writes it (converted to JSON and back), never from the
objects in memory, so that a reader of the report judges the same evidence.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.core.claims import Claim
from dpaudit.core.errors import CertificateError, MechanismError, NotAuditedError
from dpaudit.core.estimates import require_counted, require_possible
from dpaudit.core.evidence import (
    Certificate,
    Estimate,
    Evidence,
    InequalityProof,
    ProgramProof,
    Witness,
    evidence_from_json,
)
from dpaudit.core.row_verdicts import Judged, claimed_of, judge_row, quantity_of
from dpaudit.core.suite import Cell, Outcome
from dpaudit.core.verdicts import MAX_FLOAT, VerdictKind
from dpaudit.kernel.ball import ball, lower, precision, upper

__all__ = ["finding_of", "rounded_down", "rounded_up"]

ROUNDING_BITS = 256


def finding_of(claim: Claim, outcome: object, *, alpha: float) -> dict[str, Any]:
    """Judge an outcome at the row's significance level ``alpha``.

    Before the verdict is decided, the kernel checks every certificate and every witness is recomputed, for
    this claim or for the claim of its cell.

    Parameters
    ----------
    claim : Claim
        The claim of the row.
    outcome : object
        The return value of the row function.
    alpha : float
        The row's share of the significance level.

    Returns
    -------
    dict
        The fields of the report from ``verdict`` to ``traceback``.

    Raises
    ------
    MechanismError
        The row function did not return an ``Outcome`` of evidence and plain data, or evidence is not valid.
    NotAuditedError
        The verdict is inconclusive, and a black-box check could not have failed.
    """
    if not isinstance(outcome, Outcome):
        raise MechanismError(
            f"a row function must return an Outcome, got {type(outcome).__name__}.", code="E-OUTCOME-TYPE"
        )
    written, evidence = _evidence(outcome.evidence, claim, part="the row")
    unmet = _texts(outcome.unmet, "unmet")
    cells = [_read(cell) for cell in _items(outcome.cells, "cells")]
    judged = judge_row(claim, evidence, [cell for _, cell in cells], unmet=unmet, alpha=alpha)
    _require_audited(evidence, judged.whole)
    for (_, cell), found in zip(cells, judged.cells, strict=True):
        _require_audited(cell.evidence, found)
    inside = [_cell(cell, written, found) for (written, cell), found in zip(cells, judged.cells, strict=True)]
    parts = [
        *([(claim, evidence)] if evidence or not cells else []),
        *((c.claim, c.evidence) for _, c in cells),
    ]
    counted = sum(cell["samples"] for cell in inside) if not outcome.samples else 0
    return {
        **_verdict(judged.whole),
        "samples": _samples(outcome.samples, evidence, parts) + counted,
        "evidence": written,
        "notes": _texts(outcome.notes, "notes"),
        "plots": [_plain(plot, where="a plot", gaps=True) for plot in _items(outcome.plots, "plots")],
        "obstacles": unmet,
        "reasons": list(judged.whole.judgement.reasons),
        "cells": inside,
        "traceback": None,
    }


def _require_audited(evidence: Sequence[Evidence], judged: Judged) -> None:
    """Raise ``NotAuditedError`` if the verdict is inconclusive and a check could not have failed.

    If ``inconclusive`` is expected, the row would otherwise pass although the check compared nothing.
    """
    if judged.judgement.verdict is not VerdictKind.INCONCLUSIVE:
        return
    for item in evidence:
        why = item.details.get("not_audited") if isinstance(item, Estimate) else None
        if why:
            raise NotAuditedError(f"NOT AUDITED: {why}", code="E-NOT-AUDITED")


def _verdict(judged: Judged) -> dict[str, Any]:
    judgement = judged.judgement
    return {
        "verdict": judgement.verdict.value,
        "strength": judgement.strength.value,
        "lower": rounded_down(judgement.lower),
        "upper": rounded_up(judgement.upper),
        "lower_exact": None if judgement.lower is None else str(judgement.lower),
        "upper_exact": None if judgement.upper is None else str(judgement.upper),
        "slack": judgement.slack,
        "confidence": judged.confidence,
        **({"scope": judgement.scope} if judgement.scope else {}),
    }


def _read(cell: object) -> tuple[list[dict[str, Any]], Cell]:
    """Return a cell's evidence as the report writes it, and the cell with this evidence read back."""
    if not isinstance(cell, Cell):
        raise MechanismError(
            f"an Outcome's cells must be Cells, got {type(cell).__name__}.", code="E-OUTCOME-CELLS"
        )
    written, evidence = _evidence(cell.evidence, cell.claim, part=f"the cell {cell.name}")
    unmet = _texts(cell.unmet, "unmet")
    return written, replace(cell, evidence=evidence, unmet=unmet)


def _cell(cell: Cell, written: list[dict[str, Any]], judged: Judged) -> dict[str, Any]:
    return {
        "name": cell.name,
        "claim": cell.claim.to_json(),
        "quantity": quantity_of(cell.claim),
        "claimed": claimed_of(cell.claim),
        "expect": cell.expect,
        **_verdict(judged),
        "samples": _samples(cell.samples, cell.evidence, [(cell.claim, cell.evidence)]),
        "evidence": written,
        "notes": _texts(cell.notes, "notes"),
        "obstacles": list(cell.unmet),
        "reasons": list(judged.judgement.reasons),
        "deciding": bool(cell.deciding),
        **({"error": cell.error, "traceback": cell.traceback or None} if cell.error else {}),
    }


def _evidence(items: object, claim: Claim, *, part: str) -> tuple[list[dict[str, Any]], list[Evidence]]:
    """Return evidence as the report writes it, and read back from there, if it holds for ``claim``."""
    written = [_written(item) for item in _items(items, "evidence")]
    evidence = [evidence_from_json(item) for item in written]
    for item in evidence:
        _require_valid(item, claim, part=part)
    return written, evidence


def _require_valid(item: Evidence, claim: Claim, *, part: str) -> None:
    """Raise ``MechanismError`` unless ``dpaudit verify`` would confirm evidence for exactly this claim."""
    if isinstance(item, Estimate):
        try:
            require_possible(item, claim)
        except CertificateError as error:
            raise MechanismError(
                f"an estimate is impossible: {error}", code="E-ESTIMATE-IMPOSSIBLE"
            ) from error
        return
    # Imported here so that rows without such evidence start without the kernel and the distributions.
    from dpaudit.certify.inequalities import examine_inequality
    from dpaudit.certify.witnesses.recompute import recompute
    from dpaudit.kernel import check as kernel
    from dpaudit.kernel.program_claim import examine_program

    try:
        if isinstance(item, Certificate):
            kernel.check(item, claim)
        elif isinstance(item, ProgramProof):
            examine_program(item, claim)
        elif isinstance(item, InequalityProof):
            examine_inequality(item, claim)
        else:
            recompute(item, claim)
    except Exception as error:
        kinds = {ProgramProof: "program proof", InequalityProof: "proof of an inequality"}
        kind = kinds.get(type(item), type(item).__name__.lower())
        raise MechanismError(
            f"a {kind} does not hold for the claim of {part}: {error}", code="E-EVIDENCE-INVALID"
        ) from error


def rounded_down(number: Fraction | None) -> float | None:
    """Return the largest float that is not above ``number``, or ``None`` for ``None`` or below all floats."""
    if number is None:
        return None
    with precision(ROUNDING_BITS):
        value = lower(ball(number))
    return value if math.isfinite(value) else None


def rounded_up(number: Fraction | None) -> float | None:
    """Return the smallest float not below ``number``, or ``None`` for ``None`` or above all floats."""
    if number is None:
        return None
    with precision(ROUNDING_BITS):
        value = upper(ball(number))
    return value if math.isfinite(value) else None


def _items(value: object, name: str) -> Sequence[Any]:
    if isinstance(value, list | tuple):
        return value
    raise MechanismError(
        f"an Outcome's {name} must be a list or a tuple, got {type(value).__name__}.", code="E-OUTCOME-TYPE"
    )


def _texts(value: object, name: str) -> list[str]:
    texts = _items(value, name)
    for text in texts:
        if not isinstance(text, str):
            raise MechanismError(
                f"an Outcome's {name} must be strings, got {type(text).__name__}.", code="E-OUTCOME-TYPE"
            )
    return list(texts)


def _written(item: object) -> dict[str, Any]:
    """Return a piece of evidence as the report writes it, after a round trip through JSON text."""
    if not isinstance(item, Certificate | ProgramProof | InequalityProof | Witness | Estimate):
        raise MechanismError(
            "evidence must be a Certificate, a ProgramProof, an InequalityProof, a Witness or an Estimate, "
            f"got {type(item).__name__}.",
            code="E-EVIDENCE-TYPE",
        )
    if isinstance(item, Estimate):
        for name, bound in (("lower", item.lower), ("upper", item.upper), ("confidence", item.confidence)):
            if isinstance(bound, int) and abs(bound) > MAX_FLOAT:
                raise MechanismError(
                    f"an estimate's {name} must be in the range of floats, got an integer of "
                    f"{bound.bit_length()} bits. Write a missing bound as None.",
                    code="E-ESTIMATE-BOUND",
                )
            if bound is not None and math.isnan(bound):
                raise MechanismError(
                    f"an estimate's {name} must be a number, got NaN from {item.method}. Write a missing "
                    "bound as None.",
                    code="E-ESTIMATE-BOUND",
                )
    # An estimate's details are not evidence, so gaps in them are harmless. The numbers of a certificate or a
    # witness are evidence.
    data = _plain(
        item.to_json(),
        where=f"{type(item).__name__.lower()} {item.quantity}",
        gaps=isinstance(item, Estimate),
    )
    written: dict[str, Any] = json.loads(json.dumps(data, allow_nan=False))
    return written


def _plain(value: Any, *, where: str, gaps: bool) -> Any:
    """Return ``value`` as plain JSON data.

    With ``gaps``, a float that is not finite becomes null. Otherwise it raises ``MechanismError``.
    """
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, np.generic | np.ndarray):
        return _plain(value.tolist(), where=where, gaps=gaps)
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        if gaps:
            return None
        raise MechanismError(
            f"{where} must hold finite numbers, got {value}. Write an infinite bound as None.",
            code="E-OUTCOME-NOT-FINITE",
        )
    if isinstance(value, list | tuple):
        return [_plain(item, where=where, gaps=gaps) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _plain(item, where=where, gaps=gaps) for key, item in value.items()}
    raise MechanismError(
        f"{where} must be made of numbers, strings, lists and string-keyed dicts, "
        f"got {type(value).__name__}.",
        code="E-OUTCOME-NOT-PLAIN",
    )


def _samples(
    stated: int, evidence: Sequence[Evidence], parts: Sequence[tuple[Claim, Sequence[Evidence]]]
) -> int:
    """Return the stated number of samples if ``parts`` may have so many, or for 0 the evidence's count."""
    try:
        require_counted(int(stated), parts)
    except CertificateError as error:
        raise MechanismError(
            f"an Outcome states more samples than its evidence has: {error}", code="E-SAMPLES-COUNT"
        ) from error
    return int(stated) or sum(int(item.samples) for item in evidence if isinstance(item, Estimate))
