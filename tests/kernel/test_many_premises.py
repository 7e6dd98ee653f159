"""Certificates with ten thousand premises: built, certified, written, and checked by the lowest tier."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from dpaudit.certify import build
from dpaudit.certify.sites import Site
from dpaudit.core.claims import PureDP
from dpaudit.core.errors import CertificateError
from dpaudit.kernel import kernel_t0
from dpaudit.kernel.kernel_t0 import MAX_PREMISES, total

LEAVES = [build.laplace_mechanism(sensitivity=1, scale=str(20_000 + 100 * kind)) for kind in range(7)]
COST = sum((Fraction(1, 20_000 + 100 * (number % 7)) for number in range(MAX_PREMISES)), Fraction(0))


def test_ten_thousand_sites_are_accounted_for() -> None:
    """The bound is the sum over all premises, read from text again, and 2^-40 less of it is refused."""
    sites = [Site(f"count {number}", mechanism=LEAVES[number % 7]) for number in range(MAX_PREMISES)]
    assert MAX_PREMISES >= 10_000
    claim = PureDP(epsilon=1)
    certificate = build.accounted(sites, declared="each count once").certify(claim)
    assert certificate.bound == COST
    written = json.loads(json.dumps(certificate.to_json()))
    assert kernel_t0.check(written, claim.to_json()).pure == COST
    written["bound"] = str(COST * (1 - Fraction(1, 2**40)))
    with pytest.raises(CertificateError, match="claims too much"):
        kernel_t0.check(written, claim.to_json())


def test_one_premise_more_is_refused() -> None:
    """Beyond the limit a certificate is refused in words."""
    with pytest.raises(CertificateError, match=f"1 to {MAX_PREMISES} premises, got {MAX_PREMISES + 1}"):
        build.compose_sequential([LEAVES[0]] * (MAX_PREMISES + 1))


def test_a_sum_is_too_long_only_where_its_denominators_differ() -> None:
    """Long equal denominators add up, as many different ones are refused, and one unknown cost is no sum."""
    below = 2**2000 + 1
    assert total([Fraction(1, below)] * 500, [3] * 500) == Fraction(1500, below)
    assert total([Fraction(1, 2), Fraction(1, 3), Fraction(1, 2)], [1, 2, 3]) == Fraction(8, 3)
    assert total([Fraction(1, 2), None], [1, 1]) is None
    with pytest.raises(CertificateError, match="too long"):
        total([Fraction(1, below + 2 * number) for number in range(500)], [1] * 500)
