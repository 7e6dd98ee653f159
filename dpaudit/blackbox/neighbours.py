"""Provide the pairs of inputs of a check: corners of a domain, given pairs, or draws from a strategy."""

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
    "adjacency_warnings",
    "as_pair",
    "corners",
    "pairs_of",
    "read_neighbours",
    "require_adjacent",
    "require_no_nan",
    "require_null",
    "unequal",
    "values_of",
]


@runtime_checkable
class AdjacentInputs(Protocol):
    """Protocol of pairs with an adjacency, a seeded choice and a strategy that can shrink them.

    ``dpaudit.blackbox.Inputs`` implements it.
    """

    adjacency: Adjacency | str

    def pairs(self, *, seed: int = 0) -> list[Neighbours]:
        """Return all pairs to try, the likely violations first."""

    def strategy(self) -> SearchStrategy[Any]:
        """Return a strategy for such pairs."""

    def __iter__(self) -> Iterator[Neighbours]: ...


#: The type of the argument ``neighbours`` of ``check``.
PairsOfInputs = Iterable[tuple[Any, Any] | Neighbours] | SearchStrategy[Any] | AdjacentInputs
#: Number of pairs drawn from a strategy. The pairs share the significance level, so more pairs reduce power.
DRAWN = 20


def corners(
    records: Sequence[Any],
    size: int,
    adjacency: Adjacency | str = Adjacency.REPLACE_ONE,
    *,
    null: Any = ...,
    make: Callable[[list[Any]], Any] = list,
) -> list[Neighbours]:
    """Return pairs of neighbouring datasets with extreme records.

    All records equal one of the values, or alternate between them. In the neighbour, the first or the last
    record is replaced by another value, left out (``add-remove``), or set to ``null`` (``zero-out``).
    ``check`` rejects these pairs for a claim with another adjacency.

    Parameters
    ----------
    records : sequence
        The extreme values of one record, such as ``[0, 1]``.
    size : int
        Number of records, at least 1.
    adjacency : Adjacency or str, default "replace-one"
        Which datasets are neighbours.
    null : object, optional
        The record of an absent user. Required for ``zero-out``.
    make : callable, default list
        Converts a list of records to the input of the mechanism, for example ``np.array``.

    Returns
    -------
    list of Neighbours
        The pairs.

    Raises
    ------
    InvalidParameterError
        There is no value or no pair of different values, ``size`` is below 1, ``adjacency`` is unknown, or
        ``zero-out`` has no ``null``.
    """
    adjacency = one_of(Adjacency, adjacency, name="adjacency")
    values = values_of(records)
    require_null(adjacency, null)
    if not isinstance(size, Integral) or isinstance(size, bool):
        raise InvalidParameterError(
            f"size must be an integer number of records, got {size!r}.", code="E-SIZE-RANGE"
        )
    if size < 1 or not values:
        raise InvalidParameterError(
            f"corners requires size of at least 1 and at least one value of a record, got size {size} and "
            f"{len(values)} values.",
            code="E-CORNERS-EMPTY",
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
            f"corners requires different values of a record for {adjacency.value}, got {values!r}. Pass the "
            "extreme values of one record.",
            code="E-CORNERS-EQUAL-VALUES",
        )
    return _Corners(found, adjacency)


def values_of(records: Any) -> list[Any]:
    """Return the values that a record can take as a list. Entries of an array become Python numbers."""
    if isinstance(records, np.ndarray):
        return list(records.tolist()) if records.ndim else [records.item()]
    if not isinstance(records, Iterable):
        raise InvalidParameterError(
            f"records must be a list of the extreme values of one record, such as [0, 1], got {records!r}.",
            code="E-RECORDS-TYPE",
        )
    return list(records)


def require_null(adjacency: Adjacency, null: Any) -> None:
    """Raise ``InvalidParameterError`` if the adjacency is ``zero-out`` and the null record is missing."""
    if adjacency is Adjacency.ZERO_OUT and null is ...:
        raise InvalidParameterError(
            "zero-out requires null, the record of an absent user, such as null=0 or null=None.",
            code="E-NULL-MISSING",
        )


class _Corners(list[Neighbours]):
    """List of pairs with their adjacency. A copy as a plain list loses the adjacency."""

    def __init__(self, pairs: Iterable[Neighbours], adjacency: Adjacency) -> None:
        super().__init__(pairs)
        self.adjacency = adjacency


