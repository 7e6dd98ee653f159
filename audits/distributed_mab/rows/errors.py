"""Errors of one protocol run: rounding (eq. 5), noise and underflow (eqs. 6, 7), Theorem 6's margin, and
Assumption 1 on the sum of all three."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

from audits.distributed_mab.rows.tails import LEVELS
from dpaudit.core.claims import ErrorRate
from dpaudit.core.errors import UndecidedError
from dpaudit.core.exact_functions import log_of_two_over
from dpaudit.core.suite import Group, Run
from dpaudit.distributions import Binomial, PolyaDifference, WrappedMod
from dpaudit.distributions.exact_tails import above, beyond
from dpaudit.kernel.ball import arb, ball
from dpaudit.reference.algorithms.mab.distributed_elimination import Variant, variant
from dpaudit.reference.mechanisms.decoding_error import Rewards, error_interval
from dpaudit.reference.mechanisms.parameter_sheet import local_laplace_sheet, polya_sheet, rounded_up_root
from dpaudit.suite import (
    Grid,
    Measured,
    Sides,
    Step,
    evidence,
    full,
    in_words,
    inequality,
    on,
    over,
    reals,
    step,
    steps,
)

__all__ = ["rows"]

rows = Group("Errors of one run: eqs. 5 to 7, Theorem 6's margin, Assumption 1", kind="tail")


# Equation (5): rounding

ROUNDED = over(n=(1, 2, 7, 64, full(1024)), part="1/100 1/10 1/2 9/10", p=LEVELS)


@inequality(
    rows, "CZ23-TII/sharper", "eq. (5), sharpened", role="sharper", over=ROUNDED, factor=Fraction(1, 2)
)
@inequality(rows, "CZ23-TII", "eq. (5)", role="step", over=ROUNDED, factor=Fraction(2))
def rounding(n: int, part: Fraction, p: Fraction, factor: Fraction) -> Sides:
    """Rounding: P(|(1/g) Σ x̂_i - Σ x_i| > sqrt({factor} (n/g²) log(2/p))) <= p

    Compute an exact tail beyond the radius. The rounding error of n equal rewards, if x_i g has the
    fractional part ``part``, is a centred binomial variable for every g.

    Note: g cancels: the event depends only on Σ x̂_i - g Σ x_i. One rounding error has a range of length 1,
    hence 1/2
    """
    radius = (ball(factor * n) * log_of_two_over(p)).sqrt()
    tails = (above(Binomial(trials=n, p=q), ball(n * q) + radius) for q in (part, 1 - part))
    return sum(tails, arb(0)), p


TERM_II = "Term (ii) in the proofs of Theorems 1, 2 and 4"


@inequality(
    rows,
    "CZ23-TII/rate",
    TERM_II,
    role="step",
    over=over(level="1 33/10 20 1000", excess="1 11/10 2 100"),
    prove=on(level=reals(1, None), excess=reals(1, None)),
)
def rounding_rate(level: Fraction, excess: Fraction) -> Sides:
    """The rounding error's rate: sqrt(2 (n/g²) log(2/p)) <= (2/ε) sqrt(log(1/p)) for p <= 1/2, as p = 1/T

    Compare the radius of eq. (5) with the rate O((1/ε) sqrt(log(1/p))) that the paper derives from it. Both
    sides are squared and times ε²/log 2, with p = 2^-level and g = excess · ε sqrt n, which is ε sqrt n or
    more (also for sε). The two are equal at p = 1/2 if ε sqrt n is an integer, so 2 is the smallest constant.
    """
    return ball(2 * (1 + level)) / ball(excess**2), 4 * level


@inequality(
    rows,
    "CZ23-TII/rate/near-one",
    TERM_II,
    role="what-if",
    expect="refuted",
    over=over(n=(1, 2, 16, 1000), budget="1/100 1/2 1 40", p="999999/1000000"),
)
def rounding_rate_near_one(n: int, budget: Fraction, p: Fraction) -> Sides:
    """The rounding error's rate: sqrt(2 (n/g²) log(2/p)) <= (2/ε) sqrt(log(1/p)) for p near 1

    Compare the radius of eq. (5), g = ⌈ε sqrt n⌉, with the rate of CZ23-TII/rate, ε = budget (also for sε).

    Note: log(2/p)/log(1/p) is unbounded as p tends to 1, a range that no theorem uses. In this range the rate
    needs log(2/p)
    """
    radius = (2 * n * log_of_two_over(p)).sqrt() / rounded_up_root(budget, n)
    return radius, ball(2 / budget) * (1 / ball(p)).log().sqrt()


# Equations (6), (7): noise and underflow

MARGINS = {"n": (1, 2, 4, full(16, 64)), "epsilon": "1/10 1 5", "p": "1 1/2 1/10 1/1000 1/1000000000"}


@step("margin", over=over(**MARGINS, part="0 1/2 1"))
def _margin(n: int, epsilon: Fraction, p: Fraction, part: Fraction) -> Sides:
    """P(|A(ŷ) - (1/g) Σ x̂_i| > τ/g) <= p, τ = ⌈(g/ε) log(2/p)⌉, wraps included; Σ x̂_i = part n g"""
    sheet = polya_sheet(users=n, epsilon=epsilon, tail_prob=p)
    most, tau = n * sheet.precision, sheet.noise_margin
    total = int(part * most)
    distribution = WrappedMod(sheet.total_noise(), modulus=sheet.modulus)
    errors = range(-tau - total, most + tau - total + 1)
    return sum((distribution.residue_ball(e % sheet.modulus) for e in errors if abs(e) > tau), arb(0)), p


@step("rate", over=over(**MARGINS))
def _margin_rate(n: int, epsilon: Fraction, p: Fraction) -> Sides:
    """τ/g <= (1 + 1/log 2) (1/ε) log(2/p)"""
    tau = polya_sheet(users=n, epsilon=epsilon, tail_prob=p).noise_margin
    constant = 1 + 1 / arb.const_log2()
    return Fraction(tau, rounded_up_root(epsilon, n)), constant / ball(epsilon) * log_of_two_over(p)


@steps(rows, "CZ23-TI", "eqs. (6), (7)", role="step")
def analyzer() -> list[Step]:
    """Theorem 1's analyzer is within τ/g of the encoded sum with probability 1 - p or more

    For an encoded sum at the ends and in the middle of its range, add up the exact probabilities of all
    residues that the analyzer decodes with an error above τ/g.

    Proof: for the rate, the ceiling costs 1/g <= 1/(ε sqrt n) <= (1/(ε log 2)) log(2/p)
    """
    return [_margin, _margin_rate]


# Theorem 6


def _large(n: int, p: Fraction, **_: Any) -> bool:
    return n >= 2 * math.log(2 / p)


def _small(n: int, p: Fraction, **_: Any) -> bool:
    return n < 2 * math.log(2 / p)


def _batches(c: str) -> Grid:
    levels = [Fraction(2, 2**j) for j in (1, 3, 10, 20, 40)]
    return over(n=(2, 8, 16, 32, 56, 64, full(256)), p=levels, epsilon="1/10 1/2 99/100", c=c)


@inequality(
    rows,
    "CZ23-T6C/below",
    "Theorem 6, below its condition",
    role="what-if",
    expect="refuted",
    over=_batches("8/5").where(_small, "n < 2 log(2/p)"),
    case="c = 8/5 in batches with n < 2 log(2/p)",
)
@inequality(
    rows,
    "CZ23-T6C/1",
    "Theorem 6, with a smaller constant",
    role="sharper",
    expect="refuted",
    over=_batches("1").where(_large, "n >= 2 log(2/p)"),
    case="c = 1, n >= 2 log(2/p)",
)
@inequality(
    rows,
    "CZ23-T6C",
    "Theorem 6, Lemma 5",
    role="step",
    over=_batches("8/5 2").where(_large, "n >= 2 log(2/p)"),
    case="Lemma 5's c = 8/5 or with 2, n >= 2 log(2/p)",
)
def local_margin(n: int, p: Fraction, epsilon: Fraction, c: Fraction) -> Sides:
    """Theorem 6's margin τ = ⌈(c g/ε) sqrt(2n log(2/p))⌉ covers n Lap_Z(g/ε) with {case}

    Compute exact tails of the sum of n users' discrete Laplace noise beyond the sheet's own τ.

    Note: Lemma 5 holds for any c from 1.5941 on. c = 1 is too small, because the variance alone requires
    sqrt(2)

    Note: below n = 2 log(2/p) the linear term 2c log(2/p) is the larger term, but τ has only the square root.
    The sheet uses this τ in every batch, including the first batches
    """
    sheet = local_laplace_sheet(users=n, epsilon=epsilon, tail_prob=p, laplace_sum_constant=c)
    distribution = PolyaDifference(shape=n, log_ratio=epsilon / sheet.precision)
    return beyond(distribution, ball(sheet.noise_margin)), p


# Assumption 1

#: Names and scaling factors. ``level`` is the p for which τ was built.
VARIANTS = {
    "Dist-DP-SE": ("dist_dp_se", 1),
    "Dist-RDP-SE, s = 1": ("dist_rdp_se", 1),
    "Dist-RDP-SE, s = 10": ("dist_rdp_se", 10),
    "Dist-CDP-SE, s = 1": ("dist_cdp_se", 1),
    "LDP-SE": ("ldp_se", 1),
}
BELOW_ONE = ("dist_cdp_se", "ldp_se")
BATCHES = over(
    epsilon="1/10 1/2 99/100 5",
    level="1/2 1/10 1/1000",
    mean="0 1/100 1/2 99/100 1",
    rewards=("constant", "coins"),
)
CONDITIONS = "Theorems 4 and 6 only at ε < 1, Theorem 6 if n >= 2 log(2/level)"


def _claim(words: str, variant: str = "Dist-DP-SE", *, n: int) -> ErrorRate:
    return ErrorRate(
        text=f"{variant}, n = {n}: P(|n_a(b)| > σ sqrt(log(2/p)) + h log(2/p)) <= 2p for {words}",
        quantity_name="P(|n_a| > radius) / 2p",
        claimed=1,
    )


def _ratio(chosen: Variant, n: int, p: Fraction, mean: Fraction, rewards: Rewards) -> tuple[float, float]:
    """Return lower and upper bounds on P(|n_a| > radius at p)/(2p) in a batch of ``n`` users."""
    tail, spread = chosen.tail(n), math.log(2 / p)
    radius = tail.sigma * math.sqrt(spread) + tail.h * spread
    return error_interval(chosen.sheet(n), radius, mean=mean, rewards=rewards, per=float(2 * p))


def _worst(run: Run, called: str, n: int, parts: list[Fraction]) -> Measured:
    """Return the largest ratio over the batches of ``n`` users, at p = the level of τ times each of
    ``parts``."""
    (name, s), low, high, count, where = VARIANTS[called], 0.0, 0.0, 0, ""
    for point in BATCHES.at(run):
        epsilon, level = point["epsilon"], point["level"]
        if (name in BELOW_ONE and epsilon >= 1) or (name == "ldp_se" and n < 2 * math.log(2 / level)):
            continue
        chosen = variant(name, epsilon=epsilon, failure_prob=level, scale_factor=s)
        for p in (level * part for part in parts if level * part <= 1):
            least, most = _ratio(chosen, n, p, point["mean"], point["rewards"])
            count, high = count + 1, max(high, most)
            if least > low:
                low, where = least, f"{in_words(point)}, p = {float(p):.3g}"
    if not count:
        raise UndecidedError(f"{called}: a batch must meet the theorem's conditions, got none of {n} users.")
    return Measured(
        low=low,
        high=high,
        samples=count,
        method="exact distribution of the decoded sum (convolution in floats, wraps included)",
        scope=f"{BATCHES.scope}; {CONDITIONS}",
        notes=[f"largest ratio {low:.4g} at {where}"],
    )


USERS = (2, 4, 16, full(64))


@evidence(
    rows,
    "CZ23-A1",
    "Assumption 1, as printed",
    over=over(n=USERS),
    kind="tail",
    expect="refuted",
    claim=partial(_claim, "p = 1, 1/10, ..., 1/10000 times the p of τ"),
)
def any_level(run: Run, n: int) -> Measured:
    """Dist-DP-SE: Assumption 1 for any p, with Theorem 1's own σ = sqrt(2)/ε and h = 1/ε

    Compare the exact distribution of a batch's total noise n_a(b), with rounding, noise and undetected wraps,
    with the two-term radius.

    Refuted: below the p for which τ was built, a wrap (an error of about n + 2τ/g) has a probability above
    2p. Letting τ depend on p repairs this
    """
    return _worst(run, "Dist-DP-SE", n, [Fraction(1, 10**j) for j in range(5)])


def _from_four(n: int) -> str:
    return "refuted" if n >= 4 else "verified"


@evidence(
    rows,
    "CZ23-A1/union",
    "Assumption 1 in the proof of Lemma 2",
    over=over(n=USERS),
    kind="tail",
    claim=partial(_claim, "the p of τ over K b², K = 10, n = 2^b"),
    role="step",
    expect=_from_four,
)
def union_bound(run: Run, n: int) -> Measured:
    """Dist-DP-SE: Assumption 1 at p/(K b²), K = 10, n = 2^b, as Lemma 2's union bound uses it

    Compare the exact distribution of a batch's total noise with the two-term radius at the level that Lemma 2
    needs. The theorems build τ with p = 1/T, the experiments with p = 1/10.

    Refuted: building τ with p/(K b²) repairs this, at a cost of log(K b²) under the logarithm
    """
    return _worst(run, "Dist-DP-SE", n, [Fraction(1, 10 * (n.bit_length() - 1) ** 2)])


def _has_batches(variant: str, n: int) -> bool:
    return variant != "LDP-SE" or n > 2


@evidence(
    rows,
    "CZ23-A1/repaired",
    "Assumption 1 for Theorems 1 to 5 and, where n >= 2 log(2/p), 6",
    kind="tail",
    claim=partial(_claim, "p = 1, 2, 10 times the p of τ"),
    role="repaired",
    over=over(variant=tuple(VARIANTS), n=USERS).where(_has_batches, "LDP-SE from n = 4 on"),
)
def level_of_tau(run: Run, variant: str, n: int) -> Measured:
    """Every variant: Assumption 1 at the p for which τ was built, and above

    Compare the exact distribution of a batch's total noise with the two-term radius with the variant's own σ
    and h.
    """
    return _worst(run, variant, n, [Fraction(k) for k in (1, 2, 10)])
