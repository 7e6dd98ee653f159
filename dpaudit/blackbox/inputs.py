"""Neighbouring inputs as a value: what a record can be, how many there are, which change makes neighbours.

    inputs = Inputs([0, 1], size=(1, 4))
    check(mechanism, claim, neighbours=inputs)

It can be used wherever pairs can: it is the sequence of its pairs, corners first, the smallest ones before,
then what Hypothesis draws. After a refutation ``check`` shrinks the pair by ``strategy``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, overload

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from dpaudit.blackbox.neighbours import require_null, values_of
from dpaudit.core.claims import Adjacency
from dpaudit.core.claims.base import one_of
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.pairs import RecordPairs

__all__ = ["Inputs"]


@dataclass(frozen=True)
class Inputs(Sequence[Neighbours]):
    """Data sets of ``size`` records (a number, or the least and the largest), and their neighbours.

    ``records``: the values of a record, extreme ones first, or a Hypothesis strategy for one; then
    ``extremes`` are the values that corners are made of. ``adjacency``: one record is replaced, added or
    removed, or set to ``null`` (``zero-out``, which needs it). ``make`` turns a list of records into the
    mechanism's input.

    Raises ``InvalidParameterError`` for sizes out of order, no record, a strategy without ``extremes``.
    """

    records: Sequence[Any] | SearchStrategy[Any]
    size: int | tuple[int, int] = (1, 4)
    adjacency: Adjacency | str = Adjacency.REPLACE_ONE
    extremes: Sequence[Any] = ()
    null: Any = ...
    make: Callable[[list[Any]], Any] = list

    def __post_init__(self) -> None:
        object.__setattr__(self, "adjacency", one_of(Adjacency, self.adjacency, name="adjacency"))
        require_null(Adjacency(self.adjacency), self.null)
        sizes = self.size if isinstance(self.size, tuple) and len(self.size) == 2 else (self.size, self.size)
        if not all(isinstance(size, Integral) and not isinstance(size, bool) for size in sizes):
            raise InvalidParameterError(
                f"size must be a number of records, or the least and the largest, got {self.size!r}; pass "
                "whole numbers."
            )
        least, most = self.sizes
        if not 1 <= least <= most:
            raise InvalidParameterError(
                f"size must be a number of records, or the least and the largest, got {self.size!r}; "
                "begin at 1 or more."
            )
        if len(self.values) < (2 if self.adjacency is Adjacency.REPLACE_ONE else 1):
            raise InvalidParameterError(
                f"corners need extreme values of a record that differ, got {self.values!r}; name them in "
                "extremes."
            )

    @property
    def sizes(self) -> tuple[int, int]:
        """The least and the largest number of records."""
        return self.size if isinstance(self.size, tuple) else (self.size, self.size)

    @property
    def values(self) -> list[Any]:
        """The values of a record that corners are made of."""
        if len(self.extremes) or isinstance(self.records, SearchStrategy):
            return values_of(self.extremes)
        return values_of(self.records)

    def corners(self) -> list[Neighbours]:
        """Pairs at the edges: all records equal, or alternating, and the first, the middle or the last one
        changed."""
        return self._made.corners()

    def strategy(self) -> SearchStrategy[Neighbours]:
        """A Hypothesis strategy for pairs of neighbours; it shrinks to few and simple records."""
        return self._made.strategy()

    def pairs(self, *, seed: int = 0) -> list[Neighbours]:
        """Corners, then some pairs drawn by ``seed``; equal inputs and repetitions are left out."""
        return self._made.pairs(seed=seed)

    @cached_property
    def _made(self) -> RecordPairs:
        records = self.records
        return RecordPairs(
            record=records if isinstance(records, SearchStrategy) else st.sampled_from(records),
            values=self.values,
            sizes=self.sizes,
            adjacency=one_of(Adjacency, self.adjacency, name="adjacency"),
            null=self.null,
            make=self.make,
        )

    @cached_property
    def _drawn(self) -> list[Neighbours]:
        return self.pairs()

    def __len__(self) -> int:
        return len(self._drawn)

    @overload
    def __getitem__(self, place: int) -> Neighbours: ...

    @overload
    def __getitem__(self, place: slice) -> list[Neighbours]: ...

    def __getitem__(self, place: int | slice) -> Neighbours | list[Neighbours]:
        return self._drawn[place]

    def __iter__(self) -> Iterator[Neighbours]:
        return iter(self._drawn)
