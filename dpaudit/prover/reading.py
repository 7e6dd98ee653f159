"""Check the code of a program under proof before it runs, against a list of allowed constructs.

A symbol can refuse an operation on itself, but not a type test, an identity test, a handler that swallows a
refusal, or state kept from one run to the next. So the code of the program, of all functions inside it and of
all functions that it can name is checked first (rules A, H1, H2, H5 of the prover):

- no handlers, no identity tests except with None, no stores of attributes and globals, no imports, no
  classes
- global names are constants, white-listed builtins, distributions, ``Fraction``, ``math``, and functions that
  pass the same check
- attributes are from a short list

Builtins, distributions and the contents of ``math`` are recognised as objects, because their names can be
bound to anything: by ``builtins.max = other``, by a module's own ``__builtins__``, or by a class's
``__module__``.
"""

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

#: Builtins that treat symbols as the numbers they represent, or pass them to a method that refuses.
BUILTINS = {"abs", "all", "any", "bool", "enumerate", "filter", "float", "int", "len", "list", "map", "max"}
BUILTINS |= {"min", "pow", "range", "reversed", "round", "sorted", "str", "sum", "tuple", "zip"}

#: Allowed attributes: the six primitives, methods of lists, and names of ``math``.
ATTRIBUTES = {"draw", "release", "reveal", "observe", "aggregate", "channel"}
ATTRIBUTES |= {"append", "extend", "pop", "insert", "copy", "reverse", "sort", "clear"}
_OF_MATH = {"inf", "floor", "ceil", "sqrt", "log", "log2", "exp", "pi"}
ATTRIBUTES |= _OF_MATH

#: Instructions that no program under proof needs, and that could hide private values from the prover.
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

#: The flag of a class that was made by a ``class`` statement (Py_TPFLAGS_HEAPTYPE).
_MADE_IN_PYTHON = 1 << 9


def require_readable(program: Callable[..., Any]) -> None:
    """Raise ``RefusedError`` with function, line and construct, unless the program passes the check."""
    if type(program) is not FunctionType:
        raise RefusedError(
            f"a program under proof must be a plain function, got a {type(program).__name__}.",
            code="E-PROGRAM-NOT-FUNCTION",
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
    """Check one function. Yield the functions that it can call by a name, a closure or a default."""
    held = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    held += [_content(cell, function) for cell in function.__closure__ or ()]
    for value in held:
        yield from _allowed(value, function, "a default or a value of the enclosing function")
    if vars(function):
        raise _refusal(function, "has attributes", None, code="E-CODE-FUNCTION-ATTRIBUTES")
    _require_ordinary_names(function)
    for code in _nested(function.__code__):
        for name in _check(code, function):
            yield from _global(name, function)


def _content(cell: CellType, function: FunctionType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        raise _refusal(
            function,
            "uses a name of the enclosing function that has no value",
            None,
            code="E-CODE-OUTER-NAME",
        ) from None


def _require_ordinary_names(function: FunctionType) -> None:
    """Require that outer names are looked up in plain dictionaries, the last being the interpreter's own.

    An inner function gets its builtins from the globals when the program makes it.
    """
    own = vars(builtins)
    of_globals = function.__globals__.get("__builtins__", builtins)
    of_function: Any = attrgetter("__builtins__")(function)  # mypy's cache forgets this attribute
    ordinary = (
        type(function.__globals__) is dict
        and of_function is own
        and (of_globals is own or of_globals is builtins)
    )
    if not ordinary:
        raise _refusal(
            function, "looks its names up in replaced builtins or globals", None, code="E-CODE-BUILTIN"
        )


def _global(name: str, function: FunctionType) -> Iterator[FunctionType]:
    if name in function.__globals__:
        yield from _allowed(function.__globals__[name], function, f"the global name {name!r}")
        return
    if name not in BUILTINS:
        raise _refusal(function, f"uses the builtin {name!r}", None, code="E-CODE-BUILTIN")
    if not _is_builtin(vars(builtins).get(name), name):
        raise _refusal(
            function, f"uses the builtin {name!r}, which was replaced", None, code="E-CODE-BUILTIN"
        )


def _is_builtin(value: Any, name: str) -> bool:
    """Return whether ``value`` is the builtin ``name``: a C function or a C class of ``builtins``."""
    if type(value) is type and not value.__flags__ & _MADE_IN_PYTHON:
        return (value.__module__, value.__name__) == ("builtins", name)
    return _is_function_of(builtins, value, name)


def _is_function_of(module: ModuleType, value: Any, name: str) -> bool:
    return type(value) is BuiltinFunctionType and value.__self__ is module and value.__name__ == name


def _is_unchanged_math(module: ModuleType) -> bool:
    """Return whether ``module`` is ``math``, and no name of it that programs may use was replaced."""
    held = {name: vars(math).get(name) for name in _OF_MATH}
    return module is math and all(
        type(value) is float if name in ("inf", "pi") else _is_function_of(math, value, name)
        for name, value in held.items()
    )


def _allowed(value: Any, function: FunctionType, what: str) -> Iterator[FunctionType]:
    """Require that a value from outside the function is a constant, a distribution, ``math`` or a function.

    Yield the function, which is then checked too.
    """
    if value is post:
        return
    if type(value) is FunctionType:
        yield value
    elif isinstance(value, ModuleType):
        if not _is_unchanged_math(value):
            hint = " (import single names from it)" if value.__name__.startswith("dpaudit") else ""
            raise _refusal(function, f"uses the module {value.__name__!r}{hint}", None, code="E-CODE-MODULE")
    elif not _constant(value):
        text = f"uses {what}, a {type(value).__name__}, which may change"
        raise _refusal(function, text, None, code="E-CODE-OUTER-VALUE")


def _constant(value: Any) -> bool:
    # ``is``, never ``==`` or ``in``: the class of a value from outside may redefine equality
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
    """Refuse forbidden instructions. Yield the global names that the code reads."""
    instructions = list(dis.get_instructions(code))
    for before, here in zip([None, *instructions], instructions, strict=False):
        name, line = here.opname, here.positions.lineno if here.positions else None
        if name in FORBIDDEN:
            raise _refusal(function, f"has {FORBIDDEN[name]}", line, code="E-CODE-CONSTRUCT")
        if name in ("STORE_DEREF", "DELETE_DEREF") and here.argval in function.__code__.co_freevars:
            # such state outlives the run, or a step of it (H1)
            text = f"stores to the name {here.argval!r} of the enclosing function"
            raise _refusal(function, text, line, code="E-CODE-OUTER-STORE")
        none = before is not None and before.opname == "LOAD_CONST" and before.argval is None
        if name == "IS_OP" and (not none or here.is_jump_target):  # a jump may bring another operand
            text = "tests identity with something other than None"
            raise _refusal(function, text, line, code="E-CODE-IDENTITY")
        if here.opcode in _JUMPS and here.argval == here.offset:  # no line is executed there (H11)
            raise _refusal(function, "has an empty endless loop", line, code="E-CODE-ENDLESS-LOOP")
        if name in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR") and here.argval not in ATTRIBUTES:
            raise _refusal(function, f"uses the attribute {here.argval!r}", line, code="E-CODE-ATTRIBUTE")
        if name == "LOAD_GLOBAL":
            yield str(here.argval)


def _refusal(function: FunctionType, what: str, line: int | None, *, code: str) -> RefusedError:
    place = f"line {line} of {function.__qualname__}" if line else function.__qualname__
    return RefusedError(
        f"{place} {what}. The prover follows plain functions of numbers, lists and coins.", code=code
    )
