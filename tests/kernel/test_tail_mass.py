"""Tail probabilities of noise, decided exactly: against the distributions' own balls, mpmath and brute
force."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.stats

from dpaudit import distributions as distributions
from dpaudit.certify.decide import TailEvent, bounded_noise, decide_tail, noise_sum
from dpaudit.certify.witnesses.recompute import recompute
from dpaudit.core.claims import Claim, TailBound
from dpaudit.core.errors import CertificateError
from dpaudit.core.evidence import Certificate, Evidence, Witness
from dpaudit.core.suite import Outcome
from dpaudit.core.verdicts import VerdictKind, judge
from dpaudit.distributions import Distribution
from dpaudit.kernel import check as kernel
from dpaudit.kernel.ball import ball
from dpaudit.run.finding import finding_of
from dpaudit.verify.report import verify_results

SINGLE: list[Distribution] = [
    distributions.Laplace(scale=2),
    distributions.Gaussian(variance=5),
    distributions.Exponential(scale=3),
    distributions.DiscreteLaplace(scale=2),
    distributions.Skellam(variance=9),
    distributions.DiscreteGaussian(sigma2=7),
    distributions.DiscreteGaussian(sigma2="1/5"),
    distributions.Binomial(trials=20, p="1/3"),
    distributions.Categorical(weights=[3, 0, 1, 2]),
    distributions.Bernoulli(p="1/4"),
]


@pytest.mark.parametrize("distribution", SINGLE, ids=lambda distribution: distribution.name)
@pytest.mark.parametrize("factor", ["0", "1/2", "2", "4", "9"])
def test_single_distributions_agree_with_their_own_balls(distribution: Distribution, factor: str) -> None:
    """P(X > t), P(X >= t), P(X < -t) and P(|X| > t) overlap the values of cdf_ball and sf_ball."""
    t = Fraction(factor)
    noise = noise_sum([(distribution, 1)])
    integer = distribution.support.integer
    above = distribution.sf_ball(t)
    at_least = distribution.sf_ball(math.ceil(t) - 1) if integer else above
    below = distribution.cdf_ball(math.ceil(-t) - 1) if integer else distribution.cdf_ball(-t)
    wanted = {("above", True): above, ("above", False): at_least, ("below", True): below}
    for (side, strict), value in wanted.items():
        found = TailEvent(noise=noise, factor=t, side=side, strict=strict).probability()  # type: ignore[arg-type]
        assert as_ball(found).overlaps(value)
        assert value.is_zero() or as_ball(found).rel_accuracy_bits() > 50
    both = TailEvent(noise=noise, factor=t).probability()
    assert as_ball(both).overlaps(above + below)


def as_ball(value: Any) -> Any:
    return ball(value) if isinstance(value, Fraction) else value


@pytest.mark.parametrize("n", [1, 2, 5, 40])
@pytest.mark.parametrize("x", ["0", "1/3", "5", "30"])
def test_sums_of_laplace_draws_agree_with_mpmath(n: int, x: str) -> None:
    """The closed form for n Laplace draws equals the inverse Fourier integral of (1 + s^2)^-n, in mpmath."""
    found = TailEvent(
        noise=noise_sum([(distributions.Laplace(scale=1), n)]), factor=x, side="above"
    ).probability()
    with mpmath.workdps(30):
        if n == 1:
            exact = mpmath.exp(-mpmath.mpf(Fraction(x).numerator) / Fraction(x).denominator) / 2
        else:
            exact = gamma_difference_tail(n, mpmath.mpf(Fraction(x).numerator) / Fraction(x).denominator)
        assert float(found.mid()) == pytest.approx(float(exact), rel=1e-10)


def gamma_difference_tail(n: int, x: Any) -> Any:
    """P(G - G' > x) = E P(G > x + G') by numerical integration over G'."""

    def integrand(g: Any) -> Any:
        density = mpmath.exp((n - 1) * mpmath.log(g) - g - mpmath.loggamma(n))
        return density * mpmath.gammainc(n, x + g, regularized=True)

    nodes = [0, n / 4, n / 2, n, 2 * n, 3 * n + 20, 4 * n + 120]
    return mpmath.quad(integrand, nodes)


