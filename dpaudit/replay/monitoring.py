"""Record what a program executes with ``sys.monitoring``, which is faster than a tracer if Python has it.

The interpreter reports each line, conditional branch and jump of the traced functions. It reports other
functions only once, when they are first called. A jump back counts as a step, because a loop on one line
starts no new line. Other tools that monitor or trace, such as a debugger, are not disturbed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import CodeType
from typing import Any

from dpaudit.distributions.identity import identity
from dpaudit.replay.branches import jumps_of
from dpaudit.replay.tracing import Listener, Purpose, traced

__all__ = ["AVAILABLE", "monitored"]

_MONITORING: Any = getattr(sys, "monitoring", None)
#: Python 3.14 has other branch events, with which this code has never been run.
AVAILABLE = _MONITORING is not None and not hasattr(_MONITORING.events, "BRANCH_LEFT")

#: Tool numbers that Python does not reserve.
_FREE = (3, 4)


@contextmanager
def monitored(listener: Listener | None, purpose: Purpose = "enter") -> Iterator[None]:
    """Report to ``listener`` what is executed in any thread, or report nothing for ``None``.

    A nested run is the only one that is reported until it ends. If no tool number is free, use a tracer.
    """
    if not _MONITOR.available():
        with traced(listener, purpose):
            yield
        return
    before = _MONITOR.looking
    _MONITOR.look(None if listener is None else (listener, purpose))
    if before is None:
        _MONITOR.switch(on=listener is not None)
    try:
        yield
    finally:
        if before is None:
            _MONITOR.switch(on=False)
        _MONITOR.look(before)


class _Monitor:
    """The owner of a tool number in this process."""

    def __init__(self) -> None:
        self.looking: tuple[Listener, Purpose] | None = None
        self._tool: int | None = None
        self._last: Listener | None = None
        # Keyed by the identity of code, which ``_own`` keeps alive: equal code objects are traced separately.
        self._own: dict[int, tuple[CodeType, bool]] = {}
        self._followed: dict[Purpose, set[int]] = {}
        self._now: set[int] = set()

    def available(self) -> bool:
        """Return whether this process has a tool number. The first call takes the first free one."""
        if self._tool is None:
            self._tool = next((tool for tool in _FREE if _MONITORING.get_tool(tool) is None), None)
            if self._tool is not None:
                _MONITORING.use_tool_id(self._tool, "dpaudit")
        return self._tool is not None

    def look(self, looking: tuple[Listener, Purpose] | None) -> None:
        """Set the listener and the purpose of reports, or ``None`` for no reports."""
        self.looking = looking
        if looking is None:
            self._now = set()
            return
        listener, purpose = looking
        if listener is not self._last:
            for code, own in self._own.values():
                if own:
                    _MONITORING.set_local_events(self._tool, code, 0)
            self._last, self._own, self._followed = listener, {}, {}
            _MONITORING.restart_events()  # code without interest for one listener may matter to another
        self._now = self._followed.setdefault(purpose, set())

    def switch(self, *, on: bool) -> None:
        """Start or stop the interpreter's reports."""
        events = _MONITORING.events
        reported = {
            events.PY_START: self._start,
            events.LINE: self._line,
            events.BRANCH: self._branch,
            events.JUMP: self._jump,
        }
        for event, callback in reported.items():
            _MONITORING.register_callback(self._tool, event, callback if on else None)
        _MONITORING.set_events(self._tool, events.PY_START if on else 0)

    def _start(self, code: CodeType, offset: int) -> Any:
        """Handle a function call. A function outside the program is not reported again."""
        if self.looking is None or identity(code) in self._now:
            return None
        listener, purpose = self.looking
        names = sys._getframe(1).f_globals
        known = self._own.get(identity(code))
        if known is None:
            known = self._own[identity(code)] = code, listener.follows(code, names, "count")
            if known[1]:
                events = _MONITORING.events
                _MONITORING.set_local_events(self._tool, code, events.LINE | events.BRANCH | events.JUMP)
        if not known[1]:
            if identity(code) in listener.foreign("count"):
                return _MONITORING.DISABLE
            del self._own[identity(code)]  # check it again at its next call
            return None
        if listener.follows(code, names, purpose):
            self._now.add(identity(code))
        return None

    def _line(self, code: CodeType, number: int) -> None:
        if self.looking is not None and identity(code) in self._now:
            listener, purpose = self.looking
            if purpose == "enter":
                listener.line(code, number)
            else:
                listener.step()

    def _branch(self, code: CodeType, offset: int, destination: int) -> None:
        if self.looking is not None and self.looking[1] == "enter" and identity(code) in self._now:
            jump = jumps_of(code).get(offset)
            if jump is not None:
                taken = destination == jump.target
                self.looking[0].way(code, (jump.condition, jump.taken if taken else jump.passed))

    def _jump(self, code: CodeType, offset: int, destination: int) -> None:
        """Count a jump back within a line as a step, because no event reports the line again."""
        if (
            self.looking is not None
            and identity(code) in self._now
            and _within_a_line(code, offset, destination)
        ):
            self.looking[0].step()


_MONITOR = _Monitor()


@lru_cache(maxsize=4096)
def _within_a_line(code: CodeType, offset: int, destination: int) -> bool:
    """Return whether a jump goes back and stays on its line."""
    lines = [
        number
        for place in (offset, destination)
        for start, end, number in code.co_lines()
        if start <= place < end
    ]
    return destination < offset and len(set(lines)) == 1
