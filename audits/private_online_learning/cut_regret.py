"""Mean regret from runs, with bounds that hold: cut each run at a cap, price the cut, bet on the rest.

One run's regret lies in [0, gap * T], far above its mean, and no bounded-mean bound is of use on that range.
But E R is between E min(R, cap) and E min(R, cap) + E max(0, R - cap), and the last term has a rigorous bound
for caps not far above the mean (``pull_bounds``). What is left is a variable in [0, cap].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from audits.private_online_learning.pull_bounds import elimination_cap, hybrid_excess, lazy_excess
from dpaudit.statistics import mean_bounds

__all__ = ["Cut", "cut_of", "difference_interval", "mean_interval"]

Floats = NDArray[np.float64]

#: A cap is accepted once its excess is at most this share of it.
EXCESS_SHARE = 0.002


@dataclass(frozen=True)
class Cut:
    """Cap on one run's regret, and a bound on the expected regret beyond it.

    ``floors``: caps for lower bounds, where any fixed number will do and one just above the mean is best.
    """

    cap: float
    excess: float
    floors: tuple[float, ...]


def cut_of(algorithm: str, means: Sequence[float], *, epsilon: float, horizon: int) -> Cut:
    """The cut of ``lazy_ucb``, ``hybrid_ucb/printed``, ``hybrid_ucb/repaired`` or ``dp_se`` (with failure
    probability 1/horizon) on arms of these means; of any other algorithm the trivial one."""
    gaps = [max(means) - mean for mean in means if mean < max(means)]
    if not gaps:
        return Cut(0.0, 0.0, (0.0,))
    worst, uniform = max(gaps) * horizon, sum(gaps) / len(means) * horizon
    trivial = Cut(worst, 0.0, (uniform,))
    if horizon < 2:
        return trivial
    if algorithm == "dp_se":
        caps = [_elimination(gap, len(means), epsilon, horizon) for gap in gaps]
        cap = sum(gap * cap for gap, cap in zip(gaps, caps, strict=True))
        # Outside an event of probability 1/T every arm stays below its cap; inside it the regret is at most
        # T times the largest gap. Epochs grow by 4, and the last one is often not needed.
        cut = Cut(cap, max(gaps), tuple(min(uniform, floor) for floor in (cap / 3, cap)))
    elif algorithm in ("lazy_ucb", "hybrid_ucb/printed", "hybrid_ucb/repaired"):
        parts = [(gap, *_pulls(algorithm, gap, epsilon, horizon)) for gap in gaps]
        cap = sum(gap * cap for gap, cap, _ in parts)
        cut = Cut(cap, sum(gap * excess for gap, _, excess in parts), (min(uniform, cap),))
    else:
        return trivial
    return cut if cut.cap + cut.excess < worst else trivial


@lru_cache(maxsize=1024)
def _pulls(algorithm: str, gap: float, epsilon: float, horizon: int) -> tuple[float, float]:
    """Cap and excess on the pulls of one arm."""
    tails: dict[str, Callable[[], tuple[Floats, Floats]]] = {
        "lazy_ucb": lambda: lazy_excess(gap=gap, epsilon=epsilon, horizon=horizon),
        "hybrid_ucb/printed": lambda: hybrid_excess(gap=gap, epsilon=epsilon, horizon=horizon),
        "hybrid_ucb/repaired": lambda: hybrid_excess(
            gap=gap, epsilon=epsilon, horizon=horizon, variant="repaired"
        ),
    }
    caps, excess = tails[algorithm]()
    first = int(np.argmax(excess <= EXCESS_SHARE * caps))
    return float(caps[first]), float(excess[first])


@lru_cache(maxsize=1024)
def _elimination(gap: float, n_arms: int, epsilon: float, horizon: int) -> float:
    return elimination_cap(
        gap, n_arms=n_arms, epsilon=epsilon, failure_probability=1 / horizon, horizon=horizon
    )


def mean_interval(regret: Floats, cut: Cut, *, alpha: float) -> tuple[float, float]:
    """Lower and upper bound on the expected regret from independent runs, together at level ``alpha``."""
    if cut.cap == 0:
        return 0.0, cut.excess
    lower, upper = mean_bounds(np.minimum(regret, cut.cap), low=0.0, high=cut.cap, alpha=alpha)
    return lower, upper + cut.excess


def difference_interval(
    left: Floats, left_cut: Cut, right: Floats, right_cut: Cut, *, factor: float, alpha: float
) -> tuple[float, float]:
    """Bounds on E left - factor * E right from paired runs, each at level ``alpha``/2: bets on the paired
    differences of the cut regrets, over all floors together."""
    floors = [(floor, alpha / len(left_cut.floors)) for floor in left_cut.floors]
    lower = max(_difference(left, floor, right, right_cut.cap, factor, level)[0] for floor, level in floors)
    floors = [(floor, alpha / len(right_cut.floors)) for floor in right_cut.floors]
    upper = min(_difference(left, left_cut.cap, right, floor, factor, level)[1] for floor, level in floors)
    return lower - factor * right_cut.excess, upper + left_cut.excess


def _difference(
    left: Floats, left_cap: float, right: Floats, right_cap: float, factor: float, alpha: float
) -> tuple[float, float]:
    paired = np.minimum(left, left_cap) - factor * np.minimum(right, right_cap)
    low, high = -factor * right_cap, left_cap
    return mean_bounds(np.clip(paired, low, high), low=low, high=high, alpha=alpha)
