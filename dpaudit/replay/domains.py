"""Declare which data a claim is about, and generate pairs of neighbours from the declaration.

A suite's own pairs show what its author considered. With a declared domain, its corners and random pairs are
added.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpaudit.core import data as declared
from dpaudit.core.claims import Adjacency, Unit
from dpaudit.core.data import Table
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, dyadic, exact, positive
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Run
from dpaudit.core.tables import rows_of

__all__ = [
    "Ball",
    "Beside",
    "Columns",
    "Declared",
    "Domain",
    "Interval",
    "ListedPairs",
    "Records",
    "Values",
    "Within",
    "as_array",
    "changed_pair",
    "require_finite",
    "require_neighbours",
    "unlike",
]

#: Magnitudes for an open end of an interval that a program could mistake for something else.
LARGE = (2.0, 100.0, 2.0**20)


@dataclass(frozen=True)
class Beside:
    """The pairs that a domain adds to those of an audit.

    ``corners`` and ``random`` pairs, and for a domain of finitely many datasets ``rest``, all other pairs.
    """

    corners: Sequence[Neighbours] = ()
    random: Sequence[Neighbours] = ()
    rest: Sequence[Neighbours] = ()
    #: False if no data of the audit allow a pair of the domain, whether or not the audit lists it.
    made: bool = True

    @property
    def pairs(self) -> list[Neighbours]:
        """Return all pairs."""
        return [*self.corners, *self.random, *self.rest]


class Domain(ABC):
    """The data that a claim is about.

    ``not_finite`` allows numbers that are NaN or infinite. ``exhaustive`` means that every pair is tried.
    """

    not_finite: bool = False
    exhaustive: ClassVar[bool] = False

    @abstractmethod
    def holds(self, numbers: NDArray[Any]) -> bool:
        """Return whether all numbers of the data are in the domain."""

    @abstractmethod
    def beside(
        self, pairs: Sequence[Neighbours], adjacency: Adjacency, rng: np.random.Generator, *, most: int
    ) -> Beside:
        """Return pairs of the domain that are not among ``pairs``."""

    def levels(self) -> list[float]:
        """Return the numbers that a search can use one by one.

        Raises ``InvalidParameterError`` for a domain whose numbers depend on each other.
        """
        raise InvalidParameterError(
            f"searched requires a domain whose numbers are independent, such as Interval(0, 1), got {self}.",
            code="E-DOMAIN-SEARCHED",
        )


class Records(Domain):
    """The possible numbers of one record.

    Records are the entries, or the rows, along the first axis. Data that are one number are one record.
    """

    @abstractmethod
    def corners(self, shape: tuple[int, ...]) -> list[NDArray[np.float64]]:
        """Return extreme records of this shape, dyadic if possible, with the two ends first."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Return dyadic numbers of the domain."""

    def beside(
        self, pairs: Sequence[Neighbours], adjacency: Adjacency, rng: np.random.Generator, *, most: int
    ) -> Beside:
        """Return at most ``most`` corner pairs with the sizes of ``pairs``, and as many random pairs."""
        likes = [*{(np.shape(pair.left), np.shape(pair.right)): pair for pair in pairs}.values()][:4]
        corners = [item for like in likes for item in self._corner_pairs(like, adjacency)]
        random = [item for like in likes for item in self._random_pairs(like, adjacency, rng, count=most)]
        fresh = unlike(corners, pairs)
        other = unlike(random, [*pairs, *fresh])
        return Beside(_thinned(fresh, most), _thinned(other, most), made=bool(corners or random))

    def _corner_pairs(self, like: Neighbours, adjacency: Adjacency) -> list[Neighbours]:
        """Change the first and the last record between two corners, on backgrounds of one corner."""
        template = _template(like, adjacency)
        if template is None:
            return []
        records = self.corners(template.shape[1:])
        null = np.zeros(template.shape[1:])
        ends = [(a, b) for a in records[:2] for b in records if not np.array_equal(a, b)]
        changes = ends if adjacency is Adjacency.REPLACE_ONE else [(null, b) for b in records]
        if not template.ndim:
            return [
                _alike(f"the number from {_text_of(a)} to {_text_of(b)}", a, b, like)
                for a, b in changes
                if not np.array_equal(a, b)
            ]
        found = []
        for level in records[:3]:
            data = np.broadcast_to(level, template.shape)
            for place in sorted({0, len(template) - 1}):
                for before, after in changes:
                    change = f"from {_text_of(before)} to {_text_of(after)}"
                    name = f"all {_text_of(level)}, record {place + 1} {change}"
                    found.append(changed_pair(name, data, place, before, after, adjacency, like))
        return found

    def _random_pairs(
        self, like: Neighbours, adjacency: Adjacency, rng: np.random.Generator, *, count: int
    ) -> list[Neighbours]:
        """Return ``count`` pairs of random data in which another record replaces a random one."""
        template = _template(like, adjacency)
        found: list[Neighbours] = []
        for number in range(count if template is not None else 0):
            assert template is not None  # without a template the range is empty
            data = self.draw(rng, template.shape)
            place = int(rng.integers(len(template))) if template.ndim else 0
            old, new = self.draw(rng, template.shape[1:]), self.draw(rng, template.shape[1:])
            if adjacency is Adjacency.ZERO_OUT:
                old = np.zeros_like(old)
            name = f"random data {number + 1}, record {place + 1} replaced"
            if template.ndim:
                found.append(changed_pair(name, data, place, old, new, adjacency, like))
            else:
                found.append(_alike(name, old, new, like))
        return found


