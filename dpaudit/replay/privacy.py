"""Audit one program against one privacy claim in its view, and the proof's own accounting with it.

For every pair of neighbours, in both directions, and every history (sampled, forced by name, at quantiles of
every site), record the program on one input and replay it on the other. The replays give the largest exact
loss in the claim's view and in the finest view, each with its witness, leaks, and the observed accounting.

The suite's certificate is about a mechanism. One of its assumptions is that the program is this mechanism, so
``consistent`` is the strongest verdict that a certificate gives a program. It requires that every affected
site is a mechanism of the certificate, every declared site was affected on a forced history, nothing
undeclared was affected, no leak was seen, and the pairs are strong enough (docs/design.md, rule 10). A bound
above what the search reached is consistent all the same, and a note says by how much.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.certify.build import accounted, certify
from dpaudit.certify.measures import allowance_of
from dpaudit.certify.sites import Site
from dpaudit.coins import fingerprint, record
from dpaudit.coins.limits import Limits
from dpaudit.core.claims import Accounting, AccountingClaim, ApproxDP, Claim, PrivacyClaim, PureDP, Unit
from dpaudit.core.errors import BrokenHarnessError, CertificateError
from dpaudit.core.evidence import Certificate, Evidence, Witness
from dpaudit.core.exact import exact
from dpaudit.core.neighbours import both_directions
from dpaudit.core.plots import histogram_of_losses
from dpaudit.core.suite import Cell, Outcome, Run
from dpaudit.core.verdicts import RELATIVE_MARGIN, VerdictKind, judge
from dpaudit.core.views import EVERYTHING, View
from dpaudit.kernel.kernel_t0 import Setting
from dpaudit.replay.accounting import common_measure
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.changed_users import in_the_claims_words, view_of
from dpaudit.replay.domains import ListedPairs, require_neighbours
from dpaudit.replay.estimating import Source, estimated
from dpaudit.replay.findings import Findings, Subject, require_repeatable
from dpaudit.replay.input_order import each_input
from dpaudit.replay.releases import release_witness
from dpaudit.replay.replay_plan import gather
from dpaudit.replay.watch import Watch

__all__ = ["ACCOUNTING", "LEAK", "digest_of", "privacy_outcome", "short_outcome", "without_certificates"]

#: The name of the cell on the proof's accounting.
ACCOUNTING = "accounting"

#: The prefix of an unmet condition about an outcome that a neighbour cannot have.
LEAK = "leak: "

#: Some tested pair must move each declared site by this share of the certificate's sensitivity, if the audit
#: declares no data or its listed pairs alone (docs/design.md, rule 10 c).
REACHED = Fraction(99, 100)
#: Number of times that a digest runs each input.
ROUNDS = 3


def _certificate(audit: PrivacyAudit, claim: Claim) -> list[Evidence]:
    """Return the certificate, with the assumption that the program is its mechanism.

    Replays test this assumption and never prove it.
    """
    if audit.whole is None:
        return []
    words = "the program is this mechanism"
    if audit.claim.unit is Unit.USER:
        words += "; each pair is assumed to change what one user contributes"
    mechanism = audit.whole
    if mechanism.rule == "billboard" and not isinstance(claim, PrivacyClaim):
        mechanism = mechanism.premises[0]  # an accounting is about the statistics, which everybody sees
    whole = accounted([Site("*", mechanism=mechanism, total=audit.declared)], declared=words)
    return [certify(claim, whole)]


def _mismatches(findings: Findings) -> list[str]:
    """Return what replays found and the certificate does not cover.

    If there is anything, the program is not its mechanism, and the certificate does not bound the program.
    """
    leaks = [f"{LEAK}{leak}" for leak in findings.leaks.values()]
    return [*findings.violations.values(), *leaks, *findings.unmet]


def _gaps(audit: PrivacyAudit, findings: Findings) -> list[str]:
    """Return what the replays did not examine."""
    found = [] if audit.sites else ["no site is declared, so nothing limits what one record can affect"]
    found += [
        f"the declared site {site.pattern!r} was not affected in any forced history"
        for site in audit.sites
        if site.pattern not in findings.touched
    ]
    if audit.domain is None or isinstance(audit.domain, ListedPairs):
        # Weak pairs hide a program whose true sensitivity is larger; corners of a domain do not.
        found += [
            f"site {pattern!r} changed by at most {100 * float(reach):.3g}% of the certificate's "
            "sensitivity: add a pair that changes it more, declare the domain, or state a smaller sensitivity"
            for pattern, reach in findings.reach.items()
            if pattern and reach < REACHED
        ]
    return found


def _of(audit: PrivacyAudit) -> str:
    """Name the measure that replays are compared in, if it is not the claim's own unit."""
    if common_measure(audit.sites) == "loss":
        return ""
    return f" of {float(audit.allowed):g} in squares (change² over variance)"


