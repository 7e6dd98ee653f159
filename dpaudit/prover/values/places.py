"""Follow assignments to names and entries, unpacking, and changes in place."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from dpaudit.prover.values.matrices import index
from dpaudit.prover.values.names import Names
from dpaudit.prover.values.operations import (
    FRAMES,
    _holds_noise,
    binary,
    content,
    function_of,
    is_plain,
    published,
    shape_of,
    symbols_in,
)
from dpaudit.prover.values.scopes import (
    Lazy,
    Scope,
    is_key,
    kind_of,
)
from dpaudit.prover.values.values import (
    Array,
    Correlated,
    Draw,
    Entries,
    Filtered,
    Noisy,
    Private,
    Public,
    Ranked,
    Symbol,
    Transposed,
)

__all__ = ["Places"]


class Places(Names):
    """The part of the interpreter that assigns to names and entries and changes values in place."""

    def assign(self, target: ast.expr, value: Any, scope: Scope) -> None:
        """Assign a value to a name, a tuple of targets, or an entry."""
        if isinstance(target, ast.Name):
            self._store(target.id, value, scope)
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(target, value, scope)
        elif isinstance(target, ast.Subscript):
            self._set_item(self.evaluate(target.value, scope), self.evaluate(target.slice, scope), value)
        elif isinstance(target, ast.Attribute):
            self.set_attribute(self.evaluate(target.value, scope), target.attr, value)
        else:
            self.run.refuse(f"assignment to {ast.unparse(target)} is not supported")

    def _store(self, name: str, value: Any, scope: Scope) -> None:
        inner = content(value)
        if isinstance(inner, Lazy) and not inner.named:
            self.run.refuse("an iterator is assigned to a name (use a list)")
        here = scope
        while name in here.nonlocal_ or name not in here.local:
            if here.outer is None:
                self.run.refuse(
                    f"the variable {name!r} of an enclosing function that has returned is assigned"
                )
            here = here.outer
        here.names[name] = value

    def _unpack(self, target: ast.Tuple | ast.List, value: Any, scope: Scope) -> None:
        items = list(self.iterate(value))
        stars = [k for k, part in enumerate(target.elts) if isinstance(part, ast.Starred)]
        if stars:
            place, after = stars[0], len(target.elts) - stars[0] - 1
            if len(items) < len(target.elts) - 1:
                self._raises(ValueError("not enough values to unpack"))
            middle = items[place : len(items) - after]
            items = [*items[:place], middle, *items[len(items) - after :]]
        if len(items) != len(target.elts):
            self._raises(ValueError(f"expected {len(target.elts)} values to unpack, got {len(items)}"))
        for part, item in zip(target.elts, items, strict=True):
            self.assign(part.value if isinstance(part, ast.Starred) else part, item, scope)

    def _set_item(self, place: Any, key: Any, value: Any) -> None:
        inner = content(place)
        if id(inner) in self.frozen:
            self.run.refuse("the data, or a list or dict from outside the function, is modified")
        if not isinstance(inner, Public):
            key = self.run.whole.if_integer(self.run, content(key))
        if isinstance(inner, list | dict):
            if (
                isinstance(key, Symbol)
                or not is_key(key)
                or (isinstance(inner, list) and type(key) not in (int, np.int64))
            ):
                self.run.refuse(
                    "assignment to an entry requires a constant key or index, got a slice, or a private or"
                    " released value"
                )
            if isinstance(inner, list) and not -len(inner) <= key < len(inner):
                self._raises(IndexError("list assignment index out of range"))
            inner[key] = value
            return
        if isinstance(place, Array):
            self._set_entry(place, key, value)
            return
        self.run.refuse(f"assignment to entries of a {type(inner).__name__} is not supported")

    def _set_entry(self, place: Array, key: Any, value: Any) -> None:
        inner, key = place.content, content(key)
        if place.shared:
            self.run.refuse(
                "an array that may share memory, or that comes from outside, is modified in place"
            )
        if isinstance(inner, Private | Filtered | Transposed):
            self.run.refuse(
                "entries of a private array cannot be assigned (build a new array with np.where or np.array)"
            )
        if isinstance(inner, Noisy | Draw | Correlated):
            inner = place.content = content(published(self.run, place))
        key, value = (
            published(self.run, one) if _holds_noise(one) and not _keeps(inner, one) else one
            for one in (key, value)
        )
        key = content(key)
        if isinstance(inner, np.ndarray) and isinstance(key, Public) and inner.dtype == np.float64:
            value = published(self.run, value) if _holds_noise(value) else value
            if shape_of(value) == () and all(isinstance(symbol, Public) for symbol in symbols_in(value)):
                place.content = self._changed_outcome(inner, key, value)
                return
        if isinstance(inner, np.ndarray) and is_plain(key) and is_plain(value):

            def put(array: Any, k: Any, v: Any) -> None:
                array[k] = v

            self.run.plain(put, inner, key, content(value))
            return
        symbols = symbols_in([key, value])
        if isinstance(inner, Public) and all(isinstance(symbol, Public) for symbol in symbols):
            place.content = self._changed_outcome(inner, key, value)
            return
        if isinstance(inner, Public):
            inner = self._entries_of_public(inner)
        if isinstance(inner, np.ndarray):
            if inner.ndim != 1 or inner.dtype not in (np.float64, np.int64):
                self.run.refuse("assignment to an entry requires a vector of dtype float64 or int64")
            inner = Entries(list(inner), inner.dtype.kind)
        if not isinstance(inner, Entries) or type(key) not in (int, np.int64):
            self.run.refuse("assignment to an entry requires a constant integer index")
        if not -len(inner.items) <= key < len(inner.items):
            self._raises(IndexError("index out of bounds"))
        if shape_of(value) != () or isinstance(content(value), Filtered):
            self.run.refuse("assignment to an entry requires a single number")
        if inner.kind == "i" and kind_of(value) != "i":
            self.run.refuse("a float is assigned to an entry of an integer array, which truncates it")
        inner.items[int(key)] = value
        place.content = inner

    def _changed_outcome(self, inner: Any, key: Any, value: Any) -> Any:
        """Replace entries of a public array by outcomes. The result is again public."""

        def changed(array: Any, k: Any, v: Any) -> Any:
            copy = np.array(array)
            copy[k] = v
            return copy

        place = Array(key) if isinstance(key, np.ndarray | Public) else key
        return content(
            function_of(
                self.run, "put", changed, Array(inner), place, value, shape=inner.shape, kind=kind_of(inner)
            )
        )

    def _entries_of_public(self, inner: Public) -> Entries:
        if (
            inner.shape is None
            or len(inner.shape) != 1
            or not isinstance(inner.shape[0], int)
            or inner.kind != "f"
        ):
            self.run.refuse(
                "assignment to an entry of a released value requires a float vector of known length"
            )
        return Entries([index(self.run, Array(inner), k) for k in range(inner.shape[0])], "f")

    def _in_place(self, op: str, place: Any, other: Any) -> Any:
        """Apply ``x += other``, which replaces numbers and modifies arrays and lists in place."""
        inner = content(place)
        if isinstance(inner, list):
            if op != "add" or id(inner) in self.frozen:
                self.run.refuse("a list can only be modified by +=, and not if it comes from outside")
            inner.extend(self.iterate(other))
            return inner
        if isinstance(inner, FRAMES):
            self.run.refuse("a column of a data frame is modified in place (write x = x + ...)")
        if not isinstance(place, Array):
            if id(inner) in self.no_dimensions:
                self.run.refuse("an array without dimensions may be modified in place (write x = x + ...)")
            if isinstance(inner, Public) and inner.shape is None:
                self.run.refuse("a released value of unknown shape is modified in place (write x = x + ...)")
            return binary(self.run, op, place, other)
        if place.shared or isinstance(inner, Filtered | Transposed | Ranked):
            self.run.refuse("an array that may share memory is modified in place (write x = x + ...)")
        before, kind = shape_of(place), kind_of(place)
        found = binary(self.run, op, Array(inner), other)
        if shape_of(found) != before or (kind_of(found) != kind):
            self.run.refuse("an in-place operation would change the shape or type of the array")
        place.content = content(found)
        return place


def _keeps(inner: Any, value: Any) -> bool:
    """Return whether an array keeps an entry with noise as it is, so that it is published later."""
    return isinstance(inner, np.ndarray) or (isinstance(inner, Entries) and isinstance(value, Correlated))
