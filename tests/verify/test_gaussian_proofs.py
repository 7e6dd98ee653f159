"""Proofs of Gaussian releases, and of releases that data choose, in a report: each of its own quantity."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from scipy.special import ndtr

from dpaudit.certify.build import accounted, gaussian_mechanism
from dpaudit.certify.sites import Site
from dpaudit.core.claims import ApproxDP, GaussianDP, PureDP, RenyiDP, ZeroConcentratedDP
from dpaudit.core.errors import InvalidParameterError, MechanismError
from dpaudit.core.evidence import ProgramProof
from dpaudit.core.suite import Outcome
from dpaudit.distributions import Gaussian, Laplace
from dpaudit.kernel.kernel_t0 import CertificateError
from dpaudit.kernel.program_claim import examine_program
from dpaudit.prover import OneReplaced, Symbols
from dpaudit.run.finding import finding_of
from dpaudit.suite.program_proofs import Proving, Shape, evidence_of
from dpaudit.verify.result import verify_result
from tests.errors import raises

UNIT = Symbols(3, low=0, high=1)
SHAPE = Shape(data=UNIT, adjacency=OneReplaced())


def noisy_sum(coins: Any, data: Any) -> None:
    coins.release(sum(data), Gaussian(sigma=2), site="sum")


def chooses(coins: Any, data: Any) -> None:
    """rho 1/8 + 1/2."""
    if coins.release(sum(data), Gaussian(sigma=2), site="sum") > 1:
        coins.release(data[0], Gaussian(sigma=1), site="first")


def clipped(coins: Any, data: Any) -> None:
    coins.release(max(data[0], 0.5), Gaussian(sigma=1), site="clipped")


def laplace_clipped(coins: Any, data: Any) -> None:
    coins.release(max(data[0], 0.5), Laplace(scale=1), site="clipped")


def laplace_sum(coins: Any, data: Any) -> None:
    coins.release(sum(data), Laplace(scale=2), site="sum")


def proving(program: Any = noisy_sum, **asked: Any) -> Proving:
    return Proving(program=program, data=UNIT, adjacency=OneReplaced(), **asked)


def result(claim: Any, evidence: list[Any]) -> dict[str, Any]:
    """A result as a report holds it, read back from its text."""
    found = finding_of(claim, Outcome(evidence), alpha=0.01)
    about = {"id": "row", "claim": claim.to_json(), "expect": "verified", "alpha": 0.01}
    whole = {**about, **found, "as_expected": found["verdict"] == "verified"}
    return dict(json.loads(json.dumps(whole)))


def of(one: Proving) -> dict[str, Any]:
    return result(one.claim, list(one.outcome().evidence))


def refused(data: dict[str, Any]) -> list[str]:
    return [f"{item.what}: {item.reason}" for item in verify_result(data) if not item.ok]


def profile(mu: float, epsilon: float) -> float:
    """delta of a Gaussian mechanism."""
    return float(ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu))


ASKED: dict[str, tuple[Proving, float]] = {
    "rho": (proving(rho="1/8"), 0.125),
    "rho of a program that chooses": (proving(chooses, rho="5/8"), 0.625),
    "mu": (proving(mu="1/2"), 0.5),
    "mu that is a root": (replace(proving(mu="5/7"), adjacency=OneReplaced(by="10/7")), 5 / 7),
    "rho of a clipped value": (proving(clipped, rho="1/8"), 0.125),
    "mu of a clipped value": (proving(clipped, mu="1/2"), 0.5),
    "delta of a clipped value": (proving(clipped, epsilon=2, delta="1/10"), profile(0.5, 2)),
    "epsilon of a clipped value": (proving(laplace_clipped, epsilon="1/2"), 0.5),
    "mu of a program that chooses": (proving(chooses, mu="9/8"), math.sqrt(1.25)),
    "delta of a sum": (proving(epsilon=1, delta="1/100"), profile(0.5, 1)),
    "delta of a program that chooses": (
        proving(chooses, epsilon=4, delta="1/10"),
        profile(math.sqrt(1.25), 4),
    ),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_claim_of_one_size_is_verified_in_its_scope(name: str) -> None:
    """With the bound in the claim's own unit, checked again from the file."""
    one, bound = ASKED[name]
    data = of(one)
    assert (data["verdict"], data["strength"]) == ("verified", "proved in scope")
    assert data["upper"] == pytest.approx(bound, rel=0.02)
    assert data["scope"] == one.scope
    assert not refused(data)
    [said] = [item.reason for item in verify_result(data) if item.what == "proof of a program"]
    assert ("branches_t0" if "clipped" in name else "gaussian_t0") in said


