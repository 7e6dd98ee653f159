"""The audit of one program against one privacy claim: two rows, the claim in its view and the proof's own
accounting.

For every pair of neighbours, in both directions, and every history (sampled, and forced by name) the program
is recorded on one input and replayed on the other. From the replays come: the largest exact loss in the
claim's view and in the finest view, each with its witness; leaks; and the observed accounting. The
certificate comes from the suite; ``verified / accounted`` is granted only if every declared site class was
touched on a forced history, every line of the program was entered, nothing undeclared moved, no leak was
seen, and the declared total was attained (DESIGN, section 2).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.attacks.accounting import SiteClass, declared_total, observe_accounting
from dpaudit.attacks.entered import Watch, excuse_for
from dpaudit.attacks.histories import Neighbours, both_directions, far_out, worst_history
from dpaudit.attacks.search import neighbouring_arrays, search_pairs
from dpaudit.attacks.witnessing import leak_witness, loss_witness
from dpaudit.certificates.build import Proof, certify
from dpaudit.claims import Accounting, Claim, PrivacyClaim
from dpaudit.coins import Choice, Program, Recording, Replay, fingerprint, record, replay
from dpaudit.coins.replayer import Leak
from dpaudit.errors import InvalidParameterError, MechanismError
from dpaudit.evidence import Certificate, Evidence, Witness
from dpaudit.reports.plots import histogram_of_losses
from dpaudit.suite import Outcome, Row, Run, Suite
from dpaudit.views import EVERYTHING, View

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
    the reason why lines of it, and of functions inside it, need not be entered by any history; the row prints
    it.
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

    @property
    def declared(self) -> Fraction:
        """The declared total price of one record."""
        return declared_total(self.classes)

    @property
    def accounting(self) -> Accounting:
        """The claim that the proof's accounting makes."""
        return Accounting(epsilon=self.declared, declared="; ".join(item.describe() for item in self.classes))


@dataclass
class Findings:
    """What all replays of one audit showed."""

    best: dict[View, tuple[float, Witness]] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)
    violations: dict[str, str] = field(default_factory=dict)
    leaks: dict[str, Leak] = field(default_factory=dict)
    obstacles: list[str] = field(default_factory=list)
    attained: Fraction = Fraction(0)
    losses: list[float] = field(default_factory=list)
    replays: int = 0
    searched: str = ""
    excused: list[str] = field(default_factory=list)


def gather(audit: PrivacyAudit, run: Run) -> Findings:
    """Record and replay every pair, direction and history.

    Raises ``MechanismError`` for a program that does not repeat itself on one and the same input: it draws
    outside the coins, or keeps something between calls, and then no replay says anything.
    """
    findings = Findings()
    rng = run.rng("replays")
    pairs = list(audit.neighbours(run))
    if not pairs:
        raise InvalidParameterError("neighbours must give at least one pair, got none; return pairs.")
    first = _print(audit, pairs[0].left, run)
    found = _searched_pair(audit, run)
    if found is not None:
        pairs.append(found)
        findings.searched = (
            f"smallest pair found by search: {found.left.tolist()} against {found.right.tolist()}"
        )
    watch = Watch(audit.program)
    watched = replace(audit, program=watch.program)
    for pair in both_directions(pairs):
        _examine(findings, watched, pair, rng, watch)
    _note_unentered(findings, audit, watch)
    if _print(audit, pairs[0].left, run) != first:
        raise MechanismError(
            "state between calls: the program must do the same on the same input and coins, its last run on "
            f"{pairs[0].name!r} differs from its first; keep nothing outside the program's own variables."
        )
    return findings


def _print(audit: PrivacyAudit, data: Any, run: Run) -> str:
    return fingerprint(record(audit.program, data, rng=run.rng("same input")))


