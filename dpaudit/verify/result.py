"""Verify one result of a report: every certificate, every witness, every verdict.

For the result and each of its cells, the claim is read, the kernel re-derives every certificate, every
witness is recomputed from its distributions and values, and the verdict is decided again from the evidence.
If a bound, parameter, rule, value or claim was changed, a finding fails with the reason. Estimates are not
repeated, because they are statistics of a program that the file does not hold.

The file is untrusted. Nothing that it names is imported or executed, and every error about a part becomes a
finding about that part.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpaudit.certify.inequalities import examine_inequality
from dpaudit.certify.witnesses.recompute import recompute
from dpaudit.core.claims import Claim, Controls, PrivacyClaim, Unbuilt, claim_from_json
from dpaudit.core.errors import BrokenReportError, DpauditError
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
from dpaudit.core.exact import in_digits, require_written_so
from dpaudit.core.row_verdicts import Judged, as_expected, claimed_of, judge_row, quantity_of
from dpaudit.core.suite import Cell
from dpaudit.core.verdicts import Strength, VerdictKind
from dpaudit.kernel import check as kernel
from dpaudit.kernel.kernel_t0 import shown
from dpaudit.kernel.program_claim import examine_program
from dpaudit.report.file.document import known_fields
from dpaudit.report.file.strict import require_ascii_numbers, require_readable
from dpaudit.verify.findings import Finding, first_difference, id_of
from dpaudit.verify.statement import (
    certificate_in_words,
    estimate_in_words,
    inequality_in_words,
    program_in_words,
    witness_in_words,
)

__all__ = ["verify_result"]

#: The names of evidence other than witnesses in findings.
KINDS = {
    Certificate: "certificate",
    ProgramProof: "proof of a program",
    InequalityProof: "proof of an inequality",
}

#: Strengths of verdicts that rest on estimates.
_ON_ESTIMATES = (Strength.TESTED.value, Strength.COMPUTATION.value, Strength.ESTIMATE.value)


def verify_result(result: Any) -> list[Finding]:
    """Check the claim, the evidence and the verdict of a result and of each of its cells."""
    name = id_of(result)
    try:
        require_ascii_numbers(result)
        require_readable(result)
        claim = _claim(result)
        evidence = _evidence(result)
        cells = [_cell(data) for data in result.get("cells", [])]
        _require_role(result, claim)
        _require_samples(result, claim, evidence, cells)
    except Exception as error:  # any error that an edited file causes is a finding, not a crash
        return [Finding(name, False, "claim and evidence", _reason(error))]
    findings = [_checked(name, item, claim) for item in evidence]
    for cell in cells:
        findings += [_of_cell(cell, _checked(name, item, cell.claim)) for item in cell.evidence]
    return [*findings, *_verdicts(name, result, claim, evidence, cells)]


def _claim(data: dict[str, Any]) -> Claim:
    """Return the claim of a result or of a cell. Raise unless the shown fields are those of the claim."""
    claim = claim_from_json(data["claim"])
    _require_same_words(data, claim)
    return claim


def _evidence(data: dict[str, Any]) -> list[Evidence]:
    """Return the evidence of a result or of a cell. Raise unless it has the form in which it is written."""
    found = [evidence_from_json(item) for item in data["evidence"]]
    for item, written in zip(found, data["evidence"], strict=True):
        require_written_so(item.to_json(), written, name=f"evidence ({written['evidence']})")
    return found


def _cell(data: dict[str, Any]) -> Cell:
    unknown = data.keys() - known_fields("cell")
    if unknown:
        raise BrokenReportError(
            "a cell must have only the fields that dpaudit writes, got "
            f"{sorted(map(str, unknown))[0][:60]!a}: the file was edited.",
            code="E-CELL-FIELDS",
        )
    if not isinstance(data["deciding"], bool):
        raise BrokenReportError(
            f"a cell's field 'deciding' must be true or false, got {data['deciding']!r:.40}.",
            code="E-CELL-FIELDS",
        )
    return Cell(
        name=data["name"],
        claim=_claim(data),
        evidence=_evidence(data),
        expect=data["expect"],
        unmet=data["obstacles"],
        deciding=data["deciding"],
        error=data.get("error", ""),
    )


def _of_cell(cell: Cell, finding: Finding) -> Finding:
    return replace(finding, what=f"cell {cell.name}: {finding.what}")


def _require_role(result: dict[str, Any], claim: Claim) -> None:
    if isinstance(claim, Controls) and result.get("role") != "control":
        raise BrokenReportError(
            f"a Controls claim must have the role 'control', got {result.get('role')!r}: the file was "
            "edited.",
            code="E-CONTROLS-ROLE",
        )
    if isinstance(claim, Unbuilt) and (
        result.get("verdict") != "crashed" or result.get("evidence") or result.get("cells")
    ):
        raise BrokenReportError(
            f"a row without a claim must have crashed, without evidence, got the verdict "
            f"{result.get('verdict')!r:.40}: the file was edited.",
            code="E-ROW-UNBUILT",
        )
    if result.get("repairs") and result.get("role") != "repaired":
        raise BrokenReportError(
            f"a row with repairs must have the role 'repaired', got {result.get('role')!r}: the file was "
            "edited.",
            code="E-ROW-REPAIRS",
        )


def _require_samples(
    result: dict[str, Any], claim: Claim, evidence: list[Evidence], cells: list[Cell]
) -> None:
    """Raise ``CertificateError`` if more samples are shown than the evidence counts, if it counts them."""
    inside = [(cell.claim, cell.evidence) for cell in cells]
    for part, data in zip(inside, result.get("cells", []), strict=True):
        require_counted(data["samples"], [part])
    require_counted(
        result.get("samples", 0), [*([(claim, evidence)] if evidence or not cells else []), *inside]
    )


def _require_same_words(result: dict[str, Any], claim: Claim) -> None:
    """Raise ``BrokenReportError`` unless the shown fields of the claim are those of the checked claim."""
    wanted: dict[str, Any] = {"claim": claim.to_json()}
    wanted["quantity"] = quantity_of(claim)
    if isinstance(claim, PrivacyClaim):
        wanted["view"] = str(claim.view)
    if result.get("kind", "") == "privacy" and not isinstance(claim, PrivacyClaim):
        raise BrokenReportError(
            "the kind shown must not be 'privacy', because the claim is not about privacy.",
            code="E-CLAIM-SHOWN",
        )
    if "kind" in result and result["kind"] != "privacy" and isinstance(claim, PrivacyClaim):
        raise BrokenReportError(
            f"the kind shown must be 'privacy', as the claim is, got {result['kind']!r}.",
            code="E-CLAIM-SHOWN",
        )
    for field, value in wanted.items():
        if json.dumps(result.get(field, value), sort_keys=True) != json.dumps(value, sort_keys=True):
            about = first_difference(result[field], value, name=field, where=("shown", "claimed"))
            raise BrokenReportError(
                f"the {field} shown must be that of the claim, got {about}: the file was edited.",
                code="E-CLAIM-SHOWN",
            )
    shown_as = None if claimed_of(claim) is None else claim.bound
    if "claimed" in result and not _agrees(result["claimed"], shown_as):
        raise BrokenReportError(
            f"the number claimed must be that of the claim, {claim.bound}, got {result['claimed']!r}: the "
            "file was edited.",
            code="E-CLAIM-SHOWN",
        )


def _checked(name: str, item: Evidence, claim: Claim) -> Finding:
    if isinstance(item, Estimate):
        what = item.kind
    else:
        what = f"witness ({item.form})" if isinstance(item, Witness) else KINDS[type(item)]
    try:
        if isinstance(item, Certificate):
            found = kernel.examine(item, claim)
            reason = certificate_in_words(item, claim, in_digits(found.bound, toward="up"), found.tier)
            return Finding(name, True, what, reason, tier=found.tier)
        if isinstance(item, ProgramProof):
            program = examine_program(item, claim)
            reason = program_in_words(item, program.bound, program.paths)
            return Finding(name, True, what, reason, tier=program.tier)
        if isinstance(item, InequalityProof):
            reason = inequality_in_words(item, examine_inequality(item, claim))
            return Finding(name, True, what, reason, tier="inequalities")
        if isinstance(item, Witness):
            bound = recompute(item, claim)
            least = None if bound is None else in_digits(bound, toward="down")
            return Finding(name, True, what, witness_in_words(item, least))
        require_possible(item, claim)
    except Exception as error:  # see above
        return Finding(name, False, what, _reason(error))
    return Finding(name, True, what, estimate_in_words(item), taken=True)


def _verdicts(
    name: str, result: dict[str, Any], claim: Claim, evidence: list[Evidence], cells: list[Cell]
) -> list[Finding]:
    """Return the findings about whether the verdicts and their numbers follow from the evidence."""
    try:
        judged = judge_row(
            claim, evidence, cells, unmet=result.get("obstacles", []), alpha=result.get("alpha")
        )
    except Exception as error:  # see above
        return [Finding(name, False, "verdict", _reason(error))]
    pairs = zip(cells, result.get("cells", []), judged.cells, strict=True)
    inside = [_of_cell(cell, _verdict(name, data, found)) for cell, data, found in pairs]
    return [*inside, _verdict(name, result, judged.whole)]


def _verdict(name: str, part: dict[str, Any], judged: Judged) -> Finding:
    """Return the finding about the verdict of a result or of a cell."""
    try:
        problems = list(_disagreements(part, judged))
    except Exception as error:  # see above
        return Finding(name, False, "verdict", _reason(error))
    if problems:
        return Finding(name, False, "verdict", "; ".join(problems))
    named = "computations" if part.get("confidence") == 1 else "estimates"
    basis = f"unchecked {named}" if part["strength"] in _ON_ESTIMATES else "the evidence"
    reason = "nothing is claimed" if part["verdict"] == "crashed" else f"it follows from {basis}"
    return Finding(name, True, "verdict", f"{part['verdict']} ({part['strength']}): {reason}")


def _disagreements(result: dict[str, Any], judged: Judged) -> Iterator[str]:
    judgement = judged.judgement
    is_row = "deciding" not in result
    crashed = result["verdict"] == VerdictKind.CRASHED.value
    if is_row and crashed and not (result["evidence"] or result.get("cells")):
        # The row crashed before it had evidence, so it must not claim anything.
        for field in ("lower", "upper", "lower_exact", "upper_exact", "slack", "confidence", "scope"):
            if result.get(field) is not None:
                yield f"a row that crashed must have no {field}, got {result[field]!r}"
        if result["strength"] != Strength.NONE.value:
            yield f"a row that crashed must have the strength 'none', got {result['strength']!r}"
        yield from _expected(result)
        return
    for field, expected in (("verdict", judgement.verdict.value), ("strength", judgement.strength.value)):
        if result[field] != expected:
            yield f"the {field} must be {expected!r} on this evidence, got {result[field]!r}"
    for field, bound in (("lower", judgement.lower), ("upper", judgement.upper)):
        if not _agrees(result[field], bound):
            yield f"the {field} bound must be {_or_none(bound)} on this evidence, got {result[field]!r}"
        written = result.get(f"{field}_exact")
        if f"{field}_exact" in result and written != (None if bound is None else str(bound)):
            yield f"{field}_exact must be that of the evidence, got {str(written)[:60]!r}"
    if not _agrees(result["slack"], None if judgement.slack is None else Fraction(judgement.slack)):
        yield f"the slack must be {judgement.slack!r} on this evidence, got {result['slack']!r}"
    if result.get("scope") != (judgement.scope or None):
        yield f"the scope must be {judgement.scope!r} on this evidence, got {result.get('scope')!r:.200}"
    if "confidence" in result and result["confidence"] != judged.confidence:
        yield f"the confidence must be {judged.confidence}, got {result['confidence']!r}"
    if "reasons" in result and result["reasons"] != list(judgement.reasons):
        yield f"the reasons must be those of the judgement, {list(judgement.reasons)}"
    if result.get("traceback") is not None and (is_row or not result.get("error")):
        yield "only a row or a cell that crashed by itself may have a traceback, and this one did not"
    yield from _expected(result)


def _expected(result: dict[str, Any]) -> Iterator[str]:
    if "as_expected" in result and result["as_expected"] is not as_expected(result):
        yield f"as_expected must be whether {result['verdict']!r} equals {result['expect']!r}, and it is not"


def _agrees(written: Any, bound: Fraction | None) -> bool:
    """Return whether a float of the report equals the bound up to rounding.

    The tolerance is 2 ulps: the spacing of floats halves below a power of two.
    """
    if written is None or bound is None:
        return written is None and bound is None
    if isinstance(written, bool) or not isinstance(written, int | float) or not math.isfinite(written):
        return False
    return abs(Fraction(written) - bound) <= 2 * Fraction(math.ulp(float(written)))


def _or_none(bound: Fraction | None) -> str:
    return "none" if bound is None else shown(bound)


def _reason(error: Exception) -> str:
    """Return the message of an error, with its type unless it is an error of dpaudit."""
    text = str(error) if isinstance(error, DpauditError) else f"{type(error).__name__}: {error}"
    return text[:2000]