def test_what_does_not_reach_is_inconclusive() -> None:
    """A bound above the claim is an upper bound only; Laplace noise has no rho here, so no evidence."""
    below = of(proving(chooses, rho="1/2"))
    assert (below["verdict"], below["upper_exact"]) == ("inconclusive", "5/8")
    assert not refused(below)
    assert not proving(laplace_sum, rho=9).outcome().evidence


def test_a_consistent_claim_climbs_one_rung() -> None:
    """A general claim of rho is consistent, and proved for three records besides."""
    claim = ZeroConcentratedDP(rho="1/8")
    site = Site("sum", mechanism=gaussian_mechanism(sensitivity=1, scale=2))
    accounts = accounted([site], declared="one noisy sum").certify(claim)
    data = result(claim, [accounts, *evidence_of(noisy_sum, claim, SHAPE).evidence])
    assert (data["verdict"], data["strength"]) == ("consistent", "proved in scope")
    assert not refused(data)


def _as(claim: Any) -> Callable[[dict[str, Any]], object]:
    """The claim of a result becomes another one, with all that is shown of it."""

    def forge(data: dict[str, Any]) -> None:
        domain = data["claim"]["domain"]
        data["claim"] = replace(claim, domain=domain).to_json()
        data["evidence"][0]["quantity"] = claim.quantity

    return forge


def _body(data: dict[str, Any]) -> dict[str, Any]:
    return dict(data)["evidence"][0]["body"]  # type: ignore[no-any-return]


def _release(data: dict[str, Any]) -> list[Any]:
    return next(node for node in _body(data)["tree"] if node[0] == "release")