@pytest.mark.parametrize(
    "parts",
    [
        [(distributions.DiscreteLaplace(scale=1), 3)],
        [(distributions.DiscreteGaussian(sigma2=2), 4)],
        [(distributions.Skellam(variance=2), 3)],
        [(distributions.Categorical(weights=[1, 2, 3]), 4), (distributions.DiscreteLaplace(scale=1), 1)],
        [(distributions.Binomial(trials=5, p="1/3"), 2), (distributions.Binomial(trials=5, p="1/4"), 1)],
        [
            (distributions.Skellam(variance=2), 1),
            (distributions.DiscreteGaussian(sigma2=1), 1),
            (distributions.PointMass(3), 2),
        ],
    ],
    ids=str,
)
def test_sums_of_integers_agree_with_convolution(parts: list[tuple[Distribution, int]]) -> None:
    """Sums of integer parts agree with a float convolution of their probabilities, on either side."""
    reach = 60
    masses = np.array([1.0])
    low = 0
    for distribution, times in parts:
        one = np.exp(distribution.logp(np.arange(-reach, reach + 1)))
        for _ in range(times):
            masses, low = np.convolve(masses, one), low - reach
    outcomes = low + np.arange(masses.size)
    noise = noise_sum(parts)
    for t, strict in itertools.product((0, 3, 7), (True, False)):
        event = TailEvent(noise=noise, factor=t, side="above", strict=strict)
        wanted = masses[outcomes > t if strict else outcomes >= t].sum()
        assert float(event.probability().mid()) == pytest.approx(wanted, rel=1e-9)
        event = TailEvent(noise=noise, factor=t, side="below", strict=strict)
        wanted = masses[outcomes < -t if strict else outcomes <= -t].sum()
        assert float(event.probability().mid()) == pytest.approx(wanted, rel=1e-9, abs=1e-12)


def test_gamma_tails_on_both_sides() -> None:
    """A centred sum of exponentials: both tails agree with scipy's gamma distribution."""
    noise = noise_sum([(distributions.Exponential(scale=2), 5)]).centred()
    gamma = scipy.stats.gamma(5, scale=2)
    for t in (1, 5, 12):
        above = TailEvent(noise=noise, factor=t, side="above").probability()
        below = TailEvent(noise=noise, factor=t, side="below").probability()
        assert float(above.mid()) == pytest.approx(gamma.sf(10 + t), rel=1e-12)
        assert float(below.mid()) == pytest.approx(gamma.cdf(10 - t), rel=1e-12)


def test_fact_1_holds_with_equality() -> None:
    """P(|Lap(b)| > b ln(1/d)) = d exactly: the claim at d is proved with no slack, and at 0.99 d refuted."""
    event = TailEvent(noise=noise_sum([(distributions.Laplace(scale="7/3"), 1)]), factor="7/3", log_of=20)
    claim = TailBound(probability="1/20", event=event.name)
    certificate = decide_tail(claim, event)
    assert isinstance(certificate, Certificate)
    assert certificate.bound == Fraction(1, 20)
    assert judge(claim, [certificate]).verdict is VerdictKind.VERIFIED
    less = TailBound(probability="0.0495", event=event.name)
    witness = decide_tail(less, event)
    assert isinstance(witness, Witness)
    assert judge(less, [witness]).verdict is VerdictKind.REFUTED


@pytest.mark.parametrize("n", [2, 8, 64, 512])
@pytest.mark.parametrize("failure", ["1/10", "1/1000", "1e-9"])
def test_fact_2_holds_and_a_constant_too_small_is_refuted(n: int, failure: str) -> None:
    """Chan, Shi, Song 2011, Corollary 2.9 at its smallest level, b sqrt(8 max(n, ln(2/d)) ln(2/d)), holds for
    n Laplace draws; at a third of it the bound is false.
    """
    d = Fraction(failure)
    noise = noise_sum([(distributions.Laplace(scale=1), n)])
    if n < math.log(2 / d):  # then max(sqrt n, sqrt ln) is the root of the logarithm: level sqrt(8) ln(2/d)
        holds = TailEvent(noise=noise, factor=Fraction(2828, 1000), log_of=2 / d)
        fails = TailEvent(noise=noise, factor=Fraction(1, 2), log_of=2 / d)
    else:
        holds = TailEvent(noise=noise, factor=8 * n, log_of=2 / d, root=True)
        fails = TailEvent(noise=noise, factor=Fraction(8 * n, 9), log_of=2 / d, root=True)
    claim = TailBound(probability=d, event=holds.name)
    certificate = decide_tail(claim, holds)
    assert isinstance(certificate, Certificate)
    assert kernel.check(certificate, claim) <= d
    false = TailBound(probability=d, event=fails.name)
    witness = decide_tail(false, fails)
    assert isinstance(witness, Witness)
    assert recompute(witness, false) == witness.bound


