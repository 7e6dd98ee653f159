"""Declare the range of an inequality: ``on(m=integers(1, None), epsilon=reals(0, 1, "(]"))``.

It is the range that a paper prints. ``where`` adds conditions, ``cut`` splits a range at points where both
sides touch, and ``through`` gives terms between both sides.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, exact

__all__ = ["Axis", "Choices", "Integers", "Range", "Reals", "choices", "integers", "on", "reals"]

ENDS = ("[]", "[)", "(]", "()")
#: The largest number of combinations of discrete values.
COMBINATIONS = 1000


@dataclass(frozen=True)
class Reals:
    """All real numbers between two ends. ``None`` is an infinite end. An infinite end is open."""

    lower: Fraction | None
    upper: Fraction | None
    lower_open: bool
    upper_open: bool

    def holds(self, value: Any) -> bool:
        """Return whether a value is an exact number of this range."""
        if type(value) is not int and type(value) is not Fraction:
            return False
        above = self.lower is None or (value > self.lower if self.lower_open else value >= self.lower)
        return above and (
            self.upper is None or (value < self.upper if self.upper_open else value <= self.upper)
        )

    def words(self, symbol: str) -> str:
        """Return the range of ``symbol`` as text, such as ``0 < ε <= 1``."""
        if self.lower is None and self.upper is None:
            return f"real {symbol}"
        if self.lower is not None and self.upper is None:
            return f"{symbol} {'>' if self.lower_open else '>='} {self.lower}"
        below = f" {'<' if self.upper_open else '<='} {self.upper}"
        left = "" if self.lower is None else f"{self.lower} {'<' if self.lower_open else '<='} "
        return f"{left}{symbol}{below}"


@dataclass(frozen=True)
class Integers:
    """All integers between two ends, the upper of which may be ``None``.

    Those up to ``each`` are traced one by one, as integers. The others are covered by all real numbers from
    there on, which is a stronger claim.
    """

    lower: int
    upper: int | None
    each: int

    def holds(self, value: Any) -> bool:
        whole = type(value) is int or (type(value) is Fraction and value.denominator == 1)
        return whole and value >= self.lower and (self.upper is None or value <= self.upper)

    def words(self, symbol: str) -> str:
        if self.upper is None:
            return f"integers {symbol} >= {self.lower}"
        return f"integers {self.lower} <= {symbol} <= {self.upper}"

    @property
    def single(self) -> range:
        """Return the integers that are traced one by one."""
        last = self.each if self.upper is None else min(self.each, self.upper)
        return range(self.lower, last + 1)

    @property
    def rest(self) -> Reals | None:
        """Return the real numbers that cover the other integers, if there are any."""
        first = max(self.lower, self.each + 1)
        if self.upper is not None and first > self.upper:
            return None
        upper = None if self.upper is None else Fraction(self.upper)
        return Reals(Fraction(first), upper, False, self.upper is None)


@dataclass(frozen=True)
class Choices:
    """Values that are traced one by one: names, tuples, numbers."""

    values: tuple[Any, ...]

    def holds(self, value: Any) -> bool:
        return any(type(value) is type(item) and value == item for item in self.values)

    def words(self, symbol: str) -> str:
        return f"{symbol} in {{{', '.join(map(str, self.values))}}}"


Axis = Reals | Integers | Choices


@dataclass(frozen=True)
class Range:
    """A product of ranges of named parameters, with conditions.

    Parameters
    ----------
    axes : Mapping
        The range of each parameter.
    given : tuple of callables
        Functions of the parameters that return a comparison, or several. The claim is only about points at
        which all are true.
    given_words : tuple of str
        The conditions as text.
    cuts : Mapping
        Inner points of an axis at which boxes must end, because both sides are equal there.
    chain : tuple of callables
        Functions of the parameters for terms between both sides. The inequality is proved link by link.
    """

    axes: Mapping[str, Axis]
    given: tuple[Callable[..., Any], ...] = ()
    given_words: tuple[str, ...] = ()
    cuts: Mapping[str, tuple[Fraction, ...]] = field(default_factory=dict)
    chain: tuple[Callable[..., Any], ...] = ()

    def where(self, given: Callable[..., Any], words: str) -> Range:
        """Keep only the points at which ``given`` is true, which ``words`` describes."""
        return replace(self, given=(*self.given, given), given_words=(*self.given_words, words))

    def cut(self, **points: str | Sequence[ExactLike]) -> Range:
        """Split axes at inner points (``x="1 2"``). Raises ``InvalidParameterError`` for another name."""
        found = dict(self.cuts)
        for name, values in points.items():
            self._require(name)
            found[name] = tuple(exact(v) for v in (values.split() if isinstance(values, str) else values))
        return replace(self, cuts=found)

    def through(self, *terms: Callable[..., Any]) -> Range:
        """Prove left <= first term <= ... <= last term <= right, link by link."""
        return replace(self, chain=(*self.chain, *terms))

    def _require(self, name: str) -> None:
        if not isinstance(self.axes.get(name), Reals | Integers):
            raise InvalidParameterError(
                f"a cut must be on a range of numbers, {', '.join(self.axes)}, got {name!r}.",
                code="E-RANGE-CUT",
            )

    def words(self, symbol: Callable[[str], str] = str) -> str:
        """Return the range as text. ``symbol`` gives the printed form of a parameter."""
        parts = [axis.words(symbol(name)) for name, axis in self.axes.items()]
        return f"all {', '.join([*parts, *self.given_words])}"

    def holds(self, point: Mapping[str, Any]) -> bool:
        """Return whether a point is in the product. Conditions are not considered."""
        return all(name in point and axis.holds(point[name]) for name, axis in self.axes.items())

    def combinations(self) -> Iterator[dict[str, Any]]:
        """Yield each combination of discrete values, with ``Reals`` for the other parameters.

        Raises ``InvalidParameterError`` for more than ``COMBINATIONS``.
        """
        options = [_options(axis) for axis in self.axes.values()]
        for number, values in enumerate(itertools.product(*options)):
            if number >= COMBINATIONS:
                raise InvalidParameterError(
                    f"a range must have at most {COMBINATIONS} combinations of discrete values, got more.",
                    code="E-RANGE-SIZE",
                )
            yield dict(zip(self.axes, values, strict=True))


def _options(axis: Axis) -> list[Any]:
    if isinstance(axis, Choices):
        return list(axis.values)
    if isinstance(axis, Integers):
        return [*axis.single, *([axis.rest] if axis.rest is not None else [])]
    return [axis]


def reals(lower: ExactLike | None, upper: ExactLike | None, ends: str = "[]") -> Reals:
    """Return all real numbers between two exact ends. ``None`` is an infinite end.

    ``ends`` says which ends belong to the range, such as ``"(]"``. Raises ``InvalidParameterError`` for
    other ends, and for an empty range.
    """
    if ends not in ENDS:
        raise InvalidParameterError(f"ends must be one of {ENDS}, got {ends!r}.", code="E-RANGE-ENDS")
    low, high = (None if end is None else exact(end) for end in (lower, upper))
    if low is not None and high is not None and not low < high:
        raise InvalidParameterError(
            f"a range of real numbers must have lower < upper, got {low} and {high}.", code="E-RANGE-EMPTY"
        )
    return Reals(low, high, ends[0] == "(" or low is None, ends[1] == ")" or high is None)


def integers(lower: int, upper: int | None = None, *, each: int | None = None) -> Integers:
    """Return all integers from ``lower`` to ``upper`` (``None``: without end).

    Those up to ``each`` are traced one by one. Default: none of them. Raises ``InvalidParameterError`` for an
    empty range.
    """
    if upper is not None and upper < lower:
        raise InvalidParameterError(
            f"a range of integers must have lower <= upper, got {lower} and {upper}.", code="E-RANGE-EMPTY"
        )
    return Integers(lower, upper, lower - 1 if each is None else each)


def choices(*values: Any) -> Choices:
    """Return values that are traced one by one. Raises ``InvalidParameterError`` without any."""
    if not values:
        raise InvalidParameterError("choices must have a value, got none.", code="E-RANGE-EMPTY")
    return Choices(values)


def on(**axes: Axis) -> Range:
    """Return the product of named ranges. Raises ``InvalidParameterError`` for other values."""
    for name, axis in axes.items():
        if not isinstance(axis, Reals | Integers | Choices):
            raise InvalidParameterError(
                f"a range must be reals(...), integers(...) or choices(...), got {name}={axis!r:.60}.",
                code="E-RANGE-AXIS",
            )
    return Range(axes)
