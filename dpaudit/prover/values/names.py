"""Resolve the names of a program, and admit the objects that they refer to."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence
from fractions import Fraction
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from dpaudit.core import views
from dpaudit.core.views import Principal
from dpaudit.distributions import NoisyArgmax, RandomisedResponse, Shifted, SubsampledGaussianSum, WrappedMod
from dpaudit.prover.values.accepted import ACCEPTED
from dpaudit.prover.values.aggregates import IMAGES, Image
from dpaudit.prover.values.channels import KERNELS, admitted
from dpaudit.prover.values.functions import Accepted
from dpaudit.prover.values.operations import (
    _holds_noise,
    binary,
    content,
    published,
    symbols_in,
)
from dpaudit.prover.values.randomness import (
    DISTRIBUTIONS,
    FAMILIES,
    make_distribution,
    make_family,
    require_own,
    shifted,
)
from dpaudit.prover.values.run import Run
from dpaudit.prover.values.scopes import (
    ERRORS,
    MAX_DEPTH,
    SPECIAL,
    Bound,
    Class,
    DictView,
    Function,
    Instance,
    Lazy,
    Method,
    Raised,
    Running,
    Scope,
    Super,
    is_plain_tuple,
    name_of,
)
from dpaudit.prover.values.sources import source_of
from dpaudit.prover.values.tabulated import TABULATED, Tabulated
from dpaudit.prover.values.values import (
    Array,
    Gone,
    Named,
    Public,
)

__all__ = ["Names", "Parts"]

#: Types without a truth value, and types without operators. Built once, because every operation tests them.
NO_TRUTH = (Lazy, DictView, Function, Bound, Named, Accepted, Class, Instance, Method, Running, Super)
NO_OPERAND = (*NO_TRUTH, Raised)


class Parts:
    """The state that all parts of the interpreter share, and the methods that later parts define."""

    def __init__(self, run: Run, files: frozenset[str]) -> None:
        self.run, self.files = run, files
        self.frozen: dict[int, Any] = {}  # containers from outside, which must not be modified
        self.kept: list[Any] = []
        self.handlers: dict[type[ast.AST], Any] = {}  # the methods for kinds of statements and expressions
        self.imports: dict[int, Any] = {}
        self.depth = 0
        #: Values that may be arrays without dimensions, which += changes in place.
        self.no_dimensions: dict[int, Any] = {}
        self.handling: list[Raised] = []  # the exceptions of the handlers that run now
        self.pure = 0  # the nesting of branches on private conditions, in which only pure code is followed

    def evaluate(self, node: ast.expr, scope: Scope) -> Any:
        """Return the value of an expression."""
        raise NotImplementedError

    def iterate(self, value: Any) -> Iterator[Any]:
        """Yield the items of a value."""
        raise NotImplementedError

    def item(self, value: Any, key: Any) -> Any:
        """Return ``value[key]``."""
        raise NotImplementedError

    def call_function(self, function: Function, arguments: list[Any], options: dict[str, Any]) -> Any:
        """Call a followed function and return its value."""
        raise NotImplementedError

    def block(self, statements: Sequence[ast.stmt], scope: Scope) -> None:
        """Run statements in order."""
        raise NotImplementedError

    def enter_object(self, value: Any, what: str) -> Any:
        """Admit a class or an object of a followed class, or return None."""
        raise NotImplementedError

    def set_attribute(self, target: Any, name: str, value: Any) -> None:
        """Follow ``target.name = value``."""
        raise NotImplementedError

    def object_attribute(self, value: Any, name: str) -> Any:
        """Return an attribute of an instance or a class."""
        raise NotImplementedError

    def iterate_object(self, value: Any) -> Iterator[Any]:
        """Yield the items of an instance or a generator."""
        raise NotImplementedError

    def call(self, function: Any, arguments: Sequence[Any], options: dict[str, Any], node: ast.AST) -> Any:
        """Return ``function(*arguments, **options)``."""
        raise NotImplementedError


class Names(Parts):
    """The part of the interpreter that looks up names and admits their values by exact type or identity."""

    def function(self, real: FunctionType) -> Function:
        """Return a Python function of a followed file as a value of the interpreter."""
        if real.__code__.co_filename not in self.files:
            self.run.refuse(f"{real.__qualname__} is defined in another file (pass files=[...] to follow it)")
        if real.__dict__:
            self.run.refuse(f"{real.__qualname__} has function attributes, which are not supported")
        if real.__code__.co_flags & 0x280:  # coroutine, asynchronous generator
            self.run.refuse(f"{real.__qualname__} is asynchronous, which is not supported")
        source = source_of(real)
        defaults = tuple(
            self.enter(value, f"a default of {real.__qualname__}") for value in real.__defaults__ or ()
        )
        named = {
            name: self.enter(value, f"the default of {name}")
            for name, value in (real.__kwdefaults__ or {}).items()
        }
        return Function(source, None, real, real.__globals__, defaults, named)

    def enter(self, value: Any, what: str) -> Any:
        """Admit an object that the program refers to, by its exact type or its identity."""
        run, kind = self.run, type(value)
        if (
            value is None
            or value is Ellipsis
            or kind in (int, float, bool, str, bytes, Fraction, range, slice)
        ):
            return value
        if id(value) in self.imports:
            return self.imports[id(value)]
        if kind in (np.bool_, np.int64, np.float64):
            return value
        if kind is np.ndarray:
            if value.dtype.kind not in "bif":
                run.refuse(f"{what} is an array of dtype {value.dtype} (use bool, int64 or float64)")
            return self._remember(value, Array(value, shared=True))
        if kind in (list, tuple, dict):
            return self._container(value, what)
        if kind in (set, frozenset) and all(type(item) in (int, float, bool, str) for item in value):
            return value
        if id(value) in SPECIAL:
            return Named(SPECIAL[id(value)], value)
        if id(value) in ACCEPTED and ACCEPTED[id(value)].function is value:
            return ACCEPTED[id(value)]
        if value is views.user:
            return Named("user", value)
        if value is views:
            return Named("views", value)
        if kind is FunctionType:
            return self._remember(value, self.function(value))
        if isinstance(value, type) and value in DISTRIBUTIONS:
            return Named("distribution", value)
        if type(value) in DISTRIBUTIONS:
            require_own(run, kind, value)
            [(name, number)] = value.parameters().items()
            return make_distribution(run, type(value), [], {name: number})
        if isinstance(value, type) and value in FAMILIES:
            return Named("family", value)
        if kind in FAMILIES:
            return make_family(run, value)
        if isinstance(value, type) and value in IMAGES:
            return Named("image", value)
        if kind in IMAGES:
            require_own(run, kind, value)
            return Image(value)
        if value is SubsampledGaussianSum:
            return Named("subsample", value)
        if value is WrappedMod:
            return Named("wrapped", value)
        if isinstance(value, type) and value in KERNELS:
            return Named("kernel", value)
        if kind in KERNELS:
            return self._remember(value, admitted(run, value))
        if isinstance(value, type) and value in TABULATED:
            return Named("tabulated", value)
        if kind is RandomisedResponse:
            require_own(run, kind, value)
            return Tabulated(kind, value.parameters())
        if kind is Shifted and isinstance(value.offset, int | Fraction) and value.offset == int(value.offset):
            require_own(run, kind, value)
            return shifted(run, self.enter(value.base, what), [int(value.offset)], {})
        if value is NoisyArgmax:
            return Named("selection", value)
        if kind is Principal:
            return value
        if isinstance(value, type) and value in ERRORS:
            return Named("error", value)
        if kind is MethodType and isinstance(value.__self__, np.random.RandomState):
            return Named(f"random.{value.__name__}", value)
        if isinstance(value, np.random.Generator | np.random.RandomState):
            run.refuse(
                f"{what} is a random generator that persists between runs (create it inside the function, or"
                " take it as a parameter)"
            )
        found = self.enter_object(value, what)
        if found is not None:
            return found
        if kind in (ModuleType, BuiltinFunctionType, FunctionType) or callable(value):
            name = name_of(value)
            run.refuse(
                f"{name} is not supported"
                if what == name
                else f"{what} refers to {name}, which is not supported"
            )
        return run.refuse(f"{what} is a {kind.__name__}, a type that is not supported")

    def _remember(self, outside: Any, inside: Any) -> Any:
        self.imports[id(outside)] = inside
        self.kept.append(outside)
        return inside

    def _container(self, value: Any, what: str) -> Any:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.run.refuse(f"{what} is nested too deeply")
        if type(value) is dict:
            if not all(type(key) in (int, str, bool, float) or is_plain_tuple(key) for key in value):
                self.run.refuse(f"{what} has keys other than plain numbers and text")
            found: Any = {}
            self._remember(value, found)
            found.update({key: self.enter(item, what) for key, item in value.items()})
        elif type(value) is list:
            found = []
            self._remember(value, found)
            found.extend(self.enter(item, what) for item in value)
        else:
            found = tuple(self.enter(item, what) for item in value)
        self.depth -= 1
        self.frozen[id(found)] = found
        return found

    def lookup(self, name: str, scope: Scope) -> Any:
        """Return the value of a name, as Python resolves it."""
        here: Scope | None = scope
        while here is not None:
            if name in here.local and name not in here.nonlocal_:
                if name not in here.names:
                    self.run.refuse(f"the variable {name!r} is used before it is assigned")
                found = here.names[name]
                if isinstance(found, Gone):
                    self.run.refuse(
                        f"the variable {name!r} may hold a value of another or the last iteration of a loop"
                    )
                return found
            if here.outer is None:
                break
            here = here.outer
        real = (here or scope).function.real
        if real is not None and name in real.__code__.co_freevars:
            cell = (real.__closure__ or ())[real.__code__.co_freevars.index(name)]
            try:
                value = cell.cell_contents
            except ValueError:
                return self.run.refuse(f"the enclosing variable {name!r} has no value")
            return self.enter(value, f"the enclosing variable {name!r}")
        return self._global(name, (here or scope).function)

    def _global(self, name: str, function: Function) -> Any:
        if name.startswith("__"):
            self.run.refuse(f"the name {name!r} is not supported")
        if name in function.globals:
            return self.enter(function.globals[name], f"the global name {name!r}")
        around = function.globals.get("__builtins__", builtins)
        table = vars(around) if isinstance(around, ModuleType) else around
        if type(table) is dict and name in table:
            return self.enter(table[name], f"the builtin {name!r}")
        return self._raises(NameError(f"name {name!r} is not defined"))

    def _raises(self, error: Exception) -> Any:
        """Refuse a program that raises without a raise statement.

        Treating such an exception as the end of the path would rely on the interpreter's model alone.
        """
        return self.run.refuse(f"the program raises {type(error).__name__}: {error}")

    def _finished(self, value: Any) -> Any:
        if isinstance(content(value), Lazy | DictView):
            self.run.refuse("an iterator or a dict view is stored or returned (use list(...))")
        return value

    def _truthful(self, value: Any) -> Any:
        inner = content(value)
        if isinstance(inner, NO_TRUTH):
            self.run.refuse("a function, module or iterator cannot be used as a condition")
        return value

    def _operate(self, op: str, left: Any, right: Any) -> Any:
        for one in (left, right):
            if isinstance(content(one), NO_OPERAND):
                self.run.refuse("a function, module, exception or iterator cannot be an operand")
        return binary(self.run, op, left, right)

    def _text_value(self, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(self._text_value(item) for item in value)
        value = published(self.run, value) if _holds_noise(value) else value
        if any(not isinstance(symbol, Public) for symbol in symbols_in(value)):
            self.run.refuse("a private value is formatted as text")
        return value

    def _text(self, value: Any) -> Any:
        value = self._text_value(value)
        inner = content(value)
        return inner if not isinstance(inner, Public) else repr(inner.expression)
