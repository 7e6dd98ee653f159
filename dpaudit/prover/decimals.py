"""Run a program on plain numbers with every float constant taken as the decimal that it prints as.

A proof reads 0.1 as 1/10. A run of the same program computes with the nearest float, which may decide a
comparison differently: 0.1 * 3 > 0.3 holds for floats only. ``decimal_program`` returns the program with
floats that detect this. They refuse a result or a comparison that differs from the exact one of the decimals.
So the output of such a run is correct for both readings, with types and signs of zero as the program gives
them.
"""

from __future__ import annotations

import dis
import math
import operator
from collections.abc import Callable, Iterator
from fractions import Fraction
from types import CellType, CodeType, FunctionType
from typing import Any

from dpaudit.prover.symbols import RefusedError, is_plain, plain_number

__all__ = ["DecimalFloat", "decimal_program"]

#: Operators and names that make floats from integers, without a constant that could be replaced.
_DIVISIONS = {"/", "/=", "**", "**="}
_NAMES = {"float", "pow", "math"}


class DecimalFloat(float):
    """A float that refuses arithmetic whose result differs from the result of the decimals, because it
    rounds."""

    __slots__ = ()
    __hash__ = float.__hash__

    def __neg__(self) -> DecimalFloat:
        return DecimalFloat(-float(self))

    def __pos__(self) -> DecimalFloat:
        return self

    def __abs__(self) -> DecimalFloat:
        return DecimalFloat(abs(float(self)))

    def __int__(self) -> int:
        whole = math.trunc(plain_number(float(self)))
        if whole != int(float(self)):
            raise _rounding()
        return whole

    __trunc__ = __int__


def _rounding() -> RefusedError:
    return RefusedError(
        "floats give another result than the decimals that they print as.", code="E-FLOAT-ROUNDING"
    )


def _plain(value: Any) -> Any:
    """Return a number, with ``DecimalFloat`` as an ordinary float, or None for fractions and non-numbers."""
    if type(value) is DecimalFloat:
        return float(value)
    return value if type(value) is not Fraction and is_plain(value) else None


def _arithmetic(name: str, *, swapped: bool) -> Callable[[DecimalFloat, Any], Any]:
    apply = getattr(operator, name)

    def method(self: DecimalFloat, other: Any) -> Any:
        number = _plain(other)
        if number is None:  # infinities, which are never rounded, and types that floats reject themselves
            return apply(other, float(self)) if swapped else apply(float(self), other)
        pair = (number, float(self)) if swapped else (float(self), number)
        found = apply(*pair)
        if not math.isfinite(found) or plain_number(found) != apply(*map(plain_number, pair)):
            raise _rounding()
        return DecimalFloat(found)

    return method


def _comparison(name: str) -> Callable[[DecimalFloat, Any], Any]:
    apply = getattr(operator, name)

    def method(self: DecimalFloat, other: Any) -> Any:
        number = _plain(other)
        if number is None:
            return apply(float(self), other)
        found = apply(float(self), number)
        if found != apply(plain_number(float(self)), plain_number(number)):
            raise _rounding()
        return found

    return method


def _refused(self: DecimalFloat, *_: Any) -> Any:
    raise _rounding()


for _name in ("round", "floor", "ceil", "pow", "rpow", "divmod", "rdivmod"):
    setattr(DecimalFloat, f"__{_name}__", _refused)
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod"):
    setattr(DecimalFloat, f"__{_name}__", _arithmetic(_name, swapped=False))
    setattr(DecimalFloat, f"__r{_name}__", _arithmetic(_name, swapped=True))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(DecimalFloat, f"__{_name}__", _comparison(_name))


def decimal_program(program: Callable[..., Any]) -> FunctionType:
    """Return a copy of ``program`` and of the functions that it names, with ``DecimalFloat`` constants.

    Raise ``RefusedError`` for a program that makes floats from integers (by a division, for example), or that
    has both floats and fractions, whose sums are floats.
    """
    if type(program) is not FunctionType:
        raise RefusedError(
            f"a program under proof must be a plain function, got a {type(program).__name__}.",
            code="E-PROGRAM-NOT-FUNCTION",
        )
    copies = _Copies()
    copied = copies.function(program)
    if copies.floats and copies.fractions:
        raise RefusedError(
            "the program has floats and fractions, whose sums round.", code="E-FLOAT-WITH-FRACTION"
        )
    return copied


class _Copies:
    """Copies of functions, each made once."""

    def __init__(self) -> None:
        self.made: dict[int, FunctionType] = {}
        self.floats = self.fractions = False

    def function(self, function: FunctionType) -> FunctionType:
        if id(function) not in self.made:
            names = set(_names(function.__code__))
            closure = tuple(CellType() for _ in function.__closure__ or ())
            scope: dict[str, Any] = {"__builtins__": function.__globals__["__builtins__"]}
            copy = FunctionType(self.code(function.__code__), scope, function.__name__, None, closure or None)
            self.made[id(function)] = copy
            scope |= {n: self.value(function.__globals__[n]) for n in names & function.__globals__.keys()}
            copy.__defaults__ = self.value(function.__defaults__)
            given = function.__kwdefaults__
            copy.__kwdefaults__ = given and {name: self.value(value) for name, value in given.items()}
            for new, old in zip(closure, function.__closure__ or (), strict=True):
                new.cell_contents = self.value(old.cell_contents)
        return self.made[id(function)]

    def code(self, code: CodeType) -> CodeType:
        for step in dis.get_instructions(code):
            divides = step.opname == "BINARY_OP" and step.argrepr in _DIVISIONS
            if divides or (step.opname == "LOAD_GLOBAL" and step.argval in _NAMES):
                raise RefusedError(
                    "the program makes floats from integers, which may round.", code="E-FLOAT-FROM-INTEGER"
                )
        return code.replace(co_consts=tuple(self.value(value) for value in code.co_consts))

    def value(self, value: Any) -> Any:
        if type(value) is float and math.isfinite(value):
            self.floats = True
            return DecimalFloat(value)
        if type(value) in (tuple, frozenset):
            return type(value)(self.value(item) for item in value)
        if isinstance(value, CodeType):
            return self.code(value)
        self.fractions = self.fractions or type(value) is Fraction or value is Fraction
        return self.function(value) if type(value) is FunctionType and _reads(value) else value


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _reads(function: FunctionType) -> bool:
    """Return whether the function belongs to the program. ``post`` belongs to the prover."""
    return function.__module__ != "dpaudit.prover.post"
