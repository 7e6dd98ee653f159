"""One release as a witness: every bound by a second route, below the truth, and nothing more than it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from dpaudit.certify.witnesses.recompute import recompute
from dpaudit.coins.replayer import SiteLoss
from dpaudit.coins.transcript import SiteRecord
from dpaudit.core.claims import (
    ApproxDP,
    Claim,
    ConcentratedAccounting,
    GaussianDP,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpaudit.core.errors import CertificateError
from dpaudit.core.evidence import Witness, evidence_from_json
from dpaudit.core.views import PUBLIC, SERVER, View
from dpaudit.distributions import (
    Binomial,
    DiscreteGaussian,
    Gaussian,
    Laplace,
    RandomisedResponse,
    Skellam,
    WrappedMod,
)
from dpaudit.replay.releases import release_witness

SEEN = View.of(PUBLIC)


def witness(distribution: Any, other: Any, claim: Claim, *, to: Any = PUBLIC) -> Witness | None:
    record = SiteRecord(kind="observe", site="first", to=frozenset([to]), value=0, distribution=distribution)
    item = SiteLoss(0, record, other, np.zeros(()), True)
    return release_witness(item, claim, view=SEEN, inputs=([0.0], [1.0]), words="a pair")


def bound(distribution: Any, other: Any, claim: Claim) -> float:
    """The bound of the witness, after it went through JSON and was computed again."""
    found = witness(distribution, other, claim)
    assert found is not None
    again = evidence_from_json(found.to_json())
    assert isinstance(again, Witness)
    fresh = recompute(again, claim)
    assert fresh is not None
    assert again.bound is not None
    assert again.bound <= fresh
    return float(again.bound)


def delta_by_integral(p: Callable[[float], float], q: Callable[[float], float], epsilon: float) -> float:
    """The integral of (p - e^epsilon q)_+ by quadrature: another route than any event."""
    value, _ = integrate.quad(
        lambda x: max(0.0, p(x) - math.exp(epsilon) * q(x)), -60, 60, limit=2000, points=[-1, 0, 0.5, 1, 2]
    )
    return float(value)


@pytest.mark.parametrize("epsilon", ["0", "1/2", "1", "3"])
def test_the_half_space_of_a_gaussian_is_the_integral(epsilon: str) -> None:
    """Closed form by erfc against quadrature of the positive part."""
    found = bound(Gaussian(sigma=2).shift(0), Gaussian(sigma=2).shift(3), ApproxDP(epsilon=epsilon, delta=0))
    distribution = stats.norm(scale=2)
    truth = delta_by_integral(distribution.pdf, lambda x: distribution.pdf(x - 3), float(Fraction(epsilon)))
    assert found == pytest.approx(truth, rel=1e-6)


def test_a_gaussian_vector_counts_its_l2_change() -> None:
    """(3/5, 4/5) over standard deviation 2 is the scalar change 1: mu 1/2, rho 1/8, order times rho."""
    distribution, other = (
        Gaussian(sigma=2).shift(np.zeros(2)),
        Gaussian(sigma=2).shift(np.array([0.625, 0.75])),
    )
    square = (0.625**2 + 0.75**2) / 4
    assert bound(distribution, other, GaussianDP(mu=1)) == pytest.approx(math.sqrt(square), rel=1e-15)
    assert bound(distribution, other, ZeroConcentratedDP(rho=1)) == square / 2
    assert bound(distribution, other, RenyiDP(order="3/2", epsilon=1)) == 0.75 * square


def test_laplace_noise_comes_near_its_exact_delta_from_below() -> None:
    """delta(e) = 1 - exp((e - D/b)/2), by integration: cut into cells it is a little less."""
    found = bound(Laplace(scale=1).shift(0), Laplace(scale=1).shift(1), ApproxDP(epsilon="1/2", delta=0))
    truth = 1 - math.exp((0.5 - 1) / 2)
    assert 0.97 * truth < found <= truth


def test_laplace_noise_comes_near_its_exact_renyi_divergence_from_below() -> None:
    """Mironov 2017, Proposition 6, at order 2 and shift over scale 1."""
    truth = math.log(2 / 3 * math.exp(1) + 1 / 3 * math.exp(-2))
    found = bound(Laplace(scale=1).shift(0), Laplace(scale=1).shift(1), RenyiDP(order=2, epsilon=1))
    assert 0.97 * truth < found <= truth


@pytest.mark.parametrize(
    ("noise", "masses"),
    [
        (Skellam(variance=4), stats.skellam(2, 2).pmf),
        (Binomial(trials=40, p="1/2"), stats.binom(40, 0.5).pmf),
        (DiscreteGaussian(sigma2=4), None),
    ],
)
def test_integer_noise_is_its_sum_over_the_integers(noise: Any, masses: Any) -> None:
    """The positive part summed over a wide range in floats, both directions."""
    x = np.arange(-60, 100)
    if masses is None:
        weights = np.exp(-(x**2) / 8.0)
        p, q = weights / weights.sum(), np.exp(-((x - 2) ** 2) / 8.0) / weights.sum()
    else:
        p, q = masses(x), masses(x - 2)
    truth = max(np.maximum(a - math.exp(0.5) * b, 0).sum() for a, b in ((p, q), (q, p)))
    found = bound(noise.shift(0), noise.shift(2), ApproxDP(epsilon="1/2", delta=0))
    assert found == pytest.approx(truth, rel=1e-9)


def test_a_discrete_gaussian_has_the_rho_of_its_change() -> None:
    """D^2/2v at every integer order (Canonne, Kamath and Steinke 2020, Proposition 5)."""
    distribution = DiscreteGaussian(sigma2=9)
    assert bound(distribution.shift(0), distribution.shift(3), ZeroConcentratedDP(rho=1)) == pytest.approx(
        0.5, rel=1e-9
    )


def test_a_product_of_binomials_by_all_pairs_of_outcomes() -> None:
    """Two coordinates that moved by 1 and 2: the merged product is below the sum over all pairs, and near."""
    noise = Binomial(trials=30, p="1/2")
    distribution, other = noise.shift(np.array([0, 0])), noise.shift(np.array([1, 2]))
    x = np.arange(0, 33)
    p = np.outer(stats.binom(30, 0.5).pmf(x), stats.binom(30, 0.5).pmf(x))
    q = np.outer(stats.binom(30, 0.5).pmf(x - 1), stats.binom(30, 0.5).pmf(x - 2))
    truth = max(np.maximum(a - math.exp(0.3) * b, 0).sum() for a, b in ((p, q), (q, p)))
    found = bound(distribution, other, ApproxDP(epsilon="3/10", delta=0))
    assert 0.99 * truth < found <= truth * (1 + 1e-12)


def test_renyi_divergences_of_coordinates_add_up() -> None:
    """The divergence of a pair of Skellam coordinates is the sum of both, each summed in floats."""
    noise, x = Skellam(variance=9), np.arange(-80, 81)
    pmf = stats.skellam(4.5, 4.5).pmf
    truth = sum(math.log(np.sum(pmf(x) ** 2 / pmf(x - d))) for d in (1, 2))
    distribution, other = noise.shift(np.array([0, 0, 7])), noise.shift(np.array([1, 2, 7]))
    assert bound(distribution, other, RenyiDP(order=2, epsilon=1)) == pytest.approx(truth, rel=1e-6)


def test_randomised_response_has_its_exact_delta_and_pure_loss() -> None:
    """(e^1 - e^(1/2)) / (1 + e^1), and log-ratio 1."""
    distribution, other = (RandomisedResponse(symbols=2, truth=truth, epsilon=1) for truth in (0, 1))
    truth = (math.e - math.exp(0.5)) / (1 + math.e)
    assert bound(distribution, other, ApproxDP(epsilon="1/2", delta=0)) == pytest.approx(truth, rel=1e-12)
    assert bound(distribution, other, PureDP(epsilon=1)) == pytest.approx(1, rel=1e-12)


def test_mu_of_one_event_is_below_the_gaussian_that_has_it() -> None:
    """For randomised response the best event is one symbol: mu = Phi^-1(p) - Phi^-1(1 - p)."""
    distribution, other = (RandomisedResponse(symbols=2, truth=truth, epsilon=1) for truth in (0, 1))
    p = math.e / (1 + math.e)
    truth = stats.norm.ppf(p) - stats.norm.ppf(1 - p)
    found = bound(distribution, other, GaussianDP(mu=1))
    assert truth - 1e-9 < found <= truth


def test_residues_are_points() -> None:
    """Modulo m both distributions have m outcomes; the bound is the sum over them."""
    distribution, other = (WrappedMod(Skellam(variance=4), modulus=16, offset=offset) for offset in (0, 3))
    p, q = (np.exp([float(one.logp(k)) for k in range(16)]) for one in (distribution, other))
    truth = np.maximum(p - math.exp(0.25) * q, 0).sum()
    assert bound(distribution, other, ApproxDP(epsilon="1/4", delta=0)) == pytest.approx(truth, rel=1e-9)


def test_another_variance_is_seen() -> None:
    """The same place, another scale: no shift, and still a positive delta, below the integral."""
    found = bound(Gaussian(sigma=1).shift(0), Gaussian(sigma=2).shift(0), ApproxDP(epsilon="1/4", delta=0))
    one, two = stats.norm(scale=1).pdf, stats.norm(scale=2).pdf
    truth = max(delta_by_integral(one, two, 0.25), delta_by_integral(two, one, 0.25))
    assert 0.9 * truth < found <= truth


def test_an_accounting_reads_the_same_witness() -> None:
    """rho of the proof's own accounting, in the finest view."""
    found = witness(Gaussian(sigma=1).shift(0), Gaussian(sigma=1).shift(1), ZeroConcentratedDP(rho="1/4"))
    assert found is not None
    whole = View(frozenset(), complement=True)
    body = {**found.body, "view": whole.to_json()}
    assert recompute(replace(found, body=body), ConcentratedAccounting(rho="1/4", declared="x")) == Fraction(
        1, 2
    )