def _require_repeatable(audit: PrivacyAudit, pair: Neighbours, recording: Recording) -> None:
    """Replay a recording on its own input: nothing may move."""
    result = replay(audit.program, pair.left, recording)
    moved = [item.record.site for item in result.losses if item.moved]
    moved += [
        recording.sites[item.indices[0]].site for item in result.sessions if item.moved and item.indices
    ]
    moved += [str(leak) for leak in result.leaks]
    if moved:
        raise MechanismError(
            "randomness outside coins: a replay on the same input must agree with its recording, it differs "
            f"at {moved[0]!r} ({pair.name}); draw through the coins alone and keep nothing between calls."
        )


def _note_unentered(findings: Findings, audit: PrivacyAudit, watch: Watch) -> None:
    """Lines that no replay entered: obstacles, unless the audit gives a reason for their function."""
    if not watch.functions:
        findings.obstacles.append(
            "no function of the program could be watched line by line: write it as a Python function"
        )
    excused: set[str] = set()
    lines = []
    for line, function in watch.missing():
        name = excuse_for(function, audit.unentered)
        if name is not None:
            excused.add(name)
        else:
            lines.append(f"{line} in {function}")
    if lines:
        more = f" and {len(lines) - 5} more" if len(lines) > 5 else ""
        findings.obstacles.append(
            f"no replay entered {', '.join(lines[:5])}{more}: force a history that does"
        )
    findings.excused += [
        f"not every line of {name} was entered: {audit.unentered[name]}" for name in sorted(excused)
    ]


def _examine(
    findings: Findings, audit: PrivacyAudit, pair: Neighbours, rng: np.random.Generator, watch: Watch
) -> None:
    views = (audit.claim.view, EVERYTHING)
    for _ in range(audit.samples):
        recording = record(audit.program, pair.left, rng=rng)
        _require_repeatable(audit, pair, recording)
        result = replay(audit.program, pair.right, recording)
        _note(findings, audit, pair, "sampled", result, views)
        findings.losses.append(float(result.loss()))
    for name, choice in {"tails": None, **audit.histories}.items():
        aside = None if choice is None else watch.aside(choice)
        for result in worst_history(audit.program, pair, rng=rng, choice=aside):
            _note(findings, audit, pair, f"forced ({name})", result, views)
    for name, direction in (("all far up", 1), ("all far down", -1)):
        for result in worst_history(audit.program, pair, rng=rng, choice=far_out(direction), rounds=1):
            _note(findings, audit, pair, f"forced ({name})", result, views)


def _searched_pair(audit: PrivacyAudit, run: Run) -> Neighbours | None:
    """The smallest pair, if any, that costs more than the declared total when everything is shown."""
    if audit.searched is None:
        return None

    def score(pair: Neighbours) -> float:
        replays = worst_history(audit.program, pair, rng=run.rng("search"), rounds=3)
        return max((abs(float(result.loss())) for result in replays), default=0.0)

    records, width = audit.searched
    seed = int(run.seed_sequence("search").generate_state(1)[0])
    return search_pairs(
        neighbouring_arrays(records=records, width=width),
        score,
        threshold=float(audit.declared) * (1 + 1e-6),
        examples=run.choose(quick=400, full=2000),
        seed=seed,
    )


def _note(
    findings: Findings, audit: PrivacyAudit, pair: Neighbours, how: str, result: Replay, views: Sequence[View]
) -> None:
    findings.replays += 1
    observed = observe_accounting(result, audit.classes)
    findings.attained = max(findings.attained, observed.total)
    findings.touched |= {
        pattern for pattern, count in observed.touches.items() if count and result.recording.forced
    }
    for violation in observed.violations(audit.classes):
        # One entry for each kind of violation of a class, whatever its numbers: the first one stands for all.
        findings.violations.setdefault(
            re.sub(r"[0-9.]+", "#", violation), f"{violation} ({pair.name}, {how})"
        )
    for leak in result.leaks:
        findings.leaks.setdefault(f"{leak.what}@{leak.site}", leak)
    findings.obstacles.extend(o for o in result.obstacles if o not in findings.obstacles)
    for view in views:
        _keep_best(findings, view, pair, how, result)