def _too_tight(audit: PrivacyAudit) -> list[str]:
    """Return an unmet condition if the proof covers less than the accounting used for the replays."""
    measure = common_measure(audit.sites)
    if audit.whole is None or measure == "count" or any(site.measure != measure for site in audit.sites):
        return []
    try:
        paid = allowance_of(audit.whole, Setting.of(audit.claim.to_json()), measure)
    except CertificateError:
        return []  # reported where the certificate is made
    if paid is None or paid >= audit.allowed * (1 - RELATIVE_MARGIN):
        return []
    return [
        f"the proof covers {float(paid):g}, less than the declared total {float(audit.allowed):g}"
        f"{'' if measure == 'loss' else ' in squares (change² over variance)'}"
    ]


def _notes(audit: PrivacyAudit, findings: Findings) -> list[str]:
    share = findings.attained / audit.allowed if audit.allowed else Fraction(1)
    slack = f"slack: the search reached {100 * float(share):.3g}% of the declared total"
    return [
        *findings.notes,
        *([slack] if share < REACHED else []),
        f"{findings.replays} replays; the largest cost of one record in all releases is "
        f"{float(findings.attained):.6g}{_of(audit)}, declared {float(audit.declared):.6g}",
    ]


def privacy_outcome(audit: PrivacyAudit, run: Run, *, accounting: str = "", proved: bool = False) -> Outcome:
    """Return the evidence on the claim in its own view.

    ``accounting`` is the expected verdict of a cell on the proof's accounting, from the same replays. That
    cell counts everything that anybody sees, whether or not the decisions hide it. ``proved`` is as in
    ``gather``.
    """
    findings = gather(audit, run, proved=proved)
    mismatches = _mismatches(findings)
    gaps = _gaps(audit, findings)
    notes = _notes(audit, findings)
    unsearched = [*([audit.undeclared] if audit.undeclared else []), *findings.unsearched]
    cells = [
        replace(cell, unmet=[*cell.unmet, *unsearched])
        for cell in _accounting_cells(audit, findings, mismatches, gaps, notes, expect=accounting)
    ]
    evidence = _certificate(audit, audit.claim)
    unmet = [*mismatches, *gaps, *_too_tight(audit), *unsearched]
    evidence += _from_below(audit, findings, audit.claim, audit.claim.view)
    evidence += _estimates(audit, findings, run, refuted=_refutes(evidence, audit.claim))
    evidence = _standing(evidence, mismatches, gaps, notes)
    plots = [_loss_plot(audit, findings)] if findings.losses else []
    return Outcome(evidence, notes, unmet, plots, findings.replays, cells=cells)


