"""The range of an inequality: an interval of real numbers or integers for each parameter, or a list of
values.

An unbounded or open end is brought to infinity or to 0 by a change of variable: a parameter is shift + sign x
or shift + sign / x on a ``Piece``. In the forms "difference" and "log" an open end a becomes y = 1/(x - a),
which is unbounded. In the cleared forms it becomes t > 0, for series, and infinity is 1/t. The pieces are
computed here from the range, never read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dpaudit.kernel.inequalities.evaluate import Ends
from dpaudit.kernel.inequalities.expression import Table, read_number
from dpaudit.kernel.kernel_t0 import CertificateError

__all__ = [
    "REAL",
    "Choices",
    "Integers",
    "Parameter",
    "Piece",
    "Reals",
    "combinations",
    "pieces",
    "read_parameter",
    "real_range",
]

MOST_VALUES = 10_000


@dataclass(frozen=True)
class Reals:
    """The real numbers between ``lo`` and ``hi``; None is infinite. ``cuts`` are points inside at which the
    range is split.
    """

    lo: Fraction | None
    hi: Fraction | None
    open_lo: bool = False
    open_hi: bool = False
    cuts: tuple[Fraction, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "reals",
            "lo": None if self.lo is None else str(self.lo),
            "hi": None if self.hi is None else str(self.hi),
            "open": [self.open_lo, self.open_hi],
            "cuts": [str(cut) for cut in self.cuts],
        }


@dataclass(frozen=True)
class Integers:
    """The integers from ``lo`` to ``hi``; None is infinite.

    Up to ``each`` one by one, beyond it as real numbers, which is a stronger claim.
    """

    lo: int
    hi: int | None
    each: int | None = None

    @property
    def singles(self) -> range:
        """The integers that are taken one by one."""
        last = self.lo - 1 if self.each is None else self.each
        return range(self.lo, (last if self.hi is None else min(last, self.hi)) + 1)

    @property
    def beyond(self) -> Reals | None:
        """The rest, as real numbers."""
        first = max(self.lo, self.singles.stop)
        if self.hi is not None and first > self.hi:
            return None
        return Reals(Fraction(first), None if self.hi is None else Fraction(self.hi), open_hi=self.hi is None)

    def to_json(self) -> dict[str, Any]:
        return {"kind": "integers", "lo": self.lo, "hi": self.hi, "each": self.each}


@dataclass(frozen=True)
class Choices:
    """A list of values, as text."""

    values: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {"kind": "choices", "values": list(self.values)}


Parameter = Reals | Integers | Choices


def read_parameter(data: Any) -> Parameter:
    """Return one parameter's range. Raises ``CertificateError`` for anything else."""
    match data:
        case {"kind": "reals", "lo": lo, "hi": hi, "open": [bool(open_lo), bool(open_hi)], "cuts": [*cuts]}:
            if len(data) == 5 and len(cuts) <= 100:
                numbers = tuple(map(read_number, cuts))
                return _checked(Reals(_end(lo), _end(hi), open_lo, open_hi, numbers))
        case {"kind": "integers", "lo": lo, "hi": hi, "each": each}:
            if len(data) == 4 and _is_whole(lo) and _is_whole(hi, none=True) and _is_whole(each, none=True):
                made = Integers(lo, hi, each)
                if (hi is None or lo <= hi) and len(made.singles) <= MOST_VALUES:
                    return made
        case {"kind": "choices", "values": [*values]}:
            if (
                len(data) == 2
                and values
                and len(values) <= MOST_VALUES
                and all(type(v) is str for v in values)
            ):
                return Choices(tuple(values))
    raise CertificateError(f"a range must be of reals, integers or choices, got {str(data)[:120]}.")


def _is_whole(value: Any, *, none: bool = False) -> bool:
    return (value is None and none) or (type(value) is int and abs(value) < 10**4000)


def _end(text: Any) -> Fraction | None:
    return None if text is None else read_number(text)


def _checked(reals: Reals) -> Reals:
    lo, hi = reals.lo, reals.hi
    if lo is not None and hi is not None:
        single = lo == hi and not (reals.open_lo or reals.open_hi)
        if not (lo < hi or single):
            raise CertificateError(f"a range must have lo below hi, got {lo} and {hi}.")
    return replace(reals, open_lo=reals.open_lo or lo is None, open_hi=reals.open_hi or hi is None)


