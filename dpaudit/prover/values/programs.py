"""Find the function behind a program, and describe the exception with which it ends."""

from __future__ import annotations

import builtins
import functools
import hashlib
import inspect
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from dpaudit.core.errors import InvalidParameterError
from dpaudit.prover.values.run import ProgramRaisedError, Run

__all__ = ["described", "inputs_of", "unwrapped_program"]


def unwrapped_program(
    program: Callable[..., Any],
) -> tuple[FunctionType, dict[str, Any], tuple[Any, ...]]:
    """Return the plain function behind a program, the arguments that partials fix, and its first arguments.

    A method has its object as the first argument. An object with ``__call__`` is called by that method of its
    class, as Python does.
    """
    fixed: dict[str, Any] = {}
    found: Any = program
    while isinstance(found, functools.partial):
        if found.args:
            raise InvalidParameterError(
                f"a partial must fix arguments by name, got {len(found.args)} positional.",
                code="E-PROGRAM-PARTIAL",
            )
        fixed = {**found.keywords, **fixed}
        found = found.func
    if isinstance(found, FunctionType):
        return found, fixed, ()
    if isinstance(found, MethodType):
        function, receiver = found.__func__, found.__self__
    else:
        function, receiver = _call_of(type(found)), found
    if not isinstance(function, FunctionType):
        raise InvalidParameterError(
            "program must be a Python function, a method, or an object of a class with __call__, got"
            f" {type(program).__name__}.",
            code="E-PROGRAM-NOT-FUNCTION",
        )
    return function, fixed, (receiver,)


def inputs_of(program: Callable[..., Any]) -> tuple[str, ...]:
    """Return the inputs that a program takes, in order: coins and data, data and a generator, or data."""
    needed = [p for p in inspect.signature(program).parameters.values() if p.default is p.empty]
    names = [p.name for p in needed if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return ("coins", "data") if names[:1] in (["coins"], ["c"]) else ("data", "rng")[: len(names)]


def _call_of(kind: type) -> Any:
    return next((vars(base)["__call__"] for base in kind.__mro__ if "__call__" in vars(base)), None)


def described(run: Run, raised: ProgramRaisedError) -> str:
    """Return the exception with which the program ends, as text that differs for different exceptions."""
    if raised.value is not None:
        run.refuse("the program ends with a StopIteration that holds a value")
    kind = type(raised.error)
    name = (
        kind.__name__
        if vars(builtins).get(kind.__name__) is kind
        else f"{kind.__module__}.{kind.__qualname__}"
    )
    text = repr((*raised.error.args, getattr(raised.error, "code", None)))
    if len(text) > 500:
        text = f"{text[:500]} {hashlib.sha256(text.encode()).hexdigest()}"
    return f"raised {name}: {text}"
