"""Call a function or use an object without following it, if it only computes with released values.

Following a search among released numbers forks at every comparison. But any function of released values is
post-processing, so its result need not be known. A call of an *opaque* function gives an unknown value, and
an object of an opaque class has an unknown state.

This is sound if the call has no other effect than its result. Its arguments are therefore immutable numbers
and text, none of them private, and ``reason_against`` reads the code that the call can reach: it uses only
its arguments, its own object, constants, functions without side effects, and other functions of this kind.
It has no generator, no private data and no object that exists outside, so it can neither draw, read data
nor keep state between runs. It cannot raise an exception that a followed handler catches, because it raises
none of its own. An exception of Python ends the path after fewer releases.

An unknown value may be a list that the object changes later. It is therefore only read by ``int``, ``float``,
``bool``, ``is None`` and unpacking. Each of them gives an expression of its own, which depends on all opaque
calls so far. Equal expressions are then computed by equal calls, so they have equal values.

In the comparison with CPython, the calls are made.
"""

from __future__ import annotations

import ast
import bisect
import builtins
import dataclasses
import hashlib
import inspect
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from types import FunctionType, MemberDescriptorType, ModuleType
from typing import Any

import numpy as np

from dpaudit.kernel.values.expressions import text_of
from dpaudit.prover.symbols import RefusedError
from dpaudit.prover.values.functions import ACCEPTED, Accepted
from dpaudit.prover.values.generators import Generators
from dpaudit.prover.values.operations import content, published, symbols_in
from dpaudit.prover.values.run import NotFollowedError, Run
from dpaudit.prover.values.scopes import (
    Bound,
    Class,
    Function,
    Instance,
    Method,
    Scope,
    assigned_names,
    names_in,
)
from dpaudit.prover.values.sources import source_of
from dpaudit.prover.values.values import MISSING, Draw, Named, Noisy, Public, Symbol

__all__ = ["OpaqueCalls", "OpaqueObject", "Unfollowed", "candidate", "reason_against"]

PLAIN = (bool, int, float, str, type(None), Fraction, np.bool_, np.int64, np.float64)
#: Builtins and functions of ``bisect`` whose only effects are on their arguments.
PURE = (len, min, max, sum, sorted, abs, range, enumerate, zip, list, dict, float, int, bool, round, any, all,
        reversed, bisect.bisect_left, bisect.bisect_right, bisect.bisect, bisect.insort, bisect.insort_left,
        bisect.insort_right)  # fmt: skip
MODULES = (np, math, np.linalg)
#: Methods of lists, dicts and arrays.
METHODS = (
    "append", "extend", "insert", "pop", "remove", "sort", "reverse", "index", "count", "copy", "clear",
    "items", "keys", "values", "get", "setdefault", "update", "sum", "min", "max", "argmax", "argmin",
    "mean", "tolist", "bit_length", "item",
)  # fmt: skip
NODES = (
    ast.Return, ast.Delete, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For, ast.While, ast.If, ast.Assert,
    ast.Expr, ast.Pass, ast.Break, ast.Continue, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Dict,
    ast.ListComp, ast.DictComp, ast.GeneratorExp, ast.Compare, ast.Call, ast.Constant, ast.Attribute,
    ast.Subscript, ast.Starred, ast.Name, ast.List, ast.Tuple, ast.Slice, ast.comprehension, ast.keyword,
    ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop,
)  # fmt: skip
CONVERTED = "is not supported (write int(x), float(x) or bool(x))"
IGNORED = ("__module__", "__doc__", "__qualname__", "__dict__", "__weakref__", "__slots__", "__annotations__",
           "__static_attributes__", "__firstlineno__", "__annotate__", "__annotate_func__",
           "__annotations_cache__")  # fmt: skip


@dataclass(eq=False)
class Unfollowed(Symbol):
    """The result of an opaque call, or a part of it."""

    expression: Any


@dataclass(eq=False)
class OpaqueObject(Symbol):
    """An object of an opaque class. ``real`` is the object itself in the comparison with CPython."""

    cls: type
    expression: Any = None
    real: Any = None


# What may be opaque.


