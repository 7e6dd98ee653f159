"""Lemma 11, step by step (appendix C): the basis of Anytime-Lazy-UCB's regret bound.

Each printed inequality is restated with all its constants and computed at corners, at the experiments' own
parameters and at small horizons. A step that is false as printed is followed by a step that holds in its
place.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from dpaudit.core.claims import Ordering
from dpaudit.core.exact_functions import ceil_log2, ln, log2
from dpaudit.core.suite import Group, Run
from dpaudit.distributions.noisy_sums import ROUNDING, binomial_laplace_tail
from dpaudit.kernel.ball import ball
from dpaudit.suite import (
    Chain,
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
from dpaudit.suite.tables import largest_of

__all__ = ["INSTANCES", "LEVELS", "double_sum", "rows", "threshold"]

rows = Group("Lemma 11: the arrays of Anytime-Lazy-UCB")

#: Horizons: the smallest, the experiments' own 2 * 2^21, and larger ones.
PARAMETERS = {
    "T": (2, 3, 10, 1000, 2**16, 2**22, 10**12),
    "gap": "1/1000 1/100 1/20 1/8 1/4 1/2 3/5 9/10 1",
    "epsilon": "1/100 1/10 1/4 1/2 1 8 64 128 4096",
}
INSTANCES = over(**PARAMETERS)
#: Levels s = d_j + 1, d_j + 2, d_j + 9, with the instance's critical level d_j.
LEVELS = over(**PARAMETERS, levels_above=(1, 2, 9))


def threshold(T: int, gap: Fraction, epsilon: Fraction) -> Any:
    """Return 24 ln T/(Δ min{Δ, ε})."""
    return 24 * ln(T) / ball(gap * min(gap, epsilon))


@cache
def critical_level(T: int, gap: Fraction, epsilon: Fraction) -> int:
    """Return d_j of Lemma 11: the ceiling of log(24 ln T/(Δ min{Δ, ε}))."""
    return ceil_log2(threshold(T, gap, epsilon))


# Eq. (18)


PULLS = over(pulls=range(2, 2**12))


@inequality(
    rows, "HHM-L11/18/first-pull", "App. C, (18)", role="what-if", expect="refuted", over=PULLS, counted="all"
)
@inequality(rows, "HHM-L11/18", "App. C, (18)", role="step", over=PULLS, counted="all but the first")
def filled_arrays(pulls: int, counted: str) -> Sides:
    """An arm's pulls fit its arrays: O_j(T) ≤ ω_j(θ_j), with {counted} of the pulls counted

    Compare the pulls of an arm with the arrays that they fill. The first pull fills array 0, so O pulls end
    in array θ = ⌊log O⌋. ω(θ) = 2 + 4 + ... + 2^θ leaves array 0 out. The sentence before (18) excepts the
    pull in the initialisation phase.

    Note: with the first pull counted, Theorem 3's bound grows by one pull per arm
    """
    return pulls - (counted != "all"), 2 ** pulls.bit_length() - 2


# The critical level


@inequality(
    rows, "HHM-L11/ceiling", "App. C, first lines of the proof", role="step", expect="refuted", over=INSTANCES
)
def critical_level_as_printed(T: int, gap: Fraction, epsilon: Fraction) -> Sides:
    """2^d_j ≤ 2 log(24 ln T/(Δ min{Δ, ε})): the critical level's power of two is at most twice a logarithm

    Compute d_j, the ceiling of log(24 ln T/(Δ min{Δ, ε})), and compare it with the printed bound.

    Refuted: a misprint. The bounds without the outer logarithm hold, and (27) uses these bounds
    """
    return 2 ** critical_level(T, gap, epsilon), 2 * threshold(T, gap, epsilon).log() / ball(2).log()


@inequality(
    rows, "HHM-L11/ceiling/repaired", "App. C, first lines of the proof", role="repaired", over=INSTANCES
)
def critical_level_repaired(T: int, gap: Fraction, epsilon: Fraction) -> Chain:
    """The critical level's power of two lies between 24 ln T/(Δ min{Δ, ε}) and twice that

    Theorem 3 needs the third inequality.
    """
    power, least = 2 ** critical_level(T, gap, epsilon), threshold(T, gap, epsilon)
    return {
        "24 ln T/(Δ min{Δ, ε}) ≤ 2^d_j": (least, power),
        "2^d_j ≤ 2·24 ln T/(Δ min{Δ, ε})": (power, 2 * least),
        "ω_j(d_j) ≤ 96 ln T/(Δ min{Δ, ε})": (2 * power - 2, 4 * least),
    }


# Eqs. (22) to (27)


@evidence(
    rows,
    "HHM-L11/22-24",
    "App. C, (22)-(24); App. E, (40)-(42)",
    role="step",
    claim=Ordering(
        text="if (22), (23) and (24) all fail, then μ̄_j(t) < μ̄_1(t); the same for (40), (41) and (42)",
        quantity_name="coefficients in which the two sides of the identity differ",
        claimed=0,
    ),
)
def trichotomy(run: Run) -> Measured:
    """If a suboptimal arm's index reaches the best arm's, one of three events happens (Lemmas 11 and 12)

    Check the linear identity that proves the step, coefficient by coefficient. Let x be a noisy mean and R
    its whole radius. With (22) failing, x_j - mu_j - R_j < 0; with (23), mu_1 - R_1 - x_1 < 0; with (24), R_j
    - (mu_1 - mu_j)/2 <= 0. With multipliers 1, 1 and 2 these add up to (x_j + R_j) - (x_1 + R_1).

    Note: this holds for every radius, including Hybrid-UCB's
    """
    names = ("x_j", "R_j", "x_1", "R_1", "mu_j", "mu_1")
    failing = np.array([[1, -1, 0, 0, -1, 0], [0, 0, -1, -1, 0, 1], [0, 1, 0, 0, 0.5, -0.5]])
    differs = int(np.count_nonzero(np.array([1, 1, 2]) @ failing - np.array([1, 1, -1, -1, 0, 0])))
    return Measured(
        low=differs,
        high=differs,
        samples=len(names),
        method="exact linear identity with non-negative multipliers 1, 1, 2",
        scope="all real noisy means, radii and means: the identity is linear",
    )


ROUNDS = np.array([2, 3, 10, 100, 10**4, 10**6])
MEANS = over(
    r=(0, 2, 4, 6, 8, 10, full(1, 3, 5, 7, 9, 11, 12)),
    mean=(0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99),
    epsilon=(0.01, 0.1, 0.5, 1.0, 8.0, 128.0),
)


@evidence(
    rows,
    "HHM-L11/25-26",
    "App. C, (25), (26): O(1/t³), here with constant 1",
    kind="tail",
    role="step",
    claim=Ordering(
        text="P(μ̃ ≥ μ + √(ln t³/n) + ln t³/(εn)) ≤ 1/t³, and the same below, for n = 2^r ≤ t and t ≥ 2",
        quantity_name="t³ · probability",
        claimed=1,
    ),
)
def noisy_means(run: Run) -> Measured:
    """A noisy mean leaves its radius with probability at most 1/t³

    Compare the exact tails of a Binomial sum plus one Laplace draw, on both sides, with 1/t³. Rewards are
    Bernoulli, with means at and near 0 and 1. The lower tail of mean m is the upper tail of mean 1 - m.

    Proof: ½/t³ for the noise and 1/t⁶ for the mean (Hoeffding), at most 1/t³ for t >= 2
    """
    found = [row for point in MEANS.at(run) for row in tail_ratios(**point)]
    return largest_of(
        found,
        columns=["n", "mean", "ε", "t", "t³ · P"],
        rounding=ROUNDING,
        method="exact sums over the Binomial distribution",
        scope=f"n = 2^r: {MEANS.scope}; t in {ROUNDS.tolist()}",
    )


def tail_ratios(r: int, mean: float, epsilon: float) -> list[list[float]]:
    """Return [n, mean, ε, t, t³ P(the noisy mean of n = 2^r rewards is beyond its radius)] for each t >=
    n."""
    n, t = 2**r, ROUNDS[2**r <= ROUNDS]
    log_cube = 3 * np.log(t)
    thresholds = n * mean + np.sqrt(n * log_cube) + log_cube / epsilon
    tails = binomial_laplace_tail(n=n, mean=mean, thresholds=thresholds, scale=1 / epsilon)
    return [[n, mean, epsilon, int(a), float(p) * float(a) ** 3] for a, p in zip(t, tails, strict=True)]


@inequality(
    rows,
    "HHM-L11/27",
    "App. C, (27)",
    role="step",
    over=over(ratio="1/100000 1/100 1/4 1 4 100 1000000", times="1 3/2 2 512"),
    prove=on(ratio=reals(0, None, "()"), times=reals(1, None)),
)
def radius(ratio: Fraction, times: Fraction) -> Chain:
    """From the critical level on, the radius is below half the gap

    Let m = min{Δ, ε} and 2^(s−1) = times · 24 ln T/(Δm), with times ≥ 1 for s ≥ d_j + 1. Then ln T³/2^(s−1)
    is Δm/(8 times), and both summands of the radius over Δ depend only on times and on ratio = ε/Δ. Compare
    each with its value at times = 1, and the sum with 1/2.

    Proof: the third line is √(Δm/8) + Δm/(8ε) with m = min{Δ, ε}, at most (1/√8 + 1/8)Δ = 0.479 Δ for all
    parameters
    """
    near, far = ball(min(Fraction(1), ratio)) / 8, 1 / (8 * ball(max(Fraction(1), ratio)))
    return {
        "√(ln T³/2^(s−1)) ≤ the same with 24 ln T/(Δ min{Δ, ε}) for 2^(s−1)": (
            (near / ball(times)).sqrt(),
            near.sqrt(),
        ),
        "ln T³/(ε2^(s−1)) ≤ the same with 24 ln T/(Δ min{Δ, ε}) for 2^(s−1)": (far / ball(times), far),
        "… < Δ/2": (near.sqrt() + far, Fraction(1, 2)),
    }


# Eq. (28) and the lemma

#: T = ω + 3 is the first horizon at which the event of (21) can happen with two arms.
SUMS = over(s=(6, 8, 10), end=("ω + 3", "2ω", "4ω"))


def _start_and_end(s: int, end: str) -> tuple[int, int]:
    start = 2**s - 2
    return start, {"ω + 3": start + 3, "2ω": 2 * start, "4ω": 4 * start}[end]


def _sum_of_squares(start: int, end: int) -> Any:
    """Return 1/start² + ... + 1/end²."""
    total = ball(0)
    for t in range(start, end + 1):
        total += 1 / ball(t) ** 2
    return total


LENGTHS = tuple(2**s - 2 for s in range(2, 65))


@step("(28), lines 5-6", over=over(start=LENGTHS), prove=on(start=integers(2, None)))
def _whole_series(start: int) -> Chain:
    """Σ_{t≥ω} 1/t² ≤ 2/ω, ω = ω(s−1) = start: the terms telescope"""
    omega = ball(start)
    return {
        "1/t² ≤ 1/(t−1) − 1/t, at t = start": (1 / omega**2, 1 / (omega - 1) - 1 / omega),
        "Σ_{t≥ω} 1/t² ≤ 1/(ω−1) ≤ 2/ω": (1 / (omega - 1), 2 / omega),
    }


@step(over=over(before=LENGTHS), prove=on(before=integers(2, None)))
def _ratio_of_lengths(before: int) -> Sides:
    """ω(r+1)/ω(r) ≤ 3 for r ≥ 1, before = ω(r)"""
    return ball(2 * before + 2) / before, 3


@steps(rows, "HHM-L11/28", "App. C, (28): O(.), here with constant 2", role="step")
def last_lines() -> list[Step]:
    """The sum of 1/t² from ω on is at most 2/ω, and lengths grow at most threefold

    Compare each term of the series with one of a telescoping series, for every t ≥ 2. The sum over all t ≥ ω
    is then at most 1/(ω−1). This suffices for the chain of (28), which is an O(.).
    """
    return [_whole_series, _ratio_of_lengths]


@inequality(
    rows, "HHM-L11/28/one-constant", "App. C, (28) without O(.)", role="sharper", expect="refuted", over=SUMS
)
def integral(s: int, end: str) -> Sides:
    """Σ_{t=ω}^T 1/t² ≤ ∫_ω^T dt/t²: line 5 of (28) with one constant on both sides

    Compare the sum with the integral between the same ends.

    Refuted: the sum of a decreasing function from t = ω on exceeds its integral from ω on. The paper's O(.)
    allows for this (HHM-L11/28)
    """
    start, horizon = _start_and_end(s, end)
    return _sum_of_squares(start, horizon), 1 / ball(start) - 1 / ball(horizon)


def double_sum(power: int) -> Any:
    """Bound the sum over t >= 2^s - 2 of floor(log t) 2/t³ from above, power = 2^s.

    Terms below 2^s are added exactly. The block from 2^p to 2^(p+1) - 1 is at most its first term plus an
    integral, 2p (8^-p + (3/8) 4^-p). Forty blocks are bounded in this way, and the rest by a geometric
    series.
    """
    s, n = log2(power), ball(power)
    head = 2 * (s - 1) / (n - 2) ** 3 + 2 * (s - 1) / (n - 1) ** 3
    blocks = sum(2 * (s + i) * (1 / (8**i * n**3) + 3 / (8 * 4**i * n**2)) for i in range(40))
    # From p = s + 40 on, 2p (8^-p + 3/8 4^-p) <= 3p 4^-p. These terms at least halve each time, so their sum
    # is at most twice the first.
    return head + blocks + 6 * (s + 40) / (4**40 * n**2)


@inequality(
    rows,
    "HHM-L11",
    "Lemma 11; App. C, (21)-(28), O(1) with constant 1",
    over=over(power=tuple(2**s for s in range(6, 65))),
    prove=on(power=integers(2**6, None)),
)
def lemma(power: int) -> Sides:
    """P{θ_j = s} ω_j(s) ≤ ω(s) Σ_{t≥ω(s−1)} ⌊log t⌋ · 2/t³ ≤ 1 for every s ≥ d_j + 1

    Add up the failure probabilities of (25) and (26), 1/t³ each, over all t >= ω(s-1) and all floor(log t)
    arrays of the best arm, with power = 2^s. d_j is at least 5 for every T >= 2, since 24 ln T/(Δ min{Δ,
    ε}) >= 24 ln 2 > 16: levels start at s = 6.

    Note: the lemma gives more than O(1): ω(s) P{θ_j = s} is O(log ω/ω), a sum over s that converges
    """
    return (2 * power - 2) * double_sum(power), 1
