"""Record what a program executes with ``sys.settrace``: each line, and the outcome of each condition.

A tracer receives lines. It receives single operations only on request, and these are slow. It requests them
on lines with a condition that may still have another outcome: the operation after a jump shows where it went.
Primitives of the coins are hidden from the tracer if no code of the program runs in them
(``dpaudit.coins.unwatched``).
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any, Literal, Protocol

from dpaudit.coins.unwatched import HIDES
from dpaudit.distributions.identity import identity
from dpaudit.replay.branches import Condition, has_open_loop, jumps_of

__all__ = ["Listener", "Purpose", "Way", "traced"]

#: A condition with a description of one of its outcomes.
Way = tuple[Condition, str]
#: What a run records: the lines and outcomes it has, or only its length, in loops that may not end or
#: everywhere.
Purpose = Literal["enter", "count loops", "count"]

Tracer = Callable[[FrameType, str, Any], Any]


class Listener(Protocol):
    """The receiver of reports. ``steps`` counts the lines so far, and a tracer may increase it itself."""

    steps: int
    limit: int

    def follows(self, code: CodeType, names: dict[str, Any], purpose: Purpose) -> bool:
        """Return whether to trace calls of ``code``, whose globals are ``names``."""

    def step(self) -> None:
        """Count one line. Raises at the limit."""

    def stop(self) -> None:
        """Raise because there were more lines than the limit."""

    def line(self, code: CodeType, number: int) -> None:
        """Record that a line is about to run, and count it."""

    def way(self, code: CodeType, way: Way) -> None:
        """Record the outcome of a condition."""

    def asked(self, code: CodeType) -> set[int]:
        """Return the lines whose conditions still need tracing. Other lines leave the set."""

    def finished(self, code: CodeType) -> bool:
        """Return whether the rest of a call of ``code`` can add nothing new."""

    def entered(self, code: CodeType) -> bool:
        """Return whether only the number of its lines can be new."""

    def foreign(self, purpose: Purpose) -> Mapping[int, CodeType]:
        """Return code that is never traced, by identity."""


@contextmanager
def traced(listener: Listener | None, purpose: Purpose = "enter") -> Iterator[None]:
    """Report to ``listener`` what runs in this thread and in those it starts, or nothing for ``None``.

    Another tracer, such as a debugger's, is suspended.
    """
    tracer = None if listener is None else _tracer(listener, purpose)
    before, before_in_threads = sys.gettrace(), threading.gettrace()
    threading.settrace(tracer)
    sys.settrace(tracer)
    try:
        yield
    finally:
        sys.settrace(before)
        threading.settrace(before_in_threads)


def _tracer(listener: Listener, purpose: Purpose) -> Tracer:
    foreign = listener.foreign(purpose)
    # Keyed by identity, because hashing code hashes its constants. The entry keeps the code alive.
    followed: dict[int, _Followed] = {}
    limit = listener.limit

    def counting(frame: FrameType, event: str, argument: Any) -> Any:
        listener.steps += 1  # inline, because a call would take as long as all the rest
        if listener.steps > limit:
            listener.stop()
        return counting

    def counting_lines(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            listener.steps += 1
            if listener.steps > limit:
                listener.stop()
        return counting_lines

    def tracer(frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        key = identity(code)
        if key in foreign:  # most calls
            return None
        known = followed.get(key)
        if known is None:
            if not listener.follows(code, frame.f_globals, purpose):
                return None
            known = followed[key] = _Followed(code, purpose, listener)
        if purpose != "enter":
            return counting
        if not known.asked and listener.entered(code):
            frame.f_trace_opcodes = False  # a generator's frame may have kept an earlier setting
            return counting_lines if known.endless else None
        return _line_by_line(listener, known)

    setattr(tracer, HIDES, True)
    return tracer


class _Followed:
    """The state of one run for a traced function."""

    def __init__(self, code: CodeType, purpose: Purpose, listener: Listener) -> None:
        self.code = code
        self.asked = listener.asked(code) if purpose == "enter" else set()
        self.jumps = dict(jumps_of(code)) if purpose == "enter" else {}
        self.gone: dict[int, bool] = {}
        self.entered: set[int] = set()
        self.endless = has_open_loop(code)  # count its lines to the end

    def went(self, at: int, to: int) -> Way | None:
        """Return the outcome of the jump from offset ``at`` to ``to``, or ``None`` if the run had it before.

        A jump with both outcomes is no longer traced. Any thread may call this at any time.
        """
        jump, before = self.jumps.get(at), self.gone.get(at)
        if jump is None or before is (taken := to == jump.target):
            return None
        self.gone[at] = taken
        if before is not None:
            self.jumps.pop(at, None)
        return jump.condition, jump.taken if taken else jump.passed


def _line_by_line(listener: Listener, known: _Followed) -> Tracer:
    """Return the tracer of one call of a function."""
    code, jumps, asked, entered, endless = known.code, known.jumps, known.asked, known.entered, known.endless
    went, limit = known.went, listener.limit
    pending: int | None = None  # the offset of a jump whose outcome shows in the next operation
    asks: bool | None = None  # the frame's setting, which a generator's frame may keep from an earlier call

    def line_by_line(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal pending, asks
        if event == "opcode":
            at = frame.f_lasti
            if pending is not None:
                way = went(pending, at)
                if way is not None:
                    listener.way(code, way)
            pending = at if at in jumps else None
        elif event == "line":
            if pending is not None:
                way = went(pending, frame.f_lasti)
                pending = None
                if way is not None:
                    listener.way(code, way)
            line = frame.f_lineno
            if line in entered:
                listener.steps += 1
                if listener.steps > limit:
                    listener.stop()
            else:
                entered.add(line)
                listener.line(code, line)
            if asks is not (line in asked):
                frame.f_trace_opcodes = asks = line in asked
            if not asked and not endless and listener.finished(code):
                frame.f_trace_lines = False
        elif event != "return" and event != "call":
            pending = None
        return line_by_line

    return line_by_line
