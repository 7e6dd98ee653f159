"""Sub-Gaussian and sub-exponential claims, decided on the exact cumulant function: against mpmath, closed
forms and negative controls.
"""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import arb

from dpaudit import distributions as distributions
from dpaudit.certify.decide import (
    NoiseSum,
    bounded_noise,
    decide_proxy,
    noise_sum,
    proxy_proof,
    smallest_proxy,
)
from dpaudit.certify.witnesses.recompute import recompute
from dpaudit.core.claims import PureDP, SubExponential, SubGaussian
from dpaudit.core.errors import CertificateError, InvalidParameterError
from dpaudit.core.evidence import Certificate, Witness
from dpaudit.core.verdicts import VerdictKind, judge
from dpaudit.kernel import check as kernel
from dpaudit.kernel.ball import ball, precision
from dpaudit.kernel.t2.noise import Bounded, DiscreteGaussian, Finite, Laplace, Noise
from dpaudit.kernel.t2.proxies import is_proxy, ratio
from tests.errors import raises

Claim = SubGaussian | SubExponential


def centred_binomial(trials: int, p: str, *, times: int = 1) -> NoiseSum:
    return noise_sum([(distributions.Binomial(trials=trials, p=p), times)]).centred()


#: Noise with the range of t of its claim (None: all t).
CASES: list[tuple[NoiseSum, str | None]] = [
    (noise_sum([(distributions.Laplace(scale=2), 4)]), "1/4"),
    (noise_sum([(distributions.Gaussian(variance=3), 5)]), None),
    (noise_sum([(distributions.DiscreteLaplace(scale=2), 3)]), "2/5"),
    (noise_sum([(distributions.Skellam(variance=10), 2)]), "1"),
    (noise_sum([(distributions.PolyaDifference(shape="1/3", log_ratio="1/2"), 2)]), "1/4"),
    (noise_sum([(distributions.DiscreteGaussian(sigma2=3), 4)]), None),
    (noise_sum([(distributions.DiscreteGaussian(sigma2="1/4"), 4)]), "1"),
    (centred_binomial(10, "1/4"), None),
    (centred_binomial(100, "1/100"), "3"),
    (noise_sum([(distributions.Categorical(weights=[1, 8, 1]), 2)], shift=-2), None),
    (noise_sum([(distributions.Categorical(weights=[5, 0, 1, 2]), 1)]).centred(), None),
    (
        noise_sum(
            [(distributions.Binomial(trials=3, p="1/4"), 1), (distributions.DiscreteGaussian(sigma2=2), 2)]
        ).centred(),
        None,
    ),
    (
        noise_sum(
            [(distributions.Categorical(weights=[1, 8, 1]), 1), (distributions.Laplace(scale=1), 2)], shift=-1
        ),
        "1/2",
    ),
    (noise_sum([(distributions.Exponential(scale=1), 2)], shift=-2), "1/2"),
    (
        noise_sum(
            [(distributions.Bernoulli(p="9/10"), 1), (distributions.Gaussian(variance="1/10"), 1)]
        ).centred(),
        None,
    ),
]
IDS = [noise.name[:40] + f" to {reach}" for noise, reach in CASES]


def claim_for(noise: NoiseSum, proxy: Fraction, reach: str | None) -> Claim:
    if reach is None:
        return SubGaussian(variance_proxy=proxy, of=noise.name)
    return SubExponential(variance_proxy=proxy, scale=1 / Fraction(reach), of=noise.name)


@pytest.mark.parametrize(("noise", "reach"), CASES, ids=IDS)
def test_the_least_proxy_is_proved_and_one_percent_less_is_refuted(
    noise: NoiseSum, reach: str | None
) -> None:
    """The proxy that is found is certified and verifies its claim; 1 % less is refuted by a point that the
    file alone confirms. The two sides are within a millionth.
    """
    found = smallest_proxy(noise, reach=reach)
    assert found.upper is not None
    assert found.lower is not None
    assert found.lower <= found.upper <= found.lower * (1 + Fraction(1, 10**6))
    claim = claim_for(noise, found.upper, reach)
    certificate = decide_proxy(claim, noise)
    assert isinstance(certificate, Certificate)
    assert certificate.assumptions == ()
    assert kernel.check(certificate, claim) <= found.upper
    assert judge(claim, [certificate]).verdict is VerdictKind.VERIFIED
    less = claim_for(noise, found.upper * Fraction(99, 100), reach)
    witness = decide_proxy(less, noise)
    assert isinstance(witness, Witness)
    assert recompute(witness, less) == witness.bound
    assert judge(less, [witness]).verdict is VerdictKind.REFUTED


