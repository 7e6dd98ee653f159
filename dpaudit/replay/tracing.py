"""What a program executes, seen by ``sys.settrace``: each line, and the way that each condition goes.

A tracer is told of lines; of single operations only where it asks, and these cost most. It asks on lines with
a condition that may still come out another way: where a jump goes shows in the operation after it. Primitives
of the coins are hidden from it where nothing of the program's runs in them (``dpaudit.coins.unwatched``).
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

#: A condition with one of its outcomes, in words.
Way = tuple[Condition, str]
#: What a run is looked at for: what it enters, or only how long it is, where a loop may have no end or
#: everywhere.
Purpose = Literal["enter", "count loops", "count"]

Tracer = Callable[[FrameType, str, Any], Any]


class Listener(Protocol):
    """Who is told what the program does. ``steps`` are the lines so far, which a tracer may count itself."""

    steps: int
    limit: int

    def follows(self, code: CodeType, names: dict[str, Any], purpose: Purpose) -> bool:
        """Whether to look at calls of ``code``, whose globals are ``names``."""

    def step(self) -> None:
        """One more line; raises at the limit."""

    def stop(self) -> None:
        """More lines than the limit: raises."""

    def line(self, code: CodeType, number: int) -> None:
        """A line is about to be executed: a step, too."""

    def way(self, code: CodeType, way: Way) -> None:
        """A condition came out."""

    def asked(self, code: CodeType) -> set[int]:
        """The lines on which conditions are of interest; one that no longer is leaves the set."""

    def finished(self, code: CodeType) -> bool:
        """Whether nothing that a call of ``code`` still does is of interest."""

    def entered(self, code: CodeType) -> bool:
        """Whether nothing of it is but the number of its lines."""

    def foreign(self, purpose: Purpose) -> Mapping[int, CodeType]:
        """Code that is never followed, by its identity."""


@contextmanager
def traced(listener: Listener | None, purpose: Purpose = "enter") -> Iterator[None]:
    """Tell ``listener`` what is executed in this thread and in those that it starts; nobody for ``None``.
    Another tracer, such as a debugger's, is set aside."""
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
    # by the identity of code, which is kept beside: its hash is that of its constants, and costs more
    followed: dict[int, _Followed] = {}
    limit = listener.limit

    def counting(frame: FrameType, event: str, argument: Any) -> Any:
        listener.steps += 1  # a call would take as long as all the rest
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
            frame.f_trace_opcodes = False  # a generator's frame may have been told otherwise before
            return counting_lines if known.endless else None
        return _line_by_line(listener, known)

    setattr(tracer, HIDES, True)
    return tracer


class _Followed:
    """What one run knows of a function that is looked at."""

    def __init__(self, code: CodeType, purpose: Purpose, listener: Listener) -> None:
        self.code = code
        self.asked = listener.asked(code) if purpose == "enter" else set()
        self.jumps = dict(jumps_of(code)) if purpose == "enter" else {}
        self.gone: dict[int, bool] = {}
        self.entered: set[int] = set()
        self.endless = has_open_loop(code)  # its lines are counted to the end

    def went(self, at: int, to: int) -> Way | None:
        """The way that the jump at one offset went, to another; ``None`` for one that the run went before. A
        jump that went both ways is not looked for any more. Any thread may ask at any time."""
        jump, before = self.jumps.get(at), self.gone.get(at)
        if jump is None or before is (taken := to == jump.target):
            return None
        self.gone[at] = taken
        if before is not None:
            self.jumps.pop(at, None)
        return jump.condition, jump.taken if taken else jump.passed


def _line_by_line(listener: Listener, known: _Followed) -> Tracer:
    """The tracer of one call of a function."""
    code, jumps, asked, entered, endless = known.code, known.jumps, known.asked, known.entered, known.endless
    went, limit = known.went, listener.limit
    pending: int | None = None  # where a jump is that comes out with the next operation
    asks: bool | None = None  # what the frame was told; a generator's may keep it from an earlier call

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
