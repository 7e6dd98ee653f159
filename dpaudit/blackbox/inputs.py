"""Declare neighbouring inputs by the values of a record, the number of records and the adjacency.

    inputs = Inputs([0, 1], size=(1, 4))
    check(mechanism, claim, neighbours=inputs)

``Inputs`` can be used like a sequence of pairs: corners first, from the smallest to the largest, then pairs
drawn by Hypothesis. After a refutation, ``check`` shrinks the pair by ``strategy``.
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
    """Datasets of a given size, and their neighbours.

    Parameters
    ----------
    records : sequence or Hypothesis strategy
        The values of a record, with extreme values first, or a strategy for a record.
    size : int or (int, int), default (1, 4)
        Number of records, or the smallest and the largest number, at least 1.
    adjacency : Adjacency or str, default "replace-one"
        One record is replaced, added or removed, or set to ``null`` (``zero-out``).
    extremes : sequence, optional
        The values of which corners are made. Required if ``records`` is a strategy.
    null : object, optional
        The record of an absent user. Required for ``zero-out``.
    make : callable, default list
        Converts a list of records to the input of the mechanism.

    Raises
    ------
    InvalidParameterError
        The sizes are out of order, there are too few values, or a strategy has no ``extremes``.

    Examples
    --------
    >>> len(Inputs([0, 1], size=2).corners())
    8
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
                "size must be an integer number of records, or the smallest and the largest number, got "
                f"{self.size!r}.",
                code="E-SIZE-RANGE",
            )
        least, most = self.sizes
        if not 1 <= least <= most:
            raise InvalidParameterError(
                "size must be at least 1, or a smallest number of at least 1 and a largest number, got "
                f"{self.size!r}.",
                code="E-SIZE-RANGE",
            )
        if len(self.values) < (2 if self.adjacency is Adjacency.REPLACE_ONE else 1):
            raise InvalidParameterError(
                f"Inputs requires different extreme values of a record, got {self.values!r}. Pass extremes=.",
                code="E-CORNERS-EQUAL-VALUES",
            )

    @property
    def sizes(self) -> tuple[int, int]:
        """Return the smallest and the largest number of records."""
        return self.size if isinstance(self.size, tuple) else (self.size, self.size)

    @property
    def values(self) -> list[Any]:
        """Return the values of a record of which corners are made."""
        if len(self.extremes) or isinstance(self.records, SearchStrategy):
            return values_of(self.extremes)
        return values_of(self.records)

    def corners(self) -> list[Neighbours]:
        """Return pairs of equal or alternating extreme records, with the first, middle or last changed."""
        return self._made.corners()

    def strategy(self) -> SearchStrategy[Neighbours]:
        """Return a Hypothesis strategy for pairs of neighbours. It shrinks to few and simple records."""
        return self._made.strategy()

    def pairs(self, *, seed: int = 0) -> list[Neighbours]:
        """Return the corners, then pairs drawn with ``seed``, without equal inputs and repetitions."""
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