@pytest.mark.parametrize(("noise", "reach"), CASES, ids=IDS)
def test_no_point_of_a_fine_grid_exceeds_the_proxy(noise: NoiseSum, reach: str | None) -> None:
    """On 100 points of either sign, 2 K(t) / t^2 from the distributions' own moment generating functions in
    mpmath stays below the certified proxy.
    """
    found = smallest_proxy(noise, reach=reach)
    assert found.upper is not None
    end = 40.0 if reach is None else float(Fraction(reach))
    for t in np.geomspace(1e-4, end, 100):
        for signed in (float(t), -float(t)):
            assert 2 * independent_cumulant(noise, signed) / signed**2 <= float(found.upper) * (1 + 1e-9)


def independent_cumulant(noise: NoiseSum, t: float) -> float:
    """log E exp(tX) in mpmath, from the parameters written in the noise."""
    with mpmath.workdps(40):
        x = mpmath.mpf(t)
        total = x * mpmath.mpf(noise.shift.numerator) / noise.shift.denominator
        for part in noise.parts:
            total += int(part["count"]) * mp_cumulant(part["law"], x)
        return float(total)


def mp_number(text: str) -> Any:
    number = Fraction(text)
    return mpmath.mpf(number.numerator) / number.denominator


def mp_cumulant(distribution: dict[str, Any], x: Any) -> Any:
    number = {
        key: mp_number(value)
        for key, value in distribution.items()
        if isinstance(value, str) and key != "law"
    }
    kind = distribution["law"]
    if kind == "laplace":
        return -mpmath.log(1 - number["scale"] ** 2 * x**2)
    if kind == "gaussian":
        return number["variance"] * x**2 / 2
    if kind == "exponential":
        return -mpmath.log(1 - number["scale"] * x)
    if kind in ("discrete-laplace", "polya-difference"):
        a = mpmath.exp(-1 / number["scale"] if kind == "discrete-laplace" else -number["log_ratio"])
        share = number.get("shape", mpmath.mpf(1))
        one = (1 - a) ** 2 / ((1 - a * mpmath.exp(x)) * (1 - a * mpmath.exp(-x)))
        return share * mpmath.log(one)
    if kind == "skellam":
        return number["variance"] * (mpmath.cosh(x) - 1)
    if kind == "discrete-gaussian":
        s = number["sigma2"]
        centre = int(x * s)
        terms = [mpmath.exp(k * x - mpmath.mpf(k) ** 2 / (2 * s)) for k in range(centre - 25, centre + 26)]
        return mpmath.log(
            sum(terms) / sum(mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * s)) for k in range(-60, 61))
        )
    if kind in ("binomial", "bernoulli"):
        p = number["p"]
        return number.get("trials", mpmath.mpf(1)) * mpmath.log(1 - p + p * mpmath.exp(x))
    weights = [mp_number(w) for w in distribution["weights"]]
    return mpmath.log(sum(w * mpmath.exp(j * x) for j, w in enumerate(weights)) / sum(weights))


@pytest.mark.parametrize(("noise", "reach"), CASES, ids=IDS)
def test_cumulants_enclose_mpmath_and_the_distributions(noise: NoiseSum, reach: str | None) -> None:
    """K in balls holds mpmath's value, and its derivatives by series hold mpmath's numerical ones over a
    whole interval.
    """
    t = Fraction(1, 7) if reach is None else Fraction(reach) / 3
    with precision(128):
        for point in (t, -t):
            value = noise.noise.cumulant(ball(point))
            assert value.rel_accuracy_bits() > 80
            assert abs(float(value.mid()) - independent_cumulant(noise, float(point))) < 1e-12
        wide = noise.noise.fourth(arb(0).union(ball(t)))
        inside = fourth_derivative(noise, float(t) / 2)
        assert float(wide.lower()) - 1e-9 <= inside <= float(wide.upper()) + 1e-9