FORGED: dict[str, Callable[[dict[str, Any]], object]] = {
    "as an epsilon": _as(PureDP(epsilon="1/8")),
    "as a large epsilon": _as(PureDP(epsilon=100)),
    "as a mu": _as(GaussianDP(mu="1/8")),
    "as a mu that holds": _as(GaussianDP(mu="1/2")),
    "as a delta": _as(ApproxDP(epsilon=0, delta="1/8")),
    "as a Rényi divergence": _as(RenyiDP(order=2, epsilon=1)),
    "as a smaller rho": _as(ZeroConcentratedDP(rho="1/9")),
    "the quantity of another claim": lambda data: data["evidence"][0].update(quantity="epsilon"),
    "a lower bound": lambda data: data["evidence"][0].update(bound="1/9"),
    "another scope": lambda data: data["evidence"][0].update(scope="all data"),
    "no assumptions": lambda data: data["evidence"][0].update(assumptions=[]),
    "asked for epsilon": lambda data: _body(data).update(claim={"epsilon": "1/8"}),
    "asked for a larger rho": lambda data: _body(data).update(claim={"rho": "1"}),
    "asked for mu": lambda data: _body(data).update(claim={"mu": "1/8"}),
    "as own regions": lambda data: _body(data).update(proof="program, own regions", cells=[]),
    "as exact distributions": lambda data: _body(data).update(proof="program, exact distributions", trees=[]),
    "more size": lambda data: _body(data)["data"].update(size=4),
    "less noise": lambda data: _release(data).__setitem__(3, "1"),
    "a float": lambda data: _release(data).__setitem__(3, 4.0),
    "Laplace noise": lambda data: _release(data).__setitem__(2, "laplace"),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_proof_of_rho_is_refused(name: str) -> None:
    """Each edit of an honest result is found: above all a rho that is called an epsilon."""
    honest = of(proving(rho="1/8"))
    data = copy.deepcopy(honest)
    FORGED[name](data)
    assert data != honest, "nothing was forged"
    assert any(text.startswith(("proof of a program", "claim and evidence")) for text in refused(data))


@pytest.mark.parametrize(
    "claim",
    [ZeroConcentratedDP(rho="1/2"), GaussianDP(mu="1/2"), ApproxDP(epsilon="1/2", delta="1/2")],
    ids=["rho", "mu", "delta"],
)
def test_a_proof_of_epsilon_is_of_nothing_else(claim: Any) -> None:
    """A certificate with shifts stands for a pure claim alone, even where the conversion would be true."""
    data = of(proving(laplace_sum, epsilon="1/2"))
    assert not refused(data)
    _as(claim)(data)
    assert any("must have type pure-dp" in text for text in refused(data))


@pytest.mark.parametrize("program", [clipped, laplace_clipped], ids=["rho", "epsilon"])
def test_a_proof_of_pairs_is_of_one_quantity(program: Any) -> None:
    """A rho of pairs is no epsilon, an epsilon of pairs no rho, and neither was asked for mu, though one
    checker reads all three."""
    asked: Any = {"rho": "1/8"} if program is clipped else {"epsilon": "1/2"}
    honest = of(proving(program, **asked))
    assert not refused(honest)
    others = [PureDP(epsilon="1/8"), PureDP(epsilon=9), ZeroConcentratedDP(rho="1/2"), GaussianDP(mu=9)]
    delta = [] if program is clipped else [ApproxDP(epsilon="1/2", delta="1/2")]  # a rho does imply one
    for claim in [*others, RenyiDP(order=2, epsilon=9), *delta]:
        data = copy.deepcopy(honest)
        _as(claim)(data)
        assert any(text.startswith("proof of a program") for text in refused(data)), claim
    for name in ("epsilon", "rho", "mu"):
        data = copy.deepcopy(honest)
        _body(data)["claim"] = {name: "9"}
        assert refused(data)


def test_a_proof_of_another_claim_is_refused() -> None:
    """A proof of rho for a pure claim, of delta at another epsilon, or of a root rounded down is refused."""
    [rho] = proving(rho="1/8").outcome().evidence
    [delta] = proving(epsilon=1, delta="1/100").outcome().evidence
    for claim, item in ((PureDP(epsilon=9), rho), (ApproxDP(epsilon="9/10", delta="1/2"), delta)):
        with raises(MechanismError, code="E-EVIDENCE-INVALID"):
            finding_of(replace(claim, domain=SHAPE.scope), Outcome([item]), alpha=0.01)
    one = replace(proving(mu="3/4"), adjacency=OneReplaced(by="10/7"))
    [root] = one.outcome().evidence
    assert isinstance(root, ProgramProof)
    assert root.bound == Fraction(5, 7)
    with pytest.raises(CertificateError, match="claims too much"):
        examine_program(replace(root, bound=Fraction(5, 7) - Fraction(1, 10**15)), one.claim)


def test_a_bound_that_is_no_rational_root() -> None:
    """mu^2 = 1/2: the bound is above it, by less than rounding; and a claim above it is met by rationals."""

    def twice(coins: Any, data: Any) -> None:
        for _ in range(2):
            coins.release(data[0], Gaussian(sigma=2), site="again")

    one = proving(twice, mu="5/7")
    [item] = one.outcome().evidence
    assert isinstance(item, ProgramProof)
    assert item.bound**2 >= Fraction(1, 2)
    assert float(item.bound) == pytest.approx(math.sqrt(0.5))
    assert examine_program(item, one.claim).tier == "T0"
    assert not refused(of(one))


def test_a_proving_names_one_kind_of_privacy() -> None:
    """No number, two kinds, or a delta alone are refused when the row is made."""
    for asked in ({}, {"rho": 1, "mu": 1}, {"delta": "1/10"}, {"epsilon": 1, "rho": 1}):
        with raises(InvalidParameterError, code="E-CLAIM-NUMBER"):
            proving(**asked)


def test_the_digest_is_of_the_tree() -> None:
    """Another variance is another program, for the comparison of two runs of a suite."""

    def quieter(coins: Any, data: Any) -> None:
        coins.release(sum(data), Gaussian(sigma=3), site="sum")

    digests = {proving(program, rho=1).digest() for program in (noisy_sum, quieter, chooses)}
    assert len(digests) == 3
    assert all(len(digest) == 64 for digest in digests)
    assert "Gaussian" in proving(laplace_sum, rho=1).digest()
