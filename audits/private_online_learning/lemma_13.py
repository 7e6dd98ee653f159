"""Lemma 13, step by step (appendix G): how often a rival's noisy sum overtakes the best one's.

As printed, with Laplace(1/epsilon) on each sum, and with Laplace(2/epsilon), which replaced vectors need.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from audits.inequalities import Inequality, Point, add_steps
from audits.private_online_learning.noisy_sums import (
    bernoulli_difference,
    laplace_difference_tail,
    two_point_sum,
)
from dpaudit.claims import Ordering
from dpaudit.evidence import Estimate
from dpaudit.kernel.ball import ball
from dpaudit.plots import table
from dpaudit.suite import Outcome, Row, Run, Suite

__all__ = ["EPSILONS", "GAPS", "add_rows", "leader_error_ratios"]

#: Floats: the exact sums of positive terms below are right to better than this.
ROUNDING = 1e-9
GAPS = tuple(Fraction(g) for g in ("1/1000", "1/50", "1/10", "1/4", "1/3", "1/2", "18/25", "9/10", "1"))
EPSILONS = tuple(Fraction(e) for e in ("1/100", "1/10", "1/2", "1", "2", "8"))


def add_rows(suite: Suite) -> None:
    """Lemma 13 for both noises, and the inequalities of its proof."""
    _lemma(suite)
    _lemma_steps(suite)


def leader_error_ratios(*, r: int, gap: float, eps: float, noise: float) -> list[tuple[str, float]]:
    """P(noisy sum of a rival >= noisy sum of the best) over 2 exp(-2^r gap min{gap, eps}/8), law by law.

    ``noise`` is the scale of one Laplace draw times eps (1 as printed, 2 repaired). Laws of one round's
    difference: two points -1 and w (w = 0, 1/2, 1), and independent Bernoulli arms with the best mean at 1,
    in the middle, at gap.
    """
    n = 2**r
    laws = {f"W in {{-1, {w:g}}}": two_point_sum(n=n, gap=gap, high=w) for w in (0.0, 0.5, 1.0)}
    for best in {1.0, gap, (1 + gap) / 2}:
        laws[f"Bernoulli, best mean {best:g}"] = bernoulli_difference(n=n, best=best, gap=gap)
    bound = 2 * np.exp(-n * gap * min(gap, eps) / 8)
    return [
        (name, float(law @ laplace_difference_tail(-values * eps / noise)) / bound)
        for name, (values, law) in laws.items()
    ]


def _lemma(suite: Suite) -> None:
    for id_, noise, words in (
        ("HHM-L13", 1, "Laplace(1/ε), as printed"),
        ("HHM-L13/repaired", 2, "Laplace(2/ε)"),
    ):

        def evaluate(run: Run, noise: int = noise) -> Outcome:
            """Exact probabilities, law by law, against the printed bound.

            The sum of one epoch's differences is convolved exactly; the difference of two Laplace draws has
            the tail (2 + x) exp(-x)/4. Laws of one round's difference, dependent ones included: two points,
            where the convexity of the tail puts the worst law of a given mean for one round, and
            independent Bernoulli arms at the ends of their range.
            """
            rows = []
            for r in run.choose(quick=range(0, 9, 2), full=range(12)):
                for gap in (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0):
                    for eps in (0.01, 0.1, 0.5, 1.0, 2.0, 8.0):
                        found = leader_error_ratios(r=r, gap=gap, eps=eps, noise=noise)
                        name, ratio = max(found, key=lambda item: item[1])
                        rows.append([r, gap, eps, name, ratio])
            worst = max(row[-1] for row in rows)
            estimate = Estimate(
                quantity="probability / bound",
                lower=worst * (1 - ROUNDING),
                upper=worst * (1 + ROUNDING),
                confidence=1.0,
                samples=6 * len(rows),
                method="exact convolution",
                scope="r = 0..8 (quick) or 11, gaps from 0.01 to 1, epsilon from 0.01 to 8, six laws",
                covers_claim=True,
            )
            top = sorted(rows, key=lambda row: -row[-1])[:12]
            picture = table(
                title="Largest probability / bound", columns=["r", "Δ", "ε", "law", "ratio"], rows=top
            )
            note = "the proof covers every law, not only these: its inequalities are HHM-L13/55"
            return Outcome([estimate], [note], plots=[picture], samples=6 * len(rows))

        suite.add(
            Row(
                id=id_,
                title=f"A rival's noisy sum overtakes the best one's rarely ({words})",
                kind="tail",
                claim=Ordering(
                    text="P(G̃_j − G̃_1 ≥ 0) ≤ 2 exp(−2^r Δ min{Δ, ε}/8)",
                    quantity_name="probability / bound",
                    claimed=1,
                ),
                evaluate=evaluate,
                source="Lemma 13, appendix G",
            )
        )


def _lemma_steps(suite: Suite) -> None:
    def offsets(run: Run) -> Iterator[Point]:
        return ({"x": Fraction(k, 16)} for k in range(16 * 200))

    def exponents(run: Run) -> Iterator[Point]:
        for gap in GAPS:
            for eps in EPSILONS:
                for r in (0, 1, 4, 10, 20):
                    yield {"n": 2**r, "gap": gap, "eps": eps}

    def tail(x: Fraction) -> Any:
        return (2 + ball(x)) * (-ball(x)).exp() / 4

    def total(n: int, gap: Fraction, eps: Fraction, noise: int) -> Any:
        # Both sides divided by exp(-n gap min{gap, eps}/8), so that equality stays exact.
        common = n * gap * min(gap, eps) / 8
        return (ball(common - n * gap * gap / 8)).exp() + (ball(common - n * gap * eps / (4 * noise))).exp()

    about = """Compute the two inequalities below (55) that are not Hoeffding's.

    In units of the noise's scale the difference of two draws reaches x = 2^r gap epsilon/2 with probability
    (2 + x) exp(-x)/4, at most exp(-x/2) for every x >= 0: the union bound over the two draws. With
    Laplace(2/epsilon), x halves and the two exponents meet: the printed bound needs no other constant."""
    for id_, noise in (("HHM-L13/55", 1), ("HHM-L13/55-repaired", 2)):
        add_steps(
            suite,
            id_,
            title=f"The inequalities of Lemma 13's proof, with noise Laplace({noise}/ε)",
            kind="tail",
            steps=[
                Inequality(
                    name="union bound over two draws",
                    text="P(ξ ≥ x) = (2 + x)e^−x/4 ≤ e^−x/2",
                    left=tail,
                    right=lambda x: (-ball(x) / 2).exp(),
                    points=offsets,
                ),
                Inequality(
                    name="sum of the two terms",
                    text=f"e^(−nΔ²/8) + e^(−nΔε/{4 * noise}) ≤ 2 e^(−nΔ min{{Δ, ε}}/8)",
                    left=lambda n, gap, eps, noise=noise: total(n, gap, eps, noise),
                    right=lambda n, gap, eps: ball(2),
                    points=exponents,
                ),
            ],
            about=about,
            source="Appendix G, eq. (55) and the three displays after it",
            scope="x in steps of 1/16 up to 200; gaps and epsilons of the grid, r up to 20",
        )