def short_outcome(audit: PrivacyAudit, run: Run) -> Outcome | None:
    """Return evidence from one sampled history of every pair in either direction, if it refutes the claim.

    Otherwise return ``None``, which means nothing. Use this for programs that are expected to be broken.
    Raises as ``privacy_outcome`` does.
    """
    claim, program = audit.claim, Watch(audit.program).program  # cuts a run that does not end
    findings = Findings(Subject(program=program, claim=claim, sites=audit.sites, proof=audit.whole))
    pairs, rng = list(audit.neighbours(run)), run.rng("replays")
    for pair in pairs:
        require_neighbours(pair, claim.adjacency, claim.unit, audit.domain)
        view_of(pair, claim.view)  # raises if a user in the view changes
    for pair in both_directions(pairs):
        recording = record(program, pair.left, rng=rng, keep_errors=True, limits=Limits())
        require_repeatable(program, pair, recording)
        findings.replay(pair, "sampled", recording)
    evidence = _from_below(audit, findings, claim, claim.view)
    if judge(claim, evidence, alpha=run.alpha).verdict is not VerdictKind.REFUTED:
        return None
    return Outcome(evidence, [f"refuted by {findings.replays} sampled replays"], samples=findings.replays)


def _refutes(evidence: Sequence[Evidence], claim: PrivacyClaim) -> bool:
    """Return whether a witness is above the claim already, so that no estimate is needed."""
    most = None if claim.bound is None else claim.bound * (1 + RELATIVE_MARGIN)
    bounds = [item.bound for item in evidence if isinstance(item, Witness)]
    return most is not None and any(bound is None or bound > most for bound in bounds)


def _estimates(audit: PrivacyAudit, findings: Findings, run: Run, *, refuted: bool) -> list[Evidence]:
    """Return the suite's own evidence and, if no single transcript refutes the claim, a bound from samples.

    The bound uses sampled losses. The two share the row's significance level.
    """
    exactly = isinstance(audit.claim, PureDP) or findings.refuted or refuted or not findings.losses
    if any("lines" in why for why in findings.cut):
        exactly = True  # some run of the program does not end
    share = run if exactly or audit.more is None else replace(run, alpha=run.alpha / 2)
    found = [] if audit.more is None else list(audit.more(share))
    if exactly:
        return found
    source = Source(
        program=audit.program,
        claim=audit.claim,
        limits=findings.limits,
        replayed=replace(findings.subject, program=audit.program).replay,
        real=lambda leak, result: not findings.rounded(leak, result),
    )
    bound = estimated(source, audit.neighbours(run), share, lines=findings.lines)
    return found if bound is None else [*found, bound]


def _accounting_cells(
    audit: PrivacyAudit,
    findings: Findings,
    mismatches: Sequence[str],
    gaps: Sequence[str],
    notes: list[str],
    *,
    expect: str,
) -> list[Cell]:
    """Return the proof's accounting as a cell, if it is requested and the sites have one in this notion."""
    if not expect:
        return []
    claim = audit.accounting
    if claim is None:
        notes.append(
            "no accounting: a site has neither an epsilon nor a rho, so only delta is composed"
            if audit.declared
            else "no accounting: no declared site has a cost"
        )
        return []
    return [_accounting_cell(audit, claim, findings, mismatches, gaps, expect=expect)]


def _accounting_cell(
    audit: PrivacyAudit,
    claim: AccountingClaim,
    findings: Findings,
    mismatches: Sequence[str],
    gaps: Sequence[str],
    *,
    expect: str,
) -> Cell:
    """Return a cell on the proof's own accounting: the total cost of all releases at their worst outcomes."""
    evidence = _certificate(audit, claim)
    notes: list[str] = []
    evidence += _from_below(audit, findings, claim, EVERYTHING)
    return Cell(
        name=ACCOUNTING,
        claim=claim,
        evidence=_standing(evidence, mismatches, gaps, notes),
        expect=expect,
        notes=notes,
        unmet=[*mismatches, *gaps],
        samples=findings.replays,
        deciding=False,
    )


