"""Accounting: the conversions of Lemma 10, advanced composition (Theorem 7), and the effect of the scaling
factor s on ξ, ε(α) and the message size (Remark 6)."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import lru_cache

from audits.distributed_mab.renyi_privacy import theorem_2_final
from dpaudit.core.conversions import best_order, converted, gaussian_delta, response_delta, step_budget
from dpaudit.core.exact_functions import ceil_log2, ln
from dpaudit.core.suite import Group
from dpaudit.kernel.ball import arb, ball, upper_short
from dpaudit.kernel.t1.divergence import lattice_delta
from dpaudit.kernel.t1.skellam_renyi import skellam_renyi
from dpaudit.kernel.t2.special_distributions import Skellam
from dpaudit.reference.mechanisms.gaussian_sum_divergence import xi
from dpaudit.reference.mechanisms.parameter_sheet import skellam_sheet
from dpaudit.suite import Sides, Step, inequality, listed, over, step, steps

__all__ = ["rows"]

rows = Group("Accounting: Lemma 10, Theorem 7, and the scaling factor")


# Lemma 10

CURVES = over(rho="1/1000000 1/10000 1/100 1/2 5", delta="1/10000000000 1/100000 1/10 1/2 9/10 999/1000")


def _printed(rho: Fraction, delta: Fraction) -> arb:
    """Return Lemma 10's ε for ε(α) = ρα, at its best order."""
    order = best_order(rho, delta)
    return converted(ball(rho * order), order, delta)


@step("Gaussian", over=CURVES)
def _gaussian(rho: Fraction, delta: Fraction) -> Sides:
    """the exact delta of Gaussian noise of ρ at the printed ε is at most δ"""
    return gaussian_delta(rho, _printed(rho, delta)), delta


@step("closed form", over=CURVES)
def _closed(rho: Fraction, delta: Fraction) -> Sides:
    """of CDP, ε <= ρ + 2 sqrt(ρ log(1/δ)), ρ = ε²/2; exponentials of both sides"""
    return _printed(rho, delta).exp(), (ball(rho) + 2 * (ball(rho) * ln(1 / delta)).sqrt()).exp()


@lru_cache(maxsize=8)
def _curve(variance: int, shift: int) -> list[tuple[Fraction, arb]]:
    orders = [Fraction(order) for order in range(2, 65)]
    return [(order, skellam_renyi(Fraction(variance), shift=shift, order=order)) for order in orders]


@step("integer orders", over=over(noise=((1, 1), (16, 2), (400, 10)), delta="1/1000000 1/1000 1/10 9/10"))
def _integer_orders(noise: tuple[int, int], delta: Fraction) -> Sides:
    """with the orders 2..64 alone, the exact delta of Skellam noise = (σ², Δ) at max(0, ε) is at most δ"""
    values = [upper_short(converted(divergence, order, delta)) for order, divergence in _curve(*noise)]
    variance, shift = noise
    epsilon = max(min(values), Fraction(0))
    return lattice_delta(Skellam(Fraction(variance)), shift=shift, epsilon=epsilon), delta


@step("pure", over=over(epsilon="1/1000 1/10 1 5 30", order="1001/1000 3/2 2 10 1000"))
def _pure(epsilon: Fraction, order: Fraction) -> Sides:
    """(ε, 0)-DP: D_α of randomised response, the extremal pair, is at most ε²α/2"""
    # s^α t^(1-α) + t^α s^(1-α) with s = e^ε t, t = 1/(1 + e^ε)
    total = (ball(order * epsilon).exp() + ball((1 - order) * epsilon).exp()) / (1 + ball(epsilon).exp())
    return total.log() / ball(order - 1), epsilon**2 * order / 2


