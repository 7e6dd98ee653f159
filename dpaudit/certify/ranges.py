"""Declare the range of an inequality: ``on(m=integers(1, None), epsilon=reals(0, 1, "(]"))``.

It is the range that a paper prints. ``where`` adds conditions, ``cut`` splits a range at points where both
sides touch, and ``through`` gives terms between both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from dpaudit.certify.inequalities import axis_in_words
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, exact
from dpaudit.kernel.inequalities import domain
from dpaudit.kernel.inequalities.domain import Integers, Parameter, Reals

__all__ = ["Choices", "Range", "choices", "integers", "on", "reals"]

ENDS = ("[]", "[)", "(]", "()")
#: The largest number of integers or choices of one parameter that are traced one by one.
SINGLES = 1000


@dataclass(frozen=True)
class Choices:
    """Values that are traced one by one: names, tuples, numbers."""

    values: tuple[Any, ...]


@dataclass(frozen=True)
class Range:
    """A product of ranges of named parameters, with conditions.

    Parameters
    ----------
    axes : Mapping
        The range of each parameter, as the kernel reads it.
    chosen : Mapping
        The values of each parameter that has a list of them, by their text.
    given : tuple of callables
        Functions of the parameters that return a comparison, or a tuple of them. The claim is only about
        points at which all are true.
    chain : tuple of callables
        Functions of the parameters for terms between both sides. The inequality is proved link by link.
    """

    axes: Mapping[str, Parameter]
    chosen: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    given: tuple[Callable[..., Any], ...] = ()
    chain: tuple[Callable[..., Any], ...] = ()

    def where(self, *given: Callable[..., Any]) -> Range:
        """Keep only the points at which each of ``given`` is true."""
        return replace(self, given=(*self.given, *given))

    def cut(self, **points: str | Sequence[ExactLike]) -> Range:
        """Split ranges of real numbers at inner points: ``x="1 2"``.

        Raises ``InvalidParameterError`` for a parameter that has no range of real numbers.
        """
        axes = dict(self.axes)
        for name, values in points.items():
            axis = axes.get(name)
            if not isinstance(axis, Reals):
                raise InvalidParameterError(
                    f"a cut must be on a range of real numbers, got {name!r}.", code="E-RANGE-CUT"
                )
            cuts = tuple(exact(value) for value in (values.split() if isinstance(values, str) else values))
            axes[name] = replace(axis, cuts=cuts)
        return replace(self, axes=axes)

    def through(self, *terms: Callable[..., Any]) -> Range:
        """Prove left <= first term <= ... <= last term <= right, link by link."""
        return replace(self, chain=(*self.chain, *terms))

    @property
    def words(self) -> str:
        """Return the range without its conditions as text: ``all integers m >= 1, 0 < epsilon <= 1``."""
        text = ", ".join(axis_in_words(name, axis) for name, axis in self.axes.items())
        return f"all {text}{', under its conditions' if self.given else ''}"

    def value(self, name: str, text: str) -> Any:
        """Return the single value that a combination names by its text."""
        return self.chosen[name][text] if name in self.chosen else int(text)

    def holds(self, point: Mapping[str, Any]) -> bool:
        """Return whether a point is in the product. Conditions are not considered."""
        return point.keys() == self.axes.keys() and all(self._holds(*pair) for pair in point.items())

    def _holds(self, name: str, value: Any) -> bool:
        axis = self.axes[name]
        if name in self.chosen:
            return any(type(value) is type(one) and value == one for one in self.chosen[name].values())
        if type(value) is not int and type(value) is not Fraction:
            return False
        low, high = (axis.lo, axis.hi) if isinstance(axis, Reals | Integers) else (None, None)
        if isinstance(axis, Integers) and Fraction(value).denominator != 1:
            return False
        open_lo, open_hi = (axis.open_lo, axis.open_hi) if isinstance(axis, Reals) else (False, False)
        above = low is None or (value > low if open_lo else value >= low)
        return above and (high is None or (value < high if open_hi else value <= high))


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

    Those up to ``each`` are traced one by one. Default: none of them. The others are covered by all real
    numbers from there on, which is a stronger claim. Raises ``InvalidParameterError`` for an empty range, and
    for too many single integers.
    """
    found = Integers(lower, upper, each)
    if upper is not None and upper < lower:
        raise InvalidParameterError(
            f"a range of integers must have lower <= upper, got {lower} and {upper}.", code="E-RANGE-EMPTY"
        )
    if len(found.singles) > SINGLES:
        raise InvalidParameterError(
            f"at most {SINGLES} integers can be traced one by one, got {len(found.singles)}.",
            code="E-RANGE-SIZE",
        )
    return found


def choices(*values: Any) -> Choices:
    """Return values that are traced one by one.

    Raises ``InvalidParameterError`` without any, for too many, and if two have the same text.
    """
    if not 0 < len(values) <= SINGLES or len(set(map(str, values))) < len(values):
        raise InvalidParameterError(
            f"choices must be 1 to {SINGLES} values with different texts, got {values!r:.80}.",
            code="E-RANGE-CHOICES",
        )
    return Choices(values)


def on(**axes: Reals | Integers | Choices) -> Range:
    """Return the product of named ranges. Raises ``InvalidParameterError`` for other values."""
    found: dict[str, Parameter] = {}
    chosen: dict[str, dict[str, Any]] = {}
    for name, axis in axes.items():
        if isinstance(axis, Choices):
            found[name] = domain.Choices(tuple(map(str, axis.values)))
            chosen[name] = {f"value {value}": value for value in axis.values}
        elif isinstance(axis, Reals | Integers):
            found[name] = axis
        else:
            raise InvalidParameterError(
                f"a range must be reals(...), integers(...) or choices(...), got {name}={axis!r:.60}.",
                code="E-RANGE-AXIS",
            )
    return Range(found, chosen)