EDITS: dict[str, Callable[[dict[str, Any]], object]] = {
    "seen by the view": lambda body: body["site"].update(to=["server"]),
    "fields": lambda body: body.pop("parts"),
    "one site": lambda body: body["site"].update(value=0),
    "different coordinates": lambda body: body["parts"].append(body["parts"][0]),
    "points or cuts": lambda body: body["parts"][0].update(cuts=["0"]),
    "at most 20000": lambda body: body["parts"][0].update(points=["0", "30000"]),
    "must differ": lambda body: body["inputs"].update(neighbour=body["inputs"]["recorded"]),
}


@pytest.mark.parametrize("words", EDITS)
def test_a_broken_body_is_refused(words: str) -> None:
    """Each edit makes it no witness."""
    claim = ApproxDP(epsilon="1/2", delta=0)
    found = witness(Skellam(variance=4).shift(0), Skellam(variance=4).shift(2), claim)
    assert found is not None
    assert recompute(found, claim) is not None
    edited = evidence_from_json(found.to_json())
    assert isinstance(edited, Witness)
    EDITS[words](edited.body)
    with pytest.raises(CertificateError, match=words):
        recompute(edited, claim)


def test_a_coordinate_is_not_counted_twice_under_another_spelling() -> None:
    """ "0" and 0 would be one coordinate, whose divergence counted twice."""
    claim = RenyiDP(order=2, epsilon=1)
    distribution, other = (Skellam(variance=4).shift(np.array([d])) for d in (0, 2))
    found = witness(distribution, other, claim)
    assert found is not None
    (part,) = found.body["parts"]
    for again in ("0", False, -1, 0.0):
        body = {**found.body, "parts": [part, {**part, "coordinate": again}]}
        with pytest.raises(CertificateError, match="coordinate"):
            recompute(replace(found, body=body), claim)