def _template(like: Neighbours, adjacency: Adjacency) -> NDArray[Any] | None:
    """Return data with the size of ``like``'s, or ``None`` if no pair can be made."""
    sides = [as_array(side) for side in (like.left, like.right)]
    for side in sides:
        if side is None or (not side.ndim and adjacency is Adjacency.ADD_REMOVE):
            return None  # one number cannot be removed
        if not side.ndim or len(side):
            return side
    return None


def _text_of(record: NDArray[Any]) -> str:
    numbers = np.ravel(record)
    one = numbers.size and np.all(numbers == numbers[0])
    return f"{numbers[0]:g}" if one else f"({', '.join(f'{x:g}' for x in numbers)})"


class Interval(Records):
    """Numbers in [``lower``, ``upper``]. ``None`` means no bound.

    With ``not_finite``, the numbers of the suite's own pairs may also be NaN or infinite. Generated pairs
    never have such numbers.
    """

    def __init__(self, lower: ExactLike | None, upper: ExactLike | None, *, not_finite: bool = False) -> None:
        self.not_finite = not_finite
        self.lower = None if lower is None else exact(lower, name="lower")
        self.upper = None if upper is None else exact(upper, name="upper")
        if self.lower is not None and self.upper is not None and not self.lower < self.upper:
            raise InvalidParameterError(
                f"lower must be less than upper, got {self.lower} and {self.upper}.",
                code="E-INTERVAL-ORDER",
            )

    def __str__(self) -> str:
        ends = ["-∞" if self.lower is None else self.lower, "∞" if self.upper is None else self.upper]
        return f"numbers in [{ends[0]}, {ends[1]}]{', NaN and infinities too' * self.not_finite}"

    def corners(self, shape: tuple[int, ...]) -> list[NDArray[np.float64]]:
        return [np.full(shape, level) for level in self.levels()]

    def levels(self) -> list[float]:
        low, high = self._ends()
        inner = [low + (high - low) / 2]
        outer = [
            x for size in LARGE for x in (-size, size) if self.holds(np.array([x])) and not low <= x <= high
        ]
        return list(dict.fromkeys([low, high, *(outer[-1:]), *inner, *outer]))

    def _ends(self) -> tuple[float, float]:
        """Return finite ends. An open end is one unit from the other end, at 0 or 1 if possible."""
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


