"""Rows on programs: contradictions, the assumptions of certificates, and other notions."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit.certify import build
from dpaudit.certify.proof import Proof
from dpaudit.certify.sites import Site
from dpaudit.coins import Coins
from dpaudit.core.claims import ApproxDP, Claim, PureDP, ZeroConcentratedDP
from dpaudit.core.errors import BrokenHarnessError, MechanismError
from dpaudit.core.evidence import Witness
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Outcome, Run, Suite
from dpaudit.core.verdicts import Strength, VerdictKind, judge
from dpaudit.distributions import Gaussian, Laplace
from dpaudit.kernel.kernel_t0 import HIGHER, Guarantee
from dpaudit.kernel.t2.rules import T2
from dpaudit.replay import privacy
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.domains import Values
from dpaudit.replay.privacy import privacy_outcome
from dpaudit.suite import privacy as privacy_row
from tests.errors import raises
from tests.replay.traps import BOTH, BROKEN, RIGHT, Case

RUN = Run(profile="quick", alpha=0.01, seed=0, row_id="row")
PAIRS = [Neighbours("0 to 1", np.array([0.0]), np.array([1.0]))]


def sum_with(noise: Any) -> Any:
    return lambda coins, data: float(coins.release(float(data.sum()), noise, site="sum"))


def test_a_witness_above_a_certificate_without_a_reason_is_a_broken_harness(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A witness above a certificate without an unmet condition raises a contradiction."""
    case = Case(sum_with(Laplace(scale="1/2")))
    monkeypatch.setattr(privacy, "_mismatches", lambda findings: [])
    monkeypatch.setattr(privacy, "_gaps", lambda audit, findings: [])
    with raises(BrokenHarnessError, code="E-CONTRADICTION"):
        privacy_outcome(case.audit(), RUN)


@pytest.mark.parametrize("seed", range(5))
def test_the_verdict_is_the_same_for_every_seed(seed: int) -> None:
    """Forced histories are not random: a window is found, and a right program verified, whatever the seed."""
    run = Run(profile="quick", alpha=0.01, seed=seed, row_id="row")
    for case, verdict in (
        (BROKEN["a_window_on_one_line"], VerdictKind.REFUTED),
        (BROKEN["noisy_value_against_a_raw_threshold"], VerdictKind.REFUTED),
        (RIGHT["a_window_of_outcomes"], VerdictKind.CONSISTENT),
    ):
        audit = case.audit()
        found = privacy_outcome(audit, run)
        judged = judge(audit.claim, found.evidence, unmet=found.unmet, alpha=run.alpha)
        assert judged.verdict is verdict


def test_a_program_that_always_fails_is_an_error() -> None:
    """A program that raises on all data is an error."""

    def program(coins: Coins, data: Any) -> float:
        raise TypeError("always")

    with raises(MechanismError, code="E-MECHANISM-NO-END", match="TypeError: always"):
        privacy_outcome(Case(program).audit(), RUN)


def zcdp(sigma: int, **options: Any) -> tuple[Claim, Outcome]:
    """A noisy sum that claims 1/8-zCDP, with a proof for standard deviation 2."""
    claim = ZeroConcentratedDP(rho="1/8")
    audit = PrivacyAudit(
        domain=Values(0, 1),
        claim=claim,
        program=options.get("program") or sum_with(Gaussian(sigma=sigma)),
        neighbours=lambda run: BOTH,
        sites=[Site("sum", total=1)],
        proof=build.gaussian_mechanism(sensitivity=1, scale=2),
    )
    return claim, privacy_outcome(audit, RUN)


def test_other_notions_take_leaks_and_first_releases_as_witnesses_and_no_transcripts() -> None:
    """Half the noise has four times the divergence, exactly; raw data refute; no transcript is evidence."""
    claim, found = zcdp(1)
    judged = judge(claim, found.evidence, unmet=found.unmet, alpha=RUN.alpha)
    assert (judged.verdict, judged.lower) == (VerdictKind.REFUTED, Fraction(1, 2))
    assert {item.form for item in found.evidence if isinstance(item, Witness)} == {"release"}
    assert any("smaller than the leaf's" in text for text in found.unmet)
    claim, found = zcdp(2, program=lambda coins, data: float(data[0]))
    judged = judge(claim, found.evidence, unmet=found.unmet, alpha=RUN.alpha)
    assert judged.verdict is VerdictKind.REFUTED


def test_an_approximate_claim_is_not_refuted_by_one_transcript() -> None:
    """Gaussian noise has no largest loss: what a replay shows far out says nothing about delta."""
    claim = ApproxDP(epsilon=1, delta="1/100")
    audit = PrivacyAudit(
        domain=Values(0, 1),
        claim=claim,
        program=sum_with(Gaussian(sigma=4)),
        neighbours=lambda run: BOTH,
        sites=[Site("sum", total=1)],
        proof=build.gaussian_mechanism(sensitivity=1, scale=4),
    )
    found = privacy_outcome(audit, RUN)
    judged = judge(claim, found.evidence, unmet=found.unmet, alpha=RUN.alpha)
    assert judged.verdict is VerdictKind.INCONCLUSIVE


# What certificates say in a suite's own rows


@pytest.fixture
def own_rule() -> Iterator[None]:
    """A rule that a suite registers by itself: everything is 1-DP."""

    @T2.rule("trust-me")
    def _trust(parameters: Any, premises: Any, setting: Any) -> Guarantee:
        return Guarantee(pure=Fraction(1))

    yield
    del T2.rules["trust-me"]
    del HIGHER["trust-me"]


def judged(proof: Proof) -> tuple[Strength, list[str]]:
    suite, claim = Suite(paper="own", title="Own"), PureDP(epsilon=1)

    @suite.row("row", title="by itself", kind="privacy", claim=claim)
    def row(run: Run) -> Outcome:
        """Certify it."""
        return Outcome([proof.certify(claim)])

    assert suite.rows[0].evaluate.__doc__ == "Certify it."
    found = suite.rows[0].evaluate(RUN)
    return judge(claim, found.evidence, alpha=RUN.alpha).strength, list(found.notes)


@pytest.mark.usefixtures("own_rule")
def test_a_rule_of_the_suites_own_never_proves() -> None:
    """It is an assumption; the kernel's own rules are not."""
    assert judged(Proof("trust-me", {}))[0] is Strength.ACCOUNTED
    assert judged(build.post_processing(Proof("trust-me", {}), function="f"))[0] is Strength.ACCOUNTED
    assert judged(build.laplace_mechanism(sensitivity=1, scale=1))[0] is Strength.PROVED


def test_a_certificate_row_says_that_it_runs_no_program() -> None:
    """A certificate is about a mechanism; a row about a program says how many replays there were instead."""
    said = "this row runs no program: its certificate is about a mechanism"
    assert said in judged(build.laplace_mechanism(sensitivity=1, scale=1))[1]
    suite, audit = Suite(paper="own", title="Own"), RIGHT["a_sum"].audit()

    @privacy_row(suite, "sum", "")
    def sum_of_all() -> PrivacyAudit:
        """sum"""
        return audit

    assert said not in suite.rows[0].evaluate(RUN).notes
