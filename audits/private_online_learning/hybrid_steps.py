"""Lemma 12, step by step (appendix E.3): what the regret of Hybrid-UCB rests on.

Logarithms are base 2 where the paper says so: d_j is the ceiling of log(max{256 log T/gap², A log A}) with
A = 256 log T/(epsilon gap). The level s has ω(s) = 2^(s+1) - 1 pulls behind it.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from audits.inequalities import Inequality, Point, add_steps
from audits.private_online_learning.proof_steps import SCOPE, instances
from dpaudit.exact_functions import ceil_log2, larger, log2
from dpaudit.kernel.ball import ball
from dpaudit.suite import Run, Suite

__all__ = ["add_rows", "critical_level"]


def add_rows(suite: Suite) -> None:
    """Eqs. (45)-(48) and the lemma in explicit constants; (40)-(42) stand with Lemma 11."""
    _first_radius(suite)
    _monotone(suite)
    _second_radius(suite)
    _lemma(suite)
    _length(suite)


def _a(T: int, gap: Fraction, eps: Fraction) -> Any:
    return 256 * log2(T) / ball(gap * eps)


def _a_log_a(T: int, gap: Fraction, eps: Fraction) -> Any:
    a = _a(T, gap, eps)
    return a * log2(a)


def _largest(T: int, gap: Fraction, eps: Fraction) -> Any:
    return larger(256 * log2(T) / ball(gap * gap), _a_log_a(T, gap, eps))


def critical_level(T: int, gap: Fraction, eps: Fraction) -> int:
    """d_j of Lemma 12. Where A < 1 the logarithm log A is negative and the other term of the maximum
    counts."""
    return ceil_log2(_largest(T, gap, eps))


def _levels(run: Run) -> Iterator[Point]:
    for point in instances(run):
        first = critical_level(**point) + 1  # type: ignore[arg-type]  # the grid's own exact numbers
        for s in (first, first + 1, first + 8):
            yield {**point, "s": s}


def _first_radius(suite: Suite) -> None:
    add_steps(
        suite,
        "HHM-L12/45",
        title="From the critical level on, the first term of the radius is below √3/16 of the gap",
        steps=[
            Inequality(
                name="(45), first <",
                text="√(3 log T/ω(s−1)) < √(3 log T/2^(s−1))",
                left=lambda T, gap, eps, s: (3 * log2(T) / (2**s - 1)).sqrt(),
                right=lambda T, gap, eps, s: (3 * log2(T) / 2 ** (s - 1)).sqrt(),
                points=_levels,
            ),
            Inequality(
                name="(45), whole",
                text="√(3 log T/ω(s−1)) < √3Δ/16",
                left=lambda T, gap, eps, s: (3 * log2(T) / (2**s - 1)).sqrt(),
                right=lambda T, gap, eps, s: ball(3).sqrt() * ball(gap) / 16,
                points=_levels,
            ),
        ],
        about=(
            "Compute both sides of (45) at every level from d_j + 1 on, with t = T, where the left side "
            "is largest."
        ),
        source="Appendix E, eq. (45)",
        scope=SCOPE,
    )


def _z(T: int, gap: Fraction, eps: Fraction) -> Any:
    return log2(_a_log_a(T, gap, eps))


def _where_defined(run: Run) -> Iterator[Point]:
    """Instances with A > 1, where z_j = log(A log A) is a number, and one with A = 5/4, an epsilon above
    the experiments'."""
    for point in _levels(run):
        if _a(point["T"], point["gap"], point["eps"]) > 1:  # type: ignore[arg-type]
            yield point
    corner: dict[str, Any] = {"T": 2**10, "gap": Fraction(1), "eps": Fraction(2048)}
    yield {**corner, "s": critical_level(**corner) + 1}