@dataclass(frozen=True)
class Within(Records):
    """Declared data whose pairs are generated by ``around``: the same numbers as another domain.

    With ``Columns`` a record may be several rows of them, each declared by columns of its own. A pair outside
    the declaration could refute a claim that is not about it. Raises ``InvalidParameterError``
    if ``around`` is not exactly the declared numbers.
    """

    data: declared.Records | Table
    around: Interval | Values | Columns

    def __post_init__(self) -> None:
        columns = list(self.data.columns.values())
        parts = self.around.parts if isinstance(self.around, Columns) else ((self.around, None),)
        for place, column in enumerate(columns):
            part, width = parts[place % len(parts)]
            if len(columns) % len(parts) or not _declares(column, part, width):
                raise InvalidParameterError(
                    f"the domain must be the declared numbers, {self.data.words}, got {self.around}.",
                    code="E-DOMAIN-DATA",
                )

    def __str__(self) -> str:
        return self.data.words

    def holds(self, numbers: NDArray[Any]) -> bool:
        return self.around.holds(numbers)

    def corners(self, shape: tuple[int, ...]) -> list[NDArray[np.float64]]:
        return self.around.corners(shape)

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
        return self.around.draw(rng, shape)

    def levels(self) -> list[float]:
        return self.around.levels()


def _declares(column: declared.Column, part: Records, width: int | None) -> bool:
    """Return whether a column declares exactly the numbers of a domain, in rows of any given width."""
    low, high = column.low, column.high
    if isinstance(part, Ball):
        return column.ball == ("2", part.radius) and column.width == width and part.step is None
    if width is not None and column.width != (None if width == 1 else width):
        return False
    if isinstance(part, Values):
        whole = low is not None and high is not None and column.kind != "f"
        return whole and set(range(int(low or 0), int(high or 0) + 1)) == set(part.values)
    return isinstance(part, Interval) and column.kind == "f" and (low, high) == (part.lower, part.upper)


class Values(Records):
    """Numbers from a finite set, such as 0 and 1."""

    def __init__(self, *values: ExactLike) -> None:
        if any(isinstance(value, str) and not any(map(str.isdigit, value)) for value in values):
            raise InvalidParameterError(
                f"Values must be numbers, got {', '.join(map(repr, values))}. For records that are text or "
                "categories, list the pairs and declare ListedPairs().",
                code="E-DOMAIN-NOT-NUMBERS",
            )
        self.values = sorted({exact(value, name="value") for value in values})
        if len(self.values) < 2:
            raise InvalidParameterError(
                f"Values requires at least two different numbers, got {len(self.values)}.",
                code="E-DOMAIN-ONE-VALUE",
            )

    def __str__(self) -> str:
        return f"numbers in {{{', '.join(map(str, self.values))}}}"

    def corners(self, shape: tuple[int, ...]) -> list[NDArray[np.float64]]:
        return [np.full(shape, level) for level in self.levels()]

    def levels(self) -> list[float]:
        found = [float(value) for value in self.values]
        return list(dict.fromkeys([found[0], found[-1], *found[:6]]))

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
        return np.asarray(rng.choice([float(value) for value in self.values], size=shape))

    def holds(self, numbers: NDArray[Any]) -> bool:
        return _all_held(numbers, self.values.__contains__)


