"""Where a function's code can go two ways: every condition in its bytecode, with both of its outcomes.

A line hides what shares it: both sides of a conditional expression, the parts of ``and`` and ``or``, the
links of ``a < x < b``, an ``assert``, the filter of a comprehension. The compiled code has a conditional jump
for each of them. Conditions are told apart by their place in the source, so that the copies which the
compiler makes of a loop's condition or of a ``finally`` count as one.

Left out are jumps that are no condition of the program's: the end of a ``for``, the match of an exception
with its handler and the exit of a ``with``, whose bodies count as lines; and whether ``tuple``, ``all`` or
``any`` is the builtin of that name, which Python 3.14 asks before it runs a generator in place.
"""

from __future__ import annotations

import ast
import dis
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import CodeType

__all__ = ["Condition", "Jump", "has_one_path", "has_open_loop", "jumps_of", "raising_outcomes"]


@dataclass(frozen=True)
class Condition:
    """A place where the code goes one way or the other: line and columns of the tested expression, and
    whether it is a link of a chained comparison that is not the last."""

    line: int
    columns: tuple[int, int, int]
    link: bool


@dataclass(frozen=True)
class Jump:
    """A conditional jump: the line on which it stands, its target, and the outcomes, in words, if it is
    taken or not."""

    condition: Condition
    line: int
    target: int
    taken: str
    passed: str


#: Builtins whose generator is run in place.
_RUN_IN_PLACE = ("tuple", "all", "any", "list", "set")
_NO_CONDITIONS = ("CHECK_EXC_MATCH", "CHECK_EG_MATCH", "WITH_EXCEPT_START")
_COMPARISONS = ("COMPARE_OP", "IS_OP", "CONTAINS_OP")
_WORDS = {
    "NOT_NONE": ("not None", "None"),
    "NONE": ("None", "not None"),
    "FALSE": ("false", "true"),
    "TRUE": ("true", "false"),
}


@lru_cache(maxsize=4096)
def jumps_of(code: CodeType) -> dict[int, Jump]:
    """The conditional jumps of ``code`` by the offsets at which a tracer meets them."""
    found: dict[int, Jump] = {}
    instructions = [item for item in dis.get_instructions(code) if item.opname != "CACHE"]
    line = code.co_firstlineno
    starts = {start: number for start, _, number in code.co_lines() if number is not None}
    for index, item in enumerate(instructions):
        line = starts.get(item.offset, line)
        words = _outcomes(item.opname)
        before = [one for one in instructions[max(0, index - 8) : index] if one.opname != "EXTENDED_ARG"]
        while before and before[-1].opname in ("TO_BOOL", "COPY"):
            before.pop()  # from Python 3.12 on these stand between a value and its jump
        if words is None or not before or before[-1].opname in _NO_CONDITIONS or _asks_for_builtin(before):
            continue
        # what was computed last is what is tested: a part of ``and`` has a place of its own, its jump not
        place = before[-1].positions
        if place is None or place.lineno is None:
            continue
        columns = (place.col_offset or 0, place.end_lineno or 0, place.end_col_offset or 0)
        link = len(before) > 1 and before[-2].opname == "COPY" and before[-1].opname in _COMPARISONS
        jump = Jump(Condition(place.lineno, columns, link), line, int(item.argval), *words)
        at = index
        found[item.offset] = jump
        while at and instructions[at - 1].opname == "EXTENDED_ARG":
            at -= 1
            found[instructions[at].offset] = jump  # a tracer meets the prefix in the jump's place
    return found


def _asks_for_builtin(before: list[dis.Instruction]) -> bool:
    """Whether what is tested is ``tuple is <the builtin>``, by a constant that no source can name."""
    if len(before) < 2 or before[-1].opname != "IS_OP":
        return False
    return before[-2].opname == "LOAD_COMMON_CONSTANT" and before[-2].argrepr in _RUN_IN_PLACE


def _outcomes(name: str) -> tuple[str, str] | None:
    if not (name.startswith("POP_JUMP") or name in ("JUMP_IF_FALSE_OR_POP", "JUMP_IF_TRUE_OR_POP")):
        return None
    return next((words for key, words in _WORDS.items() if f"IF_{key}" in name), None)


#: Names of iterators without an end: a ``for`` beside one of them is a loop like ``while``.
_ENDLESS = frozenset({"count", "cycle", "repeat", "iter"})


@lru_cache(maxsize=4096)
def has_open_loop(code: CodeType) -> bool:
    """Whether ``code`` has a loop that may have no end, or is a step of one (``__next__``). A ``for`` is
    taken to end, unless the code names an iterator that does not."""
    if code.co_name == "__next__":
        return True
    ending = ("SEND",) if _ENDLESS.intersection(code.co_names) else ("FOR_ITER", "SEND")
    heads = {item.offset for item in dis.get_instructions(code) if item.opname in ending}
    jumps = [item for item in dis.get_instructions(code) if "JUMP" in item.opname]
    return any(item.argval < item.offset and item.argval not in heads for item in jumps)


@lru_cache(maxsize=4096)
def has_one_path(code: CodeType) -> bool:
    """Whether every call of ``code`` executes the same lines, unless one of them raises."""
    turns = ("FOR_ITER", "SEND")
    return not code.co_exceptiontable and not any(
        "JUMP" in item.opname or item.opname in turns for item in dis.get_instructions(code)
    )


@lru_cache(maxsize=256)
def raising_outcomes(filename: str) -> frozenset[tuple[int, int, str]]:
    """(line, column, outcome) of the conditions in a file of ``if`` statements whose branch only raises, and
    of assertions: the outcome that leads there. Of a condition in several parts each part counts."""
    try:
        tree = ast.parse(Path(filename).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return frozenset()
    found: set[tuple[int, int, str]] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise):
            found |= set(_leading(node.test, True))
        elif isinstance(node, ast.Assert):
            found |= set(_leading(node.test, False))
    return frozenset(found)


def _leading(test: ast.expr, outcome: bool) -> list[tuple[int, int, str]]:
    """The parts of a test with the outcomes by which the whole comes out so. Where several parts must
    conspire, only those outcomes that a run which does not get there may lack are listed."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _leading(test.operand, not outcome)
    if isinstance(test, ast.BoolOp):
        return [item for part in test.values for item in _leading(part, outcome)]
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Is | ast.IsNot):
        right = test.comparators[0]
        if isinstance(right, ast.Constant) and right.value is None:
            none = outcome is isinstance(test.ops[0], ast.Is)
            words = "None" if none else "not None"
            return [(test.lineno, test.col_offset, words), (test.left.lineno, test.left.col_offset, words)]
    return [(test.lineno, test.col_offset, "true" if outcome else "false")]
