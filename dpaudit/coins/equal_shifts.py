"""The sites that moved in a replay, gathered where both distributions are the same.

A run of ten thousand equal releases has one cost, one mechanism that it is, and losses that one call on an
array gives.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import numpy as np

from dpaudit.coins.comparison import Replay, SiteLoss
from dpaudit.distributions import DiscreteLaplace, Gaussian, Laplace, Shifted
from dpaudit.distributions.base import Distribution

__all__ = ["EqualShifts", "PendingLosses", "by_name", "equal_shifts"]

Item = TypeVar("Item")

#: Noise whose logarithmic density is a closed form that no finite outcome makes fail.
_CLOSED = frozenset({Laplace, DiscreteLaplace, Gaussian})


@dataclass
class EqualShifts(Generic[Item]):
    """``items`` with ``distribution`` on the recorded input and ``other`` on the neighbour, in the run's
    order."""

    distribution: Distribution
    other: Distribution
    items: list[Item] = field(default_factory=list)

    def holds(self, distribution: Distribution, other: Distribution) -> bool:
        """Whether these are the two distributions."""
        return bool(distribution == self.distribution and other == self.other)


def equal_shifts(result: Replay) -> list[EqualShifts[SiteLoss]]:
    """The sites of a replay that moved and have a distribution of their own, by their two distributions, in
    the order in which these came first."""
    moved = (item for item in result.losses if item.moved)
    return _gathered(
        (item.record.distribution, item.distribution_neighbour, item)
        for item in moved
        if item.record.distribution is not None
    )


def _gathered(moved: Iterable[tuple[Distribution | None, Distribution, Item]]) -> list[EqualShifts[Item]]:
    found: list[EqualShifts[Item]] = []
    known: dict[tuple[Distribution, Distribution], EqualShifts[Item]] = {}
    last: EqualShifts[Item] | None = None
    for distribution, other, item in moved:
        assert distribution is not None  # callers leave sites without a distribution out
        # Runs are long as a rule, and a comparison costs less than two hashes.
        if last is None or not last.holds(distribution, other):
            last = _looked_up(known, distribution, other)
            if not last.items:
                found.append(last)
        last.items.append(item)
    return found


def _looked_up(
    known: dict[tuple[Distribution, Distribution], EqualShifts[Item]],
    distribution: Distribution,
    other: Distribution,
) -> EqualShifts[Item]:
    try:
        return known.setdefault((distribution, other), EqualShifts(distribution, other))
    except TypeError:  # a distribution of the program's own need not have a hash
        return EqualShifts(distribution, other)


def by_name(moves: EqualShifts[SiteLoss]) -> dict[str, list[SiteLoss]]:
    """The same sites by their names, in order."""
    found: dict[str, list[SiteLoss]] = {}
    for item in moves.items:
        found.setdefault(item.record.site, []).append(item)
    return found


class PendingLosses:
    """Sites of a replay whose losses are evaluated at its end, all of two equal distributions at once. Only
    where nothing can go wrong in that: one finite number under one of a few closed forms."""

    def __init__(self) -> None:
        self._places: list[int] = []

    def takes(self, value: Any, distribution: Distribution, other: Distribution) -> bool:
        """Whether the loss of this outcome under these distributions can wait."""
        return (
            type(value) is float and math.isfinite(value) and _is_closed(distribution) and _is_closed(other)
        )

    def add(self, place: int) -> None:
        """The loss at this place in the list of losses is to come."""
        self._places.append(place)

    def settle(self, losses: list[SiteLoss]) -> None:
        """Write the losses that were to come into the list."""
        waiting = (
            (losses[place].record.distribution, losses[place].distribution_neighbour, place)
            for place in self._places
        )
        for moves in _gathered(waiting):
            values = np.array([losses[place].record.value for place in moves.items])
            with np.errstate(invalid="ignore"):
                found = moves.distribution.logp(values) - moves.other.logp(values)
            for place, loss in zip(moves.items, found, strict=True):
                losses[place] = replace(losses[place], loss=np.asarray(loss))
        self._places.clear()


def _is_closed(distribution: Distribution) -> bool:
    return (
        type(distribution) is Shifted and type(distribution.base) in _CLOSED and not distribution.batch_shape
    )
