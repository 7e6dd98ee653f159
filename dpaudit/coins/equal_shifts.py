"""Group the affected sites of a replay that have the same pair of distributions.

Ten thousand equal releases have one cost and one mechanism, and one array call computes all their losses.
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

#: Noise whose log-density has a closed form that is defined for every finite outcome.
_CLOSED = frozenset({Laplace, DiscreteLaplace, Gaussian})


@dataclass
class EqualShifts(Generic[Item]):
    """Items with one distribution on the recorded input and one on the neighbour, in the order of the run."""

    distribution: Distribution
    other: Distribution
    items: list[Item] = field(default_factory=list)

    def holds(self, distribution: Distribution, other: Distribution) -> bool:
        """Return whether the group is for these two distributions."""
        return bool(distribution == self.distribution and other == self.other)


def equal_shifts(result: Replay) -> list[EqualShifts[SiteLoss]]:
    """Return the affected sites of a replay that have a distribution, grouped by their two distributions.

    The groups are in the order in which their distributions first occur.
    """
    affected = (item for item in result.losses if item.moved)
    return _grouped(
        (item.record.distribution, item.distribution_neighbour, item)
        for item in affected
        if item.record.distribution is not None
    )


def _grouped(affected: Iterable[tuple[Distribution | None, Distribution, Item]]) -> list[EqualShifts[Item]]:
    found: list[EqualShifts[Item]] = []
    known: dict[tuple[Distribution, Distribution], EqualShifts[Item]] = {}
    last: EqualShifts[Item] | None = None
    for distribution, other, item in affected:
        assert distribution is not None  # callers skip sites without a distribution
        # Usually many equal sites follow each other, and a comparison is cheaper than two hashes.
        if last is None or not last.holds(distribution, other):
            last = _group_of(known, distribution, other)
            if not last.items:
                found.append(last)
        last.items.append(item)
    return found


def _group_of(
    known: dict[tuple[Distribution, Distribution], EqualShifts[Item]],
    distribution: Distribution,
    other: Distribution,
) -> EqualShifts[Item]:
    try:
        return known.setdefault((distribution, other), EqualShifts(distribution, other))
    except TypeError:  # a distribution that the program defines may have no hash
        return EqualShifts(distribution, other)


def by_name(moves: EqualShifts[SiteLoss]) -> dict[str, list[SiteLoss]]:
    """Return the sites of a group by name, in order."""
    found: dict[str, list[SiteLoss]] = {}
    for item in moves.items:
        found.setdefault(item.record.site, []).append(item)
    return found


class PendingLosses:
    """Sites of a replay whose losses are evaluated at its end, in one array call per pair of distributions.

    Only sites whose evaluation cannot fail are accepted: one finite number under a closed form.
    """

    def __init__(self) -> None:
        self._places: list[int] = []

    def takes(self, value: Any, distribution: Distribution, other: Distribution) -> bool:
        """Return whether the loss of this outcome under these distributions can be evaluated later."""
        return (
            type(value) is float and math.isfinite(value) and _is_closed(distribution) and _is_closed(other)
        )

    def add(self, place: int) -> None:
        """Mark the loss at this place in the list of losses as pending."""
        self._places.append(place)

    def settle(self, losses: list[SiteLoss]) -> None:
        """Evaluate the pending losses and write them into the list."""
        pending = (
            (losses[place].record.distribution, losses[place].distribution_neighbour, place)
            for place in self._places
        )
        for moves in _grouped(pending):
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
