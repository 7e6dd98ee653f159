"""Which data a claim is about: a declared domain of records, and the pairs of neighbours that follow from it.

A suite's own pairs show what their author thought of. Beside them stand pairs that nobody picked: with a
declared domain its corners and a seeded search; without one, the author's own change of a record at other
positions. A pair of the second kind may lie outside what the author means, so that what it shows is a reason
not to verify, never a refutation.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.claims import Adjacency, Unit
from dpaudit.errors import InvalidParameterError
from dpaudit.exact import ExactLike, dyadic, exact
from dpaudit.neighbours import Neighbours
from dpaudit.tables import rows_of

__all__ = [
    "Domain",
    "Interval",
    "Values",
    "as_array",
    "changed_pair",
    "more_pairs",
    "require_finite",
    "require_neighbours",
    "spoken_domain",
]

#: Where an end of an interval is open: magnitudes that a program could mistake for something else.
LARGE = (2.0, 100.0, 2.0**20)


class Domain(ABC):
    """What one number of a record can be. Records are the entries, or the rows, along the first axis.
    ``not_finite`` says that a number may also be NaN or an infinity."""

    not_finite: bool = False

    @abstractmethod
    def levels(self) -> list[float]:
        """The corners, dyadic where possible, ends first."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Dyadic numbers of the domain."""

    @abstractmethod
    def holds(self, numbers: NDArray[Any]) -> bool:
        """Whether all of them are in the domain."""

    def pairs(
        self, like: Neighbours, adjacency: Adjacency, rng: np.random.Generator, *, searched: int
    ) -> list[Neighbours]:
        """Neighbours of the size of ``like``: every two corners in the first and the last record, on
        backgrounds of one corner, then ``searched`` random ones."""
        template = as_array(like.left)
        if template is None or not template.ndim or not len(template):
            return []
        found = []
        levels = self.levels()
        ends = [(a, b) for a in levels[:2] for b in levels if a != b]
        for level in levels[:3]:
            for place in sorted({0, len(template) - 1}):
                for before, after in (
                    ends if adjacency is Adjacency.REPLACE_ONE else [(0.0, b) for b in levels]
                ):
                    data = np.full(template.shape, level)
                    name = f"all {level:g}, record {place + 1} from {before:g} to {after:g}"
                    found.append(changed_pair(name, data, place, before, after, adjacency, like))
        for number in range(searched):
            data = self.draw(rng, template.shape)
            place = int(rng.integers(len(template)))
            old, new = self.draw(rng, template.shape[1:]), self.draw(rng, template.shape[1:])
            if adjacency is Adjacency.ZERO_OUT:
                old = np.zeros_like(old)
            name = f"random data {number + 1}, record {place + 1} replaced"
            found.append(changed_pair(name, data, place, old, new, adjacency, like))
        return found


class Interval(Domain):
    """Every number is in [``lower``, ``upper``]; ``None`` for an end that there is not. With ``not_finite``
    a number may also be NaN or an infinity, in the suite's own pairs; others are not made of these."""

    def __init__(self, lower: ExactLike | None, upper: ExactLike | None, *, not_finite: bool = False) -> None:
        self.not_finite = not_finite
        self.lower = None if lower is None else exact(lower, name="lower")
        self.upper = None if upper is None else exact(upper, name="upper")
        if self.lower is not None and self.upper is not None and not self.lower < self.upper:
            raise InvalidParameterError(
                f"lower must be less than upper, got {self.lower} and {self.upper}; swap them."
            )

    def __str__(self) -> str:
        ends = ["-∞" if self.lower is None else self.lower, "∞" if self.upper is None else self.upper]
        return f"numbers in [{ends[0]}, {ends[1]}]{', NaN and infinities too' * self.not_finite}"

    def levels(self) -> list[float]:
        low, high = self._ends()
        inner = [low + (high - low) / 2]
        outer = [
            x for size in LARGE for x in (-size, size) if self.holds(np.array([x])) and not low <= x <= high
        ]
        return list(dict.fromkeys([low, high, *(outer[-1:]), *inner, *outer]))

    def _ends(self) -> tuple[float, float]:
        """Finite ends; a unit apart, at 0 where possible, on an open side."""
        low = self.lower if self.lower is not None else min(Fraction(0), (self.upper or Fraction(1)) - 1)
        high = self.upper if self.upper is not None else max(Fraction(1), low + 1)
        return float(low), float(high)

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
        low, high = self._ends()
        found = low + (high - low) * rng.integers(0, 9, size=shape) / 8
        open_ends = self.lower is None or self.upper is None
        return np.asarray(found * float(rng.choice([1.0, 1.0, *LARGE])) if open_ends else found)

    def holds(self, numbers: NDArray[Any]) -> bool:
        finite = numbers[np.isfinite(numbers)] if self.not_finite else numbers
        return _all_held(finite, self._inside)

    def _inside(self, number: Fraction) -> bool:
        below = self.lower is not None and number < self.lower
        return not below and (self.upper is None or number <= self.upper)


