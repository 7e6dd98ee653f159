"""Run a program with a limit on its lines, and record how its conditions came out.

Only functions of the program's own files are traced. The harness, the standard library and installed packages
are left out. A recording counts every line, and a run beyond the limit ends with ``StepLimitError``. A replay
counts only the lines of loops that may not end. With ``tracking``, a recording also keeps the outcome of each
conditional jump. Two runs with different outcomes behave differently, and the levels between them are
searched (``quantiles``). Several conditions on one line are told apart.

A tracer receives single operations only on request, and these are slow. It requests them on lines with a jump
that may still have another outcome: the operation after a jump shows where it went. Primitives of the coins
are hidden from the tracer if no code of the program runs in them (``dpaudit.coins.unwatched``). The program's
threads are traced.
"""

from __future__ import annotations

import dis
import functools
import gc
import hashlib
import os
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import dpaudit
from dpaudit.coins import Coins, Program, Replayer
from dpaudit.coins.limits import StepLimitError
from dpaudit.coins.outside import noting_outside
from dpaudit.coins.unwatched import HIDES
from dpaudit.core.harness import installed_folders, is_harness_file, is_program_file
from dpaudit.distributions.identity import identity

__all__ = ["Watch"]

Tracer = Callable[[FrameType, str, Any], Any]

#: Names of endless iterators: a ``for`` in code that names one counts as a loop like ``while``.
_ENDLESS = frozenset({"count", "cycle", "repeat", "iter"})


