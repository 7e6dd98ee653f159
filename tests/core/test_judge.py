"""The judge: which evidence decides, which is not used, and what contradictory evidence gives."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit.blackbox.statistics import mean_bounds
from dpaudit.core.claims import Accounting, ApproxDP, Claim, ErrorRate, LowerBound, PureDP, RegretBound
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.evidence import Certificate, Estimate, Evidence, Witness
from dpaudit.core.suite import Outcome, Run
from dpaudit.core.verdicts import Judgement, Strength, VerdictKind, judge
from dpaudit.core.views import SERVER, View
from dpaudit.run.finding import finding_of
from dpaudit.suite import Measured
from tests.errors import raises

ALPHA = 0.01
PURE = PureDP(epsilon=1)
ERROR = ErrorRate(text="the error is at most 1", claimed=1)


def estimate(
    lower: float | None,
    upper: float | None = None,
    *,
    error: float = ALPHA,
    covers: bool = False,
    **more: Any,
) -> Estimate:
    """Bounds that are wrong with probability ``error`` (0: an exact computation)."""
    kind: dict[str, Any] = {"quantity": "epsilon", "method": "bet", "scope": "one pair", "samples": 10}
    kind |= {"seed": 0 if error else None} | more
    return Estimate(lower=lower, upper=upper, confidence=1 - error, covers_claim=covers, **kind)


def proof(bound: str | int, *assumptions: str, quantity: str = "epsilon") -> Certificate:
    return Certificate(quantity=quantity, bound=Fraction(bound), tree={}, assumptions=assumptions)


def witness(bound: str | int | None, quantity: str = "epsilon") -> Witness:
    value = None if bound is None else Fraction(bound)
    return Witness(
        quantity=quantity, bound=value, form="transcript", body={}, origin="sampled", description=""
    )


def verdict(claim: Claim, *evidence: Evidence, alpha: float | None = ALPHA, **more: Any) -> tuple[str, str]:
    judged = judge(claim, evidence, alpha=alpha, **more)
    return judged.verdict.value, judged.strength.value


# Which estimates count: the estimates of a row share its significance level


def test_an_estimate_counts_at_the_rows_error_level_and_not_above() -> None:
    """An estimate refutes at confidence 1 - alpha and is not used at 1 - 1.5 alpha."""
    assert verdict(PURE, estimate(1.5)) == ("refuted", "estimate")
    judged = judge(PURE, [estimate(1.5, error=1.5 * ALPHA), estimate(0.1, error=0.0)], alpha=ALPHA)
    assert judged.lower == Fraction(0.1)
    assert judged.verdict is VerdictKind.INCONCLUSIVE
    assert "confidence 0.985 was not used" in judged.reasons[-1]
    assert judged.reasons[-1].endswith(" 0.99")
    assert judge(PURE, [estimate(1.5, error=1.5 * ALPHA)]).verdict is VerdictKind.REFUTED  # no level given


@pytest.mark.parametrize("count", [2, 200])
def test_estimates_share_the_rows_error_level(count: int) -> None:
    """Several estimates decide at confidence 1 - alpha/count each, and not at 1 - alpha."""
    rest = [estimate(0.0) for _ in range(count - 1)]
    judged = judge(PURE, [estimate(1.5), *rest], alpha=ALPHA)
    assert judged.verdict is VerdictKind.INCONCLUSIVE
    assert f"{count} of {count} estimates" in judged.reasons[-1]
    assert judged.reasons[-1].endswith(f" {1 - ALPHA / count:.6g}")
    shared = [estimate(lower, error=ALPHA / count) for lower in (1.5, *[0.0] * (count - 1))]
    assert verdict(PURE, *shared) == ("refuted", "estimate")


def test_the_most_confident_estimates_count_while_there_is_level_left() -> None:
    """Which estimates count depends on their confidences alone, never on their bounds."""
    strong, weak = estimate(1.5, error=ALPHA / 2), estimate(1.7)
    for order in ([strong, weak], [weak, strong]):
        judged = judge(PURE, order, alpha=ALPHA)
        assert (judged.verdict, judged.lower) == (VerdictKind.REFUTED, Fraction(3, 2))
    silent = [estimate(None, error=ALPHA) for _ in range(3)]  # tests that found nothing use the level too
    assert verdict(PURE, estimate(1.5), *silent) == ("inconclusive", "none")


def test_exact_computations_cost_no_error_level() -> None:
    """Exact values on a grid use nothing of the row's level, however many there are."""
    exact = [estimate(0.5, error=0.0) for _ in range(300)]
    assert verdict(PURE, estimate(1.5), *exact) == ("refuted", "estimate")


