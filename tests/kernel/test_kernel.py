"""The kernel: what it derives is what an independent computation gives, and what it does not know it
refuses with the reason.
"""

from __future__ import annotations

import copy
import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.stats

from dpaudit.certify import build
from dpaudit.certify.build import BoundedSum
from dpaudit.certify.sites import Site
from dpaudit.core.claims import (
    Accounting,
    Adjacency,
    ApproxDP,
    Claim,
    GaussianDP,
    Model,
    PureDP,
    RegretBound,
    RenyiDP,
    Unit,
    ZeroConcentratedDP,
)
from dpaudit.core.errors import CertificateError, InvalidParameterError
from dpaudit.core.evidence import evidence_from_json
from dpaudit.core.views import SERVER, View
from dpaudit.kernel import check as kernel
from dpaudit.kernel.kernel_t0 import MAX_DEPTH, MAX_NODES
from tests.errors import raises

PURE = PureDP(epsilon=1)


def laplace(sensitivity: Any = 1, scale: Any = 2) -> build.Proof:
    return build.laplace_mechanism(sensitivity=sensitivity, scale=scale)


def edited(claim: Claim, proof: build.Proof, path: str, value: Any) -> dict[str, Any]:
    """A certificate of ``claim`` as JSON, with the entry at ``path`` (dot-separated) replaced, or removed
    if ``value`` is ``KeyError``.
    """
    data = copy.deepcopy(proof.certify(claim).to_json())
    target: Any = data
    *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    for step in steps:
        target = target[step]
    if value is KeyError:
        del target[last]
    else:
        target[last] = value
    return data


# What is derived
# -----------------------------------------------------------------------------------------------------


def test_laplace_bound_is_attained() -> None:
    """The Laplace bound D/b is the largest log-ratio on a grid of outcomes, and no grid point exceeds it."""
    bound = laplace(3, 2).certify(PURE).bound
    losses = [(abs(y - 3) - abs(y)) / 2 for y in range(-10, 11)]
    assert max(losses) == bound == Fraction(3, 2)


def test_bounded_sum_sensitivity_follows_the_adjacency() -> None:
    """A sum of records in [-1, 3]: replacing moves it by 4, adding or zeroing out by 3; the certificate
    knows which claim it is for.
    """
    proof = laplace(BoundedSum(-1, 3), 1)
    bounds = {
        adjacency: proof.certify(PureDP(epsilon=9, adjacency=adjacency)).bound for adjacency in Adjacency
    }
    assert bounds == {Adjacency.REPLACE_ONE: 4, Adjacency.ADD_REMOVE: 3, Adjacency.ZERO_OUT: 3}
    with pytest.raises(CertificateError, match="per event"):
        proof.certify(PureDP(epsilon=9, unit=Unit.USER))


def _winner(scores: list[float], noise: str) -> list[float]:
    """P(argmax = i) by quadrature over the winner's noise (scale 1)."""
    distribution = {
        "laplace": scipy.stats.laplace(),
        "gumbel": scipy.stats.gumbel_r(),
        "exponential": scipy.stats.expon(),
    }[noise]
    grid = np.linspace(0 if noise == "exponential" else -30, 40, 28_001)
    # Simpson weights: the grid holds every kink of the integrand (scores and offsets are integers).
    weights = np.where(np.arange(grid.size) % 2, 4.0, 2.0)
    weights[[0, -1]] = 1.0
    weights *= (grid[1] - grid[0]) / 3
    density = distribution.pdf(grid)
    result = []
    for i, score in enumerate(scores):
        beaten = [distribution.cdf(grid + score - other) for j, other in enumerate(scores) if j != i]
        result.append(float(np.sum(weights * density * np.prod(beaten, axis=0))))
    return result


