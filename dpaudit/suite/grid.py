"""Define grids of exact parameters: the points of a row, and the scope that the report prints.

``over(n=(1, 2, full(2000)), p="1/10 1/2")`` is the product of its axes. Grids can be added, and a point in
several parts counts once. ``listed`` lists points one by one. A string is a list of exact numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.suite import Run

__all__ = ["Grid", "Point", "full", "in_words", "listed", "only_quick", "over", "symbol"]

Point = Mapping[str, Any]

#: A longer axis is printed as its first three values and its last value.
PRINTED = 12

#: A power of ten with at least as many zeros is printed as one.
MANY_ZEROS = 18
#: A power of ten with at least as many zeros is printed as one.

#: Symbols of parameters: Greek letters, and the usual letters of bandit problems.
SYMBOLS = {
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    "delta": "δ",
    "epsilon": "ε",
    "eta": "η",
    "theta": "θ",
    "lam": "λ",
    "mu": "μ",
    "xi": "ξ",
    "rho": "ρ",
    "sigma": "σ",
    "tau": "τ",
    "failure_prob": "p",
    "horizon": "T",
    "n_arms": "K",
    "scale_factor": "s",
}


def symbol(name: str) -> str:
    """Return the printed form of a parameter: a letter for some, other names with spaces."""
    return SYMBOLS.get(name, name.replace("_", " ").strip())


def in_words(point: Point) -> str:
    """Return the point as text, such as ``T = 1024, ε = 1/2``."""
    return ", ".join(f"{symbol(name)} = {_shown(value)}" for name, value in point.items())


@dataclass(frozen=True)
class _Marked:
    """Values of one profile: full (and paper), or quick."""

    values: tuple[Any, ...]
    quick: bool


def full(*values: Any) -> _Marked:
    """Mark values of an axis that only the full and the paper profile use."""
    return _Marked(tuple(_read(values)), quick=False)


def only_quick(*values: Any) -> _Marked:
    """Mark values of an axis that only the quick profile uses."""
    return _Marked(tuple(_read(values)), quick=True)


@dataclass(frozen=True)
class _Axis:
    name: str
    always: tuple[Any, ...]
    quick: tuple[Any, ...]
    full: tuple[Any, ...]

    def values(self, run: Run) -> tuple[Any, ...]:
        return self.always + (self.quick if run.profile == "quick" else self.full)

    def __str__(self) -> str:
        text = _list(self.always)
        for words, values in (("quick", self.quick), ("full", self.full)):
            if values:
                text += f" ({words} profile{': ' if self.always else ' alone: '}{_list(values)})"
        return f"{symbol(self.name)} = {text.strip()}"


@dataclass(frozen=True)
class Grid:
    """Points of named parameters. ``scope`` describes them as the report prints it."""

    axes: tuple[_Axis, ...] = ()
    points: tuple[Point, ...] = ()
    keep: Callable[..., bool] | None = None
    words: str = ""
    parts: tuple[Grid, ...] = ()

    def at(self, run: Run) -> Iterator[Point]:
        """Yield the points of this run's profile, in the order of the axes."""
        for point in self._all(run):
            if self.keep is None or self.keep(**point):
                yield point

    def _all(self, run: Run) -> Iterator[Point]:
        if self.parts:
            yield from _each_once(point for part in self.parts for point in part.at(run))
        elif self.axes:
            names = [axis.name for axis in self.axes]
            for values in itertools.product(*(axis.values(run) for axis in self.axes)):
                yield dict(zip(names, values, strict=True))
        else:
            yield from self.points

    @property
    def scope(self) -> str:
        """Return a description of the points, such as ``n = 1, 2 (full profile: 2000); p = 1/10, 1/2``."""
        if self.parts:
            text = " | ".join(part.scope for part in self.parts)
        elif self.axes:
            text = "; ".join(str(axis) for axis in self.axes)
        else:
            shown = [f"({in_words(point)})" for point in self.points if point]
            text = _list(shown)
        return f"{text}{'; ' if text and self.words else ''}{self.words}"

    def names(self) -> list[tuple[str, ...]]:
        """Return the names of the points' parameters: one tuple for each part that differs."""
        if self.parts:
            found = [names for part in self.parts for names in part.names()]
        elif self.axes:
            found = [tuple(axis.name for axis in self.axes)]
        else:
            found = [tuple(point) for point in self.points]
        return list(dict.fromkeys(found))

    def where(self, keep: Callable[..., bool], words: str) -> Grid:
        """Keep only the points at which ``keep`` (a function of the named parameters) is true.

        ``words`` describes these points.
        """
        if self.keep is not None:
            return Grid(parts=(self,), keep=keep, words=words)
        return replace(self, keep=keep, words=words)

    def __add__(self, other: Grid) -> Grid:
        return Grid(parts=(*(self._parts()), *(other._parts())))

    def _parts(self) -> tuple[Grid, ...]:
        return self.parts if self.parts and self.keep is None else (self,)


