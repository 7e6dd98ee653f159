"""Compute the power of a run that refuted nothing, from the same stakes on the same schedule.

``runs_needed`` computes the power before the runs, for the worst possible violation.

For an event of given probability under one input, the bettor earns faster the smaller its probability is
under the other input. The stakes of the run are applied to *expected* counts of such an event, block by
block, as if one expert observed it and all others observed nothing. The smallest violation whose expected
path reaches the threshold is a violation that about half of all such runs would have refuted.
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
#: An upper limit on pairs of runs. An event that requires more is never detected.
MOST_PAIRS = 10**24
#: Number of violations tried at once, and of narrowings around the smallest detectable violation.
TRIED = 33
NARROWINGS = 3

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Schedule:
    """Schedule of the attack on one pair.

    Attributes
    ----------
    epsilon, delta : float
        The tested point.
    first : int
        Pairs of runs in the learning block.
    sizes : sequence of int
        Pairs of runs in each block with bets.
    share : float
        Capital of the one expert that observes the event, in [0, 1].
    follow : float
        Capital of the bettor that copies the richest expert, in [0, 1].
    candidates : int
        Number of pairs of neighbours that share the capital.
    alpha : float
        Significance level, in (0, 1).
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
        """Return whether events with these probabilities refute the claim on their expected paths.

        ``first`` and ``second`` are the probabilities on the two inputs. All shapes are (K,).
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
        following = FOLLOWING if self.candidates > 1 else 0.0  # this pair is the richest in this computation
        return 1.0 + earned * ((1 - following) / self.candidates + following)


def runs_needed(points: Points, *, candidates: int, alpha: float) -> int | None:
    """Return the total number of runs after which a check has refuted the worst violation.

    The worst violation is an event that always occurs on one input of a pair and never on the other. The
    number is computed from the stakes alone, before any run. It assumes that the event is observed by an
    expert without capital, so that only the bettor that follows the richest expert earns.

    Parameters
    ----------
    points : Points
        The tested (epsilon, delta) points.
    candidates : int
        Number of pairs of inputs that share the runs.
    alpha : float
        Significance level, in (0, 1).

    Returns
    -------
    int or None
        The number of runs. None if no number of runs is enough.
    """
    # The bound also requires that the values below the claim are rejected, some of them at this level.
    goal = math.log(1 / ((1 - COARSE) * alpha))
    informative = points.deltas < 1
    epsilons, deltas = points.epsilons[informative], points.deltas[informative]
    following = FOLLOWING if candidates > 1 else 0.0
    share = FOLLOW * points.share * ((1 - following) / candidates + following)
    event = np.eye(2)[:, None, :]  # the outputs on the two inputs are in two different cells
    earned, known, leads = np.zeros(len(epsilons)), FIRST_BLOCK, np.zeros(len(epsilons), dtype=bool)
    while np.log1p(share * np.expm1(np.minimum(earned, 700))).max(initial=0.0) < goal:
        if known > MOST_PAIRS or not len(epsilons):
            return None
        size = next_block(known)
        gains = log_gains(CellBlock(known * event, size * event), epsilons, deltas)[:, 0]
        earned = earned + np.where(leads, gains, 0.0)
        leads |= gains > 0
        known += size
    # The pair with the event leads after the first block of every pair. The others get a share of its runs.
    shared = math.ceil(EXPLORED * known)
    others = max((candidates - 1) * FIRST_BLOCK, shared + next_block(shared)) if candidates > 1 else 0
    return 2 * (known + others)


def visible_epsilon(schedule: Schedule, *, probability: float) -> float | None:
    """Return the smallest detectable epsilon' for an event of this probability.

    The event has this probability on one input and e^-epsilon' times it on the other. The result is None if
    the run would have missed the event even if the other input hardly ever produced it.
    """

    def seen(epsilons: Floats) -> NDArray[np.bool_]:
        return schedule.refutes(np.full(len(epsilons), probability), probability * np.exp(-epsilons))

    return _smallest(seen, schedule.epsilon, schedule.epsilon + MAX_EXTRA_EPSILON)


def exclusive_probability(schedule: Schedule) -> float | None:
    """Return the smallest detectable probability of an event that the other input never produces, or None."""
    log_seen = _smallest(
        lambda logs: schedule.refutes(np.exp(logs), np.zeros(len(logs))), math.log(1e-12), 0.0
    )
    return None if log_seen is None else math.exp(log_seen)


def _smallest(seen: Callable[[Floats], NDArray[np.bool_]], low: float, high: float) -> float | None:
    """Return the smallest detectable value in [low, high] by repeated narrowing.

    The returned value itself is detectable. The result is None if no tried value is.
    """
    for _ in range(NARROWINGS):
        tried = np.linspace(low, high, TRIED)
        places = np.flatnonzero(seen(tried))
        if not len(places):
            return None
        place = int(places[0])
        low, high = float(tried[max(place - 1, 0)]), float(tried[place])
    return high
