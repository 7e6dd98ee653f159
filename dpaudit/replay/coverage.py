"""Record which lines and branches of a program the replays ran. Code that never ran was never tested.

``consistent`` rests on replays, so every line of the program must run in at least one of them, and every
condition must have both outcomes (docs/design.md, rule 10 b). ``Watch`` records the lines of the functions
that the program calls, in its own files, and the outcomes of their conditional jumps (``branches``). The
harness, the standard library and the numeric libraries are left out. Functions of other installed packages,
and code without a file (``exec``), are not traced either. ``unwatched`` names those that the program called,
because no replay tests what they do with its data.

Lines that raise count like others, under the name ``function (raise)`` if nothing in the program catches
what they raise (``raising``): data may decide the condition of a refusal. Other conditions are listed under
``function (branch)``.

A function that is defined in a called one but never called itself counts, however short it is. Runs under a
``Replayer`` are not traced, because they follow the branches of the recording or are reported. Their steps in
loops that may not end are counted. Threads of the program are traced.

A condition that a constant decides (``constants``) does not count: no data could change its outcome.

A cached result hides the function that computed it. ``Watch`` therefore clears every ``functools.lru_cache``
of the program's own files before the first run. It does not detect other kinds of caches.
"""

from __future__ import annotations

import dis
import functools
import gc
import hashlib
import os
import sys
import threading
from collections.abc import Callable, Collection, Generator, Mapping
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import dpaudit
from dpaudit.coins import Coins, Program, Replayer
from dpaudit.coins.limits import StepLimitError
from dpaudit.coins.outside import noting_outside
from dpaudit.core.harness import (
    LIBRARIES,
    installed_folders,
    is_harness_file,
    is_library_file,
    is_program_file,
)
from dpaudit.distributions.identity import identity
from dpaudit.replay.branches import has_one_path, has_open_loop, jumps_of, raising_outcomes
from dpaudit.replay.constants import Constants, Possible, reached
from dpaudit.replay.monitoring import AVAILABLE, monitored
from dpaudit.replay.raising import catchers_in, raising_lines
from dpaudit.replay.tracing import Purpose, Way, traced

__all__ = ["Watch", "excuse_for"]

#: How lines and branches are recorded.
_looking = monitored if AVAILABLE else traced


def _is_a_function(constant: object) -> bool:
    """Return whether ``constant`` is code of the source.

    Python 3.14 also compiles annotations into a function that runs only when they are read (PEP 649). That
    code has the constant NotImplementedError, which source code can only have as a name.
    """
    if not isinstance(constant, CodeType):
        return False
    common = constant.co_name == "__annotate__" and sys.version_info >= (3, 14)
    return not common or all(
        (step.opname, step.argrepr) != ("LOAD_COMMON_CONSTANT", "NotImplementedError")
        for step in dis.get_instructions(constant)
    )


