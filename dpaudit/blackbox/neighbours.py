"""Pairs of inputs for a check: corners of a domain, one's own pairs, or what a Hypothesis strategy draws."""

from __future__ import annotations

import copy
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from numbers import Integral
from typing import Any, Protocol, runtime_checkable

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from dpaudit.core.claims import Adjacency, PrivacyClaim, Unit
from dpaudit.core.claims.base import one_of
from dpaudit.core.data import Records, Table
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.pairs import RecordPairs, drawn_from, shown
from dpaudit.core.tables import rows_of

__all__ = [
    "AdjacentInputs",
    "PairsOfInputs",
    "as_pair",
    "corners",
    "doubts",
    "pairs_of",
    "read_neighbours",
    "require_adjacent",
    "require_null",
    "unequal",
    "values_of",
]


@runtime_checkable
class AdjacentInputs(Protocol):
    """Pairs that know their adjacency, can be drawn by a seed and have a strategy to be shrunk by
    (``dpaudit.blackbox.Inputs``).
    """

    adjacency: Adjacency | str

    def pairs(self, *, seed: int = 0) -> list[Neighbours]:
        """All pairs to be tried, the likely ones first."""

    def strategy(self) -> SearchStrategy[Any]:
        """A strategy for such pairs."""

    def __iter__(self) -> Iterator[Neighbours]: ...


#: What ``check`` takes as neighbours.
PairsOfInputs = Iterable[tuple[Any, Any] | Neighbours] | SearchStrategy[Any] | AdjacentInputs
#: Pairs drawn from a strategy: each one shares the error level, so that more of them cost power.
DRAWN = 20


def corners(
    records: Sequence[Any],
    size: int,
    adjacency: Adjacency | str = Adjacency.REPLACE_ONE,
    *,
    null: Any = ...,
    make: Callable[[list[Any]], Any] = list,
) -> list[Neighbours]:
    """The usual suspects among neighbouring data sets of ``size`` records.

    ``records``: the extreme values that one record can take, such as ``[0, 1]``. All records equal to one of
    them, or alternating between them; the first or the last one replaced by another value, left out
    (``add-remove``), or set to ``null`` (``zero-out``, which needs it). ``make`` turns a list of records into
    the mechanism's input, for example ``np.array``.

    ``check`` refuses them for a claim about another adjacency. Raises ``InvalidParameterError`` for no
    record, a size below 1, another adjacency, or ``zero-out`` without ``null``.
    """
    adjacency = one_of(Adjacency, adjacency, name="adjacency")
    values = values_of(records)
    require_null(adjacency, null)
    if not isinstance(size, Integral) or isinstance(size, bool):
        raise InvalidParameterError(f"size must be a whole number of records, got {size!r}; pass one.")
    if size < 1 or not values:
        raise InvalidParameterError(
            f"corners need a size of 1 or more and at least one value of a record, got {size} and "
            f"{len(values)} values; enlarge them."
        )
    found = RecordPairs(
        record=st.nothing(),
        values=values,
        sizes=(int(size), int(size)),
        adjacency=adjacency,
        null=null,
        make=make,
        middle=False,
        most=sys.maxsize,
    ).corners()
    if not found:
        raise InvalidParameterError(
            f"corners need values of a record that differ, got {values!r} for {adjacency.value}; name the "
            "extreme values of one record."
        )
    return _Corners(found, adjacency)


def values_of(records: Any) -> list[Any]:
    """The values that a record can take, as a list of Python's own numbers where they are an array's."""
    if isinstance(records, np.ndarray):
        return list(records.tolist()) if records.ndim else [records.item()]
    if not isinstance(records, Iterable):
        raise InvalidParameterError(
            f"the values of a record must be a list, got {records!r}; pass its extremes, such as [0, 1]."
        )
    return list(records)


def require_null(adjacency: Adjacency, null: Any) -> None:
    """``zero-out`` needs the record that stands for nobody. Raises ``InvalidParameterError``."""
    if adjacency is Adjacency.ZERO_OUT and null is ...:
        raise InvalidParameterError(
            "zero-out needs the record that stands for nobody, got none; pass null=0, null=None or another."
        )


class _Corners(list[Neighbours]):
    """Pairs that know by which adjacency they are neighbours, as long as they are handed on as they are."""

    def __init__(self, pairs: Iterable[Neighbours], adjacency: Adjacency) -> None:
        super().__init__(pairs)
        self.adjacency = adjacency


