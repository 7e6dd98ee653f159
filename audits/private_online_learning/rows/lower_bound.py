"""Theorem 10, the private lower bound (appendix H): the end of its range, its construction, and its proof.

Simulation never verifies a lower bound. A certified-private learner refutes it if its regret is below the
bound on every admissible instance. The construction and the inequalities of the proof are checked one by one.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from typing import Any

from audits.private_online_learning import hard_family
from audits.private_online_learning.hard_family import (
    instance,
    smallest_horizon,
    total_variation,
    witness_gap,
)
from dpaudit.core.claims import LowerBound
from dpaudit.core.evidence import Evidence
from dpaudit.core.exact_functions import larger, ln
from dpaudit.core.plots import table
from dpaudit.core.suite import Group, Run
from dpaudit.kernel.ball import arb, ball, integer, precision, upper
from dpaudit.reference.algorithms.online.one_best import ROUNDING, worst_regret
from dpaudit.suite import (
    Control,
    Measured,
    Sides,
    Step,
    controls,
    evidence,
    false_inequality,
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

rows = Group("Theorem 10: the private lower bound and its proof")
CONJECTURE = (
    "a conjecture about every non-lazy, non-forgetful algorithm: the class is not defined, no construction "
    "or constant is given, and the regret of one algorithm cannot decide it"
)
rows.not_checkable("HHM-CONJ", reason=CONJECTURE)


# The theorem at the end of its range, and its minimax reading

CONSTANT, LOG_ACTIONS, BUDGET = Fraction(1, 100), 256, Fraction(1500)
AT_ONE = LowerBound(
    text=(
        "for every ε-DP learner some distribution with a unique best action and all gaps ≥ Δ_min has regret "
        "≥ c max{log K/Δ_min, log K/ε}; here c = 1/100, Δ_min = 1, K = 2^256, ε = 1500, any T ≥ 12"
    ),
    quantity_name="regret / (c max{log K/Δ_min, log K/ε})",
    claimed=1,
    constants=(("c", "1/100"), ("Delta_min", "1"), ("log_K", "256"), ("epsilon", "1500")),
)


@evidence(rows, "HHM-T10", "Theorem 10", claim=AT_ONE, expect="refuted")
def end_of_the_range(run: Run) -> Measured:
    """Every ε-DP learner has regret Ω(max{log K/Δ_min, log K/ε}) on some instance, for every Δ_min > 0,
    Δ_min = 1 among them

    Bound a certified-private learner's regret on every instance at the end Δ_min = 1 of the range.

    Rewards lie in [0, 1], so gaps of 1 leave one kind of instance: one action always has reward 1, all others
    0. On it the repaired FTNL, whose privacy the kernel certifies, has regret at most 1 + (K - 1) Σ_s 2^(s+1)
    (2 + x_s) exp(-x_s)/4 with x_s = 2^s ε/2, at every horizon: one reward vector identifies the best action.
    With ε = 6 log K this stays below 1.15 for every K, while the printed bound is c log K. The table gives
    the number of actions from which the learner is below the bound, for constants c from 1 to 1/10 000.

    Refuted: no universal c works: the learner's regret stays near 1 while log K grows. For Δ_min > 1 there is
    no instance

    Note: the private term alone holds for every Δ_min ≤ 1 (HHM-T10/conversion/repaired,
    HHM-T10/packing/repaired). The non-private term needs Δ_min bounded away from 1
    """
    constants = [Fraction(1, c) for c in (1, 10, 100, *run.choose(quick=(), full=(1000, 10_000)))]
    with precision(160):
        regret = hard_family.point_mass_bound(log_actions=LOG_ACTIONS, epsilon=BUDGET)
        ratio = regret / ball(CONSTANT * LOG_ACTIONS)
        thresholds = [(c, *hard_family.smallest_log_actions(c)) for c in constants]
    picture = table(
        title="Where a certified-private learner is below c max{log K/Δ_min, log K/ε} at Δ_min = 1",
        columns=["c", "log K from", "ε = 6 log K", "regret at most", "c log K"],
        rows=[[str(c), n, 6 * n, round(most, 6), float(c) * n] for c, n, most in thresholds],
    )
    return Measured(
        high=upper(ratio),
        method="closed form in balls, union bound over the rivals",
        scope="repaired FTNL; one action pays 1, all others 0; every horizon",
        notes=[hard_family.certified_leader(BUDGET)],
        plots=[picture],
    )


def _admitted(log_K: int, epsilon: int, T: int) -> bool:
    return bool(ball(log_K) * arb.const_log2() <= ball(100 * epsilon**2 * T))


FIRST_ROUND = over(log_K=20_000, epsilon=12, T=1).where(_admitted, "where T ≥ ln K/(100ε²)")


@inequality(rows, "HHM-T10/minimax", "After Theorem 10", over=FIRST_ROUND, role="what-if", expect="refuted")
def minimax(log_K: int, epsilon: int, T: int) -> Sides:
    """The minimax reading, regret ≥ c max{√(T log K), log K/ε} with c = 1/100, if T ≥ ln K/(100ε²) and Δ_min
    = √(ln K/T) > 1

    Compare the bound with T, which no learner's regret exceeds, at points at which no instance has gaps of
    √(ln K/T).

    Refuted: the private term needs the condition T ≥ ln K/(100ε²). With ε ≥ √(ln K)/10 the condition admits
    even T = 1, at which the regret is at most 1 and √(T log K) grows with K

    Note: for T ≥ 4 ln K the gap √(ln K/T) is at most 1/2 and the reading agrees with Theorem 10's proof
    """
    return ball(CONSTANT) * larger(ball(T * log_K).sqrt(), ball(Fraction(log_K, epsilon))), T


# Step 1: the packing


def _deviation(n_actions: int, gap: Fraction, base: Fraction) -> Fraction:
    """Return the largest difference between ``gap`` and the distance of two instances."""
    distributions = [instance(j, n_actions=n_actions, gap=gap, base=base) for j in range(n_actions)]
    return max(abs(total_variation(*pair) - gap) for pair in combinations(distributions, 2))


PACKED = over(K=(2, 3, 4, 5, full(6)), gap="1/50 1/10 1/4 1/2")


@inequality(rows, "HHM-T10/packing", "Appendix H, step 1", over=PACKED, role="step", measure="left - right")
def packing(K: int, gap: Fraction) -> Sides:
    """Any two instances of the family are at total variation distance Δ, and {(1, 0)} × {0, 1}^(K−2) shows it

    Enumerate {0, 1}^K under every instance in exact fractions and compare all pairs: the largest of |TV(P_i,
    P_j) − Δ| and |P_1(A) − P_2(A) − Δ|, for the event A of footnote 5, is 0. Action j is uniquely optimal
    under P_j, all gaps are Δ, and Δ > Δ/2 makes the family a packing.
    """
    first, second = (instance(j, n_actions=K, gap=gap) for j in (0, 1))
    return max(abs(witness_gap(first, second) - gap), _deviation(K, gap, Fraction(1, 2))), 0


OTHERS = over(K=(2, 3, 4, 5), gap="1/100 1/4 1/2 3/4 1", part="0 1/2")


@inequality(rows, "HHM-T10/packing/repaired", "Step 1", over=OTHERS, role="repaired", measure="left - right")
def packing_of_other_means(K: int, gap: Fraction, part: Fraction) -> Sides:
    """With base mean 0 the family exists for every Δ_min ≤ 1 and keeps its distances

    Enumerate the family with base mean part (1 − Δ) in exact fractions: the distance is Δ for every base, so
    steps 2 and 3 carry over.

    Note: the printed family has the mean 1/2 + Δ_min, which exceeds 1 if Δ_min > 1/2. Above Δ_min = 1 no
    instance has such gaps
    """
    return _deviation(K, gap, part * (1 - gap)), 0


# Step 2: the inequality that replaces Acharya, Sun and Zhang's

EXPONENTS = over(M=(2, 3, 4, 16, 256, 10**6), x="0 1/4 1/2 5/4 5/2 10")


def _at_most_one(value: Any) -> Any:
    return value if value < 1 else arb(1)  # no point of the grid straddles 1


RATIOS = "1/1000000 1/22026 1/100 1/2 999/1000 1 1001/1000 2 15 255 999999"


@step("repaired inequality", over=over(ratio=RATIOS), prove=on(ratio=reals(0, None, "()")).cut(ratio="1"))
def _repaired(ratio: Fraction) -> Sides:
    """0.45 M min{1, (M−1)/e^(10εD)} ≤ 0.9 M(M−1)/(M−1+e^(10εD)), both sides divided by 0.45 M, ratio =
    (M−1)/e^(10εD)"""
    return ball(min(Fraction(1), ratio)), ball(2 * ratio) / ball(1 + ratio)


@step(
    "error at n = ln K/(10εΔ)",
    over=over(K=(2, 3, 4, 16, 256, 10**6)),
    prove=on(K=integers(2, None)),
)
def _error(K: int) -> Sides:
    """0.2 ≤ 0.45 (K−1)/K"""
    return Fraction(1, 5), Fraction(45 * (K - 1), 100 * K)


@step("Acharya, Sun and Zhang's own inequality", over=EXPONENTS)
def _cited(M: int, x: Fraction) -> Sides:
    """0.8 M min{1, M/e^x} ≤ 0.9 M(M−1)/(M−1+e^x) with x = 10εD"""
    tail = ball(x).exp()
    least = ball(Fraction(4, 5)) * M * _at_most_one(M / tail)
    return least, ball(Fraction(9, 10)) * M * (M - 1) / (M - 1 + tail)


@steps(rows, "HHM-T10/asz", "Appendix H, step 2", role="step")
def replaced_inequality() -> list[Step]:
    """The inequality that the paper puts in the place of Acharya, Sun and Zhang's

    Compute both sides of the paper's replacement, x/(x + y) ≥ ½ min{1, x/y} with x = M − 1 and y = e^(10εD),
    and of the resulting error bound.

    Note: at M = 2 and ε = 0 both sides are equal. The original inequality fails there, as the paper says
    (HHM-T10/controls)
    """
    return [_repaired, _error]


# Step 3: batch to online

STATED, SURVIVING = Fraction(98, 10_000), Fraction(225, 10_000)


def _critical(K: int, gap: Fraction, epsilon: Fraction) -> Any:
    """Return m* = ln K/(10 epsilon gap)."""
    return ln(K) / (10 * ball(epsilon) * ball(gap))


#: The range of Theorem 10, beside m* over a whole number.
RANGE: dict[str, Any] = {"gap": reals(0, 1, "(]"), "epsilon": reals(0, None, "()")}


def _one_round(K: int, gap: Fraction, epsilon: Fraction) -> bool:
    return bool(_critical(K, gap, epsilon) >= 1)


def _first_rounds(
    K: int, gap: Fraction, epsilon: Fraction, constant: Fraction, part: Fraction | None = None
) -> Sides:
    """Return ``constant`` ln K/epsilon and 0.2 · 0.49 ⌊m*⌋ Δ, with ``part`` m* for 2⌊m*⌋ if it is given."""
    critical = _critical(K, gap, epsilon)
    twice = ball(2 * integer(critical.floor())) if part is None else critical * ball(part)
    return ball(10 * constant) * ball(gap) * critical, ball(5 * STATED) * ball(gap) * twice


#: Points with m* from far below 1 to far above 1.
SAMPLES = over(K=(2, 4, 16, 256, 10**6), gap="1/50 1/10 1/4 1/2 1", epsilon="1/1000 1/100 1/10 1/2 2 20 1000")
WHOLE = SAMPLES.where(_one_round, "where m* ≥ 1")


@inequality(
    rows,
    "HHM-T10/conversion",
    "Appendix H, step 3",
    over=WHOLE,
    prove=on(K=integers(2, None), **RANGE, part=reals(1, 2)),
    role="step",
    measure="left - right",
)
def conversion(K: int, gap: Fraction, epsilon: Fraction, part: Fraction | None = None) -> Sides:
    """The first m* = ln K/(10εΔ) rounds cost 0.2 · 0.49 m* Δ, of the order ln K/ε: with ⌊m*⌋ rounds at least
    0.0049 ln K/ε if m* ≥ 1

    Run the conversion with a whole number of rounds and samples. The paper states the order and computes it
    with m* rounds, 0.0098 ln K/ε. For rational ε and Δ, m* is never an integer, and (58) holds for at most
    ⌊m*⌋ samples, so the step gives 0.2 · 0.49 ⌊m*⌋ Δ.

    Note: on a range it is proved for every number of rounds from m*/2 to m*, which is part · m*/2. For
    m* ≥ 1 the number ⌊m*⌋ is one of them
    """
    return _first_rounds(K, gap, epsilon, STATED / 2, part)


@inequality(
    rows,
    "HHM-T10/conversion/whole-rounds",
    "Appendix H, step 3",
    over=SAMPLES,
    role="what-if",
    expect="refuted",
    measure="left - right",
)
def conversion_everywhere(K: int, gap: Fraction, epsilon: Fraction) -> Sides:
    """The first ⌊m*⌋ rounds cost 0.0098 ln K/ε, the constant of m* rounds, even if m* < 1

    Compute the same with the constant that m* rounds would give, also if the step gives nothing: m* < 1, ε
    above ln K/(10Δ).

    Note: a different last step proves the constant, with slack: HHM-T10/conversion/repaired
    """
    return _first_rounds(K, gap, epsilon, STATED)


@step(
    "round by round",
    over=SAMPLES,
    # Both sides touch at K = 2, so it is taken by itself.
    prove=on(K=integers(2, None, each=2), excess=reals(1, None)),
)
def _round_by_round(
    K: int, gap: Fraction = Fraction(1), epsilon: Fraction = Fraction(1), excess: Fraction | None = None
) -> Sides:
    """0.0225 ln K/ε ≤ 0.45 (K−1)/K ⌈m*⌉ Δ, both sides over m* Δ; on a range, for every excess · m* ≥ m* in
    the place of ⌈m*⌉"""
    critical = _critical(K, gap, epsilon)
    share = integer(critical.ceil()) / critical if excess is None else ball(excess)
    return ball(10 * SURVIVING), ball(Fraction(45, 100)) * ball(K - 1) / K * share


@step("the stated constant", prove=on())
def _stated_constant() -> Sides:
    """0.0098 ln K/ε ≤ 0.0225 ln K/ε"""
    return STATED, SURVIVING


@steps(rows, "HHM-T10/conversion/repaired", "repair of appendix H, step 3", role="repaired")
def conversion_by_rounds() -> list[Step]:
    """Each of the first ⌈m*⌉ rounds costs 0.45 (K−1)/K Δ, which gives 0.0225 ln K/ε

    Replace the majority vote by another last step, and compute it for whole numbers of rounds.

    The action of round t is itself an ε-DP selector from t − 1 < m* samples, t = 1..⌈m*⌉ (T ≥ m* allows these
    rounds). The proof of (58) bounds the average error over the K instances, so the errors of all rounds add
    up: some instance has regret at least 0.45 (K−1)/K ⌈m*⌉ Δ. This step needs neither rounding nor a
    majority, and m* < 1 is the case of one round.
    """
    return [_round_by_round, _stated_constant]


# Known failures

BELOW = LowerBound(
    text="Follow the Leader's largest regret over P_1..P_K is ≥ 0.0098 ln K/ε at K = 16, Δ = 1/4, ε = 1/2000",
    quantity_name="regret / (0.0098 ln K/ε)",
    claimed=1,
)


def _followed(run: Run) -> list[Evidence]:
    K, gap, epsilon = 16, 0.25, 1 / 2000
    horizon = smallest_horizon(n_actions=K, gap=gap, epsilon=epsilon)
    regret = worst_regret(scale=0, n_actions=K, gap=gap, horizon=horizon)
    ratio = regret / (0.0098 * math.log(K) / epsilon)
    ends = Measured(low=ratio * (1 - ROUNDING), high=ratio * (1 + ROUNDING), method="exact Binomial sums")
    return [ends.estimate(BELOW, run, scope=f"T = {horizon}, the worst instance of the family")]


@controls(rows, "HHM-T10/controls", "Appendix H, step 2; Acharya, Sun and Zhang (2021)", kind="lower-bound")
def known_failures() -> dict[str, Control]:
    """Theorem 10's bound applies only to private learners, and the inequality that its proof replaces is
    false

    Note: the paper is right about the error in the cited proof: 1.6 against 0.9 at M = 2, ε = 0
    """
    return {
        "Acharya, Sun and Zhang's own inequality": false_inequality(_cited),
        "Follow the Leader, without noise, obeys the private term": Control(claim=BELOW, evaluate=_followed),
    }
