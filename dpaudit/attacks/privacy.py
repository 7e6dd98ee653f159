"""The audit of one program against one privacy claim: two rows, the claim in its view and the proof's own
accounting.

For every pair of neighbours, in both directions, and every history (sampled, forced by name, at quantiles of
every site) the program is recorded on one input and replayed on the other. From the replays come: the largest
exact loss in the claim's view and in the finest view, each with its witness; leaks; and the observed
accounting. The certificate comes from the suite and speaks about a mechanism: that the program is this
mechanism is one of its assumptions, so that ``verified / accounted`` is the most that a program gets. It is
granted only if every moved site is a mechanism of the certificate, every declared site class was touched on a
forced history, every line and branch of the program was entered, nothing undeclared moved, no leak was seen,
the declared total was attained, and a black-box check finds nothing (DESIGN, section 2).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.attacks.accounting import SiteClass, declared_total
from dpaudit.attacks.domains import Domain
from dpaudit.attacks.entered import Watch
from dpaudit.attacks.findings import Findings
from dpaudit.attacks.gathering import gather
from dpaudit.attacks.histories import Neighbours
from dpaudit.attacks.second_look import second_look
from dpaudit.certificates.build import Proof, accounted, certify
from dpaudit.certificates.build import SiteClass as ProofClass
from dpaudit.claims import Accounting, ApproxDP, Claim, PrivacyClaim, PureDP, Unit
from dpaudit.coins import Choice, Program, fingerprint, record
from dpaudit.coins.limits import Limits
from dpaudit.errors import BrokenHarnessError
from dpaudit.evidence import Certificate, Evidence, Witness
from dpaudit.reports.plots import histogram_of_losses
from dpaudit.suite import Outcome, Row, Run, Suite
from dpaudit.verdicts import RELATIVE_MARGIN, VerdictKind, judge
from dpaudit.views import EVERYTHING

__all__ = [
    "Findings",
    "PrivacyAudit",
    "accounting_outcome",
    "add_privacy_rows",
    "digest_of",
    "gather",
    "privacy_outcome",
]

#: The declared total must be attained to within this share by some tested pair (DESIGN, section 2, iii).
ATTAINED = Fraction(99, 100)


@dataclass(frozen=True, kw_only=True)
class PrivacyAudit:
    """A program, its claim, and what is needed to look for trouble.

    ``neighbours(run)`` returns the pairs; ``classes`` is the accounting that the proof declares,
    ``histories`` names the forced histories (site, occurrence, law -> outcome or None), ``proof`` is what the
    certificates are made from, or ``None`` where there is none. ``searched`` = (records, width) lets
    Hypothesis look for worse pairs among arrays of at most that many records. ``more(run)`` may add evidence
    of its own, such as an event with both probabilities bounded. ``unentered`` maps the name of a function to
    the reason why lines and branches of it, and of functions inside it, need not be entered by any history;
    ``"name (raise)"`` speaks of those that only lead to an error, ``"name (branch)"`` of other conditions
    that come out one way only; the row prints it. ``domain`` says what one number of a record can be: pairs
    are then its corners and random ones too, besides those of ``neighbours``.
    """

    claim: PrivacyClaim
    program: Program
    neighbours: Callable[[Run], Sequence[Neighbours]]
    classes: Sequence[SiteClass]
    histories: Mapping[str, Choice] = field(default_factory=dict)
    proof: Proof | None = None
    more: Callable[[Run], Sequence[Evidence]] | None = None
    samples: int = 4
    searched: tuple[int, int | None] | None = None
    unentered: Mapping[str, str] = field(default_factory=dict)
    domain: Domain | None = None

    @property
    def declared(self) -> Fraction:
        """The declared total price of one record."""
        return declared_total(self.classes)

    @property
    def accounting(self) -> Accounting:
        """The claim that the proof's accounting makes."""
        return Accounting(
            epsilon=self.declared,
            declared="; ".join(item.describe() for item in self.classes),
            adjacency=self.claim.adjacency,
            unit=self.claim.unit,
            turnout=self.claim.turnout,
        )


