"""Which lines of a program the replays entered: a branch that nothing entered is one that nothing tested.

``verified / accounted`` rests on replays, so every line of the program must have run in one of them (DESIGN,
section 2, ii). ``Watch`` records the lines of the functions that the program enters, in its own files: the
harness, the standard library, installed packages other than the program's own and code without a file of its
own (``exec``) are left out. Lines that only raise are not asked for, unless something in the program may
catch what they raise (``raising``): a run that enters one ends there, as an error.

Lines, not branches: what shares a line counts as one, such as both sides of a conditional expression, the
parts of ``and`` and ``or``, an ``if`` with its body or a comprehension with its condition. A function that is
defined in an entered one and never called counts, however short it is. Runs under a ``Replayer`` are not
watched: they follow the branches of the recording or are reported. Threads of the program are watched.

A cached result hides the function that made it. The ``functools.lru_cache`` of the program's own files are
therefore emptied before the first run; a cache of another kind is not seen.
"""

from __future__ import annotations

import functools
import gc
import os
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import dpaudit
from dpaudit.attacks.raising import catchers_in, raising_lines, raising_spans
from dpaudit.coins import Coins, Program, Replayer

__all__ = ["Watch", "excuse_for"]

_HARNESS = str(Path(dpaudit.__file__).parent) + os.sep
_BUNDLED = _HARNESS + "_reference" + os.sep
_INSTALLED = tuple(
    sorted({sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")})
)


class Watch:
    """Lines that ``program`` enters when it is run as ``watch.program``."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._own = _package_folder(program)
        self._left: dict[CodeType, set[int]] = {}
        self._globals: dict[CodeType, dict[str, Any]] = {}
        self._empty_caches()

    def program(self, coins: Coins, data: Any) -> Any:
        """The program, watched. Another tracer, such as a debugger's, is set aside."""
        if isinstance(coins, Replayer):
            return self._program(coins, data)
        with _tracing(self._enter):
            return self._program(coins, data)

    @property
    def functions(self) -> int:
        """How many functions of the program were entered."""
        return sum(1 for left in self._left.values() if left is not _OTHER)

    def aside(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """``function``, which is not part of the program, unwatched."""

        def unwatched(*arguments: Any) -> Any:
            with _tracing(None):
                return function(*arguments)

        return unwatched

    def missing(self) -> list[tuple[str, str]]:
        """Every line that was not entered, as ``file:line``, with the name of its function; in order."""
        found = {}
        whole = self._with_nested()
        catchers = tuple(item for code, names in whole.items() for item in catchers_in(code, names))
        for code, names in whole.items():
            left = self._left[code] if code in self._left else _lines(code) or {code.co_firstlineno}
            for line in left - raising_lines(code, names, catchers):
                found[code.co_filename, line] = (
                    f"{Path(code.co_filename).name}:{line}",
                    code.co_qualname.replace("<locals>.", ""),
                )
        return [found[key] for key in sorted(found)]

    def _with_nested(self) -> dict[CodeType, dict[str, Any]]:
        """The program's functions that were entered, and those defined inside of them, with their globals."""
        found: dict[CodeType, dict[str, Any]] = {}
        waiting = [(code, self._globals[code]) for code, left in self._left.items() if left is not _OTHER]
        while waiting:
            code, names = waiting.pop()
            if code not in found:
                found[code] = names
                waiting += [(item, names) for item in code.co_consts if isinstance(item, CodeType)]
        return found

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        left = self._left.get(code)
        if left is None:
            left = self._left[code] = _lines(code) if self._is_own(code.co_filename) else _OTHER
            self._globals[code] = frame.f_globals
        if not left:
            return None
        spans = raising_spans(code)
        if all(any(line in span for span in spans) for line in left):
            # Only statements that raise are left: the exception tells of them, no need for every line.
            frame.f_trace_lines = False

            def by_exception(frame: FrameType, event: str, argument: Any) -> Any:
                if event == "exception":
                    for span in spans:
                        if frame.f_lineno in span:
                            left.difference_update(span)
                return by_exception

            return by_exception

        def line_by_line(frame: FrameType, event: str, argument: Any) -> Any:
            if event == "line":
                left.discard(frame.f_lineno)
            return line_by_line

        return line_by_line

    def _empty_caches(self) -> None:
        for item in gc.get_objects():
            if isinstance(item, functools._lru_cache_wrapper):
                code = getattr(item.__wrapped__, "__code__", None)
                if code is not None and self._is_own(code.co_filename):
                    item.cache_clear()

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
    return str(path.parent) + os.sep if path.name == "__init__.py" else str(path)


def _lines(code: CodeType) -> set[int]:
    """The lines of a function's body."""
    return {line for _, _, line in code.co_lines() if line is not None and line != code.co_firstlineno}


def excuse_for(function: str, unentered: Mapping[str, str]) -> str | None:
    """The name in ``unentered`` that excuses ``function``: its own, or that of one that it is defined in."""
    parts = function.split(".")
    names = (".".join(parts[:end]) for end in range(len(parts), 0, -1))
    return next((name for name in names if name in unentered), None)


@contextmanager
def _tracing(tracer: Callable[[FrameType, str, Any], Any] | None) -> Iterator[None]:
    """``tracer`` in this thread and in those that it starts; then the one before."""
    before, before_in_threads = sys.gettrace(), threading.gettrace()
    threading.settrace(tracer)
    sys.settrace(tracer)
    try:
        yield
    finally:
        sys.settrace(before)
        threading.settrace(before_in_threads)
