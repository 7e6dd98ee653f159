"""Corners of the regret theorems: the experiments' own p on extreme means, and small batches of LDP-SE."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from dpaudit.core.claims import RegretRate
from dpaudit.core.exact_functions import ln
from dpaudit.core.plots import table
from dpaudit.core.suite import Group, Run
from dpaudit.kernel.ball import arb, ball
from dpaudit.reference.algorithms.mab.batched_regret import Setting, cut_of, shape_value
from dpaudit.reference.algorithms.mab.decoded_exits import CONVOLUTION, Exit, exits, regret_between
from dpaudit.reference.algorithms.mab.simulated_regret import interval
from dpaudit.reference.mechanisms.parameter_sheet import local_laplace_sheet
from dpaudit.suite import Measured, Sides, evidence, inequality, over

__all__ = ["rows"]

rows = Group("Regret: the experiments' p, and small batches")

#: The experiments' p.
EXPERIMENT = Fraction(1, 10)
#: C, the same round number as for the rates of Theorems 1 to 6.
CONSTANT = 10_000
MEANS = (1.0, 0.75)
EXPONENTS = (16, 20, 24, 30, 40, 60)

Elsewhere = tuple[tuple[float, float], str, int, float]


def rate_claim(p: str) -> RegretRate:
    """Return the claim of Theorem 1's rate on two arms of means 1 and 3/4, with the theorem's p or
    another."""
    return RegretRate(
        text=(
            f"Dist-DP-SE with p = {p}, ε = 1, two Bernoulli arms of means 1 and 3/4: E Reg(T) <= C (log T/Δ "
            f"+ K log T/ε) for T = 2^16..2^60, C = {CONSTANT}"
        ),
        quantity_name="regret / rate",
        claimed=CONSTANT,
        constants=(("C", str(CONSTANT)),),
    )


def _setting(epsilon: Fraction, exponent: int, *, p: Fraction | None) -> Setting:
    return Setting(name="dist_dp_se", epsilon=epsilon, n_arms=2, horizon=2**exponent, failure_prob=p)


def _gone(found: Sequence[Exit]) -> float:
    return sum(one.reached * one.best for one in found)


@evidence(
    rows,
    "CZ23-T1R/experiment-p",
    "section 6 (p = 0.1) with Theorem 1",
    claim=rate_claim("1/10"),
    role="what-if",
    expect="refuted",
)
def experiment(run: Run) -> Measured:
    """Theorem 1's rate with p = 1/10, as in the experiments, at means 1 and 3/4

    Compute the exact distribution of both arms' decoded means batch by batch, wraps of the modulus included.
    The best arm always pays 1, so its sum lies at the upper end n g of the range. Noise above τ, of
    probability near p/4, leaves the window and the analyzer subtracts m, so the decoded mean is near 0. Once
    β(b) is small enough, this alone eliminates the best arm. The theorem takes p = 1/T, and this then costs
    O(log T).

    Note: the paper does not claim this. Theorem 1 takes p = 1/T, and Lemma 2 may fail with probability 3p.
    The experiments run with p = 1/10

    Note: repair: p = 1/T, as in the theorem (CZ23-T1R/theorem-p)
    """
    found = exits(_setting(Fraction(1), 60, p=EXPERIMENT), MEANS, batches=11)
    ends = {exponent: regret_between(found, gap=0.25, horizon=2**exponent) for exponent in EXPONENTS}
    rates = {e: shape_value(_setting(Fraction(1), e, p=EXPERIMENT), MEANS) for e in EXPONENTS}
    elsewhere, gone = _elsewhere(run), _gone(found)
    inner = [chance for means, _, _, chance in elsewhere if min(means) >= 0.25 and max(means) <= 0.75]
    regrets = table(
        title="Expected regret at p = 1/10, means 1 and 3/4, ε = 1",
        columns=["T", "at least", "at most", "at least / rate"],
        rows=[[f"2^{e}", low, high, low / rates[e]] for e, (low, high) in ends.items()],
    )
    return Measured(
        low=max(low / rates[e] for e, (low, _) in ends.items()),
        high=max(high / rates[e] for e, (_, high) in ends.items()),
        samples=len(ends),
        method="exact distribution of both decoded means of every batch (float convolution, wraps included)",
        scope="means 1 and 3/4, ε = 1, p = 1/10, T = 2^16, ..., 2^60",
        notes=[
            f"the best arm is eliminated with probability {gone:.4f}, by wraps: "
            f"regret is {gone * 0.25:.4f} T",
            "at means within [1/4, 3/4], as in the experiments, this probability is at most "
            f"{max(0.0, *inner, CONVOLUTION):.1g} in the table, so the experiments do not show the failure",
        ],
        plots=[regrets, _where(elsewhere)],
    )


def _elsewhere(run: Run) -> list[Elsewhere]:
    """Return means, ε, a number of batches, and the probability that one of these batches eliminates the best
    arm."""
    cells = [(MEANS, "1", 11), ((0.25, 0.0), "1", 11), ((0.75, 0.5), "1", 11), ((1.0, 0.5), "1", 9)]
    cells += run.choose(
        quick=[],
        full=[
            (MEANS, "1/10", 13),
            (MEANS, "4", 10),
            ((1.0, 0.9), "1", 14),
            ((0.1, 0.0), "1", 14),
            ((0.75, 0.7), "1/10", 15),
            ((0.75, 0.5), "1/10", 13),
        ],
    )
    return [
        (means, e, batches, _gone(exits(_setting(Fraction(e), 60, p=EXPERIMENT), means, batches=batches)))
        for means, e, batches in cells
    ]


def _where(elsewhere: Sequence[Elsewhere]) -> dict[str, Any]:
    """Return the probability that the best arm is eliminated, on other instances."""
    return table(
        title="P(the best arm is eliminated) at p = 1/10, exact",
        columns=["means", "ε", "batches", "probability"],
        rows=[
            [str(means), epsilon, batches, gone if gone > CONVOLUTION else f"below {CONVOLUTION}"]
            for means, epsilon, batches, gone in elsewhere
        ],
    )


@evidence(
    rows,
    "CZ23-T1R/theorem-p",
    "Theorem 1; repair of CZ23-T1R/experiment-p",
    claim=rate_claim("1/T"),
    role="repaired",
    repairs="CZ23-T1R/experiment-p",
)
def theorem(run: Run) -> Measured:
    """With p = 1/T, as in Theorem 1, the rate holds at means 1 and 3/4

    Use the rigorous bound for this instance as the upper bound and simulation as the lower bound, at the same
    horizons.
    """
    runs = run.choose(quick=60, full=1000)
    low = high = 0.0
    for exponent in EXPONENTS:
        setting = _setting(Fraction(1), exponent, p=None)
        rate, cut = shape_value(setting, MEANS), cut_of(setting, MEANS)
        high = max(high, (cut.cap + cut.excess) / rate)
        found = interval(run, setting, MEANS, runs=runs, alpha=run.alpha / len(EXPONENTS))
        low = max(low, found.low / rate)
    return Measured(
        low=low,
        high=high,
        samples=runs * len(EXPONENTS),
        method="Lemma 2's argument with constants from above; batch simulation and bets from below",
        scope="means 1 and 3/4, ε = 1, p = 1/T, T = 2^16, ..., 2^60",
        exact=False,
    )


@inequality(
    rows,
    "CZ23-T6R/small-batches",
    "proof of Theorem 6",
    kind="regret",
    role="step",
    over=over(
        log2_T=(2, 3, 5, 12, 24, 60, 200), epsilon="1/1000 1/10 1/2 99/100", c="1 8/5 3", b=range(1, 12)
    ).where(lambda log2_T, epsilon, c, b: 2**b <= 2 * (log2_T + 1) * math.log(2), "2^b <= 2 log(2T)"),
)
def small_batches(log2_T: int, epsilon: Fraction, c: Fraction, b: int) -> Sides:
    """LDP-SE: in a batch with l(b) <= 2 log(2T) no arm can be eliminated: 1 + 2τ/(g l(b)) <= 2β(b), two
    active arms

    Lemma 5's tail bound needs l(b) >= 2 log(2/p). The proof of Theorem 6 counts the cost of smaller batches,
    but does not say why the best arm survives them. Decoded means lie in [-τ/(g n), 1 + τ/(g n)]. This row
    compares this range with the distance 2β(b) at which an arm is eliminated, p = 1/T.

    Note: this closes a gap in the printed proof. More active arms only make β(b) larger

    Proof: sampling gives 2 √(log(4|Φ|b²T)/(2l)) >= 1, and τ/(g l) <= c√(2l log(2T))/(εl) + 1/(gl), which the
    noise's part of β(b) covers, since g >= ε√l
    """
    n, squares = 2**b, 2 * b * b * 2**log2_T
    sheet = local_laplace_sheet(
        users=n, epsilon=epsilon, tail_prob=Fraction(1, 2**log2_T), laplace_sum_constant=c
    )
    sigma = (ball(c) * ball(2 * n).sqrt() + arb(2).sqrt()) / ball(epsilon)
    radius = (ln(4 * squares) / (2 * n)).sqrt() + sigma * ln(2 * squares).sqrt() / n
    return 1 + Fraction(2 * sheet.noise_margin, sheet.precision * n), 2 * radius
