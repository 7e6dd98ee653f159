"""Check P_Vec's errors: the steps of C.3 on rounding and noise, the rate, unbiasedness and its conventions,
and bits."""

from __future__ import annotations

import itertools
from fractions import Fraction

from dpaudit.certify.decide import bounded_noise, decide_proxy, noise_sum
from dpaudit.core.claims import SubExponential, SubGaussian
from dpaudit.core.evidence import Evidence
from dpaudit.core.exact_functions import ln
from dpaudit.core.suite import Group, Run
from dpaudit.distributions import Binomial, DiscreteLaplace
from dpaudit.kernel.ball import arb, ball, upper
from dpaudit.reference.mechanisms.binomial_vectors import CONSTANT, VectorSheet, printed_sheet
from dpaudit.suite import (
    Measured,
    Sides,
    Step,
    evidence,
    full,
    inequality,
    integers,
    on,
    over,
    reals,
    step,
    steps,
)

__all__ = ["rows"]

rows = Group("Binomial vector sums: errors and bits", kind="tail")

#: The error of rounding one entry is a variable on an interval of length 1, minus its mean.
ROUNDING = bounded_noise(0, 1)


def rounding_proxy(proxy: Fraction) -> SubGaussian:
    return SubGaussian(variance_proxy=proxy, of=ROUNDING.name)


@evidence(
    rows,
    "CZ22-C.3s1/sharper",
    "Appendix C.3, sharpened",
    claim=rounding_proxy(Fraction(1, 4)),
    role="sharper",
    proxy=Fraction(1, 4),
)
@evidence(
    rows, "CZ22-C.3s1", "Appendix C.3", claim=rounding_proxy(Fraction(1)), role="step", proxy=Fraction(1)
)
def rounding(run: Run, proxy: Fraction) -> list[Evidence]:
    """The rounding error ι₁ of one entry is sub-Gaussian with variance {proxy}

    The bound holds for every entry and g, since the error is a centred variable on an interval of length 1.
    "With variance v" means the proxy v.

    Note: the printed reason, a range of [-1, 1], gives 1; the error takes two values at distance 1, hence
    1/4
    """
    return [decide_proxy(rounding_proxy(proxy), ROUNDING)]


BITS = over(p="1/4 1/2 1/10")


def bit_proxy(p: Fraction) -> SubGaussian:
    return SubGaussian(variance_proxy="1/4", of=noise_sum([(Binomial(trials=1, p=p), 1)], shift=-p).name)


@evidence(rows, "CZ22-C.3s2", "Appendix C.3", claim=bit_proxy, over=BITS, role="step")
def bits(run: Run, p: Fraction) -> list[Evidence]:
    """The batch's noise ι₂ is sub-Gaussian with variance B b/4

    The noise is B b independent trials. log E exp(sX) is B b times its value for one trial, so it is enough
    to check one trial with 1/4. At the protocol's p = 1/4 the least proxy is 0.2276 per trial, and the
    variance is 0.1875.
    """
    return [decide_proxy(bit_proxy(p), noise_sum([(Binomial(trials=1, p=p), 1)], shift=-p))]


SIZES = {"d": (1, 2, 5, full(15)), "delta": "49/100 1/10 1/1000000"}
DIMENSIONS, DELTAS = integers(1, None), reals(0, "1/2", "()")


@step("noise", over=over(**SIZES), prove=on(d=DIMENSIONS, delta=DELTAS))
def _noise(d: int, delta: Fraction) -> Sides:
    """log(4(d²+1)/δ) <= (81/20) log(d²/δ)"""
    return ln(4 * (d**2 + 1) / delta), 81 * ln(d * d / delta) / 20


@step(
    "rounding",
    over=over(**SIZES, epsilon="1/5 1 15"),
    prove=on(d=DIMENSIONS, delta=DELTAS, epsilon=reals(0, 15, "(]")),
)
def _rounding(d: int, delta: Fraction, epsilon: Fraction) -> Sides:
    """5/16 <= 15000 log(d²/δ)²/ε²"""
    return 5 * ball(epsilon) ** 2 / 16, 15000 * ln(d * d / delta) ** 2


