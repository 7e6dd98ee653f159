"""Define privacy rows: a program, its claim, and the sites that its proof declares.

One declaration serves the certificate and the replays.

    @privacy(rows, "DPSE", "Section 6")
    def dp_se() -> PrivacyAudit:
        \"\"\"DP-SE, the baseline, is ε-DP

        every epoch starts from scratch: a pull enters one sum, released once
        \"\"\"
        return PrivacyAudit(
            claim=CLAIM,
            program=successive_elimination.program(epsilon=1),
            neighbours=lambda run: bandit_pairs(horizon=3000, rounds=(0, 500)),
            sites=[Site("array", mechanism=laplace_mechanism(sensitivity=1, scale=1))],
        )

The row's verdict is about the claim in its view. A cell below it holds the total of the proof's own
accounting. With a grid every point is a separate setting.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.kept import profile_of_run, verdict_follows
from dpaudit.core.plots import Plot
from dpaudit.core.suite import Cell, Group, Outcome, Profile, Role, Run
from dpaudit.suite.crashes import crashed_cell
from dpaudit.suite.declared import Declared
from dpaudit.suite.grid import Grid, Point, in_words, listed

if TYPE_CHECKING:  # a suite without programs must not load the replays
    from dpaudit.core.claims import PrivacyClaim
    from dpaudit.core.data import Records, Table
    from dpaudit.replay.audit import PrivacyAudit
    from dpaudit.suite.program_proofs import Shape

__all__ = ["privacy"]

Function = TypeVar("Function", bound="Callable[..., PrivacyAudit]")

PROFILES: tuple[Profile, ...] = get_args(Profile)

ABOUT = (
    "Record the program on one of two neighbours and replay it on the other, along sampled and forced "
    "histories. The transcript with the largest exact loss in the claim's view gives the lower bound, the "
    "certificate the upper bound. The accounting compares the worst-case cost of each changed release with "
    "what the proof declares."
)


def privacy(
    rows: Group,
    id: str,
    source: str,
    *,
    over: Grid | None = None,
    name: Callable[..., str] | None = None,
    role: Role = "printed",
    expect: str = "verified",
    accounting: str | None = None,
    plots: Callable[..., Sequence[Plot]] | None = None,
    repairs: str | Sequence[str] = (),
    prove: Shape | Records | Table | Callable[..., Shape | Records | Table] | None = None,
    **fixed: object,
) -> Callable[[Function], Function]:
    """Return a decorator that adds the row ``id``, whose function returns a ``PrivacyAudit`` for a point.

    The function is called when the suite is built. If it raises, only its row crashes. Its docstring holds
    the title, then why one record affects no other sites (``because``). ``Note:`` paragraphs are notes.

    Parameters
    ----------
    rows, id, source : Group, str, str
        The group of the row, its id and its source.
    over, name : Grid, callable
        Each point of the grid is a setting, named by its parameters or by ``name(**point)``.
    role, expect, repairs : str
        Columns of the report, and the expected verdict on the claim ("verified").
    accounting : str, optional
        The expected verdict of the proof's accounting. Pass "" for no accounting, because it repeats the
        claim if the view sees every release. Default: ``consistent``, the strongest verdict of a declared
        accounting, or ``inconclusive`` if ``expect`` is.
    plots : callable, optional
        ``plots(run, **point)`` returns more plots.
    prove : Shape, Records, Table or callable, optional
        Data, or a function of the point, for which the program itself is also proved. With a ``Shape``, a
        consistent row is then proved in that scope, which the row states, and is not verified beyond it. If
        there is no proof, a note says why, and the derived accounting is compared with the sites. With
        ``Records`` or a ``Table`` (default: the ``data`` of the audit) the program is followed on private
        values. That proof alone verifies the claim, whose domain becomes these data if it names no others.
    **fixed : object
        Parameters with the same value at every point.

    Raises
    ------
    InvalidParameterError
        The function returns no audit, the grid is empty, two settings have one name, or ``prove`` does not
        support the claim.
    """

    def decorate(function: Function) -> Function:
        declared = Declared(rows, id, source, role, expect, repairs)
        words = declared.words(function, over, fixed)
        because = words.about if words.about != words.title else ""
        prove_at = _Shapes(prove, fixed)
        settings = declared.built(
            lambda: _Settings(function, over or listed("", ()), name, fixed, because, id, prove_at),
            title=words.title,
        )
        if settings is None:
            return function
        first = settings.audits[0]
        default = "inconclusive" if expect == "inconclusive" else "consistent"
        wanted = default if accounting is None else accounting

        def evaluate(run: Run) -> Outcome:
            points = list((over or listed("", ())).at(run))
            drawn = [plot for point in points if plots for plot in plots(run, **point, **fixed)]
            if over is None:
                found = _outcome(first, run, wanted, proved=prove_at.proves(first, {}))
                outcome = prove_at.added(found, first, {}, run)
                notes = [*outcome.notes, *words.notes]
                return replace(outcome, notes=notes, plots=[*outcome.plots, *drawn])
            chosen = settings.at(run)
            share = replace(run, alpha=run.alpha / len(points))
            outcomes = {
                key: _attempt(audit, share, wanted, prove_at, point)
                for (key, audit), point in zip(chosen.items(), points, strict=True)
            }
            table = _table(outcomes, chosen, expect)
            return replace(table, notes=words.notes, plots=[*table.plots, *drawn])

        declared.add(
            evaluate,
            words,
            first.claim,
            kind="privacy",
            about=f"{words.about}\n\n{ABOUT}" if words.about != words.title else ABOUT,
            view=str(first.claim.view),
            fingerprint=lambda seed: _digest(settings, prove_at, seed),
        )
        return function

    return decorate


class _Settings:
    """The audits of all points of all profiles, found by the point."""

    def __init__(
        self,
        function: Callable[..., PrivacyAudit],
        grid: Grid,
        name: Callable[..., str] | None,
        fixed: dict[str, object],
        because: str,
        id: str,
        prove_at: _Shapes,
    ) -> None:
        self.grid, self.name, self.id = grid, name, id
        self.points: list[Point] = []
        self.audits: list[PrivacyAudit] = []
        for profile in PROFILES:
            run = _run_of(profile, id)
            for point in grid.at(run):
                if point not in self.points:
                    audit = function(**point, **fixed)
                    if audit is None:
                        raise InvalidParameterError(
                            f"{id}: its function must return a PrivacyAudit, got None.",
                            code="E-ROW-NO-AUDIT",
                        )
                    self.points.append(point)
                    audit = prove_at.about(audit, point)
                    self.audits.append(audit if audit.because else replace(audit, because=because))
            self.at(run)
        if not self.audits:
            raise InvalidParameterError(f"{id}: the grid has no points.", code="E-GRID-EMPTY")

    def at(self, run: Run) -> dict[str, PrivacyAudit]:
        """Return the audits of a run's profile by the names of their points, which must differ."""
        named: dict[str, PrivacyAudit] = {}
        for point in self.grid.at(run):
            called = self.name(**point) if self.name else in_words(point)
            if called in named:
                raise InvalidParameterError(
                    f"{self.id}: settings must have different names, got {called!r} twice. Pass name=.",
                    code="E-SETTING-TWICE",
                )
            named[called] = self.audits[self.points.index(point)]
        return named


