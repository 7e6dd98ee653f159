"""Find every condition in a function's bytecode, with both of its outcomes.

Several conditions may share a line: both sides of a conditional expression, the parts of ``and`` and ``or``,
the links of ``a < x < b``, an ``assert``, the filter of a comprehension. The compiled code has a conditional
jump for each of them. Conditions are distinguished by their place in the source, so that the compiler's
copies of a loop's condition or of a ``finally`` count once.

Jumps that are not conditions of the program are left out: the end of a ``for``, the match of an exception
with its handler and the exit of a ``with``, whose bodies count as lines. So is the test whether ``tuple``,
``all`` or ``any`` is the builtin of that name, which Python 3.14 makes before it runs a generator in place.
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
    """A place where the code branches: line and columns of the tested expression.

    ``link`` marks a link of a chained comparison other than the last.
    """

    line: int
    columns: tuple[int, int, int]
    link: bool


@dataclass(frozen=True)
class Jump:
    """A conditional jump: its line, its target, and descriptions of the outcomes if it is taken or not."""

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
    """Return the conditional jumps of ``code`` by the offsets at which a tracer reports them."""
    found: dict[int, Jump] = {}
    instructions = [item for item in dis.get_instructions(code) if item.opname != "CACHE"]
    line = code.co_firstlineno
    starts = {start: number for start, _, number in code.co_lines() if number is not None}
    for index, item in enumerate(instructions):
        line = starts.get(item.offset, line)
        words = _outcomes(item.opname)
        before = [one for one in instructions[max(0, index - 8) : index] if one.opname != "EXTENDED_ARG"]
        while before and before[-1].opname in ("TO_BOOL", "COPY"):
            before.pop()  # from Python 3.12 on these come between a value and its jump
        if words is None or not before or before[-1].opname in _NO_CONDITIONS or _asks_for_builtin(before):
            continue
        # The last value computed is tested: a part of ``and`` has its own place, but its jump does not.
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
            found[instructions[at].offset] = jump  # a tracer reports the prefix instead of the jump
    return found


def _asks_for_builtin(before: list[dis.Instruction]) -> bool:
    """Return whether the test is ``tuple is <the builtin>``, by a constant that no source can name."""
    if len(before) < 2 or before[-1].opname != "IS_OP":
        return False
    return before[-2].opname == "LOAD_COMMON_CONSTANT" and before[-2].argrepr in _RUN_IN_PLACE


def _outcomes(name: str) -> tuple[str, str] | None:
    if not (name.startswith("POP_JUMP") or name in ("JUMP_IF_FALSE_OR_POP", "JUMP_IF_TRUE_OR_POP")):
        return None
    return next((words for key, words in _WORDS.items() if f"IF_{key}" in name), None)


#: Names of endless iterators: a ``for`` in code that names one counts as a loop like ``while``.
_ENDLESS = frozenset({"count", "cycle", "repeat", "iter"})


@lru_cache(maxsize=4096)
def has_open_loop(code: CodeType) -> bool:
    """Return whether ``code`` has a loop that may not end, or is a step of one (``__next__``).

    A ``for`` is assumed to end, unless the code names an iterator that does not.
    """
    if code.co_name == "__next__":
        return True
    ending = ("SEND",) if _ENDLESS.intersection(code.co_names) else ("FOR_ITER", "SEND")
    heads = {item.offset for item in dis.get_instructions(code) if item.opname in ending}
    jumps = [item for item in dis.get_instructions(code) if "JUMP" in item.opname]
    return any(item.argval < item.offset and item.argval not in heads for item in jumps)


@lru_cache(maxsize=4096)
def has_one_path(code: CodeType) -> bool:
    """Return whether every call of ``code`` executes the same lines, unless a line raises."""
    turns = ("FOR_ITER", "SEND")
    return not code.co_exceptiontable and not any(
        "JUMP" in item.opname or item.opname in turns for item in dis.get_instructions(code)
    )


@lru_cache(maxsize=256)
def raising_outcomes(filename: str) -> frozenset[tuple[int, int, str]]:
    """Return (line, column, outcome) of the conditions in a file that lead to an error.

    These are ``if`` statements whose branch only raises, and assertions, with the outcome that leads there.
    Each part of a compound condition counts.
    """
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
    """Return the parts of a test, with the outcomes that lead to ``outcome`` of the whole.

    If several parts must combine, list only outcomes that a run which does not get there may lack.
    """
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