@pytest.mark.parametrize("parts", [3, 7, 10, 113, 422])
def test_a_level_divided_by_hand_is_the_level(parts: int) -> None:
    """The rounding of 1 - alpha/parts, parts times, is tolerated."""
    shared = [estimate(1.5, error=ALPHA / parts) for _ in range(parts)]
    assert verdict(PURE, *shared) == ("refuted", "estimate")
    assert verdict(PURE, *shared, estimate(0.0, error=1e-9)) == ("inconclusive", "none")


def test_a_tiny_level_is_not_lost_in_rounding() -> None:
    """At alpha = 1e-13 an estimate that errs three times as often is not used."""
    assert verdict(PURE, estimate(1.5, error=1e-13), alpha=1e-13) == ("refuted", "estimate")
    assert verdict(PURE, estimate(1.5, error=3e-13), alpha=1e-13) == ("inconclusive", "none")


def test_the_level_itself_is_still_allowed() -> None:
    """One ulp above the level is tolerated, and two are not."""
    loss = 2.0**-52
    at, beyond = (judge(PURE, [estimate(1.5, error=0.25 + k * loss)], alpha=0.25) for k in (1, 2))
    assert (at.verdict, beyond.verdict) == (VerdictKind.REFUTED, VerdictKind.INCONCLUSIVE)


def test_the_weakest_of_the_estimates_is_named() -> None:
    """The reason names the least confident of the estimates that are not used."""
    found = [estimate(1.5, error=error) for error in (0.1, 0.4, 0.2)]
    (reason,) = [text for text in judge(PURE, found, alpha=ALPHA).reasons if "not used" in text]
    assert "3 of 3 estimates" in reason
    assert "weakest at confidence 0.6:" in reason


def test_two_hundred_null_estimates_in_one_row_do_not_refute_it() -> None:
    """Fair coins against "the mean is at most 1/2": tested 200 times at the row's level, some test errs (the
    seed is one where it does), and the row is not refuted by it.
    """
    claim = ErrorRate(text="the mean is at most 1/2", claimed="1/2")
    rng = np.random.default_rng(0)
    level = 0.1
    found = []
    for _ in range(200):
        low, _ = mean_bounds(rng.random(300) < 0.5, low=0.0, high=1.0, alpha=level)
        found.append(estimate(low, error=level, quantity="error"))
    assert any(item.lower > 0.5 for item in found if item.lower is not None)
    assert verdict(claim, *found, alpha=level) == ("inconclusive", "none")


@pytest.mark.parametrize("confidence", [-0.1, 1.1, math.nan, math.inf])
def test_a_confidence_is_a_probability(confidence: float) -> None:
    """A confidence outside [0, 1] is refused: above 1 it would allow other estimates to err more."""
    with raises(InvalidParameterError, code="E-CONFIDENCE-RANGE"):
        Estimate(
            quantity="epsilon",
            lower=0.0,
            upper=None,
            confidence=confidence,
            samples=1,
            method="bet",
            scope="one pair",
        )