def pairs_of(
    claim: PrivacyClaim,
    neighbours: PairsOfInputs | None,
    data: Records | Table | None,
    *,
    unusual: bool = False,
) -> PairsOfInputs:
    """Return the given pairs, or the pairs of the declaration ``data`` for the adjacency of ``claim``.

    With ``unusual``, pairs of unusual datasets are added.

    Raises
    ------
    InvalidParameterError
        Not exactly one of ``neighbours`` and ``data`` is given, or the unit of ``data`` is not the unit of
        the claim.
    """
    if (neighbours is None) == (data is None):
        raise InvalidParameterError(
            f"exactly one of data and neighbours must be given, got {'neither' if data is None else 'both'}.",
            code="E-DATA-OR-NEIGHBOURS",
        )
    if neighbours is not None:
        return neighbours
    if not isinstance(data, Records | Table):
        raise InvalidParameterError(f"data must be Records or a Table, got {data!r}.", code="E-DATA-TYPE")
    if (claim.unit is Unit.USER) != (data.group > 1):
        raise InvalidParameterError(
            "data must have group > 1 for a claim with unit='user', and group=1 for unit='event', got "
            f"unit={claim.unit.value!r} and group={data.group}.",
            code="E-UNIT-DIFFERS",
        )
    return data.pairs(claim.adjacency, unusual=unusual)


def read_neighbours(
    neighbours: PairsOfInputs, *, seed: int, claim: PrivacyClaim | None = None
) -> list[Neighbours]:
    """Return named copies of the pairs of inputs. From a strategy, draw ``DRAWN`` pairs with ``seed``.

    The adjacency of a ``Neighbours`` value is not checked, because its name states what changes.

    Raises
    ------
    InvalidParameterError
        An entry is not a pair, holds equal inputs or NaN, or is not a pair of neighbours by the adjacency of
        ``claim``: ``Inputs`` or ``corners`` with another adjacency, or lists that differ by more.
    """
    drawn = isinstance(neighbours, SearchStrategy)
    if (
        isinstance(neighbours, tuple)
        and len(neighbours) == 2
        and not all(isinstance(entry, tuple | Neighbours) for entry in neighbours)
    ):
        raise InvalidParameterError(
            "neighbours must be a list of pairs, such as [(data, neighbour)], got one pair.",
            code="E-NEIGHBOURS-ONE-PAIR",
        )
    if isinstance(neighbours, AdjacentInputs | _Corners):
        other = one_of(Adjacency, neighbours.adjacency, name="adjacency")
        if claim is not None and other is not claim.adjacency:
            raise InvalidParameterError(
                f"inputs must be neighbours by the adjacency of the claim, {claim.adjacency.value}, got "
                f"{other.value}.",
                code="E-ADJACENCY-DIFFERS",
            )
        if isinstance(neighbours, AdjacentInputs):
            neighbours = neighbours.pairs(seed=seed)
    if not isinstance(neighbours, Iterable | SearchStrategy):
        raise InvalidParameterError(
            f"neighbours must be a list of pairs, such as [(data, neighbour)], got {neighbours!r}.",
            code="E-NEIGHBOURS-TYPE",
        )
    entries = (
        drawn_from(neighbours, seed, DRAWN) if isinstance(neighbours, SearchStrategy) else list(neighbours)
    )
    pairs = [as_pair(entry, index) for index, entry in enumerate(entries)]
    for index, (entry, pair) in enumerate(zip(entries, pairs, strict=True)):
        if isinstance(entry, Neighbours):
            continue  # its name states what changes
        require_no_nan(pair, index=index)
        if claim is not None:
            require_adjacent(pair, claim, index=index)
    if drawn:
        pairs = _distinct(pairs)
    if not pairs:
        raise InvalidParameterError(
            f"neighbours must hold at least one pair of inputs, got none{' that differ' if drawn else ''}.",
            code="E-NEIGHBOURS-EMPTY",
        )
    for index, pair in enumerate(pairs):
        if _same(pair.left, pair.right):
            raise InvalidParameterError(
                f"neighbours must differ, but pair {index} holds equal inputs.", code="E-PAIR-EQUAL"
            )
    return [Neighbours(pair.name, _copied(pair.left, pair), _copied(pair.right, pair)) for pair in pairs]