def over(**axes: Any) -> Grid:
    """Return the product of named axes.

    An axis is a string of exact numbers (``"0 1/10 1"``), one number, or a sequence of values and of such
    strings. ``full(...)`` and ``only_quick(...)`` in it mark values of one profile. Raises
    ``InvalidParameterError`` for an axis without values.
    """
    return Grid(axes=tuple(_axis(name, values) for name, values in axes.items()))


def listed(names: str, *points: Any) -> Grid:
    """Return points that are listed one by one: ``listed("users present", (10, 9), (16, 15))``.

    For a single name, a point is the bare value. Strings in a point that are exact numbers are read as such.
    Raises ``InvalidParameterError`` for a point of another length than ``names``.
    """
    wanted = names.split()
    found: list[Point] = []
    for point in points:
        values = (point,) if len(wanted) == 1 else tuple(point)
        if len(values) != len(wanted):
            raise InvalidParameterError(
                f"a point must have a value for each of {wanted}, got {point!r}.", code="E-GRID-POINT"
            )
        found.append(dict(zip(wanted, map(_plain, map(_exactly, values)), strict=True)))
    return Grid(points=tuple(found))


def _each_once(points: Iterable[Point]) -> Iterator[Point]:
    """Yield the points without repeats, because one part may contain another's in the full profile.

    Values without a hash equal nothing.
    """
    seen: set[Any] = set()
    for point in points:
        key = tuple((name, type(value), value) for name, value in point.items())
        with suppress(TypeError):
            if key in seen:
                continue
            seen.add(key)
        yield point


def _axis(name: str, values: Any) -> _Axis:
    if isinstance(values, int | Fraction | _Marked):
        values = (values,)
    always: list[Any] = []
    quick: list[Any] = []
    more: list[Any] = []
    for value in values.split() if isinstance(values, str) else values:
        if isinstance(value, _Marked):
            (quick if value.quick else more).extend(map(_plain, value.values))
        else:
            always.extend([_exactly(value)] if isinstance(values, str) else map(_plain, _numbers(value)))
    if isinstance(values, str) and len({isinstance(value, Fraction) for value in always}) > 1:
        raise InvalidParameterError(
            f"an axis in a string must be exact numbers, or words, got both in {name}={values!r}. For mixed "
            "values, pass a tuple.",
            code="E-GRID-AXIS-MIXED",
        )
    if not (always or (quick and more)):
        raise InvalidParameterError(
            f"an axis must have a value in every profile, got none for {name!r}.", code="E-GRID-EMPTY"
        )
    return _Axis(name, tuple(always), tuple(quick), tuple(more))


def _read(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, str):
            yield from (_exactly(part) for part in value.split())
        else:
            yield value


def _numbers(value: Any) -> list[Any]:
    """Return the exact numbers that a string lists, or a word or another value in a list."""
    try:
        return [Fraction(part) for part in value.split()] if isinstance(value, str) else [value]
    except ValueError:
        return [value]


def _plain(value: Any) -> Any:
    """Convert a numpy number to a Python number, which cannot wrap and which balls accept."""
    return value.item() if isinstance(value, np.generic) else value


def _exactly(value: Any) -> Any:
    """Return the exact number in a string, or any other value unchanged."""
    if not isinstance(value, str):
        return value
    try:
        return Fraction(value)
    except ValueError:
        return value


def _list(values: Sequence[Any]) -> str:
    if len(values) <= PRINTED:
        return ", ".join(map(_shown, values))
    first = ", ".join(map(_shown, values[:3]))
    return f"{first}, ..., {_shown(values[-1])} ({len(values)} values)"


def _shown(value: Any) -> str:
    if isinstance(value, float):  # all digits, so that two points never look the same
        return repr(value).removesuffix(".0")
    if isinstance(value, tuple):
        return f"({', '.join(map(_shown, value))})" if len(value) <= PRINTED else f"({_list(value)})"
    zeros = len(str(value)) - 1
    return f"10^{zeros}" if zeros >= MANY_ZEROS and value == 10**zeros else str(value)