def _common(run: Run) -> Iterator[Point]:
    """Instances with A log A >= 4, so that z_j >= 2, where x/2^x falls."""
    for point in _levels(run):
        if _a_log_a(point["T"], point["gap"], point["eps"]) >= 4:  # type: ignore[arg-type]
            yield point


def _monotone(suite: Suite) -> None:
    def steps(points: Any) -> list[Inequality]:
        return [
            Inequality(
                name="(46), first <",
                text="s/2^s < z_j/2^z_j, z_j = log(A log A), A = 256 log T/(εΔ)",
                left=lambda T, gap, eps, s: ball(Fraction(s, 2**s)),
                right=lambda T, gap, eps, s: _z(T, gap, eps) / _a_log_a(T, gap, eps),
                points=points,
            ),
            Inequality(
                name="(46), ≤",
                text="z_j/2^z_j ≤ εΔ/(128 log T)",
                left=lambda T, gap, eps, s: _z(T, gap, eps) / _a_log_a(T, gap, eps),
                right=lambda T, gap, eps, s: ball(eps * gap) / (128 * log2(T)),
                points=points,
            ),
        ]

    about = """Compute both inequalities of (46).

    x/2^x falls only from x = 1/ln 2 on (the paper takes x >= 2), and nothing in the proof makes z_j that
    large: for epsilon gap near 256 log T the number A = 256 log T/(epsilon gap) is near 1, z_j = log(A log
    A) is negative, and for A <= 1 it is no number at all."""
    shared: dict[str, Any] = {"about": about, "source": "Appendix E, eq. (46)", "measure": "left - right"}
    add_steps(
        suite,
        "HHM-L12/46",
        title="s/2^s is below z_j/2^z_j for every ε",
        steps=steps(_where_defined),
        scope=f"{SCOPE}, where A > 1; and T = 2^10, gap 1, ε = 2048",
        expect="refuted",
        notes=[
            "for A ≤ 1, that is ε ≥ 256 log T/Δ, z_j is undefined; (47), which (46) serves, holds there "
            "all the same (HHM-L12/47)",
            "at the experiments' parameters A is at least 73, and (46) holds",
        ],
        **shared,
    )
    add_steps(
        suite,
        "HHM-L12/46-repaired",
        title="s/2^s is below z_j/2^z_j where A log A ≥ 4",
        steps=steps(_common),
        scope=f"{SCOPE}, where A log A ≥ 4",
        **shared,
    )


def _second_radius(suite: Suite) -> None:
    def term(T: int, s: int, eps: Fraction, length: int) -> Any:
        return 6 * ball(8).sqrt() * log2(T) * s / (ball(eps) * length)

    add_steps(
        suite,
        "HHM-L12/47",
        title="From the critical level on, the whole radius is below half the gap, for every ε",
        steps=[
            Inequality(
                name="(47), first <",
                text="6√8 log T·s/(ε ω(s−1)) < 6√8 log T·s/(ε 2^(s−1))",
                left=lambda T, gap, eps, s: term(T, s, eps, 2**s - 1),
                right=lambda T, gap, eps, s: term(T, s, eps, 2 ** (s - 1)),
                points=_levels,
            ),
            Inequality(
                name="(47), whole",
                text="6√8 log T·s/(ε ω(s−1)) < 3√2Δ/16",
                left=lambda T, gap, eps, s: term(T, s, eps, 2**s - 1),
                right=lambda T, gap, eps, s: 3 * ball(2).sqrt() * ball(gap) / 16,
                points=_levels,
            ),
            Inequality(
                name="(45) + (47)",
                text="√3Δ/16 + 3√2Δ/16 < Δ/2",
                left=lambda T, gap, eps, s: (ball(3).sqrt() + 3 * ball(2).sqrt()) / 16,
                right=lambda T, gap, eps, s: ball(Fraction(1, 2)),
                points=_levels,
            ),
        ],
        about="""Compute both sides of (47) at every level from d_j + 1 on, also where (46) fails or is
        undefined.

        There d_j comes from the other term of the maximum, 256 log T/gap², and the large epsilon makes the
        left side small.""",
        source="Appendix E, eqs. (42), (47)",
        scope=f"{SCOPE}, ε = 4096 included, where A < 1 at most horizons",
    )


