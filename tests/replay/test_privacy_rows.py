"""The two rows of a privacy audit decide correctly on programs that are right, or wrong in one respect."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpaudit.certify.build import accounted, laplace_mechanism
from dpaudit.certify.sites import Site
from dpaudit.certify.witnesses.recompute import recompute
from dpaudit.coins import Returned
from dpaudit.core.claims import PureDP
from dpaudit.core.evidence import Witness
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Run
from dpaudit.core.verdicts import Strength, VerdictKind, judge
from dpaudit.core.views import PUBLIC, SERVER, View
from dpaudit.distributions import Categorical, Laplace
from dpaudit.replay.accounting import worst_loss
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.domains import Interval
from dpaudit.replay.privacy import privacy_outcome

PAIRS = [Neighbours("first record 0 to 1", np.array([0.0, 0.5]), np.array([1.0, 0.5]))]
CLASS = Site("sum", total=1)
PROOF = accounted(
    [Site("sum", mechanism=laplace_mechanism(sensitivity=1, scale=1))],
    declared="one sum",
)


def audit_of(program, *, sites=(CLASS,), proof=PROOF, view=SERVER, claim=None, **options):
    return PrivacyAudit(
        domain=Interval(0, 1),
        claim=claim or PureDP(epsilon=1, view=View.of(view)),
        program=program,
        neighbours=lambda run: PAIRS,
        sites=sites,
        proof=proof,
        **options,
    )


def decide(audit, *, accounting=False, seed=0):
    run = Run(profile="quick", alpha=0.01, seed=seed, row_id="row")
    outcome = privacy_outcome(audit, run, accounting="consistent")
    (cell,) = outcome.cells
    claim = audit.accounting if accounting else audit.claim
    if accounting:
        outcome = replace(outcome, evidence=cell.evidence, unmet=cell.unmet)
    for item in outcome.evidence:
        if isinstance(item, Witness):
            recompute(item, claim)  # raises if the witness claims more than its distributions and values give
    return judge(claim, outcome.evidence, unmet=outcome.unmet, alpha=run.alpha)


def noisy_sum(scale, *, to=SERVER):
    noise = Laplace(scale=scale)
    return lambda coins, data: Returned(coins.release(float(data.sum()), noise, site="sum", to=to), to)


def test_a_right_program_is_verified_in_both_rows():
    """One Laplace release with the right scale: certificate at the claim, witness at the claim, accounting
    attained."""
    for accounting in (False, True):
        judgement = decide(audit_of(noisy_sum(1)), accounting=accounting)
        assert (judgement.verdict, judgement.strength) == (VerdictKind.CONSISTENT, Strength.ACCOUNTED)
        assert float(judgement.lower) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_a_right_program_is_never_refuted_over_100_histories(seed):
    """No sampled history makes an exact loss exceed what the noise allows: 20 of them in each direction, by
    five seeds. Forced histories are the same for every seed, and the black box has null audits of its own.
    """
    assert decide(audit_of(noisy_sum(1), samples=20), seed=seed).verdict is VerdictKind.CONSISTENT


@pytest.mark.parametrize("scale", ["1/2", "99/100"])
def test_too_little_noise_is_refuted_with_a_witness_that_re_computes(scale):
    """Half the noise, and one per cent too little: the witness shows the exact loss 1/scale."""
    judgement = decide(audit_of(noisy_sum(scale), proof=None))
    assert (judgement.verdict, judgement.strength) == (VerdictKind.REFUTED, Strength.WITNESS)
    assert float(judgement.lower) == pytest.approx(float(1 / Fraction(scale)), rel=1e-12)


def test_a_wrong_accounted_certificate_does_not_verify_a_program_that_breaks_it():
    """The certificate says 1, the replays show 2: the accounting is refuted, and the row is never
    verified."""
    judgement = decide(audit_of(noisy_sum("1/2", to=PUBLIC), view=PUBLIC), accounting=True)
    assert judgement.verdict is VerdictKind.REFUTED


def test_a_raw_value_is_an_infinite_loss_in_the_view_that_sees_it():
    """A raw record shown to the server refutes there; in the public view, which sees nothing of what the
    server sees, the same program is private."""

    def program(coins, data):
        coins.reveal(float(data[0]), site="raw", to=SERVER)
        return noisy_sum(1)(coins, data)

    assert decide(audit_of(program)).verdict is VerdictKind.REFUTED
    judgement = decide(audit_of(program, view=PUBLIC))
    assert (judgement.verdict, judgement.strength) == (VerdictKind.CONSISTENT, Strength.ACCOUNTED)
    assert judgement.lower is None


def test_an_undeclared_release_blocks_the_accounting():
    """A second noisy copy under another name is in no declared class: refuted by its cost, and named."""

    def program(coins, data):
        coins.release(float(data.sum()), Laplace(scale=1), site="copy", to=SERVER)
        return noisy_sum(1)(coins, data)

    assert decide(audit_of(program), accounting=True).verdict is VerdictKind.REFUTED
    outcome = privacy_outcome(audit_of(program), Run(profile="quick", alpha=0.01, seed=0, row_id="row"))
    assert any("'copy' is affected" in unmet_condition for unmet_condition in outcome.unmet)


def test_a_declared_class_that_no_forced_history_touched_is_inconclusive():
    """A site that no forced history affected prevents `verified`."""
    sites = (CLASS, Site("never", total=1))
    judgement = decide(audit_of(noisy_sum(1), sites=sites))
    assert judgement.verdict is VerdictKind.INCONCLUSIVE
    assert any("'never'" in reason for reason in judgement.reasons)


def test_a_bound_that_is_only_slack_is_verified_with_its_slack_in_a_note():
    """Twice the noise that the accounting declares: the search reaches half of the declared total."""
    judgement = decide(audit_of(noisy_sum(2)))
    assert judgement.verdict is VerdictKind.CONSISTENT
    outcome = privacy_outcome(audit_of(noisy_sum(2)), Run(profile="quick", alpha=0.01, seed=0, row_id="row"))
    assert any("slack" in note and "50%" in note for note in outcome.notes)


@pytest.mark.parametrize("total", [1, "1/100"])
def test_weak_pairs_do_not_verify_a_program_of_larger_sensitivity(total):
    """A hundredfold sum, and pairs that move it by a tenth at most: open, also where the declared total is
    lowered to what the search reaches; with a domain it is refuted."""

    def program(coins, data):
        return noisy_sum(1)(coins, 10 * data)

    weak = [Neighbours("a little", np.array([0.0, 0.0]), np.array([0.001, 0.0]))]
    proof = laplace_mechanism(sensitivity=1, scale=1)
    for domain, verdict in ((None, VerdictKind.INCONCLUSIVE), (Interval(0, 1), VerdictKind.REFUTED)):
        audit = PrivacyAudit(
            claim=PureDP(epsilon=1, view=View.of(SERVER)),
            program=program,
            neighbours=lambda run: weak,
            sites=[Site("sum", mechanism=proof, total=total)],
            domain=domain,
        )
        outcome = privacy_outcome(audit, Run(profile="quick", alpha=0.01, seed=0, row_id="row"))
        assert judge(audit.claim, outcome.evidence, unmet=outcome.unmet).verdict is verdict


def test_a_mismatch_leaves_no_upper_bound_in_the_row_and_its_cell():
    """The noise is a tenth short of the certificate's, and the claim is above both: the certificate is about
    another mechanism, and a note says so."""
    audit = audit_of(noisy_sum("9/10"), claim=PureDP(epsilon=2, view=View.of(SERVER)))
    run = Run(profile="quick", alpha=0.01, seed=0, row_id="row")
    outcome = privacy_outcome(audit, run, accounting="refuted")
    found = judge(audit.claim, outcome.evidence, unmet=outcome.unmet)
    assert (found.verdict, found.upper, found.slack) == (VerdictKind.INCONCLUSIVE, None, None)
    assert any("another mechanism" in note for note in outcome.notes)
    (cell,) = outcome.cells
    under = judge(cell.claim, cell.evidence, unmet=cell.unmet)
    assert (under.verdict, under.upper) == (VerdictKind.REFUTED, None)
    assert any("another mechanism" in note for note in cell.notes)


def test_the_cost_of_a_finite_distribution_is_its_largest_log_ratio():
    """worst_loss of two categorical distributions encloses the largest log-ratio over the atoms, in both
    directions."""
    left = Categorical(probabilities=["1/2", "1/4", "1/4"])
    right = Categorical(probabilities=["1/4", "1/2", "1/4"])
    assert float(worst_loss(left, right)) == pytest.approx(np.log(2), rel=1e-12)
    assert worst_loss(left, Categorical(probabilities=["1/2", "1/2"])) is None