class Watch:
    """The lines that ``program`` runs and the outcomes of its conditions, when called as ``watch.program``.

    ``limit`` is the largest number of lines of one run: above it, the run ends with ``StepLimitError``.
    ``steps`` counts the lines of the last run. ``stopped`` is true once a run has reached the limit. With
    ``tracking``, ``path`` holds the outcomes of conditions in each run, with the names of their functions.
    """

    def __init__(self, program: Program, *, limit: int = 5_000_000) -> None:
        self._program = program
        self._own = _package_folder(program)
        self._others = installed_folders()
        # Keyed by identity, because hashing code hashes its constants. The entry keeps the code alive.
        self._functions: dict[int, _Function] = {}
        self._foreign: dict[Purpose, dict[int, CodeType]] = {}
        self._run = 0
        self.limit = limit
        self.steps = 0
        self.stopped = False
        self.tracking = False
        self.path: set[tuple[str, Way]] = set()
        #: Functions that the program called and that are not traced: name -> kind.
        self.unwatched: dict[str, str] = {}
        #: Descriptions of what the program did outside its process.
        self.outside: dict[str, None] = {}
        self._threads: set[int] = set()
        self._empty_caches()
        self._reached = reached(program)  # before the first run, which may change it

    def program(self, coins: Coins, data: Any) -> Any:
        """Run the program and record what it runs."""
        return self._seen("count loops" if isinstance(coins, Replayer) else "enter", coins, data)

    def counted(self, coins: Coins, data: Any) -> Any:
        """Run the program under the line limit, without recording what it runs."""
        return self._seen("count", coins, data)

    def _seen(self, purpose: Purpose, coins: Coins, data: Any) -> Any:
        self.steps = 0
        self.path = set()
        self._run += 1
        self._threads = {*sys._current_frames()}
        with noting_outside() as outside:
            try:
                with _looking(self, purpose):
                    result = self._program(coins, data)
                    return tuple(result) if isinstance(result, Generator) else result
            finally:
                self.outside.update(outside)

    def sources(self) -> dict[str, str]:
        """Return the hash of each traced file of an installed package, which no suite hash includes."""
        files = {function.code.co_filename for function in self._functions.values()}
        return {
            file: hashlib.sha256(Path(file).read_bytes()).hexdigest()
            for file in sorted(files)
            if file.startswith(self._others) and not is_program_file(file) and Path(file).is_file()
        }

    @property
    def functions(self) -> int:
        """Return how many functions of the program were called."""
        return len(self._functions)

    def aside(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return ``function``, which is not part of the program, without tracing."""

        def unwatched(*arguments: Any) -> Any:
            with _looking(None):
                return function(*arguments)

        return unwatched

    def missing(self) -> list[tuple[str, str]]:
        """Return every line that did not run, as ``file:line``, and every condition with only one outcome.

        Each comes with the name of its function, in order. A condition is left out if lines that it leads to
        are listed already.
        """
        found: dict[tuple[str, int, str], tuple[str, str]] = {}
        whole = self._with_nested()
        constants = Constants(self._reached, reached(self._program), [code for code, _ in whole])
        possible = {identity(code): constants.possible(code) for code, _ in whole}
        whole = self._with_nested(possible)
        catchers = tuple(item for code, names in whole for item in catchers_in(code, names))
        for code, names in whole:
            name = _name_of(code)
            file = Path(code.co_filename).name
            function = self._functions.get(identity(code))
            left = function.left if function is not None else _lines(code)
            ways = function.open if function is not None else set()
            can = possible[identity(code)]
            if can is not None:
                left, ways = left & can.lines, ways & can.ways
            if function is None and not left:
                left = {code.co_firstlineno}
            raising = raising_lines(code, names, catchers)
            for line in left:
                owner = f"{name} (raise)" if line in raising else name
                found[code.co_filename, line, ""] = (f"{file}:{line}", owner)
            refusals = raising_outcomes(code.co_filename)
            for condition, outcome in ways:
                refusal = (condition.line, condition.columns[0], outcome) in refusals
                if left & raising if refusal else left - raising:
                    continue
                where = f"{file}:{condition.line} (never {outcome})"
                owner = f"{name} ({'raise' if refusal else 'branch'})"
                found[code.co_filename, condition.line, f"{condition.columns}{outcome}"] = (where, owner)
        return [found[key] for key in sorted(found)]

    def _with_nested(
        self, possible: Mapping[int, Possible | None] | None = None
    ) -> list[tuple[CodeType, dict[str, Any]]]:
        """Return the called functions of the program and those defined in them, with their globals.

        With ``possible``, only functions that a run can create.
        """
        found: dict[int, tuple[CodeType, dict[str, Any]]] = {}
        waiting = [(function.code, function.names) for function in self._functions.values()]
        while waiting:
            code, names = waiting.pop()
            if identity(code) not in found:
                found[identity(code)] = code, names
                can = possible[identity(code)] if possible is not None else None
                waiting += [
                    (item, names)
                    for item in code.co_consts
                    if _is_a_function(item) and (can is None or identity(item) in can.made)
                ]
        return list(found.values())

    def follows(self, code: CodeType, names: dict[str, Any], purpose: Purpose) -> bool:
        """Return whether a call of ``code``, whose globals are ``names``, needs tracing."""
        known = identity(code) in self._functions
        own = known or self._is_own(code.co_filename)
        if not own and not self._is_settled(code, names):
            return False
        if purpose != "enter":
            follows = (purpose == "count" or has_open_loop(code)) and own
            if not follows:
                self.foreign(purpose)[identity(code)] = code
            return follows
        if not known:
            if not (own and _is_a_function(code)):
                self.foreign(purpose)[identity(code)] = code
                return False
            self._functions[identity(code)] = _Function(code, names)
        return not self.finished(code)

    def foreign(self, purpose: Purpose) -> dict[int, CodeType]:
        """Return code that is never traced, by identity. Keeping it alive keeps identities unique."""
        return self._foreign.setdefault(purpose, {})

    def finished(self, code: CodeType) -> bool:
        """Return whether a call of ``code`` can add nothing new, and its loops must end."""
        return not self._functions[identity(code)].loops and self.entered(code)

    def entered(self, code: CodeType) -> bool:
        """Return whether a call of ``code`` can add nothing new.

        All of it ran already and, with ``tracking``, every outcome already occurred in this run.
        """
        function = self._functions[identity(code)]
        return not (function.left or self._of_interest(function))

    def _of_interest(self, function: _Function) -> set[Way]:
        """Return the outcomes that did not occur yet: in this run with ``tracking``, otherwise in any run."""
        if not self.tracking:
            return function.open
        if function.run != self._run:
            function.run, function.to_come = self._run, set(function.ways)
        return function.to_come

    def step(self) -> None:
        """Count one line, and raise ``StepLimitError`` beyond the limit."""
        self.steps += 1
        if self.steps > self.limit:
            self.stop()

    def stop(self) -> None:
        """Raise ``StepLimitError``."""
        self.stopped = True
        raise StepLimitError(f"more than {self.limit} lines executed")

    def line(self, code: CodeType, number: int) -> None:
        """Record that a line is about to run, and count it."""
        self.steps += 1
        if self.steps > self.limit:
            self.stop()
        self._functions[identity(code)].left.discard(number)

    def way(self, code: CodeType, way: Way) -> None:
        """Record the outcome of a condition."""
        function = self._functions[identity(code)]
        ways = self._of_interest(function)
        is_new = way in ways
        ways.discard(way)
        function.open.discard(way)
        if self.tracking:
            self.path.add((function.name, way))
        if is_new and way[0].line not in {condition.line for condition, _ in ways}:
            function.asked &= function.lines_with(ways)

    def asked(self, code: CodeType) -> set[int]:
        """Return the lines whose conditions still need tracing.

        A line leaves the set when it no longer does, until a run calls this method again.
        """
        function = self._functions[identity(code)]
        function.asked = function.lines_with(self._of_interest(function))
        return function.asked

    def _empty_caches(self) -> None:
        # Only referrers of the type: reading every object would copy memory that this process shares with
        # another. Compare exact types, because a proxy would answer for another type.
        kind = functools._lru_cache_wrapper
        for item in [item for item in gc.get_referrers(kind) if issubclass(type(item), kind)]:
            code = getattr(item.__wrapped__, "__code__", None)
            if code is not None and self._is_own(code.co_filename):
                item.cache_clear()

    def _is_settled(self, code: CodeType, names: dict[str, Any]) -> bool:
        """Return whether untraced code needs no further check: a library's, or named in ``unwatched``.

        Code that something other than the program called needs one, because the program may call it later.
        """
        filename = code.co_filename
        if is_harness_file(filename) or is_library_file(filename):
            return True
        kind = "of an installed package"
        if filename.startswith("<"):
            module = str(names.get("__name__", "")).partition(".")[0]
            if module in LIBRARIES or module in sys.stdlib_module_names:
                return True
            if _is_of_a_class(code) or has_one_path(code):
                return True
            kind = "without a file of its own"
        if not self._is_called_by_the_program(code):
            return False
        self.unwatched.setdefault(f"{names.get('__name__', filename)}.{_name_of(code)}", kind)
        return True

    def _is_called_by_the_program(self, code: CodeType) -> bool:
        """Return whether the program made the call of ``code`` that begins now.

        Imports, the garbage collector, prints and threads that existed before do not count.
        """
        collecting = {identity(getattr(callback, "__code__", None)) for callback in gc.callbacks}
        streams = (sys.stdout, sys.stderr)
        frame: FrameType | None = sys._getframe()
        while frame is not None and frame.f_code is not code:
            frame = frame.f_back
        while frame is not None:
            caller = frame.f_code
            if caller is _SEEN:
                return True
            if caller.co_filename.startswith("<frozen importlib") or caller.co_name == "__del__":
                return False
            if identity(caller) in collecting or any(
                frame.f_locals.get("self") is stream for stream in streams
            ):
                return False
            frame = frame.f_back
        return threading.get_ident() not in self._threads

    def _is_own(self, filename: str) -> bool:
        if filename.startswith("<"):
            return False  # generated code, such as a dataclass's methods
        if is_harness_file(filename):
            return False
        if is_program_file(filename) or (self._own is not None and filename.startswith(self._own)):
            return True
        return not filename.startswith(self._others)


_SEEN = Watch._seen.__code__


class _Function:
    """What is known of one function: lines and outcomes that no run had yet.

    For the run number ``run`` it also holds the outcomes still to come and the lines that need tracing.
    """

    def __init__(self, code: CodeType, names: dict[str, Any]) -> None:
        self.code, self.names = code, names
        self.name = f"{code.co_qualname} in {code.co_filename}"
        self.loops = has_open_loop(code)
        self.left = _lines(code)
        self._jumps = tuple(jumps_of(code).values())
        self.ways = frozenset(
            (jump.condition, outcome) for jump in self._jumps for outcome in (jump.taken, jump.passed)
        )
        self.open = set(self.ways)
        self.run = 0
        self.to_come = set(self.ways)
        self.asked: set[int] = set()

    def lines_with(self, ways: Collection[Way]) -> set[int]:
        """Return the lines with the conditions of ``ways``."""
        lines = {condition.line for condition, _ in ways}
        return {jump.line for jump in self._jumps if jump.condition.line in lines or jump.line in lines}


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


def _name_of(code: CodeType) -> str:
    return code.co_qualname.replace("<locals>.", "")


def _is_of_a_class(code: CodeType) -> bool:
    """Return whether code is a method that ``dataclass`` or ``attrs`` generates from a class's fields."""
    return code.co_qualname.startswith("__create_fn__.") or code.co_filename.startswith("<attrs generated")


def _lines(code: CodeType) -> set[int]:
    """Return the lines of a function's body."""
    return {line for _, _, line in code.co_lines() if line is not None and line != code.co_firstlineno}


def excuse_for(function: str, unentered: Mapping[str, str]) -> str | None:
    """Return the key of ``unentered`` that excuses ``function``: its name, or that of an enclosing function.

    ``"name (raise)"`` covers lines and conditions that only lead to an error. ``"name (branch)"`` covers
    other conditions. ``"name"`` covers both, and every other line.
    """
    whole, bracket, kind = function.partition(" (")
    parts = whole.split(".")
    names = [".".join(parts[:end]) for end in range(len(parts), 0, -1)]
    asked = [f"{name}{bracket}{kind}" for name in names]
    return next((name for name in [*asked, *names] if name in unentered), None)