def _keep_best(findings: Findings, view: View, pair: Neighbours, how: str, result: Replay) -> None:
    """Keep the transcript with the largest loss that is a witness in ``view``; a leak that refutes there is
    an infinite one."""
    words = f"{pair.name}; {how} history"
    leaks = result.leaks_in(view)
    if leaks and findings.best.get(view, (0.0, None))[0] != float("inf"):
        findings.best[view] = (float("inf"), leak_witness(result, leaks[0], view=view, description=words))
        return
    end = result.witness_end(view)
    loss = abs(float(result.loss(view, end=end)))
    # Building a witness costs balls: only for a loss that beats the best one by more than rounding.
    if loss > findings.best.get(view, (0.0, None))[0] * (1 + 1e-12) + 1e-15:
        findings.best[view] = (loss, loss_witness(result, end=end, view=view, description=words))


def _certificate(audit: PrivacyAudit, claim: Claim) -> list[Evidence]:
    return [] if audit.proof is None else [certify(claim, audit.proof)]


def _obstacles(audit: PrivacyAudit, findings: Findings, evidence: Sequence[Evidence]) -> list[str]:
    """What stands between a certificate and a verdict.

    A proved bound need not be attained; that the program is the mechanism of the proof is tested all the
    same.
    """
    missing = [item.pattern for item in audit.classes if item.pattern not in findings.touched]
    found = [] if audit.classes else ["no site class is declared: nothing says what one record can touch"]
    found += [f"no forced history touched the declared site class {pattern!r}" for pattern in missing]
    found += list(findings.violations.values())
    found += [f"leak: {leak}" for leak in findings.leaks.values()]
    found += findings.obstacles
    proved = any(isinstance(item, Certificate) and not item.assumptions for item in evidence)
    if not proved and findings.attained < ATTAINED * audit.declared:
        found.append(
            f"the declared total {float(audit.declared):g} was not attained: the search reached "
            f"{float(findings.attained):g}"
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


def _notes(audit: PrivacyAudit, findings: Findings, evidence: Sequence[Evidence]) -> list[str]:
    found = [findings.searched] if findings.searched else []
    found += findings.excused
    if any(isinstance(item, Certificate) and item.strength == "proved" for item in evidence):
        # A certificate is about the mechanism in its rule tree; what ties the program to it is the replays.
        found.append(
            "proved: the mechanism that the certificate names, for all inputs; that the program is this "
            "mechanism, with the stated sensitivity, is tested by the replays"
        )
    return [
        *found,
        f"{findings.replays} replays; one record cost at most {float(findings.attained):.6g} in all "
        f"releases, declared {float(audit.declared):.6g}",
    ]


def privacy_outcome(audit: PrivacyAudit, run: Run) -> Outcome:
    """Evidence on the claim itself, in its own view."""
    findings = gather(audit, run)
    evidence = _certificate(audit, audit.claim)
    obstacles = _obstacles(audit, findings, evidence) + _too_tight(audit, evidence)
    if audit.claim.view in findings.best:
        evidence.append(findings.best[audit.claim.view][1])
    if audit.more is not None:
        evidence.extend(audit.more(run))
    plots = [_loss_plot(audit, findings)] if findings.losses else []
    return Outcome(evidence, _notes(audit, findings, evidence), obstacles, plots, findings.replays)


def accounting_outcome(audit: PrivacyAudit, run: Run) -> Outcome:
    """Evidence on the proof's accounting: everything that anybody sees counts, whether or not the decisions
    hide it."""
    findings = gather(audit, run)
    evidence = _certificate(audit, audit.accounting)
    obstacles = _obstacles(audit, findings, evidence)
    if EVERYTHING in findings.best:
        evidence.append(findings.best[EVERYTHING][1])
    return Outcome(evidence, _notes(audit, findings, evidence), obstacles, (), findings.replays)


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
    for pair in audit.neighbours(run):
        for data in (pair.left, pair.right):
            recording = record(audit.program, data, rng=np.random.default_rng(seed))
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
