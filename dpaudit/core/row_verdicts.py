"""Decide a row from its evidence and its cells.

``judge`` decides each cell for the cell's own claim. All estimates of a row and of its cells share the row's
significance level. The parts of a row are its own evidence, if there is any, and its deciding cells. The
row's verdict is the worst verdict of its parts: crashed, refuted, inconclusive, consistent, verified. A
verified or consistent row is as strong as its weakest part. A refuted row is as strong as its strongest
refutation.

A row is verified only if a part is about exactly the row's claim. Cells at other settings can refute a claim
that is printed for all of them, but do not verify it at this setting. A statement that names its quantity and
a number is also verified by deciding cells that all claim that quantity with this number or a stronger
number. Deciding cells must be about the subject of the row: privacy, or one type of claim and one quantity. A
cell with the row's own claim that is refuted or crashed decides even with ``deciding=False``, and so does
every cell with an error: if one point raises, the row crashes, and the other points keep their verdicts.

A row about controls is verified if each cell has the verdict of its ``expect``, and it is never refuted. Its
claim names the cells and the verdict that each must get, and the row must have exactly these cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from itertools import zip_longest
from typing import Any

from dpaudit.core.claims import Claim, Controls, LowerBound, PrivacyClaim, Statement
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.evidence import Estimate, Evidence
from dpaudit.core.exact import rounded_down
from dpaudit.core.skeletons import skeleton
from dpaudit.core.suite import Cell
from dpaudit.core.verdicts import MAX_FLOAT, Judgement, SharedLevel, Strength, VerdictKind, judge_at

__all__ = ["Judged", "JudgedRow", "as_expected", "claimed_of", "is_accepted", "judge_row", "quantity_of"]

#: Worst first. A row has the verdict of its worst part.
WORST_FIRST = (
    VerdictKind.CRASHED,
    VerdictKind.REFUTED,
    VerdictKind.INCONCLUSIVE,
    VerdictKind.CONSISTENT,
    VerdictKind.VERIFIED,
)

#: The verdicts of a claim that a certificate or a test reaches.
REACHED = (VerdictKind.CONSISTENT, VerdictKind.VERIFIED)

#: The verdicts of a cell with the row's own claim that decide even with ``deciding=False``.
NEVER_PASSED_OVER = (VerdictKind.CRASHED, VerdictKind.REFUTED)

#: Weakest first.
STRENGTHS = (
    Strength.NONE,
    Strength.ESTIMATE,
    Strength.COMPUTATION,
    Strength.TESTED,
    Strength.ACCOUNTED,
    Strength.WITNESS,
    Strength.IN_SCOPE,
    Strength.PROVED,
)

RIGOROUS = (Strength.PROVED, Strength.IN_SCOPE, Strength.ACCOUNTED, Strength.WITNESS)
CERTIFIED = (Strength.PROVED, Strength.IN_SCOPE, Strength.ACCOUNTED)

#: The largest number of cells that one reason names.
NAMED = 5


@dataclass(frozen=True)
class Judged:
    """A judgement and its confidence (``None`` without evidence)."""

    judgement: Judgement
    confidence: float | None


@dataclass(frozen=True)
class JudgedRow:
    """The judgement of a row and the judgements of its cells, in order."""

    whole: Judged
    cells: tuple[Judged, ...]


@dataclass(frozen=True)
class _Part:
    """A judged part of a row: its own evidence (``cell`` is ``None``) or a deciding cell."""

    claim: Claim
    evidence: Sequence[Evidence]
    judgement: Judgement
    cell: str | None = None


def judge_row(
    claim: Claim,
    evidence: Sequence[Evidence],
    cells: Sequence[Cell],
    *,
    unmet: Sequence[str],
    alpha: float | None,
) -> JudgedRow:
    """Decide a row of significance level ``alpha`` (``None``: every estimate counts) and each of its cells.

    ``unmet`` are the unmet conditions of the row. They keep every certificate, including those of the cells,
    from verifying the row. Raises ``InvalidParameterError`` for two cells with the same name, for a deciding
    cell about another subject than the row, for a row about controls that has evidence of its own or cells
    that its claim does not name, and as ``judge`` does.
    """
    _require_distinct(cells)
    _require_about(claim, cells)
    level = SharedLevel(alpha, [*evidence, *(item for cell in cells for item in cell.evidence)])
    judgements = [_cell_judged(level, cell) for cell in cells]
    judged = tuple(
        Judged(judgement, _confidence(judgement, cell.evidence, level))
        for cell, judgement in zip(cells, judgements, strict=True)
    )
    if isinstance(claim, Controls):
        _require_named(claim, cells)
        whole = _controls(evidence, cells, judgements, unmet)
        counted = [item for cell in cells for item in cell.evidence]
        return JudgedRow(Judged(whole, _confidence(whole, counted, level)), judged)
    parts = [
        _Part(cell.claim, cell.evidence, judgement, cell.name)
        for cell, judgement in zip(cells, judgements, strict=True)
        if cell.deciding or cell.error or (cell.claim == claim and judgement.verdict in NEVER_PASSED_OVER)
    ]
    if evidence or not parts:
        own = judge_at(level, claim, evidence, unmet=unmet)
        parts.insert(0, _Part(claim, evidence, own))
    whole = _composed(claim, parts, unmet)
    counted = [item for part in parts for item in part.evidence]
    return JudgedRow(Judged(whole, _confidence(whole, counted, level)), judged)


def _cell_judged(level: SharedLevel, cell: Cell) -> Judgement:
    """Return the judgement of a cell for its own claim. A cell with an error has crashed."""
    if cell.error:
        return Judgement(VerdictKind.CRASHED, Strength.NONE, None, None, None, (cell.error,))
    return judge_at(level, cell.claim, cell.evidence, unmet=cell.unmet)


def as_expected(result: Mapping[str, Any]) -> bool:
    """Return whether a result of the report and each of its cells has its expected verdict."""
    return all(part["verdict"] == part["expect"] for part in (result, *result.get("cells", ())))


def is_accepted(result: Mapping[str, Any], *, require: str | None, accept: str | None) -> bool:
    """Return whether a result and its cells are accepted.

    All verdicts must be as expected. With ``accept="consistent"``, ``consistent`` is enough if ``verified``
    is expected. With ``require="proved"``, a privacy row that is verified or consistent must be proved.
    """
    for part in (result, *result.get("cells", ())):
        enough = part["verdict"] == accept == "consistent" and part["expect"] == "verified"
        if part["verdict"] != part["expect"] and not enough:
            return False
    if require != "proved" or result["kind"] != "privacy" or result["verdict"] not in REACHED:
        return True
    # "proved in scope" does not prove the claim for every size
    return bool(result["verdict"] == "verified" and result["strength"] == "proved")


def quantity_of(claim: Claim) -> str:
    """Return the name of the quantity that a claim bounds: a statement's own name for it, if it has one."""
    return getattr(claim, "quantity_name", "") or claim.quantity


