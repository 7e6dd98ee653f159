"""Lemma 11, step by step (appendix C): what the regret of Anytime-Lazy-UCB rests on.

Each printed inequality is restated with all its constants and computed at corners, at the experiments' own
parameters and at small horizons. A step that is false as printed stands beside what holds in its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from audits.inequalities import Inequality, Point, add_steps
from audits.private_online_learning.noisy_sums import binomial_laplace_tail
from dpaudit.claims import Ordering
from dpaudit.evidence import Estimate
from dpaudit.exact_functions import ceil_log2, ln
from dpaudit.kernel.ball import ball
from dpaudit.plots import table
from dpaudit.suite import Outcome, Run, Suite

__all__ = ["EPSILONS", "GAPS", "HORIZONS", "SCOPE", "add_rows", "critical_level", "instances"]

#: Horizons: the smallest ones, the experiments' own 2 * 2^21, and beyond.
HORIZONS = (2, 3, 10, 1000, 2**16, 2**22, 10**12)
GAPS = tuple(Fraction(g) for g in ("1/1000", "1/100", "1/20", "1/8", "1/4", "1/2", "3/5", "9/10", "1"))
EPSILONS = tuple(Fraction(e) for e in ("1/100", "1/10", "1/4", "1/2", "1", "8", "64", "128", "4096"))
SCOPE = (
    f"T in {HORIZONS}, gaps from {GAPS[0]} to 1, epsilon from {EPSILONS[0]} to {EPSILONS[-1]}, "
    "levels s = d_j + 1, d_j + 2, d_j + 9"
)
#: Floats: the exact sums of positive terms below are right to better than this.
ROUNDING = 1e-9


def add_rows(suite: Suite) -> None:
    """Eqs. (18), (22)-(28) of Lemma 11, and the lemma with an explicit constant."""
    _counts(suite)
    _ceiling(suite)
    _trichotomy(suite)
    _tails(suite)
    _radii(suite)
    _integral(suite)
    _lemma(suite)


def instances(run: Run) -> Iterator[Point]:
    """Every horizon, gap and epsilon of the grid."""
    for horizon in HORIZONS:
        for gap in GAPS:
            for eps in EPSILONS:
                yield {"T": horizon, "gap": gap, "eps": eps}


def _threshold(T: int, gap: Fraction, eps: Fraction) -> Any:
    return 24 * ln(T) / ball(gap * min(gap, eps))


def critical_level(T: int, gap: Fraction, eps: Fraction) -> int:
    """d_j of Lemma 11: the ceiling of log(24 ln T / (gap min{gap, epsilon}))."""
    return ceil_log2(_threshold(T, gap, eps))


def _levels(run: Run) -> Iterator[Point]:
    for point in instances(run):
        first = critical_level(**point) + 1  # type: ignore[arg-type]  # the grid's own exact numbers
        for s in (first, first + 1, first + 8):
            yield {**point, "s": s}


def _counts(suite: Suite) -> None:
    def pulls(run: Run) -> Iterator[Point]:
        return ({"pulls": count, "theta": count.bit_length() - 1} for count in range(2, 2**12))

    about = """Hold the pulls of an arm against the arrays that they fill.

    The arm's first pull fills array 0, so that O pulls end in array theta = floor(log O). For every O <
    2^12 compare O with omega(theta) = 2 + 4 + ... + 2^theta, which leaves the first pull out (and with
    omega(theta) + 1)."""
    for suffix, plus, expect in (("", 0, "refuted"), ("-repaired", 1, "verified")):
        add_steps(
            suite,
            f"HHM-L11/18{suffix}",
            title=f"An arm's pulls fit its arrays{' and the first pull' if plus else ''}",
            steps=[
                Inequality(
                    name="(18)",
                    text=f"O_j(T) ≤ ω_j(θ_j){' + 1' if plus else ''}",
                    left=lambda pulls, theta: ball(pulls),
                    right=lambda pulls, theta, plus=plus: ball(2 ** (theta + 1) - 2 + plus),
                    points=pulls,
                )
            ],
            about=about,
            source="Appendix C, eq. (18)",
            scope="all pull counts from 2 to 4095",
            expect=expect,
            notes=[]
            if plus
            else ["omega leaves out the first pull: Theorem 3's bound grows by one pull an arm"],
        )


def _ceiling(suite: Suite) -> None:
    about = """Compute d_j, the ceiling of log(24 ln T/(gap min{gap, epsilon})), against the printed bounds.

    As printed, these have a logarithm too many: 2^d_j <= 2 log(24 ...). Without it 24 ... <= 2^d_j <= 48 ...;
    the repaired row adds what Theorem 3 needs, omega(d_j) <= 96 ln T/(gap min{gap, epsilon})."""
    level: dict[str, Any] = {
        "points": instances,
        "left": lambda T, gap, eps: ball(2 ** critical_level(T, gap, eps)),
    }
    printed = Inequality(
        name="before (21)",
        text="2^d_j ≤ 2 log(24 ln T/(Δ min{Δ, ε}))",
        right=lambda T, gap, eps: 2 * _threshold(T, gap, eps).log() / ball(2).log(),
        **level,
    )
    ceiling = Inequality(
        name="ceiling",
        text="2^d_j ≤ 2·24 ln T/(Δ min{Δ, ε})",
        right=lambda T, gap, eps: 2 * _threshold(T, gap, eps),
        **level,
    )
    floor = Inequality(
        name="ceiling, from below",
        text="24 ln T/(Δ min{Δ, ε}) ≤ 2^d_j",
        left=_threshold,
        right=level["left"],
        points=instances,
    )
    length = Inequality(
        name="length",
        text="ω_j(d_j) ≤ 96 ln T/(Δ min{Δ, ε})",
        left=lambda T, gap, eps: ball(2 ** (critical_level(T, gap, eps) + 1) - 2),
        right=lambda T, gap, eps: 4 * _threshold(T, gap, eps),
        points=instances,
    )
    shared: dict[str, Any] = {
        "about": about,
        "source": "Appendix C, proof of Lemma 11, first lines",
        "scope": SCOPE,
    }
    add_steps(
        suite,
        "HHM-L11/ceiling",
        title="The critical level's power of two is at most twice a logarithm",
        steps=[printed],
        expect="refuted",
        notes=["a slip of the pen: the bounds without the outer logarithm hold, and (27) uses those"],
        **shared,
    )
    add_steps(
        suite,
        "HHM-L11/ceiling-repaired",
        title="The critical level's power of two lies between 24 ln T/(Δ min{Δ, ε}) and twice that",
        steps=[floor, ceiling, length],
        **shared,
    )


def _trichotomy(suite: Suite) -> None:
    @suite.row(
        "HHM-L11/22-24",
        title=(
            "If a suboptimal arm's index reaches the best arm's, one of three events happens (Lemmas 11 "
            "and 12)"
        ),
        kind="structure",
        claim=Ordering(
            text="where (22), (23) and (24) all fail, μ̄_j(t) < μ̄_1(t); the same for (40), (41) and (42)",
            quantity_name="coefficients in which the two sides of the identity differ",
            claimed=0,
        ),
        source="Appendix C, eqs. (22)-(24); appendix E, eqs. (40)-(42)",
    )
    def evaluate(run: Run) -> Outcome:
        """Check the linear identity that proves the step, coefficient by coefficient.

        Let x be a noisy mean and R its whole radius. With (22) failing, x_j - mu_j - R_j < 0; with (23),
        mu_1 - R_1 - x_1 < 0; with (24), R_j - (mu_1 - mu_j)/2 <= 0. Once, once and twice these add up to
        (x_j + R_j) - (x_1 + R_1).
        """
        names = ("x_j", "R_j", "x_1", "R_1", "mu_j", "mu_1")
        failing = np.array([[1, -1, 0, 0, -1, 0], [0, 0, -1, -1, 0, 1], [0, 1, 0, 0, 0.5, -0.5]])
        differs = int(np.count_nonzero(np.array([1, 1, 2]) @ failing - np.array([1, 1, -1, -1, 0, 0])))
        estimate = Estimate.exactly(
            differs,
            quantity="coefficients that differ",
            samples=len(names),
            method="exact linear identity with non-negative multipliers 1, 1, 2",
            scope="all real noisy means, radii and means: the identity is linear",
        )
        return Outcome([estimate], ["holds for every radius, so for Hybrid-UCB's as well"])


def _tails(suite: Suite) -> None:
    @suite.row(
        "HHM-L11/25-26",
        title="A noisy mean leaves its radius with probability at most 1/t³",
        kind="tail",
        claim=Ordering(
            text="P(μ̃ ≥ μ + √(ln t³/n) + ln t³/(εn)) ≤ 1/t³, and the same below, for n = 2^r ≤ t and t ≥ 2",
            quantity_name="t³ · probability",
            claimed=1,
        ),
        source="Appendix C, eqs. (25), (26): O(1/t³), here with constant 1",
    )
    def evaluate(run: Run) -> Outcome:
        """Exact tails of a Binomial sum plus one Laplace draw, from both sides, against 1/t³.

        In theory ½/t³ for the noise and 1/t⁶ for the mean (Hoeffding), at most 1/t³ for t >= 2. Rewards are
        Bernoulli, with means at and near the ends; the lower tail of mean m is the upper tail of mean 1 -
        m.
        """
        rounds = np.array([2, 3, 10, 100, 10**4, 10**6])
        rows = []
        for r in run.choose(quick=range(0, 11, 2), full=range(13)):
            for mean in (0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99):
                for eps in (0.01, 0.1, 0.5, 1.0, 8.0, 128.0):
                    t = rounds[rounds >= 2**r]
                    rows.extend(_tail_ratios(2**r, mean, eps, t))
        worst = max(rows, key=lambda row: row[-1])
        estimate = Estimate(
            quantity="t³ · probability",
            lower=worst[-1] * (1 - ROUNDING),
            upper=worst[-1] * (1 + ROUNDING),
            confidence=1.0,
            samples=len(rows),
            method="exact sums over the Binomial law",
            scope="n = 2^r up to 1024 (quick) or 4096, 7 means, 6 epsilons, t from 2 to 10^6",
            covers_claim=True,
        )
        top = sorted(rows, key=lambda row: -row[-1])[:12]
        picture = table(title="Largest t³ · probability", columns=["n", "mean", "ε", "t", "t³ · P"], rows=top)
        return Outcome([estimate], plots=[picture], samples=len(rows))


def _tail_ratios(n: int, mean: float, eps: float, t: Any) -> list[list[float]]:
    log_cube = 3 * np.log(t)
    thresholds = n * mean + np.sqrt(n * log_cube) + log_cube / eps
    tails = binomial_laplace_tail(n=n, mean=mean, thresholds=thresholds, scale=1 / eps)
    return [[n, mean, eps, int(a), float(p) * float(a) ** 3] for a, p in zip(t, tails, strict=True)]


def _radii(suite: Suite) -> None:
    def line_one(T: int, gap: Fraction, eps: Fraction, s: int) -> Any:
        cube = 3 * ln(T)
        return (cube / 2 ** (s - 1)).sqrt() + cube / (ball(eps) * 2 ** (s - 1))

    def line_three(T: int, gap: Fraction, eps: Fraction, s: int) -> Any:
        cube, level = 3 * ln(T), _threshold(T, gap, eps)
        return (cube / level).sqrt() + cube / (ball(eps) * level)

    add_steps(
        suite,
        "HHM-L11/27",
        title="From the critical level on, the radius is below half the gap",
        steps=[
            Inequality(
                name="(27), lines 1-3",
                text="√(ln T³/2^(s−1)) + ln T³/(ε2^(s−1)) ≤ the same with 24 ln T/(Δ min{Δ, ε}) for 2^(s−1)",
                left=line_one,
                right=line_three,
                points=_levels,
            ),
            Inequality(
                name="(27), line 4",
                text="… < Δ/2",
                left=line_three,
                right=lambda T, gap, eps, s: ball(gap) / 2,
                points=_levels,
            ),
        ],
        about="""Compute both sides of (27) at every level from d_j + 1 on.

        The third line is √(Δm/8) + Δm/(8ε) with m = min{Δ, ε}, at most (1/√8 + 1/8)Δ = 0.479 Δ for all
        parameters.""",
        source="Appendix C, eq. (27)",
        scope=SCOPE,
    )


def _sum_of_squares(start: int, end: int) -> Any:
    """1/start² + ... + 1/end²."""
    total = ball(0)
    for t in range(start, end + 1):
        total += 1 / ball(t) ** 2
    return total


def _integral(suite: Suite) -> None:
    def horizons(run: Run) -> Iterator[Point]:
        for s in (6, 8, 10):
            start = 2**s - 2
            for horizon in (start + 3, 2 * start, 4 * start):
                yield {"start": start, "T": horizon}

    about = """Add up 1/t² from t = ω(s−1) to T and hold it against the integral from ω(s−1) to T, then
    against 2/ω(s−1).

    A decreasing function's sum from t = ω on is above its integral from ω on, so that the same hidden
    constant cannot stand on both sides. T = ω + 3 is the first horizon at which the event of (21) can
    happen with two arms."""
    total: dict[str, Any] = {"left": lambda start, T: _sum_of_squares(start, T), "points": horizons}
    shared: dict[str, Any] = {
        "about": about,
        "source": "Appendix C, eq. (28)",
        "scope": "s = 6, 8, 10; T = ω + 3, 2ω, 4ω",
    }
    add_steps(
        suite,
        "HHM-L11/28",
        title="The sum of 1/t² from ω on is at most its integral from ω on",
        steps=[
            Inequality(
                name="(28), line 5",
                text="Σ_{t=ω}^T 1/t² ≤ ∫_ω^T dt/t²",
                right=lambda start, T: 1 / ball(start) - 1 / ball(T),
                **total,
            )
        ],
        expect="refuted",
        notes=["as an O(.) the chain survives: the sum is at most 2/ω(s−1), see HHM-L11/28-repaired"],
        **shared,
    )
    ratio = Inequality(
        name="ratio of lengths",
        text="ω(r+1)/ω(r) ≤ 3 for r ≥ 1",
        left=lambda r: ball(Fraction(2 ** (r + 2) - 2, 2 ** (r + 1) - 2)),
        right=lambda r: ball(3),
        points=lambda run: ({"r": r} for r in range(1, 65)),
    )
    repaired = Inequality(
        name="(28), lines 5-6",
        text="Σ_{t≥ω} 1/t² ≤ 2/ω",
        left=lambda start, T: _sum_of_squares(start, T) + 1 / ball(T),
        right=lambda start, T: 2 / ball(start),
        points=horizons,
    )
    add_steps(
        suite,
        "HHM-L11/28-repaired",
        title="The sum of 1/t² from ω on is at most 2/ω, and lengths grow at most threefold",
        steps=[repaired, ratio],
        notes=[
            "the rest of the series beyond T is bounded by 1/T and added, so that the sum is over all t ≥ ω"
        ],
        **shared,
    )


def _lemma(suite: Suite) -> None:
    add_steps(
        suite,
        "HHM-L11",
        title="P{θ_j = s} ω_j(s) ≤ 1 for every s ≥ d_j + 1, by the proof's own sum",
        steps=[
            Inequality(
                name="(28)",
                text="ω(s) Σ_{t≥ω(s−1)} ⌊log t⌋ · 2/t³ ≤ 1",
                left=lambda s: ball((2 ** (s + 1) - 2) * _double_sum(s)),
                right=lambda s: ball(1),
                points=lambda run: ({"s": s} for s in range(6, 65)),
            )
        ],
        about="""Add up the failure probabilities of (25) and (26), 1/t³ each, over all t >= ω(s-1) and all
        floor(log t) arrays of the best arm.

        d_j is at least 5 for every T >= 2, since 24 ln T/(Δ min{Δ, ε}) >= 24 ln 2 > 16: levels start at s =
        6. Exact rationals, with the series beyond ω bounded block by block.""",
        source="Lemma 11; appendix C, eqs. (21)-(28), O(1) with constant 1",
        scope="s = 6..64; the sum falls in s",
        notes=["the lemma gives more than O(1): ω(s) P{θ_j = s} is O(log ω/ω), a sum over s that converges"],
    )


def _double_sum(s: int) -> Fraction:
    """An upper bound of the sum over t >= 2^s - 2 of floor(log t) 2/t³.

    Below 2^s exactly; the block from 2^p to 2^(p+1) - 1 is its first term plus an integral, at most
    2p (8^-p + (3/8) 4^-p); forty blocks so, the rest as a geometric series.
    """
    head = sum((Fraction(2 * (s - 1), t**3) for t in (2**s - 2, 2**s - 1)), Fraction(0))
    blocks = sum((_block(p) for p in range(s, s + 40)), Fraction(0))
    # From p = q on: 2p (8^-p + 3/8 4^-p) <= 3p 4^-p, whose terms shrink by at least 1/2 each: twice the
    # first one.
    q = s + 40
    return head + blocks + 2 * Fraction(3 * q, 4**q)


def _block(p: int) -> Fraction:
    return 2 * p * (Fraction(1, 8**p) + Fraction(3, 8) * Fraction(1, 4**p))