def reason_against(real: Any, files: frozenset[str]) -> str:
    """Return why a function or class cannot be opaque, or an empty text."""
    try:
        _Reader(files).read(real)
    except NotFollowedError as error:
        return str(error)
    return ""


class _Reader:
    """Reads the code of functions and classes, and of all functions that they call."""

    def __init__(self, files: frozenset[str]) -> None:
        self.files, self.seen = files, set[int]()

    def read(self, real: Any) -> None:
        """Refuse code that could do more than compute with its arguments and its own object."""
        if id(real) in self.seen:
            return
        self.seen.add(id(real))
        home = vars(sys.modules.get(real.__module__, builtins))
        if home.get(real.__qualname__) is not real:
            self._refuse(f"{real.__qualname__} is not defined at the top of a module")
        if isinstance(real, type):
            self._class(real)
        else:
            self._function(real, None)

    def _refuse(self, what: str) -> None:
        raise NotFollowedError(what)

    def _class(self, real: type) -> None:
        if type(real) is not type or real.__mro__ != (real, object):
            self._refuse(f"{real.__qualname__} has a base class")
        for name, meta in vars(real).items():
            if type(meta) is FunctionType and (name == "__init__" or not name.startswith("__")):
                self._function(meta, real)
            elif type(meta) is property and meta.fset is None and type(meta.fget) is FunctionType:
                self._function(meta.fget, real)
            elif name not in IGNORED and type(meta) is not MemberDescriptorType and not _is_constant(meta):
                self._refuse(f"{real.__qualname__}.{name} is no method and no constant")

    def _function(self, real: FunctionType, owner: type | None) -> None:
        name = real.__qualname__
        if real.__code__.co_filename not in self.files or real.__dict__ or real.__closure__:
            self._refuse(f"{name} is in another file, or has attributes or a closure")
        if real.__code__.co_flags & (inspect.CO_GENERATOR | 0x280):
            self._refuse(f"{name} is a generator")
        if not all(map(_is_constant, (*(real.__defaults__ or ()), *(real.__kwdefaults__ or {}).values()))):
            self._refuse(f"{name} has a default that may change")
        node = source_of(real).node
        if not isinstance(node, ast.FunctionDef):
            self._refuse(f"{name} is a lambda")
            return
        spec = node.args
        given = [a.arg for a in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)]
        if spec.vararg is not None or spec.kwarg is not None:
            self._refuse(f"{name} takes *args or **kwargs")
        local = set(given) | assigned_names(node)[0]
        parts = [part for statement in node.body for part in _walk(statement)]
        for target in [part.target for part in parts if isinstance(part, ast.comprehension)]:
            names = names_in(target)
            if any(self._global(one, real) is not MISSING for one in names - local):
                self._refuse(f"{name} uses the name of a global value in a comprehension")
            local |= names
        self_name = given[0] if owner is not None and given else None
        if self_name is not None and self_name in _stored(parts):
            self._refuse(f"{name} assigns {self_name}")
        called = {id(part.func) for part in parts if isinstance(part, ast.Call)}
        inner = {id(part.value) for part in parts if isinstance(part, ast.Attribute)}
        for part in parts:
            if not isinstance(part, NODES):
                self._refuse(f"{name}, line {getattr(part, 'lineno', 0)}: {type(part).__name__}")
            if isinstance(part, ast.Constant) and not _is_constant(part.value):
                self._refuse(f"{name} uses the constant {part.value!r}")
            if isinstance(part, ast.keyword) and part.arg in (None, "out", "key"):
                self._refuse(f"{name} passes {part.arg}")
            if isinstance(part, ast.Compare) and any(isinstance(op, ast.Is | ast.IsNot) for op in part.ops):
                sides = (part.left, *part.comparators)
                if not any(isinstance(one, ast.Constant) and one.value is None for one in sides):
                    self._refuse(f"{name} compares the identity of values")
            if isinstance(part, ast.Attribute):
                self._attribute(part, real, local, self_name, id(part) in called)
            if isinstance(part, ast.Name) and part.id not in local and id(part) not in inner:
                self._value(self._global(part.id, real), id(part) in called, name)

    def _attribute(
        self, part: ast.Attribute, real: FunctionType, local: set[str], self_name: str | None, called: bool
    ) -> None:
        name = real.__qualname__
        if part.attr.startswith("__"):
            self._refuse(f"{name} uses the attribute {part.attr}")
        base = part.value
        if isinstance(base, ast.Name) and base.id == self_name:
            return
        if not isinstance(part.ctx, ast.Load):
            self._refuse(f"{name} assigns an attribute of another object")
        found = self._module(base, real, local)
        if found is not None:
            self._value(getattr(found, part.attr, None), called, name)
        elif isinstance(base, ast.Name) and base.id not in local:
            self._refuse(f"{name} uses an attribute of {base.id}")
        elif part.attr not in METHODS or not called:
            self._refuse(f"{name} uses the attribute {part.attr}")

    def _module(self, base: ast.expr, real: FunctionType, local: set[str]) -> ModuleType | None:
        if isinstance(base, ast.Name) and base.id not in local:
            found = self._global(base.id, real)
        elif isinstance(base, ast.Attribute):
            outer = self._module(base.value, real, local)
            found = None if outer is None else getattr(outer, base.attr, None)
        else:
            return None
        return next((module for module in MODULES if found is module), None)

    def _global(self, name: str, real: FunctionType) -> Any:
        if name in real.__globals__:
            return real.__globals__[name]
        function: Any = real
        return function.__builtins__.get(name, MISSING)

    def _value(self, value: Any, called: bool, name: str) -> None:
        """Refuse a global value that could change, or be changed."""
        if _is_constant(value) or any(value is module for module in MODULES):
            return
        accepted = id(value) in ACCEPTED and ACCEPTED[id(value)].function is value
        if called and (accepted or any(value is one for one in PURE)):
            return
        if called and type(value) is FunctionType:
            self.read(value)
            return
        self._refuse(f"{name} uses {getattr(value, '__qualname__', type(value).__name__)}")


