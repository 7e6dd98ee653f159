"""Define controls: broken programs that must be refuted and correct ones that must not, in one table.

    @controls(rows, "T1P/controls", "Theorem 1")
    def table() -> dict[str, Control]:
        \"\"\"Every broken Dist-DP-SE is refuted, the correct one is verified\"\"\"
        return {
            "half the noise": broken(AUDIT, scaled("1/2")),
            "a second release": broken(AUDIT, twice("aggregate")),
            "correct": program_control(AUDIT, expect="consistent"),
        }

The row claims that each cell comes out as expected. The claim is about dpaudit itself, so the row has the
role ``control``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from dpaudit.core.claims import Claim, Controls, Ordering
from dpaudit.core.errors import InvalidParameterError, MechanismError
from dpaudit.core.evidence import Evidence, Witness
from dpaudit.core.exact import decode_value
from dpaudit.core.suite import Cell, Group, Outcome, Run
from dpaudit.suite.crashes import cells_or_crash
from dpaudit.suite.declared import Declared
from dpaudit.suite.mutants import BrokenMutantError, Mutation
from dpaudit.suite.words import words_of
from dpaudit.suite.worst import Step, worst_of

if TYPE_CHECKING:  # a suite without programs must not load the replays
    from dpaudit.replay.audit import PrivacyAudit

__all__ = ["Control", "broken", "controls", "false_inequality", "program_control"]

Evaluate = Callable[[Run], "Outcome | Sequence[Evidence]"]


@dataclass(frozen=True, kw_only=True)
class Control:
    """One program, or one distribution, with its expected verdict.

    Parameters
    ----------
    claim : Claim
        The claim that its author would make.
    evaluate : callable
        ``evaluate(run)`` returns the evidence.
    expect : str
        The expected verdict ("refuted").
    about : str
        A note on the control.
    digest : callable, optional
        ``digest(seed)`` returns a digest that must not depend on the process.
    """

    claim: Claim
    evaluate: Evaluate
    expect: str = "refuted"
    about: str = ""
    digest: Callable[[int], str] | None = None


Table = TypeVar("Table", bound=Callable[..., Mapping[str, Control]])


def controls(
    rows: Group, id: str, source: str, *, kind: str = "structure", **fixed: Any
) -> Callable[[Table], Table]:
    """Return a decorator that adds the row ``id``, whose function returns the controls by name.

    Each control is a cell. The function is called once, when the suite is built. Raises
    ``InvalidParameterError`` if it returns no control.
    """

    def decorate(function: Table) -> Table:
        words = words_of(function, fixed, id=id)
        declared = Declared(rows, id, source, role="control")
        table = declared.built(lambda: dict(function(**fixed)), title=words.title)
        if table is None:
            return function
        if not table:
            raise InvalidParameterError(
                f"{id}: controls must return at least one control, got none.", code="E-CONTROLS-MISSING"
            )
        digests = [item.digest for item in table.values() if item.digest is not None]

        def evaluate(run: Run) -> Outcome:
            share = replace(run, alpha=run.alpha / len(table))
            cells = [cell for name, item in table.items() for cell in _cells(name, item, share)]
            return Outcome([], words.notes, cells=cells, samples=sum(cell.samples for cell in cells))

        def fingerprint(seed: int) -> str:
            from dpaudit.replay.input_order import each_input

            return "".join(each_input(digests, lambda digest: digest(seed)))

        cells = tuple((name, item.expect) for name, item in table.items())
        claim = Controls(text=words.title, cells=cells)
        declared.add(evaluate, words, claim, kind=kind, fingerprint=fingerprint if digests else None)
        return function

    return decorate


def _cells(name: str, item: Control, run: Run) -> list[Cell]:
    """Return the control's cells, or a crashed cell if evaluating it raises."""

    def found() -> list[Cell]:
        given = item.evaluate(replace(run, row_id=f"{run.row_id}/{name}"))
        outcome = given if isinstance(given, Outcome) else Outcome(given)
        notes = [item.about, *outcome.notes] if item.about else list(outcome.notes)
        return replace(outcome, notes=notes).as_cells(name, claim=item.claim, expect=item.expect)

    return cells_or_crash(name, item.claim, found, expect=item.expect)


