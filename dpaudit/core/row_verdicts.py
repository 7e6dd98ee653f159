"""From a row's evidence and its cells to one verdict: the rules for rows that hold cells.

Each cell is judged by ``judge``, for its own claim. All estimates of a row, those of its cells among them,
share the row's error level. The row's verdict is the worst among its parts, which are its own evidence, where
there is any, and its deciding cells: crashed, refuted, inconclusive, consistent, verified. A verified or
consistent row is as strong as its weakest part, a refuted one as its strongest refutation.

A row is verified only where a part is about that very claim: cells at other settings can refute what is
printed for all of them, and do not verify it at this one. A statement that names its quantity and a number is
verified, too, by deciding cells that all claim that quantity with this number, or a stronger one. What
decides is about what the row is about: privacy, or one type of claim and one quantity. A cell with the row's
own claim that is refuted or crashed decides even where it says that it does not, and so does every cell with
an error: where one point raised, the row crashed, and the other points keep their verdicts.

A row about controls is verified where each cell came out as its ``expect`` says, and is never refuted. The
claim names the cells, with what each must come out as, and the row must have these and no others.
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

#: Worst first: a row's verdict is that of its worst part.
WORST_FIRST = (
    VerdictKind.CRASHED,
    VerdictKind.REFUTED,
    VerdictKind.INCONCLUSIVE,
    VerdictKind.CONSISTENT,
    VerdictKind.VERIFIED,
)

#: What a certificate or a test that reaches the claim makes of it.
REACHED = (VerdictKind.CONSISTENT, VerdictKind.VERIFIED)

#: What a cell with the row's own claim cannot come out as under its row.
NEVER_PASSED_OVER = (VerdictKind.CRASHED, VerdictKind.REFUTED)

#: Weakest first.
STRENGTHS = (
    Strength.NONE,
    Strength.ESTIMATE,
    Strength.TESTED,
    Strength.ACCOUNTED,
    Strength.WITNESS,
    Strength.IN_SCOPE,
    Strength.PROVED,
)

RIGOROUS = (Strength.PROVED, Strength.IN_SCOPE, Strength.ACCOUNTED, Strength.WITNESS)
CERTIFIED = (Strength.PROVED, Strength.IN_SCOPE, Strength.ACCOUNTED)

#: Cells that one reason names.
NAMED = 5


@dataclass(frozen=True)
class Judged:
    """A judgement, and the confidence that it holds with (``None`` without evidence)."""

    judgement: Judgement
    confidence: float | None


@dataclass(frozen=True)
class JudgedRow:
    """The row's judgement and that of each cell, in their order."""

    whole: Judged
    cells: tuple[Judged, ...]


@dataclass(frozen=True)
class _Part:
    """The row's own evidence (``cell`` is ``None``) or a deciding cell, judged."""

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
    """Decide a row of error level ``alpha`` (``None``: every estimate counts) and each of its cells.

    ``unmet`` are the row's own: they keep it from being verified by any certificate, its cells' too.
    Raises ``InvalidParameterError`` for two cells with one name, for a deciding cell about something else
    than the row, for cells of a row about controls that its claim does not name and evidence beside them, and
    as ``judge`` does.
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
    """A cell's verdict for its own claim; a cell with an error crashed, whatever it was to be."""
    if cell.error:
        return Judgement(VerdictKind.CRASHED, Strength.NONE, None, None, None, (cell.error,))
    return judge_at(level, cell.claim, cell.evidence, unmet=cell.unmet)


def as_expected(result: Mapping[str, Any]) -> bool:
    """Whether a result of the report, and each of its cells, has the verdict that is expected of it."""
    return all(part["verdict"] == part["expect"] for part in (result, *result.get("cells", ())))


def is_accepted(result: Mapping[str, Any], *, require: str | None, accept: str | None) -> bool:
    """Whether a result and its cells are as expected, ``consistent`` where ``verified`` is with
    ``accept="consistent"``, and a privacy row that holds is as strong as ``--require`` asks."""
    for part in (result, *result.get("cells", ())):
        enough = part["verdict"] == accept == "consistent" and part["expect"] == "verified"
        if part["verdict"] != part["expect"] and not enough:
            return False
    if require != "proved" or result["kind"] != "privacy" or result["verdict"] not in REACHED:
        return True
    # "proved in scope" is no proof for every size
    return bool(result["verdict"] == "verified" and result["strength"] == "proved")


def quantity_of(claim: Claim) -> str:
    """What a claim's bounds are values of: a statement's own words where it has some."""
    return getattr(claim, "quantity_name", "") or claim.quantity


def claimed_of(claim: Claim) -> float | None:
    """The claimed number as a report shows it, rounded down; ``None`` where there is none, or where it is
    beyond the floats: the claim's own words and its exact value say it then."""
    if claim.bound is None or abs(claim.bound) > Fraction(MAX_FLOAT):
        return None
    return rounded_down(claim.bound)


def _require_distinct(cells: Sequence[Cell]) -> None:
    names: set[str] = set()
    for cell in cells:
        name = skeleton(cell.name)
        if name in names:
            raise InvalidParameterError(
                f"a cell's name must be used once in its row, got {cell.name!r} twice; name what differs."
            )
        names.add(name)