def _from_below(audit: PrivacyAudit, findings: Findings, claim: Claim, view: View) -> list[Evidence]:
    """Return witnesses against ``claim`` in ``view``.

    For a pure claim this is the transcript of largest loss. For another notion it is a leak (for (epsilon,
    delta) with its probability) and the first release.
    """
    best = findings.best.get(view)
    if isinstance(claim, PureDP | Accounting):
        return [] if best is None else [best[1]]
    found: list[Evidence] = []
    if isinstance(claim, ApproxDP):
        found += [] if findings.certain is None else [findings.certain]
        found += [] if findings.branch is None else [findings.branch]
    elif best is not None and best[1].form == "leak":
        found.append(replace(best[1], quantity=claim.quantity))
    release = findings.release_in(view)
    if release is not None:
        words, seen, item, inputs = release
        witness = release_witness(item, claim, view=seen, inputs=inputs, words=words)
        found += [] if witness is None else [in_the_claims_words(witness, seen, view)]
    return found


def _standing(
    evidence: Sequence[Evidence], mismatches: Sequence[str], gaps: Sequence[str], notes: list[str]
) -> list[Evidence]:
    """Remove certificates that are about another mechanism from the evidence.

    These are all certificates if there is a mismatch, and otherwise those below a witness. Raises
    ``BrokenHarnessError`` if a witness is above a certificate and there is neither a mismatch nor a gap.
    """
    if mismatches:
        return without_certificates(evidence, mismatches[0], notes)
    witnesses = [item for item in evidence if isinstance(item, Witness)]
    if not witnesses:
        return list(evidence)
    infinite = any(item.bound is None for item in witnesses)
    worst = max((item.bound for item in witnesses if item.bound is not None), default=Fraction(0))
    kept: list[Evidence] = []
    for item in evidence:
        if isinstance(item, Certificate) and (infinite or worst > item.bound * (1 + RELATIVE_MARGIN)):
            below = f"a witness at {'infinity' if infinite else f'{float(worst):.9g}'}"
            if not gaps:
                raise BrokenHarnessError(
                    f"contradiction: {below} is above a certificate at {float(item.bound):.9g}, although no "
                    "unmet condition separates the program from its mechanism. Please report it as a bug.",
                    code="E-CONTRADICTION",
                )
            notes.append(_other_mechanism(item, gaps[0]))
        else:
            kept.append(item)
    return kept


def without_certificates(evidence: Sequence[Evidence], mismatch: str, notes: list[str]) -> list[Evidence]:
    """Remove the certificates, which are about another mechanism because of ``mismatch``, and add notes.

    A proof of the program itself stays.
    """
    notes += [_other_mechanism(item, mismatch) for item in evidence if isinstance(item, Certificate)]
    return [item for item in evidence if not isinstance(item, Certificate)]


def _other_mechanism(item: Certificate, reason: str) -> str:
    return f"no upper bound: the certificate at {float(item.bound):.9g} is about another mechanism: {reason}"


def _loss_plot(audit: PrivacyAudit, findings: Findings) -> dict[str, Any]:
    return histogram_of_losses(
        title="Privacy loss of sampled transcripts, in the view of everything",
        losses=findings.losses,
        claimed=exact(audit.claim.epsilon) if isinstance(audit.claim, PureDP | ApproxDP) else None,
    )


def digest_of(audit: PrivacyAudit, seed: int, *, row_id: str) -> str:
    """Return a digest of the program on all inputs of the quick profile.

    It must be the same in every process and for every order of the inputs (``input_order``). Each input runs
    ``ROUNDS`` times, because some programs keep a dataset later than the first.
    """
    run = Run(profile="quick", alpha=0.05, seed=seed, row_id=row_id)
    watch = Watch(audit.program)
    inputs = [data for pair in audit.neighbours(run) for data in (pair.left, pair.right)]

    def print_of(data: Any) -> str:
        rng = np.random.default_rng(seed)
        return fingerprint(record(watch.program, data, rng=rng, keep_errors=True, limits=Limits()))

    prints = each_input(inputs * ROUNDS, print_of)
    # one process may make a file, and all later ones find it
    return hashlib.sha256("".join([*prints, *watch.outside]).encode()).hexdigest()
