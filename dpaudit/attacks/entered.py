"""Which lines of a program the replays entered: a branch that nothing entered is one that nothing tested.

``verified / accounted`` rests on replays, so every line of the program must have run in one of them (DESIGN,
section 2, ii). ``Watch`` records the lines of the functions that the program enters, in its own files: the
harness, the standard library and installed packages other than the program's own are left out. Lines that
only raise are not asked for: a run that enters one ends there, as an error.

Lines, not branches: the two sides of a conditional expression on one line count as one. Runs under a
``Replayer`` are not watched: they follow the branches of the recording or are reported.
"""

from __future__ import annotations

import ast
import sys
import sysconfig
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import dpaudit
from dpaudit.coins import Coins, Program, Replayer

__all__ = ["Watch"]

_HARNESS = str(Path(dpaudit.__file__).parent)
_BUNDLED = str(Path(dpaudit.__file__).parent / "_reference")
_INSTALLED = tuple(
    sorted({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
)


class Watch:
    """Lines that ``program`` enters when it is run as ``watch.program``."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._own = _package_folder(program)
        self._left: dict[CodeType, set[int]] = {}

    def program(self, coins: Coins, data: Any) -> Any:
        """The program, watched. Another tracer, such as a debugger's, is set aside."""
        if isinstance(coins, Replayer):
            return self._program(coins, data)
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            return self._program(coins, data)
        finally:
            sys.settrace(before)

    @property
    def functions(self) -> int:
        """How many functions of the program were entered."""
        return sum(1 for left in self._left.values() if left is not _OTHER)

    def aside(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """``function``, which is not part of the program, unwatched."""

        def unwatched(*arguments: Any) -> Any:
            before = sys.gettrace()
            sys.settrace(None)
            try:
                return function(*arguments)
            finally:
                sys.settrace(before)

        return unwatched

    def missing(self) -> list[tuple[str, str]]:
        """Every line that was not entered, as ``file:line``, with the name of its function; in order."""
        found = {}
        for code in _with_nested([code for code, left in self._left.items() if left is not _OTHER]):
            path = Path(code.co_filename)
            for line in self._left.get(code, _lines(code)):
                found[code.co_filename, line] = (
                    f"{path.name}:{line}",
                    code.co_qualname.replace("<locals>.", ""),
                )
        return [found[key] for key in sorted(found)]

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        left = self._left.get(code)
        if left is None:
            left = self._left[code] = _lines(code) if self._is_own(code.co_filename) else _OTHER
        if not left:
            return None

        def line_by_line(frame: FrameType, event: str, argument: Any) -> Any:
            if event == "line":
                left.discard(frame.f_lineno)
            return line_by_line

        return line_by_line

    def _is_own(self, filename: str) -> bool:
        if filename.startswith("<"):
            return False  # generated code, such as a dataclass's methods
        if filename.startswith(_BUNDLED) or (self._own is not None and filename.startswith(self._own)):
            return True
        return not filename.startswith((_HARNESS, *_INSTALLED))


#: The entry of all code that is not the program's.
_OTHER: set[int] = set()


def _package_folder(program: Callable[..., Any]) -> str | None:
    """The folder or file of the top-level package that the program's function is defined in."""
    while isinstance(program, partial):
        program = program.func
    name = getattr(program, "__module__", None) or type(program).__module__
    module = sys.modules.get(name.partition(".")[0])
    source = getattr(module, "__file__", None)
    if source is None or module is dpaudit or name.partition(".")[0] in sys.stdlib_module_names:
        return None
    path = Path(source)
    return str(path.parent if path.name == "__init__.py" else path)


def _lines(code: CodeType) -> set[int]:
    """The lines of a function's body, without those that only raise."""
    body = {line for _, _, line in code.co_lines() if line is not None and line != code.co_firstlineno}
    return body - _raising(code.co_filename)


def _with_nested(entered: list[CodeType]) -> set[CodeType]:
    """The functions entered, and those that are defined inside of them."""
    found: set[CodeType] = set()
    waiting = list(entered)
    while waiting:
        code = waiting.pop()
        if code not in found:
            found.add(code)
            waiting += [item for item in code.co_consts if isinstance(item, CodeType)]
    return found


@lru_cache(maxsize=256)
def _raising(filename: str) -> frozenset[int]:
    """The lines of statements that raise, and of exception handlers that do nothing else."""
    try:
        tree = ast.parse(Path(filename).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return frozenset()
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) or (
            isinstance(node, ast.ExceptHandler) and isinstance(node.body[0], ast.Raise)
        ):
            lines |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return frozenset(lines)
