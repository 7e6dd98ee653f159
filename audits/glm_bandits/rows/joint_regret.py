"""Check Theorem J.1 step by step, (88) to (97), and with one explicit constant.

u is R T/(d λ_min), Δ the gap of a round's arm in <., θ*>, a and b the scores of the best and of the played
arm, and x̃ = √μ'(b) x.
"""

from __future__ import annotations

from fractions import Fraction

from audits.glm_bandits.rows.regret import LINKS
from dpaudit.core.exact_functions import ln, log2
from dpaudit.core.suite import Group
from dpaudit.kernel.ball import arb, ball
from dpaudit.suite import Chain, Sides, inequality, integers, on, over, reals

__all__ = ["CONSTANT", "rows"]

rows = Group("Theorem J.1, step by step", kind="regret")

#: C of SAR-J.1/given-M.3, rounded up: 2√2 of M.3, e of L.2, e² of (94), 3/2 of (97).
CONSTANT = 86

ROUNDS = over(link=tuple(LINKS), score="-6 -2 -1/2 0 1/2 2 6", gap="1/10 1 4", part="0 1/4 1/2 1")


def _scaled_slopes(link: str, score: Fraction, gap: Fraction, part: Fraction) -> tuple[arb, ...]:
    """Return μ(a) - μ(b), Δ, μ'(z) and √(μ'(a) μ'(b)): b = score, Δ = gap/R, z = b + part Δ."""
    family = LINKS[link]
    width = gap / family.largest_reward
    best, played, between = (family.at(ball(score + share * width)) for share in (1, 0, part))
    return best.mean - played.mean, ball(width), between.slope, (best.slope * played.slope).sqrt()


@inequality(rows, "SAR-J.1/94", "(88) to (90), (92) to (94)", over=ROUNDS, role="step")
def regret_of_rounds(link: str, score: Fraction, gap: Fraction, part: Fraction) -> Chain:
    """One round, RΔ ≤ 4 as in M.2: μ(a) - μ(b) ≤ R; μ'(z) between the scores is at most √(μ'(a) μ'(b))
    e^(RΔ), and that at most e⁴ √(μ'(a) μ'(b))

    Four links, scores, gaps and places of z. The average slope, (μ(a) - μ(b))/Δ, is one of the μ'(z) of
    (90). C is free from line to line, as in "some constant C": (93) drops the 2√2 of (92), which it cannot
    do with the same C at Δ = 0.
    """
    regret, width, slope, mean = _scaled_slopes(link, score, gap, part)
    grown = mean * ball(gap).exp()
    return {
        "(89) an explored round": (regret, ball(LINKS[link].largest_reward)),
        "(90) to (93), average slope": (regret / width, grown),
        "(93), at z": (slope, grown),
        "(94), at z": (slope, mean * arb(4).exp()),
    }


@inequality(rows, "SAR-J.1/94/sharper", "(93), (94)", over=ROUNDS, role="sharper")
def half_the_exponent(link: str, score: Fraction, gap: Fraction, part: Fraction) -> Chain:
    """Half of the exponent is enough in (93) and (94): e^(RΔ/2) ≤ e² for e^(RΔ) ≤ e⁴

    G.2 gives μ'(z) ≤ e^(R|z-a|) μ'(a) and the same for b, and |z - a| + |z - b| = Δ. Take the root of the
    product.
    """
    regret, width, slope, mean = _scaled_slopes(link, score, gap, part)
    grown = mean * (ball(gap) / 2).exp()
    return {
        "average slope": (regret / width, grown),
        "at z": (slope, grown),
        "e², at z": (slope, mean * arb(2).exp()),
    }


@inequality(rows, "SAR-J.1/93/logistic", "(90) to (93), logistic", role="sharper",
            over=over(gap="0 1/10 1 4 40"), prove=on(gap=reals(0, None)).cut(gap="0"))  # fmt: skip
def logistic_round(gap: Fraction) -> Sides:
    """Logistic, every Δ ≥ 0, all scores: μ(a) - μ(b) ≤ Δ e^(Δ/2) √(μ'(a) μ'(b))

    μ(a) - μ(b) is exactly 2 sinh(Δ/2) √(μ'(a) μ'(b)). Both sides are divided by e^(Δ/2) √(μ'(a) μ'(b)), and
    1 is added: 2 - e^(-Δ) ≤ 1 + Δ.
    """
    return 2 - (-ball(gap)).exp(), 1 + ball(gap)


@inequality(
    rows, "SAR-J.1/92", "(91) to (92)", role="step",
    over=over(
        link=tuple(LINKS), score="-6 -2 0 2 6", side=(-1, 1), squares="0 1/10 1 1000", noise="1 11/10 3/2"
    ),
)  # fmt: skip
def norms_in_true_designs(link: str, score: Fraction, side: int, squares: Fraction, noise: Fraction) -> Sides:
    """‖x_t‖ in H_t⁻¹ is at most 2√2 times ‖x_t‖ in the inverse of the design with true slopes and λ_min

    Squares of norms in one dimension: that design is at most 8 H_t, with the scores of θ_o 1/R from those of
    θ* (L.1), up or down. `noise` is H_t's ridge in units of λ_min.

    Note: L.2 has e² = 7.39 for 8
    """
    family = LINKS[link]
    weight = family.at(ball(score + side / family.largest_reward)).slope / arb(1).exp()
    return 1 + ball(squares) * family.at(ball(score)).slope, 8 * (ball(noise) + ball(squares) * weight)


EVERY_RUN = on(
    T=integers(2, None), d=integers(1, None), epsilon=reals(0, 1000, "(]"),
    delta=reals(0, 1, "()"), zeta=reals(0, 1, "()"),
)  # fmt: skip