def _certificate(audit: PrivacyAudit, claim: Claim, findings: Findings) -> list[Evidence]:
    """The certificate, with what ties the program to it: an assumption, which replays test and never
    prove."""
    if audit.proof is None:
        return []
    seen = f"{findings.histories} histories on {findings.pairs} pairs"
    words = f"the program is this mechanism, as far as {seen} show"
    if audit.domain is not None:
        words += f", corners and a search in {audit.domain} among them"
    if findings.places:
        words += f"; {findings.places} were moved, numbers went from {findings.numbers}"
    if audit.claim.unit is Unit.USER:
        words += "; each pair is taken to change what one user contributes"
    whole = accounted([ProofClass(site="*", touches=1, mechanism=audit.proof)], declared=words)
    return [certify(claim, whole)]


def _obstacles(audit: PrivacyAudit, findings: Findings) -> list[str]:
    """What stands between a certificate and a verdict."""
    missing = [item.pattern for item in audit.classes if item.pattern not in findings.touched]
    found = [] if audit.classes else ["no site class is declared: nothing says what one record can touch"]
    found += [f"no forced history touched the declared site class {pattern!r}" for pattern in missing]
    found += list(findings.violations.values())
    found += [f"leak: {leak}" for leak in findings.leaks.values()]
    found += findings.obstacles
    if findings.attained < ATTAINED * audit.declared:
        share = float(findings.attained / audit.declared) if audit.declared else 0.0
        found.append(
            f"the declared total {float(audit.declared):g} was not attained: the search reached "
            f"{float(findings.attained):g}, {100 * share:.3g} % of it"
        )
    return found


def _too_tight(audit: PrivacyAudit, evidence: Sequence[Evidence]) -> list[str]:
    """A certificate from an accounting must not be tighter than the accounting that the replays were held
    against."""
    return [
        f"the certificate's bound {float(item.bound):g} is below the declared total {float(audit.declared):g}"
        for item in evidence
        if isinstance(item, Certificate) and item.quantity == "epsilon" and item.bound < audit.declared
    ]


def _notes(audit: PrivacyAudit, findings: Findings) -> list[str]:
    return [
        *findings.notes,
        f"{findings.replays} replays; one record cost at most {float(findings.attained):.6g} in all "
        f"releases, declared {float(audit.declared):.6g}",
    ]


def privacy_outcome(audit: PrivacyAudit, run: Run) -> Outcome:
    """Evidence on the claim itself, in its own view."""
    findings = gather(audit, run)
    evidence = _certificate(audit, audit.claim, findings)
    obstacles = _obstacles(audit, findings) + _too_tight(audit, evidence)
    notes = _notes(audit, findings)
    if audit.claim.view in findings.best:
        evidence += _against(audit.claim, findings.best[audit.claim.view][1])
    if audit.more is not None:
        evidence.extend(audit.more(run))
    evidence = _reconciled(evidence, obstacles, notes)
    verdict = judge(audit.claim, evidence, obstacles=obstacles, alpha=run.alpha).verdict
    if any("lines" in why for why in findings.cut):
        notes.append("no second look as a black box: some runs of the program have no end")
    elif verdict is VerdictKind.VERIFIED:
        notes.append(second_look(audit.program, audit.claim, audit.neighbours(run), seed=run.seed))
    plots = [_loss_plot(audit, findings)] if findings.losses else []
    return Outcome(evidence, notes, obstacles, plots, findings.replays)


def accounting_outcome(audit: PrivacyAudit, run: Run) -> Outcome:
    """Evidence on the proof's accounting: everything that anybody sees counts, whether or not the decisions
    hide it."""
    findings = gather(audit, run)
    evidence = _certificate(audit, audit.accounting, findings)
    obstacles, notes = _obstacles(audit, findings), _notes(audit, findings)
    if EVERYTHING in findings.best:
        evidence.append(findings.best[EVERYTHING][1])
    return Outcome(_reconciled(evidence, obstacles, notes), notes, obstacles, (), findings.replays)