class Values(Domain):
    """Every number is one of these, such as 0 and 1."""

    def __init__(self, *values: ExactLike) -> None:
        if any(isinstance(value, str) and not any(map(str.isdigit, value)) for value in values):
            raise InvalidParameterError(
                f"Values must be numbers, got {', '.join(map(repr, values))}; leave domain out where records "
                "are text or categories, and name the pairs to try in neighbours."
            )
        self.values = sorted({exact(value, name="value") for value in values})
        if len(self.values) < 2:
            raise InvalidParameterError(
                f"a domain must have at least two values, got {len(self.values)}; a record could not change."
            )

    def __str__(self) -> str:
        return f"numbers among {', '.join(map(str, self.values))}"

    def levels(self) -> list[float]:
        found = [float(value) for value in self.values]
        return list(dict.fromkeys([found[0], found[-1], *found[:6]]))

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
        return np.asarray(rng.choice([float(value) for value in self.values], size=shape))

    def holds(self, numbers: NDArray[Any]) -> bool:
        return _all_held(numbers, self.values.__contains__)


def _all_held(numbers: NDArray[Any], holds: Callable[[Fraction], bool]) -> bool:
    """Whether each number is finite and held in one of its two honest readings: as the dyadic number that it
    is, or as the decimal that it prints as (0.1 is a tenth to its author, and a little more in binary)."""
    for number in np.ravel(numbers):
        if not np.isfinite(number):
            return False
        if not holds(dyadic(number)) and (isinstance(number, np.bool_) or not holds(exact(number))):
            return False
    return True


def as_array(data: Any) -> NDArray[Any] | None:
    """Data as an array of numbers, records first; ``None`` for data of another kind."""
    if isinstance(data, np.ndarray):
        return data if data.dtype.kind in "biuf" else None
    if isinstance(data, int | float) and not isinstance(data, bool):
        return np.asarray(data)
    try:
        array = np.array(data) if isinstance(data, list | tuple) else None
    except ValueError:  # ragged
        return None
    return array if array is not None and array.dtype.kind in "biuf" else None


def _like(array: NDArray[Any], data: Any) -> Any:
    """``array`` in the form of ``data``: its dtype, or a list or tuple of numbers."""
    if isinstance(data, np.ndarray):
        return array.astype(data.dtype)
    numbers = array.tolist()
    whole = isinstance(data, list | tuple) and all(isinstance(x, int) for x in data)
    numbers = [int(x) for x in numbers] if whole else numbers
    return tuple(numbers) if isinstance(data, tuple) else numbers


def changed_pair(
    name: str,
    data: NDArray[Any],
    place: int,
    before: Any,
    after: Any,
    adjacency: Adjacency,
    like: Neighbours,
) -> Neighbours:
    left, right = data.copy(), data.copy()
    left[place], right[place] = before, after
    if adjacency is Adjacency.ADD_REMOVE:
        left = np.delete(left, place, axis=0)
    return Neighbours(name, _like(left, like.left), _like(right, like.right))


def more_pairs(
    pairs: Sequence[Neighbours],
    adjacency: Adjacency,
    domain: Domain | None,
    rng: np.random.Generator,
    *,
    most: int,
) -> list[Neighbours]:
    """At most ``most`` pairs that nobody picked. With a domain its corners, of the sizes that ``pairs`` have,
    and as many random ones; without, the changes of ``pairs`` at other positions."""
    if domain is None:
        return _thinned(_unlike(_elsewhere(pairs, adjacency), pairs), most)
    sizes = {np.shape(pair.left): pair for pair in pairs}
    kinds = [domain.pairs(pair, adjacency, rng, searched=most) for pair in [*sizes.values()][:4]]
    corners = _unlike([pair for kind in kinds for pair in kind[:-most]], pairs)
    random = _unlike([pair for kind in kinds for pair in kind[-most:]], [*pairs, *corners])
    return [*_thinned(corners, most), *_thinned(random, most)]