@pytest.mark.parametrize(
    ("noise", "claim"),
    [(Skellam(variance=4), RenyiDP(order=2, epsilon=1)), (Laplace(scale=1), PureDP(epsilon=1))],
)
def test_the_whole_outcome_is_no_second_coordinate(noise: Any, claim: Claim) -> None:
    """Of a single number the part without a coordinate is coordinate 0: either says the same, both together
    would say twice as much (a Laplace mechanism of epsilon 1 would cost 2)."""
    found = witness(noise.shift(0), noise.shift(1), claim)
    assert found is not None
    (part,) = found.body["parts"]
    named = {**part, "coordinate": 0}
    assert part["coordinate"] is None
    assert recompute(replace(found, body={**found.body, "parts": [named]}), claim) == recompute(found, claim)
    for parts in ([part, named], [named, part]):
        with pytest.raises(CertificateError, match="different coordinates, or one part without"):
            recompute(replace(found, body={**found.body, "parts": parts}), claim)


def test_more_than_the_distributions_give_is_refused() -> None:
    """A bound above the recomputed one, another order, and a view without the release are refused."""
    claim = RenyiDP(order=2, epsilon=1)
    found = witness(Gaussian(sigma=1).shift(0), Gaussian(sigma=1).shift(1), claim)
    assert found is not None
    assert found.bound == 1
    with pytest.raises(CertificateError, match="claims too much"):
        recompute(replace(found, bound=Fraction(1000001, 1000000)), claim)
    with pytest.raises(CertificateError, match="order must be the claim's"):
        recompute(found, RenyiDP(order=3, epsilon=1))
    with pytest.raises(CertificateError, match="in the claim's view"):
        recompute(found, RenyiDP(order=2, epsilon=1, view=View.of(SERVER)))
