"""CZ23-COMM: message sizes by formula, and the rates that the paper states, with named constants.

Every message is a residue modulo m = n g + 2τ + 1: ⌈log₂ m⌉ bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

from audits.inequalities import Inequality, Point, add_steps
from dpaudit.exact_functions import larger, log2, log_of_two_over
from dpaudit.kernel.ball import arb, ball
from dpaudit.suite import Run, Suite
from mechanisms.parameter_sheet import (
    LAPLACE_SUM_CONSTANT,
    Sheet,
    central_laplace_sheet,
    discrete_gaussian_sheet,
    local_laplace_sheet,
    polya_sheet,
    shuffle_sheet,
    skellam_sheet,
)
from mechanisms.wire import bits_per_residue

__all__ = ["NAMES", "SHEETS", "TAIL", "add_rows", "bits", "log_size_bound"]

HORIZON = 2**20
TAIL = Fraction(1, HORIZON)

#: A sheet by users, ε, p and s (ignored by most).
SHEETS: dict[str, Callable[[int, Fraction, Fraction, int], Sheet]] = {
    "Dist-DP-SE": lambda n, e, p, s: polya_sheet(users=n, epsilon=e, tail_prob=p),
    "Dist-RDP-SE": lambda n, e, p, s: skellam_sheet(users=n, epsilon=e, tail_prob=p, scale_factor=s),
    "Dist-CDP-SE": lambda n, e, p, s: discrete_gaussian_sheet(
        users=n, epsilon=e, tail_prob=p, scale_factor=s
    ),
    "Shuffle-DP-SE": lambda n, e, p, s: shuffle_sheet(users=n, epsilon=e, tail_prob=p),
    "CDP-SE": lambda n, e, p, s: central_laplace_sheet(users=n, epsilon=e, tail_prob=p),
    "LDP-SE": lambda n, e, p, s: local_laplace_sheet(users=n, epsilon=e, tail_prob=p),
}
NAMES = tuple(SHEETS)


def add_rows(suite: Suite) -> None:
    """The rows on sizes by formula."""
    _logarithmic(suite)
    _rate_of_appendix_b(suite)
    _direction(suite)
    _lower_bound(suite)


@lru_cache(maxsize=4096)
def bits(name: str, n: int, epsilon: Fraction, *, s: int = 1, p: Fraction = TAIL) -> int:
    """⌈log₂ m⌉ of a variant's sheet."""
    return bits_per_residue(SHEETS[name](n, epsilon, p, s).modulus)


# Growth with the batch


def log_size_bound(name: str, n: int, epsilon: Fraction, *, s: int, p: Fraction) -> Any:
    """(3/2) log₂ n + log₂ C + 1, with C in ε, s and L = log(2/p) alone, not in n.

    g <= s ε sqrt(n) + 1 and τ <= g × margin + rest + 1 give m <= n^{3/2} ((s ε + 1)(1 + 2 margin) + 2 rest +
    3), as n >= 1: the margin per unit of g is L/ε, or that of the variant.
    """
    budget, level = (epsilon / 2, p / 2) if name == "Shuffle-DP-SE" else (epsilon, p)
    spread, rest = log_of_two_over(level), arb(0)
    margin = spread / ball(budget)
    if name == "Dist-RDP-SE":
        margin, rest = 2 * spread.sqrt() / ball(budget), arb(2).sqrt() * spread
    elif name == "Dist-CDP-SE":
        margin = (2 * spread).sqrt() / ball(budget)
    elif name == "LDP-SE":  # its τ has a root of n besides, which n g has too
        margin = ball(LAPLACE_SUM_CONSTANT) * (2 * spread).sqrt() / ball(budget)
    factor = s if name in ("Dist-RDP-SE", "Dist-CDP-SE") else 1
    constant = (ball(factor * budget) + 1) * (1 + 2 * margin) + 2 * rest + 3
    return ball(Fraction(3, 2)) * log2(n) + log2(constant) + 1


def _grid(run: Run, *, scales: Sequence[int] = (1, 10)) -> list[Point]:
    """All variants (by number), batches to 2^20, budgets, scale factors."""
    sizes = [2**b for b in run.choose(quick=(1, 4, 10, 20), full=range(1, 21))]
    return [
        {"v": v, "n": n, "epsilon": Fraction(e), "s": s}
        for v, name in enumerate(NAMES)
        for n in sizes
        for e in ("1/100", "1/2", "1", "10")
        for s in (scales if name in ("Dist-RDP-SE", "Dist-CDP-SE") else (1,))
    ]


