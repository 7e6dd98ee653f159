"""Symbolic data and the adjacencies of a proof: which changes of the data are neighbours.

Data are a list of ``size`` records; a record is one number or a tuple of ``width`` numbers. Number j of
record i is the symbol ``x<i * width + j>``. An adjacency is a union of boxes of changes: each *piece* gives
for every symbol the interval in which it changes. Both sides stay in the domain [low, high]."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpaudit.core.data import EVERY, Records, Table
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, exact, positive
from dpaudit.prover.forms import Row, symbol

__all__ = ["EVERY", "Adjacent", "EachMoves", "OneReplaced", "Piece", "Symbols", "symbols_of"]

#: The changes that one piece allows: an interval for each symbol that may change.
Piece = dict[str, tuple[Fraction, Fraction]]


@dataclass(frozen=True, init=False)
class Symbols:
    """``size`` records (or ``EVERY``), each a number in [``low``, ``high``] (None: unbounded), or a tuple of
    ``width`` such numbers. ``integers`` says that all of them are integers, which discrete noise needs
    (rule G12). Raises ``InvalidParameterError``."""

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
            raise InvalidParameterError(f"size must be a positive integer or EVERY, got {size!r}; name one.")
        if width is not None and (type(width) is not int or width < 1):
            raise InvalidParameterError(f"width must be a positive integer or None, got {width!r}; name one.")
        bounds = [None if b is None else exact(b, name="a bound of the data") for b in (low, high)]
        if bounds[0] is not None and bounds[1] is not None and bounds[0] >= bounds[1]:
            raise InvalidParameterError(f"low must be below high, got {low} and {high}; correct one of them.")
        if integers and any(b is not None and b.denominator != 1 for b in bounds):
            raise InvalidParameterError(f"bounds of integers must be integers, got {low} and {high}.")
        for name, value in zip(("size", "low", "high", "width"), (size, *bounds, width), strict=True):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "integers", integers)

    @property
    def numbers(self) -> int:
        """How many symbols the data have. Raises ``InvalidParameterError`` for data of every size."""
        if not isinstance(self.size, int):
            raise InvalidParameterError("data of every size have no fixed number of symbols; name a size.")
        return self.size * (self.width or 1)

    @property
    def names(self) -> list[str]:
        return [f"x{i}" for i in range(self.numbers)]

    def records(self, made: Any) -> list[Any]:
        """The data as a program gets them, ``made(name)`` being the symbol of that name."""
        flat = [made(name) for name in self.names]
        if self.width is None:
            return flat
        return [tuple(flat[i : i + self.width]) for i in range(0, len(flat), self.width)]

    def domain(self) -> dict[str, Row]:
        """The domain's constraints by name: ``x3>`` for its lower bound, ``x3<`` for its upper."""
        rows: dict[str, Row] = {}
        for name in self.names:
            if self.low is not None:
                rows[f"{name}>"] = Row(symbol(name).times(Fraction(-1)).moved(self.low), strict=False)
            if self.high is not None:
                rows[f"{name}<"] = Row(symbol(name).moved(-self.high), strict=False)
        return rows

    def to_json(self) -> dict[str, Any]:
        low, high = (None if bound is None else str(bound) for bound in (self.low, self.high))
        return {
            "size": self.size,
            "width": self.width,
            "low": low,
            "high": high,
            "integers": self.integers,
        }


class Adjacent:
    """What every adjacency can do."""

    def pieces(self, data: Symbols) -> list[Piece]:
        """The boxes of changes whose union is the adjacency."""
        raise NotImplementedError

    def to_json(self, data: Symbols) -> dict[str, Any]:
        """As a certificate states it; ``program_t0`` makes the same boxes from it."""
        raise NotImplementedError


@dataclass(frozen=True, init=False)
class EachMoves(Adjacent):
    """Every number of every record may change by at most ``by``, in any direction; with ``one_way`` all in
    one direction (both are proved)."""

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
    """One record is replaced: each of its numbers changes by at most ``by``, or by the width of the data's
    domain, which must then be bounded."""

    by: Fraction | None

    def __init__(self, by: ExactLike | None = None) -> None:
        object.__setattr__(self, "by", None if by is None else positive(by, name="by"))

    def _step(self, data: Symbols) -> Fraction:
        if self.by is not None:
            return self.by
        if data.low is None or data.high is None:
            raise InvalidParameterError(
                "one replaced record needs bounds of the data or `by`, got neither; name low and high."
            )
        return data.high - data.low

    def pieces(self, data: Symbols) -> list[Piece]:
        step, width, names = self._step(data), data.width or 1, data.names
        starts = range(0, len(names), width)
        return [dict.fromkeys(names[i : i + width], (-step, step)) for i in starts]

    def to_json(self, data: Symbols) -> dict[str, Any]:
        return {"kind": "one-replaced", "by": str(self._step(data)), "at_most": self.by is not None}


def symbols_of(data: Records | Table) -> Symbols:
    """The symbols of declared data. Every number of records, from whichever least one, is every number.

    Raises ``InvalidParameterError`` for data that are not a list of numbers, or of rows of numbers, or of
    which several belong to one user.
    """
    column = data.columns.get("")
    if column is None or data.container != "list" or column.kind == "b" or column.ball or data.group > 1:
        raise InvalidParameterError(
            "prove follows programs on a list of numbers or of rows of them, each in an interval, with one "
            f"record a user, got {data!r}; declare Records(..., container='list'), or use dpaudit.audit."
        )
    whole = column.kind == "i"
    return Symbols(data.size, low=column.low, high=column.high, width=column.width, integers=whole)