def _against(claim: PrivacyClaim, witness: Witness) -> list[Evidence]:
    """What a transcript says about the claim: its loss bounds a pure epsilon; of another notion only an event
    that one input never shows refutes, and of (epsilon, delta) not even that."""
    if isinstance(claim, PureDP):
        return [witness]
    if witness.form == "leak" and not isinstance(claim, ApproxDP):
        return [replace(witness, quantity=claim.quantity)]
    return []


def _reconciled(evidence: Sequence[Evidence], obstacles: Sequence[str], notes: list[str]) -> list[Evidence]:
    """The evidence without certificates that a witness is above: they are about another mechanism, as an
    obstacle says. Raises ``BrokenHarnessError`` where nothing says so."""
    witnesses = [item for item in evidence if isinstance(item, Witness)]
    if not witnesses:
        return list(evidence)
    infinite = any(item.bound is None for item in witnesses)
    worst = max((item.bound for item in witnesses if item.bound is not None), default=Fraction(0))
    kept: list[Evidence] = []
    for item in evidence:
        if isinstance(item, Certificate) and (infinite or worst > item.bound * (1 + RELATIVE_MARGIN)):
            below = f"a witness at {'infinity' if infinite else f'{float(worst):.9g}'}"
            if not obstacles:
                raise BrokenHarnessError(
                    f"the harness contradicts itself: {below} is above a certificate at "
                    f"{float(item.bound):.9g}, and nothing says that the program is another mechanism."
                )
            notes.append(
                f"the certificate at {float(item.bound):.9g} is about another mechanism: {obstacles[0]}"
            )
        else:
            kept.append(item)
    return kept


def _loss_plot(audit: PrivacyAudit, findings: Findings) -> dict[str, Any]:
    return histogram_of_losses(
        title="Privacy loss of sampled transcripts, everything shown",
        losses=findings.losses,
        claimed=float(audit.declared),
    )


def digest_of(audit: PrivacyAudit, seed: int, *, row_id: str) -> str:
    """A digest of the program on all inputs of the quick profile, which must be the same in any process."""
    run = Run(profile="quick", alpha=0.05, seed=seed, row_id=row_id)
    digest = hashlib.sha256()
    program = Watch(audit.program).counted
    for pair in audit.neighbours(run):
        for data in (pair.left, pair.right):
            rng = np.random.default_rng(seed)
            recording = record(program, data, rng=rng, keep_errors=True, limits=Limits())
            digest.update(fingerprint(recording).encode())
    return digest.hexdigest()


def add_privacy_rows(
    suite: Suite,
    id: str,
    audit: PrivacyAudit,
    *,
    title: str,
    expect: str,
    expect_accounting: str,
    source: str = "",
) -> None:
    """Add ``id`` (the claim in its view) and ``id/accounting`` (the proof's accounting) to ``suite``."""

    def digest(seed: int) -> str:
        return digest_of(audit, seed, row_id=id)

    def in_view(run: Run) -> Outcome:
        """Record the program on one of two neighbours and replay it on the other, sampled and along forced
        histories, and keep the transcript with the largest exact loss in the claim's view as the lower bound;
        the certificate is the upper bound."""
        return privacy_outcome(audit, run)

    def accounted_for(run: Run) -> Outcome:
        """Do the same with everything shown, noisy values included, and hold the releases that moved, and
        what each can cost at its worst outcome, against what the proof declares."""
        return accounting_outcome(audit, run)

    suite.add(
        Row(
            id=id,
            title=title,
            kind="privacy",
            claim=audit.claim,
            evaluate=in_view,
            expect=expect,
            view=str(audit.claim.view),
            source=source,
            fingerprint=digest,
        )
    )
    suite.add(
        Row(
            id=f"{id}/accounting",
            title=f"{title}: the proof's accounting",
            kind="structure",
            claim=audit.accounting,
            evaluate=accounted_for,
            expect=expect_accounting,
            view=str(EVERYTHING),
            source=source,
            fingerprint=digest,
        )
    )
