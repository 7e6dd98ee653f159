"""Declare symbolic data and adjacencies: the changes of the data that make neighbours.

Data are a list of ``size`` records. A record is one number or a tuple of ``width`` numbers. Number j of
record i is the symbol ``x<i * width + j>``. An adjacency is a union of boxes of changes. Each *piece* is one
box: it gives the interval in which each symbol changes. Both neighbours stay in the domain [low, high].
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpaudit.core.data import EVERY, Records, Table, require_domain_only
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, exact, positive
from dpaudit.prover.forms import Row, symbol

__all__ = ["EVERY", "Adjacent", "EachMoves", "OneReplaced", "Piece", "Symbols", "symbols_of"]

#: One box of changes: an interval for each symbol that may change.
Piece = dict[str, tuple[Fraction, Fraction]]


@dataclass(frozen=True, init=False)
class Symbols:
    """A list of symbolic records, for ``prove``.

    Parameters
    ----------
    size : int or EVERY
        The number of records, or ``EVERY`` for a proof that covers all sizes.
    low, high : number, optional
        Bounds of every number of a record. Default: unbounded.
    width : int, optional
        The length of each record, which is then a tuple. Default: a record is one number.
    integers : bool
        Whether all numbers are integers, which discrete noise requires (rule G12). Default: False.

    Raises
    ------
    InvalidParameterError
        The size or width is not positive, ``low`` is not below ``high``, or integers have other bounds.
    """

    size: int | str
    low: Fraction | None
    high: Fraction | None
    width: int | None
    integers: bool

    def __init__(
        self,
        size: int | str,
        *,
        low: ExactLike | None = None,
        high: ExactLike | None = None,
        width: int | None = None,
        integers: bool = False,
    ) -> None:
        if size != EVERY and (type(size) is not int or size < 1):
            raise InvalidParameterError(
                f"size must be a positive integer or EVERY, got {size!r}.", code="E-SIZE-NOT-POSITIVE"
            )
        if width is not None and (type(width) is not int or width < 1):
            raise InvalidParameterError(
                f"width must be a positive integer or None, got {width!r}.", code="E-WIDTH-NOT-POSITIVE"
            )
        bounds = [None if b is None else exact(b, name="a bound of the data") for b in (low, high)]
        if bounds[0] is not None and bounds[1] is not None and bounds[0] >= bounds[1]:
            raise InvalidParameterError(
                f"low must be below high, got {low} and {high}.", code="E-BOUNDS-ORDER"
            )
        if integers and any(b is not None and b.denominator != 1 for b in bounds):
            raise InvalidParameterError(
                f"bounds of integers must be integers, got {low} and {high}.", code="E-BOUNDS-NOT-INTEGER"
            )
        for name, value in zip(("size", "low", "high", "width"), (size, *bounds, width), strict=True):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "integers", integers)

    @property
    def numbers(self) -> int:
        """Return the number of symbols. Raise ``InvalidParameterError`` for data of every size."""
        if not isinstance(self.size, int):
            raise InvalidParameterError(
                "size must be fixed to count the symbols, got EVERY.", code="E-SIZE-NOT-FIXED"
            )
        return self.size * (self.width or 1)

    @property
    def names(self) -> list[str]:
        """Return the names of the symbols, ``x0``, ``x1``, ..., in order."""
        return [f"x{i}" for i in range(self.numbers)]

    def records(self, made: Any) -> list[Any]:
        """Return the list of records that a program receives. ``made(name)`` makes the value of a symbol."""
        flat = [made(name) for name in self.names]
        if self.width is None:
            return flat
        return [tuple(flat[i : i + self.width]) for i in range(0, len(flat), self.width)]

    def domain(self) -> dict[str, Row]:
        """Return the domain's constraints by name: ``x3>`` for the lower bound, ``x3<`` for the upper."""
        rows: dict[str, Row] = {}
        for name in self.names:
            if self.low is not None:
                rows[f"{name}>"] = Row(symbol(name).times(Fraction(-1)).moved(self.low), strict=False)
            if self.high is not None:
                rows[f"{name}<"] = Row(symbol(name).moved(-self.high), strict=False)
        return rows

    def to_json(self) -> dict[str, Any]:
        """Return the data as a certificate states them, with exact strings."""
        low, high = (None if bound is None else str(bound) for bound in (self.low, self.high))
        return {
            "size": self.size,
            "width": self.width,
            "low": low,
            "high": high,
            "integers": self.integers,
        }


