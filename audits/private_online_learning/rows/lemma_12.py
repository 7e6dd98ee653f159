"""Lemma 12, step by step (appendix E.3): the basis of Hybrid-UCB's regret bound.

``log`` is to base 2, as in the paper, and ``ln`` is natural. Level s comes after ω(s) = 2^(s+1) - 1 pulls. In
units of 2/ε, a full array has one Laplace draw of scale 1, and a node of the tree on 2^r leaves has one draw
of scale r.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

from audits.private_online_learning.rows.lemma_11 import INSTANCES, LEVELS
from dpaudit.core.exact_functions import ceil_log2, larger, ln, log2
from dpaudit.core.suite import Group, Run
from dpaudit.distributions.summed import laplace_sum_tail
from dpaudit.kernel.ball import arb, ball
from dpaudit.suite import (
    Chain,
    Constant,
    Sides,
    Step,
    choices,
    inequality,
    integers,
    listed,
    on,
    over,
    reals,
    step,
    steps,
)

__all__ = ["critical_level", "rows", "split_sides"]

rows = Group("Lemma 12: the trees of Hybrid-UCB")

#: Chernoff's exponent for sums of Laplace draws of scale 1. Any number in (0, 1) is valid.
TILT = Fraction(4, 5)


def _a(T: int, gap: Fraction, epsilon: Fraction) -> Any:
    return 256 * log2(T) / ball(gap * epsilon)


def _a_log_a(T: int, gap: Fraction, epsilon: Fraction) -> Any:
    a = _a(T, gap, epsilon)
    return a * log2(a)


def _largest(T: int, gap: Fraction, epsilon: Fraction) -> Any:
    return larger(256 * log2(T) / ball(gap * gap), _a_log_a(T, gap, epsilon))


@cache
def critical_level(T: int, gap: Fraction, epsilon: Fraction) -> int:
    """Return d_j, the ceiling of log max{256 log T/Δ², A log A} with A = 256 log T/(εΔ).

    If A < 1, log A is negative and the other term of the maximum applies.
    """
    return ceil_log2(_largest(T, gap, epsilon))


# Fact 2


@inequality(
    rows,
    "HHM-L12/fact-2",
    "Fact 2, eq. (7) (Chan, Shi and Song 2011, Corollary 2.9)",
    kind="tail",
    role="step",
    over=over(n=(1, 2, 3, 4, 8, 16, 22, 64), delta="999/1000 1/2 1/10 1/1000 1e-10 1e-24"),
)
def fact_2(n: int, delta: Fraction) -> Sides:
    """P(|Z_1 + … + Z_n| > χ√(8 ln(2/δ))) ≤ δ for χ > b max{√n, √ln(2/δ)}, Z_i Laplace(b)

    Compute the exact two-sided tail of a sum of n Laplace draws (a mixture of Gamma tails) at the smallest
    admitted χ. The tail falls in χ, so the smallest χ is the worst case. The scale b cancels.
    """
    half = ln(2 / delta)
    chi = larger(ball(n).sqrt(), half.sqrt())
    return 2 * laplace_sum_tail(n, chi * (8 * half).sqrt()), delta


# Eqs. (43) and (44)


def split_sides(s: int, t: int, share: Fraction) -> Sides:
    """Return enclosures of P(F + B >= X) and P(F >= share X) + P(B >= share X), both times 2 exp(X/b).

    In units of 2/epsilon: F is the sum of n = s - 1 Laplace draws of scale 1, B one draw of scale b = s - 1
    (the root of the full tree), X = 3√8 log t s, half of the allowance 6√8 log t s/epsilon times epsilon.
    B's tail at y is at most exp(-y/b)/2, with equality for y >= 0. Hence P(F + B >= X) is exp(-X/b)/2 times
    E exp(F/b), less at most E[exp(F/b); F > X], and Chernoff's bound with exponent ``TILT`` covers that
    part and the tail of F.
    """
    n = b = s - 1
    x = 3 * ball(8).sqrt() * log2(t) * s
    whole = (1 - ball(Fraction(1, b * b))) ** (-n)
    cost = (1 - ball(TILT * TILT)) ** (-n)
    beyond = cost * (-(ball(TILT) - ball(Fraction(1, b))) * x).exp()
    far = 2 * cost * ((ball(Fraction(1, b)) - ball(share * TILT)) * x).exp()
    near = (ball(Fraction(1, b)) * x * ball(1 - share)).exp()
    return whole - beyond * ball(0).union(arb(1)), near + far * ball(0).union(arb(1))


EXPERIMENTS = over(gap="1/20 1/8 1/4 3/8 1/2 3/5", epsilon="1/10 1/4 1/2 1 8 64 128")


@cache
def _reached(s: int) -> bool:
    """Return whether s > d_j in some setting of the paper's own experiments, T = 2^22."""
    run = Run(profile="full", alpha=0.05, seed=0, row_id="")
    return any(s > critical_level(2**22, **point) for point in EXPERIMENTS.at(run))