class Ball(Records):
    """Vectors, along the last axis, of Euclidean norm at most ``radius``, up to rounding.

    With ``step``, all numbers are multiples of it.
    """

    def __init__(self, radius: ExactLike, *, step: ExactLike | None = None) -> None:
        self.radius = positive(radius, name="radius")
        self.step = None if step is None else positive(step, name="step")
        if self.step is not None and (self.radius / self.step).denominator != 1:
            raise InvalidParameterError(
                f"radius must be a multiple of step, got {self.radius} and {self.step}.",
                code="E-RADIUS-STEP",
            )

    def __str__(self) -> str:
        grid = "" if self.step is None else f", of multiples of {self.step}"
        return f"vectors of norm at most {self.radius}{grid}"

    def corners(self, shape: tuple[int, ...]) -> list[NDArray[np.float64]]:
        """Return the ends of the first and last axes, the null vector, and oblique vectors."""
        r, width = float(self.radius), shape[-1] if shape else 1
        first, last = r * np.eye(width)[0], r * np.eye(width)[-1]
        found = [first, -first, last, -last, 0 * first]
        if width > 1 and self.step is None:
            found += [0.6 * first + 0.8 * last, 0.8 * first - 0.6 * last]
        return [np.broadcast_to(vector, shape).copy() for vector in found] if shape else [x[0] for x in found]

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Draw vectors. A vector that would be too long keeps one of its numbers."""
        step = self.radius / 8 if self.step is None else self.step
        most = int(self.radius / step)
        found = float(step) * rng.integers(-most, most + 1, size=shape)
        if not shape:
            return np.asarray(found)
        kept = rng.integers(shape[-1], size=(*shape[:-1], 1)) == np.arange(shape[-1])
        long = np.linalg.norm(found, axis=-1, keepdims=True) > float(self.radius)
        return np.where(long & ~kept, 0.0, found)

    def holds(self, numbers: NDArray[Any]) -> bool:
        vectors = np.asarray(numbers, dtype=float)
        if not np.isfinite(vectors).all():
            return False
        norms = np.linalg.norm(vectors, axis=-1) if vectors.ndim else np.abs(vectors)
        multiples = True if self.step is None else np.all(vectors / float(self.step) % 1 == 0)
        return bool(multiples and np.all(norms <= float(self.radius) * (1 + 1e-12)))


class Columns(Records):
    """Records whose numbers, along the last axis, come from several domains ``(domain, width)`` in order."""

    def __init__(self, *parts: tuple[Records, int]) -> None:
        self.parts = parts
        if not parts or any(width < 1 for _, width in parts):
            raise InvalidParameterError(
                f"parts must be pairs (domain, width) of domains of numbers with width >= 1, got {parts!r}.",
                code="E-DOMAIN-COLUMNS",
            )

    def __str__(self) -> str:
        return "; ".join(
            f"{f'number {at + 1}' if width == 1 else f'numbers {at + 1} to {at + width}'}: {part}"
            for at, (part, width) in zip(self._starts(), self.parts, strict=True)
        )

    def _starts(self) -> list[int]:
        return [sum(width for _, width in self.parts[:i]) for i in range(len(self.parts))]

    def _require(self, shape: tuple[int, ...]) -> None:
        wanted = sum(width for _, width in self.parts)
        if not shape or shape[-1] != wanted:
            raise InvalidParameterError(
                f"a record of {self} must have {wanted} numbers along its last axis, got shape {shape}.",
                code="E-RECORD-SHAPE",
            )

    def corners(self, shape: tuple[int, ...]) -> list[NDArray[np.float64]]:
        """Join the corners of the parts: all first corners, all second corners, and so on."""
        self._require(shape)
        each = [part.corners((*shape[:-1], width)) for part, width in self.parts]
        most = max(map(len, each))
        return [np.concatenate([found[i % len(found)] for found in each], axis=-1) for i in range(most)]

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
        self._require(shape)
        return np.concatenate([part.draw(rng, (*shape[:-1], width)) for part, width in self.parts], axis=-1)

    def holds(self, numbers: NDArray[Any]) -> bool:
        self._require(numbers.shape)
        return all(
            part.holds(numbers[..., at : at + width])
            for at, (part, width) in zip(self._starts(), self.parts, strict=True)
        )


class _ListedBefore(Domain):
    """Data whose pairs are listed before the replays, so that no pairs are generated."""

    def holds(self, numbers: NDArray[Any]) -> bool:
        return bool(np.isfinite(numbers).all())

    def beside(
        self, pairs: Sequence[Neighbours], adjacency: Adjacency, rng: np.random.Generator, *, most: int
    ) -> Beside:
        return Beside()


class ListedPairs(_ListedBefore):
    """A domain of only the pairs that the audit lists."""

    exhaustive = True

    def __str__(self) -> str:
        return "the pairs that the audit lists, and no other data"


@dataclass(frozen=True)
class Declared(_ListedBefore):
    """Declared data and the pairs of neighbours that follow from them."""

    data: declared.Records | Table
    adjacency: Adjacency

    def __str__(self) -> str:
        return self.data.words

    def __call__(self, run: Run) -> list[Neighbours]:
        """Return the corner pairs, as the ``neighbours`` of an audit.

        They depend on no seed and on no version of Hypothesis, because the digest of a row must not.
        """
        return self.data.pairs(self.adjacency).corners()


def _all_held(numbers: NDArray[Any], holds: Callable[[Fraction], bool]) -> bool:
    """Return whether each number is finite and in the domain, as a dyadic number or as the printed decimal.

    Both readings are valid: 0.1 means one tenth to its author, but is slightly larger in binary.
    """
    for number in np.ravel(numbers):
        if not np.isfinite(number):
            return False
        if not holds(dyadic(number)) and (isinstance(number, np.bool_) or not holds(exact(number))):
            return False
    return True


def as_array(data: Any) -> NDArray[Any] | None:
    """Return data as an array of numbers with records first, or ``None`` for other data."""
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
    """Return ``array`` in the form of ``data``: its dtype, or a list, tuple or number.

    The result has integers only if that changes no number.
    """
    if isinstance(data, np.ndarray):
        cast = array.astype(data.dtype)
        return cast if data.dtype.kind == "f" or np.array_equal(cast, array) else array
    whole = all(isinstance(x, int) for x in np.ravel(np.array(data, dtype=object)))
    if whole and np.array_equal(array, np.trunc(array)):
        array = array.astype(np.int64)
    numbers = array.tolist()
    return tuple(numbers) if isinstance(data, tuple) else numbers


def _alike(name: str, left: NDArray[Any], right: NDArray[Any], like: Neighbours) -> Neighbours:
    return Neighbours(name, _like(left, like.left), _like(right, like.right))


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
    return _alike(name, left, right, like)


def _thinned(pairs: Sequence[Neighbours], most: int) -> list[Neighbours]:
    step = max(1, -(-len(pairs) // most))
    return [*pairs[::step][:most]]


def unlike(found: Sequence[Neighbours], pairs: Sequence[Neighbours]) -> list[Neighbours]:
    """Remove pairs that equal another one or one of ``pairs``, in either direction."""
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
    """Require a pair that is adjacent and in the domain, or that is finite if no domain is declared.

    Returns why the adjacency could not be checked, or "" if it was. Raises ``InvalidParameterError``
    otherwise.
    """
    if domain is None:
        require_finite(pair)
    left, right = as_array(pair.left), as_array(pair.right)
    if left is None or right is None:
        if domain is not None and not domain.not_finite:
            require_finite(pair)
        return f"the data of {pair.name!r} are not numbers by record, so their adjacency was not checked"
    objection = _not_adjacent(left, right, adjacency)
    several = "differs in" in objection or (objection.endswith("records") and len(left) != len(right))
    if several and unit is Unit.USER:
        return f"{pair.name!r} {objection}; it was not checked that they belong to one user"
    if objection:
        raise InvalidParameterError(
            f"neighbours must differ in one record ({adjacency.value}), {pair.name!r} {objection}.",
            code="E-PAIR-NOT-NEIGHBOURS",
        )
    for side in (left, right):
        if domain is not None and not domain.holds(side):
            raise InvalidParameterError(
                f"data must be {domain}, those of {pair.name!r} are not.", code="E-DATA-OUTSIDE-DOMAIN"
            )
    return ""


def require_finite(pair: Neighbours) -> None:
    """Raise ``InvalidParameterError`` if the data hold NaN or an infinity at any depth.

    A mechanism that is not meant for such data is not to blame for its output on them.
    """
    strange = next((x for side in (pair.left, pair.right) for x in _not_finite(side)), None)
    if strange is not None:
        raise InvalidParameterError(
            f"data must be finite numbers, those of {pair.name!r} hold {strange}. If the claim covers such "
            "data, declare a domain with not_finite=True.",
            code="E-DATA-NOT-FINITE",
        )


def _not_finite(data: Any) -> Iterator[float]:
    """Yield the numbers in arrays, tables, lists, tuples and values of dicts that are not finite."""
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
    """Return whether two records are equal. NaN equals NaN."""
    return np.array_equal(one, other, equal_nan=True)
