"""Combine expected values, simulated or computed, by ratios, sums and means, with bounds that hold jointly.

A ``Leaf`` is one expected value with a way to bound it at a given significance level. An expression lists its
leaves, so that an evaluation can divide one significance level among them, counting each once however often
it occurs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from types import FunctionType

import numpy as np

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import rounded_down, rounded_up
from dpaudit.core.suite import Run
from dpaudit.suite.regret.intervals import Interval

__all__ = ["Expression", "Leaf", "average", "constant", "largest", "leaf", "smallest"]


Bounding = Callable[[Run, float], Interval]


class Expression:
    """An expected value, or arithmetic of several. Combine with ``+ - * /`` and numbers."""

    def leaves(self) -> Iterator[Leaf]:
        """Yield every leaf, as often as it occurs."""
        raise NotImplementedError

    def value(self, known: Mapping[Leaf, Interval]) -> Interval:
        """Return the interval that follows from the leaves' intervals."""
        raise NotImplementedError

    def __add__(self, other: Expression | float) -> Expression:
        return _Both(self, _expression(other), "+")

    def __sub__(self, other: Expression | float) -> Expression:
        return _Both(self, _expression(other), "-")

    def __mul__(self, other: Expression | float) -> Expression:
        return _Both(self, _expression(other), "*")

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: float) -> Expression:
        return _Both(_expression(other), self, "-")

    def __neg__(self) -> Expression:
        return _Both(constant(0), self, "-")

    def __truediv__(self, other: Expression | float) -> Expression:
        return _Both(self, _expression(other), "/")

    def __rtruediv__(self, other: float) -> Expression:
        return _Both(_expression(other), self, "/")


@dataclass(frozen=True)
class Leaf(Expression):
    """One expected value.

    ``key`` identifies it: equal keys are the same runs. ``bounding(run, alpha)`` bounds it from ``runs(run)``
    runs, with both ends jointly at level ``alpha``.
    """

    key: str
    bounding: Bounding = field(compare=False)
    label: str = field(default="", compare=False)
    runs: Callable[[Run], int] | None = field(default=None, compare=False)
    method: str = field(default="", compare=False)

    def leaves(self) -> Iterator[Leaf]:
        yield self

    def value(self, known: Mapping[Leaf, Interval]) -> Interval:
        return known[self]


def same_leaf(one: Leaf, other: Leaf) -> bool:
    """Return whether two leaves with one key bound the same value: the same code, with equal closures."""
    return _same(one.bounding, other.bounding)


def _same(one: object, other: object) -> bool:
    if one is other:
        return True
    if isinstance(one, partial) and isinstance(other, partial):
        return _same((one.func, one.args, one.keywords), (other.func, other.args, other.keywords))
    if isinstance(one, FunctionType) and isinstance(other, FunctionType):
        around = [
            (f.__code__, [cell.cell_contents for cell in f.__closure__ or ()], f.__defaults__)
            for f in (one, other)
        ]
        return _same(*around)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and bool(np.all(one == other))


def leaf(
    key: str,
    bounding: Bounding,
    *,
    label: str = "",
    runs: Callable[[Run], int] | None = None,
    method: str = "",
) -> Leaf:
    """Return the expected value that ``bounding`` bounds.

    ``label`` is its column heading in tables. ``method`` describes how it is bounded.
    """
    return Leaf(key, bounding, label, runs, method)


@dataclass(frozen=True)
class _Constant(Expression):
    low: float
    high: float

    def leaves(self) -> Iterator[Leaf]:
        return iter(())

    def value(self, known: Mapping[Leaf, Interval]) -> Interval:
        middle = self.low if self.low == self.high else self.low / 2 + self.high / 2
        return Interval(self.low, self.high, middle)


def constant(low: float | Fraction, high: float | Fraction | None = None) -> Expression:
    """Return a number, or a number between two known ends. Numbers that no float holds are enclosed."""
    return _Constant(rounded_down(low), rounded_up(low if high is None else high))


def _expression(value: Expression | float | Fraction) -> Expression:
    return value if isinstance(value, Expression) else constant(value)


@dataclass(frozen=True)
class _Both(Expression):
    left: Expression
    right: Expression
    sign: str

    def leaves(self) -> Iterator[Leaf]:
        yield from self.left.leaves()
        yield from self.right.leaves()

    def value(self, known: Mapping[Leaf, Interval]) -> Interval:
        left, right = self.left.value(known), self.right.value(known)
        if self.sign == "+":
            return _outward(left.low + right.low, left.high + right.high, left.mean + right.mean)
        if self.sign == "-":
            return _outward(left.low - right.high, left.high - right.low, left.mean - right.mean)
        if self.sign == "/":
            ratio = left / right
            return _outward(ratio.low, ratio.high, ratio.mean)
        corners = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
        unbounded = any(map(math.isnan, corners))  # zero times infinity may be anything
        low, high = (-math.inf, math.inf) if unbounded else (min(corners), max(corners))
        return _outward(low, high, left.mean * right.mean)


def _outward(low: float, high: float, mean: float) -> Interval:
    """Return the ends of one rounded operation, each moved to the next float, to enclose the exact result.

    An indefinite end becomes infinite.
    """
    below = -math.inf if math.isnan(low) else math.nextafter(low, -math.inf)
    above = math.inf if math.isnan(high) else math.nextafter(high, math.inf)
    return Interval(below, above, mean)


@dataclass(frozen=True)
class _Several(Expression):
    """The mean, the largest or the smallest of several expressions."""

    parts: tuple[Expression, ...]
    what: str

    def leaves(self) -> Iterator[Leaf]:
        for part in self.parts:
            yield from part.leaves()

    def value(self, known: Mapping[Leaf, Interval]) -> Interval:
        values = [part.value(known) for part in self.parts]
        merge = _MERGE[self.what]
        low, high, mean = (merge([getattr(one, name) for one in values]) for name in ("low", "high", "mean"))
        # A mean rounds at each of its additions. The largest and the smallest are exact.
        steps = len(values) + 1 if self.what == "mean" else 0
        for _ in range(steps):
            low, high = math.nextafter(low, -math.inf), math.nextafter(high, math.inf)
        return Interval(low, high, mean)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


_MERGE: dict[str, Callable[[Sequence[float]], float]] = {"mean": _mean, "largest": max, "smallest": min}


def _several(parts: Sequence[Expression | float], what: str) -> Expression:
    if not parts:
        raise InvalidParameterError(
            f"the {what} of expressions requires at least one expression, got none.",
            code="E-EXPRESSION-EMPTY",
        )
    return _Several(tuple(map(_expression, parts)), what)


def average(parts: Sequence[Expression | float]) -> Expression:
    """Return the mean of several expressions, with equal weights."""
    return _several(parts, "mean")


def largest(parts: Sequence[Expression | float]) -> Expression:
    """Return the largest of several expressions."""
    return _several(parts, "largest")


def smallest(parts: Sequence[Expression | float]) -> Expression:
    """Return the smallest of several expressions."""
    return _several(parts, "smallest")
