"""The proof of Theorem 7, step by step (appendix G): from (56) to the explicit sums, and to the two printed
forms.

Brackets: J_k holds the actions with 2^(k-1) gap_min <= gap < 2^k gap_min, and D = 2^(k-1) gap_min is its
smallest possible gap; m = D min{D, epsilon}. The theorem's two printed forms are in ``theorem_7_forms``.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from audits.inequalities import Inequality, Point, add_steps
from audits.private_online_learning.lemma_13 import EPSILONS, GAPS
from dpaudit.exact_functions import ceil_log2, ln
from dpaudit.kernel.ball import arb, ball
from dpaudit.suite import Run, Suite

__all__ = ["add_rows"]

BRACKETS = (1, 2, 3, 4, 10, 50, 51, 64, 255, 1000, 10**6)
SCOPE = f"brackets of {BRACKETS} actions, D from {GAPS[0]} to 1, epsilon from {EPSILONS[0]} to {EPSILONS[-1]}"


def add_rows(suite: Suite) -> None:
    """(56) and what follows, up to the explicit sums of (57)."""
    _series(suite)
    _chosen_epoch(suite)
    _explicit(suite)


def _tail_series(r0: int, alpha: Fraction) -> Any:
    """The sum over r >= r0 of 2^r exp(-2^r alpha), enclosed: terms until 2^r alpha > 200, and twice the
    next one."""
    total, r = arb(0), r0
    while 2**r * alpha <= 200:
        total += 2**r * (-ball(2**r * alpha)).exp()
        r += 1
    return total + 2 * 2**r * (-ball(2**r * alpha)).exp() * arb(0).union(arb(1))


def _series(suite: Suite) -> None:
    alphas = [Fraction(a) for a in ("1/1000000", "1/8000", "1/100", "1/8", "1/4", "1/2")]

    def points(run: Run) -> Iterator[Point]:
        return ({"r0": r0, "alpha": alpha} for r0 in range(26) for alpha in alphas)

    def closed(r0: int, alpha: Fraction) -> Any:
        return 2 * (-ball(Fraction(2**r0, 2) * alpha)).exp() / (1 - (-ball(alpha)).exp())

    add_steps(
        suite,
        "HHM-T7/56",
        title="The series of (56) is at most 4 exp(−2^(r0−1) α)/α",
        steps=[
            Inequality(
                name="display after (56)",
                text="Σ_{r≥r0} 2^r e^(−2^r α) ≤ 2 e^(−2^(r0−1) α)/(1 − e^−α)",
                left=_tail_series,
                right=closed,
                points=points,
            ),
            Inequality(
                name="its last line",
                text="2 e^(−2^(r0−1) α)/(1 − e^−α) ≤ 4 e^(−2^(r0−1) α)/α for α ≤ 1/2",
                left=closed,
                right=lambda r0, alpha: 4 * (-ball(Fraction(2**r0, 2) * alpha)).exp() / ball(alpha),
                points=points,
            ),
            Inequality(
                name="the fact it uses",
                text="e^−x ≤ 1 − x/2 on [0, 1]",
                left=lambda x: (-ball(x)).exp(),
                right=lambda x: 1 - ball(x) / 2,
                points=lambda run: ({"x": Fraction(k, 256)} for k in range(257)),
            ),
        ],
        about="""Add up the series with a bound on its rest and hold it against each line of the display
        after (56).

        The display splits 2^r into two halves of 2^(r-1) terms, which needs r >= 1; the inequality itself
        holds from r0 = 0 on, as the grid shows.""",
        source="Appendix G, eq. (56) and the display after it",
        scope="r0 = 0..25, α from 1e-6 to 1/2; x in steps of 1/256",
    )


def _brackets(run: Run) -> Iterator[Point]:
    for size in BRACKETS:
        for gap in GAPS:
            for eps in EPSILONS:
                yield {"size": size, "gap": gap, "eps": eps}


def _several(run: Run) -> Iterator[Point]:
    yield from (point for point in _brackets(run) if point["size"] > 1)
    # The smallest bracket that fails: 51 actions, with 8 ln 51/m just above a power of two.
    yield {"size": 51, "gap": Fraction(1), "eps": Fraction(4914, 10_000)}


def _chosen(size: int, gap: Fraction, eps: Fraction) -> int:
    """r0 as printed: the ceiling of log(8 ln|J_k|/m), plus 1; 0 where |J_k| = 1 makes that logarithm minus
    infinity."""
    if size == 1:
        return 0
    return max(0, ceil_log2(8 * ln(size) / ball(gap * min(gap, eps))) + 1)


def _chosen_epoch(suite: Suite) -> None:
    def left(size: int, gap: Fraction, eps: Fraction) -> Any:
        r0, m = _chosen(size, gap, eps), gap * min(gap, eps)
        return ball(2 ** (r0 + 1)) + 128 * size * (-ball(Fraction(2**r0, 16) * m)).exp() / ball(m)

    def right(size: int, gap: Fraction, eps: Fraction, constant: int) -> Any:
        return (constant * ln(size) + 128) / ball(gap * min(gap, eps))

    about = """Put r0 = ceil(log(8 ln|J_k|/m)) + 1 into the bound that holds for every r0, and hold it
    against the printed result.

    2^(r0+1) is 32 ln|J_k|/m only without the ceiling, and up to twice that with it. The second summand
    gives back at most 128/m, so that the printed 32 fails for brackets of 51 actions or more, at unlucky m.
    With 64 in its place, and with r0 = 0 where |J_k| = 1 (the printed r0 is minus infinity there), the step
    holds, and so does the end of the proof: 2 D (64 ln|J_k| + 128)/m <= 256 (1 + ln|J_k|)/min{D, epsilon}."""
    for suffix, constant, points, expect in (
        ("", 32, _several, "refuted"),
        ("-repaired", 64, _brackets, "verified"),
    ):
        steps = [
            Inequality(
                name="the choice of r0",
                text=f"2^(r0+1) + 128|J_k| e^(−2^(r0−1) m/8)/m ≤ ({constant} ln|J_k| + 128)/m",
                left=left,
                right=lambda size, gap, eps, constant=constant: right(size, gap, eps, constant),
                points=points,
            )
        ]
        if suffix:
            steps.append(
                Inequality(
                    name="what (57) needs",
                    text="2(64 ln|J_k| + 128) ≤ 256(1 + ln|J_k|)",
                    left=lambda size, gap, eps: 128 * ln(size) + 256,
                    right=lambda size, gap, eps: 256 * (1 + ln(size)),
                    points=points,
                )
            )
        add_steps(
            suite,
            f"HHM-T7/r0{suffix}",
            title=f"The chosen r0 costs at most ({constant} ln|J_k| + 128)/m",
            steps=steps,
            about=about,
            source="Appendix G, the two displays before the sum (57)",
            scope=f"{SCOPE}{'' if suffix else '; two actions or more'}",
            expect=expect,
        )


def _sum(values: Any) -> Any:
    total = arb(0)
    for value in values:
        total += value
    return total


def _explicit(suite: Suite) -> None:
    def points(run: Run) -> Iterator[Point]:
        for first in ("1/1000", "1/64", "1/10", "1/2", "1"):
            most = int((1 / Fraction(first)).__floor__()).bit_length()
            for count in range(1, most + 1):
                for size in (1, 2, 64):
                    for rest in (1, size):
                        for eps in EPSILONS:
                            yield {
                                "first": Fraction(first),
                                "brackets": count,
                                "size": size,
                                "rest": rest,
                                "eps": eps,
                            }

    def pieces(first: Fraction, brackets: int, size: int, rest: int) -> list[tuple[Fraction, Any]]:
        return [(2**k * first, 256 * (1 + ln(rest if k else size))) for k in range(brackets)]

    def left(first: Fraction, brackets: int, size: int, rest: int, eps: Fraction) -> Any:
        return _sum(cost / ball(min(gap, eps)) for gap, cost in pieces(first, brackets, size, rest))

    def middle(first: Fraction, brackets: int, size: int, rest: int, eps: Fraction) -> Any:
        costs = pieces(first, brackets, size, rest)
        return _sum(cost / ball(gap) for gap, cost in costs) + _sum(
            cost / ball(eps) for gap, cost in costs if gap > eps
        )

    def right(first: Fraction, brackets: int, size: int, rest: int, eps: Fraction) -> Any:
        rivals = size + (brackets - 1) * rest
        private = _sum(cost / ball(eps) for gap, cost in pieces(first, brackets, size, rest) if gap > eps)
        return 512 * (1 + ln(rivals)) / ball(first) + private

    add_steps(
        suite,
        "HHM-T7/57",
        title="The explicit sums at the end of Theorem 7's proof",
        kind="regret",
        measure="left - right",
        steps=[
            Inequality(
                name="(57) to 512",
                text=(
                    "Σ_k 256(1 + ln|J_k|)/min{Δ_(k), ε} ≤ 512(1 + ln(K−1))/Δ_min + Σ_{Δ_(k)>ε} 256(1 + "
                    "ln|J_k|)/ε"
                ),
                left=left,
                right=right,
                points=points,
            ),
            Inequality(
                name="(57) split, to 512",
                text="Σ_k 256(1 + ln|J_k|)/Δ_(k) + Σ_{Δ_(k)>ε} … ≤ the same",
                left=middle,
                right=right,
                points=points,
            ),
        ],
        about="""Compute the sums of (57) on bracket structures: one to ten brackets of 1, 2 or 64 actions,
        or one large one and single ones.

        Every bracket counts once, also where it holds a single action: 1 + ln|J_k| = 1.""",
        source="Appendix G, eq. (57) and the display after it",
        scope="smallest gaps from 1/1000 to 1, every number of brackets that fits below gap 1, six epsilons",
    )