def test_the_confidence_of_a_row_is_that_of_all_its_estimates_together() -> None:
    """Two estimates at 1 - alpha/2 hold together with 1 - alpha; one alone keeps its own."""
    shared = [estimate(low, error=0.005, quantity="error") for low in (1.5, 0.5)]
    assert finding_of(ERROR, Outcome(shared), alpha=0.01)["confidence"] == pytest.approx(0.99, abs=1e-15)
    alone = [estimate(1.5, error=0.005, quantity="error"), estimate(0.2, error=0.0, quantity="error")]
    assert finding_of(ERROR, Outcome(alone), alpha=0.01)["confidence"] == 0.995
    weak = [estimate(1.5, error=0.005, quantity="error"), estimate(1.6, error=0.2, quantity="error")]
    found = finding_of(ERROR, Outcome(weak), alpha=0.01)
    assert (found["verdict"], found["lower"], found["confidence"]) == ("refuted", pytest.approx(1.5), 0.995)


# Contradictions


def test_a_witness_above_a_proof_is_a_broken_harness() -> None:
    """Two rigorous statements that contradict each other crash the row, whatever the claim."""
    for claimed in ("1/4", "1", "4"):
        judged = judge(PureDP(epsilon=claimed), [witness("3/2"), proof("1/2")])
        assert judged.verdict is VerdictKind.CRASHED
        assert judged.broken
        assert "contradiction" in judged.reasons[0]
    assert verdict(PURE, witness("1/2"), proof("1/2")) == ("verified", "proved")  # attained


@pytest.mark.parametrize("claimed", ["1/4", "1", "4"])
def test_an_estimate_above_a_proof_is_never_verified_silently(claimed: str) -> None:
    """An estimate above a proof crashes the row, with both bounds and possible causes."""
    judged = judge(PureDP(epsilon=claimed), [estimate(1.5), proof("1/2")], alpha=ALPHA)
    assert (judged.verdict, judged.broken) == (VerdictKind.CRASHED, True)
    assert (judged.lower, judged.upper) == (Fraction(3, 2), Fraction(1, 2))
    assert "contradiction" in judged.reasons[0]
    assert "1.5" in judged.reasons[0]
    assert "0.5" in judged.reasons[0]
    assert "probability at most 0.01" in judged.reasons[1]


def test_a_weak_estimate_above_a_proof_contradicts_nothing() -> None:
    """An estimate below the row's confidence is not used, and the proof stands."""
    judged = judge(PURE, [estimate(1.5, error=0.2), proof("1/2")], alpha=ALPHA)
    assert (judged.verdict, judged.strength) == (VerdictKind.VERIFIED, Strength.PROVED)
    assert "not used" in judged.reasons[-1]


def test_rounding_is_no_contradiction() -> None:
    """A float one part in 10^12 above the proved value does not contradict it."""
    assert verdict(PURE, estimate(0.5 * (1 + 1e-12)), proof("1/2")) == ("verified", "proved")
    assert verdict(PURE, estimate(0.5 * (1 + 1e-6)), proof("1/2")) == ("crashed", "none")
    approx = ApproxDP(epsilon=1, delta="1e-3")
    exact = judge(PURE, [estimate(0.6, error=0.0), proof("1/2")], alpha=ALPHA)
    assert "was computed wrongly" in exact.reasons[1]
    nothing = ErrorRate(text="the error is 0", claimed=0)
    zero = estimate(0.0, 0.0, error=0.0, covers=True, quantity="error")
    assert verdict(nothing, zero) == ("verified", "tested")
    assert verdict(nothing, zero, estimate(0.0, quantity="error")) == ("verified", "tested")
    tiny = proof("1e-6", quantity="delta")
    assert verdict(approx, estimate(1e-6 + 1e-13, quantity="delta"), tiny) == ("verified", "proved")
    assert verdict(approx, estimate(1e-6 + 1e-11, quantity="delta"), tiny) == ("crashed", "none")


def test_a_witness_above_a_proof_by_less_than_rounding_contradicts_it() -> None:
    """A witness contradicts a proof by any amount, but other certificates only beyond rounding."""
    above = witness("50000000001/100000000000")
    assert verdict(PURE, above, proof("1/2")) == ("crashed", "none")
    assert verdict(PURE, above, proof("1/2", "assumed")) == ("consistent", "accounted")