@pytest.mark.parametrize("noise", ["laplace", "gumbel", "exponential"])
@pytest.mark.parametrize("moved", ["one_coordinate", "monotone", "general"])
def test_noisy_max_bound_covers_quadrature(noise: Any, moved: Any) -> None:
    """No change of three scores within the declared range has a log-ratio above the bound; general changes
    do exceed the one-sided bound.
    """
    steps = {
        "one_coordinate": [(1, 0, 0), (-1, 0, 0), (0, 0, 1)],
        "monotone": [(1, 1, 0), (1, 0, 1), (-1, -1, 0)],
        "general": [(1, -1, -1), (-1, 1, 1), (1, 1, -1)],
    }[moved]
    proof = build.report_noisy_max(sensitivity=1, scale=1, range=moved, noise=noise)
    bound = float(proof.certify(PureDP(epsilon=1, adjacency=Adjacency.ADD_REMOVE)).bound)
    worst = 0.0
    for start, step in itertools.product([(0, 0, 0), (0, 3, 3), (6, 0, 0)], steps):
        before, after = (
            _winner([*map(float, start)], noise),
            _winner([float(s + d) for s, d in zip(start, step, strict=True)], noise),
        )
        assert sum(before) == pytest.approx(1, abs=1e-9)
        worst = max(worst, *(abs(math.log(p / q)) for p, q in zip(before, after, strict=True)))
    assert worst <= bound + 1e-7
    assert worst > 0.55 * bound
    if moved == "general":
        assert worst > 1.0  # so the bound D/b would be false here


@pytest.mark.parametrize(("mu", "epsilon"), [("1", "1"), ("1/2", "2"), ("3", "0"), ("1", "8"), ("1/10", "1")])
def test_gaussian_delta_agrees_with_mpmath(mu: str, epsilon: str) -> None:
    """delta(epsilon) of mu-GDP against mpmath at 60 digits; the certificate is above, by less than one
    part in 10^15.
    """
    proof = build.gaussian_mechanism(sensitivity=mu, scale=1)
    bound = proof.certify(ApproxDP(epsilon=epsilon, delta="1/2")).bound
    with mpmath.workdps(60):
        m, e = mpmath.mpf(Fraction(mu).numerator) / Fraction(mu).denominator, mpmath.mpf(epsilon)
        truth = mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
        ratio = mpmath.mpf(bound.numerator) / bound.denominator / truth
        assert 1 <= ratio < 1 + mpmath.mpf(10) ** -15


def test_gaussian_notions_are_exact() -> None:
    """mu = 3/2 gives mu-GDP 3/2, zCDP 9/8, and Renyi divergence 9/8 times the order, all exactly."""
    proof = build.gaussian_mechanism(sensitivity=3, scale=2)
    assert proof.certify(GaussianDP(mu=2)).bound == Fraction(3, 2)
    assert proof.certify(ZeroConcentratedDP(rho=2)).bound == Fraction(9, 8)
    assert proof.certify(RenyiDP(order=4, epsilon=9)).bound == Fraction(9, 2)
    with pytest.raises(CertificateError, match="must bound epsilon"):
        proof.certify(PURE)


def test_irrational_root_is_rounded_up() -> None:
    """mu = sqrt(2) is reported from above, within 10^-15."""
    bound = build.gaussian_mechanism(sensitivity_squared=2, scale=1).certify(GaussianDP(mu=2)).bound
    assert 0 < bound**2 - 2 < Fraction(1, 10**15)


def test_pure_to_delta_is_randomised_response() -> None:
    """At epsilon below the pure bound, delta is that of binary randomised response; from the pure bound on
    it is 0.
    """
    proof = laplace(1, 1)
    p = 1 / (1 + math.exp(-1))
    truth = p - math.exp(0.25) * (1 - p)
    assert float(proof.certify(ApproxDP(epsilon="1/4", delta="1/2")).bound) == pytest.approx(truth, rel=1e-12)
    assert proof.certify(ApproxDP(epsilon=1, delta=0)).bound == 0


def test_pure_to_renyi_is_randomised_response() -> None:
    """The Renyi divergence of a pure bound is at most that of randomised response, and never above
    epsilon^2 a / 2 or epsilon.
    """
    p = 1 / (1 + math.exp(-1))
    truth = math.log(p**3 * (1 - p) ** -2 + (1 - p) ** 3 * p**-2) / 2
    assert float(laplace(1, 1).certify(RenyiDP(order=3, epsilon=9)).bound) == pytest.approx(
        min(truth, 1.5), rel=1e-12
    )


def test_zcdp_delta_dominates_the_gaussian() -> None:
    """A Gaussian composed with a Laplace release loses its GDP; delta from zCDP is then valid: above the
    Gaussian's own delta, and below 1.
    """
    gaussian = build.gaussian_mechanism(sensitivity=1, scale=1)
    mixed = build.compose_sequential([gaussian, laplace(1, 1000)])
    claim = ApproxDP(epsilon=4, delta="1/2")
    assert gaussian.certify(claim).bound < mixed.certify(claim).bound < Fraction(1, 100)


