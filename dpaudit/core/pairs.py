"""Make pairs of neighbouring datasets from the possible values of one record.

The pairs are corners, and draws from a Hypothesis strategy.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from hypothesis.strategies import SearchStrategy

from dpaudit.core.claims.base import Adjacency
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.unusual import Case

__all__ = ["RecordPairs", "drawn_from", "shown"]

#: Two neighbouring datasets, as lists of records.
Lists = tuple[list[Any], list[Any]]
#: The number of characters of an input in a name.
SHOWN = 60

#: The largest number of distinct records that a drawn dataset starts from. Longer datasets repeat them.
DISTINCT = 8


@dataclass(frozen=True, kw_only=True)
class RecordPairs:
    """Pairs of neighbouring datasets, with everything that determines them.

    Attributes
    ----------
    record : SearchStrategy
        A Hypothesis strategy for one record.
    values : sequence
        The extreme records, the two most different ones first.
    sizes : tuple of int
        The smallest and the largest number of records (under add-remove, of the larger dataset).
    adjacency : Adjacency
        The change that makes neighbours.
    null : object
        The null record of zero-out.
    make : callable
        Converts a list of records to the input of a mechanism.
    group : int
        The largest number of records that may change at once.
    middle : bool
        Whether corners change the middle record too.
    most : int
        The largest number of corner pairs.
    drawn : int
        The largest number of additional pairs that Hypothesis draws.
    more : sequence of Case
        Unusual datasets in which one record changes, for additional pairs.
    """

    record: SearchStrategy[Any]
    values: Sequence[Any]
    sizes: tuple[int, int]
    adjacency: Adjacency
    null: Any = None
    make: Callable[[list[Any]], Any] = list
    group: int = 1
    middle: bool = True
    most: int = 24
    drawn: int = 10
    more: Sequence[Case] = ()

    def corners(self) -> list[Neighbours]:
        """Return pairs of extreme records, all equal or alternating, with the first, middle or last changed.

        The most different records and the smallest datasets come first. If there are too many pairs, half of
        the result is a fixed random choice of the others.
        """
        return self._made(self._corner_lists())

    def strategy(self) -> SearchStrategy[Neighbours]:
        """Return a Hypothesis strategy for pairs that shrinks to few and simple records.

        The two inputs of a pair may be equal.
        """
        return self._lists().map(lambda lists: self._pair(*lists))

    def pairs(self, *, seed: int = 0) -> list[Neighbours]:
        """Return corners, pairs drawn with ``seed`` and unusual pairs, without equal or repeated inputs."""
        drawn = drawn_from(self._lists(), seed, self.drawn) if self.drawn else []
        return [*self._made([*self._corner_lists(), *drawn]), *self.unusual()]

    def unusual(self) -> list[Neighbours]:
        """Return the pairs of unusual datasets. Their names begin with what is special."""
        found: dict[str, Neighbours] = {}
        for case in self.more:
            left, right = self._changed(case)
            if left != right:
                pair = self._pair(left, right)
                found.setdefault(repr((left, right)), replace(pair, name=f"{case.words}: {pair.name}"))
        return list(found.values())

    def __iter__(self) -> Iterator[Neighbours]:
        return iter(self.pairs())

    def _corner_lists(self) -> list[Lists]:
        values, by = list(self.values), self.adjacency
        if by is Adjacency.REPLACE_ONE:
            changes = list(combinations(values, 2))
        else:
            changes = [(x, self.null) for x in values if by is Adjacency.ADD_REMOVE or x != self.null]
        places = [
            (change, size, background, start)
            for change in changes
            for size in self._corner_sizes()
            for background in self._backgrounds(size)
            for start in self._starts(size - self._changes(size))
        ]
        if len(places) > self.most:
            first, others = places[: self.most // 2], places[self.most // 2 :]
            chosen = random.Random(0).sample(range(len(others)), self.most - len(first))
            places = [*first, *(others[k] for k in sorted(chosen))]
        found = []
        for (old, new), size, background, start in places:
            records = [values[background[k % len(background)]] for k in range(size)]
            changed = {start + k: new for k in range(self._changes(size))}
            found.append(
                self._neighbours([old if k in changed else x for k, x in enumerate(records)], changed)
            )
        return found

    def _starts(self, last: int) -> list[int]:
        return sorted({0, last // 2, last} if self.middle else {0, last})

    def _corner_sizes(self) -> list[int]:
        least, most = self.sizes
        return sorted({least, min(least + 1, most), (least + most) // 2, most})

    def _backgrounds(self, size: int) -> list[list[int]]:
        """Return the unchanged records, to be repeated, as indices into ``values``."""
        every = range(len(self.values))
        if self._changes(size) == size:  # all records change
            return [[0]]
        return [*([k] for k in every), *([[*every]] if len(every) > 1 else [])]

    def _changes(self, size: int) -> int:
        """Return the number of records that change in a dataset of ``size`` records."""
        return min(self.group, size)

    def _lists(self) -> SearchStrategy[Lists]:
        least, most = self.sizes

        @st.composite
        def lists(draw: st.DrawFn) -> Lists:
            if most <= DISTINCT:
                left = draw(st.lists(self.record, min_size=least, max_size=most))
            else:  # Hypothesis does not generate long lists
                size = draw(st.integers(least, most))
                some = draw(st.lists(self.record, min_size=1, max_size=DISTINCT))
                left = [some[k % len(some)] for k in range(size)]
            places = draw(
                st.lists(
                    st.integers(0, len(left) - 1), min_size=1, max_size=self._changes(len(left)), unique=True
                )
            )
            fresh = self.adjacency is Adjacency.REPLACE_ONE
            return self._neighbours(left, {k: draw(self.record) if fresh else self.null for k in places})

        return lists()

    def _neighbours(self, left: list[Any], changed: dict[int, Any]) -> Lists:
        if self.adjacency is Adjacency.ADD_REMOVE:
            return left, [record for k, record in enumerate(left) if k not in changed]
        return left, [changed.get(k, record) for k, record in enumerate(left)]

    def _changed(self, case: Case) -> Lists:
        new = self.null if self.adjacency is Adjacency.ZERO_OUT else case.new
        return self._neighbours(case.records, {case.place: new})

    def _made(self, lists: Iterable[Lists]) -> list[Neighbours]:
        """Return the pairs of these lists, without pairs of equal lists and without repetitions or swaps."""
        found: dict[frozenset[str], Neighbours] = {}
        for left, right in lists:
            if left != right:
                found.setdefault(frozenset((repr(left), repr(right))), self._pair(left, right))
        return list(found.values())

    def _pair(self, left: list[Any], right: list[Any]) -> Neighbours:
        return Neighbours(
            f"{shown(left[:SHOWN])} and {shown(right[:SHOWN])}", self.make(left), self.make(right)
        )


def shown(data: Any) -> str:
    """Return a short description of an input on one line. Tables are cut to their first rows, by column."""
    pandas = sys.modules.get("pandas")  # a table can exist only if pandas is loaded
    if pandas is not None and isinstance(data, pandas.DataFrame):
        data = data.head(SHOWN).to_dict("list")
    elif pandas is not None and isinstance(data, pandas.Series):
        data = data.head(SHOWN).tolist()
    text = " ".join(repr(data).split())
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 4]} ..."


def drawn_from(strategy: SearchStrategy[Any], seed: int, count: int) -> list[Any]:
    """Return the first draws of a strategy. They depend on the seed only, not on earlier runs."""
    found: list[Any] = []

    @seeded(seed)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(pair: Any) -> None:
        found.append(pair)

    try:
        collect()
    except Unsatisfiable:
        return []
    return found
