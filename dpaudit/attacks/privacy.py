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
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.attacks.accounting import SiteClass, declared_total
from dpaudit.attacks.domains import Domain, more_pairs, require_neighbours, spoken_domain
from dpaudit.attacks.entered import Watch, excuse_for
from dpaudit.attacks.findings import Findings, Subject, require_repeatable
from dpaudit.attacks.histories import Neighbours, both_directions, far_out, worst_history
from dpaudit.attacks.quantiles import quantile_histories
from dpaudit.attacks.search import neighbouring_arrays, search_pairs
from dpaudit.attacks.second_look import second_look
from dpaudit.certificates.build import Proof, accounted, certify
from dpaudit.certificates.build import SiteClass as ProofClass
from dpaudit.claims import Accounting, Claim, PrivacyClaim
from dpaudit.coins import Choice, Program, fingerprint, record
from dpaudit.coins.limits import Limits, limited_memory
from dpaudit.errors import InvalidParameterError, MechanismError
from dpaudit.evidence import Certificate, Evidence
from dpaudit.reports.plots import histogram_of_losses
from dpaudit.suite import Outcome, Row, Run, Suite
from dpaudit.verdicts import VerdictKind, judge
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

#: Forced histories draw what they do not choose from this seed, whatever the run's own is.
FORCED = 10
#: At most so many pairs that nobody picked: corners of the domain, and as many random ones.
BESIDE = 8
#: Quantile histories in all: as many as a program of few steps gets, the least, and steps to spend.
MOST_QUANTILES, LEAST_QUANTILES, STEPS = 300, 24, 150_000
#: Memory that a history far out may ask for, beside what the process has.
MEGABYTES = 1024


@dataclass(frozen=True, kw_only=True)
class PrivacyAudit:
    """A program, its claim, and what is needed to look for trouble.

    ``neighbours(run)`` returns the pairs; ``classes`` is the accounting that the proof declares,
    ``histories`` names the forced histories (site, occurrence, law -> outcome or None), ``proof`` is what the
    certificates are made from, or ``None`` where there is none. ``searched`` = (records, width) lets
    Hypothesis look for worse pairs among arrays of at most that many records. ``more(run)`` may add evidence
    of its own, such as an event with both probabilities bounded. ``unentered`` maps the name of a function to
    the reason why lines and branches of it, and of functions inside it, need not be entered by any history;
    ``"name (raise)"`` speaks of those that only lead to an error, ``"name (branch)"`` of other conditions that
    come out one way only; the row prints it. ``domain`` says what one
    number of a record can be: pairs are then its corners and random ones too, besides those of
    ``neighbours``.
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
        return Accounting(epsilon=self.declared, declared="; ".join(item.describe() for item in self.classes))


def gather(audit: PrivacyAudit, run: Run) -> Findings:
    """Record and replay every pair, direction and history.

    Raises ``MechanismError`` for a program that does not repeat itself on one and the same input (it draws
    outside the coins, or keeps something between calls, and then no replay says anything) or that ends by an
    error whatever it is given, and ``InvalidParameterError`` for pairs that are no neighbours.
    """
    pairs = list(audit.neighbours(run))
    if not pairs:
        raise InvalidParameterError("neighbours must give at least one pair, got none; return pairs.")
    claim = audit.claim
    unchecked = [require_neighbours(pair, claim.adjacency, claim.unit, audit.domain) for pair in pairs]
    first = _print(audit, pairs[0].left, run)
    watch = Watch(audit.program)
    subject = Subject(program=watch.program, claim=claim, classes=audit.classes, proof=audit.proof)
    findings, aside = Findings(subject), Findings(subject)
    found = _searched_pair(audit, run)
    if found is not None:
        pairs.append(found)
        findings.notes.append(
            f"smallest pair found by search: {found.left.tolist()} against {found.right.tolist()}"
        )
    findings.notes += list(dict.fromkeys(text for text in unchecked if text))
    limits = _look(findings, audit, pairs, run.rng("replays"), watch)
    declared = audit.domain is not None
    beside = more_pairs(
        pairs, claim.adjacency, audit.domain or spoken_domain(claim.domain), run.rng("pairs"), most=BESIDE
    )
    for pair in both_directions(beside):
        _glance(findings if declared else aside, audit, pair, run.rng("beside"), limits)
    _at_quantiles(findings, audit, [*pairs, *(beside if declared else ())], watch, limits)
    _conclude(findings, aside, audit, watch)
    findings.pairs = len(pairs) + (len(beside) if declared else 0)
    if _print(audit, pairs[0].left, run) != first:
        raise MechanismError(
            "state between calls: the program must do the same on the same input and coins, its last run on "
            f"{pairs[0].name!r} differs from its first; keep nothing outside the program's own variables."
        )
    return findings


def _print(audit: PrivacyAudit, data: Any, run: Run) -> str:
    return fingerprint(record(audit.program, data, rng=run.rng("same input"), keep_errors=True))


def _look(
    findings: Findings, audit: PrivacyAudit, pairs: Sequence[Neighbours], rng: np.random.Generator, watch: Watch
) -> Limits:
    """The histories of every pair: sampled, in the tails of what moved, forced by name, far out. Returns the
    limits of a run, which follow from the sampled ones."""
    program = watch.program
    sites = values = steps = 0
    for pair in both_directions(pairs):
        for _ in range(audit.samples):
            recording = record(program, pair.left, rng=rng, keep_errors=True, limits=Limits())
            sites = max(sites, len(recording.sites))
            values = max(values, sum(int(np.size(site.value)) for site in recording.sites))
            steps = max(steps, watch.steps)
            require_repeatable(program, pair, recording)
            findings.losses.append(float(findings.replay(pair, "sampled", recording).loss()))
    limits = Limits(sites=10 * sites + 100, values=20 * values + 100_000)
    watch.limit = 20 * steps + 200_000
    for pair in both_directions(pairs):
        if findings.refuted:
            break
        for name, choice in {"tails": None, **audit.histories}.items():
            chosen = None if choice is None else watch.aside(choice)
            _follow(findings, program, pair, f"forced ({name})", limits, choice=chosen)
        for name, direction in (("all far up", 1), ("all far down", -1)):
            with limited_memory(MEGABYTES):
                far = far_out(direction)
                _follow(findings, program, pair, f"forced ({name})", limits, choice=far, rounds=1)
    if not findings.ended:
        raise MechanismError(
            f"a program must run on its data, got {findings.errors[0] if findings.errors else 'no end'} in "
            "every history; fix it or the data."
        )
    return limits


def _follow(
    findings: Findings, program: Program, pair: Neighbours, how: str, limits: Limits, **options: Any
) -> None:
    """One worst history, which is the same whatever the run's seed is."""
    rng = np.random.default_rng(FORCED)
    for result in worst_history(program, pair, rng=rng, keep_errors=True, limits=limits, **options):
        findings.note(pair, how, result)