def _run_of(profile: Profile, id: str) -> Run:
    """Return a run that only determines the points of a grid."""
    return Run(profile=profile, alpha=0.05, seed=0, row_id=id)


def _outcome(audit: PrivacyAudit, run: Run, accounting: str, *, proved: bool) -> Outcome:
    from dpaudit.replay.privacy import privacy_outcome

    return privacy_outcome(audit, run, accounting=accounting, proved=proved)


@dataclass(frozen=True)
class _Shapes:
    """The shapes of data for which the programs of a row are also proved."""

    prove: Shape | Records | Table | Callable[..., Shape | Records | Table] | None
    fixed: dict[str, object]

    def at(self, point: Mapping[str, Any], audit: PrivacyAudit) -> Shape | Records | Table | None:
        """Return the shape or declaration at a point, or that of the audit if the row names none."""
        found = self.prove(**{**self.fixed, **point}) if callable(self.prove) else self.prove
        return audit.data if self.prove is None else found

    def about(self, audit: PrivacyAudit, point: Mapping[str, Any]) -> PrivacyAudit:
        """Return the audit, with a claim about the declared data if it names no other data.

        A domain that contains these data still generates pairs.
        """
        from dpaudit.core.data import Records, Table
        from dpaudit.replay.audit import NOT_DECLARED
        from dpaudit.replay.domains import Columns, Interval, Values, Within

        data = self.at(point, audit)
        if not isinstance(data, Records | Table):
            return audit
        if audit.claim.domain == data.words and isinstance(audit.domain, Interval | Values | Columns):
            return replace(audit, domain=Within(data, audit.domain))
        if audit.claim.domain != NOT_DECLARED:
            return audit
        return replace(audit, claim=replace(audit.claim, domain=data.words))

    def digest(self, audit: PrivacyAudit, point: Mapping[str, Any]) -> str:
        """Return the digest of the record of a program on declared data, or "" if none are declared."""
        from dpaudit.suite.attempts import program_files
        from dpaudit.suite.program_proofs import provable, record_digest

        data = self._declared(audit, point)
        if data is None or not provable(audit.claim):
            return ""
        return record_digest(audit.program, audit.claim, data, files=program_files())

    def proves(self, audit: PrivacyAudit, point: Mapping[str, Any]) -> bool:
        """Return whether the fingerprint's proof of this row covers all neighbours of the declared data."""
        from dpaudit.suite.attempts import program_files
        from dpaudit.suite.program_proofs import is_proved, provable

        data = self._declared(audit, point) if verdict_follows() else None
        if data is None or not provable(audit.claim):
            return False
        return is_proved(audit.program, audit.claim, data, files=program_files())

    def _declared(self, audit: PrivacyAudit, point: Mapping[str, Any]) -> Records | Table | None:
        from dpaudit.core.data import Records, Table

        data = self.at(point, audit)
        return data if isinstance(data, Records | Table) else None

    def added(self, outcome: Outcome, audit: PrivacyAudit, point: Mapping[str, Any], run: Run) -> Outcome:
        """Return the outcome with the proof of the program, or with a note on why there is none."""
        if self.prove is None and audit.data is None:
            from dpaudit.suite.attempts import certified_alone, why_unproved

            if not certified_alone(outcome.evidence):
                return outcome
            return replace(outcome, notes=[*outcome.notes, why_unproved(audit, run)])
        from dpaudit.suite.attempts import program_files
        from dpaudit.suite.program_proofs import Shape, accounting_of, evidence_of, provable

        if not provable(audit.claim):
            why = "prove supports only PureDP, ZeroConcentratedDP, GaussianDP and ApproxDP claims"
            if self.prove is None:
                return replace(outcome, notes=[*outcome.notes, f"not proved: {why}"])
            raise InvalidParameterError(f"{why}, got {audit.claim.type}.", code="E-CLAIM-NOT-PROVABLE")
        shape = self.at(point, audit)
        if shape is None:
            return outcome
        files = [] if isinstance(shape, Shape) else program_files()
        try:
            found = evidence_of(audit.program, audit.claim, shape, files=files)
        except InvalidParameterError as error:
            if self.prove is not None:
                raise
            return replace(outcome, notes=[*outcome.notes, f"not proved: {error}"])
        if not isinstance(shape, Shape):
            return _proved(outcome, found, audit.claim)
        derived = accounting_of(audit.program, audit.sites, shape)
        if derived.unmet:
            outcome = _uncertified(outcome, derived.unmet)
        return replace(
            outcome,
            evidence=[*outcome.evidence, *found.evidence],
            notes=[*outcome.notes, *found.notes, *derived.notes],
        )