SPLIT = over(s=range(1, 23)).where(
    _reached, f"levels s > d_j that the experiments reach, T = 2^22, {EXPERIMENTS.scope}; t = 2^s + 4"
)


@inequality(
    rows, "HHM-L12/43/repaired", "App. E, (43)", kind="tail", role="repaired", over=SPLIT, level="(s − 1)"
)
@inequality(
    rows, "HHM-L12/43", "App. E, (43)", kind="tail", role="step", expect="refuted", over=SPLIT, level="s"
)
def split(s: int, level: str) -> Sides:
    """P(F + B ≥ 6√8 log t·s/ε) ≤ P(F ≥ a) + P(B ≥ a) with a = 3√8 log t·{level}/(0.5ε)

    The levels are those that the paper's own experiments reach. F is the arrays' noise and B the noise of the
    full tree's root. The left side has the whole allowance of (40). A union bound would give half of it to
    each noise, but (43) prints 3√8 log t s/(0.5 ε), which is the whole allowance again. Both sides are
    enclosed: the left by the moment generating function of F, the tail of F by Chernoff's bound.

    Note: with s, the line is refuted. The next line of (43), with s - 1 in place of s, is large enough for
    the sum of both noises

    Note: with half the allowance for each noise, Fact 2 gives no 1/t⁴ for the tree: δ = 2/t^a needs a <
    (1.5/ln 2) s/(s−1), about 2.2, and the double sum of (48) needs more than 3. HHM-L12/44 bounds the sum of
    both noises instead
    """
    return split_sides(s, 2**s + 4, Fraction(s - (level != "s"), s))


ROUNDS = ("2^s", "2^s + 4", "4^s")
POWERS = tuple(2**s for s in (9, 10, 14, 22, 40, 64))


@inequality(
    rows,
    "HHM-L12/43-conditions",
    "App. E, text below (43)",
    role="step",
    over=over(power=POWERS, t=ROUNDS),
    prove=on(power=integers(2**9, None), t=choices(*ROUNDS)),
)
def conditions(power: int, t: str) -> Chain:
    """The conditions under which (43) applies Fact 2, and its total

    Compute each condition that the text below (43) states, at levels s from 9 (the smallest d_j + 1) on and
    rounds from 2^s on, power = 2^s. (39) also sums over t = ω(s-1), at which log(2^s - 1) < log t is an
    equality. Arm j can be pulled at this level only K rounds later. The two lines that compare only
    logarithms are times ln 2.
    """
    n, s = {"2^s": power, "2^s + 4": power + 4, "4^s": power**2}[t], log2(power)
    root = (4 * ln(n)).sqrt()
    least, chi = larger((s - 1).sqrt(), root), 3 * log2(n) / root
    return {
        "arrays: max{√(s−1), √ln t⁴} < √8 log(t³)(s−1)/√(8 ln t⁴)": (least, (s - 1) * chi),
        "tree: max{√(s−1), √ln t⁴} < √8 log(t³)/√(8 ln t⁴)": (least, chi),
        "s − 1 < log(2^s − 1)": (ln(power) - ln(2), ln(power - 1)),
        "log(2^s − 1) < log t for t ≥ ω(s−1) + 1": (ln(power - 1), ln(n)),
        "4 ln t < 3 log t": (4 * ln(n), 3 * log2(n)),
        "(43), line 4: 1/t⁸ + 2/t⁴ + 2/t⁴ ≤ 5/t⁴": (1 / ball(n) ** 8 + 4 / ball(n) ** 4, 5 / ball(n) ** 4),
    }