def false_inequality(item: Step, *, about: str = "") -> Control:
    """Return a control for an inequality (a ratio of both sides) that is false somewhere on its grid."""
    claim = Ordering(text=item.text, quantity_name="left / right", claimed=1)

    def evaluate(run: Run) -> list[Evidence]:
        return [worst_of(item, run).estimate("left / right", scope=item.over.scope)]

    return Control(claim=claim, evaluate=evaluate, about=about)


def program_control(audit: PrivacyAudit, *, expect: str = "refuted", about: str = "") -> Control:
    """Return a control that runs all replays of an audit against the audit's claim."""
    from dpaudit.replay.privacy import digest_of, privacy_outcome

    return Control(
        claim=audit.claim,
        evaluate=lambda run: privacy_outcome(audit, run),
        expect=expect,
        about=about,
        digest=lambda seed: digest_of(audit, seed, row_id="control"),
    )


def broken(audit: PrivacyAudit, mutation: Mutation, *, about: str = "") -> Control:
    """Return a control for the audit's program with a mistake (``mutants``), which must be refuted.

    It runs the same replays, or a few of them if these suffice, and must be refuted by its output. An error
    on one input alone is an output and counts. A mutant that raises on both inputs is not caught. A test that
    the program itself is not refuted is a separate control, ``program_control(audit, expect="consistent")``.

    Evaluating the control raises ``MechanismError`` if the mutation does not change what the program does on
    the audit's inputs, if it cannot be made there, or if only the type of the final error distinguishes the
    inputs. In these cases there is no mistake to catch.
    """
    mutant_audit = replace(audit, program=mutation(audit.program))
    mutant = program_control(mutant_audit, about=about)

    def digest(seed: int) -> str:
        from dpaudit.replay.privacy import digest_of

        try:
            return digest_of(mutant_audit, seed, row_id="control")
        except BrokenMutantError:
            return "no mutant"  # evaluating it raises the error

    def evaluate(run: Run) -> Outcome:
        from dpaudit.replay.privacy import digest_of, privacy_outcome, short_outcome

        try:
            _require_changed(*(digest_of(one, run.seed, row_id="control") for one in (audit, mutant_audit)))
            outcome = short_outcome(mutant_audit, run) or privacy_outcome(mutant_audit, run)
        except BrokenMutantError as error:
            raise MechanismError(
                f"a mutation must be possible at every site that it changes, got {error}. Select sites with "
                "sites=.",
                code="E-MUTANT-IMPOSSIBLE",
            ) from error
        for item in outcome.evidence:
            _require_shown(item)
        return outcome

    return replace(mutant, evaluate=evaluate, digest=digest)


def _require_changed(right: str, mutated: str) -> None:
    if right == mutated:
        raise MechanismError(
            "a mutation must change what the program does, got the same runs on all inputs of the audit.",
            code="E-MUTANT-NO-CHANGE",
        )


def _require_shown(item: Evidence) -> None:
    """Refuse a witness of two errors, one on each input, because such a mutant does not run."""
    leak = item.body.get("leak") if isinstance(item, Witness) and item.form == "leak" else None
    if leak is None or leak["what"] != "missing":
        return
    ends = [decode_value(leak[side]) for side in ("recorded", "neighbour")]
    if all(isinstance(end, tuple) for end in ends):  # (type, message) of an error
        raise MechanismError(
            f"a mutant must run on at least one of two inputs, got {': '.join(ends[0])} on one and "
            f"{': '.join(ends[1])} on the other.",
            code="E-MUTANT-RAISED",
        )
