"""Trace a function of exact numbers into expressions: it runs once on symbols for each of its paths.

The function and every helper that it reaches are read before they run. They may compute, branch, call each other
and the functions in ``shims``, and nothing else: no ``try`` or ``with``, no import, no store outside their own
variables, no float, no question about a type or an object. They run on copies of their code with a dictionary of
globals of their own, so that what they see is what was read.
"""

from __future__ import annotations

import builtins
import dis
import hashlib
import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpaudit.prover.inequalities.symbols import Comparison, NotTraceableError, Path, shimmed, shims

__all__ = ["Side", "TracedPath", "code_of", "traced"]

#: Names of Python that ask more of a value than its number.
FORBIDDEN = frozenset(
    "isinstance issubclass type id hasattr getattr setattr delattr eval exec compile globals locals vars open input"
    " print repr str hash float complex divmod round pow super object memoryview __import__ __class__ __dict__".split()
)
#: Builtins that are as safe as the values they work on.
SAFE = frozenset(
    "abs all any bool dict enumerate int len list map range reversed sorted tuple zip True False None".split()
)
#: Instructions that reach outside a function's own variables, or that catch an error.
FORBIDDEN_INSTRUCTIONS = (
    "STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR", "STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE",
    "IMPORT_NAME", "IMPORT_FROM", "IS_OP", "PUSH_EXC_INFO", "CHECK_EXC_MATCH", "WITH_EXCEPT_START", "BEFORE_WITH",
    "LOAD_BUILD_CLASS", "YIELD_FROM", "GET_AWAITABLE",
)  # fmt: skip

Side = tuple[str, int, int]


@dataclass(frozen=True)
class TracedPath:
    """One path of a function: its conditions (a, b, strict, wanted), and its inequalities (name, left, right)."""

    conditions: tuple[tuple[int, int, bool, bool], ...]
    sides: tuple[Side, ...]


def traced(function: Callable[..., Any], path: Path, arguments: Mapping[str, Any]) -> list[TracedPath]:
    """Run ``function`` once for each of its paths on ``arguments``, some of which are symbols of ``path``.

    Raises ``NotTraceableError`` for whatever has no expression, with the name of the function.
    """
    run = _Lift(path).function(function)
    found: list[TracedPath] = []
    todo: list[list[bool]] = [[]]
    while todo:
        planned = todo.pop()
        path.begin(planned)
        sides = tuple(_sides(_called(run, arguments), path))
        taken = tuple(path.taken)
        for k in range(len(planned), len(taken)):
            todo.append([answer for *_, answer in taken[:k]] + [False])
        found.append(TracedPath(taken, sides))
    return found


def conditions_of(
    given: Callable[..., Any], path: Path, arguments: Mapping[str, Any]
) -> list[tuple[int, int, bool]]:
    """Return the comparisons that ``given`` states: one, or several in a tuple."""
    path.begin([])
    stated = _called(_Lift(path).function(given), arguments)
    if path.taken:
        raise NotTraceableError("a condition must not branch: return several as a tuple.")
    found = []
    for each in stated if isinstance(stated, tuple | list) else (stated,):
        if type(each) is Comparison:
            found.append((each.a, each.b, each.strict))
        elif type(each) is bool:  # of single values: 0 <= 0, or 1 <= 0, which no point satisfies
            found.append((path.number(0 if each else 1).i, path.number(0).i, False))
        else:
            raise NotTraceableError(f"a condition must be a comparison, got {type(each).__name__}.")
    return found