@dataclass(frozen=True)
class Piece:
    """Part of a real range: the parameter is shift + sign x, or shift + sign / x, for x between ``ends``.

    ``open_lo``: the lower end of x is not part of it.
    """

    ends: Ends
    shift: Fraction = Fraction(0)
    sign: int = 1
    inverse: bool = False
    open_lo: bool = False

    def parameter(self, variable: int) -> Callable[[Table], int]:
        """Return a function that adds the parameter's node to a table."""

        def added(table: Table) -> int:
            term = table.term("v", variable)
            if self.inverse:
                term = 1 / term
            if self.sign < 0:
                return (self.shift - term if self.shift else -term).i
            return (self.shift + term if self.shift else term).i

        return added

    def value(self, x: Fraction) -> Fraction:
        """Return the parameter at ``x``."""
        return self.shift + self.sign * (1 / x if self.inverse else x)


def pieces(reals: Reals, *, near: bool) -> list[Piece]:
    """Return the pieces of a range. ``near``: an open end is brought to 0, otherwise to infinity."""
    return [piece for part in _parts(reals) for piece in _pieces(part, near)]


def _parts(reals: Reals) -> Iterator[Reals]:
    """Split a range at its cuts, and at 0 if it has no end."""
    inside = sorted({cut for cut in reals.cuts if _is_inside(cut, reals)})
    if reals.lo is None and reals.hi is None and not inside:
        inside = [Fraction(0)]
    lo, open_lo = reals.lo, reals.open_lo
    for cut in inside:
        yield Reals(lo, cut, open_lo, False)
        lo, open_lo = cut, False
    yield Reals(lo, reals.hi, open_lo, reals.open_hi)


def _is_inside(cut: Fraction, reals: Reals) -> bool:
    return (reals.lo is None or reals.lo < cut) and (reals.hi is None or cut < reals.hi)


def _pieces(part: Reals, near: bool) -> list[Piece]:
    lo, hi = part.lo, part.hi
    if lo is None:
        assert hi is not None
        mirrored = _pieces(Reals(-hi, None, part.open_hi, True), near)
        return [replace(each, shift=-each.shift, sign=-each.sign) for each in mirrored]
    if part.open_lo:
        return _from_open_end(part, lo, near)
    if hi is None:
        if not near:
            return [Piece((lo, None))]
        start = max(lo, Fraction(1))
        far = Piece((Fraction(0), 1 / start), inverse=True, open_lo=True)
        return [Piece((lo, start)), far] if lo < start else [far]
    if part.open_hi:
        if near:
            return [Piece((Fraction(0), hi - lo), shift=hi, sign=-1, open_lo=True)]
        return [Piece((1 / (hi - lo), None), shift=hi, sign=-1, inverse=True)]
    return [Piece((lo, hi))]


def _from_open_end(part: Reals, lo: Fraction, near: bool) -> list[Piece]:
    """Return a piece beside the open lower end, and the rest."""
    hi = part.hi
    middle = lo + 1 if hi is None else (lo + hi) / 2 if part.open_hi else hi
    rest = _pieces(Reals(middle, hi, False, part.open_hi), near) if hi is None or part.open_hi else []
    if near:
        return [Piece((Fraction(0), middle - lo), shift=lo, open_lo=True), *rest]
    return [Piece((1 / (middle - lo), None), shift=lo, inverse=True), *rest]


def combinations(ranges: Mapping[str, Parameter]) -> list[dict[str, str]]:
    """Return the values that are taken one by one, for each combination; "real" for the others.

    A combination names a value for each choice and each single integer.
    """
    found: list[dict[str, str]] = [{}]
    for name, parameter in ranges.items():
        found = [{**one, name: value} for one in found for value in _taken(parameter)]
        if len(found) > MOST_VALUES:
            raise CertificateError(f"a range must have at most {MOST_VALUES} combinations of values.")
    return found


#: Stands for a parameter that is real in a combination.
REAL = "real"


def _taken(parameter: Parameter) -> Sequence[str]:
    if isinstance(parameter, Choices):
        return [f"value {value}" for value in parameter.values]
    if isinstance(parameter, Integers):
        singles = [str(value) for value in parameter.singles]
        return [*singles, REAL] if parameter.beyond is not None else singles
    return [REAL]


def real_range(parameter: Parameter) -> Reals:
    """Return the range of a parameter that is real in a combination."""
    if isinstance(parameter, Reals):
        return parameter
    beyond = parameter.beyond if isinstance(parameter, Integers) else None
    if beyond is None:
        raise CertificateError("this parameter has no real part.")
    return beyond
