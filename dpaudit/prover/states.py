"""Describe the abstract state of a loop: the kinds of the locals at its head.

A state has one shape for every local. The shape is a constant (by exact type and value, H7), a private value
(of data alone, blurred by noise with a density, or any other, H13), a public value, a list or tuple of these,
or a list that is only appended to. Private values are symbols ``s0``, ``s1``, ... in the order of the state.
Public values are fresh generics, which are equal on both neighbouring inputs.

Widening (section C, 2): a number with too many values becomes public. A list with too many lengths becomes
``OPAQUE``. It can only be shown and take public entries (H6).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from typing import Any

from dpaudit.distributions.continuous import Exponential, Laplace
from dpaudit.prover.forms import Form, symbol
from dpaudit.prover.symbols import Follower, Private, Public, RefusedError, Symbolic, is_plain, plain_key

__all__ = [
    "BLURRED",
    "OF_DATA",
    "OPAQUE",
    "PRIVATE",
    "PUBLIC",
    "Constant",
    "Opaque",
    "Place",
    "State",
    "built",
    "read",
    "widened",
]

PRIVATE, PUBLIC, OPAQUE = "private", "public", "opaque"
OF_DATA, BLURRED = "private, of data", "private, blurred"
_PRIVATE = (PRIVATE, OF_DATA, BLURRED)


@dataclass(frozen=True)
class Constant:
    """A number, text or None that is equal on both neighbouring inputs.

    ``key`` has the type and exact value: 1, 1.0 and True are three states, 0.0 and -0.0 are two (H7).
    """

    key: str
    value: Any = field(compare=False)

    @property
    def is_number(self) -> bool:
        """Return whether the constant is a number, but not a truth value."""
        return type(self.value) in (int, float, Fraction)


@dataclass(frozen=True)
class Several:
    """A list or tuple. ``kind`` is the name of its type."""

    kind: str
    items: tuple[Shape, ...]


Shape = Constant | Several | str
#: The place of a shape in the locals: a name, then positions.
Place = tuple[str | int, ...]


@dataclass(frozen=True)
class State:
    """The bound locals by name, sorted. A name that is missing is unbound."""

    locals: tuple[tuple[str, Shape], ...]

    def shapes(self) -> Iterator[tuple[Place, Shape]]:
        """Yield all shapes with their places, outer shapes first."""
        for name, shape in self.locals:
            yield from _shapes((name,), shape)

    def names(self) -> list[str]:
        """Return a readable name of each private symbol, in order."""
        return [
            "".join([str(place[0]), *(f"[{i}]" for i in place[1:])])
            for place, shape in self.shapes()
            if shape in _PRIVATE
        ]


def _shapes(place: Place, shape: Shape) -> Iterator[tuple[Place, Shape]]:
    yield place, shape
    if isinstance(shape, Several):
        for i, item in enumerate(shape.items):
            yield from _shapes((*place, i), item)


class Opaque(Symbolic):
    """A widened list. Public or constant entries may be appended to it, and it may be shown."""

    __slots__ = ()
    _kind = "a list that grows with the data"

    def __init__(self, follower: Follower) -> None:
        object.__setattr__(self, "_follower", follower)

    @staticmethod
    def belongs(value: object, follower: Follower) -> bool:
        """Return whether ``value`` is a widened list of the run that ``follower`` follows."""
        return type(value) is Opaque and value._follower is follower

    def append(self, value: object) -> None:
        mine = type(value) is Public and value._follower is self._follower
        if not (mine or value is None or type(value) is str or is_plain(value)):
            self._follower.refuse("a non-public entry was appended to a list that grows with the data")


def read(
    values: dict[str, Any], follower: Follower, shown: list[Any], kind: Callable[[Private], str]
) -> tuple[State, list[Form]]:
    """Return the state of the locals ``values`` and the forms of its private values.

    ``kind`` gives the shape of a private value. ``shown`` are lists that were shown. They must not be in the
    state, because the adversary holds them and would see later changes (H5).
    """
    reader = _Reader(follower, {id(item) for value in shown for item in _lists(value)}, kind)
    state = State(tuple((name, reader.shape(values[name], name)) for name in sorted(values)))
    return state, reader.forms


class _Reader:
    """The reader of a frame's locals under condition H1.

    Every local is a number, text, None, a distribution, a symbol, or a tree of lists and tuples of these. No
    list is reached twice, at any depth.
    """

    def __init__(self, follower: Follower, seen: set[int], kind: Callable[[Private], str]) -> None:
        self.follower, self.seen, self.kind = follower, seen, kind
        self.forms: list[Form] = []

    def shape(self, value: Any, name: str) -> Shape:
        kind = type(value)
        if kind is Private and value._follower is self.follower:
            self.forms.append(Private.form_of(value))
            return self.kind(value)
        if kind is Public and value._follower is self.follower:
            return PUBLIC
        if kind is list or Opaque.belongs(value, self.follower):
            if id(value) in self.seen:
                self.follower.refuse(f"the list {name!r} has two names, or was shown, at the loop's head")
            self.seen.add(id(value))
        if kind is Opaque and Opaque.belongs(value, self.follower):
            return OPAQUE
        if kind in (list, tuple):
            return Several(kind.__name__, tuple(self.shape(item, name) for item in value))
        if is_plain(value) or value is None or kind is str or (kind is float and math.isinf(value)):
            return Constant(plain_key(value), value)
        if kind in (Laplace, Exponential):  # immutable and determined by its scale
            return Constant(f"{kind.__name__}:{value.scale}", value)
        return self.follower.refuse(f"the local {name!r} is a {kind.__name__} at the loop's head")


def _lists(value: Any) -> Iterator[Any]:
    if type(value) in (list, tuple):
        if type(value) is list:
            yield value
        for item in value:
            yield from _lists(item)
    elif type(value) is Opaque:
        yield value


def built(state: State, follower: Follower, made: Callable[[Form, str], Private]) -> dict[str, Any]:
    """Return locals of a frame in this state: fresh symbols and new lists, none of them twice."""
    private, public = count(), count()

    def value(shape: Shape) -> Any:
        if isinstance(shape, Constant):
            return shape.value
        if isinstance(shape, Several):
            items = [value(item) for item in shape.items]
            return items if shape.kind == "list" else tuple(items)
        if shape in _PRIVATE:
            return made(symbol(f"s{next(private)}"), str(shape))
        return Public(f"g{next(public)}", follower) if shape == PUBLIC else Opaque(follower)

    return {name: value(shape) for name, shape in state.locals}


def widened(state: State, wide: set[Place]) -> State:
    """Return the state with the shapes at the places ``wide`` made general.

    Raise ``RefusedError`` if that is not allowed (H6).
    """
    if not wide:
        return state
    return State(tuple((name, _widened((name,), shape, wide)) for name, shape in state.locals))


def _widened(place: Place, shape: Shape, wide: set[Place]) -> Shape:
    if place in wide:
        if isinstance(shape, Constant):
            if not shape.is_number:
                raise _not_wide(place, f"is sometimes {shape.value!r}")
            return PUBLIC
        if isinstance(shape, Several):
            if shape.kind != "list" or not all(
                isinstance(item, Constant) or item == PUBLIC for item in shape.items
            ):
                raise _not_wide(place, "grows with the data and has entries that are not public numbers")
            return OPAQUE
        return shape
    if isinstance(shape, Several):
        items = tuple(_widened((*place, i), item, wide) for i, item in enumerate(shape.items))
        return Several(shape.kind, items)
    return shape


def _not_wide(place: Place, what: str) -> RefusedError:
    return RefusedError(
        f"the prover cannot follow this program: the local {place[0]!r} has too many values to follow each "
        f"of them, and {what}.",
        code="E-STATE-TOO-WIDE",
    )
