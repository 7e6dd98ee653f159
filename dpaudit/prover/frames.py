"""One run of a program whose data tell where it is: at the head of its loop over them.

``Records`` stands in the place of the data. When the program asks it for the next record, the caller's frame
is at the head of the loop, and the frame's locals are the state: whoever follows the run reads them, replaces
them, and says what comes next (a record, the end of the data, or the end of the run). Nothing else can be
done with ``Records``, and only one loop, directly in the program, may ask it (H3)."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, NoReturn

from dpaudit.prover.opcodes import LoopPlaces
from dpaudit.prover.symbols import Follower, RefusedError, Symbolic

__all__ = ["END", "Records", "Visit"]

#: What ``arrive`` returns when the data are at their end.
END = object()


class _HeadSignal(BaseException):
    """The run has reached the head of the loop and is over; no program can catch it (H2)."""


class Visit:
    """One run of ``program(coins, data)``. ``arrive(visit, frame)`` is called whenever the program asks for a
    record: the next one is what it returns, or ``END``; ``stop`` ends the run there."""

    def __init__(
        self, places: LoopPlaces, follower: Follower, arrive: Callable[[Visit, FrameType], Any]
    ) -> None:
        self.places, self.follower, self._arrive = places, follower, arrive
        self.asked = self.arrived = 0
        self.stopped = False
        self.coins: Any = None
        self.records = Records(self)

    def run(self, program: Callable[..., Any], coins: Any) -> tuple[bool, Any]:
        """Whether the program came to its end, and what it returned then."""
        self.coins = coins
        try:
            result = called(program, coins, self.records)
        except _HeadSignal:
            return False, None
        if self.stopped:
            self.follower.refuse("the program went on after the end of a step")
        return True, result

    def stop(self) -> BaseException:
        """What to raise to end the run here."""
        self.stopped = True
        return _HeadSignal()

    # What the records ask.

    def opened(self, frame: FrameType) -> None:
        """An iteration begins: only by the program's own ``for``, and only once (H3)."""
        self.asked += 1
        if self.asked > 1:
            self.follower.refuse("the data were iterated twice")
        self._require_here(frame, self.places.starts, "iterated by something else than a loop of the program")

    def next(self, frame: FrameType) -> Any:
        """The program is at the head of its loop."""
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
        """All locals but the two arguments, which must still be what they were (H1)."""
        values = dict(frame.f_locals)
        for name, own in zip(self.places.arguments, (self.coins, self.records), strict=True):
            if values.pop(name, None) is not own:
                self.follower.refuse(f"the argument {name!r} was bound to something else")
        for name in self.places.code.co_freevars:
            values.pop(name, None)
        return values

    def install(self, frame: FrameType, values: dict[str, Any]) -> None:
        """Make ``values`` the locals: all others are unbound (H1)."""
        kept = {*self.places.arguments, *self.places.code.co_freevars}
        table = frame.f_locals
        for name in [name for name in table if name not in kept]:
            del table[name]
        table.update(values)
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(1))
        found = self.read(frame)
        if found.keys() != values.keys() or any(found[name] is not values[name] for name in values):
            raise RefusedError("the state of a frame could not be replaced; the prover cannot follow this.")


def called(program: Callable[..., Any], coins: Any, records: Any) -> Any:
    """The call of the program: the frame below the program's own is this one."""
    return program(coins, records)


_CALLED: CodeType = called.__code__


class Records(Symbolic):
    """The data under a generic step: a loop may ask for the next record, and that is all."""

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