def _logarithmic(suite: Suite) -> None:
    add_steps(
        suite,
        "CZ23-COMM",
        title="Bits per user grow logarithmically with the batch: at most (3/2) log₂ n + log₂ C + 1",
        steps=[
            Inequality(
                name="size",
                text=(
                    "⌈log₂ m⌉ <= (3/2) log₂ n + log₂ C + 1, C = (sε + 1)(1 + 2 margin) + 2 rest + 3 with "
                    "margin and rest in ε and log(2/p) alone, on the grid"
                ),
                left=lambda v, n, epsilon, s: ball(bits(NAMES[v], n, Fraction(epsilon), s=s)),
                right=lambda v, n, epsilon, s: log_size_bound(NAMES[v], n, Fraction(epsilon), s=s, p=TAIL),
                points=_grid,
            )
        ],
        about=(
            "The modulus of every variant's own sheet against a bound that is proved from g and τ for all n."
        ),
        source="Section 4.1 and App. B",
        scope="six variants, n = 2 to 2^20, ε = 1/100 to 10, s = 1, 10, p = 2^-20",
        kind="utility",
        notes=[
            "m grows like n^{3/2}: g = ⌈sε sqrt n⌉ grows with the batch, not only n; T enters as log log T",
        ],
    )


# Appendix B


def _appendix_rate(n: int, epsilon: Fraction, s: int) -> Any:
    return log2(ball(n + s / epsilon))


def _rate_of_appendix_b(suite: Suite) -> None:
    constant = 5

    def step(points: Callable[[Run], list[Point]], words: str) -> Inequality:
        return Inequality(
            name="rate",
            text=f"⌈log₂ m⌉ <= {constant} log₂(n + s/ε) for Dist-RDP-SE, {words}",
            left=lambda n, epsilon, s: ball(bits("Dist-RDP-SE", n, Fraction(epsilon), s=s)),
            right=lambda n, epsilon, s: constant * _appendix_rate(n, Fraction(epsilon), s),
            points=points,
        )

    def grid(budgets: Sequence[str], scales: Sequence[int]) -> Callable[[Run], list[Point]]:
        return lambda run: [
            {"n": 2**b, "epsilon": Fraction(e), "s": s}
            for b in (1, 2, 5, 10, 20)
            for e in budgets
            for s in scales
        ]

    cases = [
        (
            "CZ23-COMM/rate",
            grid(("1/100", "1/2", "1"), (1, 10, 1000)),
            "ε <= 1, s <= 1000, p = 2^-20",
            "verified",
            "with T fixed: the rate hides log log T",
        ),
        (
            "CZ23-COMM/rate/large-budget",
            grid(("1000000",), (1,)),
            "ε = 10^6, s = 1",
            "refuted",
            "n g grows with ε while s/ε falls: the rate is one for ε of order 1 and below",
        ),
    ]
    for id_, points, words, expect, note in cases:
        add_steps(
            suite,
            id_,
            title=f"Dist-RDP-SE sends at most {constant} log₂(n + s/ε) bits, {words}",
            steps=[step(points, words)],
            about="App. B's O(log(n + s/ε)) with the constant 5, against the modulus of the sheet.",
            source="App. B",
            scope=f"n = 2 to 2^20, {words}",
            expect=expect,
            kind="utility",
            notes=[note],
        )


def _direction(suite: Suite) -> None:
    cases: list[tuple[str, str, Callable[[int], Sequence[Fraction]], str, str]] = [
        (
            "CZ23-COMM/inverse",
            "for ε from 1/10 to 10",
            lambda n: [Fraction(1, 10), Fraction(1), Fraction(10)],
            "refuted",
            "n g = n ⌈sε sqrt n⌉ grows with ε: more privacy means a coarser encoding and fewer bits; "
            "App. B's rate log(n + s/ε) falls even so",
        ),
        (
            "CZ23-COMM/inverse/small",
            "while sε sqrt n <= 1",
            lambda n: [Fraction(1, k * n) for k in (1000, 100, 10, 1)],
            "verified",
            "there g = 1 whatever ε is, and τ ~ 1/ε decides",
        ),
    ]
    for id_, words, budgets, expect, note in cases:
        add_steps(
            suite,
            id_,
            title=f"Dist-RDP-SE: the larger ε, the fewer bits, {words}",
            steps=[
                Inequality(
                    name="direction",
                    text=f"⌈log₂ m⌉ at ε' is at most that at ε for ε <= ε', {words}",
                    left=lambda n, small, large: ball(bits("Dist-RDP-SE", n, Fraction(large))),
                    right=lambda n, small, large: ball(bits("Dist-RDP-SE", n, Fraction(small))),
                    points=partial(_growing, budgets),
                )
            ],
            about="Message sizes of one sheet at growing ε.",
            source='App. B: the cost "is inverse with respect to ε"',
            scope=f"n = 2, 16, 2^10, 2^20, s = 1, p = 2^-20, {words}",
            expect=expect,
            kind="utility",
            notes=[note],
        )