def pairs_of(
    claim: PrivacyClaim, neighbours: PairsOfInputs | None, data: Records | Table | None
) -> PairsOfInputs:
    """The pairs that are given, or those of the declaration by the adjacency of ``claim``.

    Raises ``InvalidParameterError`` unless exactly one of the two is given, and for a declaration whose unit
    is not the claim's.
    """
    if (neighbours is None) == (data is None):
        raise InvalidParameterError(
            f"exactly one of data and neighbours must be given, got {'neither' if data is None else 'both'}."
        )
    if neighbours is not None:
        return neighbours
    if not isinstance(data, Records | Table):
        raise InvalidParameterError(f"data must be Records or a Table, got {data!r}.")
    if (claim.unit is Unit.USER) != (data.group > 1):
        raise InvalidParameterError(
            "data of a claim about users must have group=m above 1, and of one about events group=1, got a "
            f"claim for unit={claim.unit.value!r} and group={data.group}."
        )
    return data.pairs(claim.adjacency)


def read_neighbours(
    neighbours: PairsOfInputs, *, seed: int, claim: PrivacyClaim | None = None
) -> list[Neighbours]:
    """The pairs of inputs, as copies with names; a strategy is asked for ``DRAWN`` of them, by ``seed``.

    Raises ``InvalidParameterError`` for an entry that is no pair, for equal inputs, for NaN in them, and for
    inputs that are not neighbours by the adjacency of ``claim``: ``Inputs`` or ``corners`` by another one, or
    lists that differ by more. A ``Neighbours`` value says by its name what changes, and is taken as it is.
    """
    drawn = isinstance(neighbours, SearchStrategy)
    if (
        isinstance(neighbours, tuple)
        and len(neighbours) == 2
        and not all(isinstance(entry, tuple | Neighbours) for entry in neighbours)
    ):
        raise InvalidParameterError(
            "neighbours must be a list of pairs, got one pair; pass [(data, neighbour)]."
        )
    if isinstance(neighbours, AdjacentInputs | _Corners):
        other = one_of(Adjacency, neighbours.adjacency, name="adjacency")
        if claim is not None and other is not claim.adjacency:
            raise InvalidParameterError(
                f"inputs must be neighbours by the claim's adjacency, {claim.adjacency.value}, got "
                f"{other.value}; change one of the two."
            )
        if isinstance(neighbours, AdjacentInputs):
            neighbours = neighbours.pairs(seed=seed)
    if not isinstance(neighbours, Iterable | SearchStrategy):
        raise InvalidParameterError(
            f"neighbours must be a list of pairs, got {neighbours!r}; pass [(data, neighbour)]."
        )
    entries = (
        drawn_from(neighbours, seed, DRAWN) if isinstance(neighbours, SearchStrategy) else list(neighbours)
    )
    pairs = [as_pair(entry, index) for index, entry in enumerate(entries)]
    for index, (entry, pair) in enumerate(zip(entries, pairs, strict=True)):
        if claim is not None and not isinstance(entry, Neighbours):
            require_adjacent(pair, claim, index=index)
    if drawn:
        pairs = _distinct(pairs)
    if not pairs:
        raise InvalidParameterError(
            "neighbours must hold at least one pair of inputs, got none that differ; draw others."
            if drawn
            else "neighbours must hold at least one pair of inputs, got none; pass [(data, neighbour)]."
        )
    for index, pair in enumerate(pairs):
        if _holds_nan(pair.left) or _holds_nan(pair.right):
            raise InvalidParameterError(
                f"data must not hold NaN, pair {index} does; remove or impute it first."
            )
        if _same(pair.left, pair.right):
            raise InvalidParameterError(
                f"neighbours must differ, pair {index} holds equal inputs; change one record."
            )
    return [Neighbours(pair.name, _copied(pair.left, pair), _copied(pair.right, pair)) for pair in pairs]


def _copied(data: Any, pair: Neighbours) -> Any:
    try:
        return copy.deepcopy(data)
    except Exception as error:  # a generator, a lock, an open file
        raise InvalidParameterError(
            f"inputs must be data that can be copied, got {pair.name} ({type(error).__name__}: {error}); "
            "pass what they hold."
        ) from error


def _distinct(pairs: list[Neighbours]) -> list[Neighbours]:
    """Without equal inputs, and each pair once: a strategy repeats itself."""
    kept: dict[str, Neighbours] = {}
    for pair in pairs:
        if not _same(pair.left, pair.right):
            kept.setdefault(repr((pair.left, pair.right)), pair)
    return list(kept.values())


def as_pair(entry: Any, index: int) -> Neighbours:
    if isinstance(entry, Neighbours):
        return entry
    if isinstance(entry, tuple | list) and len(entry) == 2:
        return Neighbours(f"{shown(entry[0])} and {shown(entry[1])}", entry[0], entry[1])
    raise InvalidParameterError(
        f"neighbours must be pairs of inputs, entry {index} is {type(entry).__name__}; pass [(data, "
        "neighbour), ...]."
    )


