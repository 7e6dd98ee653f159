"""Search for neighbouring datasets with a large loss, by random changes that keep the best pair.

The loss is a float that only ranks the pairs. All pairs fit the declaration of the data and the adjacency.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from types import CodeType
from typing import Any

import numpy as np

from dpaudit.core.claims.base import Adjacency
from dpaudit.core.data import EVERY, Column, Records, Table

__all__ = ["Constants", "climbed", "constants_of", "extremes", "ordered"]

Columns = dict[str, Any]

#: Random starts, changes of the best pair, and the largest number of records that a constant suggests.
STARTS, CHANGES, MOST_RECORDS = 24, 160, 300
#: The longest text in a program that is tried as a record.
MOST_LETTERS = 200


@dataclass(frozen=True)
class _Pair:
    """A dataset, the positions of its changed records, and these records in the neighbour."""

    columns: Columns
    rows: tuple[int, ...]
    others: Columns

    def built(self, data: Records | Table, adjacency: Adjacency) -> tuple[Any, Any]:
        """Return the inputs. Under add-remove, the neighbour lacks the changed records."""
        places = list(self.rows)
        if adjacency is Adjacency.ADD_REMOVE:
            neighbour = {name: np.delete(array, places, axis=0) for name, array in self.columns.items()}
            return data.build(self.columns), data.build(neighbour)
        neighbour = {}
        for name, array in self.columns.items():
            neighbour[name] = array.copy()
            neighbour[name][places] = self.others[name]
        return data.build(self.columns), data.build(neighbour)


@dataclass(frozen=True)
class Constants:
    """Numbers in a program, which may be thresholds of records or of their number, and its texts."""

    numbers: tuple[float, ...] = ()
    words: tuple[str, ...] = ()


def constants_of(code: CodeType) -> Constants:
    """Return the constants of a function and of the functions inside it."""
    found = list(_constants(code.co_consts))
    numbers = [float(one) for one in found if type(one) in (int, float) and np.isfinite(one)]
    words = [one for one in found if type(one) is str and 0 < len(one) <= MOST_LETTERS]
    return Constants(tuple(dict.fromkeys(numbers)), tuple(dict.fromkeys(words)))


def _constants(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, CodeType):
            yield from _constants(value.co_consts)
        elif isinstance(value, tuple | frozenset):
            yield from _constants(value)
        else:
            yield value


def climbed(
    data: Records | Table,
    adjacency: Adjacency,
    loss: Callable[[tuple[Any, Any]], float],
    *,
    constants: Constants,
    until: float,
    seed: int = 0,
) -> Iterator[tuple[float, tuple[Any, Any]]]:
    """Yield better and better pairs of neighbours, each after its loss.

    Parameters
    ----------
    data, adjacency
        The declaration of the data, and what makes neighbours.
    loss : callable
        The loss of a pair. It may be infinite.
    constants : Constants
        The constants of the program.
    until : float
        The end of the search, as ``time.monotonic()``.
    seed : int
        The seed of the random changes (0).
    """
    rng = np.random.default_rng(seed)
    sizes = _sizes(data, adjacency, constants)
    best, most = None, 0.0
    for number in range(STARTS + CHANGES):
        if not sizes or time.monotonic() > until:
            return
        start = best is None or number < STARTS
        tried = (
            _start(data, adjacency, sizes[number % len(sizes)], rng, constants)
            if start or best is None
            else _changed(data, adjacency, best, rng, constants)
        )
        pair = tried.built(data, adjacency)
        found = loss(pair)
        if found > most or best is None:
            best, most = tried, found
            if found > 0:
                yield found, pair


def _sizes(data: Records | Table, adjacency: Adjacency, constants: Constants) -> list[int]:
    """Return numbers of records to try: the declared one, or the smallest ones and those near a constant."""
    if data.size != EVERY:
        return [int(data.size)] if int(data.size) >= data.group else []
    least = data.at_least + (data.group if adjacency is Adjacency.ADD_REMOVE else 0)
    near = [int(n) + k for n in constants.numbers if n == int(n) and n < MOST_RECORDS for k in (0, 1)]
    least = max(least, data.group)
    return list(dict.fromkeys([*range(least, least + 4), *[n for n in near if n >= least]]))


def _start(
    data: Records | Table, adjacency: Adjacency, size: int, rng: np.random.Generator, constants: Constants
) -> _Pair:
    columns = {name: column.sample(rng, size) for name, column in data.columns.items()}
    if rng.random() < 0.6:  # equal records keep most clamps and thresholds inactive
        columns = {name: np.repeat(array[:1], size, axis=0) for name, array in columns.items()}
    elif rng.random() < 0.5:  # two groups of nearly equal size, for medians and majorities
        place = size // 2 + int(rng.integers(0, 2))
        columns = {
            name: np.repeat(column.sample(rng, 2), [place, size - place], axis=0)
            for name, column in data.columns.items()
        }
    first = _place(size - data.group, rng, constants)
    rows = tuple(range(first, first + data.group))
    others = _records(data, adjacency, len(rows), rng)
    return _changed(data, adjacency, _Pair(columns, rows, others), rng, constants)


def _place(last: int, rng: np.random.Generator, constants: Constants) -> int:
    """Return a position up to ``last``: the first one, one that the program names, or any."""
    kind = rng.random()
    named = [int(n) for n in constants.numbers if n == int(n) and 0 <= n <= last]
    if kind < 0.4:
        return 0
    return int(rng.choice(named)) if kind < 0.7 and named else int(rng.integers(0, last + 1))


def _records(data: Records | Table, adjacency: Adjacency, count: int, rng: np.random.Generator) -> Columns:
    if adjacency is Adjacency.ZERO_OUT:
        return {name: column.array([column.null()] * count) for name, column in data.columns.items()}
    return {name: column.sample(rng, count) for name, column in data.columns.items()}


def _changed(
    data: Records | Table,
    adjacency: Adjacency,
    pair: _Pair,
    rng: np.random.Generator,
    constants: Constants,
) -> _Pair:
    """Return the pair with a random change of its changed records, their positions or the other records."""
    places, kind = list(pair.rows), rng.random()
    size = len(next(iter(pair.columns.values())))
    if kind < 0.1:
        first = _place(size - data.group, rng, constants)
        moved = {name: array.copy() for name, array in pair.columns.items()}
        to = list(range(first, first + data.group))
        if set(to).isdisjoint(places):
            for array in moved.values():
                array[to + places] = array[places + to]
            return replace(pair, columns=moved, rows=tuple(to))
        return pair
    columns = {name: array.copy() for name, array in pair.columns.items()}
    if kind < 0.25:
        for name, column in data.columns.items():
            fresh = column.sample(rng, 1 if rng.random() < 0.7 else size)
            kept = columns[name][places]
            columns[name] = np.repeat(fresh, size, axis=0) if len(fresh) < size else fresh
            columns[name][places] = kept
        return replace(pair, columns=columns)
    others = {name: array.copy() for name, array in pair.others.items()}
    here = kind < 0.65 or adjacency is not Adjacency.REPLACE_ONE
    for name, column in data.columns.items():
        if len(data.columns) > 1 and rng.random() < 0.4:
            continue
        target = columns[name][places] if here else others[name]
        near = [_near(column, row, rng, constants) for row in target]
        changed = column.array(near) if column.kind == "t" else np.stack(near)
        if here:
            columns[name][places] = changed
        else:
            others[name] = changed
    return replace(pair, columns=columns, others=others)


def _near(column: Column, row: Any, rng: np.random.Generator, constants: Constants) -> Any:
    """Return another record: fresh, with one number changed, or moved a little."""
    fresh = column.sample(rng, 1)[0]
    kind = rng.random()
    if column.kind == "t":
        return _text(column, fresh, rng, constants)
    if kind < 0.25 or column.one_hot:
        return fresh
    if kind < 0.4 and constants.numbers:
        moved = np.array(row, dtype=float)
        value = float(rng.choice(list(constants.numbers))) + float(rng.choice([0.0, 0.0, 0.5, -0.5, 1.0]))
        moved[... if moved.shape == () else int(rng.integers(len(moved)))] = value
    elif column.kind != "f":
        return fresh
    else:
        moved = np.array(row, dtype=float)
        low, high = column._floats(100.0)
        moved = moved + rng.normal(size=moved.shape) * (high - low) * float(rng.choice([0.3, 0.1, 0.02]))
        if rng.random() < 0.3:
            moved = -np.array(row, dtype=float)
    return _inside(column, moved, fresh)


def _text(column: Column, fresh: Any, rng: np.random.Generator, constants: Constants) -> Any:
    """Return a text of the program, alone, repeated or joined with another one, or a fresh text."""
    if not constants.words or rng.random() < 0.3:
        return fresh
    first, second = (constants.words[int(k)] for k in rng.integers(len(constants.words), size=2))
    kind = rng.random()
    longest = int(min(MOST_LETTERS if column.high is None else column.high, MOST_LETTERS))
    if kind < 0.6:
        return first[:longest]
    return (first * longest if kind < 0.8 else f"{first} {second}")[:longest]


def _inside(column: Column, moved: Any, fresh: Any) -> Any:
    """Return the record, moved into the domain."""
    if column.kind != "f":
        low, high = int(column.low or 0), int(column.high or 0)
        return np.clip(np.rint(moved), low, high).astype(np.asarray(fresh).dtype)
    least, most = column._floats(np.inf)
    moved = np.clip(np.round(np.clip(moved, least, most), 3), least, most)
    if column.ball is not None:
        norm = float(np.linalg.norm(moved, ord=int(column.ball[0])))
        radius = float(column.ball[1]) * (1 - 1e-9)
        moved = moved * (radius / norm) if norm > 0.5 * radius else moved
    return moved


def extremes(
    data: Records | Table,
    adjacency: Adjacency,
    loss: Callable[[tuple[Any, Any]], float],
    *,
    constants: Constants,
    until: float,
    seed: int = 0,
) -> Iterator[tuple[float, tuple[Any, Any]]]:
    """Yield better and better pairs, each after its loss, with sums and counts near numbers in the program.

    In each column, some records have the largest value and the others the smallest one. The first records of
    the two datasets have opposite extremes. The parameters are those of ``climbed``.
    """
    rng = np.random.default_rng(seed)
    size = int(data.size) if data.size != EVERY else max(data.at_least + data.group, 12)
    columns = {name: column for name, column in data.columns.items() if column.ball is None}
    if len(columns) < len(data.columns) or size < data.group:
        return
    ends, shapes = {}, {}
    for name, column in columns.items():
        drawn = column.sample(rng, 1)
        if column.kind not in ("f", "i"):
            return
        low, high = column._floats(1.0) if column.kind == "f" else (column.low, column.high)
        ends[name], shapes[name] = (float(low or 0), float(high or 0)), (drawn.dtype, drawn.shape[1:])
    counts = list(dict.fromkeys([0.0, *(n for n in constants.numbers if 0 <= n <= 2 * size), size / 2]))
    best: dict[str, Any] | None = None
    most = 0.0
    for number in range(STARTS + CHANGES):
        if time.monotonic() > until:
            return
        tried = {}
        for name, (_, shape) in shapes.items():
            fresh = rng.choice(counts, size=shape) + rng.integers(-3, 4, size=shape)
            if rng.random() < 0.4:
                fresh = np.broadcast_to(fresh.ravel()[:1].reshape((1,) * len(shape)), shape)
            up = rng.random(shape) < rng.choice([0.5, 0.5, 1.0])
            if best is not None and number >= STARTS:
                kept = rng.random(shape) < 0.75
                fresh, up = np.where(kept, best[name][0], fresh), np.where(kept, best[name][1], up)
            tried[name] = (fresh, up)
        pair = _extreme(tried, ends, shapes, size, data.group).built(data, adjacency)
        found = loss(pair)
        if found > most or best is None:
            best, most = tried, found
            if found > 0:
                yield found, pair


def _extreme(tried: Any, ends: Any, shapes: Any, size: int, group: int) -> _Pair:
    built, others = {}, {}
    for name, (count, up) in tried.items():
        (low, high), (dtype, shape) = ends[name], shapes[name]
        unit = high if high > 0 else 1.0
        places = np.arange(size).reshape(size, *(1 for _ in shape)) - group
        array = np.where(places < np.asarray(count) / unit, high, low)
        array[:group] = np.where(up, high, low)
        built[name] = array.astype(dtype)
        others[name] = np.broadcast_to(np.where(up, low, high), (group, *shape)).astype(dtype)
    return _Pair(built, tuple(range(group)), others)


def ordered(
    data: Records | Table,
    adjacency: Adjacency,
    loss: Callable[[tuple[Any, Any]], float],
    *,
    constants: Constants,
    until: float,
) -> Iterator[tuple[float, tuple[Any, Any]]]:
    """Yield better and better pairs, each after its loss, in which order statistics move far.

    The records have few values. First, some have the smallest value, and the others the largest one. Then
    those around the median have two values, whose difference is a number in the program, and the outer ones
    have the extremes. The parameters are those of ``climbed``. Only declarations of a known number of single
    numbers have such pairs, and no null record is needed.
    """
    size, [column] = data.size, [*data.columns.values()][:1]
    if size == EVERY or adjacency is Adjacency.ZERO_OUT or data.group != 1 or len(data.columns) > 1:
        return
    drawn = column.sample(np.random.default_rng(0), 1)
    if column.kind not in ("f", "i") or drawn.shape != (1,):
        return
    low, high = column._floats(100.0) if column.kind == "f" else (column.low, column.high)
    [name] = data.columns
    most = 0.0
    for first, (records, other) in enumerate(
        _few_values(int(size), float(low or 0), float(high or 0), constants)
    ):
        if time.monotonic() > until:
            return
        arrays = (
            {name: np.array([*records]).astype(drawn.dtype)},
            {name: np.array([other]).astype(drawn.dtype)},
        )
        pair = _Pair(arrays[0], (0,), arrays[1]).built(data, adjacency)
        found = loss(pair)
        if found > most or not first:
            most = found
            if found > 0:
                yield found, pair


def _few_values(
    size: int, low: float, high: float, constants: Constants
) -> Iterator[tuple[list[float], float]]:
    """Yield records and what the first one changes to."""
    for k in sorted(range(size), key=lambda k: abs(2 * k + 1 - size)):
        yield [low] * (k + 1) + [high] * (size - k - 1), high
    inside = [n for n in constants.numbers if low < n < high]
    middle = (min(inside, default=low) + max(inside, default=high)) / 2
    gaps = dict.fromkeys(n for n in inside if 0 < n <= (high - low) / 2)
    for half in sorted(range(1, size // 2 + 1), key=lambda k: (-k % 4, k)):  # every fourth one first
        for gap in (n for n in gaps if middle + n <= high):
            outer = size // 2 - half
            near = [middle] * half + [middle + gap] * (size - 1 - half - 2 * outer)
            records = [*near, *[low] * outer, *[high] * outer]
            yield [middle, *records], middle + gap
            yield [middle, *records], high
