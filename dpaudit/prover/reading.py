"""What a program under proof may be made of, read from its code before it runs.

A symbol can refuse what is done to it, but not what is done around it: a type test, the test of an identity,
a handler that swallows a refusal, state kept from one run to the next. So the code of the program, of all
functions inside it and of all functions that it can name is read first (rules A, H1, H2, H5 of the prover):
no handlers, no identity tests but with None, no stores of attributes and globals, no imports and classes;
global names are constants, white-listed builtins, distributions, ``Fraction``, ``math``, and functions that
pass the same reading; attributes are from a short list.

Builtins, distributions and the contents of ``math`` are recognised as objects, because their names can be
bound to
anything: by ``builtins.max = other``, by a module's own ``__builtins__``, by a class's ``__module__``."""

from __future__ import annotations

import builtins
import dis
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from operator import attrgetter
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Any

import dpaudit.distributions as distributions
from dpaudit.prover.post import post
from dpaudit.prover.symbols import RefusedError

__all__ = ["BUILTINS", "require_readable"]

#: Builtins that treat symbols as the numbers they stand for, or hand them to a method that refuses.
BUILTINS = {"abs", "all", "any", "bool", "enumerate", "filter", "float", "int", "len", "list", "map", "max"}
BUILTINS |= {"min", "pow", "range", "reversed", "round", "sorted", "str", "sum", "tuple", "zip"}

#: Attributes: the six primitives, methods of lists, constants of ``math``.
ATTRIBUTES = {"draw", "release", "reveal", "observe", "aggregate", "channel"}
ATTRIBUTES |= {"append", "extend", "pop", "insert", "copy", "reverse", "sort", "clear"}
_OF_MATH = {"inf", "floor", "ceil", "sqrt", "log", "log2", "exp", "pi"}
ATTRIBUTES |= _OF_MATH

#: Instructions that nothing under proof needs and that could hide something.
FORBIDDEN = {
    "PUSH_EXC_INFO": "a handler (try or with)",
    "CHECK_EXC_MATCH": "a handler (try or with)",
    "BEFORE_WITH": "a with block",
    "WITH_EXCEPT_START": "a with block",
    "STORE_ATTR": "the store of an attribute",
    "DELETE_ATTR": "the deletion of an attribute",
    "STORE_GLOBAL": "the store of a global name",
    "DELETE_GLOBAL": "the deletion of a global name",
    "IMPORT_NAME": "an import",
    "IMPORT_FROM": "an import",
    "LOAD_BUILD_CLASS": "a class",
    "MATCH_CLASS": "a class pattern",
    "MATCH_MAPPING": "a mapping pattern",
    "MATCH_SEQUENCE": "a sequence pattern",
    "MATCH_KEYS": "a mapping pattern",
    "BUILD_SET": "a set",
    "SETUP_ANNOTATIONS": "an annotation of a name",
    "LOAD_NAME": "a name that is looked up late",
    "GET_AWAITABLE": "a coroutine",
    "ASYNC_GEN_WRAP": "a coroutine",
}

_JUMPS = {*dis.hasjrel, *dis.hasjabs}

_CONSTANTS = (int, bool, float, str, Fraction, type(None))

#: The classes of distributions, as objects.
_DISTRIBUTIONS = {
    distribution
    for distribution in vars(distributions).values()
    if isinstance(distribution, type) and issubclass(distribution, distributions.Distribution)
}

#: Set in the flags of a class that was made by a ``class`` statement (Py_TPFLAGS_HEAPTYPE).
_MADE_IN_PYTHON = 1 << 9


def require_readable(program: Callable[..., Any]) -> None:
    """Raise ``RefusedError``, naming function, line and construct, unless the program passes the reading."""
    if type(program) is not FunctionType:
        raise RefusedError(
            f"a program under proof must be a plain function, got a {type(program).__name__}; write one."
        )
    seen: set[int] = set()
    pending = [program]
    while pending:
        function = pending.pop()
        if id(function) in seen:
            continue
        seen.add(id(function))
        pending.extend(_functions_named(function))


def _functions_named(function: FunctionType) -> Iterator[FunctionType]:
    """Check one function; yields the functions that it can call by a name, a closure or a default."""
    held = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    held += [_content(cell, function) for cell in function.__closure__ or ()]
    for value in held:
        yield from _allowed(value, function, "a default or a value of the enclosing function")
    if vars(function):
        raise _refusal(function, "has attributes", None)
    _require_ordinary_names(function)
    for code in _nested(function.__code__):
        for name in _check(code, function):
            yield from _global(name, function)


