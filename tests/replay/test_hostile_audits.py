"""Programs whose audit must not be verified, and programs whose replays mean nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpaudit.certify.build import laplace_mechanism
from dpaudit.certify.sites import Site
from dpaudit.coins import Coins
from dpaudit.core.claims import GaussianDP, PureDP, ZeroConcentratedDP
from dpaudit.core.errors import InvalidParameterError, MechanismError
from dpaudit.core.evidence import Certificate
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Group, Run
from dpaudit.core.verdicts import Judgement, Strength, VerdictKind, judge
from dpaudit.core.views import PUBLIC, SERVER
from dpaudit.distributions import DiscreteLaplace, Laplace
from dpaudit.kernel.check import check
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.domains import Values
from dpaudit.replay.privacy import digest_of, privacy_outcome
from dpaudit.suite import privacy
from tests.errors import raises

PAIRS = [
    Neighbours("first record 0 to 1", np.array([0.0, 0.0]), np.array([1.0, 0.0])),
    Neighbours("second record 0 to 1", np.array([1.0, 0.0]), np.array([1.0, 1.0])),
]
NOISE = Laplace(scale=1)
RUN = Run(profile="quick", alpha=0.01, seed=0, row_id="row")


def audit_of(program: Callable[[Coins, Any], Any], *, touches: int = 1) -> PrivacyAudit:
    """The claim epsilon = 1, with a proof that rests on no assumption: what is left is the program."""
    return PrivacyAudit(
        domain=Values(0, 1),
        claim=PureDP(epsilon=1),
        program=program,
        neighbours=lambda run: PAIRS,
        sites=[Site("sum", touches=touches, total=1)],
        proof=laplace_mechanism(sensitivity=1, scale=1),
    )


def decide(program: Callable[[Coins, Any], Any], **options: Any) -> Judgement:
    return decide_and_say(program, **options)[0]


def decide_and_say(program: Callable[[Coins, Any], Any], **options: Any) -> tuple[Judgement, Sequence[str]]:
    audit = audit_of(program, **options)
    outcome = privacy_outcome(audit, RUN)
    judged = judge(audit.claim, outcome.evidence, unmet=outcome.unmet, alpha=RUN.alpha)
    return judged, outcome.notes


def test_the_mechanism_of_the_proof_is_accounted() -> None:
    """The program of the proof has no unmet condition, and an assumption that it is this mechanism."""
    audit = audit_of(lambda coins, data: coins.release(float(data.sum()), NOISE, site="sum"))
    outcome = privacy_outcome(audit, RUN)
    found = judge(audit.claim, outcome.evidence, unmet=outcome.unmet, alpha=RUN.alpha)
    assert (found.verdict, found.strength) == (VerdictKind.CONSISTENT, Strength.ACCOUNTED)
    (certificate,) = (item for item in outcome.evidence if isinstance(item, Certificate))
    assert "the program is this mechanism" in certificate.assumptions[0]
    assert check(certificate, audit.claim) == certificate.bound


def test_a_proof_does_not_verify_a_program_that_leaks_behind_hidden_noise() -> None:
    """What is shown with one's own hidden noise refutes nothing here, but it is not the proof's mechanism."""

    def program(coins: Coins, data: Any) -> int:
        coins.release(float(data.sum()), NOISE, site="sum", to=SERVER)
        return int(data.sum()) + int(coins.draw(DiscreteLaplace(scale="1/10"), site="own"))

    found = decide(program)
    assert found.verdict is VerdictKind.INCONCLUSIVE
    assert "site 'return' is affected but not declared" in found.reasons[0]


def test_a_proof_does_not_verify_a_program_that_releases_more_behind_a_hidden_site() -> None:
    """A second, more expensive release outside the view breaks the accounting."""

    def program(coins: Coins, data: Any) -> None:
        coins.release(float(data.sum()), NOISE, site="sum", to=SERVER)
        coins.release(5 * float(data.sum()), NOISE, site="sum", to=PUBLIC)

    found = decide(program)
    assert found.verdict is VerdictKind.INCONCLUSIVE
    assert any("affected 2 times" in reason for reason in found.reasons)


@pytest.mark.parametrize("threshold", [200.0, -1e6])
def test_a_branch_far_in_the_tail_is_entered(threshold: float) -> None:
    """Raw data shown only when the noise is huge, in either direction, are found."""

    def program(coins: Coins, data: Any) -> Any:
        noisy = coins.release(float(data.sum()), NOISE, site="sum")
        return data if noisy * np.sign(threshold) > abs(threshold) else None

    found, notes = decide_and_say(program)
    assert (found.verdict, found.strength) == (VerdictKind.REFUTED, Strength.WITNESS)
    assert any("is about another mechanism: leak: value at site 'return'" in note for note in notes)


def test_a_buggy_program_beside_a_proof_is_refuted() -> None:
    """Half the noise of the proof's mechanism is refuted by a witness."""
    found, notes = decide_and_say(lambda coins, data: coins.release(2 * float(data.sum()), NOISE, site="sum"))
    assert (found.verdict, found.upper) == (VerdictKind.REFUTED, None)
    assert any("one record can cost 2, declared 1" in note for note in notes)


def test_randomness_outside_the_coins_is_no_finding() -> None:
    """A program that draws from a global generator raises an error instead of a false witness."""
    outside = np.random.default_rng(0)

    def program(coins: Coins, data: Any) -> float:
        return float(coins.release(float(data.sum()) + outside.integers(0, 9), NOISE, site="sum"))

    with raises(MechanismError, code="E-MECHANISM-STATE", match="randomness outside coins"):
        privacy_outcome(audit_of(program), RUN)


