"""What a run that refuted nothing could have refuted: the power of the same stakes on the same schedule,
computed. ``runs_needed`` computes it before the runs, for the worst violation there is.

For an event of given probability under one input, the smaller its probability under the other, the faster
the bettor earns. The stakes that played the run are fed with *expected* counts of such an event, block by
block, as if one expert saw it and all others nothing. The smallest violation whose expected path reaches the
threshold is one that about half of all such runs would have refuted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpaudit.blackbox.bounds import COARSE
from dpaudit.blackbox.experts import FOLLOW
from dpaudit.blackbox.hypotheses import Points
from dpaudit.blackbox.mixture import FOLLOWING
from dpaudit.blackbox.pair import FIRST_BLOCK, next_block
from dpaudit.blackbox.search import EXPLORED
from dpaudit.blackbox.statistics.cells import CellBlock, log_gains

__all__ = ["Schedule", "exclusive_probability", "runs_needed", "visible_epsilon"]

MAX_EXTRA_EPSILON = 40.0
#: Nobody makes more pairs of runs than this; an event that takes more is never seen.
MOST_PAIRS = 10**24
#: Violations tried at once, and how often the range around the smallest visible one is narrowed.
TRIED = 33
NARROWINGS = 3

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Schedule:
    """How one pair was attacked.

    ``first``: pairs of runs in the learning block; ``sizes``: in each block that was bet on. ``share``: the
    capital of the one expert that sees the event; ``follow``: of the bettor who copies the richest expert.
    ``candidates``: pairs of neighbours among which the capital was divided.
    """

    epsilon: float
    delta: float
    first: int
    sizes: Sequence[int]
    share: float
    follow: float
    candidates: int
    alpha: float

    def refutes(self, first: Floats, second: Floats) -> NDArray[np.bool_]:
        """Whether events with these probabilities on the two inputs would, on their expected paths, have
        refuted the claim. Shapes (K,).
        """
        share = np.stack([np.column_stack([side, 1 - side]) for side in (first, second)])
        epsilons, deltas = np.array([self.epsilon]), np.array([self.delta])
        expert, follower, known = np.zeros(len(first)), np.zeros(len(first)), self.first
        seen = np.zeros(len(first), dtype=bool)
        for size in self.sizes:
            gains = log_gains(CellBlock(known * share, size * share), epsilons, deltas)[0]
            follower = follower + np.where(expert > 0, gains, 0.0)
            expert = expert + gains
            known += size
            seen |= self._wealth(expert, follower) >= 1 / self.alpha
        return seen

    def _wealth(self, expert: Floats, follower: Floats) -> Floats:
        earned = self.share * np.expm1(np.minimum(expert, 700)) + self.follow * np.expm1(
            np.minimum(follower, 700)
        )
        following = FOLLOWING if self.candidates > 1 else 0.0  # with the richest pair, which this one is then
        return 1.0 + earned * ((1 - following) / self.candidates + following)


def runs_needed(points: Points, *, candidates: int, alpha: float) -> int | None:
    """Return the runs, on ``candidates`` pairs of inputs together, after which a check at level ``alpha`` has
    refuted the worst violation: an event that always happens on one input of a pair and never on the other.

    It is computed from the stakes alone, before any run, as if the event was seen by an expert without
    capital, so that only the bettor who follows the richest expert earns. ``None`` where no number of runs
    would do.
    """
    # the bound needs the values below the claim to be rejected too, some at this level
    goal = math.log(1 / ((1 - COARSE) * alpha))
    told = points.deltas < 1
    epsilons, deltas = points.epsilons[told], points.deltas[told]
    following = FOLLOWING if candidates > 1 else 0.0
    share = FOLLOW / len(points.epsilons) * ((1 - following) / candidates + following)
    event = np.eye(2)[:, None, :]  # every output on the first input is in one cell, on the second in another
    earned, known, leads = np.zeros(len(epsilons)), FIRST_BLOCK, np.zeros(len(epsilons), dtype=bool)
    while np.log1p(share * np.expm1(np.minimum(earned, 700))).max(initial=0.0) < goal:
        if known > MOST_PAIRS or not len(epsilons):
            return None
        size = next_block(known)
        gains = log_gains(CellBlock(known * event, size * event), epsilons, deltas)[:, 0]
        earned = earned + np.where(leads, gains, 0.0)
        leads |= gains > 0
        known += size
    # The pair with the event leads after the first block of every pair; the others get a share beside it.
    shared = math.ceil(EXPLORED * known)
    others = max((candidates - 1) * FIRST_BLOCK, shared + next_block(shared)) if candidates > 1 else 0
    return 2 * (known + others)


def visible_epsilon(schedule: Schedule, *, probability: float) -> float | None:
    """The smallest epsilon' at which an event of this probability on one input, e^-epsilon' times it on the
    other, would have been seen.

    ``None`` where even an event that the other input hardly ever produces would have been missed.
    """

    def seen(epsilons: Floats) -> NDArray[np.bool_]:
        return schedule.refutes(np.full(len(epsilons), probability), probability * np.exp(-epsilons))

    return _smallest(seen, schedule.epsilon, schedule.epsilon + MAX_EXTRA_EPSILON)


def exclusive_probability(schedule: Schedule) -> float | None:
    """The smallest probability at which an event that the other input never produces would have been seen;
    ``None`` for none.
    """
    log_seen = _smallest(
        lambda logs: schedule.refutes(np.exp(logs), np.zeros(len(logs))), math.log(1e-12), 0.0
    )
    return None if log_seen is None else math.exp(log_seen)


def _smallest(seen: Callable[[Floats], NDArray[np.bool_]], low: float, high: float) -> float | None:
    """The smallest value in [low, high] that is seen, by repeated narrowing; the value returned is a seen
    one.
    """
    for _ in range(NARROWINGS):
        tried = np.linspace(low, high, TRIED)
        places = np.flatnonzero(seen(tried))
        if not len(places):
            return None
        place = int(places[0])
        low, high = float(tried[max(place - 1, 0)]), float(tried[place])
    return high