def _thinned(pairs: Sequence[Neighbours], most: int) -> list[Neighbours]:
    step = max(1, -(-len(pairs) // most))
    return [*pairs[::step][:most]]


def _elsewhere(pairs: Sequence[Neighbours], adjacency: Adjacency) -> list[Neighbours]:
    """The author's own changes of a record at other positions: the first, the last and the middle one."""
    found: list[Neighbours] = []
    for pair in pairs:
        left, right = as_array(pair.left), as_array(pair.right)
        if left is None or right is None or not left.ndim or left.shape != right.shape:
            continue
        if adjacency is not Adjacency.REPLACE_ONE or len(left) < 2:
            continue
        changed = [i for i in range(len(left)) if not np.array_equal(left[i], right[i])]
        if len(changed) != 1:
            continue
        for place in (0, len(left) - 1, len(left) // 2):
            if place == changed[0]:
                continue
            data = left.copy()
            name = f"{pair.name}, in record {place + 1} instead"
            other = (data, place, left[changed[0]], right[changed[0]])
            found.append(changed_pair(name, *other, adjacency, pair))
    return found


def _unlike(found: Sequence[Neighbours], pairs: Sequence[Neighbours]) -> list[Neighbours]:
    """Those that are neither equal to one another nor to one of ``pairs``, in either direction."""
    seen = {key for pair in pairs for key in _keys(pair)}
    kept = []
    for pair in found:
        if not seen.intersection(_keys(pair)) and not np.array_equal(pair.left, pair.right):
            kept.append(pair)
            seen.update(_keys(pair))
    return kept


def _keys(pair: Neighbours) -> Iterator[tuple[Any, Any]]:
    sides = [as_array(side) for side in (pair.left, pair.right)]
    keys = [None if side is None else (side.shape, side.astype(float).tobytes()) for side in sides]
    yield keys[0], keys[1]
    yield keys[1], keys[0]


def require_neighbours(pair: Neighbours, adjacency: Adjacency, unit: Unit, domain: Domain | None) -> str:
    """Raise ``InvalidParameterError`` for a pair that is not adjacent, or not in the domain, where no domain
    is declared for one with NaN or an infinity. Returns why the adjacency cannot be checked, empty where it
    was."""
    if domain is None:
        require_finite(pair)
    left, right = as_array(pair.left), as_array(pair.right)
    if left is None or right is None:
        if domain is not None and not domain.not_finite:
            require_finite(pair)
        return f"the data of {pair.name!r} are no numbers by record, so that their adjacency was not checked"
    objection = _not_adjacent(left, right, adjacency)
    if objection and unit is Unit.USER and "differs in" in objection:
        return f"{pair.name!r} {objection}: that they are one user's was not checked"
    if objection:
        raise InvalidParameterError(
            f"neighbours must differ in one record ({adjacency.value}), {pair.name!r} {objection}; correct "
            "the pair, or the claim's adjacency."
        )
    for side in (left, right):
        if domain is not None and not domain.holds(side):
            raise InvalidParameterError(
                f"data must be {domain}, those of {pair.name!r} are not; correct the pair, or the domain."
            )
    return ""


def require_finite(pair: Neighbours) -> None:
    """Raise ``InvalidParameterError`` where the data hold NaN or an infinity, at any depth: what a mechanism
    makes of them is the fault of none that was never meant to be given them."""
    strange = next((x for side in (pair.left, pair.right) for x in _not_finite(side)), None)
    if strange is not None:
        raise InvalidParameterError(
            f"data must be finite numbers, those of {pair.name!r} hold {strange}; correct the pair, or, "
            "where the claim is about such data too, declare a domain of the audit with not_finite=True."
        )


def _not_finite(data: Any) -> Iterator[float]:
    """The numbers in ``data`` that are not finite: in arrays, tables, lists, tuples and values of dicts."""
    rows = rows_of(data)
    data = data if rows is None else rows
    if isinstance(data, float | np.floating):
        if not np.isfinite(data):
            yield float(data)
    elif isinstance(data, np.ndarray):
        if data.dtype.kind == "f":
            yield from map(float, data[~np.isfinite(data)].ravel())
        elif data.dtype.kind == "O":
            yield from _not_finite(data.tolist())
    elif isinstance(data, list | tuple | dict):
        for item in data.values() if isinstance(data, dict) else data:
            yield from _not_finite(item)


def _not_adjacent(left: NDArray[Any], right: NDArray[Any], adjacency: Adjacency) -> str:
    if left.ndim == 0 or right.ndim == 0:
        return "" if left.shape == right.shape else "has one number on one side only"
    if left.shape[1:] != right.shape[1:] and len(left) and len(right):
        return f"has records of shapes {left.shape[1:]} and {right.shape[1:]}"
    if adjacency is Adjacency.ADD_REMOVE:
        short, long = sorted((left, right), key=len)
        if len(long) != len(short) + 1:
            return f"has {len(left)} and {len(right)} records"
        place = next((i for i in range(len(short)) if not _same(short[i], long[i])), len(short))
        same = _same(np.delete(long, place, axis=0).reshape(short.shape), short)
        return "" if same else "differs in more than one record"
    if left.shape != right.shape:
        return f"has data of shapes {left.shape} and {right.shape}"
    changed = [i for i in range(len(left)) if not _same(left[i], right[i])]
    if len(changed) > 1:
        return f"differs in {len(changed)} records"
    if not changed:
        return "is the same on both sides"
    zeros = [not np.any(side[changed[0]]) for side in (left, right)]
    return "" if adjacency is Adjacency.REPLACE_ONE or any(zeros) else "has no null record"


def _same(one: Any, other: Any) -> bool:
    """Whether two records are equal, NaN to itself."""
    return np.array_equal(one, other, equal_nan=True)


def spoken_domain(words: str) -> Domain | None:
    """The domain of a claim that says "any real number": its words alone do not make it one to search, but
    large data must not surprise the program."""
    return Interval(None, None) if re.match(r"any (real )?numbers?\b", words.strip()) else None