def test_compositions() -> None:
    """Sequential adds, parallel takes the maximum, and a record that can move between cells pays twice."""
    two = [laplace(1, 2), laplace(1, 3)]
    assert build.compose_sequential(two).certify(PURE).bound == Fraction(5, 6)
    assert build.compose_sequential(two, times=[3, 1]).certify(PURE).bound == Fraction(11, 6)
    with pytest.raises(CertificateError, match="integer from 1"):
        build.compose_sequential(two, times=[3, 0])
    assert build.compose_parallel(two).certify(PURE).bound == Fraction(1, 2)
    own: Any = {"by": "public data", "partition": "by the record's arm", "moves": True}
    assert build.compose_parallel(two, **own).certify(PURE).bound == 1
    moving_sum = build.compose_parallel([laplace(BoundedSum(-1, 1), 2)], **own)
    assert (
        moving_sum.certify(PURE).bound == 1
    )  # derived under add/remove inside: 2 * (1 / 2), not 2 * (2 / 2)
    declared = build.compose_parallel(two, by="public data", partition="by batch number").certify(PURE)
    assert declared.strength == "accounted"
    assert "by batch number" in declared.assumptions[0]


def test_two_gaussians_add_in_squares() -> None:
    """GDP composes by mu^2: 16 releases of mu = 1/4 are 1-GDP."""
    assert (
        build.compose_sequential([build.gaussian_mechanism(sensitivity=1, scale=4)], times=[16])
        .certify(GaussianDP(mu=1))
        .bound
        == 1
    )


@pytest.mark.parametrize("leaves", [1, 2, 3, 4, 7, 8, 9, 31, 32, 100])
def test_tree_levels_by_brute_force(leaves: int) -> None:
    """Over all prefix sums, the leaf in the most released dyadic nodes is in exactly floor(log2 n) + 1 of
    them.
    """
    used: set[tuple[int, int]] = set()
    for prefix in range(1, leaves + 1):
        start = 0
        for level in reversed(range(prefix.bit_length())):
            if prefix >> level & 1:
                used.add((start, start + 2**level))
                start += 2**level
    touches = max(sum(a <= leaf < b for a, b in used) for leaf in range(leaves))
    proof = build.tree_mechanism(laplace(1, 1), leaves=leaves)
    assert proof.certify(PureDP(epsilon=9)).bound == touches


def test_accounting_carries_its_assumption() -> None:
    """A declared accounting is 'accounted', states what it declares, and sums touches times cost."""
    noisy_max = build.report_noisy_max(sensitivity=1, scale=4, range="general")
    classes = [
        Site("sum", touches=2, mechanism=laplace(1, 4)),
        Site("argmax", mechanism=noisy_max),
    ]
    proof = build.accounted(classes, declared="each record enters two sums and one choice")
    certificate = proof.certify(Accounting(epsilon=1, declared="as above"))
    assert certificate.bound == 1
    assert certificate.strength == "accounted"
    assert "sum at most 2, argmax at most 1" in certificate.assumptions[0]


# What is refused
# -----------------------------------------------------------------------------------------------------

EDITS: list[tuple[str, Any, str]] = [
    ("bound", "49/100", "claims too much"),
    ("bound", 0.5, "exact number written as a string"),
    ("quantity", "delta", "quantity"),
    ("assumptions", ["trust me"], "assumptions"),
    ("tree.rule", "laplace", "root"),
    ("tree.parameters.adjacency", "add-remove", "adjacency"),
    ("tree.parameters.view", {"principals": ["server"], "complement": False}, "view"),
    ("tree.parameters.unit", "user", "unit"),
    ("tree.parameters.turnout", "half", "turnout"),
    ("tree.parameters.model", "as_run", "model"),
    ("tree.parameters.domain", "anything", "domain"),
    ("tree.parameters.note", "x", "note"),
    ("tree.premises.0.rule", "magic", "knows"),
    ("tree.premises.0.rule", "sequential", "premises"),
    ("tree.premises.0.parameters.scale", "0", "greater than 0"),
    ("tree.premises.0.parameters.scale", "-2", "greater than 0"),
    ("tree.premises.0.parameters.scale", 2, "written as a string"),
    ("tree.premises.0.parameters.scale", "nan", "number"),
    ("tree.premises.0.parameters.scale", "1e9999", "exact number"),
    ("tree.premises.0.parameters.scale", "1" * 1900, "bits"),
    ("tree.premises.0.parameters.scale", KeyError, "must be given"),
    ("tree.premises.0.parameters.scale", "1999/1000", "claims too much"),
    ("tree.premises.0.parameters.sensitivity", "1001/1000", "claims too much"),
    ("tree.premises.0.parameters.sensitivity", "-1", "0 or more"),
    ("tree.premises.0.parameters.extra", "1", "known to the rule"),
    ("tree.premises.0.premises", [{}], "premises"),
    ("tree.premises.0.premises", KeyError, "fields"),
    ("tree.premises", [], "one premise"),
]