def _glance(
    findings: Findings, audit: PrivacyAudit, pair: Neighbours, rng: np.random.Generator, limits: Limits
) -> None:
    """A pair that nobody picked: one sampled history and the tails of what moved in it."""
    if findings.refuted:
        return
    program = findings.subject.program
    recording = record(program, pair.left, rng=rng, keep_errors=True, limits=limits)
    require_repeatable(program, pair, recording)
    findings.replay(pair, "sampled", recording)
    _follow(findings, program, pair, "forced (tails)", limits, rounds=2)


def _at_quantiles(
    findings: Findings, audit: PrivacyAudit, pairs: Sequence[Neighbours], watch: Watch, limits: Limits
) -> None:
    """Quantiles of every site, spread over all pairs and directions, and bisections between them. A program
    of many steps gets fewer."""
    whole = int(min(MOST_QUANTILES, max(LEAST_QUANTILES, STEPS / (watch.steps + 100))))
    directed = both_directions(pairs)
    each = max(6, whole // len(directed))
    chosen = directed[:: max(1, len(directed) * each // max(whole, each))]
    for pair in chosen:
        for item in quantile_histories(watch, pair, values=each, halvings=each, limits=limits):
            if findings.refuted:
                return
            findings.replay(pair, f"forced ({item.words})", item.recording)


def _conclude(findings: Findings, aside: Findings, audit: PrivacyAudit, watch: Watch) -> None:
    """What stands against a verdict besides leaks and broken accounting."""
    _note_unentered(findings, audit, watch)
    findings.histories = findings.replays
    for why, where in findings.cut.items():
        findings.notes.append(f"a history was cut, its program came to {why} ({where})")
    if findings.errors:
        findings.notes.append(f"{len(findings.errors)} runs ended by an error, such as {findings.errors[0]}")
    beyond = [text for text in aside.violations.values()]
    beyond += [f"leak: {leak}" for leak in aside.leaks.values()]
    beyond += aside.obstacles
    findings.obstacles += [
        f"{text}: a pair that is not in the suite's list; add it, or declare the domain"
        for text in beyond
        if text not in findings.obstacles
    ]
    findings.notes.append(
        f"pairs from {audit.domain}: its corners and a seeded search stand beside the suite's own"
        if audit.domain is not None
        else f"the pairs are the suite's own: no domain is declared ({aside.replays} replays at other positions)"
    )


def _note_unentered(findings: Findings, audit: PrivacyAudit, watch: Watch) -> None:
    """Lines and branches that no replay entered: obstacles, unless the audit gives a reason for their
    function."""
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
    findings.notes += [
        f"not every line of {name} was entered: {audit.unentered[name]}" for name in sorted(excused)
    ]


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


def _certificate(audit: PrivacyAudit, claim: Claim, findings: Findings) -> list[Evidence]:
    """The certificate, with what ties the program to it: an assumption, which replays test and never
    prove."""
    if audit.proof is None:
        return []
    words = (
        f"the program is this mechanism, as far as {findings.histories} histories on {findings.pairs} pairs "
        f"show{'' if audit.domain is None else f', corners and a search in {audit.domain} among them'}"
    )
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
    if audit.claim.view in findings.best:
        evidence.append(findings.best[audit.claim.view][1])
    if audit.more is not None:
        evidence.extend(audit.more(run))
    notes = _notes(audit, findings)
    if judge(audit.claim, evidence, obstacles=obstacles, alpha=run.alpha).verdict is VerdictKind.VERIFIED:
        notes.append(second_look(audit.program, audit.claim, audit.neighbours(run), seed=run.seed))
    plots = [_loss_plot(audit, findings)] if findings.losses else []
    return Outcome(evidence, notes, obstacles, plots, findings.replays)


def accounting_outcome(audit: PrivacyAudit, run: Run) -> Outcome:
    """Evidence on the proof's accounting: everything that anybody sees counts, whether or not the decisions
    hide it."""
    findings = gather(audit, run)
    evidence = _certificate(audit, audit.accounting, findings)
    obstacles = _obstacles(audit, findings)
    if EVERYTHING in findings.best:
        evidence.append(findings.best[EVERYTHING][1])
    return Outcome(evidence, _notes(audit, findings), obstacles, (), findings.replays)


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
            recording = record(
                audit.program, data, rng=np.random.default_rng(seed), keep_errors=True, limits=Limits()
            )
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
