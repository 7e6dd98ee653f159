"""Finitely many data sets and all their pairs of neighbours: a domain that enumeration settles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.claims import Adjacency
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, exact
from dpaudit.core.neighbours import Neighbours
from dpaudit.replay.domains import Beside, Domain, as_array, unlike

__all__ = ["DataSets"]

#: More data sets than this are not enumerated.
MOST = 200


@dataclass(frozen=True, kw_only=True)
class DataSets(Domain):
    """All data sets of ``records`` numbers, each one of ``values`` (two or more, different), and with
    ``fewer`` all smaller ones, the empty one too.

    A program gets each as a vector: of integers where all values are whole, otherwise of floats.
    """

    exhaustive: ClassVar[bool] = True

    records: int
    values: Sequence[ExactLike]
    fewer: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.records, bool) or not isinstance(self.records, int) or self.records < 1:
            raise InvalidParameterError(f"records must be a whole number from 1 up, got {self.records!r}.")
        if len({exact(value, name="value") for value in self.values}) != len(self.values) or (
            len(self.values) < 2
        ):
            raise InvalidParameterError(
                f"values must be two or more different numbers, got {list(self.values)}; a record could not "
                "change."
            )
        count = sum(len(self.values) ** size for size in self._sizes)
        if count > MOST:
            raise InvalidParameterError(
                f"at most {MOST} data sets are enumerated, got {count}; use fewer records or values, or give "
                "pairs."
            )

    def __str__(self) -> str:
        names, fewer = ", ".join(str(exact(value)) for value in self.values), " or fewer" * self.fewer
        return f"one of {names}, in a data set of {self.records}{fewer} record{'s' * (self.records > 1)}"

    def listed(self) -> list[Any]:
        """All of them, as the program gets them."""
        whole = all(exact(value).denominator == 1 for value in self.values)
        kind, read = (np.int64, int) if whole else (np.float64, float)
        return [np.array([read(x) for x in data], dtype=kind) for data in self._tuples()]

    def neighbours(self, adjacency: Adjacency, *, of: Sequence[int] | None = None) -> list[tuple[int, int]]:
        """All pairs of neighbours as places in ``listed``, each once; ``of`` names the records that may
        differ (all of them if it is left out).

        Raises ``InvalidParameterError`` for zero-out without the value 0, and for add-or-remove without
        smaller data sets, or of a named record, which has no fixed place.
        """
        if adjacency is Adjacency.ZERO_OUT and all(exact(value) != 0 for value in self.values):
            raise InvalidParameterError(
                f"zero-out needs the null record 0 among the values, got {list(self.values)}; add it."
            )
        if adjacency is Adjacency.ADD_REMOVE and of is not None:
            raise InvalidParameterError(
                "a record that is added or removed has no place of its own, so that no view leaves out its "
                "user; claim replace-one or zero-out there."
            )
        if adjacency is Adjacency.ADD_REMOVE and not self.fewer:
            raise InvalidParameterError(
                "add-or-remove needs smaller data sets as neighbours, got one size only; pass fewer=True."
            )
        data = list(self._tuples())
        places = range(self.records) if of is None else of
        return [
            (i, j)
            for (i, left), (j, right) in combinations(enumerate(data), 2)
            if _adjacent(left, right, adjacency, places)
        ]

    def pairs(self, adjacency: Adjacency, *, of: Sequence[int] | None = None) -> list[Neighbours]:
        """``neighbours`` with their data, named by them."""
        data, names = self.listed(), [f"({', '.join(map(str, item))})" for item in self._tuples()]
        found = self.neighbours(adjacency, of=of)
        return [Neighbours(f"{names[i]} against {names[j]}", data[i], data[j]) for i, j in found]

    def holds(self, numbers: NDArray[Any]) -> bool:
        """Whether data with these numbers are one of the data sets."""
        found = as_array(numbers)
        return found is not None and any(np.array_equal(found, data) for data in self.listed())

    def beside(
        self, pairs: Sequence[Neighbours], adjacency: Adjacency, rng: np.random.Generator, *, most: int
    ) -> Beside:
        """All pairs of neighbours that are not among ``pairs``, however many ``most`` is."""
        return Beside(rest=unlike(self.pairs(adjacency), pairs))

    @property
    def _sizes(self) -> range:
        return range(0 if self.fewer else self.records, self.records + 1)

    def _tuples(self) -> Iterator[tuple[Any, ...]]:
        """Numbers as ``exact`` reads them."""
        for size in self._sizes:
            yield from product([exact(value) for value in self.values], repeat=size)


def _adjacent(
    left: tuple[Any, ...], right: tuple[Any, ...], adjacency: Adjacency, places: Sequence[int]
) -> bool:
    if adjacency is Adjacency.ADD_REMOVE:
        short, long = sorted((left, right), key=len)
        return len(long) == len(short) + 1 and any(
            long[:i] + long[i + 1 :] == short for i in range(len(long))
        )
    if len(left) != len(right):
        return False
    changed = [i for i, (a, b) in enumerate(zip(left, right, strict=True)) if a != b]
    if len(changed) != 1 or changed[0] not in places:
        return False
    return adjacency is Adjacency.REPLACE_ONE or 0 in (left[changed[0]], right[changed[0]])
