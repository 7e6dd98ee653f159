"""Theorem 7: its proof step by step (appendix G), from (56) to the explicit sums (57), and a comparison of
its two printed forms (without constants) with FTNL's exact regret.

Brackets: J_k holds the actions with 2^(k-1) Δ_min <= gap < 2^k Δ_min; gap is the smallest possible gap of a
bracket, and m = gap min{gap, ε}. Both forms lose two terms that (57) keeps: a bracket with a single action,
and the bracket that exists even if the smallest gap is 1.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from audits.private_online_learning.rows.lemma_13 import EPSILONS, GAPS
from dpaudit.core.claims import RegretBound
from dpaudit.core.exact_functions import ceil_log2, ln, log2
from dpaudit.core.plots import Plot, curves, series
from dpaudit.core.suite import Group, Run
from dpaudit.kernel.ball import arb, ball, lower, precision, upper
from dpaudit.suite import (
    Chain,
    Measured,
    Sides,
    Step,
    evidence,
    inequality,
    integers,
    listed,
    on,
    over,
    reals,
    step,
    steps,
)

__all__ = ["point_mass_regret", "rows", "tail_series"]

rows = Group("Theorem 7: FTNL's regret")


# The series of (56)


def tail_series(r0: int, alpha: Fraction) -> Any:
    """Enclose the sum over r >= r0 of 2^r exp(-2^r alpha): the terms until 2^r alpha > 200, and twice the
    next term."""
    total, r = arb(0), r0
    while 2**r * alpha <= 200:
        total += 2**r * (-ball(2**r * alpha)).exp()
        r += 1
    return total + 2 * 2**r * (-ball(2**r * alpha)).exp() * arb(0).union(arb(1))


@step(over=over(r0=range(26), alpha="1/1000000 1/8000 1/100 1/8 1/4 1/2"))
def _display_after_56(r0: int, alpha: Fraction) -> Chain:
    """Σ_{r≥r0} 2^r e^(−2^r α) ≤ 4 e^(−2^(r0−1) α)/α"""
    head = (-ball(Fraction(2**r0, 2) * alpha)).exp()
    closed = 2 * head / (1 - (-ball(alpha)).exp())
    return {
        "Σ_{r≥r0} 2^r e^(−2^r α) ≤ 2 e^(−2^(r0−1) α)/(1 − e^−α)": (tail_series(r0, alpha), closed),
        "2 e^(−2^(r0−1) α)/(1 − e^−α) ≤ 4 e^(−2^(r0−1) α)/α for α ≤ 1/2": (closed, 4 * head / ball(alpha)),
    }


@step("the fact it uses", over=over(x=tuple(Fraction(k, 256) for k in range(257))), prove=on(x=reals(0, 1)))
def _fact(x: Fraction) -> Sides:
    """e^−x ≤ 1 − x/2 on [0, 1]"""
    return (-ball(x)).exp(), 1 - ball(x) / 2


@steps(rows, "HHM-T7/56", "App. G, (56) and the display after it", role="step")
def geometric_series() -> list[Step]:
    """The series of (56) is at most 4 exp(−2^(r0−1) α)/α

    Add up the series with a bound on its rest and compare it with each line of the display after (56). The
    display splits 2^r into two halves of 2^(r-1) terms, which needs r >= 1. The inequality itself holds from
    r0 = 0 on, as the grid shows.
    """
    return [_display_after_56, _fact]


# The choice of r0

CHOICE = "App. G, the displays before (57)"
SEVERAL = over(size=(2, 3, 4, 10, 50, 51, 64, 255, 1000, 10**6), gap=GAPS, epsilon=EPSILONS)
#: All m = gap min{gap, ε} of the same gaps and ε.
_PAIRS = itertools.product(map(Fraction, GAPS.split()), map(Fraction, EPSILONS.split()))
PRODUCTS = tuple(sorted({gap * min(gap, epsilon) for gap, epsilon in _PAIRS}))
#: The smallest bracket that fails has 51 actions, with 8 ln 51/m just above a power of two.
UNLUCKY = listed("size gap epsilon", (51, 1, "4914/10000"))


def _epoch(size: int, m: Fraction) -> int:
    """Return r0 = ceil(log(8 ln|J_k|/m)) + 1 for two actions or more. It is positive, since m <= 1."""
    return ceil_log2(8 * ln(size) / ball(m)) + 1


@inequality(rows, "HHM-T7/r0", CHOICE, role="step", expect="refuted", over=SEVERAL + UNLUCKY, constant=32)
def chosen_epoch(size: int, gap: Fraction, epsilon: Fraction, constant: int) -> Sides:
    """2^(r0+1) + 128|J_k| e^(−2^(r0−1) m/8)/m ≤ ({constant} ln|J_k| + 128)/m at the chosen r0

    Put r0 = ceil(log(8 ln|J_k|/m)) + 1 into the bound that holds for every r0, and compare it with the
    printed result, for brackets of two actions or more.

    Refuted: 2^(r0+1) is 32 ln|J_k|/m only without the ceiling, and up to twice that with it. The second
    summand compensates for at most 128/m, so the printed 32 fails for brackets of 51 actions or more, at
    unfavourable m
    """
    m = gap * min(gap, epsilon)
    power = 2 ** _epoch(size, m)
    left = 2 * power + 128 * size * (-ball(Fraction(power, 16) * m)).exp() / ball(m)
    return left, (constant * ln(size) + 128) / ball(m)


@step("|J_k| = 1", over=over(m=PRODUCTS), prove=on(m=reals(0, 1, "(]")))
def _one_action(m: Fraction) -> Sides:
    """2m + 128 e^(−m/16) ≤ 128 with r0 = 0, both sides times m"""
    return 2 * ball(m) + 128 * (-ball(m) / 16).exp(), 128


@step(
    "|J_k| ≥ 2",
    over=over(size=(2, 3, 4, 10, 50, 51, 64, 255, 1000, 10**6), m=PRODUCTS),
    prove=on(size=integers(2, None), part=reals(1, 2)),
)
def _several_actions(size: int, m: Fraction = Fraction(1), part: Fraction | None = None) -> Chain:
    """2^(r0+1) m + 128|J_k| e^(−2^(r0−1) m/8) ≤ 64 ln|J_k| + 128, summand by summand; on a range, for 2^r0 m
    = part · 16 ln|J_k| with 1 ≤ part ≤ 2, as the ceiling gives"""
    level = ln(size)
    epoch = ball(2 ** _epoch(size, m) * m) if part is None else 16 * ball(part) * level
    return {
        "2^(r0+1) m ≤ 64 ln|J_k|": (2 * epoch, 64 * level),
        "128|J_k| e^(−2^(r0−1) m/8) ≤ 128": (128 * size * (-epoch / 16).exp(), 128),
        "2(64 ln|J_k| + 128) ≤ 256(1 + ln|J_k|)": (128 * level + 256, 256 * (1 + level)),
    }


@steps(rows, "HHM-T7/r0/repaired", CHOICE, role="repaired")
def chosen_epoch_repaired() -> list[Step]:
    """The chosen r0 costs at most (64 ln|J_k| + 128)/m

    With 64 in place of 32, and with r0 = 0 if |J_k| = 1 (the printed r0 is then minus infinity), the step
    holds, and so does the end of the proof: 2 gap (64 ln|J_k| + 128)/m <= 256 (1 + ln|J_k|)/min{gap, ε}. Here
    m is gap min{gap, ε}, at most 1.
    """
    return [_one_action, _several_actions]


# The explicit sums (57)


def _fits(first: Fraction, brackets: int, size: int, rest: int, epsilon: Fraction) -> bool:
    return 2 ** (brackets - 1) * first <= 1 and rest in (1, size)


BRACKETS = over(
    first="1/1000 1/64 1/10 1/2 1", brackets=range(1, 11), size=(1, 2, 64), rest=(1, 2, 64), epsilon=EPSILONS
).where(_fits, "brackets below gap 1; the brackets after the first as large as it, or single actions")


def _sum(values: Iterable[Any]) -> Any:
    return sum(values, arb(0))


@inequality(
    rows, "HHM-T7/57", "App. G, (57)", kind="regret", role="step", measure="left - right", over=BRACKETS
)
def explicit_sums(first: Fraction, brackets: int, size: int, rest: int, epsilon: Fraction) -> Chain:
    """The explicit sums at the end of Theorem 7's proof

    Compute the sums of (57) on bracket structures. Every bracket counts once, also a bracket with a single
    action: 1 + ln|J_k| = 1.
    """
    pieces = [(2**k * first, 256 * (1 + ln(rest if k else size))) for k in range(brackets)]
    whole = _sum(cost / ball(min(gap, epsilon)) for gap, cost in pieces)
    private = _sum(cost / ball(epsilon) for gap, cost in pieces if gap > epsilon)
    bound = 512 * (1 + ln(size + (brackets - 1) * rest)) / ball(first) + private
    return {
        "Σ_k 256(1 + ln|J_k|)/min{Δ_(k), ε} ≤ 512(1 + ln(K−1))/Δ_min + Σ_{Δ_(k)>ε} 256(1 + ln|J_k|)/ε": (
            whole,
            bound,
        ),
        "Σ_k 256(1 + ln|J_k|)/Δ_(k) + Σ_{Δ_(k)>ε} … ≤ the same": (
            _sum(cost / ball(gap) for gap, cost in pieces) + private,
            bound,
        ),
    }


# The two printed forms


def point_mass_regret(*, epsilon: Fraction, gap: Fraction, epochs: int, noise: int = 1) -> Any:
    """Return FTNL's exact regret, as a ball, on two actions with constant rewards 1 and 1 - gap, action 1
    being the better one.

    After an epoch of n = 2^r rounds the worse action leads with probability (2 + x) exp(-x)/4, x = n gap
    epsilon/noise; ``epochs`` epochs, 2^epochs - 1 rounds.
    """
    total = arb(0)
    for r in range(epochs - 1):
        x = ball(2**r * gap * epsilon / noise)
        total += ball(gap * 2 ** (r + 1)) * (2 + x) * (-x).exp() / 4
    return total


#: The constant that we choose for Theorem 7's two printed forms, and the instance.
CONSTANT, EPSILON, EPOCHS = 10**6, Fraction(1, 10**8), 40


def _form(text: str) -> RegretBound:
    return RegretBound(
        text=f"regret of FTNL ≤ {text}, C = 10^6; two actions always pay 1 and 0, ε = 10^-8, T = 2^40 − 1",
        quantity_name="regret / bound",
        claimed=1,
        constants=(("C", str(CONSTANT)), ("epsilon", str(EPSILON)), ("T", str(2**EPOCHS - 1))),
    )


@evidence(
    rows,
    "HHM-T7/second-form",
    "Theorem 7, second bound",
    expect="refuted",
    claim=_form("C·(log K/Δ_min + log K min{log(1/Δ_min), log T}/ε)"),
    form="second",
    fails="it fails only at Δ_min = 1, and so close to it that log(1/Δ_min) all but vanishes: for Δ_min ≤ "
    "1/2 that logarithm is half the number of brackets or more, and (57) gives the form",
)
@evidence(
    rows,
    "HHM-T7/first-form",
    "Theorem 7, first bound",
    expect="refuted",
    claim=_form("C·(log K/Δ_min + Σ_{|J_k|>0, Δ_(k)>ε} log|J_k|/ε)"),
    form="first",
    fails="with 1 + log|J_k| for log|J_k| it holds (HHM-T7/first-form/repaired)",
)
def printed_form(run: Run, form: str, fails: str) -> Measured:
    """Theorem 7's {form} printed form bounds FTNL's regret at Δ_min = 1, one rival

    Compute FTNL's exact regret on two actions that always pay 1 and 0, and compare it with the printed form
    with a named constant. Here K = 2, Δ_min = 1, and there is one bracket with one action: log|J_1| = 0 and
    log(1/Δ_min) = 0, so both printed forms are C for every ε. Theorem 10 itself demands 0.0098 ln 2/ε. The
    proof's own sum (57) keeps 1 + ln|J_k|.

    Note: refuted for every constant: the regret grows like 2.2/ε, while both printed forms stay at C; {fails}
    """
    with precision(160):
        exact = point_mass_regret(epsilon=EPSILON, gap=Fraction(1), epochs=EPOCHS) / CONSTANT
    return Measured(
        low=lower(exact),
        high=upper(exact),
        method="closed form in balls",
        scope="K = 2, rewards always (1, 0), printed noise Laplace(1/ε), ε = 10^-8, T = 2^40 - 1",
        plots=[_picture()],
    )


def _picture() -> Plot:
    grid = [10.0**-k for k in range(9)]
    exact = [point_mass_regret(epsilon=Fraction(1, 10**k), gap=Fraction(1), epochs=EPOCHS) for k in range(9)]
    return curves(
        title="FTNL on two actions that always pay 1 and 0: regret against the bounds",
        series=[
            series(name="exact regret", x=grid, y=[float(regret.mid()) for regret in exact]),
            series(name="both printed forms, C = 1", x=grid, y=[1.0] * 9, dashed=True),
            series(name="(57): 256/min{1, ε}", x=grid, y=[256 / e for e in grid], dashed=True),
        ],
        x_title="ε",
        y_title="regret",
        x_log=True,
        y_log=True,
    )


TINY = (*(Fraction(1, 10**k) for k in range(9)), 8)


def _single_bracket(gap: Fraction, epsilon: Fraction, noise: int) -> Sides:
    return point_mass_regret(epsilon=epsilon, gap=gap, epochs=64, noise=noise), 256 / ball(min(gap, epsilon))


@steps(rows, "HHM-T7/single-brackets", "App. G, the sum before (57)", kind="regret", role="step")
def single_brackets() -> list[Step]:
    """The proof's own sum bounds FTNL's regret on one bracket of one action

    Compute FTNL's exact regret on two actions that always pay 1 and 1 - gap, over 2^64 - 1 rounds, and
    compare it with the sum at the end of the proof. The points include the instance on which both printed
    forms fail. Replaced vectors need twice the noise for ε-DP.
    """
    return [
        Step(
            name=f"noise Laplace({noise}/ε)",
            text="regret ≤ 256(1 + ln 1)/min{Δ, ε}",
            sides=_single_bracket,
            over=over(gap="1/1000 1/10 1/2 1", epsilon=TINY, noise=noise),
        )
        for noise in (1, 2)
    ]


LAST = "App. G, last paragraph of the proof"
FIRST = over(first="1 3/4 1/2 3/10 1/4 1/10 1/1000 1/1024")


@inequality(rows, "HHM-T7/brackets", LAST, role="step", expect="refuted", measure="left - right", over=FIRST)
def bracket_count(first: Fraction) -> Sides:
    """⌊log(1/Δ_min)⌋ + 1 ≤ log(1/Δ_min): the number of non-empty brackets

    Count the brackets that gaps up to 1 can fill, and compare the count with log(1/Δ_min). Bracket k fits if
    2^(k-1) Δ_min <= 1. Without a 1 on the right side (HHM-T7/brackets/repaired), the second printed form of
    Theorem 7 fails at Δ_min = 1.
    """
    return (1 // first).bit_length(), log2(1 / first)


@inequality(
    rows,
    "HHM-T7/brackets/repaired",
    LAST,
    role="repaired",
    measure="left - right",
    over=over(brackets=(1, 2, 3, 4, 10, 11), share="1 1000/1024 3/4 3/5 1/2 1/1000"),
    prove=on(brackets=integers(1, None), share=reals(0, 1, "(]")),
)
def bracket_count_repaired(brackets: int, share: Fraction) -> Sides:
    """⌊log(1/Δ_min)⌋ + 1 ≤ log(1/Δ_min) + 1: the number of non-empty brackets

    The last bracket k fits if 2^(k-1) Δ_min <= 1. Compare each such number k = brackets with log(1/Δ_min) +
    1, where 2^(k-1) Δ_min = share, so that log(1/Δ_min) is k - 1 - log(share).
    """
    return ball(brackets), brackets - log2(share)