def claimed_of(claim: Claim) -> float | None:
    """Return the claimed number for a report, rounded down to a float.

    Return ``None`` if there is no number, or if it is beyond the range of floats. The text of the claim and
    its exact value state it then.
    """
    if claim.bound is None or abs(claim.bound) > Fraction(MAX_FLOAT):
        return None
    return rounded_down(claim.bound)


def _require_distinct(cells: Sequence[Cell]) -> None:
    names: set[str] = set()
    for cell in cells:
        name = skeleton(cell.name)
        if name in names:
            raise InvalidParameterError(
                f"a cell's name must be unique in its row, got {cell.name!r} twice.", code="E-CELL-TWICE"
            )
        names.add(name)


def _require_about(claim: Claim, cells: Sequence[Cell]) -> None:
    """Raise ``InvalidParameterError`` unless every deciding cell is about the subject of the row.

    Only privacy cells decide a privacy row: a test must not verify it, and a regret must not refute it. A
    cell that decides about another claim must have its type and its quantity.
    """
    if isinstance(claim, Controls) or (claim.bound is None and not isinstance(claim, PrivacyClaim)):
        return
    for cell in cells:
        if not cell.deciding:
            continue
        if isinstance(claim, PrivacyClaim):
            if not isinstance(cell.claim, PrivacyClaim):
                raise InvalidParameterError(
                    f"a deciding cell of a privacy row must have a privacy claim, got {cell.claim.type!r} in "
                    f"{cell.name!r}. Set deciding=False, or add a separate row.",
                    code="E-CELL-SUBJECT",
                )
        elif _subject(cell.claim) != _subject(claim):
            raise InvalidParameterError(
                f"a deciding cell must have the subject of its row, {' about '.join(_subject(claim))!r}, got "
                f"{' about '.join(_subject(cell.claim))!r} in {cell.name!r}. Set deciding=False, or add a "
                "separate row.",
                code="E-CELL-SUBJECT",
            )


def _subject(claim: Claim) -> tuple[str, str]:
    return claim.type, quantity_of(claim)