def _called(run: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    try:
        return run(**arguments)
    except NotTraceableError:
        raise
    except RecursionError as error:
        raise NotTraceableError("the function recurses too deeply.") from error
    except Exception as error:
        raise NotTraceableError(f"on symbols the function raises {type(error).__name__}.") from error


def _sides(found: Any, path: Path) -> list[Side]:
    """Return the inequalities that a function returns: two sides, or several pairs by name."""
    named = found if isinstance(found, dict) else {"": found}
    sides = []
    for name, both in named.items():
        if both is _NOT_CLAIMED:
            continue
        if type(both) is not tuple or len(both) != 2:
            raise NotTraceableError("a function must return two sides, or a dictionary of pairs of sides.")
        sides.append((str(name), path.lifted(both[0]).i, path.lifted(both[1]).i))
    if not sides:
        raise NotTraceableError("a function must state an inequality.")
    return sides


#: Stands for a ``Constant`` of a chain, which is reported and not claimed.
_NOT_CLAIMED = object()


class _Lift:
    """Copies of functions over shims."""

    def __init__(self, path: Path) -> None:
        self._shims, self._stands_for = shims(path), shimmed()
        self._made: dict[Any, Any] = {}

    def function(self, function: Any) -> Any:
        """Return a copy of a function that sees shims only."""
        while hasattr(function, "__wrapped__"):  # functools.cache, which gives the same value
            function = function.__wrapped__
        if type(function) is not types.FunctionType:
            raise NotTraceableError(f"{str(function)[:60]} is no Python function.")
        if function not in self._made:
            self._made[function] = self._copied(function)
        return self._made[function]

    def _copied(self, function: types.FunctionType) -> Any:
        code = function.__code__
        _require_plain(code, function.__qualname__)
        seen: dict[str, Any] = {"__builtins__": {}}
        cells = tuple(
            types.CellType(self._value(name, cell.cell_contents, function))
            for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True)
        )
        defaults = tuple(self._value("a default", each, function) for each in function.__defaults__ or ())
        made = types.FunctionType(code, seen, function.__name__, defaults, cells or None)
        named = function.__kwdefaults__ or {}
        made.__kwdefaults__ = {name: self._value(name, each, function) for name, each in named.items()}
        self._made[function] = made  # a function may call itself
        for name in _names(code):
            if name in function.__globals__:
                seen[name] = self._value(name, function.__globals__[name], function)
            elif name in self._shims:
                seen[name] = self._shims[name]
            elif name in SAFE and hasattr(builtins, name):
                seen[name] = getattr(builtins, name)
        return made

    def _value(self, name: str, value: Any, function: types.FunctionType) -> Any:
        """Return what a global, closed-over or default value becomes."""
        for stand, original in self._stands_for.items():
            if value is original:
                return self._shims[stand]
        if _is_constant(value):
            return value
        if isinstance(value, types.FunctionType) or hasattr(value, "__wrapped__"):
            return self.function(value)
        if isinstance(value, type) and value.__name__ == "Constant":
            return lambda *sides: _NOT_CLAIMED
        raise NotTraceableError(f"{function.__qualname__} uses {name}, of type {type(value).__name__}.")


def _is_constant(value: Any) -> bool:
    if type(value) in (tuple, frozenset):
        return all(map(_is_constant, value))
    if type(value) in (dict, types.MappingProxyType):
        return all(_is_constant(key) and _is_constant(each) for key, each in value.items())
    return value is None or type(value) in (int, bool, Fraction, str)


def _names(code: types.CodeType) -> set[str]:
    found = set(code.co_names)
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            found |= _names(const)
    return found


def _require_plain(code: types.CodeType, name: str) -> None:
    """Require that code only computes."""
    bad = sorted(FORBIDDEN & {*code.co_names, *code.co_freevars})
    if bad:
        raise NotTraceableError(f"{name} uses {', '.join(bad)}.")
    if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise NotTraceableError(f"{name} is asynchronous.")
    for instruction in dis.get_instructions(code):
        if instruction.opname in FORBIDDEN_INSTRUCTIONS:
            raise NotTraceableError(
                f"{name} uses {instruction.opname} in line {instruction.positions and instruction.positions.lineno}."
            )
        if instruction.opname == "STORE_DEREF" and instruction.argval in code.co_freevars:
            raise NotTraceableError(f"{name} writes {instruction.argval} of the function around it.")
    for const in code.co_consts:
        if type(const) in (float, complex):
            raise NotTraceableError(f"{name} uses the float {const}.")
        if isinstance(const, types.CodeType):
            _require_plain(const, f"{name}.{const.co_name}")


def code_of(function: Callable[..., Any]) -> str:
    """Return a digest of the code of a function and of every function that it reaches."""
    seen: dict[Any, None] = {}
    todo: list[Any] = [function]
    while todo:
        each = todo.pop()
        while hasattr(each, "__wrapped__"):
            each = each.__wrapped__
        if type(each) is not types.FunctionType or each in seen:
            continue
        seen[each] = None
        reached: Sequence[Any] = [each.__globals__.get(name) for name in sorted(_names(each.__code__))]
        todo.extend([*reached, *(cell.cell_contents for cell in each.__closure__ or ())])
    digest = hashlib.sha256()
    for each in seen:
        digest.update(_text(each.__code__).encode())
    return digest.hexdigest()


def _text(code: types.CodeType) -> str:
    """Return what code does, without the places where it was written."""
    parts = [code.co_name, code.co_code.hex(), repr(code.co_names)]
    parts += [_text(const) if isinstance(const, types.CodeType) else repr(const) for const in code.co_consts]
    return "|".join(parts)