@inequality(
    rows, "SAR-J.1/96", "(96), with (19)", role="step", prove=EVERY_RUN,
    over=over(T=(2, 10**6), d=(1, 8), epsilon="1/10 1000", delta="1/10 1/1000000", zeta="1/20"),
)  # fmt: skip
def short_norms(T: int, d: int, epsilon: Fraction, delta: Fraction, zeta: Fraction) -> Sides:
    """‖x̃_t‖² ≤ 1 with λ_min of (19), so that (96) holds as printed, without the square: ε ≤ 1000

    By Cauchy and Schwarz Σ √μ'(a) ‖x̃_t‖ is at most √(Σ μ'(a)) √(Σ ‖x̃_t‖²), and ‖x̃_t‖² ≤ ‖x̃_t‖ if ‖x̃_t‖ ≤ 1.
    ‖x̃_t‖² is at most (1/κ*)/λ_min, in which κ* cancels. The same makes λ_min ≥ L² in Lemma O.1.

    Note: the missing square matters in the next line, SAR-J.1/97
    """
    root = ball(d).sqrt()
    scale = 256 * root * ln(32 / delta) * ln(T) * (ln(16 * T / zeta) + root)
    return ball(epsilon), scale


@inequality(
    rows, "SAR-J.1/97", "(96) to (97)", role="step", expect="refuted",
    over=over(C=(1, 100, 10**4), T=(10**6, 10**12, 10**18), ridge="100 10000"),
)  # fmt: skip
def without_square(C: int, T: int, ridge: Fraction) -> Sides:
    """As printed, without the square: Σ ‖x̃_t‖ ≤ C d log2(R T/(d λ_min))

    d = 1, R = 1, logistic, θ* = 0, so that μ' = 1/4, and every arm played is 1. `ridge` is λ_min. The sum is
    that of 1/√(4 λ_min + t) over t < T, at least 2 (√(4 λ_min + T) - √(4 λ_min)).

    Refuted: the sum grows like √T, so that each C fails from some T on
    """
    start = 4 * ball(ridge)
    return 2 * ((start + T).sqrt() - start.sqrt()), C * log2(T / ridge)


@inequality(
    rows, "SAR-J.1/97/squared", "(96) to (97), with the square", role="repaired", repairs="SAR-J.1/97",
    over=over(u="2 5 1000 1000000000000"), prove=on(u=reals(2, None)),
)  # fmt: skip
def with_square(u: Fraction) -> Sides:
    """With the square, R T ≥ 2 d λ_min and R ≤ 4: Σ ‖x̃_t‖² ≤ (9/4) d log2(R T/(d λ_min))

    Lemma O.1 with L² = 1/κ* ≤ R²/4, the largest slope, bounds the sum by 2 d log(1 + R² T/(4 d λ_min)) if
    λ_min ≥ L² (SAR-J.1/96). u is R T/(d λ_min). Both sides are divided by d, at R = 4: the left side grows
    with R.
    """
    return 2 * (1 + ball(u)).log(), 9 * ball(u).log() / (4 * arb(2).log())


@inequality(
    rows, "SAR-J.1/97/short", "(97), every R T > d λ_min", role="step", expect="refuted",
    over=over(u="1001/1000 1000001/1000000", C=(1, 100)),
)  # fmt: skip
def short_horizon(u: Fraction, C: int) -> Sides:
    """With the square, for every R T > d λ_min and one C: 2 log(1 + R² T/(4 d λ_min)) ≤ C log2(R T/(d λ_min))

    R = 1, u = R T/(d λ_min). The left side is Lemma O.1's bound.

    Refuted: the right side is 0 at R T = d λ_min, and the left side is not. J.1's second term is above R T
    there (SAR-J.1/given)
    """
    return 2 * (1 + ball(u) / 4).log(), C * ball(u).log() / arb(2).log()


@inequality(
    rows, "SAR-J.1/given", "Theorem J.1, Lemma M.3 given", role="repaired",
    repairs=("SAR-J.1/97", "SAR-J.1/97/short"),
    over=over(R="1 4", S="1/10 1 4", T=(2, 10**6), u="2 10 1000000"),
    prove=on(R=reals(1, 4), S=reals("1/10", None), T=integers(2, None), u=reals(2, None)),
)  # fmt: skip
def whole_regret(R: Fraction, S: Fraction, T: int, u: Fraction) -> Chain:
    """Given M.3 (2√2), M.2 and L.2, R_T is at most (87) with C = 86: R T > d λ_min, 1 ≤ R ≤ 4, S ≥ 1/10

    Further conditions: λ_min ≥ 1/κ* (SAR-J.1/96) and γ ≥ 4 R² S √λ_max, the first term of (60). u is R T/(d
    λ_min). Up to u = 2 the second term alone, 8 d R³ κ γ² log T ≥ 512 d R⁵ S² λ_min log T since κ ≥ 4/R², is
    at least R T: the first line, in units of d λ_min. From u = 2 on the steps give √d β √(Σ μ'(a)) times 2√2
    (M.3) e (L.2) e² (SAR-J.1/94/sharper) √(2 log(1 + R u/4)) (Lemma O.1): the second line, squared.

    Note: I.1 alone does not give M.3 for any noise (SAR-M.3); with its other constant, 20 √e/3, C is 332
    """
    first = 16 * arb(6).exp() * (1 + ball(R) * ball(u) / 4).log()
    return {
        "second term above R T": (arb(2), 512 * ball(R) ** 5 * ball(S) ** 2 * ln(T)),
        "first term": (first, CONSTANT**2 * ball(u).log() / arb(2).log()),
    }
