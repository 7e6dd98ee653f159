"""What a program under proof may be made of, read from its code before it runs.

A symbol can refuse what is done to it, but not what is done around it: a type test, the test of an identity,
a handler that swallows a refusal, state kept from one run to the next. So the code of the program, of all
functions inside it and of all functions that it can name is read first (rules A, H1, H2, H5 of the prover):
no handlers, no identity tests but with None, no stores of attributes and globals, no imports and classes;
global names are constants, white-listed builtins, laws, ``Fraction``, ``math``, and functions that pass the
same reading; attributes are from a short list."""

from __future__ import annotations

import dis
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from types import CodeType, FunctionType, ModuleType
from typing import Any

import dpaudit.laws as laws
from dpaudit.prover.post import post
from dpaudit.prover.symbols import RefusedError

__all__ = ["BUILTINS", "require_readable"]

#: Builtins that treat symbols as the numbers they stand for, or hand them to a method that refuses.
BUILTINS: dict[str, Any] = {
    f.__name__: f for f in (abs, all, any, bool, enumerate, filter, float, int, len, list, map, max, min)
}
BUILTINS |= {f.__name__: f for f in (pow, range, reversed, round, sorted, str, sum, tuple, zip)}

#: Attributes: the six primitives, methods of lists, constants of ``math``.
ATTRIBUTES = {"draw", "release", "reveal", "observe", "aggregate", "channel"}
ATTRIBUTES |= {"append", "extend", "pop", "insert", "copy", "reverse", "sort", "clear"}
ATTRIBUTES |= {"inf", "floor", "ceil", "sqrt", "log", "log2", "exp", "pi"}

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
    held += [cell.cell_contents for cell in function.__closure__ or ()]
    for value in held:
        yield from _allowed(value, function, "a default or a value of the enclosing function")
    if vars(function):
        raise _refusal(function, "has attributes", None)
    for code in _nested(function.__code__):
        for name in _check(code, function):
            yield from _global(name, function)


def _global(name: str, function: FunctionType) -> Iterator[FunctionType]:
    if name in function.__globals__:
        yield from _allowed(function.__globals__[name], function, f"the global name {name!r}")
        return
    if name not in BUILTINS:
        raise _refusal(function, f"uses the builtin {name!r}", None)


def _allowed(value: Any, function: FunctionType, what: str) -> Iterator[FunctionType]:
    """Whether a value from outside the function is a constant, a law, ``math``, or another function."""
    if value is post:
        return
    if type(value) is FunctionType:
        yield value
    elif isinstance(value, ModuleType):
        if value is not math:
            hint = " (import what it needs by name)" if value.__name__.startswith("dpaudit") else ""
            raise _refusal(function, f"uses the module {value.__name__!r}{hint}", None)
    elif not _constant(value):
        raise _refusal(function, f"{what} is a {type(value).__name__}, which may change", None)


def _constant(value: Any) -> bool:
    if type(value) is tuple:
        return all(_constant(item) for item in value)
    if type(value) in _CONSTANTS or value is Fraction:
        return True
    a_law = isinstance(value, type) and issubclass(value, laws.Law)
    own = isinstance(value, laws.Law) or a_law
    module = value.__module__ if a_law else type(value).__module__
    return (own and module.startswith("dpaudit.laws.")) or any(value is f for f in BUILTINS.values())


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
