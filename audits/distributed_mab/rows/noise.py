"""The noise distributions: Definitions 4 and 5, Facts 1 to 3, footnote 3 and Claim 1."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpaudit.blackbox.statistics import fit_log_wealth
from dpaudit.certify.build import discrete_gaussian_sum, discrete_laplace_mechanism
from dpaudit.core.claims import PureDP, SameDistribution, ZeroConcentratedDP
from dpaudit.core.evidence import Evidence
from dpaudit.core.exact_functions import log_of_two_over
from dpaudit.core.suite import Group, Run
from dpaudit.core.views import SERVER, View
from dpaudit.distributions import (
    DiscreteGaussian,
    DiscreteLaplace,
    Distribution,
    Polya,
    PolyaDifference,
    Skellam,
    summed,
)
from dpaudit.distributions.exact_tails import beyond
from dpaudit.kernel.ball import arb, ball
from dpaudit.suite import Measured, Sides, Step, evidence, full, inequality, over, step, steps

__all__ = ["rows"]

rows = Group("The noise distributions: Definitions 4 and 5, Facts 1 to 3, Claim 1")

#: Sums that agree to this count as equal. The balls of these rows are far narrower.
AGREEMENT = Fraction(1, 10**30)
#: Tolerance for the rounding of two balls that are equal.
EQUAL = arb(2) ** -100


# Definition 4

SCALES = ("1/10 1/2 1 7 100", full("1000"))


@step("moments", over=over(b=SCALES, degree=(0, 2)))
def _laplace_moments(b: Fraction, degree: int) -> Sides:
    """Σ_k P(k), of degree 0, is 1, and Σ_k k² P(k) is 2e^{1/b}/(e^{1/b} - 1)²: |ratio - 1| <= 1e-30"""
    power = ball(1 / b).exp()
    printed = 2 * power / (power - 1) ** 2 if degree else arb(1)
    return abs(summed.laplace_moment(b, degree) / printed - 1), AGREEMENT


@step("law", over=over(b=SCALES, k=(-5, 0, 1, 40)))
def _laplace_distribution(b: Fraction, k: int) -> Sides:
    """the distribution that the mechanisms draw from has the printed mass, to 1e-30"""
    return abs(DiscreteLaplace(scale=b).logp_ball(k).exp() / summed.laplace_mass(b, k) - 1), AGREEMENT


@steps(rows, "CZ23-D4", "Definition 4; variance in Fact 3")
def discrete_laplace() -> list[Step]:
    """Lap_Z(b) sums to 1 and has variance 2e^{1/b}/(e^{1/b} - 1)²

    Add up the printed masses, and their second moments, term by term, with a bound on the rest.
    """
    return [_laplace_moments, _laplace_distribution]


# Fact 1 and footnote 3


def _near_or_far(n: int, b: Fraction, k: int) -> bool:
    return k <= 3 or k == int(4 * b) + 4


MASSES = over(n=(1, 2, 7, 64), b=("1/10 1 10", full("50")), k=(0, 1, 3, 4, 8, 44, 204))


@inequality(rows, "CZ23-F1", "Fact 1", over=MASSES.where(_near_or_far, "beyond 3 only k = ⌊4b⌋ + 4"))
def polya_sum(n: int, b: Fraction, k: int) -> Sides:
    """n differences of Pólya(1/n, e^{-1/b}) variables add up to Lap_Z(b): masses agree to 1e-10

    Convolve the printed Pólya masses n times, subtract the two sums by another convolution, and compare with
    the printed discrete Laplace mass.
    """
    total = summed.convolved_polya(n, b, k, length=int(60 * b) + 40 + k)
    return abs(total / summed.laplace_mass(b, k) - 1), Fraction(1, 10**10)


def _drawn(distribution: str) -> SameDistribution:
    text = f"the draws do not reject {distribution}"
    return SameDistribution(text=text, quantity_name="log-wealth / log(1/level)", claimed=1)


def _fit(run: Run, draws: NDArray[np.int64], distribution: Distribution, name: str) -> Measured:
    """Return the evidence of a bet on ``draws`` against ``distribution``. 1 is the row's significance level,
    shared by its cells."""
    paths = fit_log_wealth(draws, distribution, rng=run.rng(f"{name}, transform"))
    wealth = min(float(np.max(paths.total)) / -math.log(run.alpha), 1e300)
    method = "goodness-of-fit bet (e-process) against the declared distribution"
    return Measured(low=wealth, high=wealth, samples=len(draws), method=method, exact=False)


@evidence(rows, "CZ23-F1/sampler", "Fact 1", claim=_drawn("Lap_Z(b)"), over=over(n=(1, 7, 64), b=(1, 8)))
def drawn_shares(run: Run, n: int, b: int) -> Measured:
    """Sums of n sampled Pólya shares are drawn from Lap_Z(g/ε)

    Draw n Pólya differences for each of many sums and bet against the discrete Laplace distribution (goodness
    of fit, valid at any time).
    """
    name, size = f"n = {n}, b = {b}", run.choose(quick=5_000, full=50_000)
    share = PolyaDifference(shape=Fraction(1, n), log_ratio=Fraction(1, b))
    return _fit(run, share.sample(run.rng(name), (size, n)).sum(axis=1), DiscreteLaplace(scale=b), name)


FIT = _drawn("Pólya(r, β), β = e^{-1/b}")
BIG = over(r="1 1/8", b=(1, 16))


@evidence(
    rows,
    "CZ23-FN3/rate",
    "footnote 3",
    claim=FIT,
    over=BIG,
    role="what-if",
    expect="refuted",
    reading="rate",
)
@evidence(rows, "CZ23-FN3", "footnote 3", claim=FIT, over=BIG + over(r="1/1024", b=(1, 16)), reading="scale")
def mixture(run: Run, r: Fraction, b: int, reading: str) -> Measured:
    """Poisson(Gamma(r, β/(1-β))) is Pólya(r, β), the second parameter being a {reading}

    Sample by footnote 3 and bet against the printed Pólya distribution (goodness of fit, valid at any time).
    The footnote does not name its second gamma parameter. Here it is a {reading}.

    Note: at r = 1/1024 nearly all draws are 0 in either reading, too many to tell them apart
    """
    name, size = f"r = {r}, β = e^(-1/{b})", run.choose(quick=5_000, full=50_000)
    odds = 1 / math.expm1(1 / b)  # β/(1-β), β = e^{-1/b}
    draws = summed.gamma_poisson(run.rng(name), shape=float(r), second=odds, size=size, reading=reading)
    return _fit(run, draws, Polya(shape=r, log_ratio=Fraction(1, b)), name)


# Definition 5


@step("mass", over=over(variance=("1/20 1 30", full("400")), k=(0, 1, 6, 50)))
def _skellam_mass(variance: Fraction, k: int) -> Sides:
    """|P(N1 - N2 = k) / (e^{-σ²} I_k(σ²)) - 1| <= 1e-30"""
    printed = Skellam(variance=variance).logp_ball(k).exp()
    return abs(summed.poisson_difference(variance, k) / printed - 1), AGREEMENT


@step("sum", over=over(pair=((Fraction(1, 20), 1), (1, 30), full((30, 100))), k=(0, 3, 20)))
def _skellam_sum(pair: tuple[Fraction, Fraction], k: int) -> Sides:
    """|P(X1 + X2 = k) / Sk(σ1² + σ2²)(k) - 1| <= 1e-30, (σ1², σ2²) = pair"""
    printed = Skellam(variance=sum(pair)).logp_ball(k).exp()
    return abs(summed.skellam_pair(*pair, k) / printed - 1), AGREEMENT


@step("MGF", over=over(variance="1/20 1 30", lam="-2 1/3 3/2"))
def _skellam_moments(variance: Fraction, lam: Fraction) -> Sides:
    """|E e^{λX} / exp(σ²(cosh λ - 1)) - 1| <= 1e-30"""
    printed = (ball(variance) * (ball(lam).cosh() - 1)).exp()
    return abs(summed.skellam_mgf(variance, lam) / printed - 1), AGREEMENT


@steps(rows, "CZ23-SK0", "Definition 5")
def skellam() -> list[Step]:
    """Sk(0, σ²) is the difference of two Poisson(σ²/2), closed under sums, with MGF exp(σ²(cosh λ - 1))

    Add up products of Poisson masses, of Skellam masses, and exponential moments, each with a bounded rest,
    and compare with the printed Bessel form and moment generating function.
    """
    return [_skellam_mass, _skellam_sum, _skellam_moments]


# Facts 2 and 3

EPSILON, MOVED = Fraction(1, 2), 3
QUERY = "a user's contribution to an integer query of sensitivity Δ"
CONCENTRATED = ZeroConcentratedDP(rho=EPSILON**2 / 2, view=View.of(SERVER), domain=QUERY)
PURE = PureDP(epsilon=EPSILON, view=View.of(SERVER), domain=QUERY)


@evidence(rows, "CZ23-F2", "Fact 2", claim=CONCENTRATED)
def discrete_gaussian(run: Run) -> list[Evidence]:
    """N_Z(0, Δ²/ε²) on a query of sensitivity Δ is (1/2)ε²-CDP

    One certificate covers all orders, at Δ = 3 and ε = 1/2. The bound Δ²/(2σ²) does not depend on either.

    Note: attained: with Δ = 3 the divergence equals ε²α/2 at every integer order α
    """
    proof = discrete_gaussian_sum(sensitivity=MOVED, variance=(MOVED / EPSILON) ** 2)
    return [proof.certify(CONCENTRATED)]


WHOLE = (0, 1, 2, 3, 5, 10, 30, 100)


@step(
    "tail",
    over=over(variance="1/20", t=WHOLE[:5])
    + over(variance="1/4", t=WHOLE[:6])
    + over(variance="1", t=WHOLE[:7])
    + over(variance="9 100", t=WHOLE),
)
def _gaussian_tail(variance: Fraction, t: int) -> Sides:
    """P(|Y| >= t) <= 2 exp(-t²/(2σ²)), σ² = Δ²/ε²"""
    tail = beyond(DiscreteGaussian(sigma2=variance), ball(t) - ball(Fraction(1, 2))) if t else arb(1)
    return tail, 2 * ball(-t * t / (2 * variance)).exp()


SMALL = "1/1000 1/10 1/3 1/2 1"


@step("MGF", over=over(variance="1/20 1/4 1", lam=f"{SMALL} 5/3 10 50") + over(variance="9 100", lam=SMALL))
def _gaussian_moments(variance: Fraction, lam: Fraction) -> Sides:
    """log E e^{λY} <= λ²σ²/2 + 2^-100 (they are equal if λσ² is an integer)"""
    return DiscreteGaussian(sigma2=variance).log_mgf_ball(lam), ball(lam * lam * variance / 2) + EQUAL


@steps(rows, "CZ23-F2/tail", "Fact 2", kind="tail")
def gaussian_tail() -> list[Step]:
    """N_Z(0, σ²) is σ²-sub-Gaussian, and P(|Y| >= t) <= 2 exp(-t²/(2σ²))

    Compare exact tails with the printed bound at integers t, and the exact cumulant with the sub-Gaussian
    one.

    Proof: for the second bound, completing the square leaves a theta sum centred at λσ² over a theta sum
    centred at 0, and the latter is the largest (Poisson summation)
    """
    return [_gaussian_tail, _gaussian_moments]


@evidence(rows, "CZ23-F3", "Fact 3", claim=PURE)
def laplace_mechanism(run: Run) -> list[Evidence]:
    """Lap_Z(Δ/ε) on a query of sensitivity Δ is (ε, 0)-DP

    Certify Δ = 3, ε = 1/2. The bound Δ/scale depends only on these two numbers.

    Note: attained at every outcome beyond both query values
    """
    return [discrete_laplace_mechanism(sensitivity=MOVED, scale=MOVED / EPSILON).certify(PURE)]


SPREAD = "1/100 1/10 1/2 1 3 10 1000 100000"
RARE = "999/1000 1/2 1/10 1/1000 1/1000000 1/1000000000000"


def _laplace_beyond(b: Fraction, multiple: arb) -> arb:
    return beyond(DiscreteLaplace(scale=b), (ball(b) * multiple).ceil())


@step("tail", over=over(b=SPREAD, p=f"1 {RARE}"))
def _laplace_tail(b: Fraction, p: Fraction) -> Sides:
    """P(|Y| > ⌈b log(2/p)⌉) <= p, b = Δ/ε"""
    return _laplace_beyond(b, log_of_two_over(p)), p


@step("half", over=over(b=SPREAD, p=f"1 {RARE}"))
def _half_of_it(b: Fraction, p: Fraction) -> Sides:
    """and even <= p/(e^{1/b} + 1), below p/2"""
    return _laplace_beyond(b, log_of_two_over(p)), ball(p) / (ball(1 / b).exp() + 1) + ball(p) * EQUAL


@steps(rows, "CZ23-F3/tail", "Fact 3", kind="tail")
def laplace_tail() -> list[Step]:
    """P(|Y| > ⌈(Δ/ε) log(2/p)⌉) <= p for Y ~ Lap_Z(Δ/ε)

    Compare the closed form of the exact tail with p.

    Proof: P(|Y| >= k + 1) = 2 e^{-k/b}/(e^{1/b} + 1), and e^{-k/b} <= p/2 for k = ⌈b log(2/p)⌉
    """
    return [_laplace_tail, _half_of_it]


@inequality(
    rows, "CZ23-F3/sharp", "Fact 3, sharpened", kind="tail", role="sharper", over=over(b=SPREAD, p=RARE)
)
def sharp_laplace_tail(b: Fraction, p: Fraction) -> Sides:
    """P(|Y| > ⌈b log(1/p)⌉) <= p, b = Δ/ε: the 2 under the logarithm is not needed

    The same comparison with log(1/p), the smallest constant that works for all scales.

    Note: as b grows and p falls, the ratio tends to 1
    """
    return _laplace_beyond(b, (1 / ball(p)).log()), p


# Claim 1

FACTORS = 1000


@step(over=over(k=range(200)))
def _coefficients(k: int) -> Sides:
    """1/(2k)! <= 1/(2^k k!): the two power series, term by term"""
    return Fraction(2**k * math.factorial(k), math.factorial(2 * k)), 1


@step("claim", over=over(lam="0 1/1000 1/10 1/2 1 2 5 30 300"))
def _cosh(lam: Fraction) -> Sides:
    """cosh λ <= e^{λ²/2}"""
    return ball(lam).cosh(), ball(lam * lam / 2).exp()


def _between(value: arb, most: arb) -> Sides:
    """Return the sides of 0 <= value <= most, as a distance from the middle."""
    return abs(value - most / 2), most / 2


@step("product", over=over(lam="1/10 1 3 10"))
def _product(lam: Fraction) -> Sides:
    """0 <= log(cosh λ / Π_{k<=N} (1 + 4λ²/(π²(2k-1)²))) <= 4λ²/(2π²(2N-1)), N = 1000"""
    unit = ball(4 * lam * lam) / arb.pi() ** 2
    factors = (1 + unit / (2 * k - 1) ** 2 for k in range(1, FACTORS + 1))
    # the sum over k > N of 1/(2k-1)^2 is at most 1/(2(2N-1)), an integral
    return _between((ball(lam).cosh() / math.prod(factors, start=arb(1))).log(), unit / (4 * FACTORS - 2))


@step("odd squares")
def _odd_squares() -> Sides:
    """0 <= π²/8 - Σ_{k<=N} 1/(2k-1)² <= 1/(2(2N-1)), N = 1000"""
    total = sum((ball(Fraction(1, (2 * k - 1) ** 2)) for k in range(1, FACTORS + 1)), arb(0))
    return _between(arb.pi() ** 2 / 8 - total, ball(Fraction(1, 4 * FACTORS - 2)))


@steps(rows, "CZ23-CL1", "Claim 1", role="step")
def hyperbolic_cosine() -> list[Step]:
    """cosh λ <= e^{λ²/2}, by the product formula of cosh and Σ 1/(2k-1)² = π²/8

    Compare the power series coefficient by coefficient (which proves the claim for all λ), the two sides on a
    grid, and partial products and sums of the printed formulas with bounded rests.

    Proof: for every k, (2k)!/k! is a product of k factors, each at least 2 from k = 1 on, so at least 2^k
    """
    return [_coefficients, _cosh, _product, _odd_squares]