def _require_about(claim: Claim, cells: Sequence[Cell]) -> None:
    """Nothing but privacy decides about privacy, neither a test that verifies nor a regret that refutes; and
    what decides about another claim is of its type, about its quantity."""
    if isinstance(claim, Controls) or (claim.bound is None and not isinstance(claim, PrivacyClaim)):
        return
    for cell in cells:
        if not cell.deciding:
            continue
        if isinstance(claim, PrivacyClaim):
            if not isinstance(cell.claim, PrivacyClaim):
                raise InvalidParameterError(
                    f"a cell that decides about privacy must claim privacy, got {cell.claim.type!r} in "
                    f"{cell.name!r}; set deciding=False, or give it a row of its own."
                )
        elif _subject(cell.claim) != _subject(claim):
            raise InvalidParameterError(
                f"a cell that decides must claim what its row claims, {' about '.join(_subject(claim))!r}, "
                f"got {' about '.join(_subject(cell.claim))!r} in {cell.name!r}; set deciding=False, or give "
                "it a row of its own."
            )


def _subject(claim: Claim) -> tuple[str, str]:
    return claim.type, quantity_of(claim)


def _require_named(claim: Controls, cells: Sequence[Cell]) -> None:
    """The cells of a row about controls are those that the claim names; none, where the row crashed."""
    found = tuple((cell.name, cell.expect) for cell in cells)
    if not found or found == claim.cells:
        return
    differs = next(pair for pair in zip_longest(found, claim.cells) if pair[0] != pair[1])
    got, named = (" as ".join(map(repr, side)) if side else "none" for side in differs)
    raise InvalidParameterError(
        f"a row about controls must have the cells that its claim names, got {got} where the claim names "
        f"{named}; give Controls(cells=...) every cell with what it must come out as."
    )


def _composed(claim: Claim, parts: Sequence[_Part], unmet: Sequence[str]) -> Judgement:
    """The verdict on parts that are judged."""
    verdict = min((part.judgement.verdict for part in parts), key=WORST_FIRST.index)
    deciding = [part for part in parts if part.judgement.verdict is verdict]
    shared = parts if verdict in REACHED else deciding  # a row that holds rests on all of its parts
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
        scope=_scopes(shared) if strength is Strength.IN_SCOPE else "",
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
    """For what the programs of all parts were proved: the first scope in words, and that there are more."""
    found = list(dict.fromkeys(part.judgement.scope for part in parts if part.judgement.scope))
    more = len(found) - 1
    return found[0] + (f"; and {more} more scope{'s' * (more > 1)}, see the cells" if more else "")


def _why_not_verified(claim: Claim, parts: Sequence[_Part], unmet: Sequence[str]) -> tuple[str, ...]:
    """Why a row is neither verified nor consistent although each of its parts is."""
    if unmet and any(part.judgement.strength in CERTIFIED for part in parts):
        return tuple(unmet)
    if isinstance(claim, LowerBound):
        return ("a lower bound is never verified by simulation",)
    if any(part.claim == claim for part in parts) or all(_implies(part.claim, claim) for part in parts):
        return ()
    return ("no deciding cell is about the row's own claim: add one with that very claim",)


def _implies(part: Claim, whole: Claim) -> bool:
    """Whether ``part`` states, in other words, the named quantity of ``whole`` with its number or a stronger
    one. Words alone are no quantity: two statements that name none must be equal."""
    if not (isinstance(part, Statement) and isinstance(whole, Statement) and whole.quantity_name):
        return False
    if _subject(part) != _subject(whole) or part.bound is None or whole.bound is None:
        return False
    return part.bound >= whole.bound if whole.at_least else part.bound <= whole.bound


def _worst(claim: Claim, parts: Sequence[_Part]) -> Judgement | None:
    """The judgement whose bounds the row shows: that of the part that is furthest on the wrong side of its
    claimed number, or nearest to it; ``None`` where that part claims another quantity or number.

    Parts in another measure (delta at another epsilon, another view) are left out: their numbers say nothing
    about the row's."""
    verified = parts[0].judgement.verdict in REACHED
    measured: list[tuple[Fraction, Fraction, bool, _Part]] = []
    for part in parts:
        if not _one_measure(part.claim, claim):
            continue
        # What refutes "at most" is a lower bound, what verifies it an upper one; of "at least" the reverse.
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
    """Whether both bound one quantity in one measure: apart from the claimed number and from words, all that
    they state is the same (epsilon beside delta, the order of a divergence, view, unit, adjacency)."""
    if _subject(one) != _subject(other):
        return False
    if isinstance(one, Statement):
        return True
    claimed = {"renyi epsilon": "epsilon"}.get(one.quantity, one.quantity.replace(" ", "_"))
    names = [item.name for item in fields(one) if item.name != claimed]
    pairs = [(getattr(one, name), getattr(other, name)) for name in names]
    return all(a == b for a, b in pairs if not isinstance(a, str))


def _reasons(parts: Sequence[_Part], verdict: VerdictKind) -> tuple[str, ...]:
    """Which cells decided, and what the first of them says."""
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
    """The verdict on a row about controls: verified where every cell came out as it should."""
    if evidence:
        raise InvalidParameterError(
            f"a row about controls must have its evidence in cells, got {len(evidence)} pieces beside them; "
            "make each a cell."
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
        reasons = ("there is no control: add cells",)
    return Judgement(VerdictKind.INCONCLUSIVE, Strength.NONE, None, count, None, (*unmet, *reasons))


def _confidence(judgement: Judgement, evidence: Sequence[Evidence], level: SharedLevel) -> float | None:
    """1 where the verdict rests on certificates or witnesses; otherwise what the estimates that count hold
    with together (all of them, where none counts).
    """
    if not evidence:
        return None
    if judgement.strength in RIGOROUS:
        return 1.0
    estimates = [item for item in evidence if isinstance(item, Estimate)]
    counted = [item for item in estimates if level.counts(item)] or estimates
    return float(max(1 - sum(1 - Fraction(item.confidence) for item in counted), Fraction(0)))
