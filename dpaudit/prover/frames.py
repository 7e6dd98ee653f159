"""Run a program and stop it at the head of its loop over the data, to read or replace its locals.

``Records`` takes the place of the data. When the program requests the next record, the caller's frame is at
the head of the loop, and the frame's locals are the state. The follower of the run reads them, replaces them,
and decides what comes next: a record, the end of the data, or the end of the run. ``Records`` supports no
other operation, and only one loop, directly in the program, may iterate over it (H3).
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, NoReturn

from dpaudit.prover.opcodes import LoopPlaces
from dpaudit.prover.symbols import Follower, RefusedError, Symbolic

__all__ = ["END", "Records", "Visit"]

#: The value that ``arrive`` returns at the end of the data.
END = object()


class _HeadSignal(BaseException):
    """The signal that ends a run at the head of the loop. No program under proof can catch it (H2)."""


class Visit:
    """One run of ``program(coins, data)``.

    ``arrive(visit, frame)`` is called whenever the program requests a record. It returns the next record or
    ``END``, or raises ``visit.stop()`` to end the run.
    """

    def __init__(
        self, places: LoopPlaces, follower: Follower, arrive: Callable[[Visit, FrameType], Any]
    ) -> None:
        self.places, self.follower, self._arrive = places, follower, arrive
        self.iterations = self.arrived = 0
        self.stopped = False
        self.coins: Any = None
        self.records = Records(self)

    def run(self, program: Callable[..., Any], coins: Any) -> tuple[bool, Any]:
        """Run the program. Return whether it reached its end, and its result then."""
        self.coins = coins
        try:
            result = called(program, coins, self.records)
        except _HeadSignal:
            return False, None
        if self.stopped:
            self.follower.refuse("the program continued after the end of a step")
        return True, result

    def stop(self) -> BaseException:
        """Return the exception to raise to end the run here."""
        self.stopped = True
        return _HeadSignal()

    # Methods that the records call.

    def opened(self, frame: FrameType) -> None:
        """Begin the iteration. Only a ``for`` loop of the program may begin it, and only once (H3)."""
        self.iterations += 1
        if self.iterations > 1:
            self.follower.refuse("the data were iterated twice")
        self._require_here(frame, self.places.starts, "not iterated by a loop of the program")

    def next(self, frame: FrameType) -> Any:
        """Return the next record. The program is at the head of its loop."""
        self._require_here(frame, self.places.heads, "iterated inside another loop, or not by a loop")
        self.arrived += 1
        record = self._arrive(self, frame)
        if record is END:
            raise StopIteration
        return record

    def _require_here(self, frame: FrameType, offsets: frozenset[int], what: str) -> None:
        direct = frame.f_code is self.places.code and (frame.f_back and frame.f_back.f_code) is _CALLED
        if not direct or frame.f_lasti not in offsets:
            self.follower.refuse(f"the data were {what} (line {frame.f_lineno})")

    # The state.

    def read(self, frame: FrameType) -> dict[str, Any]:
        """Return all locals except the two arguments, which must be unchanged (H1)."""
        values = dict(frame.f_locals)
        for name, own in zip(self.places.arguments, (self.coins, self.records), strict=True):
            if values.pop(name, None) is not own:
                self.follower.refuse(f"the argument {name!r} was bound to something else")
        for name in self.places.code.co_freevars:
            values.pop(name, None)
        return values

    def install(self, frame: FrameType, values: dict[str, Any]) -> None:
        """Make ``values`` the locals and unbind all other names (H1)."""
        kept = {*self.places.arguments, *self.places.code.co_freevars}
        table = frame.f_locals
        for name in [name for name in table if name not in kept]:
            del table[name]
        table.update(values)
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(1))
        found = self.read(frame)
        if found.keys() != values.keys() or any(found[name] is not values[name] for name in values):
            raise RefusedError("the locals of a frame could not be replaced.", code="E-FRAME-NOT-REPLACED")


def called(program: Callable[..., Any], coins: Any, records: Any) -> Any:
    """Call the program. This frame is the direct caller of the program's frame."""
    return program(coins, records)


_CALLED: CodeType = called.__code__


class Records(Symbolic):
    """The data under a generic step. A loop may request the next record, and nothing else."""

    __slots__ = ("_visit",)
    _kind = "the data"

    def __init__(self, visit: Visit) -> None:
        object.__setattr__(self, "_visit", visit)
        object.__setattr__(self, "_follower", visit.follower)

    def __iter__(self) -> _Iterator:
        self._visit.opened(sys._getframe(1))
        return _Iterator(self._visit)


class _Iterator:
    __slots__ = ("_visit",)

    def __init__(self, visit: Visit) -> None:
        self._visit = visit

    def __iter__(self) -> NoReturn:
        self._visit.follower.refuse("the iterator of the data was iterated")

    def __next__(self) -> Any:
        return self._visit.next(sys._getframe(1))