@pytest.mark.parametrize("found", [witness("3/4"), estimate(0.75)])
def test_what_an_accounting_does_not_cover_shows_that_its_assumption_fails(found: Evidence) -> None:
    """A certificate under assumptions is rejected by a lower bound above it, and the reason names both."""
    declared = proof("1/2", "the declared accounting holds")
    judged = judge(PURE, [found, declared], alpha=ALPHA)
    assert (judged.verdict, judged.upper) == (VerdictKind.INCONCLUSIVE, None)
    assert "the declared accounting holds" in judged.reasons[-1]
    assert "0.5" in judged.reasons[-1]
    assert verdict(PureDP(epsilon="5/8"), found, declared)[0] == "refuted"
    assert verdict(PURE, found, declared, proof(1)) == ("verified", "proved")


def test_with_an_unmet_condition_the_certificate_is_about_another_mechanism() -> None:
    """A leak explains the contradiction: the certificate is rejected and the lower bound decides."""
    for found in (witness("3/2"), estimate(1.5)):
        judged = judge(PURE, [found, proof("1/2")], unmet=["a leak"], alpha=ALPHA)
        assert (judged.verdict, judged.upper) == (VerdictKind.REFUTED, None)
        assert "about another mechanism: a leak" in judged.reasons[-1]
    judged = judge(PureDP(epsilon=2), [witness("3/2"), proof("1/2")], unmet=["a leak"])
    assert judged.verdict is VerdictKind.INCONCLUSIVE
    assert "a leak" in judged.reasons


def test_every_certificate_is_compared_with_the_lower_bound() -> None:
    """A witness above any proof is a contradiction, not only above the proof that decides."""
    assert verdict(PURE, witness("3/4"), proof("1/2"), proof(1)) == ("crashed", "none")
    assert verdict(PURE, witness("3/4"), proof("7/10"), proof("3/4", "assumed")) == ("crashed", "none")
    assert verdict(PURE, witness(None), proof("1/2")) == ("crashed", "none")
    judged = judge(PURE, [witness("3/4"), estimate(0.9), witness("4/5"), proof("1/2")])
    assert (judged.lower, judged.upper) == (Fraction(4, 5), Fraction(1, 2))
    assert "contradiction" in judged.reasons[0]


def test_two_tests_that_contradict_each_other_do_not_verify() -> None:
    """An upper bound on the whole grid below a lower bound of the same row does not verify it."""
    grid = estimate(None, 0.5, error=0.0, covers=True, quantity="error")
    low = estimate(0.75, quantity="error")
    judged = judge(ERROR, [grid, low], alpha=ALPHA)
    assert (judged.verdict, judged.upper) == (VerdictKind.INCONCLUSIVE, None)
    assert "at most 0.5" in judged.reasons[-1]
    assert "at least 0.75" in judged.reasons[-1]
    assert verdict(ERROR, grid, estimate(1.5, quantity="error")) == ("refuted", "estimate")
    itself = estimate(0.75, 0.5, error=0.0, covers=True, quantity="error")
    assert verdict(ERROR, itself) == ("inconclusive", "none")
    low_and_high = estimate(1.5, 0.5, error=0.0, covers=True, quantity="error")
    assert verdict(ERROR, low_and_high) == ("refuted", "tested")  # its lower bound stands


# Which bound counts


def test_what_covers_the_claim_without_an_upper_end_blocks_verified() -> None:
    """A covering estimate without an upper bound prevents ``verified``, unless there is a certificate."""
    exact: dict[str, Any] = {"error": 0.0, "quantity": "error"}
    below = estimate(0.25, 0.5, covers=True, **exact)
    endless, lower_only = estimate(0.1, None, covers=True, **exact), estimate(0.1, **exact)
    for order in ([below, endless], [endless, below]):
        judged = judge(ERROR, order, alpha=ALPHA)
        assert (judged.verdict.value, judged.upper) == ("inconclusive", None)
    assert verdict(ERROR, below, lower_only) == ("verified", "tested")
    assert verdict(ERROR, below, endless, proof(1, quantity="error")) == ("verified", "proved")
    claim = LowerBound(text="at least 1", claimed=1)
    about = {"error": 0.0, "quantity": claim.quantity, "covers": True}
    assert verdict(claim, estimate(None, 0.5, **about), estimate(0.1, None, **about))[0] == "refuted"


