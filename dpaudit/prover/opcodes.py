"""The one loop over the data, read from the program's code before it runs.

A generic step replaces what is in the program's frame at the head of that loop. This is the whole state only
if nothing else holds any: so the code must be one plain function (H2: no table of handlers, no inner code but
list comprehensions, no store to a name outside), and the loop over the data must stand inside no other loop,
whose iterator or count would lie on the stack (H3: any backward jump around its head counts).

Where the instructions of a frame stand is known for CPython 3.11, on which this was tested; other versions
are refused by name."""

from __future__ import annotations

import dis
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any

from dpaudit.prover.reading import require_readable
from dpaudit.prover.symbols import RefusedError

__all__ = ["TESTED", "LoopPlaces", "loop_places", "require_version"]

TESTED = ("cpython", (3, 11))

_FLAGS = {
    inspect.CO_VARARGS: "takes *arguments",
    inspect.CO_VARKEYWORDS: "takes **keywords",
    inspect.CO_GENERATOR: "is a generator",
    inspect.CO_COROUTINE: "is a coroutine",
    inspect.CO_ASYNC_GENERATOR: "is a generator",
}


@dataclass(frozen=True)
class LoopPlaces:
    """Of one program: its code, where an iteration may begin (``starts``: byte offsets of GET_ITER) and the
    heads of loops that stand in no other loop (``heads``: byte offsets of FOR_ITER)."""

    code: CodeType
    starts: frozenset[int]
    heads: frozenset[int]

    @property
    def arguments(self) -> tuple[str, str]:
        """The names of the coins and the data."""
        coins, data = self.code.co_varnames[:2]
        return coins, data


def require_version() -> None:
    """Raise ``RefusedError`` where the frames of this Python are not those that were tested."""
    here = (sys.implementation.name, sys.version_info[:2])
    if here != TESTED:
        raise RefusedError(
            f"a proof for data of every size reads the frames of CPython 3.11, and this is {here[0]} "
            f"{here[1][0]}.{here[1][1]}; prove it under 3.11 (its certificate is checked by any version), or "
            "for a fixed size."
        )


def loop_places(program: Callable[..., Any]) -> LoopPlaces:
    """Where the program may loop over its data. Raises ``RefusedError``, naming the line."""
    require_version()
    require_readable(program)
    code: CodeType = program.__code__
    for flag, what in _FLAGS.items():
        if code.co_flags & flag:
            raise _refusal(code, what, None)
    if code.co_argcount < 2 or code.co_kwonlyargcount:
        raise _refusal(code, "must be called as program(coins, data)", None)
    for nested in _nested(code):
        _require_plain(nested, code)
    instructions = list(dis.get_instructions(code))
    return LoopPlaces(
        code,
        frozenset(i.offset for i in instructions if i.opname == "GET_ITER"),
        frozenset(_outermost(instructions)),
    )


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


def _require_plain(code: CodeType, program: CodeType) -> None:
    """H2, for the program and the code inside it."""
    if code.co_exceptiontable:
        raise _refusal(code, "has a handler (try or with)", None)
    if code is not program and code.co_name != "<listcomp>":
        raise _refusal(code, f"is inner code of {program.co_name} (only list comprehensions are)", None)
    for here in dis.get_instructions(code):
        line = here.positions.lineno if here.positions else None
        if here.opname in ("STORE_DEREF", "DELETE_DEREF") and here.argval in program.co_freevars:
            raise _refusal(code, f"stores to the name {here.argval!r} of the enclosing function", line)


def _outermost(instructions: list[dis.Instruction]) -> Iterator[int]:
    """Offsets of FOR_ITER around which no jump goes back: a jump back to the head itself is the loop's own.
    An instruction begins with its extended arguments."""
    begins: dict[int, int] = {}
    first: int | None = None
    for here in instructions:
        first = here.offset if first is None else first
        begins[here.offset] = first
        if here.opname != "EXTENDED_ARG":
            first = None
    jumps = [(i.offset, int(i.argval)) for i in instructions if i.opcode in {*dis.hasjrel, *dis.hasjabs}]
    for here in instructions:
        if here.opname == "FOR_ITER" and not any(
            to < begins[here.offset] and offset > here.offset for offset, to in jumps
        ):
            yield here.offset


def _refusal(code: CodeType, what: str, line: int | None) -> RefusedError:
    place = f"line {line} of {code.co_qualname}" if line else code.co_qualname
    return RefusedError(
        f"{place} {what}; a proof for every size follows one plain function with one loop over its data."
    )