def _copied(data: Any, pair: Neighbours) -> Any:
    try:
        return copy.deepcopy(data)
    except Exception as error:  # a generator, a lock, an open file
        raise InvalidParameterError(
            f"inputs must support copying, got {pair.name} ({type(error).__name__}: {error}). Pass the data "
            "that they hold.",
            code="E-INPUT-NOT-COPYABLE",
        ) from error


def _distinct(pairs: list[Neighbours]) -> list[Neighbours]:
    """Return each pair of different inputs once, because a strategy may repeat a pair."""
    kept: dict[str, Neighbours] = {}
    for pair in pairs:
        if not _same(pair.left, pair.right):
            kept.setdefault(repr((pair.left, pair.right)), pair)
    return list(kept.values())


def as_pair(entry: Any, index: int) -> Neighbours:
    """Return an entry of a list of pairs as ``Neighbours``, or raise ``InvalidParameterError``."""
    if isinstance(entry, Neighbours):
        return entry
    if isinstance(entry, tuple | list) and len(entry) == 2:
        return Neighbours(f"{shown(entry[0])} and {shown(entry[1])}", entry[0], entry[1])
    raise InvalidParameterError(
        "neighbours must be pairs of inputs, such as [(data, neighbour), ...], but entry "
        f"{index} is {type(entry).__name__}.",
        code="E-PAIR-TYPE",
    )


def unequal(pair: Neighbours) -> bool:
    """Return whether the two inputs of a pair differ."""
    return not _same(pair.left, pair.right)


def adjacency_warnings(pair: Neighbours, adjacency: Adjacency) -> list[str]:
    """Return a warning if two lists of records may not be neighbours. Other inputs give no warning."""
    wrong = _difference(_records(pair.left), _records(pair.right), adjacency)
    if not wrong:
        return []
    return [
        f"these inputs {wrong}: if an entry is a record, they may not be neighbours by {adjacency.value}, "
        "and the claim does not cover them"
    ]


def require_adjacent(pair: Neighbours, claim: PrivacyClaim, *, index: int) -> None:
    """Require that two lists, arrays or tables are neighbours by the adjacency of ``claim``, in any order.

    If a user has several records (``unit="user"``), the entries do not decide it, and nothing is required.

    Raises
    ------
    InvalidParameterError
        The inputs differ by more than neighbours do.
    """
    left, right = (
        _records(side) if isinstance(side, list | np.ndarray) or rows_of(side) is not None else None
        for side in (pair.left, pair.right)
    )
    if _same(pair.left, pair.right) or _holds_nan(pair.left) or _holds_nan(pair.right):
        return  # ``read_neighbours`` rejects these inputs with a more specific error
    wrong = _difference(left, right, claim.adjacency)
    if not wrong or claim.unit is not Unit.EVENT or _in_any_order(left or [], right or [], claim.adjacency):
        return
    raise InvalidParameterError(
        f"inputs must be neighbours by the adjacency of the claim, {claim.adjacency.value}, but pair "
        f"{index} holds inputs that {wrong}: {pair.name}. If an entry is not a record, pass "
        "dpaudit.suite.Neighbours(what_changes, data, neighbour).",
        code="E-PAIR-NOT-NEIGHBOURS",
    )


def _difference(left: list[Any] | None, right: list[Any] | None, adjacency: Adjacency) -> str:
    """Describe how two ordered lists of records differ by more than neighbours, or return no text."""
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
        return "have different lengths"
    changed = sum(not _same(one, two) for one, two in zip(left, right, strict=True))
    return f"differ in {changed} entries" if changed > 1 else ""


def _in_any_order(left: list[Any], right: list[Any], adjacency: Adjacency) -> bool:
    """Return whether the lists are neighbours as multisets of records, and not equal."""
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


def require_no_nan(pair: Neighbours, *, index: int) -> None:
    """Raise ``InvalidParameterError`` if an input of a pair holds NaN."""
    if _holds_nan(pair.left) or _holds_nan(pair.right):
        raise InvalidParameterError(
            f"inputs must not hold NaN, but pair {index} does. Remove or impute it, or pass "
            "dpaudit.suite.Neighbours(what_changes, data, neighbour).",
            code="E-INPUT-NAN",
        )


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
    except Exception:  # inputs that cannot be compared count as different
        return False
