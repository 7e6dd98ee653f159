"""Proofs of ordinary numpy functions as evidence: scope, suite rows and rounding."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit import PrivacyAudit, PureDP, Records, Suite, Table
from dpaudit.core.claims import ApproxDP, GaussianDP, Unit, ZeroConcentratedDP
from dpaudit.core.data import Anything, Ball, Categories, Integers, Interval, OneHot, declared
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.evidence import ProgramProof, evidence_from_json
from dpaudit.core.suite import Group, Run
from dpaudit.core.verdicts import judge
from dpaudit.distributions import Laplace
from dpaudit.kernel.values.claim import ASSUMED, ROUNDING
from dpaudit.prover import OneReplaced, Symbols
from dpaudit.prover.values.prove import prove_values
from dpaudit.replay.domains import Interval as Numbers
from dpaudit.suite import Neighbours, privacy
from dpaudit.suite.program_proofs import Proving

UNIT = Interval(0, 1)


def noisy_sum(data: Any, rng: Any) -> Any:
    return data.sum() + rng.laplace(scale=1)


def normal_sum(data: Any, rng: Any) -> Any:
    return data.sum() + rng.normal(scale=1)


def noisy_income(table: Any, rng: Any) -> Any:
    return table["income"].sum() + rng.laplace(scale=1)


def released_sum(coins: Any, data: Any) -> Any:
    return coins.release(data.sum(), Laplace(scale=1), site="sum")


def half_the_noise(coins: Any, data: Any) -> Any:
    return coins.release(data.sum(), Laplace(scale=0.5), site="sum")


DECLARATIONS: list[Records | Table] = [
    Records(UNIT),
    Records(UNIT, size=3),
    Records(UNIT, size=3, container="list"),
    Records(UNIT, at_least=2),
    Records(UNIT, group=2),
    Records(UNIT, width=1),
    Records(UNIT, width=3),
    Records(Interval(-1, 1), width=3),
    Records(Ball(1, 3)),
    Records(Ball(1, 3, norm=1)),
    Records(OneHot(3)),
    Records(Integers(0, 1)),
    Records(Integers(0, 1, bits=True)),
    Records(Anything()),
    Records(Interval("1/3", "0.5")),
    Table({"a": UNIT}),
    Table({"a": UNIT, "b": Categories(3)}),
    Table({"b": Categories(3), "a": UNIT}),
    Table({"a: numbers in [0, 1]; b": Categories(3)}),
    Table({"a": (UNIT, 2)}),
]


def test_different_declarations_have_different_words() -> None:
    """Different declarations have different words, because scopes are compared by words alone."""
    words = [data.words for data in DECLARATIONS]
    assert len(set(words)) == len(words)
    assert Records(UNIT, size=3).words == "numbers in [0, 1], 3 records"
    assert Records(Integers(0, 1)).words != Records(Integers(0, 1, bits=True)).words


@pytest.mark.parametrize("data", DECLARATIONS, ids=lambda data: data.words)
def test_the_kernel_derives_the_words_of_every_declaration(data: Records | Table) -> None:
    """The certificate for each declaration is checked, and its declaration survives JSON."""

    def nothing(data: Any, rng: Any) -> float:
        return float(rng.laplace(scale=1))

    unit = Unit.USER if data.group > 1 else Unit.EVENT
    proof = prove_values(nothing, PureDP(epsilon=1, unit=unit), data=data)
    assert proof.record is not None, proof.reason
    assert json.loads(json.dumps(proof.record))["data"] == declared(data)


def test_a_known_number_of_records_has_no_least_number() -> None:
    """Otherwise a proof for five or more records would be reported for three."""
    with pytest.raises(InvalidParameterError, match="at_least"):
        Records(UNIT, size=3, at_least=5)


CASES: dict[str, tuple[Proving, Fraction | float, str]] = {
    "epsilon": (Proving(program=noisy_sum, epsilon=1, data=Records(UNIT)), Fraction(1), "replace-one"),
    "fewer": (
        Proving(program=noisy_sum, epsilon=2, data=Records(UNIT, size=9), adjacency="add-remove"),
        Fraction(1),
        "add-remove",
    ),
    "nulls": (
        Proving(program=noisy_sum, epsilon=1, data=Records(UNIT), adjacency="zero-out"),
        Fraction(1),
        "zero-out",
    ),
    "users": (Proving(program=noisy_sum, epsilon=2, data=Records(UNIT, group=2)), Fraction(2), "replace-one"),
    "rho": (Proving(program=normal_sum, rho="1/2", data=Records(UNIT)), Fraction(1, 2), "replace-one"),
    "mu": (Proving(program=normal_sum, mu=1, data=Records(UNIT)), Fraction(1), "replace-one"),
    "delta": (
        Proving(program=normal_sum, epsilon=1, delta="0.13", data=Records(UNIT)),
        0.126936737507,  # Phi(-1/2) - e Phi(-3/2)
        "replace-one",
    ),
    "table": (
        Proving(program=noisy_income, epsilon=1, data=Table({"income": UNIT, "age": Categories(5)})),
        Fraction(1),
        "replace-one",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_each_type_of_claim_is_verified_in_its_scope(name: str) -> None:
    """The bound is the known one, the scope is the declaration, and evidence survives JSON."""
    proving, bound, adjacency = CASES[name]
    (proof,) = proving.outcome().evidence
    assert isinstance(proof, ProgramProof)
    assert float(proof.bound) == pytest.approx(float(bound), rel=1e-9)
    assert proof.bound == bound or isinstance(bound, float)
    assert proof.scope == proving.data.words == proving.claim.domain  # type: ignore[union-attr]
    assert proof.assumptions == ASSUMED
    assert proving.claim.adjacency.value == adjacency
    assert proving.claim.unit.value == ("user" if name == "users" else "event")
    assert evidence_from_json(json.loads(json.dumps(proof.to_json()))) == proof
    found = judge(proving.claim, [proof])
    assert (found.verdict, found.strength.value) == ("verified", "proved in scope")
    assert found.scope == proof.scope


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        (PureDP(epsilon=1), "inconclusive"),
        (PureDP(epsilon=1, domain="numbers in [0, 2], 3 records"), "inconclusive"),
        (PureDP(epsilon=1, domain="numbers in [0, 1], 3 records"), "verified"),
        (PureDP(epsilon="0.99", domain="numbers in [0, 1], 3 records"), "inconclusive"),
    ],
)
def test_a_claim_about_other_data_is_not_verified(claim: PureDP, verdict: str) -> None:
    """A proof for some data does not verify a claim for all data."""
    proving = Proving(program=noisy_sum, epsilon=1, data=Records(UNIT, size=3))
    assert judge(claim, proving.outcome().evidence).verdict == verdict


@pytest.mark.parametrize(
    ("excess", "verdict"), [(ROUNDING, "verified"), (ROUNDING * Fraction(1001, 1000), "inconclusive")]
)
def test_a_bound_may_exceed_the_claim_by_the_rounding_and_no_more(excess: Fraction, verdict: str) -> None:
    """Constants such as 1 / eps are rounded, by at most the tolerance in the assumption."""
    proving = Proving(program=noisy_sum, epsilon=1 / (1 + excess), data=Records(UNIT))
    (proof,) = proving.outcome().evidence
    assert isinstance(proof, ProgramProof)
    assert proof.bound == 1
    assert judge(proving.claim, [proof]).verdict == verdict
    assert prove_values(noisy_sum, proving.claim, data=Records(UNIT)).verdict == verdict
    assert any("10^9" in text for text in proof.assumptions)


def test_the_rounding_is_for_private_values_alone() -> None:
    """A proof of another kind with a bound above the claim does not prove it."""
    claim = PureDP(epsilon=1 / (1 + ROUNDING / 2), domain="all")
    other = ProgramProof(
        quantity="epsilon", bound=Fraction(1), scope="all", body={"proof": "another"}, assumptions=()
    )
    assert other.rounding == 0
    assert judge(claim, [other]).verdict == "inconclusive"


@pytest.mark.parametrize(
    "options",
    [
        {"data": Records(UNIT), "adjacency": OneReplaced()},
        {"data": Symbols(3), "adjacency": "replace-one"},
        {"data": Symbols(3)},
        {"data": [0, 1]},
    ],
    ids=["records", "symbols", "no adjacency", "a list"],
)
def test_the_adjacency_fits_the_data(options: dict[str, Any]) -> None:
    """Symbols have an adjacency, and records use the adjacency of the claim."""
    with pytest.raises(InvalidParameterError):
        Proving(program=noisy_sum, epsilon=1, **options)


def test_a_digest_is_that_of_the_record() -> None:
    """The digest is equal for the same program and differs for another program or other data."""
    one = Proving(program=noisy_sum, epsilon=1, data=Records(UNIT))
    digests = {
        one.digest(),
        Proving(program=normal_sum, rho=1, data=Records(UNIT)).digest(),
        Proving(program=noisy_sum, epsilon=1, data=Records(Interval(0, 2))).digest(),
        Proving(program=noisy_sum, epsilon=1, data=Records(UNIT, size=4)).digest(),
    }
    assert len(digests) == 4
    assert one.digest() in digests


def audit_of(program: Any, **options: Any) -> PrivacyAudit:
    pair = Neighbours("first", np.array([0.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0]))
    about = {"claim": PureDP(epsilon=1), "neighbours": lambda run: [pair], "sites": [], **options}
    return PrivacyAudit(program=program, **about)


def outcome_of(audit: PrivacyAudit, **options: Any) -> tuple[Any, Any, str]:
    """Return the claim, the outcome and the digest of a privacy row."""
    rows = Group("Rows")

    @privacy(rows, "row", "here", accounting="", **options)
    def row() -> PrivacyAudit:
        """The sum is private"""
        return audit

    suite = Suite(paper="t", title="T")
    suite.include(rows)
    (found,) = suite.rows
    outcome = found.evaluate(Run(profile="quick", alpha=0.05, seed=0, row_id="row"))
    assert found.fingerprint is not None
    return found.claim, outcome, found.fingerprint(0)


def test_a_privacy_row_is_verified_by_a_proof_of_its_own_program() -> None:
    """Without declared sites, the claim covers the declared data."""
    data = Records(UNIT, size=3)
    claim, outcome, digest = outcome_of(audit_of(released_sum), prove=data)
    assert claim.domain == data.words
    assert not outcome.unmet
    found = judge(claim, outcome.evidence, unmet=outcome.unmet, alpha=0.05)
    assert (found.verdict.value, found.strength.value) == ("verified", "proved in scope")
    assert found.upper == 1
    assert digest != outcome_of(audit_of(released_sum), prove=Records(UNIT, size=4))[2]
    assert digest.endswith(Proving(program=released_sum, epsilon=1, data=data).digest())


def test_a_privacy_row_with_too_little_noise_is_refuted() -> None:
    """The replays and the proof agree on the bound 2."""
    claim, outcome, _ = outcome_of(audit_of(half_the_noise), prove=Records(UNIT, size=3))
    found = judge(claim, outcome.evidence, unmet=outcome.unmet, alpha=0.05)
    assert found.verdict == "refuted"
    assert found.upper == 2
    assert outcome.unmet


def test_a_row_with_a_domain_of_its_own_is_not_verified_for_less() -> None:
    """The proof covers three records, and without sites no certificate covers every number of records."""
    audit = audit_of(released_sum, domain=Numbers(0, 1))
    claim, outcome, _ = outcome_of(audit, prove=Records(UNIT, size=3))
    assert claim.domain == str(Numbers(0, 1))
    found = judge(claim, outcome.evidence, unmet=outcome.unmet, alpha=0.05)
    assert found.verdict == "inconclusive"


def test_pairs_outside_the_declaration_are_a_broken_harness() -> None:
    """A witness on other data contradicts the proof, so nothing is verified."""
    pair = Neighbours("far", np.array([0.0, 0.0, 0.0]), np.array([5.0, 0.0, 0.0]))
    audit = audit_of(released_sum, neighbours=lambda run: [pair])
    claim, outcome, _ = outcome_of(audit, prove=Records(UNIT, size=3))
    assert judge(claim, outcome.evidence, unmet=outcome.unmet, alpha=0.05).verdict == "crashed"


def test_claims_of_other_types_have_no_proof_here() -> None:
    """The kernel knows every accepted claim."""
    assert {PureDP, ZeroConcentratedDP, GaussianDP, ApproxDP} == {
        type(case[0].claim) for case in CASES.values()
    }


def judged(program: Any, data: Any, **claim: Any) -> tuple[Any, Any]:
    """Return the claim and verdict of an audit with only a program, a claim and data."""
    audit = PrivacyAudit(claim=PureDP(**{"epsilon": 1, **claim}), program=program, data=data)
    claimed, outcome, _ = outcome_of(audit)
    return claimed, judge(claimed, outcome.evidence, unmet=outcome.unmet, alpha=0.05)


DECLARED: list[tuple[Any, dict[str, Any]]] = [
    (Records(UNIT, size=3), {}),
    (Records(UNIT), {}),
    (Records(UNIT, size=3), {"adjacency": "zero-out"}),
    (Records(UNIT), {"adjacency": "add-remove"}),
    (Records(UNIT, size=4, group=2), {"epsilon": 2, "unit": "user"}),
    (Records(UNIT, at_least=3, group=2), {"epsilon": 2, "unit": "user", "adjacency": "add-remove"}),
]


@pytest.mark.parametrize(("data", "claim"), DECLARED)
def test_an_audit_needs_program_claim_and_data_only(data: Any, claim: dict[str, Any]) -> None:
    """The declaration determines the pairs, the words of the domain and a proof."""
    claimed, found = judged(released_sum, data, **claim)
    assert claimed.domain == data.words
    assert (found.verdict.value, found.upper) == ("verified", claimed.bound)


@pytest.mark.parametrize(("data", "claim"), DECLARED)
def test_derived_pairs_refute_too_little_noise(data: Any, claim: dict[str, Any]) -> None:
    """Replays on the derived pairs reach twice the claim, with no other declaration."""
    claimed, found = judged(half_the_noise, data, **claim)
    assert found.verdict == "refuted"
    assert found.lower > claimed.bound


def of_the_last(coins: Any, data: Any) -> Any:
    return coins.release(data[-1] * 2, Laplace(scale=1), site="last")


def slipping(coins: Any, data: Any) -> Any:
    """Private only if no entry is above a half, and not followed because it branches on data."""
    total = data.sum() if data.max() <= 0.5 else 5 * data.sum()
    return coins.release(total, Laplace(scale=1), site="sum")


def not_followed(coins: Any, data: Any) -> Any:
    total = 0
    for record in data:
        total += len([1] * int(record > 0.5))
    return coins.release(total, Laplace(scale=1), site="sum")


def test_an_audit_of_data_verifies_nothing_without_a_proof() -> None:
    """Derived pairs refute wrong programs, and a private program that is not followed is inconclusive."""
    for program in (of_the_last, slipping):
        assert judged(program, Records(UNIT, size=6))[1].verdict == "refuted"
    assert judged(not_followed, Records(UNIT, size=3))[1].verdict == "inconclusive"


@pytest.mark.parametrize(
    "options",
    [
        {"neighbours": lambda run: []},
        {"domain": Numbers(0, 1)},
        {"claim": PureDP(epsilon=1, domain="numbers in [0, 2]")},
        {"claim": PureDP(epsilon=1, unit="user")},
        {"data": None},
        {"data": [0, 1]},
    ],
)
def test_what_contradicts_the_declaration_is_refused(options: dict[str, Any]) -> None:
    """Extra pairs or domains, claims about other data or units, and missing data are refused."""
    about = {"claim": PureDP(epsilon=1), "data": Records(UNIT, size=3), **options}
    with pytest.raises(InvalidParameterError):
        PrivacyAudit(program=released_sum, **about)
