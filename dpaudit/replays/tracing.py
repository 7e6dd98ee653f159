"""What a program executes, seen by ``sys.settrace``: each line, and the way that each condition goes.

A tracer is told of lines; of single operations only where it asks, and these cost most. It asks on lines with
a condition that may still come out another way: where a jump goes shows in the operation after it.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any, Literal, Protocol

from dpaudit.replays.branches import Condition, Jump, jumps_of

__all__ = ["Listener", "Purpose", "Way", "traced"]

#: A condition with one of its outcomes, in words.
Way = tuple[Condition, str]
#: What a run is looked at for: what it enters, or only how long it is, where a loop may have no end or
#: everywhere.
Purpose = Literal["enter", "count loops", "count"]

Tracer = Callable[[FrameType, str, Any], Any]


class Listener(Protocol):
    """Who is told what the program does."""

    def follows(self, code: CodeType, names: dict[str, Any], purpose: Purpose) -> bool:
        """Whether to look at calls of ``code``, whose globals are ``names``."""

    def step(self) -> None:
        """One more line; raises at the limit."""

    def line(self, code: CodeType, number: int) -> None:
        """A line is about to be executed: a step, too."""

    def way(self, code: CodeType, way: Way) -> None:
        """A condition came out."""

    def asked(self, code: CodeType) -> set[int]:
        """The lines on which conditions are of interest."""


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
    def counting(frame: FrameType, event: str, argument: Any) -> Any:
        listener.step()
        return counting

    def tracer(frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if not listener.follows(code, frame.f_globals, purpose):
            return None
        return _line_by_line(listener, code) if purpose == "enter" else counting

    return tracer


def _line_by_line(listener: Listener, code: CodeType) -> Tracer:
    """The tracer of one call of ``code``."""
    jumps = jumps_of(code)
    asked = listener.asked(code)
    pending: Jump | None = None

    def line_by_line(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal pending
        if event == "opcode" or event == "line":
            offset = frame.f_lasti
            if pending is not None:
                way = (pending.condition, pending.taken if offset == pending.target else pending.passed)
                pending = None
                listener.way(code, way)
            if event == "line":
                line = frame.f_lineno
                listener.line(code, line)
                frame.f_trace_opcodes = line in asked
            else:
                pending = jumps.get(offset)
        elif event != "return" and event != "call":
            pending = None
        return line_by_line

    return line_by_line