def _proved(outcome: Outcome, found: Outcome, claim: PrivacyClaim) -> Outcome:
    """Return the outcome with a proof of the row's own program.

    If it proves the claim, unmet conditions of a certificate become notes. A leak still counts.
    """
    from dpaudit.core.verdicts import VerdictKind, judge
    from dpaudit.replay.privacy import LEAK, without_certificates

    notes, evidence, unmet = (
        [*outcome.notes, *found.notes],
        list(outcome.evidence),
        list(outcome.unmet),
    )
    if judge(claim, found.evidence).verdict is VerdictKind.VERIFIED and unmet:
        evidence = without_certificates(evidence, unmet[0], notes)
        notes += [f"no certificate: {why}" for why in unmet if not why.startswith(LEAK)]
        unmet = [why for why in unmet if why.startswith(LEAK)]
    return replace(outcome, evidence=[*evidence, *found.evidence], notes=notes, unmet=unmet)


def _uncertified(outcome: Outcome, mismatches: Sequence[str]) -> Outcome:
    """Return the outcome and its cells without certificates, with ``mismatches`` as unmet conditions."""
    from dpaudit.replay.privacy import without_certificates

    def bare(part: Any) -> Any:
        notes = list(part.notes)
        evidence = without_certificates(part.evidence, mismatches[0], notes)
        return replace(part, evidence=evidence, notes=notes, unmet=[*part.unmet, *mismatches])

    return cast("Outcome", bare(replace(outcome, cells=[bare(cell) for cell in outcome.cells])))


def _attempt(
    audit: PrivacyAudit, run: Run, accounting: str, prove_at: _Shapes, point: Point
) -> Outcome | Exception:
    """Return one setting's outcome, or its error, so that other settings are not lost."""
    try:
        found = _outcome(audit, run, accounting, proved=prove_at.proves(audit, point))
        return prove_at.added(found, audit, point, run)
    except Exception as error:
        return error


def _digest(settings: _Settings, prove_at: _Shapes, seed: int) -> str:
    from dpaudit.replay.input_order import each_input
    from dpaudit.replay.privacy import digest_of

    profile = profile_of_run()
    points = settings.points if profile is None else list(settings.grid.at(_run_of(profile, settings.id)))

    def one(part: tuple[PrivacyAudit, Point]) -> str:
        """Return the digests of the runs, and of the record if this run of dpaudit proves the program."""
        audit, point = part
        runs = digest_of(audit, seed, row_id=settings.id)
        return runs + (prove_at.digest(audit, point) if point in points else "")

    return "".join(each_input(list(zip(settings.audits, settings.points, strict=True)), one))


def _table(outcomes: dict[str, Outcome | Exception], audits: dict[str, PrivacyAudit], expect: str) -> Outcome:
    """Return every setting as a cell, each followed by a cell for its accounting."""
    cells: list[Cell] = []
    plots: list[Plot] = []
    for key, outcome in outcomes.items():
        claim = audits[key].claim
        if isinstance(outcome, Exception):
            cells.append(crashed_cell(key, claim, outcome, expect=expect))
        else:
            cells += outcome.as_cells(key, claim=claim, expect=expect)
            plots += outcome.plots
    return Outcome([], cells=cells, plots=plots, samples=sum(cell.samples for cell in cells if cell.deciding))
