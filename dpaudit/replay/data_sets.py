"""Declare finitely many datasets, and list all their pairs of neighbours for enumeration."""

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

#: Largest number of datasets that are enumerated.
MOST = 200


@dataclass(frozen=True, kw_only=True)
class DataSets(Domain):
    """All datasets of ``records`` numbers, each from ``values``.

    A program gets each dataset as a vector, of integers if all values are whole and of floats otherwise.

    Parameters
    ----------
    records : int
        Number of records, at least 1.
    values : sequence of numbers
        Two or more different numbers.
    fewer : bool
        Include all smaller datasets and the empty one (False).

    Raises
    ------
    InvalidParameterError
        A parameter is out of range, or there are more than 200 datasets.
    """

    exhaustive: ClassVar[bool] = True

    records: int
    values: Sequence[ExactLike]
    fewer: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.records, bool) or not isinstance(self.records, int) or self.records < 1:
            raise InvalidParameterError(
                f"records must be an integer of at least 1, got {self.records!r}.", code="E-RECORDS-RANGE"
            )
        if len({exact(value, name="value") for value in self.values}) != len(self.values) or (
            len(self.values) < 2
        ):
            raise InvalidParameterError(
                f"values must be two or more different numbers, got {list(self.values)}.",
                code="E-DOMAIN-ONE-VALUE",
            )
        count = sum(len(self.values) ** size for size in self._sizes)
        if count > MOST:
            raise InvalidParameterError(
                f"at most {MOST} datasets can be enumerated, got {count}. Use fewer records or values, or "
                "list pairs.",
                code="E-DATASETS-MANY",
            )

    def __str__(self) -> str:
        names, fewer = ", ".join(str(exact(value)) for value in self.values), " or fewer" * self.fewer
        return f"one of {names}, in a data set of {self.records}{fewer} record{'s' * (self.records > 1)}"

    def listed(self) -> list[Any]:
        """Return all datasets, as the program gets them."""
        whole = all(exact(value).denominator == 1 for value in self.values)
        kind, read = (np.int64, int) if whole else (np.float64, float)
        return [np.array([read(x) for x in data], dtype=kind) for data in self._tuples()]

    def neighbours(self, adjacency: Adjacency, *, of: Sequence[int] | None = None) -> list[tuple[int, int]]:
        """Return all pairs of neighbours as indices into ``listed``, each once.

        ``of`` names the records that may differ (default: all of them). Raises ``InvalidParameterError`` for
        zero-out without the value 0, for add-or-remove without smaller datasets, and for add-or-remove of a
        named record, which has no fixed position.
        """
        if adjacency is Adjacency.ZERO_OUT and all(exact(value) != 0 for value in self.values):
            raise InvalidParameterError(
                f"zero-out requires the null record 0 among the values, got {list(self.values)}.",
                code="E-DATASETS-NO-NULL",
            )
        if adjacency is Adjacency.ADD_REMOVE and of is not None:
            raise InvalidParameterError(
                "a record that is added or removed has no fixed position, so no view can leave out its user. "
                "Claim replace-one or zero-out.",
                code="E-DATASETS-NO-POSITION",
            )
        if adjacency is Adjacency.ADD_REMOVE and not self.fewer:
            raise InvalidParameterError(
                "add-or-remove requires datasets of two sizes. Pass fewer=True.", code="E-DATASETS-ONE-SIZE"
            )
        data = list(self._tuples())
        places = range(self.records) if of is None else of
        return [
            (i, j)
            for (i, left), (j, right) in combinations(enumerate(data), 2)
            if _adjacent(left, right, adjacency, places)
        ]

    def pairs(self, adjacency: Adjacency, *, of: Sequence[int] | None = None) -> list[Neighbours]:
        """Return the pairs of ``neighbours`` with their data, named by them."""
        data, names = self.listed(), [f"({', '.join(map(str, item))})" for item in self._tuples()]
        found = self.neighbours(adjacency, of=of)
        return [Neighbours(f"{names[i]} against {names[j]}", data[i], data[j]) for i, j in found]

    def holds(self, numbers: NDArray[Any]) -> bool:
        """Return whether data with these numbers are one of the datasets."""
        found = as_array(numbers)
        return found is not None and any(np.array_equal(found, data) for data in self.listed())

    def beside(
        self, pairs: Sequence[Neighbours], adjacency: Adjacency, rng: np.random.Generator, *, most: int
    ) -> Beside:
        """Return all pairs of neighbours that are not among ``pairs``, regardless of ``most``."""
        return Beside(rest=unlike(self.pairs(adjacency), pairs))

    @property
    def _sizes(self) -> range:
        return range(0 if self.fewer else self.records, self.records + 1)

    def _tuples(self) -> Iterator[tuple[Any, ...]]:
        """Yield the datasets as exact numbers."""
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
