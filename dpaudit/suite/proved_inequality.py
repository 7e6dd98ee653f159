"""Prove the inequality of a row on its printed range, beside the computation on its grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dpaudit.certify.inequalities import ASSUMED, CLAIMED, scope_of
from dpaudit.core.evidence import InequalityProof
from dpaudit.core.suite import Run
from dpaudit.suite.grid import Grid, in_words
from dpaudit.suite.worst import Constant, Looked, Measure, Step, look

if TYPE_CHECKING:
    from dpaudit.prover.inequalities.prove import InequalityResult

__all__ = ["QUICK_SECONDS", "Attempt", "attempt", "in_scope"]

#: The processor time for each inequality in the quick profile. It ends a search that is lost.
QUICK_SECONDS = 20.0


@dataclass(frozen=True)
class Attempt:
    """The result of a proof: evidence, a computation at the point that refutes, or a note."""

    proof: InequalityProof | None = None
    looked: Looked | None = None
    notes: tuple[str, ...] = ()


def in_scope(parts: Sequence[Step]) -> str:
    """Return the ranges of proofs as the claim of the row names them, or ""."""
    proved = [part.prove for part in parts if part.prove is not None and part.prove.axes]
    ranges = list(dict.fromkeys(each.words for each in proved))
    return f"; if it is proved, for {' and '.join(ranges)}" if ranges else ""


def attempt(part: Step, looked: Looked, run: Run, measure: Measure) -> Attempt:
    """Try to prove a step on its range.

    Nothing is tried if a point of the grid is on the wrong side or raised: the row says that by itself. A
    false point becomes a computation at that point, by the row's own function.
    """
    limit = float(CLAIMED[measure])
    failed = any(item.claimed and item.low > limit for item in looked.worst)
    if part.prove is None or failed or looked.raised:
        return Attempt()
    # Imported here so that rows without a range start without the prover.
    from dpaudit.prover.inequalities.prove import BOXES, SECONDS, prove_inequality

    found = prove_inequality(
        part.sides,
        over=part.prove,
        stated=Constant,
        grid=list(part.over.at(run)),
        seconds=QUICK_SECONDS if run.profile == "quick" else SECONDS,
        boxes=BOXES,
    )
    if found.verdict == "proved" and found.evidence is not None:
        return Attempt(_evidence(found.evidence, measure))
    if found.verdict == "false":
        return _refuted(part, found.at, run, measure)
    return Attempt(notes=(_note(part, found),))


def _evidence(body: dict[str, Any], measure: Measure) -> InequalityProof:
    return InequalityProof(
        quantity=measure, bound=CLAIMED[measure], scope=scope_of(body), body=body, assumptions=ASSUMED
    )


def _refuted(part: Step, at: Mapping[str, Any], run: Run, measure: Measure) -> Attempt:
    """Return the computation at a false point. It counts like a point of the grid."""
    found = look(replace(part, over=Grid(points=(at,))), run, measure)
    return Attempt(looked=found, notes=(f"{part.name} was examined at {in_words(at)}, a point of its range",))


def _note(part: Step, found: InequalityResult) -> str:
    words = part.prove.words if part.prove is not None else ""
    return f"{part.name} is not proved for {words}: {found}"
