"""Small data sets and their neighbours, listed: what "worst case" means in the tests by enumeration.

A data set is a tuple of events in their order of arrival; an event is its owner and its value, ``None`` being
the null record. Neighbours are listed for every adjacency and unit, in the widest sense that the words allow:
a user whose data are replaced may own events at other places, or another number of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations, product
from typing import Any

from dpaudit.core.claims import Adjacency, Unit
from dpaudit.core.views import PUBLIC, View, user

__all__ = [
    "SITUATIONS",
    "Data",
    "Pair",
    "Situation",
    "datasets",
    "move",
    "neighbours",
    "pairs_in",
    "values_of",
    "where",
]

Event = tuple[int, int | None]
Data = tuple[Event, ...]
Values = tuple[int | None, ...]

#: Most events in a data set, unless a generator says otherwise.
MOST = 3


EVERYBODY_SEES = View.of(PUBLIC)


@dataclass(frozen=True)
class Situation:
    """What a claim is relative to: every rule is tried in each."""

    adjacency: Adjacency
    unit: Unit
    view: View = EVERYBODY_SEES
    participation: str = "everybody"

    def __str__(self) -> str:
        return f"{self.adjacency.value}, per {self.unit.value}, seen by {self.view}, {self.participation}"

    @property
    def values(self) -> tuple[int, ...]:
        """Three values per event; two where owners are listed besides."""
        return (0, 1, 2) if self.unit is Unit.EVENT else (0, 1)


def _situations() -> list[Situation]:
    settings = list(product(Adjacency, Unit))
    plain = [Situation(adjacency, unit) for adjacency, unit in settings]
    others = [
        Situation(adjacency, unit, view, participation)
        for adjacency, unit in settings
        for view, participation in (
            (View.of(user(1)), "everybody"),
            (View.everybody_but(user(0)), "everybody"),
            (View.of(PUBLIC), "all but one user"),
        )
    ]
    return plain + others


#: Every adjacency and unit in the public view, and again in two views that hold users and at a lower
#: participation.
SITUATIONS = _situations()


@dataclass(frozen=True)
class Pair:
    """Two neighbours, and the user whose event or events differ."""

    left: Data
    right: Data
    owner: int

    @cached_property
    def values(self) -> tuple[Values, Values]:
        """The values on either side."""
        return values_of(self.left), values_of(self.right)


def values_of(data: Data) -> Values:
    """The values in order, without their owners."""
    return tuple(value for _, value in data)


def where(data: Data, owner: int) -> tuple[int, ...]:
    """The places of the events of ``owner``."""
    return tuple(i for i, (who, _) in enumerate(data) if who == owner)


def datasets(values: Sequence[int | None], sizes: Sequence[int]) -> Iterator[Data]:
    """All data sets of these sizes, owners named in the order in which they first appear."""
    for size in sizes:
        for owners in _owners(size):
            for chosen in product(values, repeat=size):
                yield tuple(zip(owners, chosen, strict=True))


def _owners(size: int) -> list[tuple[int, ...]]:
    patterns: list[tuple[int, ...]] = [()]
    for _ in range(size):
        patterns = [(*p, new) for p in patterns for new in range(max(p, default=-1) + 2)]
    return patterns


def neighbours(
    data: Data, situation: Situation, values: Sequence[int], most: int
) -> Iterator[tuple[Data, int]]:
    """The neighbours of a data set and whose data differ. Removals are listed, and insertions are not: they
    are the removals of the other side."""
    if situation.unit is Unit.EVENT:
        yield from _event_neighbours(data, situation.adjacency, values)
    else:
        yield from _user_neighbours(data, situation.adjacency, values, most)


def _event_neighbours(data: Data, adjacency: Adjacency, values: Sequence[int]) -> Iterator[tuple[Data, int]]:
    for i, (owner, value) in enumerate(data):
        before, after = data[:i], data[i + 1 :]
        if adjacency is Adjacency.ADD_REMOVE:
            yield before + after, owner
        elif adjacency is Adjacency.ZERO_OUT:
            if value is not None:
                yield (*before, (owner, None), *after), owner
        else:
            for other in values:
                if other != value:
                    yield (*before, (owner, other), *after), owner


def _user_neighbours(
    data: Data, adjacency: Adjacency, values: Sequence[int], most: int
) -> Iterator[tuple[Data, int]]:
    for owner in sorted({who for who, _ in data}):
        rest = tuple(event for event in data if event[0] != owner)
        if adjacency is Adjacency.ADD_REMOVE:
            yield rest, owner
        elif adjacency is Adjacency.ZERO_OUT:
            nulled = tuple((who, None if who == owner else value) for who, value in data)
            if nulled != data:
                yield nulled, owner
        else:
            yield from ((right, owner) for right in _with(rest, owner, values, most) if right != data)


def _with(rest: Data, owner: int, values: Sequence[int], most: int) -> Iterator[Data]:
    """``rest`` with one event or more of ``owner`` put in, at any places."""
    for count in range(1, most - len(rest) + 1):
        size = len(rest) + count
        for places in combinations(range(size), count):
            for chosen in product(values, repeat=count):
                mine, others = dict(zip(places, chosen, strict=True)), iter(rest)
                yield tuple((owner, mine[i]) if i in mine else next(others) for i in range(size))


@lru_cache(maxsize=256)
def pairs_in(
    situation: Situation, sizes: tuple[int, ...] = (0, 1, 2, 3), values: tuple[int, ...] = ()
) -> tuple[Pair, ...]:
    """All pairs of neighbours whose left side has one of these sizes."""
    values = values or situation.values
    alphabet: tuple[int | None, ...] = values
    if situation.adjacency is Adjacency.ZERO_OUT:
        alphabet = (*values, None)
    return tuple(
        Pair(left, right, owner)
        for left in datasets(alphabet, sizes)
        for right, owner in neighbours(left, situation, values, max(sizes))
    )


def move(pairs: Sequence[Pair], query: Callable[[Values], Any], distance: Callable[[Any, Any], Any]) -> Any:
    """The largest distance between the values of a query on two neighbours."""
    different = {pair.values for pair in pairs}
    return max((distance(query(left), query(right)) for left, right in different), default=0)
