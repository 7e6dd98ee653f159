"""The lower bounds that the paper relies on: Shariff and Sheffet (2018), and Ren et al. (2020) for local DP.

Simulation never verifies a lower bound. The rows compute its construction and its steps, and compare it with
the private algorithms of this audit. An algorithm below the bound would refute it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from dpaudit.core.claims import Ordering
from dpaudit.core.exact_functions import ln
from dpaudit.core.suite import Group, Run
from dpaudit.kernel.ball import ball
from dpaudit.reference.algorithms.mab.batched_regret import Setting
from dpaudit.reference.algorithms.mab.mean_change import cheapest_coupling, dearest_change
from dpaudit.reference.algorithms.mab.simulated_regret import final_regrets, interval
from dpaudit.suite import (
    Expression,
    Measured,
    Sides,
    evidence,
    expected,
    full,
    inequality,
    leaf,
    on,
    only_quick,
    over,
    reals,
)
from dpaudit.suite.regret import CUT_AND_CHARGED, Interval, proportion_interval

__all__ = ["rows"]

rows = Group("Lower bounds of other papers")

SOURCE = "Shariff and Sheffet (2018), as relied on after Theorem 1"
GAPS = ("1/100", "1/10", "1/4", "1/2")

COUPLING = Ordering(
    text=f"|smallest expected number of differing positions - 2nΔ| is 0, n <= 40, Δ = {', '.join(GAPS)}",
    quantity_name="largest deviation from 2nΔ",
    claimed=0,
)


@evidence(rows, "CZ23-LB/coupling", SOURCE, claim=COUPLING, role="step")
def coupling(run: Run) -> Measured:
    """The two reward streams of an arm can be coupled to differ in 2nΔ positions on average, not in fewer

    Compute both sides of the transport problem in fractions. The coupling by common uniforms is the upper
    bound, the number of ones as a test function is the lower bound.
    """
    cases = [(n, Fraction(gap)) for n in range(1, 41) for gap in GAPS]
    worst = float(max(abs(cheapest_coupling(n, gap) - 2 * n * gap) for n, gap in cases))
    return Measured(low=worst, high=worst, samples=len(cases), method="exact fractions, primal and dual")


@inequality(
    rows,
    "CZ23-LB/group-privacy",
    SOURCE,
    role="step",
    over=over(n=(1, 100), gap="1/1000 1/10 1/4 49/100 1/2", epsilon="1/1000 1/10 1 4 20"),
)
def group_privacy(n: int, gap: Fraction, epsilon: Fraction) -> Sides:
    """Under ε-DP the change of n rewards from mean 1/2 - Δ to 1/2 + Δ costs at most e^{2nΔε}

    The largest ratio of an event's probabilities over all ε-DP mechanisms of n rewards, in closed form:
    n log((1 + x)/(1 - x)) <= 2nΔε, x = 2Δ tanh(ε/2). At Δ = 1/2 both sides are equal, up to 2^-100.

    Proof: artanh is convex and 0 at 0, so artanh(2Δ u) <= 2Δ artanh(u) for 2Δ <= 1
    """
    return dearest_change(n, gap, epsilon), 2 * n * gap * epsilon * (1 + Fraction(1, 2**100))


@inequality(
    rows,
    "CZ23-LB/argument",
    SOURCE,
    role="step",
    over=over(gap="1/1000 1/100 1/10 1/4", epsilon="1/20 1 20", factor=(1, 2, 10**6, 10**30)),
    prove=on(gap=reals(0, "1/2", "(]"), epsilon=reals("1/1000", None), factor=reals(1, None)),
)
def argument(gap: Fraction, epsilon: Fraction, factor: int) -> Sides:
    """Fewer than log T/(100εΔ) pulls with chance 1/2 would cost more than T^{3/4} elsewhere, for T >= (4/Δ)^5

    If arm a gets fewer than n pulls with probability 1/2 in the base instance, it does so with probability
    e^{-2nΔε}/2 in the instance in which it is the best arm. Each pull of another arm then costs Δ: T^{3/4} <=
    (1/2) e^{-2nΔε} Δ (T - n), n = log T/(100εΔ); T = factor (4/Δ)^5. It is proved for ε >= 1/1000 and Δ <=
    1/2, the gaps of the construction.

    Note: e^{-2nΔε} = T^{-1/50}, so the constant 100 is not optimal. T has to be large compared with 1/Δ
    """
    T = (4 / gap) ** 5 * factor
    fewer = ball(T) - ln(T) / ball(100 * epsilon * gap)
    return (ln(T) * ball(Fraction(3, 4))).exp(), (-ln(T) / 50).exp() * ball(gap) * fewer / 2


# The algorithms


@expected(
    rows,
    "CZ23-LB",
    SOURCE,
    at_least="1/2",
    claim="lower-bound",
    quantity="P(N_a(T) >= log T/(100 ε Δ_a))",
    constants=[("constant", 100)],
    expect="inconclusive",
    method="batch simulation; exact binomial bounds (Clopper-Pearson)",
    over=over(
        name=("dist_dp_se", "cdp_se", "shuffle_dp_se/repaired", "ldp_se"),
        means=((1.0, 0.0), (0.5, 0.25), (0.5, 0.49)),
        epsilon=(only_quick("1/20 99/100"), full("1/1000 1/20 1/2 99/100")),
    ),
)
def pulls(name: str, means: Sequence[float], epsilon: Fraction) -> Expression:
    """Every ε-DP algorithm pulls a suboptimal arm log T/(100 ε Δ) times with probability 1/2

    Simulate the pure private variants on two arms at T = 2^24, for which pulls = regret / Δ, and bound the
    probability. Simulation never verifies a lower bound. An upper bound below 1/2 would refute it.
    """
    setting = Setting(name=name, epsilon=epsilon, n_arms=2, horizon=2**24)
    gap = means[0] - means[1]
    least = math.log(setting.horizon) / (100 * float(epsilon) * gap)

    def bounding(run: Run, alpha: float) -> Interval:
        seed = run.seed_sequence(f"{name} {means} {epsilon}")
        enough = final_regrets(setting, means, runs=_hundred(run), seed=seed) / gap >= least
        return proportion_interval(enough, alpha=alpha)

    return leaf(f"pulls {name} {means} {epsilon}", bounding, runs=_hundred)


def _hundred(run: Run) -> int:
    return int(run.choose(quick=100, full=1000))


@expected(
    rows,
    "CZ23-LB/local",
    "Ren et al. (2020), as relied on in section 6 and Table 1; the constant is ours",
    at_least=1,
    claim="lower-bound",
    quantity="regret / (log T/(100 ε² Δ))",
    constants=[("constant", 100)],
    expect="inconclusive",
    over=over(means=((1.0, 0.0), (0.6, 0.4)), epsilon="1/2 1/8 1/64"),
)
def local(means: Sequence[float], epsilon: Fraction) -> Expression:
    """Under local ε-DP the regret has a factor 1/ε²: E Reg(T) >= log T/(100 ε² Δ)

    Simulate LDP-SE on two arms at T = 2^40 as ε falls. Its regret times ε² does not change.
    """
    setting = Setting(name="ldp_se", epsilon=epsilon, n_arms=2, horizon=2**40)
    unit = math.log(setting.horizon) / (100 * float(epsilon) ** 2 * (means[0] - means[1]))

    def bounding(run: Run, alpha: float) -> Interval:
        return interval(run, setting, means, runs=_sixty(run), alpha=alpha)

    return leaf(f"local {means} {epsilon}", bounding, runs=_sixty, method=CUT_AND_CHARGED) / unit


def _sixty(run: Run) -> int:
    return int(run.choose(quick=60, full=1000))


rows.not_checkable(
    "CZ23-LB/all-algorithms",
    reason=(
        "Ω(K log T/ε) for every ε-DP algorithm, and the factor 1/ε² for every local one, are theorems of "
        "other papers about all algorithms; CZ23-LB has constructions, steps and this audit's algorithms"
    ),
)
