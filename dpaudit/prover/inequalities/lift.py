"""Copy a function so that it computes with symbols: the same code, with other global names.

Each global name of the function, and each value of an enclosing function, is replaced by object, not by name:

- ``ball``, ``arb``, ``integer``, ``exact``, ``Fraction``, ``min``, ``max``, ``larger``, ``log2``,
  ``ceil_log2`` and ``Constant`` by functions of symbols with the same value (``stand_ins``)
- other Python functions by copies, after the same check of their code (``scan``)
- a module by an object whose attributes are replaced when they are used
- exact constants, texts and tuples of them, and the functions of ``UNCHANGED``, by themselves

Everything else raises ``NotTraceableError``: what may change between two runs, and what could look inside a
symbol.
"""

from __future__ import annotations

import builtins
import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import lru_cache, partial
from types import CellType, FunctionType, ModuleType
from typing import Any

from dpaudit.core import exact_functions
from dpaudit.core.exact import exact
from dpaudit.kernel.ball import arb, ball, integer
from dpaudit.prover.inequalities.scan import global_names, require_traceable
from dpaudit.prover.inequalities.symbols import NotTraceableError, Symbol, Table

__all__ = ["Lifting", "Raised"]

#: Builtins and functions of modules that compute with symbols through their own operations, or refuse them.
UNCHANGED: tuple[Any, ...] = (
    *(abs, all, any, dict, enumerate, filter, int, len, list, map, pow, range, reversed, sorted, sum, tuple),
    *(zip, math.ceil, math.comb, math.factorial, math.floor, math.gcd, math.isqrt, math.perm, math.prod),
    *(itertools.accumulate, itertools.chain, itertools.pairwise, itertools.product),
)

_CONSTANTS = (int, bool, str, Fraction, type(None))
_CACHED = type(lru_cache(lambda: None))


class Raised(Exception):
    """The traced function raised an error of its own on this path."""


class Lifting:
    """Copies of functions over one table. ``stated`` makes what takes the place of ``Constant(...)``."""

    def __init__(self, table: Table, replaced: Mapping[Any, Any]) -> None:
        self._table = table
        self._replaced = [*_stand_ins(table), *replaced.items()]
        self._copies: dict[FunctionType, FunctionType] = {}

    def function(self, function: Any) -> Callable[..., Any]:
        """Return the copy of a function. Raise ``NotTraceableError`` if its code cannot be followed."""
        if type(function) is _CACHED:
            function = function.__wrapped__
        if type(function) is partial:
            given = {name: self._value(value, name) for name, value in function.keywords.items()}
            first = [self._value(value, "an argument") for value in function.args]
            return partial(self.function(function.func), *first, **given)
        if type(function) is not FunctionType:
            raise NotTraceableError(f"a formula must be a plain function, got a {type(function).__name__}.")
        if function not in self._copies:
            self._copy(function)
        return self._copies[function]

    def _copy(self, function: FunctionType) -> None:
        require_traceable(function)
        names: dict[str, Any] = {"__builtins__": {}, "__name__": function.__module__}
        place = function.__qualname__
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        # The copy is made first, because a function may call itself.
        copied = [(CellType(), name, cell) for name, cell in cells]
        closure = tuple(new for new, _, _ in copied) if function.__closure__ is not None else None
        defaults = function.__defaults__
        copy = FunctionType(function.__code__, names, function.__name__, None, closure)
        self._copies[function] = copy
        if defaults is not None:
            copy.__defaults__ = tuple(self._value(value, f"a default of {place}") for value in defaults)
        if function.__kwdefaults__:
            copy.__kwdefaults__ = {
                name: self._value(value, f"{name} of {place}")
                for name, value in function.__kwdefaults__.items()
            }
        for new, name, cell in copied:
            new.cell_contents = self._value(_content(cell, name, place), f"{name} of {place}")
        for name in global_names(function):
            if name not in names:
                names[name] = self._value(_global(function, name), f"{name} of {place}")

    def _value(self, value: Any, what: str) -> Any:
        """Return what takes the place of a value from outside a function."""
        for known, stand_in in self._replaced:
            if value is known:
                return stand_in
        if any(value is known for known in UNCHANGED) or _constant(value):
            return value
        if isinstance(value, ModuleType):
            return _Module(self, value)
        if isinstance(value, type) and issubclass(value, BaseException):
            return partial(_raised, value.__name__)
        if type(value) in (FunctionType, _CACHED, partial):
            return self.function(value)
        raise NotTraceableError(f"{what} must be an exact constant or a function, got {_named(value)}.")