def test_a_call_without_its_site_is_named_and_no_randomness() -> None:
    """An error of the program itself is reported as such, and not as randomness."""
    with raises(MechanismError, code="E-MECHANISM-NO-END", match="'site'"):
        privacy_outcome(audit_of(lambda coins, data: coins.release(float(data.sum()), NOISE)), RUN)


def test_the_line_of_a_histogram_is_the_claim() -> None:
    """Losses are drawn beside the claimed epsilon, also where the sites declare another total."""
    wide = replace(audit_of(lambda coins, data: coins.release(0, NOISE, site="sum")), claim=PureDP(epsilon=7))
    plots = privacy_outcome(wide, RUN).plots
    assert [plot["claimed"] for plot in plots if plot["kind"] == "loss_histogram"] == [7.0]


def test_a_counter_between_calls_is_no_finding() -> None:
    """A program that alternates between calls raises an error."""
    calls = [0]

    def program(coins: Coins, data: Any) -> float:
        calls[0] += 1
        return float(coins.release(float(data.sum()) + calls[0] % 2, NOISE, site="sum"))

    with raises(MechanismError, code="E-MECHANISM-STATE"):
        privacy_outcome(audit_of(program), RUN)


def test_a_program_that_changes_after_a_while_is_no_finding() -> None:
    """A program that remembers earlier inputs raises an error when the first run is repeated."""
    seen: list[float] = []

    def program(coins: Coins, data: Any) -> float:
        seen.append(float(data.sum()))
        shift = 7.0 if 2.0 in seen else 0.0
        return float(coins.release(float(data.sum()) + shift, NOISE, site="sum"))

    with raises(MechanismError, code="E-MECHANISM-STATE"):
        privacy_outcome(audit_of(program), RUN)


def test_the_fingerprint_covers_every_input() -> None:
    """Randomness on a branch that only the last input takes is in the digest that fresh processes compare."""
    outside = np.random.default_rng(0)

    def program(coins: Coins, data: Any) -> float:
        extra = outside.random() if data.sum() == 2 else 0.0
        return float(coins.release(float(data.sum()), NOISE, site="sum")) + extra

    audit = audit_of(program)
    assert digest_of(audit, 1, row_id="row") != digest_of(audit, 1, row_id="row")
    clean = audit_of(lambda coins, data: coins.release(float(data.sum()), NOISE, site="sum"))
    assert digest_of(clean, 1, row_id="row") == digest_of(clean, 1, row_id="row")


def test_an_audit_without_pairs_is_refused() -> None:
    """No pair, no verdict: a proof alone does not verify a program that never ran."""
    audit = PrivacyAudit(
        domain=Values(0, 1),
        claim=PureDP(epsilon=1),
        program=lambda coins, data: 0,
        neighbours=lambda run: [],
        sites=[],
        proof=laplace_mechanism(sensitivity=1, scale=1),
    )
    with raises(InvalidParameterError, code="E-NEIGHBOURS-MISSING"):
        privacy_outcome(audit, RUN)


def test_an_audit_that_declares_nothing_is_open() -> None:
    """Without a declared site a program that releases nothing is not verified by any proof."""
    audit = PrivacyAudit(
        domain=Values(0, 1),
        claim=PureDP(epsilon=1),
        program=lambda coins, data: 0,
        neighbours=lambda run: PAIRS,
        sites=[],
        proof=laplace_mechanism(sensitivity=1, scale=1),
    )
    outcome = privacy_outcome(audit, RUN, accounting="consistent")
    assert any("no site is declared" in unmet_condition for unmet_condition in outcome.unmet)
    assert "no accounting: no declared site has a cost" in outcome.notes
    assert outcome.cells == []


@pytest.mark.parametrize("claim", [PureDP(epsilon=1), ZeroConcentratedDP(rho=1), GaussianDP(mu=1)])
def test_a_leak_refutes_an_audit_that_declares_nothing(claim) -> None:
    """What is shown without noise refutes whatever is declared, be it nothing."""
    audit = PrivacyAudit(
        domain=Values(0, 1),
        claim=claim,
        program=lambda coins, data: coins.reveal(float(data[0]), site="x"),
        neighbours=lambda run: PAIRS,
        sites=[],
    )
    outcome = privacy_outcome(audit, RUN, accounting="refuted")
    judged = judge(claim, outcome.evidence, unmet=outcome.unmet, alpha=RUN.alpha)
    assert judged.verdict is VerdictKind.REFUTED


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"neighbours": PAIRS}, "E-NEIGHBOURS-TYPE"),
        ({"neighbours": lambda run: [([0.0], [1.0])]}, "E-PAIR-TYPE"),
        ({"domain": [0, 1]}, "E-DOMAIN-TYPE"),
    ],
)
def test_wrong_types_in_an_audit_are_named(options: dict[str, Any], code: str) -> None:
    """A list or tuple in the place of a function, a pair or a domain raises an error."""
    audit = audit_of(lambda coins, data: coins.release(float(data.sum()), NOISE, site="sum"))
    with raises(InvalidParameterError, code=code):
        privacy_outcome(replace(audit, **options), RUN)


def test_a_row_that_returns_nothing_is_named() -> None:
    """The error for a forgotten return has the id of the row."""

    def forgets() -> None:
        """Nothing is returned."""

    rows = Group("G")
    privacy(rows, "X", "nowhere")(forgets)
    with raises(InvalidParameterError, code="E-ROW-NO-AUDIT", match="X: .*None"):
        rows.rows[0].evaluate(RUN)
