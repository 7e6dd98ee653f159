"""What the regret rows share: the grid of (gap, epsilon, T), the theorems' rates, and rigorous suprema over
the grid.

Logarithms are to base 2, as in the paper.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from algorithms.mab.pull_bounds import hybrid_pull_bound, lazy_pull_bound
from dpaudit.evidence import Estimate
from dpaudit.exact import exact
from dpaudit.suite import Run

__all__ = [
    "GRID",
    "as_float",
    "grid",
    "hybrid_pulls",
    "hybrid_rate",
    "lazy_pulls",
    "lazy_rate",
    "minimax_rate",
    "on_grid",
    "worst_gap_regret",
]

#: Neighbouring gaps of a supremum over all gaps.
STEP = 2**0.25

Point = tuple[float, float, int]

#: Gaps, epsilons and horizons: the ends first.
GRID = {
    "gaps": (1.0, 0.99, 0.5, 0.25, 0.1, 0.05, 0.01, 1e-3, 1e-4),
    "epsilons": (1e-3, 0.01, 0.1, 0.25, 0.5, 1.0, 8.0, 64.0, 128.0, 1e6),
    "horizons": (2, 3, 5, 10, 100, 1000, 10**4, 10**5, 10**6, 2**22, 10**8, 10**10, 10**12),
}
QUICK_GRID = {
    "gaps": (1.0, 0.5, 0.05, 0.01, 1e-4),
    "epsilons": (1e-3, 0.01, 0.25, 1.0, 64.0, 1e6),
    "horizons": (2, 3, 10, 10**3, 2**22, 10**9, 10**12),
}


def lazy_rate(gap: float, epsilon: float, horizon: float) -> float:
    """Theorem 3's summand: log T / min{gap, epsilon}."""
    return math.log2(horizon) / min(gap, epsilon)


def hybrid_rate(gap: float, epsilon: float, horizon: float, *, inner: float = 1.0) -> float:
    """Theorem 5's summand: max{log T / gap, (log T / epsilon) log(inner log T / (epsilon gap))}."""
    log_t = math.log2(horizon)
    return max(log_t / gap, log_t / epsilon * math.log2(inner * log_t / (epsilon * gap)))


def minimax_rate(n_arms: int, epsilon: float, horizon: int) -> float:
    """Theorem 4: sqrt(K T log T) + K log T / epsilon."""
    log_t = math.log2(horizon)
    return math.sqrt(n_arms * horizon * log_t) + n_arms * log_t / epsilon


def as_float(text: str) -> float:
    """The float nearest to an exact string such as "1/4"."""
    return float(exact(text))


@cache
def lazy_pulls(gap: float, epsilon: float, horizon: int) -> float:
    """Rigorous bound on the expected pulls by Anytime-Lazy-UCB."""
    return lazy_pull_bound(gap=gap, epsilon=epsilon, horizon=horizon)


@cache
def hybrid_pulls(gap: float, epsilon: float, horizon: int) -> float:
    """Rigorous bound on the expected pulls by Hybrid-UCB, the larger of printed and repaired noise."""
    return max(
        hybrid_pull_bound(gap=gap, epsilon=epsilon, horizon=horizon, variant="printed"),
        hybrid_pull_bound(gap=gap, epsilon=epsilon, horizon=horizon, variant="repaired"),
    )


def grid(run: Run) -> list[Point]:
    """The points (gap, epsilon, T) of this profile."""
    chosen: Any = run.choose(quick=QUICK_GRID, full=GRID)
    return list(itertools.product(chosen["gaps"], chosen["epsilons"], chosen["horizons"]))


def on_grid(
    quantity: str, points: Sequence[Point], value: Callable[[float, float, int], float]
) -> tuple[Estimate, str]:
    """The largest value over a grid of (gap, epsilon, T), as a rigorous upper bound, and where it is."""
    found = [(value(*point), point) for point in points]
    worst, where = max(found)
    place = f"gap {where[0]:g}, ε {where[1]:g}, T {where[2]:g}"
    estimate = Estimate(
        quantity=quantity,
        lower=None,
        upper=worst,
        confidence=1.0,
        samples=len(points),
        method="Hoeffding and Chernoff bounds on every event of the proof, evaluated",
        scope=f"{len(points)} points (gap, ε, T), all instances with an arm of that gap; largest at {place}",
        covers_claim=True,
        details={"gap": where[0], "epsilon": where[1], "horizon": where[2]},
    )
    return estimate, f"on the grid the claim holds with {worst:.4g} (at {place})"


def worst_gap_regret(pulls: Callable[[float], float], *, n_arms: int, horizon: int) -> float:
    """Upper bound on the regret over ALL gaps in [0, 1]: T gap* for the arms below gap*, and for each other
    arm the supremum of gap * pulls(gap), bounded on a geometric grid because pulls fall with the gap."""
    above, best, high = 0.0, float(horizon), 1.0
    while (n_arms - 1) * above < best and high * horizon > 0.25:
        low = high / STEP
        above = max(above, high * min(horizon, pulls(low)))
        best = min(best, horizon * low + (n_arms - 1) * above)
        high = low
    return best