class Watch:
    """The program as ``watch.program``, with what its last run did.

    ``limit`` is the largest number of lines of one run. ``steps`` counts the lines of the last run.
    ``stopped`` is true once a run has reached the limit. With ``tracking``, ``path`` holds the outcomes of
    conditions in the last run.
    """

    def __init__(self, program: Program, *, limit: int = 5_000_000) -> None:
        self._program = program
        self._own = _package_folder(program)
        self._others = installed_folders()
        # Keyed by identity, because hashing code hashes its constants. The entry keeps the code alive.
        self._functions: dict[int, _Function] = {}
        self._run = 0
        self.limit = limit
        self.steps = 0
        self.stopped = False
        self.tracking = False
        self.path: set[tuple[int, int, bool]] = set()
        #: Descriptions of what the program did outside its process.
        self.outside: dict[str, None] = {}
        self._empty_caches()

    def program(self, coins: Coins, data: Any) -> Any:
        """Run the program under the line limit."""
        self.steps = 0
        self.path = set()
        self._run += 1
        with noting_outside() as outside:
            try:
                with _traced(self._tracer(loops_only=isinstance(coins, Replayer))):
                    result = self._program(coins, data)
                    return tuple(result) if isinstance(result, Generator) else result
            finally:
                self.outside.update(outside)

    def aside(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return ``function``, which is not part of the program, without tracing."""

        def untraced(*arguments: Any) -> Any:
            with _traced(None):
                return function(*arguments)

        return untraced

    def sources(self) -> dict[str, str]:
        """Return the hash of each traced file of an installed package, which no suite hash includes."""
        files = {function.code.co_filename for function in self._functions.values() if function.own}
        return {
            file: hashlib.sha256(Path(file).read_bytes()).hexdigest()
            for file in sorted(files)
            if file.startswith(self._others) and not is_program_file(file) and Path(file).is_file()
        }

    def _tracer(self, *, loops_only: bool) -> Tracer:
        functions, limit, tracking = self._functions, self.limit, self.tracking and not loops_only

        def counting(frame: FrameType, event: str, argument: Any) -> Any:
            self.steps += 1  # inline, because a call would take as long as all the rest
            if self.steps > limit:
                self.stop()
            return counting

        def tracer(frame: FrameType, event: str, argument: Any) -> Any:
            code = frame.f_code
            known = functions.get(identity(code))
            if known is None:
                known = functions[identity(code)] = _Function(code, own=self._is_own(code.co_filename))
            if not known.own or (loops_only and not known.loops):
                return None
            if not tracking:
                return counting
            known.begin(self._run)
            if known.open:
                return self._line_by_line(known, limit)
            frame.f_trace_opcodes = False  # a generator's frame may have kept an earlier setting
            return counting if known.loops else None

        setattr(tracer, HIDES, True)
        return tracer

    def _line_by_line(self, known: _Function, limit: int) -> Tracer:
        """Return the tracer of one call of a function, which records the outcomes of its conditions."""
        pending: int | None = None  # the offset of a jump whose outcome shows in the next operation

        def line_by_line(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal pending
            if event in ("opcode", "line"):
                if pending is not None:
                    self.path.add((identity(known.code), pending, known.went(pending, frame.f_lasti)))
                pending = frame.f_lasti if event == "opcode" and frame.f_lasti in known.open else None
            elif event == "exception":
                pending = None
            if event == "line":
                self.steps += 1
                if self.steps > limit:
                    self.stop()
                frame.f_trace_opcodes = frame.f_lineno in known.lines
            return line_by_line

        return line_by_line

    def stop(self) -> None:
        """Raise ``StepLimitError``."""
        self.stopped = True
        raise StepLimitError(f"more than {self.limit} lines executed")

    def _empty_caches(self) -> None:
        """Clear every ``functools.lru_cache`` of the program's own files. Cached results hide conditions."""
        # Only referrers of the type: reading every object would copy memory that this process shares with
        # another. Compare exact types, because a proxy would answer for another type.
        kind = functools._lru_cache_wrapper
        for item in [item for item in gc.get_referrers(kind) if issubclass(type(item), kind)]:
            code = getattr(item.__wrapped__, "__code__", None)
            if code is not None and self._is_own(code.co_filename):
                item.cache_clear()

    def _is_own(self, filename: str) -> bool:
        if filename.startswith("<") or is_harness_file(filename):
            return False  # "<" begins generated code, such as a dataclass's methods
        if is_program_file(filename) or (self._own is not None and filename.startswith(self._own)):
            return True
        return not filename.startswith(self._others)


class _Function:
    """One function, with the conditional jumps that may still have another outcome in the current run."""

    def __init__(self, code: CodeType, *, own: bool) -> None:
        self.code, self.own = code, own
        self.loops = own and _has_open_loop(code)
        self._jumps = _jumps_of(code) if own else {}
        self._run = 0
        self._gone: dict[int, bool] = {}
        self.open = self._jumps
        self.lines: set[int] = set()

    def begin(self, run: int) -> None:
        """Open all jumps at the first call in the run of this number."""
        if run != self._run:
            self._run, self._gone, self.open = run, {}, dict(self._jumps)
            self.lines = {line for line, _ in self.open.values()}

    def went(self, at: int, to: int) -> bool:
        """Return whether the jump at offset ``at`` was taken. A jump with both outcomes is closed.

        Any thread may call this at any time.
        """
        taken = to == self._jumps[at][1]
        if self._gone.setdefault(at, taken) is not taken:
            self.open.pop(at, None)
            self.lines = {line for line, _ in [*self.open.values()]}
        return taken


@contextmanager
def _traced(tracer: Tracer | None) -> Iterator[None]:
    """Trace this thread and those it starts. Another tracer, such as a debugger's, is suspended."""
    before, before_in_threads = sys.gettrace(), threading.gettrace()
    threading.settrace(tracer)
    sys.settrace(tracer)
    try:
        yield
    finally:
        sys.settrace(before)
        threading.settrace(before_in_threads)


def _jumps_of(code: CodeType) -> dict[int, tuple[int, int]]:
    """Return (line, target) of the conditional jumps of ``code``, by the offset that a tracer reports.

    The end of a ``for`` is no condition: its body is.
    """
    found: dict[int, tuple[int, int]] = {}
    line, first = code.co_firstlineno, None  # the first prefix of an operation is reported instead of it
    starts = {start: number for start, _, number in code.co_lines() if number is not None}
    for item in dis.get_instructions(code):
        line = starts.get(item.offset, line)
        first = item.offset if first is None else first
        if item.opname == "EXTENDED_ARG":
            continue
        if item.opname.startswith(("POP_JUMP", "JUMP_IF")):
            found |= dict.fromkeys({first, item.offset}, (line, int(item.argval)))
        first = None
    return found


def _has_open_loop(code: CodeType) -> bool:
    """Return whether ``code`` has a loop that may not end, or is a step of one (``__next__``).

    A ``for`` is assumed to end, unless the code names an iterator that does not.
    """
    if code.co_name == "__next__":
        return True
    ending = ("SEND",) if _ENDLESS.intersection(code.co_names) else ("FOR_ITER", "SEND")
    heads = {item.offset for item in dis.get_instructions(code) if item.opname in ending}
    jumps = [item for item in dis.get_instructions(code) if "JUMP" in item.opname]
    return any(item.argval < item.offset and item.argval not in heads for item in jumps)


def _package_folder(program: Callable[..., Any]) -> str | None:
    """Return the folder or file of the top-level package that defines the program's function."""
    while isinstance(program, partial):
        program = program.func
    name = getattr(program, "__module__", None) or type(program).__module__
    module = sys.modules.get(name.partition(".")[0])
    source = getattr(module, "__file__", None)
    if source is None or module is dpaudit or name.partition(".")[0] in sys.stdlib_module_names:
        return None
    path = Path(source)
    return str(path.parent) + os.sep if path.name == "__init__.py" else str(path)