def _walk(part: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all nodes in it, without annotations, which do not run in a function."""
    yield part
    for name, value in ast.iter_fields(part):
        if name != "annotation":
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, ast.AST):
                    yield from _walk(item)


def _stored(parts: list[ast.AST]) -> set[str]:
    return {part.id for part in parts if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)}


def _is_constant(value: Any) -> bool:
    return type(value) in PLAIN or (type(value) is tuple and all(map(_is_constant, value)))


def candidate(record: Any) -> Any:
    """Return the function or class, not opaque yet, in which a failed attempt was stuck or forked most."""
    if record.stuck is not None and record.stuck not in record.opaque:
        return record.stuck
    forked = {real: count for real, count in record.forked.items() if real not in record.opaque}
    return max(forked, key=lambda real: forked[real], default=None)


# Calls.


class OpaqueCalls(Generators):
    """The part of the interpreter that calls opaque functions, and finds functions that could be opaque."""

    def __init__(self, run: Run, files: frozenset[str]) -> None:
        super().__init__(run, files)
        self.inside: Any = None  # the outermost running call that could be opaque
        self.digest = ""  # stands for all opaque calls so far
        self.numbers: dict[int, Public] = {}  # released values that are Python or numpy numbers, not arrays

    def call_opaque(self, inner: Any, arguments: list[Any], options: dict[str, Any]) -> Any:
        """Return the result of a call without following it, or ``MISSING`` for any other call."""
        one = content(arguments[0]) if len(arguments) == 1 and not options else None
        if isinstance(one, Unfollowed):
            if isinstance(inner, Accepted) and inner.function in (int, float):
                return self._number(inner, one)
            if isinstance(inner, Named) and inner.name == "bool":
                return self.run.walk.fork(f"truth {self._read('bool', one)}", 2) == 1
        if not self.run.record.opaque:
            return MISSING
        if isinstance(inner, Bound) and isinstance(inner.value, OpaqueObject):
            return self._called_method(inner.value, inner.name, arguments, options)
        real = inner.real if isinstance(inner, Function | Class) else None
        if real is None or real not in self.run.record.opaque:
            return MISSING
        given, named = self._admitted(real, arguments, options)
        if self.run.generator is not None:
            found = self.run.plain(real, *given, **named)
            return OpaqueObject(real, None, found) if isinstance(real, type) else self._plain_result(found)
        event = self._event(real, "", given, named)
        return OpaqueObject(real, event) if isinstance(real, type) else Unfollowed(event)

    def _called_method(
        self, value: OpaqueObject, name: str, arguments: list[Any], options: dict[str, Any]
    ) -> Any:
        given, named = self._admitted(value.cls, arguments, options)
        if self.run.generator is not None:
            return self._plain_result(self.run.plain(getattr(value.real, name), *given, **named))
        return Unfollowed(self._event(value.cls, name, given, named, value))

    def attribute(self, value: Any, name: str) -> Any:
        """Return a method or a property of an opaque object."""
        value = content(value) if isinstance(content(value), OpaqueObject | Unfollowed) else value
        if isinstance(value, Unfollowed):
            self.run.refuse(f"the attribute {name!r} of a result that is not followed {CONVERTED}")
        if not isinstance(value, OpaqueObject):
            return super().attribute(value, name)
        meta = vars(value.cls).get(name)
        if type(meta) is FunctionType and not name.startswith("__"):
            return Bound(value, name)
        if type(meta) is not property:
            self.run.refuse(f"{name!r} is no method or property of {value.cls.__qualname__}")
        self._admitted(value.cls, [], {})
        if self.run.generator is not None:
            return self._plain_result(self.run.plain(getattr, value.real, name))
        return Unfollowed(self._event(value.cls, name, [], {}, value))

    def item(self, value: Any, key: Any) -> Any:
        """Return ``value[key]``."""
        for one in (value, key):
            if isinstance(content(one), OpaqueObject | Unfollowed):
                self.run.refuse(f"an index of a result that is not followed {CONVERTED}")
        return super().item(value, key)

    def _unpack(self, target: ast.Tuple | ast.List, value: Any, scope: Scope) -> None:
        inner = content(value)
        if not isinstance(inner, Unfollowed):
            super()._unpack(target, value, scope)
            return
        if any(isinstance(part, ast.Starred) for part in target.elts):
            self.run.refuse(f"a starred target of a result that is not followed {CONVERTED}")
        text = self._read("parts", inner)  # with another number of parts, Python raises
        for k, part in enumerate(target.elts):
            self.assign(part, Unfollowed(["function", "unfollowed", text, ["number", str(k)]]), scope)

    def _identical(self, left: Any, right: Any) -> bool:
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Unfollowed) and other is None:
                self._require_no_condition()
                return self.run.walk.fork(f"is None {text_of(one.expression)}", 2) == 1
        return super()._identical(left, right)

    def _operate(self, op: str, left: Any, right: Any) -> Any:
        for one in (left, right):
            if isinstance(one, Unfollowed):
                self.run.refuse(f"arithmetic with a result that is not followed {CONVERTED}")
        return self._number_of(super()._operate(op, left, right), left, right)

    def _in_place(self, op: str, place: Any, other: Any) -> Any:
        return self._number_of(super()._in_place(op, place, other), place, other)

    def _number_of(self, found: Any, *operands: Any) -> Any:
        """Remember that arithmetic with numbers gives a number."""
        if isinstance(found, Public) and all(map(self._is_fixed, operands)):
            self._fix(found)
        return found

    def _event(self, real: Any, name: str, given: list[Any], named: dict[str, Any], owner: Any = None) -> Any:
        whose = "" if owner is None else text_of(owner.expression)
        parts = [self._written(one) for one in (*given, *named.values())]
        code = f"{real.__module__}.{real.__qualname__}"
        return ["function", "unfollowed", self._add(code, _digest(real), name, whose, parts, list(named))]

    def _written(self, value: Any) -> Any:
        """Return a text that determines the value and type of an argument: 0.0, -0.0 and 0 are different."""
        if type(value) is tuple:
            return tuple(map(self._written, value))
        if isinstance(value, Public):
            return text_of(value.expression), value.kind, value.python
        return type(value).__name__, repr(value)

    def _read(self, how: str, value: Unfollowed) -> str:
        self._require_no_condition()
        return self._add(how, text_of(value.expression))

    def _add(self, *parts: Any) -> str:
        """Add an event, and return a text that stands for it and all events before it."""
        self.digest = hashlib.sha256(repr((self.digest, *parts)).encode()).hexdigest()
        return self.digest

    def _require_no_condition(self) -> None:
        """Refuse a branch on a private condition, in which an exception would depend on private data."""
        if self.pure:
            self.run.refuse("a branch on a private condition uses a call that is not followed")

    def _plain_result(self, found: Any) -> Any:
        if not _is_constant(found):
            self.run.refuse("an opaque call returns a value other than numbers, text, None and tuples")
        return found

    def _admitted(
        self, real: Any, arguments: list[Any], options: dict[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Refuse arguments that are private, or that the call could change."""
        self._require_no_condition()
        for one in (*arguments, *options.values()):
            if not self._is_fixed(one):
                self.run.refuse(
                    f"{real.__qualname__} is not followed, and it requires numbers, text, None or tuples of"
                    " them (write int(x) or float(x) for a released value, and tuple(...) for a list)"
                )
        return arguments, options

    def _is_fixed(self, value: Any) -> bool:
        if type(value) is tuple:
            return all(map(self._is_fixed, value))
        return type(value) in PLAIN or (isinstance(value, Public) and id(value) in self.numbers)

    def _number(self, inner: Accepted, one: Unfollowed) -> Public:
        """Follow ``int(x)`` and ``float(x)``, whose results are immutable."""
        kind = "i" if inner.function is int else "f"
        expression = ["function", "unfollowed", self._read(inner.name, one)]
        found = Public(expression, (), kind, self.run.worlds.constant(MISSING), python=True)
        self._fix(found)
        return found

    def _converted(self, found: Any) -> Any:
        """Return the result of ``int`` or ``float``. Only the converted value is certainly no array.

        A noisy value is released here, unless noise may stay hidden.
        """
        if isinstance(found, Noisy | Draw) and not self.run.hidden:
            found = content(published(self.run, found))
        if not isinstance(found, Public) or found.shape != ():
            return found
        number = dataclasses.replace(found, python=True)
        self._fix(number)
        return number

    def _fix(self, found: Any) -> None:
        if isinstance(found, Public) and found.shape == ():
            self.numbers[id(found)] = found

    def observed(self, inner: Any, arguments: list[Any], options: dict[str, Any], call: Any) -> Any:
        """Make a call, and remember in which call of released values the path forks or ends."""
        real = inner.real if isinstance(inner, Function | Class) else None
        given = [*arguments, *options.values()]
        if isinstance(inner, Method) and isinstance(inner.receiver, Instance):
            real, given = inner.receiver.cls.real, [inner.receiver, *given]
        run, record = self.run, self.run.record
        if self.inside is not None or run.generator is not None or not self._could_be_opaque(real, given):
            found = call()
            if isinstance(inner, Named) and inner.name in ("min", "max") and not options:
                self._number_of(found, *arguments)
            if isinstance(inner, Accepted) and inner.function in (int, float) and record.opaque:
                return self._converted(found)
            return found
        before, self.inside = self._forks(), real
        try:
            return call()
        except RefusedError:
            record.stuck = record.stuck or real
            raise
        finally:
            self.inside = None
            record.forked[real] = record.forked.get(real, 0) + self._forks() - before

    def _forks(self) -> int:
        return len(getattr(self.run.walk, "forks", ()))

    def _could_be_opaque(self, real: Any, given: list[Any]) -> bool:
        if real is None:
            return False
        known = self.run.record.readable
        if real not in known:
            known[real] = not reason_against(real, self.files)
        return known[real] and all(_is_released(one, set()) for one in given)


def _is_released(value: Any, seen: set[int]) -> bool:
    """Return whether a value holds only released values, or noisy numbers that are released when used."""
    if id(value) in seen:
        return True
    seen.add(id(value))
    if isinstance(value, Instance):
        return value.outside is None and all(_is_released(one, seen) for one in value.fields.values())
    if isinstance(value, list | tuple | dict):
        return all(_is_released(one, seen) for one in (value.values() if isinstance(value, dict) else value))
    return all(
        isinstance(one, Public) or (isinstance(one, Noisy) and one.shape == ()) for one in symbols_in(value)
    )


@cache
def _digest(real: Any) -> str:
    text = inspect.getsource(real)
    return hashlib.sha256(text.encode()).hexdigest()