FIRST_ROUNDS = ("first", "2 first", "first³")


@inequality(
    rows,
    "HHM-L12/44",
    "App. E, (43), (44): O(1/t⁴), here with constant 1",
    kind="tail",
    role="step",
    over=over(r=range(65), t=FIRST_ROUNDS),
    prove=on(r=integers(0, None, each=0), t=choices(*FIRST_ROUNDS)),
)
def private_mean(r: int, t: str) -> Chain:
    """P(μ̃_h off by √(3 log t/h) + 6√8 log t ⌊log(h+1)⌋/(εh), upwards or downwards) ≤ 1/t⁴ for every h < t

    Bound the sum of both noises of a private mean of Hybrid-UCB, for every number h of observations in [2^r,
    2^(r+1)), without a union bound between them. Such a mean holds r arrays (scale 2/ε) and at most r nodes
    of the tree on 2^r leaves (scale 2r/ε), and its allowance is at least 6√8 log t r/ε. The bound is
    Chernoff's with exponent 4/5 in units of the nodes' scale, plus Hoeffding's exp(-6 log t) for the mean. It
    grows with the number of nodes and falls in t > h, so r nodes and the first t, 2^r + 1 (at least 3), are
    the worst case. Each of the two summands is at most 1/(2t⁴). Both sides are times t⁴.

    Note: (43) and (44) need this bound, with or without the union bound (HHM-L12/43)
    """
    two = ln(2)
    # ln(2^r + 1), or ln 3
    first = ln(3) if r < 1 else r * two + (1 + (-(r * two)).exp()).log()
    level = {"first": first, "2 first": two + first, "first³": 3 * first}[t]
    allowance = 3 * ball(8).sqrt() / two * level
    if r < 1:  # one observation: one draw of scale 2/epsilon against 6√8 log t/epsilon
        noise = (4 * level - allowance).exp() / 2
    else:
        tree = -(1 - ball(TILT**2)).log() * r
        arrays = -(1 - ball(TILT**2) / ball(r) ** 2).log() * r
        noise = (4 * level + tree + arrays - ball(TILT) * allowance).exp()
    return {
        "the mean: t⁴ e^(−6 log t) ≤ 1/2": (((4 - 6 / two) * level).exp(), Fraction(1, 2)),
        "the noise: t⁴ P(noise beyond its allowance) ≤ 1/2": (noise, Fraction(1, 2)),
    }


# Eqs. (45) to (48)

FROM_1, FROM_2, FROM_256 = reals(1, None), reals(2, None), reals(256, None)


#: 6√8/256: the factor of s log T/(ε 2^s) in (47) over Δ, for A = 256 log T/(εΔ).
TREE = 6 * Fraction(1, 256)


@step("(45)", over=over(y="256 300 10000 1000000000", times="1 2 512"), prove=on(y=FROM_256, times=FROM_1))
def _of_mean(y: Fraction, times: Fraction) -> Chain:
    """√(3 log T/ω(s−1)) < √3Δ/16, over Δ, y = 256 log T/Δ², 2^(s−1) = times · y"""
    short = ball(y) * ball(times)
    at_whole = (3 * ball(y) / (256 * (2 * short - 1))).sqrt()
    return {
        "(45): √(3 log T/ω(s−1)) < √(3 log T/2^(s−1))": (at_whole, (3 * ball(y) / (256 * short)).sqrt()),
        "(45): √(3 log T/ω(s−1)) < √3Δ/16": (at_whole, ball(3).sqrt() / 16),
    }


def _of_noise(s: Any, whole: Any, short: Any) -> Chain:
    """Return (47) over Δ from s, ω(s−1)/A and 2^(s−1)/A."""
    term = ball(TREE) * ball(8).sqrt() * s / whole
    return {
        "(47): 6√8 log T·s/(ε ω(s−1)) < 6√8 log T·s/(ε 2^(s−1)), since 2^(s−1) < ω(s−1)": (short, whole),
        "(47): 6√8 log T·s/(ε ω(s−1)) < 3√2Δ/16": (term, 3 * ball(2).sqrt() / 16),
    }