@steps(rows, "CZ23-L10", "Lemma 10")
def conversion() -> list[Step]:
    """RDP gives (ε, δ)-DP with ε = inf { ε(α) + log(1/(αδ))/(α-1) + log(1 - 1/α) }, pure DP (α, ε²α/2)-RDP

    Evaluate the printed expression at its best order and compare the exact delta of Gaussian noise at this ε
    with δ. ε may be negative, and the inequality P(E) <= e^ε P'(E) + δ still has to hold. Do the same for
    exact Skellam divergences at the integer orders of Theorem 2, and for the extremal pure pair's divergence
    in closed form.

    Proof: (1 - e^{ε-L})_+ <= e^{(α-1)(L-ε)} (1 - 1/α)^α / (α-1) pointwise, for every real ε

    Note: ε²α/2 is tight as ε tends to 0
    """
    return [_gaussian, _closed, _integer_orders, _pure]


@inequality(
    rows,
    "CZ23-L10/sign",
    "Lemma 10 with Definition 1",
    role="what-if",
    expect="refuted",
    over=listed("rho delta", ("1/10000", "9/10"), ("1/100", "1/2"), ("1/1000000000000", "1/100000")),
)
def sign(rho: Fraction, delta: Fraction) -> Sides:
    """Lemma 10's ε is 0 or more, as Definition 1 requires: e^{-ε} <= 1

    Evaluate the printed expression at its best order for small ρ.

    Refuted: ε is negative for every δ once ρ is small, roughly below δ². The inequality is then true, but (ε,
    δ)-DP requires ε > 0. max(0, ε) repairs it
    """
    return (-_printed(rho, delta)).exp(), 1


# Theorem 7


def _composed(target: Fraction, times: int, slack: Fraction, leak: Fraction) -> Sides:
    kept = response_delta(step_budget(target, times, slack), times=times, at=ball(target), leak=leak)
    return 1 - times * leak - slack, kept


TARGETS = {"target": "1/100 1/2 9/10 999/1000", "times": (1, 2, 4, 10, 50)}


@inequality(
    rows,
    "CZ23-T7",
    "Theorem 7 (Dwork and Roth, Corollary 3.21)",
    expect="refuted",
    over=over(**TARGETS, slack="1/1000000 1/2 999/1000 9999/10000", leak="0"),
)
def advanced_composition(target: Fraction, times: int, slack: Fraction, leak: Fraction) -> Sides:
    """k mechanisms with ε = ε'/(2 sqrt(2k log(1/δ'))) compose to (ε', kδ + δ')-DP, for ε' < 1 and every δ'

    Compare the exact delta of k-fold randomised response, the worst composition of k = times mechanisms, at
    ε' = target, with kδ + δ', δ = leak and δ' = slack. The code compares complements, because both sides are
    near 1 at the points that fail.

    Refuted: as δ' tends to 1 the printed ε grows like 1/sqrt(1 - δ'), and one mechanism alone exceeds
    (ε', δ')
    """
    return _composed(target, times, slack, leak)


@step(
    "composition",
    over=over(**TARGETS, slack="1/1000000000000 1/1000000 1/100 1/2 7/10", leak="0 1/1000000 1/100"),
)
def _composition(target: Fraction, times: int, slack: Fraction, leak: Fraction) -> Sides:
    """1 - kδ - δ' <= 1 - (exact delta at ε' of k mechanisms); ε' = target, k = times, δ' = slack, δ = leak"""
    return _composed(target, times, slack, leak)


@step("condition")
def _condition() -> Sides:
    """(ε'/(4 log(1/δ')))(e^ε - 1)/ε <= 1 at ε' = 1, δ' = 7/10, k = 1"""
    budget = step_budget(Fraction(1), 1, Fraction(7, 10))
    return (budget.exp() - 1) / budget / (4 * ln(Fraction(10, 7))), 1