def _require_named(claim: Controls, cells: Sequence[Cell]) -> None:
    """Raise ``InvalidParameterError`` unless a row about controls has the cells that its claim names.

    A row that crashed may have none.
    """
    found = tuple((cell.name, cell.expect) for cell in cells)
    if not found or found == claim.cells:
        return
    differs = next(pair for pair in zip_longest(found, claim.cells) if pair[0] != pair[1])
    got, named = (" as ".join(map(repr, side)) if side else "none" for side in differs)
    raise InvalidParameterError(
        f"a row about controls must have the cells that its claim names, got {got} instead of {named}.",
        code="E-CONTROLS-CELLS",
    )


def _composed(claim: Claim, parts: Sequence[_Part], unmet: Sequence[str]) -> Judgement:
    """Return the judgement of a row from its judged parts."""
    verdict = min((part.judgement.verdict for part in parts), key=WORST_FIRST.index)
    deciding = [part for part in parts if part.judgement.verdict is verdict]
    shared = parts if verdict in REACHED else deciding  # a verified or consistent row rests on all parts
    strengths = sorted((part.judgement.strength for part in shared), key=STRENGTHS.index)
    strength = strengths[0] if verdict in REACHED else strengths[-1]
    own = parts[0].judgement if parts[0].cell is None else None
    shown = own or _worst(claim, shared)
    whole = Judgement(
        verdict,
        strength,
        shown.lower if shown else None,
        shown.upper if shown else None,
        shown.slack if shown else None,
        (*(own.reasons if own else ()), *_reasons(parts, verdict)),
        broken=any(part.judgement.broken for part in parts),
        scope=_scopes(shared) if strength in (Strength.IN_SCOPE, Strength.PROVED) else "",
    )
    open_because = _why_not_verified(claim, parts, unmet) if verdict in REACHED else ()
    if open_because:
        return replace(
            whole,
            verdict=VerdictKind.INCONCLUSIVE,
            strength=Strength.NONE,
            reasons=(*open_because, *whole.reasons),
            scope="",
        )
    return whole


def _scopes(parts: Sequence[_Part]) -> str:
    """Return the first scope of the proofs of the parts, and the number of others."""
    found = list(dict.fromkeys(part.judgement.scope for part in parts if part.judgement.scope))
    if not found:
        return ""
    more = len(found) - 1
    return found[0] + (f"; and {more} more scope{'s' * (more > 1)}, see the cells" if more else "")


def _why_not_verified(claim: Claim, parts: Sequence[_Part], unmet: Sequence[str]) -> tuple[str, ...]:
    """Return the reasons why a row is neither verified nor consistent although each of its parts is."""
    if unmet and any(part.judgement.strength in CERTIFIED for part in parts):
        return tuple(unmet)
    if isinstance(claim, LowerBound):
        return ("a lower bound is never verified by simulation",)
    if any(part.claim == claim for part in parts) or all(_implies(part.claim, claim) for part in parts):
        return ()
    return ("no deciding cell has the row's own claim: add a cell with exactly this claim",)


def _implies(part: Claim, whole: Claim) -> bool:
    """Return whether ``part`` claims the named quantity of ``whole`` with its number or a stronger number.

    Two statements that do not name a quantity imply each other only if they are equal.
    """
    if not (isinstance(part, Statement) and isinstance(whole, Statement) and whole.quantity_name):
        return False
    if _subject(part) != _subject(whole) or part.bound is None or whole.bound is None:
        return False
    return part.bound >= whole.bound if whole.at_least else part.bound <= whole.bound


def _worst(claim: Claim, parts: Sequence[_Part]) -> Judgement | None:
    """Return the judgement whose bounds the row shows, or ``None``.

    It is ``None`` if the part of this judgement claims another quantity or number.

    This is the judgement of the part that is furthest on the wrong side of its claimed number, or nearest to
    it. Parts in another measure (delta at another epsilon, another view) are left out, because their numbers
    cannot be compared with the row's number.
    """
    verified = parts[0].judgement.verdict in REACHED
    measured: list[tuple[Fraction, Fraction, bool, _Part]] = []
    for part in parts:
        if not _one_measure(part.claim, claim):
            continue
        # A lower bound refutes "at most" and an upper bound verifies it. For "at least" it is the reverse.
        value = part.judgement.upper if verified is not part.claim.at_least else part.judgement.lower
        if value is not None and part.claim.bound is not None:
            sign = -1 if part.claim.at_least else 1
            same = quantity_of(part.claim) == quantity_of(claim) and part.claim.bound == claim.bound
            measured.append((sign * value, sign * part.claim.bound, same, part))
    if not measured:
        return None
    ratios = all(claimed > 0 for _, claimed, _, _ in measured)

    def badness(entry: tuple[Fraction, Fraction, bool, _Part]) -> tuple[Fraction, bool]:
        value, claimed, same, _ = entry
        return (value / claimed if ratios else value - claimed), same

    _, _, same, worst = max(measured, key=badness)
    return worst.judgement if same else None