@step("(47), A ≥ 2", over=over(log_A="1 3/2 2 10 100", times="1 2 512"), prove=on(log_A=FROM_1, times=FROM_1))
def _large_noise(log_A: Fraction, times: Fraction) -> Chain:
    """6√8 log T·s/(ε ω(s−1)) < 3√2Δ/16, over Δ, 2^(s−1) = times · A log A"""
    level, share = ball(log_A), ball(log_A) * ball(times)
    s = 1 + level + (level.log() + ball(times).log()) / ln(2)
    return _of_noise(s, 2 * share - (-(level * ln(2))).exp(), share)


@step(
    "(47), A ≤ 2",
    over=over(power=POWERS, A="1/100000 1 3/2 2"),
    prove=on(power=integers(2**9, None), A=reals(0, 2, "(]")),
)
def _small_noise(power: int, A: Fraction) -> Chain:
    """6√8 log T·s/(ε ω(s−1)) < 3√2Δ/16, over Δ, for s ≥ 9 and power = 2^s"""
    return _of_noise(log2(power), ball(power - 1) / ball(A), ball(power) / (2 * ball(A)))


@step("sum", prove=on())
def _sum() -> Sides:
    """√3Δ/16 + 3√2Δ/16 < Δ/2"""
    return (ball(3).sqrt() + 3 * ball(2).sqrt()) / 16, Fraction(1, 2)


@steps(rows, "HHM-L12/45-47", "App. E, (42), (45), (47)", role="step")
def radius() -> list[Step]:
    """From the critical level on, the whole radius is below half the gap, for every ε

    Compute both sides of (45) and (47) at levels s ≥ d_j + 1, with t = T, at which the left sides are
    largest. There 2^(s−1) is at least 256 log T/Δ², which is 256 or more, and at least A log A. T, Δ and ε
    occur only in these two numbers. Include points at which (46) fails or is undefined: A ≤ 2.
    """
    return [_of_mean, _large_noise, _small_noise, _sum]


def _defined(T: int, gap: Fraction, epsilon: Fraction, levels_above: int) -> bool:
    return bool(_a(T, gap, epsilon) > 1)


@inequality(
    rows,
    "HHM-L12/46",
    "App. E, (46)",
    role="step",
    expect="refuted",
    measure="left - right",
    # The last point has an ε larger than in the experiments, with A = 5/4.
    over=LEVELS.where(_defined, "A > 1") + listed("T gap epsilon levels_above", (2**10, 1, 2048, 1)),
)
def decreasing(T: int, gap: Fraction, epsilon: Fraction, levels_above: int) -> Chain:
    """s/2^s is below z_j/2^z_j, z_j = log(A log A), where A > 1, that is, whenever z_j is defined

    Compute both inequalities of (46), A = 256 log T/(εΔ), at levels s = d_j + 1, d_j + 2, d_j + 9. x/2^x
    falls only from x = 1/ln 2 on (the paper takes x >= 2), and nothing in the proof makes z_j that large. For
    εΔ near 256 log T, A is near 1 and z_j = log(A log A) is negative. For A <= 1, z_j is undefined.

    Note: for A ≤ 1, that is ε ≥ 256 log T/Δ, z_j is undefined. (47), which is derived from (46), still holds
    (HHM-L12/45-47)

    Note: at the experiments' parameters A is at least 73, and (46) holds
    """
    s, product = critical_level(T, gap, epsilon) + levels_above, _a_log_a(T, gap, epsilon)
    falling = log2(product) / product
    return {
        "s/2^s < z_j/2^z_j": (Fraction(s, 2**s), falling),
        "z_j/2^z_j ≤ εΔ/(128 log T)": (falling, ball(epsilon * gap) / (128 * log2(T))),
    }