def fourth_derivative(noise: NoiseSum, x: float) -> float:
    with mpmath.workdps(60):
        h = mpmath.mpf("1e-8")

        def at(k: int) -> Any:
            y = mpmath.mpf(x) + k * h
            total = y * mp_number(str(noise.shift))
            return total + sum(int(p["count"]) * mp_cumulant(p["law"], y) for p in noise.parts)

        return float((at(2) - 4 * at(1) + 6 * at(0) - 4 * at(-1) + at(-2)) / h**4)


def test_known_proxies_are_met_exactly() -> None:
    """Gaussian: the variance; discrete Gaussian: its parameter; n fair coins and n bounded variables: n/4
    (Hoeffding); uniform on -1, 0, 1: the variance 2/3. All exact.
    """
    known = [
        (noise_sum([(distributions.Gaussian(variance="7/3"), 3)]), Fraction(7)),
        (noise_sum([(distributions.DiscreteGaussian(sigma2="7/3"), 3)]), Fraction(7)),
        (centred_binomial(12, "1/2"), Fraction(3)),
        (bounded_noise(0, 1, count=12), Fraction(3)),
        (noise_sum([(distributions.Categorical(weights=[1, 1, 1]), 1)], shift=-1), Fraction(2, 3)),
    ]
    for noise, proxy in known:
        assert smallest_proxy(noise).upper == proxy


@pytest.mark.parametrize("p", ["1/4", "1/100", "9/10"])
def test_one_coin_has_the_kearns_saul_proxy(p: str) -> None:
    """A coin's least proxy is (1 - 2p) / (2 ln((1-p)/p)) (Kearns and Saul 1998), enclosed from both sides."""
    q = mp_number(p)
    exact = (1 - 2 * q) / (2 * mpmath.log((1 - q) / q))
    found = smallest_proxy(centred_binomial(1, p))
    assert found.upper is not None
    assert found.lower is not None
    assert float(found.lower) <= float(exact) * (1 + 1e-15)
    assert float(exact) * (1 - 1e-15) <= float(found.upper) <= float(exact) * (1 + 1e-9)


def test_laplace_is_sub_exponential_and_not_sub_gaussian() -> None:
    """Laplace(b) has no variance proxy for all t: an infinite witness at the pole. On |t| <= 1/(2b) the least
    one is 8 ln(4/3) b^2, so that the textbook's 4 b^2 holds and the variance 2 b^2 does not.
    """
    noise = noise_sum([(distributions.Laplace(scale=3), 1)])
    witness = decide_proxy(SubGaussian(variance_proxy=10**6, of=noise.name), noise)
    assert isinstance(witness, Witness)
    claim = SubExponential(variance_proxy=4 * 9, scale=6, of=noise.name)
    assert isinstance(decide_proxy(claim, noise), Certificate)
    assert float(smallest_proxy(noise, reach="1/6").upper or 0) == pytest.approx(72 * np.log(4 / 3), rel=1e-9)
    variance = SubExponential(variance_proxy=2 * 9, scale=6, of=noise.name)
    assert isinstance(decide_proxy(variance, noise), Witness)


def test_up_to_the_pole_a_point_strictly_inside_refutes() -> None:
    """A range that ends at the pole 1/b is refuted inside it: |t| < 1/b and |t| <= 1/b say the same."""
    noise = noise_sum([(distributions.Laplace(scale=1), 1)])
    claim = SubExponential(variance_proxy=50, scale=1, of=noise.name)
    witness = decide_proxy(claim, noise)
    assert isinstance(witness, Witness)
    assert witness.bound is not None
    assert abs(Fraction(witness.body["t"])) < 1
    assert recompute(witness, claim) == witness.bound


def test_skellam_and_a_mean_have_no_proxy() -> None:
    """Skellam noise has no proxy for all t, and noise with another mean than 0 none at all: both refuted."""
    skellam = noise_sum([(distributions.Skellam(variance=2), 1)])
    moved = noise_sum([(distributions.Gaussian(variance=1), 1)], shift="1/1000")
    for noise, reach in ((skellam, None), (moved, "1/2"), (moved, None)):
        claim = claim_for(noise, Fraction(10**4), reach)
        witness = decide_proxy(claim, noise)
        assert isinstance(witness, Witness)
        assert judge(claim, [witness]).verdict is VerdictKind.REFUTED
        assert recompute(witness, claim) == witness.bound