def _one_measure(one: Claim, other: Claim) -> bool:
    """Return whether both claims bound one quantity in the same measure.

    Apart from the claimed number and from texts, all their fields must be equal (epsilon for a claim of
    delta, the order of a divergence, view, unit, adjacency).
    """
    if _subject(one) != _subject(other):
        return False
    if isinstance(one, Statement):
        return True
    claimed = {"renyi epsilon": "epsilon"}.get(one.quantity, one.quantity.replace(" ", "_"))
    names = [item.name for item in fields(one) if item.name != claimed]
    pairs = [(getattr(one, name), getattr(other, name)) for name in names]
    return all(a == b for a, b in pairs if not isinstance(a, str))


def _reasons(parts: Sequence[_Part], verdict: VerdictKind) -> tuple[str, ...]:
    """Return which cells decided, with the first reason of the first of them."""
    cells = [part for part in parts if part.cell is not None]
    deciding = [part for part in cells if part.judgement.verdict is verdict]
    if not deciding:
        return ()
    if verdict in (VerdictKind.CRASHED, VerdictKind.CONSISTENT):
        first = deciding[0]
        return (
            f"{verdict} in {_of(deciding, cells)}: {_named(deciding)}",
            *(f"{first.cell}: {reason}" for reason in first.judgement.reasons[:1]),
        )
    if verdict is not VerdictKind.VERIFIED:
        return (f"{verdict} in {_of(deciding, cells)}: {_named(deciding)}",)
    weakest = min((part.judgement.strength for part in cells), key=STRENGTHS.index)
    weak = [part for part in cells if part.judgement.strength is weakest]
    if len(weak) == len(cells):
        return (f"{weakest.value} in {_of(cells, cells)}",)
    return (f"only {weakest.value} in {_of(weak, cells)}: {_named(weak)}",)


def _of(some: Sequence[_Part], cells: Sequence[_Part]) -> str:
    count = "all" if len(some) == len(cells) > 1 else f"{len(some)} of"
    return f"{count} {len(cells)} cell{'s' * (len(cells) != 1)}"


def _named(parts: Sequence[_Part]) -> str:
    names = ", ".join(str(part.cell) for part in parts[:NAMED])
    return names + (f" and {len(parts) - NAMED} more" if len(parts) > NAMED else "")


def _controls(
    evidence: Sequence[Evidence],
    cells: Sequence[Cell],
    judgements: Sequence[Judgement],
    unmet: Sequence[str],
) -> Judgement:
    """Return the judgement of a row about controls, which is verified if every cell is as expected."""
    if evidence:
        raise InvalidParameterError(
            f"a row about controls must have all its evidence in cells, got {len(evidence)} other pieces.",
            code="E-CONTROLS-EVIDENCE",
        )
    pairs = [(cell, found.verdict) for cell, found in zip(cells, judgements, strict=True)]
    wrong = [(cell, verdict) for cell, verdict in pairs if verdict != cell.expect]
    crashed = [cell for cell, verdict in pairs if verdict is VerdictKind.CRASHED]
    count = Fraction(len(wrong))
    if crashed:
        because = tuple(
            f"the control {cell.name} crashed{f': {cell.error}' if cell.error else ''}" for cell in crashed
        )
        return Judgement(VerdictKind.CRASHED, Strength.NONE, None, count, None, because, broken=True)
    if cells and not wrong and not unmet:
        return Judgement(VerdictKind.VERIFIED, Strength.TESTED, count, count, None)
    reasons = tuple(f"{cell.name}: {verdict}, expected {cell.expect}" for cell, verdict in wrong)
    if not cells:
        reasons = ("the row has no control: add cells",)
    return Judgement(VerdictKind.INCONCLUSIVE, Strength.NONE, None, count, None, (*unmet, *reasons))


def _confidence(judgement: Judgement, evidence: Sequence[Evidence], level: SharedLevel) -> float | None:
    """Return 1 if the verdict rests on certificates or witnesses, else the joint confidence of the estimates.

    The joint confidence is about the estimates that count, or about all of them if none counts.
    """
    if not evidence:
        return None
    if judgement.strength in RIGOROUS:
        return 1.0
    estimates = [item for item in evidence if isinstance(item, Estimate)]
    counted = [item for item in estimates if level.counts(item)] or estimates
    return float(max(1 - sum(1 - Fraction(item.confidence) for item in counted), Fraction(0)))