@steps(
    rows,
    "CZ23-T7/range",
    "Theorem 7 (Dwork and Roth, Corollary 3.21)",
    role="repaired",
    repairs="CZ23-T7",
)
def composition_in_range() -> list[Step]:
    """k mechanisms with ε = ε'/(2 sqrt(2k log(1/δ'))) compose to (ε', kδ + δ')-DP, for ε' < 1 and δ' <= 7/10

    Compare the exact delta of k-fold randomised response at ε' with kδ + δ'.

    Proof: Theorem 3.20 of Dwork and Roth needs kε(e^ε - 1) <= ε'/2, that is (ε'/(4 log(1/δ')))(e^ε - 1)/ε <=
    1, which holds for ε' <= 1 and δ' <= 7/10 (largest at k = 1). The paper uses small δ'
    """
    return [_composition, _condition]


# The scaling factor

SCALES = (1, 2, 3, 5, 10, 30, 100)
NEXT = dict(itertools.pairwise(SCALES))
SHEETS = over(s=NEXT, epsilon="1/10 1 5", n=(2, 64, 2**15))
CURVE = {"epsilon": "1/10 1 5", "order": (2, 8, 64)}


def _modulus(s: int, epsilon: Fraction, n: int) -> int:
    return skellam_sheet(users=n, epsilon=epsilon, tail_prob=Fraction(1, 2**20), scale_factor=s).modulus


@step("ξ", over=over(s=NEXT, terms=(1, 100, 2**19)))
def _falling(s: int, terms: int) -> Sides:
    """ξ(s') <= e^{-9(s'² - s²)} ξ(s), s' the next factor"""
    bound = xi(Fraction(s**2), terms) * ball(9 * (s**2 - NEXT[s] ** 2)).exp()
    return xi(Fraction(NEXT[s] ** 2), terms), bound


@step("modulus", over=SHEETS)
def _growing(s: int, epsilon: Fraction, n: int) -> Sides:
    """m(s) <= m(s'), s' the next factor"""
    return _modulus(s, epsilon, n), _modulus(NEXT[s], epsilon, n)


@steps(rows, "CZ23-R6", "Remark 6")
def recombination() -> list[Step]:
    """ξ tends to 0 and m grows as s grows: s = 1, 2, 3, 5, 10, 30, 100

    Evaluate ξ (T = 2 terms + 2) and the sheets' moduli (T = 2^20) for consecutive scaling factors.

    Note: the slowest term of ξ is the first, exp(-π²s²): 9 < π²
    """
    return [_falling, _growing]


@step("privacy", over=over(s=NEXT, **CURVE))
def _more_private(s: int, epsilon: Fraction, order: int) -> Sides:
    """ε(α)(s') <= ε(α)(s), s' the next factor"""
    here, there = (theorem_2_final(order, epsilon, Fraction(factor)) for factor in (s, NEXT[s]))
    return there / here, 1


@step("limit", over=over(s=SCALES, **CURVE))
def _limit(s: int, epsilon: Fraction, order: int) -> Sides:
    """ε(α) <= αε²/2 + 3ε²/(2s)"""
    limit = order * epsilon**2 / 2 + 3 * epsilon**2 / (2 * s)
    return theorem_2_final(order, epsilon, Fraction(s)) / limit, 1


@step("bits", over=SHEETS)
def _bits(s: int, epsilon: Fraction, n: int) -> Sides:
    """⌈log₂ m(s')⌉ <= ⌈log₂ m(1)⌉ + ⌈log₂ s'⌉ + 1, s' the next factor"""
    here, first, factor = (
        ceil_log2(ball(value)) for value in (_modulus(NEXT[s], epsilon, n), _modulus(1, epsilon, n), NEXT[s])
    )
    return here, first + factor + 1


@steps(rows, "CZ23-S", "discussion of Theorem 2")
def trade_off() -> list[Step]:
    """Larger s: ε(α) falls to αε²/2 like 1/s, and a message grows by about log₂ s bits

    Evaluate Theorem 2's ε(α) and the message size of its sheet (T = 2^20) for consecutive scaling factors.
    """
    return [_more_private, _limit, _bits]