def test_the_class_of_bounded_distributions_is_refuted_by_its_worst_member() -> None:
    """All distributions on [0, 2] minus their mean: proxy 1 is proved, 0.99 is refuted (by a fair coin)."""
    noise = bounded_noise(0, 2)
    holds = SubGaussian(variance_proxy=1, of=noise.name)
    assert isinstance(decide_proxy(holds, noise), Certificate)
    fails = SubGaussian(variance_proxy="0.99", of=noise.name)
    witness = decide_proxy(fails, noise)
    assert isinstance(witness, Witness)
    assert recompute(witness, fails) == witness.bound


def test_random_tables_agree_with_a_brute_force_scan() -> None:
    """Ten random tables: the certified least proxy is within 1e-4 of the largest value on 4000 points."""
    rng = np.random.default_rng(np.random.SeedSequence(20))
    for _ in range(10):
        size = int(rng.integers(2, 7))
        weights = [int(w) for w in rng.integers(1, 30, size)]
        noise = noise_sum([(distributions.Categorical(weights=weights), 1)]).centred()
        found = smallest_proxy(noise)
        assert found.upper is not None
        x = np.arange(size) + float(noise.shift)
        t = np.concatenate([np.linspace(-30, -0.01, 2000), np.linspace(0.01, 30, 2000)])
        k = np.log(np.exp(np.outer(t, x)) @ (np.array(weights) / sum(weights)))
        variance = float(np.dot(weights, x**2) / sum(weights))
        assert float(found.upper) == pytest.approx(max(float(np.max(2 * k / t**2)), variance), rel=1e-4)


def test_a_proxy_below_the_truth_is_never_proved() -> None:
    """``is_proxy`` refuses every value below the largest ratio, by 1 %, 1e-6 and 1e-12 of it, in each of its
    steps.
    """
    for noise, reach in CASES:
        end = None if reach is None else Fraction(reach)
        found = smallest_proxy(noise, reach=end)
        assert found.lower is not None
        for less in (Fraction(1, 100), Fraction(1, 10**6), Fraction(1, 10**12)):
            assert not is_proxy(noise.noise, found.lower * (1 - less), reach=end)


def test_a_corrupted_certificate_is_refused() -> None:
    """Changes of bound, proxy, distribution, count, shift, reach or name make the kernel refuse, with a
    reason."""
    noise = centred_binomial(10, "1/4")
    claim = SubGaussian(variance_proxy="2.3", of=noise.name)
    good = decide_proxy(claim, noise)
    assert isinstance(good, Certificate)
    kernel.check(good, claim)
    changes: list[dict[str, Any]] = [
        {"proxy": "2.2"},
        {"shift": "0"},
        {"parts": [{"law": {"law": "binomial", "trials": "11", "p": "1/4"}, "count": "1"}]},
        {"parts": []},
        {"reach": "1"},
        {"stands_for": "another noise"},
        {"unknown": "1"},
    ]
    for change in changes:
        tree = {**good.tree, "premises": [dict(good.tree["premises"][0])]}
        tree["premises"][0]["parameters"] = {**tree["premises"][0]["parameters"], **change}
        with pytest.raises(CertificateError):
            kernel.check(dataclasses.replace(good, tree=tree), claim)
    with pytest.raises(CertificateError, match="claims too much"):
        kernel.check(dataclasses.replace(good, bound=good.bound - Fraction(1, 10**9)), claim)
    with pytest.raises(CertificateError, match="must bound"):
        kernel.check(dataclasses.replace(good, quantity="epsilon"), claim)


def test_words_of_ones_own_are_an_assumption() -> None:
    """A claim that names its noise in other words is accounted, with the reading printed; a certificate of
    other noise than the claim's is refused.
    """
    noise = noise_sum([(distributions.Laplace(scale=1), 4)])
    claim = SubExponential(variance_proxy=16, scale=2, of="the noise of Lemma 3")
    certificate = decide_proxy(claim, noise)
    assert isinstance(certificate, Certificate)
    assert certificate.strength == "accounted"
    assert noise.name in certificate.assumptions[0]
    kernel.check(certificate, claim)
    with pytest.raises(CertificateError, match="what the claim names"):
        proxy_proof(noise, 16, reach="1/2").certify(claim)