@step("falling", over=over(z="2 5/2 4 10 64", times="2 3 4 1000"), prove=on(z=FROM_2, times=FROM_2))
def _falling(z: Fraction, times: Fraction) -> Sides:
    """s/2^s < z_j/2^z_j for every s ≥ z_j + 1 and z_j ≥ 2, both sides times 2^z_j, times = 2^(s − z_j)"""
    return (ball(z) + ball(times).log() / ln(2)) / ball(times), z


@step("level", over=over(log_A="1 7/5 2 10 1000"), prove=on(log_A=reals(1, None)))
def _level(log_A: Fraction) -> Sides:
    """z_j/2^z_j ≤ 2/A = εΔ/(128 log T) for log A ≥ 1, both sides times A log A = 2^z_j"""
    return ball(log_A) + ball(log_A).log() / ln(2), 2 * log_A


@steps(rows, "HHM-L12/46/repaired", "App. E, (46)", role="repaired")
def decreasing_repaired() -> list[Step]:
    """s/2^s is below z_j/2^z_j, z_j = log(A log A), where A log A ≥ 4

    The critical level d_j is at least z_j, so s ≥ d_j + 1 is z_j + 1 or more. A log A ≥ 4 is z_j ≥ 2, and
    gives log A ≥ 1. T, Δ and ε occur only in A.
    """
    return [_falling, _level]


@step(
    "ω(s)/ω(s−1)", over=over(before=tuple(2**s - 1 for s in range(1, 65))), prove=on(before=integers(1, None))
)
def _lengths(before: int) -> Sides:
    """ω(s)/ω(s−1) ≤ 4, before = ω(s−1)"""
    return ball(2 * before + 1) / before, 4


@step(
    "(48)", over=over(before=tuple(2**s - 1 for s in range(9, 65))), prove=on(before=integers(2**9 - 1, None))
)
def _failures(before: int) -> Sides:
    """ω(s) Σ_{t≥ω(s−1)} Σ_{h<t} 6/t⁴ ≤ 1 for s ≥ 9, before = ω(s−1)"""
    # t - 1 choices of h, 5/t⁴ + 1/t⁴ each; the sum of 1/t³ from ω on is at most 1/ω³ + 1/(2ω²).
    return (2 * before + 1) * 6 * (1 / ball(before) ** 3 + 1 / (2 * ball(before) ** 2)), 1


@steps(rows, "HHM-L12", "Lemma 12; App. E, (48), O(1) with constant 1")
def lemma() -> list[Step]:
    """P{θ_j = s} ω_j(s) ≤ 1 for every s ≥ d_j + 1, by the proof's own sum

    Add up the failure probabilities, 5/t⁴ for arm j and 1/t⁴ for the best arm, over all t >= ω(s-1) and h <
    t. d_j is at least 8 for every T >= 2, since 256 log T/Δ² >= 256: levels start at s =
    9. The sum falls in s.
    """
    return [_lengths, _failures]


#: At x log x = 1 = log T/Δ², x = log T/(εΔ), the factor 256 inside the logarithm has the largest effect: x
#: near 1.56.
LENGTHS = INSTANCES + listed("T gap epsilon", (2, 1, "641/1000"))


@inequality(rows, "HHM-L12/length", "App. E, below the definition of d_j; (38)", role="step", over=LENGTHS)
def length_of_levels(T: int, gap: Fraction, epsilon: Fraction) -> Chain:
    """The levels up to d_j hold at most 4 max{256 log T/Δ², A log A} pulls, A = 256 log T/(εΔ)

    Compare the bound with the rate of Theorem 5, without the factor 256 that its O(.) hides. The factor also
    occurs inside a logarithm. Its effect is largest if log T/(εΔ) is 1.56 and T = 2.
    """
    bound, x = 4 * _largest(T, gap, epsilon), log2(T) / ball(epsilon * gap)
    return {
        "ω_j(d_j) ≤ 4 max{256 log T/Δ², A log A}": (2 ** (critical_level(T, gap, epsilon) + 1) - 1, bound),
        "4 max{256 log T/Δ², A log A} over the rate max{log T/Δ², (log T/(εΔ)) log(log T/(εΔ))}": Constant(
            bound, larger(log2(T) / ball(gap * gap), x * log2(x))
        ),
    }