@pytest.mark.parametrize(("path", "value", "reason"), EDITS)
def test_edited_certificates_are_refused(path: str, value: Any, reason: str) -> None:
    """Each single edit of a good certificate is refused, with a message that says what is wrong."""
    kernel.check(laplace().certify(PURE), PURE)
    with pytest.raises(CertificateError, match=reason):
        kernel.check(edited(PURE, laplace(), path, value), PURE)


def test_certificate_of_another_claim_is_refused() -> None:
    """A certificate does not carry over to another view, adjacency, unit or model."""
    certificate = laplace().certify(PURE)
    others = [
        PureDP(epsilon=1, view=View.of(SERVER)),
        PureDP(epsilon=1, adjacency=Adjacency.ADD_REMOVE),
        PureDP(epsilon=1, unit=Unit.USER),
        PureDP(epsilon=1, participation="two thirds"),
        ZeroConcentratedDP(rho=1),
    ]
    for other in others:
        with pytest.raises(CertificateError):
            kernel.check(certificate, other)
    with pytest.raises(CertificateError, match="float noise"):
        laplace().certify(PureDP(epsilon=1, model=Model.AS_RUN))
    with pytest.raises(CertificateError, match="privacy"):
        laplace().certify(RegretBound(text="regret", claimed=1))


def test_smaller_epsilon_needs_a_larger_delta() -> None:
    """The kernel takes epsilon from the claim: a delta certified at epsilon = 2 does not pass at epsilon =
    1.99.
    """
    certificate = build.gaussian_mechanism(sensitivity=1, scale=1).certify(ApproxDP(epsilon=2, delta="1/2"))
    kernel.check(certificate, ApproxDP(epsilon="2.01", delta="1/2"))
    with pytest.raises(CertificateError, match="claims too much"):
        kernel.check(certificate, ApproxDP(epsilon="1.99", delta="1/2"))


def test_large_trees_are_refused_quickly() -> None:
    """Depth and number of nodes are bounded: neither a deep nor a wide tree is walked to its end."""
    node: dict[str, Any] = laplace().to_json()
    for _ in range(MAX_DEPTH + 1):
        node = {"rule": "sequential", "parameters": {"times": ["1"]}, "premises": [node]}
    data = laplace().certify(PURE).to_json()
    data["tree"]["premises"] = [node]
    with pytest.raises(CertificateError, match="depth"):
        kernel.check(data, PURE)
    wide = {
        "rule": "sequential",
        "parameters": {"times": ["1"] * (MAX_NODES // 8)},
        "premises": [laplace().to_json()] * (MAX_NODES // 8),
    }
    data["tree"]["premises"] = [
        {"rule": "sequential", "parameters": {"times": ["1"] * 9}, "premises": [wide] * 9}
    ]
    with pytest.raises(CertificateError, match="nodes"):
        kernel.check(data, PURE)


def test_constructors_refuse_bad_parameters() -> None:
    """Constructors ask the kernel about what they build, and say what to change."""
    with pytest.raises(CertificateError, match="integer sensitivity"):
        build.discrete_laplace_mechanism(sensitivity="1/2", scale=1)
    with pytest.raises(InvalidParameterError, match="finite"):
        laplace(math.nan, 1)
    assert laplace(0.1, 1) == laplace("1/10", 1)
    with raises(InvalidParameterError, code="E-SENSITIVITY-ONE"):
        build.gaussian_mechanism(sensitivity=1, sensitivity_squared=1, scale=1)
    with pytest.raises(CertificateError, match=r"short texts|must be a text"):
        build.accounted([Site("", mechanism=laplace())], declared="x")


def test_certificates_survive_json() -> None:
    """A certificate read back from its JSON is equal and is accepted."""
    certificate = build.compose_sequential([laplace(), laplace(1, 3)]).certify(PURE)
    again = evidence_from_json(certificate.to_json())
    assert again == certificate
    assert kernel.check(certificate.to_json(), PURE) == certificate.bound