def _lemma(suite: Suite) -> None:
    def left(s: int) -> Any:
        before, length = 2**s - 1, 2 ** (s + 1) - 1
        # t - 1 choices of h, 5/t⁴ + 1/t⁴ each; the sum of 1/t³ from ω on is at most 1/ω³ + 1/(2ω²).
        return ball(length * 6 * (Fraction(1, before**3) + Fraction(1, 2 * before**2)))

    add_steps(
        suite,
        "HHM-L12",
        title="P{θ_j = s} ω_j(s) ≤ 1 for every s ≥ d_j + 1, by the proof's own sum",
        steps=[
            Inequality(
                name="(48)",
                text="ω(s) Σ_{t≥ω(s−1)} Σ_{h<t} 6/t⁴ ≤ 1",
                left=left,
                right=lambda s: ball(1),
                points=lambda run: ({"s": s} for s in range(9, 65)),
            ),
            Inequality(
                name="ratio of lengths",
                text="ω(s)/ω(s−1) ≤ 4",
                left=lambda s: ball(Fraction(2 ** (s + 1) - 1, 2**s - 1)),
                right=lambda s: ball(4),
                points=lambda run: ({"s": s} for s in range(1, 65)),
            ),
        ],
        about="""Add up the failure probabilities, 5/t⁴ for arm j and 1/t⁴ for the best arm, over all t >=
        ω(s-1) and h < t, in exact rationals.

        d_j is at least 8 for every T >= 2, since 256 log T/gap² >= 256: levels start at s = 9.""",
        source="Lemma 12; appendix E, eq. (48), O(1) with constant 1",
        scope="s = 9..64; the sum falls in s",
    )


def _length(suite: Suite) -> None:
    def rate(T: int, gap: Fraction, eps: Fraction) -> Any:
        x = log2(T) / ball(eps * gap)
        return larger(log2(T) / ball(gap * gap), x * log2(x))

    def points(run: Run) -> Iterator[Point]:
        yield from instances(run)
        # Where x log x = 1 = log T/gap², the factor 256 inside the logarithm weighs most: x near 1.56.
        yield {"T": 2, "gap": Fraction(1), "eps": Fraction(641, 1000)}

    add_steps(
        suite,
        "HHM-L12/length",
        title="The levels up to d_j hold at most 14 000 times the rate of Theorem 5",
        steps=[
            Inequality(
                name="ceiling",
                text="ω_j(d_j) ≤ 4 max{256 log T/Δ², A log A}",
                left=lambda T, gap, eps: ball(2 ** (critical_level(T, gap, eps) + 1) - 1),
                right=lambda T, gap, eps: 4 * _largest(T, gap, eps),
                points=points,
            ),
            Inequality(
                name="constant",
                text="4 max{256 log T/Δ², A log A} ≤ 14 000 max{log T/Δ², (log T/(εΔ)) log(log T/(εΔ))}",
                left=lambda T, gap, eps: 4 * _largest(T, gap, eps),
                right=lambda T, gap, eps: 14_000 * rate(T, gap, eps),
                points=points,
            ),
        ],
        about="""Compute the length of the levels up to d_j and hold it against the rate without the factor
        256, where the O(.) hides it.

        The factor stands inside a logarithm too; it weighs most where log T/(epsilon gap) is 1.56 and T =
        2.""",
        source="Appendix E, line below the definition of d_j; eq. (38)",
        scope=f"{SCOPE}; and T = 2, gap 1, ε = 0.641",
        notes=[
            "on this grid no constant below 13 800 will do: the explicit bound is of little use at "
            "practical horizons"
        ],
    )