@step("constant", prove=on())
def _constant() -> Sides:
    """6·10⁴ (81/20)² + 15000 <= 10⁶"""
    return CONSTANT * Fraction(81, 20) ** 2 / 4 + 15000, 10**6


@steps(rows, "CZ22-C.3s3", "Theorem C.1, Appendix C.3", role="step")
def rate() -> list[Step]:
    """One entry's noise, of proxy (B + B b/4)/g², is at most C log(d²/δ)²/ε² with one C = 10⁶:
    O(log²(d²/δ)/ε²)

    B/g² <= 1/4, and b is 24·10⁴ g² log(4(d²+1)/δ)²/(ε² B) plus less than 1. So the proxy is at most 5/16 +
    6·10⁴ log(4(d²+1)/δ)²/ε². The steps bound both terms, and add them. ε <= 15, δ < 1/2. Over M batches both
    sides are M times as large: σ = O(sqrt(T/B) log(d²/δ)/ε).

    Note: the standard deviation is about 245 log(4(d²+1)/δ)/ε for sums of B numbers in [-1, 1]: at ε = 1, δ
    = 1/10 and d = 5 it exceeds B until B is about 1500
    """
    return [_noise, _rounding, _constant]


# Unbiasedness, and the conventions that it needs

SMALL = VectorSheet(dim=1, batch_size=3, precision=4, trials=8)


