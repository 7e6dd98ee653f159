"""The sites that moved in a replay, gathered where both laws are the same.

A run of ten thousand equal releases has one price, one mechanism that it is, and losses that one call on an
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
from dpaudit.distributions.base import Law

__all__ = ["EqualMoves", "PendingLosses", "by_name", "equal_moves"]

Item = TypeVar("Item")

#: Noise whose logarithmic density is a closed form that no finite outcome makes fail.
_CLOSED = frozenset({Laplace, DiscreteLaplace, Gaussian})


@dataclass
class EqualMoves(Generic[Item]):
    """``items`` with ``law`` on the recorded input and ``other`` on the neighbour, in the run's order."""

    law: Law
    other: Law
    items: list[Item] = field(default_factory=list)

    def holds(self, law: Law, other: Law) -> bool:
        """Whether these are the two laws."""
        return bool(law == self.law and other == self.other)


def equal_moves(result: Replay) -> list[EqualMoves[SiteLoss]]:
    """The sites of a replay that moved and have a law of their own, by their two laws, in the order in which
    these came first."""
    moved = (item for item in result.losses if item.moved)
    return _gathered(
        (item.record.law, item.law_neighbour, item) for item in moved if item.record.law is not None
    )


def _gathered(moved: Iterable[tuple[Law | None, Law, Item]]) -> list[EqualMoves[Item]]:
    found: list[EqualMoves[Item]] = []
    known: dict[tuple[Law, Law], EqualMoves[Item]] = {}
    last: EqualMoves[Item] | None = None
    for law, other, item in moved:
        assert law is not None  # callers leave sites without a law out
        # Runs are long as a rule, and a comparison costs less than two hashes.
        if last is None or not last.holds(law, other):
            last = _looked_up(known, law, other)
            if not last.items:
                found.append(last)
        last.items.append(item)
    return found


def _looked_up(known: dict[tuple[Law, Law], EqualMoves[Item]], law: Law, other: Law) -> EqualMoves[Item]:
    try:
        return known.setdefault((law, other), EqualMoves(law, other))
    except TypeError:  # a law of the program's own need not have a hash
        return EqualMoves(law, other)


def by_name(moves: EqualMoves[SiteLoss]) -> dict[str, list[SiteLoss]]:
    """The same sites by their names, in order."""
    found: dict[str, list[SiteLoss]] = {}
    for item in moves.items:
        found.setdefault(item.record.site, []).append(item)
    return found


class PendingLosses:
    """Sites of a replay whose losses are evaluated at its end, all of two equal laws at once. Only where
    nothing can go wrong in that: one finite number under one of a few closed forms."""

    def __init__(self) -> None:
        self._places: list[int] = []

    def takes(self, value: Any, law: Law, other: Law) -> bool:
        """Whether the loss of this outcome under these laws can wait."""
        return type(value) is float and math.isfinite(value) and _is_closed(law) and _is_closed(other)

    def add(self, place: int) -> None:
        """The loss at this place in the list of losses is to come."""
        self._places.append(place)

    def settle(self, losses: list[SiteLoss]) -> None:
        """Write the losses that were to come into the list."""
        waiting = ((losses[place].record.law, losses[place].law_neighbour, place) for place in self._places)
        for moves in _gathered(waiting):
            values = np.array([losses[place].record.value for place in moves.items])
            with np.errstate(invalid="ignore"):
                found = moves.law.logp(values) - moves.other.logp(values)
            for place, loss in zip(moves.items, found, strict=True):
                losses[place] = replace(losses[place], loss=np.asarray(loss))
        self._places.clear()


def _is_closed(law: Law) -> bool:
    return type(law) is Shifted and type(law.base) in _CLOSED and not law.batch_shape
