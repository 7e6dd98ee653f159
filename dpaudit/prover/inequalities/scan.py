"""Check the code of a function before it is traced, against a list of allowed instructions and attributes.

A symbol refuses operations on itself. It cannot refuse a type test, an identity test, a handler that swallows
the refusal, or state that is kept from one run to the next. So the code must have none of them:

- only the instructions of ``ALLOWED``: no handler, no identity test except with None, no import, no class, no
  store to an attribute, an item, a global name or a name of an enclosing function
- only the attributes of ``ATTRIBUTES``, and those of modules
- no constant that is a float
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType

from dpaudit.prover.inequalities.symbols import UNARY, NotTraceableError

__all__ = ["global_names", "require_traceable"]

#: Methods and attributes of symbols, of exact numbers, of balls, and of tuples, lists and dictionaries.
ATTRIBUTES = frozenset(
    {*UNARY, "min", "max", "expm1", "log1p", "erf", "pi", "const_log2"}
    | {"numerator", "denominator", "bit_length", "append", "items", "keys", "values"}
)

#: Instructions of CPython 3.11 to 3.14 that compute with locals, or call. Another one is refused.
_INSTRUCTIONS = """
BINARY_OP BINARY_SLICE BINARY_SUBSCR BUILD_CONST_KEY_MAP BUILD_LIST BUILD_MAP BUILD_SLICE
BUILD_STRING BUILD_TUPLE CACHE CALL CALL_FUNCTION_EX CALL_INTRINSIC_1 CALL_KW COMPARE_OP CONTAINS_OP
CONVERT_VALUE COPY COPY_FREE_VARS DICT_MERGE DICT_UPDATE END_FOR EXTENDED_ARG FORMAT_SIMPLE
FORMAT_VALUE FORMAT_WITH_SPEC FOR_ITER GET_ITER KW_NAMES JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT
JUMP_FORWARD JUMP_IF_FALSE_OR_POP JUMP_IF_TRUE_OR_POP LIST_APPEND LIST_EXTEND LIST_TO_TUPLE
LOAD_ASSERTION_ERROR LOAD_ATTR LOAD_CLOSURE LOAD_COMMON_CONSTANT LOAD_CONST LOAD_DEREF LOAD_FAST
LOAD_FAST_AND_CLEAR LOAD_FAST_BORROW LOAD_FAST_BORROW_LOAD_FAST_BORROW LOAD_FAST_CHECK
LOAD_FAST_LOAD_FAST LOAD_GLOBAL LOAD_METHOD LOAD_SMALL_INT MAKE_CELL MAKE_FUNCTION MAP_ADD NOP
NOT_TAKEN POP_ITER POP_TOP PRECALL PUSH_NULL RAISE_VARARGS RERAISE RESUME RETURN_CONST
RETURN_GENERATOR RETURN_VALUE SET_FUNCTION_ATTRIBUTE STORE_DEREF STORE_FAST STORE_FAST_LOAD_FAST
STORE_FAST_STORE_FAST SWAP TO_BOOL UNARY_NEGATIVE UNARY_NOT UNARY_POSITIVE UNPACK_EX UNPACK_SEQUENCE
YIELD_VALUE
"""
ALLOWED = frozenset(_INSTRUCTIONS.split())


def require_traceable(function: FunctionType) -> None:
    """Raise ``NotTraceableError`` with line and function for code that a trace cannot follow."""
    for code in _nested(function.__code__):
        for constant in code.co_consts:
            if _is_inexact(constant):
                raise _refusal(code, code.co_firstlineno, f"has the inexact constant {constant!r}")
        before: dis.Instruction | None = None
        for here in dis.get_instructions(code):
            what = _forbidden(here, before, function)
            if what:
                line = here.positions.lineno if here.positions else None
                raise _refusal(code, line or code.co_firstlineno, what)
            before = here if here.opname not in ("CACHE", "EXTENDED_ARG") else before


def global_names(function: FunctionType) -> Iterator[str]:
    """Yield the global names that a function and the code inside it read."""
    for code in _nested(function.__code__):
        yield from (str(i.argval) for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL")


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


def _is_inexact(constant: object) -> bool:
    if isinstance(constant, tuple | frozenset):
        return any(map(_is_inexact, constant))
    return isinstance(constant, float | complex)


def _forbidden(here: dis.Instruction, before: dis.Instruction | None, function: FunctionType) -> str:
    """Return why an instruction is refused, or ""."""
    name = here.opname
    if name == "IS_OP":
        none = before is not None and before.opname == "LOAD_CONST" and before.argval is None
        return "" if none and not here.is_jump_target else "tests identity with something other than None"
    if name in ("STORE_DEREF", "DELETE_DEREF") and here.argval in function.__code__.co_freevars:
        return f"stores to the name {here.argval!r} of an enclosing function"
    if name in ("LOAD_ATTR", "LOAD_METHOD"):
        known = here.argval in ATTRIBUTES or _of_module(before, function)
        return "" if known and not here.argval.startswith("_") else f"uses the attribute {here.argval!r}"
    if name in ALLOWED or name.startswith("POP_JUMP_"):
        return ""
    return f"has the instruction {name}"


def _of_module(before: dis.Instruction | None, function: FunctionType) -> bool:
    """Return whether the value before an attribute is a module, whose attributes are checked when used."""
    if before is None or before.opname != "LOAD_GLOBAL":
        return False
    return isinstance(function.__globals__.get(before.argval), ModuleType)


def _refusal(code: CodeType, line: int, what: str) -> NotTraceableError:
    return NotTraceableError(f"line {line} of {code.co_qualname} {what}.")
