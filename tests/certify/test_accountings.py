"""Accountings of every notion: read back from JSON, bounded by the kernel as the claim of that notion is, and
what sites cost in each."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from dpaudit.certify import build
from dpaudit.certify.sites import Site, allowed_by, charged_sites, total_of
from dpaudit.core.claims import (
    Accounting,
    AccountingClaim,
    ApproxDP,
    ConcentratedAccounting,
    GaussianAccounting,
    GaussianDP,
    PrivacyClaim,
    PureDP,
    RenyiAccounting,
    RenyiDP,
    ZeroConcentratedDP,
    claim_from_json,
)
from dpaudit.core.errors import CertificateError, InvalidParameterError
from dpaudit.kernel import check
from dpaudit.kernel.kernel_t0 import check as check_t0

NORMAL = build.gaussian_mechanism(sensitivity=1, scale=2)
LAPLACE = build.laplace_mechanism(sensitivity=1, scale=2)
SKELLAM = build.integer_noise("skellam", sensitivity=3, variance=9)

NOTIONS: list[tuple[AccountingClaim, PrivacyClaim]] = [
    (Accounting(epsilon=9, declared="x"), PureDP(epsilon=9)),
    (ConcentratedAccounting(rho=9, declared="x"), ZeroConcentratedDP(rho=9)),
    (GaussianAccounting(mu=9, declared="x"), GaussianDP(mu=9)),
    (RenyiAccounting(order=3, epsilon=9, declared="x"), RenyiDP(order=3, epsilon=9)),
]


@pytest.mark.parametrize(("accounting", "claim"), NOTIONS)
def test_an_accounting_is_bounded_as_the_claim_of_its_notion(
    accounting: AccountingClaim, claim: PrivacyClaim
) -> None:
    """The same mechanism, the same bound; JSON and back; an edited bound or notion is refused."""
    assert claim_from_json(json.loads(json.dumps(accounting.to_json()))) == accounting
    node = LAPLACE if isinstance(claim, PureDP) else NORMAL
    proof = build.accounted([Site("sum", mechanism=node, touches=3)], declared="three sums")
    certificate = proof.certify(accounting)
    assert certificate.bound == proof.certify(claim).bound
    assert check.check(certificate, accounting) == certificate.bound
    data: dict[str, Any] = certificate.to_json()
    less = {**data, "bound": str(certificate.bound * Fraction(999, 1000))}
    with pytest.raises(CertificateError, match="claims too much"):
        check.check(less, accounting)
    for other, _ in NOTIONS:
        if other is not accounting:
            with pytest.raises(CertificateError, match=r"quantity|differs"):
                check.check(data, other)


def test_accountings_in_rho_and_mu_need_rational_arithmetic_alone() -> None:
    """Tier 0 re-derives them: three Gaussian sums are 3/8 in rho, and mu 1/2 of one."""
    three = build.accounted([Site("sum", mechanism=NORMAL, touches=3)], declared="three sums")
    for accounting, proof, bound in (
        (ConcentratedAccounting(rho=1, declared="x"), three, Fraction(3, 8)),
        (GaussianAccounting(mu=1, declared="x"), NORMAL, Fraction(1, 2)),
    ):
        certificate = proof.certify(accounting)
        assert certificate.bound == bound
        check_t0(certificate.to_json(), accounting.to_json())


def test_an_order_must_be_above_one() -> None:
    """The limit is the pure accounting."""
    with pytest.raises(InvalidParameterError, match="greater than 1"):
        RenyiAccounting(order=1, epsilon=1, declared="x")


COSTS: list[tuple[PrivacyClaim, Any, Fraction, Fraction]] = [
    (PureDP(epsilon=1), LAPLACE, Fraction(3, 2), Fraction(3, 2)),
    (ZeroConcentratedDP(rho=1), LAPLACE, Fraction(3, 8), Fraction(3, 4)),
    (ZeroConcentratedDP(rho=1), NORMAL, Fraction(3, 8), Fraction(3, 4)),
    (GaussianDP(mu=1), NORMAL, Fraction(3, 4), Fraction(3, 4)),
    (RenyiDP(order=4, epsilon=1), NORMAL, Fraction(3, 2), Fraction(3, 4)),
    (ApproxDP(epsilon=1, delta=0), LAPLACE, Fraction(3, 2), Fraction(3, 2)),
    (ApproxDP(epsilon=1, delta=0), NORMAL, Fraction(3, 4), Fraction(3, 4)),
    (ApproxDP(epsilon=1, delta=0), SKELLAM, Fraction(3), Fraction(3)),
]


@pytest.mark.parametrize(("claim", "mechanism", "total", "allowance"), COSTS)
def test_three_touches_cost_three_times_one(
    claim: PrivacyClaim, mechanism: Any, total: Fraction, allowance: Fraction
) -> None:
    """By hand: epsilon 1/2 a Laplace sum, mu squared 1/4 a Gaussian one, 9/9 a Skellam one that moves by 3;
    a tree of four leaves costs the same three nodes."""
    (site,) = charged_sites([Site("sum", mechanism=mechanism, touches=3)], claim)
    assert (site.cost, site.allowed) == (total, allowance)
    tree = build.tree_mechanism(mechanism, leaves=4)
    (node,) = charged_sites([Site("tree", mechanism=tree)], claim)
    assert node.allowed == allowance


def test_pure_and_gaussian_sites_add_up_in_one_measure() -> None:
    """Under (epsilon, delta) both in squares: 1/4 + 1/4; a shuffled site is counted."""
    sites = [Site("a", mechanism=LAPLACE), Site("b", mechanism=NORMAL)]
    found = charged_sites(sites, ApproxDP(epsilon=1, delta=0))
    assert [site.measure for site in found] == ["square", "square"]
    assert allowed_by(found) == Fraction(1, 2)
    shuffled = build.shuffled_response(users=100, local=1)
    (counted,) = charged_sites([Site("c", mechanism=shuffled, touches=2)], ApproxDP(epsilon=1, delta=0))
    assert (counted.measure, counted.allowed) == ("count", 2)


def test_a_stated_total_is_in_the_unit_that_adds_up() -> None:
    """rho, mu squared, the divergence: each as the square that it stands for."""
    for claim, allowance in (
        (ZeroConcentratedDP(rho=1), 4),
        (GaussianDP(mu=1), 2),
        (RenyiDP(order=4, epsilon=1), 1),
        (PureDP(epsilon=1), 2),
    ):
        sites = charged_sites([Site("sum", total=2)], claim)
        assert (total_of(sites), allowed_by(sites)) == (2, allowance)