class _Module:
    """A module whose attributes are replaced, as global names are, when they are used."""

    __slots__ = ("_lifting", "_module")

    def __init__(self, lifting: Lifting, module: ModuleType) -> None:
        self._lifting, self._module = lifting, module

    def __getattr__(self, name: str) -> Any:
        return self._lifting._value(getattr(self._module, name), f"{self._module.__name__}.{name}")


class _Balls:
    """The stand-in for ``arb``."""

    __slots__ = ("_table",)

    def __init__(self, table: Table) -> None:
        self._table = table

    def __call__(self, value: Any) -> Symbol:
        return self._table.lift(value)

    def pi(self) -> Symbol:
        return self._table.node("pi")

    def const_log2(self) -> Symbol:
        return _log(self._table, 2)


def _stand_ins(table: Table) -> list[tuple[Any, Any]]:
    """Return pairs of an object and the function of symbols with the same value."""

    def fraction(above: Any = 0, below: Any = 1) -> Any:
        if type(above) is Symbol or type(below) is Symbol:
            return above if type(below) is int and below == 1 else table.lift(above) / below
        if isinstance(above, float) or isinstance(below, float):
            raise NotTraceableError("a number in a formula must be exact, got a float.")
        return Fraction(above) if type(below) is int and below == 1 else Fraction(above, below)

    def larger(first: Any, second: Any) -> Symbol:
        return table.lift(first).max(second)

    def log2(value: Any) -> Symbol:
        return _log(table, value) / _log(table, 2)

    def ceil_log2(value: Any) -> Symbol:
        return table.node("ceil", log2(value)._index)

    def whole(value: Any) -> Any:
        """The integer in a ball: the number itself, which has to be rounded just before."""
        if type(value) is Symbol and table.nodes[value._index][0] in ("ceil", "floor"):
            return value
        raise NotTraceableError("integer(...) in a formula must be of ceil or floor.")

    def exactly(value: Any, **named: Any) -> Any:
        return value if type(value) is Symbol else exact(value, **named)

    return [
        (ball, table.lift),
        (integer, whole),
        (exact, exactly),
        (arb, _Balls(table)),
        (Fraction, fraction),
        (builtins.min, partial(_extreme, table, "min", builtins.min)),
        (builtins.max, partial(_extreme, table, "max", builtins.max)),
        (exact_functions.larger, larger),
        (exact_functions.log2, log2),
        (exact_functions.ceil_log2, ceil_log2),
    ]


def _log(table: Table, value: Any) -> Symbol:
    return table.node("log", table.lift(value)._index)


def _extreme(table: Table, operation: str, plain: Callable[[Iterable[Any]], Any], *values: Any) -> Any:
    """Return the least or the largest of several values, as a node if one of them is a symbol."""
    items = list(values[0]) if len(values) == 1 else list(values)
    if not any(type(item) is Symbol for item in items):
        return plain(items)
    first, *others = (table.lift(item) for item in items)
    for item in others:
        first = table.node(operation, first._index, item._index)
    return first


def _raised(name: str, *_: Any, **__: Any) -> BaseException:
    raise Raised(name)


def _constant(value: Any) -> bool:
    # ``is``: the class of a value from outside may redefine equality
    kind = type(value)
    if kind is tuple:
        return all(map(_constant, value))
    return any(kind is known for known in _CONSTANTS)


def _content(cell: CellType, name: str, place: str) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        raise NotTraceableError(f"{name} of {place} must have a value, got none yet.") from None


def _global(function: FunctionType, name: str) -> Any:
    if name in function.__globals__:
        return function.__globals__[name]
    if name in vars(builtins):
        return vars(builtins)[name]
    raise NotTraceableError(f"{name} of {function.__qualname__} must be defined, got no such name.")


def _named(value: Any) -> str:
    name = getattr(value, "__name__", None)
    return f"{name} ({type(value).__name__})" if isinstance(name, str) else f"a {type(value).__name__}"