def test_a_small_range_says_nothing_about_a_larger_one() -> None:
    """A proxy proved on |t| <= 1/4 does not certify |t| <= 1/2, and a privacy claim cannot use it at all."""
    noise = noise_sum([(distributions.Laplace(scale=1), 1)])
    proof = proxy_proof(noise, 4, reach="1/4")
    with pytest.raises(CertificateError, match="must bound"):
        proof.certify(SubExponential(variance_proxy=4, scale=2, of=noise.name))
    with pytest.raises(CertificateError, match="must bound"):
        proof.certify(PureDP(epsilon=4))
    assert proof.certify(SubExponential(variance_proxy=4, scale=8, of=noise.name)).bound == 4


def test_a_witness_that_says_too_much_is_refused() -> None:
    """Another t, a t outside the range, a larger bound, other noise: each is refused."""
    noise = noise_sum([(distributions.Laplace(scale=1), 1)])
    claim = SubExponential(variance_proxy=2, scale=2, of=noise.name)
    witness = decide_proxy(claim, noise)
    assert isinstance(witness, Witness)
    assert witness.bound is not None
    for body in ({"t": "1/4"}, {"t": "1"}, {"t": "0"}, {"shift": "1/8"}, {"extra": "1"}):
        changed = dataclasses.replace(witness, body={**witness.body, **body})
        with pytest.raises(CertificateError):
            recompute(changed, claim)
    for bound in (None, witness.bound + Fraction(1, 10**6)):
        with pytest.raises(CertificateError, match="claims too much"):
            recompute(dataclasses.replace(witness, bound=bound), claim)
    with pytest.raises(CertificateError, match="form"):
        recompute(dataclasses.replace(witness, form="transcript"), claim)


def test_noise_outside_the_vocabulary_is_refused() -> None:
    """Gumbel noise, vector shifts, bounds in the wrong order and an empty range are refused by name."""
    with pytest.raises(CertificateError, match="got 'gumbel'"):
        noise_sum([(distributions.Gumbel(scale=1), 1)])
    with raises(InvalidParameterError, code="E-NOISE-NOT-SCALAR"):
        noise_sum([(distributions.Laplace(scale=1).shift(np.zeros(2)), 1)])
    with pytest.raises(CertificateError, match="below upper"):
        bounded_noise(1, 0).noise  # noqa: B018  # reading it is what refuses
    with raises(InvalidParameterError, code="E-REACH-RANGE"):
        smallest_proxy(bounded_noise(0, 1), reach=0)


def test_shifts_points_and_sums_of_distributions_are_flattened() -> None:
    """Shifts, point masses and exact convolutions become parts and one shift, with the same cumulants."""
    inner = distributions.ConvolvedIntegers(
        [distributions.Bernoulli(p="1/3"), distributions.Bernoulli(p="1/3")]
    )
    noise = noise_sum(
        [
            (inner, 2),
            (distributions.PointMass(2), 2),
            (distributions.Laplace(scale=1).shift(Fraction(1, 2)), 3),
        ],
        shift=-1,
    )
    assert noise.shift == 4 + Fraction(3, 2) - 1
    assert noise.noise.mean == noise.shift + Fraction(4, 3)
    t = Fraction(1, 5)
    direct = (
        2 * inner.log_mgf_ball(t)
        + 3 * distributions.Laplace(scale=1).log_mgf_ball(t)
        + ball(Fraction(9, 2) * t)
    )
    assert noise.noise.cumulant(ball(t)).overlaps(direct)


def test_a_class_of_distributions_brackets_its_members() -> None:
    """A class of bounded distributions has an upper and a lower cumulant, and both bracket each member's."""
    one = Noise(((Bounded(Fraction(0), Fraction(1)), 1),))
    member = Noise(((Finite((Fraction(-1, 4), Fraction(3, 4)), (Fraction(3), Fraction(1))), 1),))
    for t in (Fraction(1, 3), Fraction(-4), Fraction(9)):
        assert ratio(member, t) <= ratio(one, t)
        assert ratio(one.attained, t) <= ratio(one, t)
    assert DiscreteGaussian(Fraction(3)).quadratic == 3
    assert Laplace(Fraction(1)).quadratic is None
