"""Regret of elimination in batches against its rate, for every instance at once.

The rate is the rate of Lemmas 1 and 2 of Chowdhury and Zhou: Σ_{Δ_a>0} log(KT/p)/Δ_a + Kσ sqrt(log(KT/p)) +
Kh log(KT/p). On the event E an arm is eliminated at the end of the first batch with 4β(b) < Δ_a. β(b) is
largest with all K arms active, which bounds its pulls for every instance at once. Off E the regret is at most
T Δ_max, which costs T P[not E] in expectation. Pulls change only where Δ exceeds some 4β(b): the supremum
over all gaps is a maximum over these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpaudit.reference.algorithms.mab.elimination_event import ROUNDING, Race, failure_bound

__all__ = ["expected_ratio", "rate", "ratio_on_event"]


def rate(race: Race, gaps: Sequence[float]) -> float:
    """Return the lemmas' expression without its constant; ``gaps`` in [0, 1], gaps of 0 are skipped."""
    spread, noise = _parts(race)
    return sum(spread / gap for gap in gaps if gap > 0) + race.n_arms * noise


def _parts(race: Race) -> tuple[float, float]:
    """Return log(KT/p), and σ sqrt(log(KT/p)) + h log(KT/p)."""
    spread = math.log(race.n_arms * race.horizon / float(race.p))
    tail = race.variant.tail(race.length(1))
    return spread, tail.sigma * math.sqrt(spread) + tail.h * spread


def ratio_on_event(race: Race) -> float:
    """Bound Reg(T)/rate on E, over all instances with K arms.

    The bound is the largest Δ N(Δ) over one arm's share of the rate. The noise terms, K of them, are shared
    among the at most K - 1 suboptimal arms.
    """
    spread, noise = _parts(race)
    worst, reach, pulls, batch = 0.0, math.inf, 0, 0
    while pulls < race.horizon:
        batch += 1
        pulls = min(race.horizon, pulls + race.length(batch))
        gap = min(1.0, reach)  # the largest gap with which an arm may survive all batches before this one
        reach = min(reach, 4 * float(race.radius(batch)) * (1 + ROUNDING))
        if reach < gap or pulls == race.horizon:
            worst = max(worst, gap * pulls / (spread / gap + noise))
    return worst * (1 + ROUNDING)


def expected_ratio(race: Race) -> float:
    """Bound E Reg(T)/rate over all instances with K arms."""
    spread, noise = _parts(race)
    # T Δ_max P[not E] over a rate that is at least log(KT/p)/Δ_max plus the noise terms, with Δ_max <= 1.
    return ratio_on_event(race) + race.horizon * failure_bound(race) / (spread + race.n_arms * noise)