class Adjacent:
    """The interface of every adjacency."""

    def pieces(self, data: Symbols) -> list[Piece]:
        """Return the boxes of changes whose union is the adjacency."""
        raise NotImplementedError

    def to_json(self, data: Symbols) -> dict[str, Any]:
        """Return the adjacency as a certificate states it. ``program_t0`` makes the same boxes from it."""
        raise NotImplementedError


@dataclass(frozen=True, init=False)
class EachMoves(Adjacent):
    """The adjacency in which every number of every record may change.

    Parameters
    ----------
    by : number
        The largest change of each number, greater than 0. Default: 1.
    one_way : bool
        Whether all numbers change in the same direction. Both directions are proved. Default: False.
    """

    by: Fraction
    one_way: bool

    def __init__(self, by: ExactLike = 1, *, one_way: bool = False) -> None:
        object.__setattr__(self, "by", positive(by, name="by"))
        object.__setattr__(self, "one_way", one_way)

    def pieces(self, data: Symbols) -> list[Piece]:
        intervals = (
            [(-self.by, Fraction(0)), (Fraction(0), self.by)] if self.one_way else [(-self.by, self.by)]
        )
        return [dict.fromkeys(data.names, interval) for interval in intervals]

    def to_json(self, data: Symbols) -> dict[str, Any]:
        return {"kind": "each-moves", "by": str(self.by), "one_way": self.one_way}


@dataclass(frozen=True, init=False)
class OneReplaced(Adjacent):
    """The adjacency in which one record is replaced.

    Parameters
    ----------
    by : number, optional
        The largest change of each number of the record, greater than 0. Default: the width of the data's
        domain, which must then be bounded.
    """

    by: Fraction | None

    def __init__(self, by: ExactLike | None = None) -> None:
        object.__setattr__(self, "by", None if by is None else positive(by, name="by"))

    def _step(self, data: Symbols) -> Fraction:
        if self.by is not None:
            return self.by
        if data.low is None or data.high is None:
            raise InvalidParameterError(
                "OneReplaced() requires bounded data. Pass Symbols(..., low=..., high=...) or "
                "OneReplaced(by=...).",
                code="E-DATA-UNBOUNDED",
            )
        return data.high - data.low

    def pieces(self, data: Symbols) -> list[Piece]:
        step, width, names = self._step(data), data.width or 1, data.names
        starts = range(0, len(names), width)
        return [dict.fromkeys(names[i : i + width], (-step, step)) for i in starts]

    def to_json(self, data: Symbols) -> dict[str, Any]:
        return {"kind": "one-replaced", "by": str(self._step(data)), "at_most": self.by is not None}


def symbols_of(data: Records | Table) -> Symbols:
    """Return the symbols of declared data. Data of every size from some smallest size on become ``EVERY``.

    Raise ``InvalidParameterError`` unless the data are a list of numbers or of rows of numbers, with one
    record per user.
    """
    require_domain_only(data)
    column = data.columns.get("")
    if column is None or data.container != "list" or column.kind == "b" or column.ball or data.group > 1:
        raise InvalidParameterError(
            "data must be a list of numbers, or of rows of numbers, each in an interval, with one record per "
            f"user, got {data!r}. Declare Records(..., container='list'), or use dpaudit.audit.",
            code="E-DATA-NOT-A-LIST",
        )
    whole = column.kind == "i"
    return Symbols(data.size, low=column.low, high=column.high, width=column.width, integers=whole)
