"""Lemma 13, step by step (appendix G): how often a rival's noisy sum overtakes the best one's.

As printed, with Laplace(1/ε) on each sum, and with Laplace(2/ε), which replaced vectors need.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np

from dpaudit.core.claims import Ordering
from dpaudit.core.suite import Group, Run
from dpaudit.distributions.noisy_sums import (
    ROUNDING,
    bernoulli_difference,
    laplace_difference_tail,
    two_point_sum,
)
from dpaudit.kernel.ball import ball
from dpaudit.suite import Chain, Measured, Sides, Step, evidence, full, integers, on, over, reals, step, steps
from dpaudit.suite.tables import largest_of

__all__ = ["EPSILONS", "GAPS", "leader_error_ratios", "rows"]

rows = Group("Lemma 13: a rival's noisy sum")

GAPS = "1/1000 1/50 1/10 1/4 1/3 1/2 18/25 9/10 1"
EPSILONS = "1/100 1/10 1/2 1 2 8"

EPOCHS = over(
    r=(0, 2, 4, 6, 8, full(1, 3, 5, 7, 9, 10, 11)),
    gap=(0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0),
    epsilon=(0.01, 0.1, 0.5, 1.0, 2.0, 8.0),
)
CLAIM = Ordering(
    text="P(G̃_j − G̃_1 ≥ 0) ≤ 2 exp(−2^r Δ min{Δ, ε}/8)", quantity_name="probability / bound", claimed=1
)


@evidence(
    rows, "HHM-L13/repaired", "Lemma 13, appendix G", kind="tail", role="repaired", claim=CLAIM, noise=2
)
@evidence(rows, "HHM-L13", "Lemma 13, appendix G", kind="tail", claim=CLAIM, noise=1)
def leader_error(run: Run, noise: int) -> Measured:
    """A rival's noisy sum overtakes the best one's rarely, with Laplace({noise}/ε) on each sum

    Compare exact probabilities, distribution by distribution, with the printed bound. The sum of one epoch's
    differences is convolved exactly. The difference of two Laplace draws has the tail (2 + x) exp(-x)/4. One
    round's difference has one of these distributions, dependent ones included: two points, which by convexity
    of the tail is the worst distribution of a given mean for one round, or independent Bernoulli arms at the
    ends of their range.

    Note: the proof covers every distribution, not only these: its inequalities are HHM-L13/55
    """
    found = []
    for point in EPOCHS.at(run):
        name, ratio = max(leader_error_ratios(**point, noise=noise), key=lambda item: item[1])
        found.append([*point.values(), name, ratio])
    return largest_of(
        found,
        columns=["r", "Δ", "ε", "distribution", "probability / bound"],
        rounding=ROUNDING,
        method="exact convolution",
        scope=f"{EPOCHS.scope}; six distributions",
        samples=6,
    )


def leader_error_ratios(*, r: int, gap: float, epsilon: float, noise: float) -> list[tuple[str, float]]:
    """Return P(noisy sum of a rival >= noisy sum of the best) over 2 exp(-2^r gap min{gap, ε}/8), for each
    distribution.

    ``noise`` is the scale of one Laplace draw times ε (1 as printed, 2 repaired). The distributions of one
    round's difference are two points -1 and w (w = 0, 1/2, 1), and independent Bernoulli arms with the best
    mean at 1, in the middle, or at gap.
    """
    n = 2**r
    distributions = {f"W in {{-1, {w:g}}}": two_point_sum(n=n, gap=gap, high=w) for w in (0.0, 0.5, 1.0)}
    for best in {1.0, gap, (1 + gap) / 2}:
        distributions[f"Bernoulli, best mean {best:g}"] = bernoulli_difference(n=n, best=best, gap=gap)
    bound = 2 * np.exp(-n * gap * min(gap, epsilon) / 8)
    return [
        (name, float(distribution @ laplace_difference_tail(-values * epsilon / noise)) / bound)
        for name, (values, distribution) in distributions.items()
    ]


@step(over=over(x=tuple(Fraction(k, 16) for k in range(16 * 200))), prove=on(x=reals(0, None)))
def _union_bound_over_two_draws(x: Fraction) -> Sides:
    """P(ξ ≥ x) = (2 + x)e^−x/4 ≤ e^−x/2"""
    return (2 + ball(x)) * (-ball(x)).exp() / 4, (-ball(x) / 2).exp()


def _two_terms(gap: Fraction, epsilon: Fraction, n: int, noise: int) -> Chain:
    # Both sides divided by exp(-n gap min{gap, epsilon}/8), so that equality stays exact.
    mean = max(gap - epsilon, Fraction(0))
    draws = max(epsilon - gap, Fraction(0)) + (Fraction(2, noise) - 1) * epsilon
    return {
        "e^(−nΔ²/8) ≤ e^(−nΔ min{Δ, ε}/8)": ((-ball(n * gap * mean) / 8).exp(), 1),
        f"e^(−nΔε/{4 * noise}) ≤ e^(−nΔ min{{Δ, ε}}/8)": ((-ball(n * gap * draws) / 8).exp(), 1),
    }


@steps(rows, "HHM-L13/55/repaired", "App. G, from (55) on", role="repaired", kind="tail", noise=2)
@steps(rows, "HHM-L13/55", "App. G, from (55) on", role="step", kind="tail", noise=1)
def inequalities(noise: int) -> list[Step]:
    """The inequalities of Lemma 13's proof, with noise Laplace({noise}/ε)

    Compute the two inequalities below (55) that are not Hoeffding's. In units of the noise's scale, the
    difference of two draws reaches x = 2^r gap ε/2 with probability (2 + x) exp(-x)/4, at most exp(-x/2) for
    every x >= 0: the union bound over the two draws. With Laplace(2/ε), x halves and the two exponents are
    equal, so the printed bound needs no other constant.
    """
    sum_of_two = Step(
        name="sum of the two terms",
        text=f"e^(−nΔ²/8) + e^(−nΔε/{4 * noise}) ≤ 2 e^(−nΔ min{{Δ, ε}}/8), n = 2^r, term by term",
        sides=partial(_two_terms, noise=noise),
        over=over(gap=GAPS, epsilon=EPSILONS, n=(1, 2, 2**4, 2**10, 2**20)),
        prove=on(gap=reals(0, 1, "(]"), epsilon=reals(0, None, "()"), n=integers(1, None)),
    )
    return [_union_bound_over_two_draws, sum_of_two]