def _content(cell: CellType, function: FunctionType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        raise _refusal(function, "uses a name of the enclosing function that has no value", None) from None


def _require_ordinary_names(function: FunctionType) -> None:
    """Names outside the function must be looked up in plain dictionaries, the last of which is the
    interpreter's own. An inner function gets its builtins from the globals when the program makes it."""
    own = vars(builtins)
    of_globals = function.__globals__.get("__builtins__", builtins)
    of_function: Any = attrgetter("__builtins__")(function)  # mypy's cache forgets this attribute
    ordinary = (
        type(function.__globals__) is dict
        and of_function is own
        and (of_globals is own or of_globals is builtins)
    )
    if not ordinary:
        raise _refusal(function, "looks its names up in builtins or globals of its own", None)


def _global(name: str, function: FunctionType) -> Iterator[FunctionType]:
    if name in function.__globals__:
        yield from _allowed(function.__globals__[name], function, f"the global name {name!r}")
        return
    if name not in BUILTINS:
        raise _refusal(function, f"uses the builtin {name!r}", None)
    if not _is_builtin(vars(builtins).get(name), name):
        raise _refusal(function, f"uses the builtin {name!r}, which was replaced", None)


def _is_builtin(value: Any, name: str) -> bool:
    """Whether ``value`` is the interpreter's own builtin ``name``: a function of C that belongs to the module
    ``builtins``, or a class of C of that module."""
    if type(value) is type and not value.__flags__ & _MADE_IN_PYTHON:
        return (value.__module__, value.__name__) == ("builtins", name)
    return _is_function_of(builtins, value, name)


def _is_function_of(module: ModuleType, value: Any, name: str) -> bool:
    return type(value) is BuiltinFunctionType and value.__self__ is module and value.__name__ == name


def _is_unchanged_math(module: ModuleType) -> bool:
    """Whether ``module`` is ``math`` and what programs may use of it was not replaced."""
    held = {name: vars(math).get(name) for name in _OF_MATH}
    return module is math and all(
        type(value) is float if name in ("inf", "pi") else _is_function_of(math, value, name)
        for name, value in held.items()
    )


def _allowed(value: Any, function: FunctionType, what: str) -> Iterator[FunctionType]:
    """Whether a value from outside the function is a constant, a distribution, ``math``, or another
    function."""
    if value is post:
        return
    if type(value) is FunctionType:
        yield value
    elif isinstance(value, ModuleType):
        if not _is_unchanged_math(value):
            hint = " (import what it needs by name)" if value.__name__.startswith("dpaudit") else ""
            raise _refusal(function, f"uses the module {value.__name__!r}{hint}", None)
    elif not _constant(value):
        raise _refusal(function, f"{what} is a {type(value).__name__}, which may change", None)


def _constant(value: Any) -> bool:
    # ``is``, never ``==`` or ``in``: the class of a value from outside may define equality as it likes
    kind = type(value)
    if kind is tuple:
        return all(_constant(item) for item in value)
    if value is Fraction or any(kind is known for known in (*_CONSTANTS, *_DISTRIBUTIONS)):
        return True
    name = getattr(value, "__name__", None)
    return any(value is distribution for distribution in _DISTRIBUTIONS) or (
        type(name) is str and name in BUILTINS and _is_builtin(value, name)
    )


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


def _check(code: CodeType, function: FunctionType) -> Iterator[str]:
    """Refuse forbidden instructions; yields the global names that the code reads."""
    instructions = list(dis.get_instructions(code))
    for before, here in zip([None, *instructions], instructions, strict=False):
        name, line = here.opname, here.positions.lineno if here.positions else None
        if name in FORBIDDEN:
            raise _refusal(function, f"has {FORBIDDEN[name]}", line)
        if name in ("STORE_DEREF", "DELETE_DEREF") and here.argval in function.__code__.co_freevars:
            # state that outlives the run, or a step of it (H1)
            raise _refusal(function, f"stores to the name {here.argval!r} of the enclosing function", line)
        none = before is not None and before.opname == "LOAD_CONST" and before.argval is None
        if name == "IS_OP" and (not none or here.is_jump_target):  # a jump may bring another operand
            raise _refusal(function, "tests identity with something other than None", line)
        if here.opcode in _JUMPS and here.argval == here.offset:  # no line is entered there (H11)
            raise _refusal(function, "has a loop without an end that does nothing", line)
        if name in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR") and here.argval not in ATTRIBUTES:
            raise _refusal(function, f"uses the attribute {here.argval!r}", line)
        if name == "LOAD_GLOBAL":
            yield str(here.argval)


def _refusal(function: FunctionType, what: str, line: int | None) -> RefusedError:
    place = f"line {line} of {function.__qualname__}" if line else function.__qualname__
    return RefusedError(f"{place} {what}; the prover reads plain functions of numbers, lists and coins.")
