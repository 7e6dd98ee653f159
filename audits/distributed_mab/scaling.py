"""The scaling factor s: what it does to ξ, to ε(α) and to the message size (Remark 6)."""

from __future__ import annotations

import itertools
from fractions import Fraction

from audits.distributed_mab.gaussian_sums import xi
from audits.distributed_mab.renyi_privacy import theorem_2_final
from audits.inequalities import Inequality, Point, add_steps
from dpaudit.exact_functions import ceil_log2
from dpaudit.kernel.ball import arb, ball
from dpaudit.suite import Run, Suite
from mechanisms.parameter_sheet import skellam_sheet

__all__ = ["add_rows"]


def add_rows(suite: Suite) -> None:
    """The rows on the trade-off in s."""
    _trade_off(suite)


def _trade_off(suite: Suite) -> None:
    scales = (1, 2, 3, 5, 10, 30, 100)

    def modulus(s: int, epsilon: Fraction, n: int) -> int:
        return skellam_sheet(users=n, epsilon=epsilon, tail_prob=Fraction(1, 2**20), scale_factor=s).modulus

    def sheets(run: Run) -> list[Point]:
        return [
            {"s": s, "larger": t, "epsilon": Fraction(e), "n": n}
            for s, t in itertools.pairwise(scales)
            for e in ("1/10", "1", "5")
            for n in (2, 64, 2**15)
        ]

    add_steps(
        suite,
        "CZ23-R6",
        title="ξ tends to 0 and m grows as s grows",
        steps=[
            Inequality(
                name="ξ",
                text="ξ(s') <= e^{-9(s'² - s²)} ξ(s) for s < s'",
                left=lambda s, larger, terms: xi(Fraction(larger**2), terms),
                right=lambda s, larger, terms: xi(Fraction(s**2), terms) * ball(9 * (s**2 - larger**2)).exp(),
                points=lambda run: [
                    {"s": s, "larger": t, "terms": k}
                    for s, t in itertools.pairwise(scales)
                    for k in (1, 100, 2**19)
                ],
            ),
            Inequality(
                name="modulus",
                text="m(s) <= m(s') for s < s'",
                left=lambda s, larger, epsilon, n: ball(modulus(s, epsilon, n)),
                right=lambda s, larger, epsilon, n: ball(modulus(larger, epsilon, n)),
                points=sheets,
            ),
        ],
        about="Evaluate ξ and the sheets' moduli for consecutive scaling factors.",
        source="Remark 6",
        scope="s = 1, 2, 3, 5, 10, 30, 100; T up to 2^20, n up to 2^15",
        notes=["the slowest term of ξ is the first, exp(-π²s²): 9 < π²"],
    )
    add_steps(
        suite,
        "CZ23-S",
        title="Larger s: ε(α) falls to αε²/2 like 1/s, and a message grows by log₂ s bits or so",
        steps=[
            Inequality(
                name="privacy",
                text="ε(α)(s') <= ε(α)(s) for s < s'",
                left=lambda s, larger, epsilon, order: ball(
                    theorem_2_final(order, epsilon, Fraction(larger))
                    / theorem_2_final(order, epsilon, Fraction(s))
                ),
                right=lambda s, larger, epsilon, order: arb(1),
                points=lambda run: [
                    {"s": s, "larger": t, "epsilon": Fraction(e), "order": a}
                    for s, t in itertools.pairwise(scales)
                    for e in ("1/10", "1", "5")
                    for a in (2, 8, 64)
                ],
            ),
            Inequality(
                name="limit",
                text="ε(α) <= αε²/2 + 3ε²/(2s)",
                left=lambda s, epsilon, order: ball(
                    theorem_2_final(order, epsilon, Fraction(s))
                    / (order * epsilon**2 / 2 + 3 * epsilon**2 / (2 * s))
                ),
                right=lambda s, epsilon, order: arb(1),
                points=lambda run: [
                    {"s": s, "epsilon": Fraction(e), "order": a}
                    for s in scales
                    for e in ("1/10", "1", "5")
                    for a in (2, 8, 64)
                ],
            ),
            Inequality(
                name="bits",
                text="⌈log₂ m(s)⌉ <= ⌈log₂ m(1)⌉ + ⌈log₂ s⌉ + 1",
                left=lambda s, larger, epsilon, n: arb(ceil_log2(ball(modulus(larger, epsilon, n)))),
                right=lambda s, larger, epsilon, n: arb(
                    ceil_log2(ball(modulus(1, epsilon, n))) + ceil_log2(ball(larger)) + 1
                ),
                points=sheets,
            ),
        ],
        about="Evaluate Theorem 2's ε(α) and the message size of its sheet for consecutive scaling factors.",
        source="discussion of Theorem 2",
        scope="s from 1 to 100, ε = 1/10, 1, 5, orders 2, 8, 64, n up to 2^15",
    )