def test_a_measured_bound_of_infinity_blocks_verified() -> None:
    """A measured upper bound of infinity covers the claim and has no upper bound in JSON."""
    run = Run(profile="quick", alpha=ALPHA, seed=0, row_id="r")
    ends = [Measured(high=high).estimate(ERROR, run, scope="a grid") for high in (0.5, math.inf)]
    assert finding_of(ERROR, Outcome(ends[:1]), alpha=ALPHA)["verdict"] == "verified"
    assert finding_of(ERROR, Outcome(ends), alpha=ALPHA)["verdict"] == "inconclusive"


def test_evidence_on_a_statement_bounds_its_quantity() -> None:
    """Evidence on a statement bounds the quantity that it names, or the quantity of its type."""
    named = ErrorRate(text="the relative error is at most 1", quantity_name="relative error", claimed=1)
    for quantity in ("relative error", "error"):
        assert verdict(named, estimate(None, 0.5, error=0.0, covers=True, quantity=quantity))[0] == "verified"
    for claim, quantity in ((named, "bits"), (ERROR, "relative error")):
        with raises(InvalidParameterError, code="E-EVIDENCE-QUANTITY"):
            judge(claim, [estimate(None, 0.5, error=0.0, covers=True, quantity=quantity)])


def test_covering_estimates_count_with_the_largest_upper_bound() -> None:
    """All estimates that cover the claim must reach it."""
    below = estimate(None, 0.5, error=0.0, covers=True, quantity="error")
    above = estimate(None, 2.0, error=0.0, covers=True, quantity="error")
    for evidence in ([below, above], [above, below]):
        judged = judge(ERROR, evidence)
        assert (judged.verdict, judged.upper) == (VerdictKind.INCONCLUSIVE, Fraction(2))
    assert verdict(ERROR, below) == ("verified", "tested")


def test_a_proof_is_preferred_among_the_certificates_that_reach_the_claim() -> None:
    """A smaller bound under assumptions does not hide a proof; if none reaches, the smallest is shown."""
    assert verdict(PURE, proof(1), proof("1/2", "assumed")) == ("verified", "proved")
    assert verdict(PURE, proof(2), proof("1/2", "assumed")) == ("consistent", "accounted")
    judged = judge(PURE, [proof(3), proof(2, "assumed")])
    assert (judged.verdict, judged.upper) == (VerdictKind.INCONCLUSIVE, Fraction(2))


def test_a_privacy_claim_is_never_verified_by_tests() -> None:
    """An upper bound by an estimate does not verify a privacy claim, even if it covers the claim."""
    assert verdict(PURE, estimate(0.1, 0.5, error=0.0, covers=True)) == ("inconclusive", "none")
    assert verdict(ERROR, estimate(0.1, 0.5, error=0.0, quantity="error")) == ("inconclusive", "none")


@pytest.mark.parametrize(
    ("lower", "outcome"),
    [
        ("1", "inconclusive"),
        ("1.0000000005", "inconclusive"),
        ("1.000000001", "inconclusive"),
        ("1.000000002", "refuted"),
    ],
)
def test_refutation_needs_the_margin(lower: str, outcome: str) -> None:
    """Between the claim and one part in 10^9 above it a row is inconclusive because of rounding."""
    judged = judge(PURE, [witness(lower)])
    assert judged.verdict.value == outcome
    assert any("rounding" in reason for reason in judged.reasons) == (
        Fraction(lower) > 1 and outcome != "refuted"
    )


def test_delta_has_an_absolute_margin() -> None:
    """Up to 10^-12 above delta is rounding, and more refutes."""
    claim = ApproxDP(epsilon=1, delta="1e-3")
    assert verdict(claim, witness("0.0010000000005", "delta")) == ("inconclusive", "none")
    assert verdict(claim, witness("0.001000000002", "delta")) == ("refuted", "witness")


