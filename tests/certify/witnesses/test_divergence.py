"""Divergence witnesses: Renyi and zCDP lower bounds recomputed in balls, modulo m as well."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit.certify.witnesses.divergence import divergence_bound, divergence_witness
from dpaudit.certify.witnesses.recompute import recompute
from dpaudit.core.claims import PureDP, RenyiDP, ZeroConcentratedDP
from dpaudit.core.errors import CertificateError
from dpaudit.core.evidence import Witness
from dpaudit.core.views import SERVER, View
from dpaudit.distributions import DiscreteGaussian, Skellam, WrappedMod
from dpaudit.kernel.t1.skellam_renyi import skellam_renyi

VIEW = View.of(SERVER)


def renyi(order: str) -> RenyiDP:
    return RenyiDP(order=order, epsilon="1/1000", view=VIEW)


def skellam(order: str, *, variance: str = "4", shift: int = 3, modulus: int | None = None) -> Witness:
    return divergence_witness(
        renyi(order), "skellam", shift=shift, variance=variance, modulus=modulus, description="test"
    )


def float_renyi(p: Any, q: Any, order: float) -> float:
    """log Σ p^a q^(1-a) / (a - 1) in floats, from log-masses."""
    return float(np.log(np.exp(order * p + (1 - order) * q).sum()) / (order - 1))


@pytest.mark.parametrize("order", ["5/4", "2", "7"])
def test_the_bound_is_the_exact_divergence_of_the_whole_distribution(order: str) -> None:
    """Skellam noise: the finite sum agrees with the enclosure that has proved tails, and stays below it."""
    exact = skellam_renyi(Fraction(4), shift=3, order=Fraction(order))
    bound = skellam(order).bound
    assert bound is not None
    assert float(bound) == pytest.approx(float(exact.mid()), rel=1e-12)
    assert float(bound) <= float(exact.upper())


@pytest.mark.parametrize("order", ["5/4", "2", "7"])
@pytest.mark.parametrize("modulus", [7, 12, 60])
def test_modulo_m_it_is_the_divergence_of_the_residues(order: str, modulus: int) -> None:
    """Against the wrapped distributions, enumerated in floats; and wrapping never raises it (data
    processing)."""
    noise, residues = Skellam(variance=4), np.arange(modulus)
    p = np.array([WrappedMod(noise, modulus=modulus).logp(int(y)) for y in residues])
    q = np.array([WrappedMod(noise, modulus=modulus, offset=3).logp(int(y)) for y in residues])
    bound, whole = skellam(order, modulus=modulus).bound, skellam(order).bound
    assert bound is not None
    assert whole is not None
    assert float(bound) == pytest.approx(float_renyi(p, q, float(Fraction(order))), rel=1e-9)
    assert bound <= whole


def test_a_discrete_gaussian_attains_its_concentrated_parameter() -> None:
    """rho = D²/(2σ²) at integer orders, and no order gives more."""
    claim = ZeroConcentratedDP(rho="1/100", view=VIEW)
    bounds = [
        divergence_witness(
            claim, "discrete-gaussian-sum", shift=2, order=order, variance=5, count=1, description="test"
        ).bound
        for order in ("3/2", "2", "9")
    ]
    rho = Fraction(4, 10)
    assert all(bound is not None and bound <= rho for bound in bounds)
    assert float(bounds[1] or 0) == pytest.approx(float(rho), rel=1e-12)


def test_a_sum_of_two_agrees_with_a_convolution() -> None:
    """Two discrete Gaussians convolved in floats against the witness of their sum."""
    claim = ZeroConcentratedDP(rho="1/100", view=VIEW)
    found = divergence_witness(
        claim, "discrete-gaussian-sum", shift=1, order=3, variance="1/2", count=2, description="test"
    ).bound
    one = np.exp(DiscreteGaussian(sigma2="1/2").logp(np.arange(-20, 21)))
    both = np.log(np.convolve(one, one)[20:-20])
    assert float(found or 0) == pytest.approx(float_renyi(both[1:], both[:-1], 3.0) / 3, rel=1e-9)


def test_the_witness_is_recomputed_from_its_json() -> None:
    """A witness that went through JSON gives its bound again; one that states more is rejected."""
    witness = skellam("2", modulus=40)
    again = replace(witness, body=json.loads(json.dumps(witness.body)))
    assert recompute(again, renyi("2")) == witness.bound
    assert witness.bound is not None
    with pytest.raises(CertificateError, match="claims too much"):
        recompute(replace(witness, bound=witness.bound * Fraction(1001, 1000)), renyi("2"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"order": "3"}, "order must be the claim's"),
        ({"order": "1/2"}, "order must be above 1"),
        ({"shift": "0"}, "shift"),
        ({"modulus": "1"}, "modulus"),
        ({"variance": "-1"}, "variance"),
        ({"family": "laplace"}, "family"),
        ({"variance": "40000000"}, "terms"),
        ({"surplus": "1"}, "surplus"),
    ],
)
def test_a_malformed_body_is_an_error(change: dict[str, str], message: str) -> None:
    """Each wrong parameter is named."""
    with pytest.raises(CertificateError, match=message):
        divergence_bound(skellam("2").body | change, renyi("2"))


def test_it_says_nothing_on_pure_dp() -> None:
    """A divergence is no evidence on another notion."""
    with pytest.raises(CertificateError, match="mixture"):
        divergence_bound(skellam("2").body, PureDP(epsilon=1, view=VIEW))


@pytest.mark.parametrize(
    ("order", "shift", "modulus"), [("2", 9, None), ("2", 9, 30), ("1." + "0" * 79 + "1", 1, None)]
)
def test_what_has_no_finite_bound_is_refused_in_words(order: str, shift: int, modulus: int | None) -> None:
    """Disjoint supports, and an order so near to 1 that the sum's enclosure contains 0."""
    with pytest.raises(CertificateError, match="must be possible before and after the shift"):
        divergence_witness(
            renyi(order),
            "binomial",
            shift=shift,
            trials=4,
            probability="1/2",
            modulus=modulus,
            description="test",
        )


def test_modulo_m_a_high_order_is_felt_far_out() -> None:
    """Order 32 and variance 144: the summand peaks 31 deviations out, far beyond the bulk of the mass. Held
    against the whole distribution's divergence, which a modulus of 1683 hardly lowers."""
    exact = skellam_renyi(Fraction(144), shift=12, order=Fraction(32))
    bound = skellam("32", variance="144", shift=12, modulus=1683).bound
    assert bound is not None
    assert float(exact.upper()) * (1 - 1e-6) < float(bound) <= float(exact.upper())
