"""Find the loop over the data in the program's code before it runs.

A generic step replaces the locals in the program's frame at the head of that loop. They are the whole state
only if nothing else holds state. So the code must be one plain function (H2: no exception table, no inner
code except list comprehensions, no store to an outer name). The loop over the data must not be inside another
loop, whose iterator or count would be on the stack (H3: any backward jump around its head counts).

The positions of instructions in a frame are known for CPython 3.11, on which this was tested. Other versions
are refused.
"""

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
    """The loops of one program.

    ``starts`` are the byte offsets of GET_ITER, at which an iteration may begin. ``heads`` are the byte
    offsets of FOR_ITER of loops that are not inside another loop.
    """

    code: CodeType
    starts: frozenset[int]
    heads: frozenset[int]

    @property
    def arguments(self) -> tuple[str, str]:
        """Return the names of the coins and the data."""
        coins, data = self.code.co_varnames[:2]
        return coins, data


def require_version() -> None:
    """Raise ``RefusedError`` unless this Python is the version whose frames were tested."""
    here = (sys.implementation.name, sys.version_info[:2])
    if here != TESTED:
        raise RefusedError(
            f"a proof for data of every size requires CPython 3.11, got {here[0]} {here[1][0]}.{here[1][1]}. "
            "Prove it under 3.11 (any version checks its certificate), or for a fixed size.",
            code="E-PYTHON-VERSION",
        )


def loop_places(program: Callable[..., Any]) -> LoopPlaces:
    """Return the places at which the program may loop over its data.

    Raise ``RefusedError``, with the line, for code that a proof for every size cannot follow.
    """
    require_version()
    require_readable(program)
    code: CodeType = program.__code__
    for flag, what in _FLAGS.items():
        if code.co_flags & flag:
            raise _refusal(code, what, None, code="E-CODE-SIGNATURE")
    if code.co_argcount < 2 or code.co_kwonlyargcount:
        raise _refusal(code, "must be callable as program(coins, data)", None, code="E-CODE-SIGNATURE")
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
    """Require condition H2 of the program or of code inside it."""
    if code.co_exceptiontable:
        raise _refusal(code, "has a handler (try or with)", None, code="E-CODE-CONSTRUCT")
    if code is not program and code.co_name != "<listcomp>":
        text = f"is inner code of {program.co_name} (only list comprehensions are allowed)"
        raise _refusal(code, text, None, code="E-CODE-NESTED")
    for here in dis.get_instructions(code):
        line = here.positions.lineno if here.positions else None
        if here.opname in ("STORE_DEREF", "DELETE_DEREF") and here.argval in program.co_freevars:
            text = f"stores to the name {here.argval!r} of the enclosing function"
            raise _refusal(code, text, line, code="E-CODE-OUTER-STORE")


def _outermost(instructions: list[dis.Instruction]) -> Iterator[int]:
    """Yield the offsets of FOR_ITER around which no jump goes back.

    A jump back to the head itself belongs to the loop. An instruction begins with its extended arguments.
    """
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


def _refusal(part: CodeType, what: str, line: int | None, *, code: str) -> RefusedError:
    place = f"line {line} of {part.co_qualname}" if line else part.co_qualname
    return RefusedError(
        f"{place} {what}. A proof for every size follows one plain function with one loop over its data.",
        code=code,
    )