def test_unmet_conditions_keep_certificates_from_verifying_and_tests_not() -> None:
    """A certificate with an unmet condition is inconclusive; a computation on a whole grid verifies."""
    judged = judge(PURE, [proof(1)], unmet=["a branch was not visited"])
    assert (judged.verdict, judged.reasons) == (VerdictKind.INCONCLUSIVE, ("a branch was not visited",))
    grid = estimate(None, 0.5, error=0.0, covers=True, quantity="error")
    assert verdict(ERROR, grid, unmet=["x"]) == ("verified", "tested")


def test_a_lower_bound_is_refuted_from_above_and_never_verified() -> None:
    """A certified upper bound below the claimed value refutes it; a simulation above it verifies nothing."""
    claim = LowerBound(text="regret at least 1", claimed=1)
    about = {"quantity": claim.quantity}
    assert verdict(claim, proof("1/2", **about)) == ("refuted", "proved")
    for near in ("0.9999999995", "0.999999999"):
        assert verdict(claim, proof(near, **about)) == ("inconclusive", "none")
    assert verdict(claim, proof("0.999999998", **about)) == ("refuted", "proved")
    judged = judge(claim, [estimate(2.0, error=0.0, **about)])
    assert judged.verdict is VerdictKind.INCONCLUSIVE
    assert "never verified by simulation" in judged.reasons[0]
    assert verdict(claim, estimate(None, 0.5, error=0.0, covers=True, **about)) == ("refuted", "tested")


def test_a_claim_without_a_number_is_inconclusive() -> None:
    """Evidence cannot decide a claim without a number."""
    judged = judge(RegretBound(text="small"), [estimate(0.5, quantity="regret / bound")])
    assert judged.verdict is VerdictKind.INCONCLUSIVE
    assert judged.reasons == ("the claim has no number to compare with",)


def test_evidence_must_bound_the_claimed_quantity() -> None:
    """A bound on delta is refused as evidence on epsilon, for privacy and accounting claims."""
    for claim in (PURE, Accounting(epsilon=1, declared="x")):
        with raises(InvalidParameterError, code="E-EVIDENCE-QUANTITY", match="'epsilon', got 'delta'"):
            judge(claim, [witness(1, "delta")])


def test_slack_is_the_claim_over_the_certified_bound() -> None:
    """A mechanism with 30 times the noise has slack 30; beyond the floats there is none to print."""
    assert judge(PURE, [proof("1/30")]).slack == 30.0
    assert judge(PURE, [witness(1)]).slack is None
    tiny: Judgement = judge(PURE, [proof("1e-400")])
    assert (tiny.verdict, tiny.slack) == (VerdictKind.VERIFIED, None)


def test_an_inconclusive_row_names_the_missing_evidence() -> None:
    """The reason names the missing bound, and the best certificate if there is one."""
    assert judge(PURE, []).reasons == ("to decide: a lower bound above the claim, or a certificate at 1",)
    assert judge(PURE, [proof(2)]).reasons[0].endswith("a certificate at 1 (the best certificate reaches 2)")


def test_the_best_lower_bound_wins_with_its_kind() -> None:
    """The largest lower bound decides and names the strength; an infinite one is the largest float."""
    assert verdict(PURE, witness("3/2"), estimate(1.2)) == ("refuted", "witness")
    assert verdict(PURE, witness("6/5"), estimate(1.5)) == ("refuted", "estimate")
    assert verdict(ERROR, estimate(1.5, 2.0, error=0.0, covers=True, quantity="error")) == (
        "refuted",
        "tested",
    )
    assert judge(PURE, [witness(None)]).lower == Fraction(1.7976931348623157e308)


def test_a_view_is_a_view_or_one_principal() -> None:
    """``SERVER`` is accepted as the view of the server; a string, None and a set are refused."""
    assert PureDP(epsilon=1, view=SERVER) == PureDP(epsilon=1, view=View.of(SERVER))
    for view in ("server", None, frozenset()):
        with raises(InvalidParameterError, code="E-VIEW-TYPE"):
            PureDP(epsilon=1, view=view)
