"""Lemma 12's noise, step by step (appendix E.3): Fact 2, the union bound of (43), and what it is needed
for.

In units of 2/epsilon a full array carries one Laplace draw of scale 1, a node of the tree on 2^r leaves one
draw of scale r. The level s has ω(s) = 2^(s+1) - 1 pulls behind it; logarithms are base 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from audits.inequalities import Inequality, Point, add_steps
from audits.private_online_learning.hybrid_steps import critical_level
from dpaudit.exact_functions import larger, ln, log2
from dpaudit.kernel.ball import arb, ball
from dpaudit.suite import Run, Suite

__all__ = ["add_rows", "laplace_sum_tail"]

#: Chernoff's exponent for sums of Laplace draws of scale 1; any number in (0, 1) is valid.
TILT = Fraction(4, 5)


def add_rows(suite: Suite) -> None:
    """Fact 2; (43) and (44) with the conditions below (43)."""
    _fact(suite)
    _split(suite)
    _conditions(suite)
    _all_prefixes(suite)


def laplace_sum_tail(n: int, x: Any) -> Any:
    """P(Z_1 + ... + Z_n >= x) as a ball, for independent Laplace draws of scale 1 and a ball x >= 0.

    The density is exp(-x) times a polynomial: a sum of Gamma tails with positive weights
    C(n-1+k, k) 2^-(n+k), k = 0..n-1, of shape n - k.
    """
    total, shape_tail, power = arb(0), arb(0), arb(1)
    tails = []
    for j in range(n):
        shape_tail += power  # 1 + x + ... + x^j/j!: the Gamma tail of shape j + 1, without exp(-x)
        tails.append(shape_tail)
        power = power * x / (j + 1)
    for k in range(n):
        total += ball(Fraction(math.comb(n - 1 + k, k), 2 ** (n + k))) * tails[n - 1 - k]
    return total * (-x).exp()


def _fact(suite: Suite) -> None:
    def points(run: Run) -> Iterator[Point]:
        for n in (1, 2, 3, 4, 8, 16, 22, 64):
            for delta in (
                "999/1000",
                "1/2",
                "1/10",
                "1/1000",
                "1/10000000000",
                "1/1000000000000000000000000",
            ):
                yield {"n": n, "delta": Fraction(delta)}

    def left(n: int, delta: Fraction) -> Any:
        half = ln(2 / delta)
        chi = larger(ball(n).sqrt(), half.sqrt())
        return 2 * laplace_sum_tail(n, chi * (8 * half).sqrt())

    add_steps(
        suite,
        "HHM-L12/fact-2",
        title="Sums of Laplace draws: the tail bound of Fact 2",
        kind="tail",
        steps=[
            Inequality(
                name="(7)",
                text="P(|Z_1 + … + Z_n| > χ√(8 ln(2/δ))) ≤ δ for χ > b max{√n, √ln(2/δ)}",
                left=left,
                right=lambda n, delta: ball(delta),
                points=points,
            )
        ],
        about="""Compute the exact two-sided tail of a sum of n Laplace draws (a mixture of Gamma tails) at
        the smallest admitted χ.

        The tail falls in χ, so that the smallest χ decides. The scale b cancels.""",
        source="Fact 2, eq. (7) (Chan, Shi and Song 2011, Corollary 2.9)",
        scope="n up to 64, δ from 0.999 to 1e-24",
    )


def _experiment_levels(run: Run) -> Iterator[Point]:
    """The levels that the paper's own experiments can reach: T = 2 * 2^21, s <= log T, the gaps of settings
    1-3."""
    for gap in ("1/20", "1/8", "1/4", "3/8", "1/2", "3/5"):
        for eps in ("1/10", "1/4", "1/2", "1", "8", "64", "128"):
            first = critical_level(2**22, Fraction(gap), Fraction(eps)) + 1
            yield from ({"s": s, "t": 2**s + 4} for s in range(first, 23))


def _split_sides(s: int, t: int, share: Fraction) -> tuple[Any, Any]:
    """P(F + B >= X) and P(F >= share X) + P(B >= share X), both times 2 exp(X/b), as enclosures.

    In units of 2/epsilon: F is the sum of n = s - 1 Laplace draws of scale 1, B one draw of scale b = s - 1
    (the root of the full tree), X = 3√8 log t s, half of the allowance 6√8 log t s/epsilon times epsilon.
    B's tail at y is at most exp(-y/b)/2, with equality for y >= 0. Hence P(F + B >= X) is exp(-X/b)/2 times
    E exp(F/b), less at most E[exp(F/b); F > X], and Chernoff's bound with exponent ``TILT`` covers that
    part and the tail of F.
    """
    n = b = s - 1
    x = 3 * ball(8).sqrt() * log2(t) * s
    whole = (1 - ball(Fraction(1, b * b))) ** (-n)
    cost = (1 - ball(TILT * TILT)) ** (-n)
    beyond = cost * (-(ball(TILT) - ball(Fraction(1, b))) * x).exp()
    far = 2 * cost * ((ball(Fraction(1, b)) - ball(share * TILT)) * x).exp()
    near = (ball(Fraction(1, b)) * x * ball(1 - share)).exp()
    return whole - beyond * ball(0).union(arb(1)), near + far * ball(0).union(arb(1))


def _split(suite: Suite) -> None:
    about = """Hold P(F + B >= X) against P(F >= X) + P(B >= X) at levels that the paper's own experiments
    reach.

    X = 6√8 log t s/epsilon is the whole allowance of (40). A union bound would give X/2 to each of the two
    noises; (43) prints 3√8 log t s/(0.5 epsilon), which is X again. F is the arrays' noise, B the full
    tree's root. Both sides are enclosed: the left by the moment generating function of F, the tail of F by
    Chernoff's bound. The repaired row leaves that line out: the next one, with s - 1 in place of s, is
    large enough."""
    shared: dict[str, Any] = {
        "about": about,
        "kind": "tail",
        "source": "Appendix E, eq. (43)",
        "scope": "T = 2^22, the gaps of settings 1-3 and the seven epsilons, every level from d_j "
        "+ 1 to log T, t = 2^s + 4",
    }
    add_steps(
        suite,
        "HHM-L12/43",
        title="The union bound over the two noises gives each of them the whole allowance",
        steps=[
            Inequality(
                name="(43), line 2",
                text="P(F + B ≥ 6√8 log t·s/ε) ≤ P(F ≥ 3√8 log t·s/(0.5ε)) + P(B ≥ 3√8 log t·s/(0.5ε))",
                left=lambda s, t: _split_sides(s, t, Fraction(1))[0],
                right=lambda s, t: _split_sides(s, t, Fraction(1))[1],
                points=_experiment_levels,
            )
        ],
        expect="refuted",
        notes=[
            "with half the allowance for each noise, Fact 2 gives no 1/t⁴ for the tree: δ = 2/t^a needs "
            "a < (1.5/ln 2) s/(s−1), about 2.2, and the double sum of (48) needs more than 3; HHM-L12/44 "
            "bounds both noises together instead",
        ],
        **shared,
    )
    add_steps(
        suite,
        "HHM-L12/43-repaired",
        title="The two noises together stay within the allowance as often as the last line of (43) needs",
        steps=[
            Inequality(
                name="(43), line 1 to line 3",
                text=(
                    "P(F + B ≥ 6√8 log t·s/ε) ≤ P(F ≥ 3√8 log t·(s−1)/(0.5ε)) + P(B ≥ 3√8 log t·(s−1)/(0.5ε))"
                ),
                left=lambda s, t: _split_sides(s, t, Fraction(s - 1, s))[0],
                right=lambda s, t: _split_sides(s, t, Fraction(s - 1, s))[1],
                points=_experiment_levels,
            )
        ],
        **shared,
    )


def _conditions(suite: Suite) -> None:
    def points(run: Run) -> Iterator[Point]:
        for s in (9, 10, 14, 22, 40, 64):
            for t in (2**s, 2**s + 4, 4**s):
                yield {"s": s, "t": t}

    def root_of_log_fourth(t: int) -> Any:
        return (4 * ln(t)).sqrt()

    def chi(s: int, t: int) -> Any:
        return 3 * log2(t) / root_of_log_fourth(t)

    add_steps(
        suite,
        "HHM-L12/43-conditions",
        title="The conditions under which (43) applies Fact 2, and its total",
        steps=[
            Inequality(
                name="χ of the arrays",
                text="max{√(s−1), √ln t⁴} < √8 log(t³)(s−1)/√(8 ln t⁴)",
                left=lambda s, t: larger(ball(s - 1).sqrt(), root_of_log_fourth(t)),
                right=lambda s, t: (s - 1) * chi(s, t),
                points=points,
            ),
            Inequality(
                name="χ of the tree",
                text="max{√(s−1), √ln t⁴} < √8 log(t³)/√(8 ln t⁴)",
                left=lambda s, t: larger(ball(s - 1).sqrt(), root_of_log_fourth(t)),
                right=chi,
                points=points,
            ),
            Inequality(
                name="levels and rounds",
                text="s − 1 < log(2^s − 1)",
                left=lambda s, t: ball(s - 1),
                right=lambda s, t: log2(2**s - 1),
                points=points,
            ),
            Inequality(
                name="levels and rounds",
                text="log(2^s − 1) < log t for t ≥ ω(s−1) + 1",
                left=lambda s, t: log2(2**s - 1),
                right=lambda s, t: log2(t),
                points=points,
            ),
            Inequality(
                name="logarithms",
                text="4 ln t < 3 log t",
                left=lambda s, t: 4 * ln(t),
                right=lambda s, t: 3 * log2(t),
                points=points,
            ),
            Inequality(
                name="(43), line 4",
                text="1/t⁸ + 2/t⁴ + 2/t⁴ ≤ 5/t⁴",
                left=lambda s, t: ball(Fraction(1, t**8) + Fraction(4, t**4)),
                right=lambda s, t: ball(Fraction(5, t**4)),
                points=points,
            ),
        ],
        about="""Compute each condition that the text below (43) states, at levels s from 9 (the smallest
        d_j + 1) to 64 and rounds from 2^s on.

        (39) also sums over t = ω(s-1) itself, where log(2^s - 1) < log t is an equality; arm j can be
        pulled there only K rounds later.""",
        source="Appendix E, text below eq. (43)",
        scope="s from 9 to 64, t = 2^s, 2^s + 4, 4^s",
    )


def _all_prefixes(suite: Suite) -> None:
    def points(run: Run) -> Iterator[Point]:
        for r in range(65):
            first = max(2**r + 1, 3)
            for t in (first, 2 * first, first**3):
                yield {"r": r, "t": t}

    def left(r: int, t: int) -> Any:
        allowance = 3 * ball(8).sqrt() * log2(t)
        mean = (-6 * log2(t)).exp()
        if r == 0:  # one observation: one draw of scale 2/epsilon against 6√8 log t/epsilon
            return mean + (-allowance).exp() / 2
        tree = (1 - ball(TILT * TILT)) ** (-r)
        arrays = (1 - ball(TILT * TILT / (r * r))) ** (-r)
        return mean + tree * arrays * (-ball(TILT) * allowance).exp()

    add_steps(
        suite,
        "HHM-L12/44",
        title="Every private mean of Hybrid-UCB leaves its radius with probability at most 1/t⁴",
        kind="tail",
        steps=[
            Inequality(
                name="(43), (44)",
                text=(
                    "P(μ̃_h off by √(3 log t/h) + 6√8 log t ⌊log(h+1)⌋/(εh), upwards or downwards) ≤ "
                    "1/t⁴ for every h < t"
                ),
                left=left,
                right=lambda r, t: ball(Fraction(1, t**4)),
                points=points,
            )
        ],
        about="""Bound both noises together, for every number h of observations in [2^r, 2^(r+1)), with no
        union bound between them.

        Such a mean holds r arrays (scale 2/epsilon) and at most r nodes of the tree on 2^r leaves (scale
        2r/epsilon), and its allowance is at least 6√8 log t r/epsilon. Chernoff's bound with exponent 4/5
        in units of the nodes' scale, plus Hoeffding's exp(-6 log t) for the mean. The bound grows with the
        number of nodes and falls in t > h, so that r nodes and t = 2^r + 1 are the worst case.""",
        source="Appendix E, eqs. (43), (44): O(1/t⁴), here with constant 1",
        scope="r = 0..64, t from 2^r + 1 on (at least 3)",
        notes=["this is what (43) and (44) need, whatever becomes of the union bound (HHM-L12/43)"],
    )
