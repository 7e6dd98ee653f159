"""Where to cut simulated regrets of DP-SE, Anytime-Lazy-UCB and Hybrid-UCB, and the price of each cut.

``cut(means, epsilon=..., horizon=...)`` on arms of these means; caps and prices come from ``pull_bounds``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from algorithms.mab.pull_bounds import Variant, elimination_cap, hybrid_excess, lazy_excess
from dpaudit.regret import Cut, gaps_of, trivial_cut

__all__ = ["elimination_cut", "hybrid_cut", "lazy_cut"]

Floats = NDArray[np.float64]

#: A cap is accepted once its excess is at most this share of it.
EXCESS_SHARE = 0.002


def lazy_cut(means: Sequence[float], *, epsilon: float, horizon: int) -> Cut:
    """The cut of Anytime-Lazy-UCB."""
    return _sum_cut(_lazy_pulls, means, epsilon, horizon)


def hybrid_cut(means: Sequence[float], *, epsilon: float, horizon: int, variant: Variant) -> Cut:
    """The cut of Hybrid-UCB."""
    return _sum_cut(partial(_hybrid_pulls, variant=variant), means, epsilon, horizon)


def elimination_cut(means: Sequence[float], *, epsilon: float, horizon: int) -> Cut:
    """The cut of DP-SE with failure probability 1/horizon.

    Outside an event of that probability every arm stays below its cap; inside it the regret is at most the
    horizon times the largest gap. Epochs grow by 4, and the last one is often not needed: hence two floors.
    """
    trivial, gaps = trivial_cut(means, horizon=horizon), gaps_of(means)
    if not gaps or horizon < 2:
        return trivial
    caps = [_elimination(gap, len(means), epsilon, horizon) for gap in gaps]
    cap = sum(gap * cap for gap, cap in zip(gaps, caps, strict=True))
    (uniform,) = trivial.floors
    return _better(Cut(cap, max(gaps), tuple(min(uniform, floor) for floor in (cap / 3, cap))), trivial)


def _sum_cut(
    pulls: Callable[[float, float, int], tuple[float, float]],
    means: Sequence[float],
    epsilon: float,
    horizon: int,
) -> Cut:
    """Caps and prices of the arms, added up."""
    trivial, gaps = trivial_cut(means, horizon=horizon), gaps_of(means)
    if not gaps or horizon < 2:
        return trivial
    parts = [(gap, *pulls(gap, epsilon, horizon)) for gap in gaps]
    cap = sum(gap * cap for gap, cap, _ in parts)
    (uniform,) = trivial.floors
    return _better(Cut(cap, sum(gap * excess for gap, _, excess in parts), (min(uniform, cap),)), trivial)


def _better(cut: Cut, trivial: Cut) -> Cut:
    return cut if cut.cap + cut.excess < trivial.cap else trivial


@lru_cache(maxsize=1024)
def _lazy_pulls(gap: float, epsilon: float, horizon: int) -> tuple[float, float]:
    return _accepted(*lazy_excess(gap=gap, epsilon=epsilon, horizon=horizon))


@lru_cache(maxsize=1024)
def _hybrid_pulls(gap: float, epsilon: float, horizon: int, *, variant: Variant) -> tuple[float, float]:
    return _accepted(*hybrid_excess(gap=gap, epsilon=epsilon, horizon=horizon, variant=variant))


def _accepted(caps: Floats, excess: Floats) -> tuple[float, float]:
    """The first cap whose excess is a small share of it, and that excess."""
    first = int(np.argmax(excess <= EXCESS_SHARE * caps))
    return float(caps[first]), float(excess[first])


@lru_cache(maxsize=1024)
def _elimination(gap: float, n_arms: int, epsilon: float, horizon: int) -> float:
    return elimination_cap(
        gap, n_arms=n_arms, epsilon=epsilon, failure_probability=1 / horizon, horizon=horizon
    )