def test_an_integer_at_the_level_is_decided_exactly() -> None:
    """|X| > 5 and |X| >= 5 differ by P(|X| = 5) for integer noise; at the level 5 ln 3 they are one
    event.
    """
    distribution = distributions.Skellam(variance=4)
    noise = noise_sum([(distribution, 1)])
    strict = TailEvent(noise=noise, factor=5).probability()
    weak = TailEvent(noise=noise, factor=5, strict=False).probability()
    assert (weak - strict).overlaps(2 * distribution.logp_ball(5).exp())
    level = TailEvent(noise=noise, factor=5, log_of=3)  # 5.49...
    assert level.probability().overlaps(strict)
    assert TailEvent(noise=noise, factor=5, log_of=3, strict=False).probability().overlaps(strict)
    assert TailEvent(noise=noise, factor=0, strict=False).probability() == 1


def results_of(rows: list[tuple[Claim, Evidence, str]]) -> list[dict[str, Any]]:
    results = []
    for number, (claim, evidence, expect) in enumerate(rows):
        finding = finding_of(claim, Outcome([evidence]), alpha=0.01)
        about = {"id": f"row {number}", "claim": claim.to_json(), "expect": expect, "alpha": 0.01}
        results.append({**about, **finding, "as_expected": finding["verdict"] == expect})
    return list(json.loads(json.dumps(results)))


def test_verify_confirms_a_report_on_noise_and_finds_a_change() -> None:
    """A report with a proved and a refuted tail bound is confirmed from the file alone; a level moved by 1 %
    in either is found.
    """
    event = TailEvent(noise=noise_sum([(distributions.Skellam(variance=50), 2)]), factor=30)
    holds = TailBound(probability="0.01", event=event.name)
    fails = TailBound(probability="0.001", event=event.name)
    good = results_of(
        [(holds, decide_tail(holds, event), "verified"), (fails, decide_tail(fails, event), "refuted")]
    )
    assert all(finding.ok for finding in verify_results(good))
    for number, place in ((0, "tree"), (1, "body")):
        changed = json.loads(json.dumps(good))
        body = changed[number]["evidence"][0][place]
        body = body["premises"][0]["parameters"] if place == "tree" else body
        body["level"]["factor"] = "303/10"
        findings = verify_results(changed)
        assert [finding.ok for finding in findings].count(False) == 1


def test_malformed_events_are_refused() -> None:
    """A root without a logarithm, a logarithm below 1, a negative level, a class of distributions, a sum of
    two continuous distributions: each is refused with its reason; so are changed certificates.
    """
    noise = noise_sum([(distributions.Laplace(scale=1), 1)])
    for options, reason in [
        ({"factor": 4, "root": True}, "log_of"),
        ({"factor": 4, "log_of": "1/2"}, "1 or more"),
        ({"factor": -1}, "0 or more"),
    ]:
        with pytest.raises(CertificateError, match=reason):
            TailEvent(noise=noise, **options).probability()  # type: ignore[arg-type]
    with pytest.raises(CertificateError, match="class"):
        TailEvent(noise=bounded_noise(0, 1), factor=1).probability()
    mixed = noise_sum([(distributions.Laplace(scale=1), 1), (distributions.Gaussian(variance=1), 1)])
    event = TailEvent(noise=mixed, factor=1)
    claim = TailBound(probability="1/2", event=event.name)
    with pytest.raises(Exception, match="cumulant bound"):
        decide_tail(claim, event)
    good_event = TailEvent(noise=noise, factor=1)
    good_claim = TailBound(probability="1/2", event=good_event.name)
    certificate = decide_tail(good_claim, good_event)
    assert isinstance(certificate, Certificate)
    with pytest.raises(CertificateError, match="claims too much"):
        kernel.check(
            dataclasses.replace(certificate, bound=certificate.bound * Fraction(99, 100)), good_claim
        )
