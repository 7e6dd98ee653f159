"""Expressions of expected values: ratios, sums and means of things that are simulated or computed, with ends
that hold together.

A ``Leaf`` is one expected value with a way to bound it at a given error level. An expression knows its
leaves, so that whoever evaluates it can share one error level among them, each counted once however often it
stands there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from dpaudit.errors import InvalidParameterError
from dpaudit.regret.intervals import Interval
from dpaudit.suite import Run

__all__ = ["Expression", "Leaf", "average", "constant", "largest", "leaf", "smallest"]


Bounding = Callable[[Run, float], Interval]


class Expression:
    """An expected value, or arithmetic of several. Combine with ``+ - * /`` and numbers."""

    def leaves(self) -> Iterator[Leaf]:
        """Every leaf, repeated where it stands several times."""
        raise NotImplementedError

    def value(self, known: Mapping[Leaf, Interval]) -> Interval:
        """The interval that follows from those of the leaves."""
        raise NotImplementedError

    def __add__(self, other: Expression | float) -> Expression:
        return _Both(self, _expression(other), "+")

    def __sub__(self, other: Expression | float) -> Expression:
        return _Both(self, _expression(other), "-")

    def __mul__(self, other: Expression | float) -> Expression:
        return _Both(self, _expression(other), "*")

    __rmul__ = __mul__

    def __truediv__(self, other: Expression | float) -> Expression:
        return _Both(self, _expression(other), "/")

    def __rtruediv__(self, other: float) -> Expression:
        return _Both(_expression(other), self, "/")


@dataclass(frozen=True)
class Leaf(Expression):
    """One expected value: ``key`` names it (equal keys are the same runs), ``bounding(run, alpha)`` bounds
    it, both ends together, at level ``alpha``, from ``runs(run)`` runs."""

    key: str
    bounding: Bounding = field(compare=False)
    label: str = field(default="", compare=False)
    runs: Callable[[Run], int] | None = field(default=None, compare=False)

    def leaves(self) -> Iterator[Leaf]:
        yield self

    def value(self, known: Mapping[Leaf, Interval]) -> Interval:
        return known[self]


def leaf(key: str, bounding: Bounding, *, label: str = "", runs: Callable[[Run], int] | None = None) -> Leaf:
    """The expected value that ``bounding`` bounds; ``label`` heads its column in tables."""
    return Leaf(key, bounding, label, runs)


@dataclass(frozen=True)
class _Constant(Expression):
    low: float
    high: float

    def leaves(self) -> Iterator[Leaf]:
        return iter(())

    def value(self, known: Mapping[Leaf, Interval]) -> Interval:
        return Interval(self.low, self.high, (self.low + self.high) / 2)


def constant(low: float, high: float | None = None) -> Expression:
    """A number, or one between two known ends."""
    return _Constant(float(low), float(low if high is None else high))


def _expression(value: Expression | float) -> Expression:
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
            return Interval(left.low + right.low, left.high + right.high, left.mean + right.mean)
        if self.sign == "-":
            return Interval(left.low - right.high, left.high - right.low, left.mean - right.mean)
        if self.sign == "/":
            return left / right
        corners = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
        return Interval(min(corners), max(corners), left.mean * right.mean)


@dataclass(frozen=True)
class _Several(Expression):
    """The mean, the largest or the smallest of several."""

    parts: tuple[Expression, ...]
    what: str

    def leaves(self) -> Iterator[Leaf]:
        for part in self.parts:
            yield from part.leaves()

    def value(self, known: Mapping[Leaf, Interval]) -> Interval:
        values = [part.value(known) for part in self.parts]
        merge = _MERGE[self.what]
        ends = [merge([getattr(one, name) for one in values]) for name in ("low", "high", "mean")]
        return Interval(*ends)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


_MERGE: dict[str, Callable[[Sequence[float]], float]] = {"mean": _mean, "largest": max, "smallest": min}


def _several(parts: Sequence[Expression | float], what: str) -> Expression:
    if not parts:
        raise InvalidParameterError(f"the {what} of expressions needs one at least, got none; name them.")
    return _Several(tuple(map(_expression, parts)), what)


def average(parts: Sequence[Expression | float]) -> Expression:
    """The mean of several expressions, each with the same weight."""
    return _several(parts, "mean")


def largest(parts: Sequence[Expression | float]) -> Expression:
    """The largest of several expressions."""
    return _several(parts, "largest")


def smallest(parts: Sequence[Expression | float]) -> Expression:
    """The smallest of several expressions."""
    return _several(parts, "smallest")
