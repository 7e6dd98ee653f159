"""A field of a claim that may also be given by name or in a shorter form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

__all__ = ["Converted"]

Held = TypeVar("Held")
Given = TypeVar("Given")


class Converted(Generic[Held, Given]):
    """A dataclass field whose value is converted when it is set.

    Type checkers take the type of the constructor's argument from ``__set__`` and the type of the attribute from
    ``__get__``: ``PureDP(epsilon=1, adjacency="add-remove")`` is correct, and ``claim.adjacency`` is an
    ``Adjacency``.

    Parameters
    ----------
    convert : callable
        ``convert(value, name)`` returns the value to hold, or raises an error that names the field.
    default : value
        The value of a claim that does not state the field.
    """

    def __init__(self, convert: Callable[[object, str], Held], *, default: Held) -> None:
        self._convert, self._default = convert, default

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, claim: None, owner: type) -> Held: ...
    @overload
    def __get__(self, claim: object, owner: type) -> Held: ...
    def __get__(self, claim: Any, owner: type) -> Held:
        held: Held = self._default if claim is None else claim.__dict__[self._name]
        return held

    def __set__(self, claim: object, value: Held | Given) -> None:
        claim.__dict__[self._name] = self._convert(value, self._name)
