"""Check Lemma P.2: how often Algorithm 2 calls its optimizers, against the printed cutoffs."""

from __future__ import annotations

from fractions import Fraction

from audits.glm_bandits.printed_parameters import JointParameters
from audits.glm_bandits.switching import sure_switches
from dpaudit.core.errors import UndecidedError
from dpaudit.core.suite import Group
from dpaudit.kernel.ball import arb, ball
from dpaudit.reference.algorithms.contextual.links import logistic
from dpaudit.suite import Chain, Sides, full, inequality, over

__all__ = ["rows"]

rows = Group("Switching counts: Lemma P.2", kind="structure")

DELTA, ZETA = Fraction(1, 10), Fraction(1, 20)


def _slope_at(score: Fraction) -> arb:
    return 1 / logistic().at(ball(score)).slope


def _joint(T: int, d: int, S: Fraction, epsilon: Fraction, nearest: Fraction) -> JointParameters:
    """Return the parameters for arms with scores from ``nearest`` S to S."""
    return JointParameters(
        T=T, d=d, S=S, epsilon=epsilon, delta=DELTA, zeta=ZETA, kappa=_slope_at(S),
        kappa_star=_slope_at(nearest * S),
    )  # fmt: skip


@inequality(
    rows, "SAR-P.2a", "Lemma P.2, count1",
    over=over(
        T=(1000, 10**6, full(10**9)), d=(1, 5), S="1 3 6", epsilon="1/100 1 4", nearest="0 1/2 1"
    ),
)  # fmt: skip
def exploration_count(T: int, d: int, S: Fraction, epsilon: Fraction, nearest: Fraction) -> Sides:
    """If λ_min > 1 the number of explored rounds never exceeds count1_cutoff = 8 d R² κ γ² log T

    All arms and all noise within I.1 are covered, by the growth of det V; (19) and (21) with c = 1, δ =
    1/10, ζ = 1/20, logistic.

    Note: λ_min > 1 is a line of the proof and not a printed condition; SAR-P.2a/small-ridge covers the rest

    Note: Criterion I has the threshold 1, and the proof uses 1/4; the bound holds with slack
    """
    parameters = _joint(T, d, S, epsilon, nearest)
    if not parameters.ridge_lower > 1:
        raise UndecidedError("λ_min must be above 1 on this grid; leave the point to SAR-P.2a/small-ridge.")
    return parameters.most_explored(), parameters.exploration_cutoff


@inequality(
    rows, "SAR-P.2a/small-ridge", "Lemma P.2, count1, λ below 1", role="what-if", expect="refuted",
    over=over(T=(1000,), setting=((17, 25), (18, 28), (20, 34))),
)  # fmt: skip
def first_round(T: int, setting: tuple[int, int]) -> Sides:
    """If λ_min is below 1, a first round that explores is within count1_cutoff, no cutoff rounded up

    d = 1, ε = 1, c = 1. Arms have scores from the first number of the setting to the second, which is S.

    Refuted: (19) divides by κ*. If every arm has a slope of at most 4·10^-8, λ is below 1/100, the first
    round with ‖x‖ = 1 explores, and the cutoff is below 1

    Note: P.2 has no condition on λ. Its proof says "as λ_min > 1", which (19) gives only if ε κ* is small;
    under it the bound holds (SAR-P.2a), and here rounding the cutoff up is enough
    """
    nearest, S = setting
    parameters = _joint(T, 1, Fraction(S), Fraction(1), Fraction(nearest, S))
    if not parameters.gamma**2 * parameters.kappa >= parameters.ridge_upper:
        return 0, 1  # Criterion I may not hold in the first round
    return 1, parameters.exploration_cutoff


@inequality(
    rows, "SAR-P.2b", "Lemma P.2, count2", expect="refuted",
    over=over(d=(1, 2, 8, 32), T=(10**6, 10**9, 10**12, full(10**15)), epsilon="1 8"),
)  # fmt: skip
def policy_switches(d: int, T: int, epsilon: Fraction) -> Sides:
    """The number of policy switches never exceeds count2_cutoff = log2(λ_max/λ_min + T/(κ*² λ_min d))

    S = 1/10, θ* = 0, arms e_1, ..., e_d in turn. Criterion I is never met, so θ_o stays at 0 and every leaf
    of H is x xᵀ/(4e). Count the doublings that happen for all noise within I.1.

    Refuted: each of the d directions grows, O.4 has d log2(...), and the cutoff has lost the factor d

    Note: with d = 1, and if λ is above T, the count stays below
    """
    parameters = _joint(T, d, Fraction(1, 10), epsilon, Fraction(0))
    if not parameters.gamma**2 * parameters.kappa < parameters.ridge_lower:
        raise UndecidedError("Criterion I must never hold on this grid; take a smaller S.")
    leaf = 1 / (4 * arb(1).exp() * parameters.ridge)
    count = sure_switches(d=d, grown=leaf * (T // d), share=1 / (4 * parameters.root + 1), step=leaf)
    return count, parameters.switching_cutoff


@inequality(rows, "SAR-I.5c", "Lemma I.5, counts", expect="refuted", over=over(d=(1, 8), T=(10**6, 10**12)))
def both_counts(d: int, T: int) -> Chain:
    """With probability 1 - ζ/4 both counts stay within their cutoffs: Lemma P.2 again, with 1 - ζ/8

    count1 is as in SAR-P.2a, S = 1; count2 as in SAR-P.2b, S = 1/10; ε = 1. The noise is arbitrary within
    I.1, which has probability 1 - ζ/8 or more.

    Refuted: by count2 at d = 8, T = 10^12, as SAR-P.2b; count1 stays within
    """
    most = _joint(T, d, Fraction(1), Fraction(1), Fraction(0))
    parameters = _joint(T, d, Fraction(1, 10), Fraction(1), Fraction(0))
    if not most.ridge_lower > 1 or not parameters.gamma**2 * parameters.kappa < parameters.ridge_lower:
        raise UndecidedError("λ_min must be above 1 and Criterion I never hold; take another S.")
    leaf = 1 / (4 * arb(1).exp() * parameters.ridge)
    count = sure_switches(d=d, grown=leaf * (T // d), share=1 / (4 * parameters.root + 1), step=leaf)
    return {
        "count1 <= count1_cutoff": (most.most_explored(), most.exploration_cutoff),
        "count2 <= count2_cutoff": (count, parameters.switching_cutoff),
    }