def _growing(budgets: Callable[[int], Sequence[Fraction]], run: Run) -> list[Point]:
    """Consecutive pairs of budgets at four batch sizes."""
    return [
        {"n": n, "small": a, "large": b}
        for n in (2, 16, 2**10, 2**20)
        for a, b in zip(budgets(n), budgets(n)[1:], strict=False)
    ]


def _lower_bound(suite: Suite) -> None:
    def least(n: int, epsilon: Fraction) -> Any:
        """max(log₂(n² ε²), 1)."""
        return larger(log2(ball(n**2 * Fraction(epsilon) ** 2)), arb(1))

    def points(budgets: Callable[[int], Sequence[Fraction]]) -> Callable[[Run], list[Point]]:
        sizes = (1, 2, 4, 8, 12, 16, 20)
        return lambda run: [{"n": 2**b, "epsilon": e} for b in sizes for e in budgets(2**b)]

    def usual(n: int) -> list[Fraction]:
        floor = Fraction(1, int(n**0.5) or 1)
        return [
            floor,
            *(e for e in (Fraction(1, 10), Fraction(1), Fraction(10), Fraction(10**6)) if e > floor),
        ]

    most = 7
    above = Inequality(
        name="above",
        text=f"⌈log₂ m⌉ <= {most} max(log₂(n²ε²), 1)",
        left=lambda n, epsilon: ball(bits("Dist-DP-SE", n, Fraction(epsilon))),
        right=lambda n, epsilon: most * least(n, Fraction(epsilon)),
        points=points(usual),
    )
    below = Inequality(
        name="below",
        text="(1/2) max(log₂(n²ε²), 1) <= ⌈log₂ m⌉",
        left=lambda n, epsilon: least(n, Fraction(epsilon)) / 2,
        right=lambda n, epsilon: ball(bits("Dist-DP-SE", n, Fraction(epsilon))),
        points=points(usual),
    )
    source = "App. B, next to the lower bound of Chen et al. (2022)"
    add_steps(
        suite,
        "CZ23-COMM/optimal",
        title="Dist-DP-SE's bits are within constants 1/2 and 7 of max(log₂(n²ε²), 1), ε >= 1/sqrt n",
        steps=[above, below],
        about=(
            "The paper hopes for messages as short as this known bound allows. Where ε >= 1/sqrt n they are, "
            "up to a constant: both directions."
        ),
        source=source,
        scope="n = 2 to 2^20, ε from 1/sqrt n to 10^6, p = 2^-20",
        kind="utility",
        notes=[
            "an ordering of two formulas: the lower bound itself is another paper's and is not checked here"
        ],
    )
    gap = Inequality(
        name="gap",
        text="log₂(1/ε) max(log₂(n²ε²), 1) <= ⌈log₂ m⌉",
        left=lambda n, epsilon: log2(1 / ball(epsilon)) * least(n, Fraction(epsilon)),
        right=lambda n, epsilon: ball(bits("Dist-DP-SE", n, Fraction(epsilon))),
        points=points(lambda n: [Fraction(1, n), Fraction(1, n**2)]),
    )
    add_steps(
        suite,
        "CZ23-COMM/optimal/small",
        title="For ε = 1/n, 1/n² Dist-DP-SE's bits are at least log₂(1/ε) times that: no constant will do",
        steps=[gap],
        about=(
            "The paper says that a smaller ε should need fewer bits, and that its own cost goes the other "
            "way: n²ε² <= 1, the bound is constant, and τ ~ log(2/p)/ε takes log₂(1/ε) bits."
        ),
        source=source,
        scope="n = 2 to 2^20, ε = 1/n, 1/n², p = 2^-20",
        kind="utility",
        notes=["for all n and ε < 1: m > 2τ >= 2 log(2/p)/ε, as g >= 1"],
    )