def unequal(pair: Neighbours) -> bool:
    """Whether the two inputs of a pair differ."""
    return not _same(pair.left, pair.right)


def doubts(pair: Neighbours, adjacency: Adjacency) -> list[str]:
    """Why two lists of records may not be neighbours, in words; none where they are, or are no lists."""
    wrong = _difference(_records(pair.left), _records(pair.right), adjacency)
    if not wrong:
        return []
    return [
        f"these inputs {wrong}: if an entry is a record, they may not be neighbours by {adjacency.value}, "
        "and the claim is about other pairs"
    ]


def require_adjacent(pair: Neighbours, claim: PrivacyClaim, *, index: int) -> None:
    """Refuse a list, an array or a table against another one that is not its neighbour by the adjacency of
    ``claim``, in order or without it. Where a user has several records, the entries do not decide it.

    Raises ``InvalidParameterError``.
    """
    left, right = (
        _records(side) if isinstance(side, list | np.ndarray) or rows_of(side) is not None else None
        for side in (pair.left, pair.right)
    )
    if _same(pair.left, pair.right) or _holds_nan(pair.left) or _holds_nan(pair.right):
        return  # refused for another reason
    wrong = _difference(left, right, claim.adjacency)
    if not wrong or claim.unit is not Unit.EVENT or _in_any_order(left or [], right or [], claim.adjacency):
        return
    raise InvalidParameterError(
        f"inputs must be neighbours by the claim's adjacency, {claim.adjacency.value}, pair {index} {wrong}: "
        f"{pair.name}; change one record, or, if an entry is not a record, pass "
        "dpaudit.suite.Neighbours(what_changes, data, neighbour)."
    )


def _difference(left: list[Any] | None, right: list[Any] | None, adjacency: Adjacency) -> str:
    """How two lists of records, in order, differ by more than neighbours do; empty where they do not."""
    if left is None or right is None:
        return ""
    if adjacency is Adjacency.ADD_REMOVE:
        longer, shorter = sorted((left, right), key=len, reverse=True)
        same = [_same(one, two) for one, two in zip(longer, shorter, strict=False)]
        place = same.index(False) if False in same else len(shorter)
        rest = zip(longer[place + 1 :], shorter[place:], strict=False)
        one_more = len(longer) == len(shorter) + 1 and all(_same(one, two) for one, two in rest)
        return "" if one_more else "differ by more than one record that is added or removed"
    if len(left) != len(right):
        return "have other lengths"
    changed = sum(not _same(one, two) for one, two in zip(left, right, strict=True))
    return f"differ in {changed} entries" if changed > 1 else ""


def _in_any_order(left: list[Any], right: list[Any], adjacency: Adjacency) -> bool:
    """Whether the lists are neighbours as sets of records that may repeat, but are not the same ones."""
    counts = [Counter(map(repr, side)) for side in (left, right)]
    removed, added = (counts[0] - counts[1]).total(), (counts[1] - counts[0]).total()
    if adjacency is Adjacency.ADD_REMOVE:
        return removed + added == 1
    return removed == added == 1


def _records(data: Any) -> list[Any] | None:
    if isinstance(data, np.ndarray):
        return list(data) if data.ndim else None
    parts = list(data.values()) if isinstance(data, dict) else list(data) if isinstance(data, tuple) else []
    if parts and all(isinstance(part, list | np.ndarray) and np.ndim(part) for part in parts):
        lengths = {len(part) for part in parts}
        return list(zip(*parts, strict=True)) if len(lengths) == 1 else None  # columns, such as (X, y)
    return list(data) if isinstance(data, list | tuple) else rows_of(data)


def _holds_nan(data: Any) -> bool:
    if isinstance(data, np.ndarray):
        return bool(data.dtype.kind in "fc" and np.isnan(data).any())
    if isinstance(data, dict):
        return any(_holds_nan(value) for value in data.values())
    if isinstance(data, list | tuple):
        return any(_holds_nan(value) for value in data)
    return isinstance(data, float | np.floating) and math.isnan(data)


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        one, two = np.asarray(first), np.asarray(second)
        return one.shape == two.shape and bool(np.all(one == two))
    if type(first) is type(second) and callable(getattr(first, "equals", None)):  # tables of pandas
        return bool(first.equals(second))
    if isinstance(first, tuple | list) and type(first) is type(second):
        return len(first) == len(second) and all(map(_same, first, second))
    try:
        return bool(first == second)
    except Exception:  # inputs that cannot be compared are taken to differ
        return False