def expectation(
    values: tuple[Fraction, ...], subtracted: Fraction, *, trials: Fraction | None = None
) -> Fraction:
    """Return the exact mean of the analyzer's output for entries ``values`` of the users of one batch.

    The mean sums over all roundings and all numbers of ones. ``subtracted`` is subtracted at the end.
    ``trials`` is the b used to remove the bias.
    """
    sheet, mean = SMALL, Fraction(0)
    n, p = sheet.trials * sheet.batch_size, sheet.chance
    noise = Binomial(trials=n, p=p)
    scaled = [(value + 1) * sheet.scale for value in values]
    chances = [((x // 1, 1 - x % 1), (x // 1 + 1, x % 1)) for x in scaled]
    ones = sum(k * _mass(noise, k) for k in range(n + 1))
    for rounded in itertools.product(*chances):
        weight = Fraction(1)
        for _, chance in rounded:
            weight *= chance
        mean += weight * sum(x for x, _ in rounded)
    believed = p * (n if trials is None else trials)
    return (mean + ones - believed) / sheet.scale - subtracted


def _mass(distribution: Binomial, k: int) -> Fraction:
    n, p = distribution.trials, distribution.p
    choose = Fraction(1)
    for j in range(k):
        choose = choose * (n - j) / (j + 1)
    return choose * p**k * (1 - p) ** (n - k)


VALUES = over(x="-1 -1/3 0 3/10 1", y="1/7 -4/5")


def _error(x: Fraction, y: Fraction, *, subtracted: int, trials: Fraction | None = None) -> Fraction:
    values = (x, y, x * y)
    return expectation(values, Fraction(subtracted), trials=trials) - sum(values, Fraction(0))


@evidence(rows, "CZ22-UNB", "Theorems 3.5 and C.1", at_most=0, quantity="|bias|", over=VALUES, kind="utility")
def unbiased(run: Run, x: Fraction, y: Fraction) -> Measured:
    """The analyzer is unbiased: the mean of its output is the sum of the entries

    Sum exactly over all roundings and all numbers of ones of 3 users with entries x, y, x y, g = 4, b = 8.
    """
    bias = abs(_error(x, y, subtracted=SMALL.batch_size))
    return Measured(low=bias, high=bias)


@evidence(
    rows,
    "CZ22-DEB/control",
    "Cheu et al., Algorithm 2, as the paper quotes it",
    at_most=0,
    quantity="|bias|",
    over=VALUES,
    kind="utility",
    role="control",
    expect="refuted",
)
def biased(run: Run, x: Fraction, y: Fraction) -> Measured:
    """If Δ is subtracted instead of B Δ, the mean of the output is the sum of the entries

    It is off by B - 1 = 2 at every point.
    """
    bias = abs(_error(x, y, subtracted=1))
    return Measured(low=bias, high=bias)


@evidence(
    rows,
    "CZ22-DEB",
    "the remark after Algorithm 7",
    at_most=0,
    quantity="|bias - (B - 1)|",
    over=VALUES,
    kind="structure",
)
def offset(run: Run, x: Fraction, y: Fraction) -> Measured:
    """B Δ must be subtracted instead of Δ: with Δ the output is B - 1 too large, for all data"""
    away = abs(_error(x, y, subtracted=1) - (SMALL.batch_size - 1))
    return Measured(low=away, high=away)


@evidence(
    rows,
    "CZ22-UNB/truncated",
    "the noise of the published figures",
    at_most=0,
    quantity="|bias|",
    over=over(part="1/10 1/2 9/10"),
    kind="utility",
    role="what-if",
    expect="refuted",
)
def truncated(run: Run, part: Fraction) -> Measured:
    """If b is truncated to an integer for the draw but not for the mean that is subtracted, as in the
    authors' code, the output is unbiased

    The mean uses b = 8 + part and the draw uses 8, so the output is off by p B part/g.
    """
    bias = abs(
        _error(Fraction(0), Fraction(0), subtracted=3, trials=(SMALL.trials + part) * SMALL.batch_size)
    )
    return Measured(low=bias, high=bias)


# Communication, and why binomial noise


def _size_as_printed(B: int, epsilon: Fraction, delta: Fraction) -> arb:
    """Return sqrt(B) + log(1/δ)/ε²."""
    return ball(B).sqrt() + ln(1 / delta) / ball(epsilon) ** 2


@evidence(
    rows,
    "CZ22-S6c",
    "Section 6, communication",
    at_most=10**7,
    quantity="(g + b)/(sqrt(B) + log(1/δ)/ε²)",
    kind="utility",
    expect="inconclusive",
    over=over(d=(2, 5), B=(20, 400), epsilon="1 1/5", digits=(0, 6, 30, 300)),
)
def communication_as_printed(run: Run, d: int, B: int, epsilon: Fraction, digits: int) -> Measured:
    """A user sends O(d² (g + b)) bits, "where g + b (sign lost) sqrt(B) + log(1/δ)/ε²"

    Compute g and b as printed in Theorem C.1, and their sum over the printed size. C = 10⁷ is ours. δ =
    10^(-digits)/2, and 0.49 if digits is 0.

    Note: b is 96·10⁴ log²(4(d²+1)/δ)/ε², with the square of the logarithm. So the C that is needed grows
    like log(1/δ): at d = 5, B = 400 and ε = 1 it is 1.3e6 at δ = 0.49, 1.0e7 at 5e-7 and 6.5e8 at 5e-301.
    With a plain O(.) the statement is false, with a soft O it is true. Our copy has lost the sign, so the
    row stays open

    Note: CZ22-S6c/repaired has the square
    """
    delta = Fraction(1, 2 * 10**digits) if digits else Fraction(49, 100)
    sheet = printed_sheet(dim=d, batch_size=B, epsilon=epsilon, delta=delta)
    ratio = sheet.bits / _size_as_printed(B, epsilon, delta)
    return Measured(high=upper(ratio), covers=False, method="g and b as printed, in balls")


@step("precision", over=over(B=(4, 20, 400, full(10**5))), prove=on(B=integers(4, None)))
def _precision(B: int) -> Sides:
    """2 sqrt(B) + 1 <= (5/2) sqrt(B)"""
    return 2 * ball(B).sqrt() + 1, 5 * ball(B).sqrt() / 2


@step(
    "bits",
    over=over(B=(4, 20, 400, full(10**5)), square="0 1 100000"),
    prove=on(B=integers(4, None), square=reals(0, None)),
)
def _bits(B: int, square: Fraction) -> Sides:
    """2 ((5/2) sqrt(B) + 24·10⁴ (5/2)² Y + 1) <= 10⁷ (sqrt(B) + Y)"""
    root, trials = ball(B).sqrt(), CONSTANT * 25 * ball(square) / 4
    return 2 * (5 * root / 2 + trials + 1), 10**7 * (root + ball(square))


@steps(
    rows,
    "CZ22-S6c/repaired",
    "Section 6, communication, with log²",
    role="repaired",
    repairs="CZ22-S6c",
    kind="utility",
)
def communication() -> list[Step]:
    """A user sends at most C d² (sqrt(B) + Y) bits with one C = 10⁷, Y = log(4(d²+1)/δ)²/ε², where 2 sqrt(B)
    >= max(d, 4)

    The count uses the printed g and b over d + d² <= 2d² labels. There g is below 2 sqrt(B) + 1, and b below
    24·10⁴ (g²/B) Y + 1: it does not grow with B. square is Y.

    Note: at d = 5, B = 20, ε = 1 and δ = 1e-6 this is 9.9·10⁹ bits per user and round
    """
    return [_precision, _bits]


# The printed range of the encoder


@inequality(
    rows,
    "CZ22-R_Vec/range",
    "Algorithm 5: R_Δ for a scalar within [0, Δ], and its use on shifted data",
    kind="structure",
    role="step",
    expect="refuted",
    over=over(d=(2, 5), B=20, epsilon="1", delta="1/10", entry="-1 0 1/2 1"),
)
def encoder_range(d: int, B: int, epsilon: Fraction, delta: Fraction, entry: Fraction) -> Sides:
    """The scalar randomiser is used within its range [0, Δ]: x g/Δ is at most g, so that x̂ + γ₂ of the g + b
    bits are 1

    R₁ and R₂ run it with Δ = 1 on entry + 1. The entries of φy and φφᵀ are in [-1, 1], so the shifted data
    are in [0, 2]. g is that of Theorem C.1.

    Note: at entries above 0 the encoding is up to 2g, and the number of zeros, g + b minus the ones, can be
    negative. With the printed constants this has a tiny probability, since it needs nearly all of b
    fair draws. Read Δ = 2 instead, and the range holds. Our implementation has both readings (``ranges``),
    and the rows on privacy use the encoding in 0, ..., 2g
    """
    sheet = printed_sheet(dim=d, batch_size=B, epsilon=epsilon, delta=delta)
    return (entry + 1) * sheet.precision, Fraction(sheet.precision)


LAPLACE = noise_sum([(DiscreteLaplace(scale=1), 1)])


@evidence(
    rows,
    "CZ22-S6tail/laplace",
    "Section 6, on discrete Laplace noise",
    claim=SubGaussian(variance_proxy=10**6, of=LAPLACE.name),
    kind="tail",
    role="control",
    expect="refuted",
)
def laplace(run: Run) -> list[Evidence]:
    """Discrete Laplace noise of scale 1 is sub-Gaussian with variance 10⁶

    Its moment generating function is infinite from 1 on, so it is not sub-Gaussian with any variance.
    """
    return [decide_proxy(SubGaussian(variance_proxy=10**6, of=LAPLACE.name), LAPLACE)]


@evidence(
    rows,
    "CZ22-S6tail",
    "Section 6, on discrete Laplace noise",
    claim=SubExponential(variance_proxy=8, scale=2, of=LAPLACE.name),
    kind="tail",
)
def tails(run: Run) -> list[Evidence]:
    """Binomial noise is sub-Gaussian, discrete Laplace noise at best sub-exponential: for scale 1, (8, 2)

    Binomial: CZ22-C.3s2. Discrete Laplace: sub-exponential here, and not sub-Gaussian
    (CZ22-S6tail/laplace).

    Note: the remark "not aware of" bounds on the norm of sub-exponential matrices is not a claim
    """
    return [decide_proxy(SubExponential(variance_proxy=8, scale=2, of=LAPLACE.name), LAPLACE)]
