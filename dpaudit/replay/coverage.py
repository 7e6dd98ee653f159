"""Which lines and branches of a program the replays entered: one that nothing entered is one that nothing
tested.

``consistent`` rests on replays, so every line of the program must have run in one of them, and
every condition must have come out both ways (docs/design.md, rule 10 b). ``Watch`` records the lines of the
functions that the program enters, in its own files, and the ways that their conditional jumps went
(``branches``). The harness, the standard library and the numeric libraries are left out. Functions of other
installed packages, and code without a file (``exec``), are not watched either, and ``unwatched`` names those
that the program called: whatever one of them does with its data, no replay says that it was tested.

Lines that raise count like any other, under the name ``function (raise)`` where nothing in the program
catches what they raise (``raising``): the condition of a refusal is a branch that data may decide. Other
conditions go under ``function (branch)``.

A function that is defined in an entered one and never called counts, however short it is. Runs under a
``Replayer`` are not watched: they follow the branches of the recording or are reported; but their steps in
loops without a sure end are counted. Threads of the program are watched.

What a constant decides (``constants``) does not count: no data could make it come out the other way.

A cached result hides the function that made it. The ``functools.lru_cache`` of the program's own files are
therefore emptied before the first run; a cache of another kind is not seen.
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

#: How a program is looked at.
_looking = monitored if AVAILABLE else traced


def _is_a_function(constant: object) -> bool:
    """Whether it is code of the source. What Python 3.14 makes of annotations runs only where somebody asks
    for them (PEP 649), and is known by its constant NotImplementedError, which a source only has as a name.
    """
    if not isinstance(constant, CodeType):
        return False
    common = constant.co_name == "__annotate__" and sys.version_info >= (3, 14)
    return not common or all(
        (step.opname, step.argrepr) != ("LOAD_COMMON_CONSTANT", "NotImplementedError")
        for step in dis.get_instructions(constant)
    )


class Watch:
    """Lines that ``program`` enters, and ways that it goes, when it is run as ``watch.program``.

    ``limit`` is how many lines one run may execute: beyond, it ends by ``StepLimitError``. ``steps`` is how
    many the last one did, ``stopped`` whether any run came to the limit. With ``tracking`` the ways of each
    run are kept in ``path``, with the names of their functions.
    """

    def __init__(self, program: Program, *, limit: int = 5_000_000) -> None:
        self._program = program
        self._own = _package_folder(program)
        self._others = installed_folders()
        # by the identity of code, which is kept inside: its hash is that of its constants, and costs more
        self._functions: dict[int, _Function] = {}
        self._foreign: dict[Purpose, dict[int, CodeType]] = {}
        self._run = 0
        self.limit = limit
        self.steps = 0
        self.stopped = False
        self.tracking = False
        self.path: set[tuple[str, Way]] = set()
        #: Functions that the program called and that are not watched, by name, and what they are.
        self.unwatched: dict[str, str] = {}
        #: What the program did outside of its process, in words.
        self.outside: dict[str, None] = {}
        self._threads: set[int] = set()
        self._empty_caches()
        self._reached = reached(program)  # before the first run, which may change it

    def program(self, coins: Coins, data: Any) -> Any:
        """The program, watched."""
        return self._seen("count loops" if isinstance(coins, Replayer) else "enter", coins, data)

    def counted(self, coins: Coins, data: Any) -> Any:
        """The program, held to the limit and not watched: what it enters here does not count as entered."""
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
        """The hash of each file of an installed package that was watched, which no suite is hashed with."""
        files = {function.code.co_filename for function in self._functions.values()}
        return {
            file: hashlib.sha256(Path(file).read_bytes()).hexdigest()
            for file in sorted(files)
            if file.startswith(self._others) and not is_program_file(file) and Path(file).is_file()
        }

    @property
    def functions(self) -> int:
        """How many functions of the program were entered."""
        return len(self._functions)

    def aside(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """``function``, which is not part of the program, unwatched."""

        def unwatched(*arguments: Any) -> Any:
            with _looking(None):
                return function(*arguments)

        return unwatched

    def missing(self) -> list[tuple[str, str]]:
        """Every line that was not entered, as ``file:line``, and every condition that came out one way only,
        with the name of its function; in order.

        A function with lines that were not entered is not asked for the conditions that lead there.
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
        """The program's functions that were entered, and those defined inside of them, with their globals;
        only those that can be made, where ``possible`` says what can be."""
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
        """Whether there is anything to see in a call of ``code``, whose globals are ``names``."""
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
        """Code that is never followed, by its identity: kept here, so that no other gets the same."""
        return self._foreign.setdefault(purpose, {})

    def finished(self, code: CodeType) -> bool:
        """Whether a call of ``code`` shows nothing new, and its loops have an end."""
        return not self._functions[identity(code)].loops and self.entered(code)

    def entered(self, code: CodeType) -> bool:
        """Whether a call of ``code`` shows nothing new: all of it was entered and, where ways are tracked,
        it went every way in this run already."""
        function = self._functions[identity(code)]
        return not (function.left or self._of_interest(function))

    def _of_interest(self, function: _Function) -> set[Way]:
        """Where ways are tracked, those that the function did not go in this run; otherwise in no run."""
        if not self.tracking:
            return function.open
        if function.run != self._run:
            function.run, function.to_come = self._run, set(function.ways)
        return function.to_come

    def step(self) -> None:
        """One more line; raises ``StepLimitError`` beyond the limit."""
        self.steps += 1
        if self.steps > self.limit:
            self.stop()

    def stop(self) -> None:
        """Raise ``StepLimitError``: there were more lines than the limit."""
        self.stopped = True
        raise StepLimitError(f"more than {self.limit} lines executed")

    def line(self, code: CodeType, number: int) -> None:
        """A line is about to be executed: a step, too."""
        self.steps += 1
        if self.steps > self.limit:
            self.stop()
        self._functions[identity(code)].left.discard(number)

    def way(self, code: CodeType, way: Way) -> None:
        """A condition came out."""
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
        """The lines on which conditions are of interest; one that no longer is leaves the set, until a run
        asks again."""
        function = self._functions[identity(code)]
        function.asked = function.lines_with(self._of_interest(function))
        return function.asked

    def _empty_caches(self) -> None:
        # What refers to the type: to look at every object would copy what this process shares with another.
        # By their very types, since a proxy would answer for another one.
        kind = functools._lru_cache_wrapper
        for item in [item for item in gc.get_referrers(kind) if issubclass(type(item), kind)]:
            code = getattr(item.__wrapped__, "__code__", None)
            if code is not None and self._is_own(code.co_filename):
                item.cache_clear()

    def _is_settled(self, code: CodeType, names: dict[str, Any]) -> bool:
        """Whether nothing more can be said of code that is not watched: it is a library's, or it is named in
        ``unwatched``. What was called by somebody else than the program, the program may call later."""
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
        """Whether the call of ``code`` that begins now comes from the program: not from an import, the
        collector, a print or a thread that was there before."""
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
    """What is known of a function of the program: the lines and ways that no run entered yet, and in the
    ``run`` of that number the ways to come and the lines that are asked for."""

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
        """The lines where the conditions of ``ways`` are."""
        lines = {condition.line for condition, _ in ways}
        return {jump.line for jump in self._jumps if jump.condition.line in lines or jump.line in lines}


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


def _name_of(code: CodeType) -> str:
    return code.co_qualname.replace("<locals>.", "")


def _is_of_a_class(code: CodeType) -> bool:
    """Whether code is a method that ``dataclass`` or ``attrs`` writes for a class, from its fields alone."""
    return code.co_qualname.startswith("__create_fn__.") or code.co_filename.startswith("<attrs generated")


def _lines(code: CodeType) -> set[int]:
    """The lines of a function's body."""
    return {line for _, _, line in code.co_lines() if line is not None and line != code.co_firstlineno}


def excuse_for(function: str, unentered: Mapping[str, str]) -> str | None:
    """The name in ``unentered`` that excuses ``function``: its own, or that of one that it is defined in.

    ``"name (raise)"`` speaks of lines and conditions that only lead to an error, ``"name (branch)"`` of other
    conditions, ``"name"`` of both and of every other line.
    """
    whole, bracket, kind = function.partition(" (")
    parts = whole.split(".")
    names = [".".join(parts[:end]) for end in range(len(parts), 0, -1)]
    asked = [f"{name}{bracket}{kind}" for name in names]
    return next((name for name in [*asked, *names] if name in unentered), None)
