"""Survival of arms in a batch on the event E of elimination in batches, and their pulls.

On E every decoded mean is within β(b) of its mean. The algorithm's decision rule is driven with decoded means
at the corners of E, which are verified in exact arithmetic on the very floats. ``late_pair`` is a corner of
the rewards: one reward decides which arm is eliminated.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.coins import Sampler
from dpaudit.core.neighbours import Neighbours
from dpaudit.reference.algorithms.mab.batched_elimination import (
    Elimination,
    NoiseTail,
    batch_length,
    confidence_radius,
    strategy,
)
from dpaudit.reference.algorithms.mab.distributed_elimination import Variant

__all__ = ["Corner", "best_arms_lost", "corners_of_event", "late_pair", "pull_ratio", "surviving_gaps"]

Floats = NDArray[np.float64]

#: Offsets of a decoded mean in units of β(b).
OFFSETS = (-1.0, -0.5, 0.0, 0.5, 1.0)
TAIL = NoiseTail(math.sqrt(2) / 0.5, 1 / 0.5)  # Dist-DP-SE at ε = 1/2


# L2b, L2c: one batch


@dataclass(frozen=True)
class Corner:
    """Runs of one batch with all arms active: decoded ``means`` (R, K) on E, β, and which arms stay, (R,
    K).
    """

    means: Floats
    radius: float
    stays: NDArray[np.bool_]


def corners_of_event(
    arms: Sequence[float], *, batch: int, p: Fraction, offsets: Sequence[float] = OFFSETS
) -> Corner:
    """Close batch ``batch`` for arms of these means, with every combination of ``offsets``.

    For offsets in [-1, 1] the decoded means are floats that satisfy |μ̂ - μ| <= β exactly.
    """
    radius = gap_radius(len(arms), batch, p)
    columns = [[_inside(mean, offset, radius) for offset in offsets] for mean in arms]
    means = np.array(list(itertools.product(*columns)))
    state = Elimination(means.shape, failure_prob=p, tail=lambda length: TAIL)
    state.batch = batch
    state.update(means)
    return Corner(means, radius, state.active)


def _inside(mean: float, offset: float, radius: float) -> float:
    """Return mean + offset β as a float, moved towards the mean until |.| <= max(1, |offset|) β holds
    exactly.
    """
    value = mean + offset * radius
    most = Fraction(radius) * Fraction(max(1.0, abs(offset)))
    while abs(Fraction(value) - Fraction(mean)) > most:
        value = math.nextafter(value, mean)
    return value


def gap_radius(n_arms: int, batch: int, p: Fraction) -> float:
    """Return β(b) as the decision rule computes it."""
    active = np.full((1, 1), n_arms)
    length = batch_length(batch)
    return float(confidence_radius(batch, active, length, failure_prob=float(p), tail=TAIL)[0, 0])


def best_arms_lost(arms: Sequence[float], *, batch: int, p: Fraction, offsets: Any = OFFSETS) -> int:
    """Return how many best arms are eliminated, over all combinations of ``offsets``."""
    corner = corners_of_event(arms, batch=batch, p=p, offsets=offsets)
    best = np.array(arms) == max(arms)
    return int((~corner.stays[:, best]).sum())


def surviving_gaps(factors: Sequence[float], *, n_arms: int, batch: int, p: Fraction) -> float:
    """Return the largest Δ/β(b) of an arm that survives on E.

    Arm 0 is the best, arm 1 has gap ``factor`` β, the others lie between them.
    """
    largest = 0.0
    for factor in factors:
        radius = gap_radius(n_arms, batch, p)
        low = 1 - factor * radius
        arms = [1.0, low, *([(1 + low) / 2] * (n_arms - 2))]
        corner = corners_of_event(arms, batch=batch, p=p)
        if corner.stays[:, 1].any():
            gap = Fraction(arms[0]) - Fraction(arms[1])
            largest = max(largest, float(gap / Fraction(corner.radius)))
    return largest


# L2d: pulls


class _Rewards:
    """A batch of one arm: equal rewards."""

    def __init__(self, count: int, reward: float) -> None:
        self.rounds, self._reward = range(count), reward

    def values(self) -> Floats:
        return np.full(len(self.rounds), self._reward)

    def sum(self) -> float:
        return self._reward * len(self.rounds)


def pull_ratio(survived: Sequence[int], *, batches: int, growth: Fraction = Fraction(2)) -> float:
    """Return the largest N_a(T)/l(b̄_a(T)) over all eliminated arms and all T up to ``batches`` batches.

    Arm a survives the first ``survived[a]`` batches, and its decoded mean is far below the others' in the
    next. b̄_a(T) is the last batch that is over by T and that a survives; l(0) counts as 1. Pulls are those
    of Algorithm 1.
    """
    pulls = strategy(
        lambda length: lambda coins, rewards: float(sum(rewards)),
        failure_prob=Fraction(1, 10),
        tail=lambda length: TAIL,
        growth=growth,
    )(Sampler(np.random.default_rng(0)), len(survived))
    played, begun = np.zeros(len(survived)), np.zeros(len(survived), dtype=int)
    arm, count = next(pulls)
    largest, over = 0.0, 0
    while count is not None and over < batches:
        begun[arm] += 1
        over = int(begun[arm]) - 1  # all earlier batches are over
        played[arm] += count  # N_a just before batch begun[a] can be over: the largest for this b̄_a
        if survived[arm] < batches:
            largest = max(largest, float(played[arm]) / batch_length(over, growth=growth))
        arm, count = pulls.send(_Rewards(count, 0.0 if begun[arm] <= survived[arm] else -1e12))
    return largest


def late_pair(chosen: Variant) -> Neighbours:
    """Return rewards at which one user's reward decides whether arm 0 is eliminated by raw sums.

    Raw sums eliminate arm 0 after the first batch that can eliminate at all, or keep it if one user's reward
    is 1 and not 0.
    """
    batch = next(b for b in range(1, 40) if _gap(chosen, b) < 1)
    length, start = batch_length(batch), 2 * sum(batch_length(b) for b in range(1, batch))
    # the smallest gap between the sums that is at least l(b) gap; one less keeps the arm
    wanted = int(np.ceil(length * _gap(chosen, batch)))
    data = np.zeros((start + 2 * length + 2, 2))
    data[:, 1] = 1.0
    data[start : start + length - wanted, 0] = 1.0
    other = data.copy()
    other[start + length - 1, 0] = 1.0
    return Neighbours(f"batch {batch}, one reward of arm 0 from 0 to 1", data, other)


def _gap(chosen: Variant, batch: int) -> float:
    """Return the difference of two means above which the lower arm is eliminated."""
    length = batch_length(batch)
    tail = chosen.tail(length)
    return 2 * float(confidence_radius(batch, 2, length, failure_prob=float(chosen.failure_prob), tail=tail))
