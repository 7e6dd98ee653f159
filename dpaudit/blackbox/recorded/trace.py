"""What was heard in one run: every draw with its family, its parameters and its place in the source.

A draw is listed once, where the function asks for it: what a generator asks itself for on the way (the
uniforms behind ``random.gauss``, the generator behind a scipy distribution) is part of it.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

__all__ = ["Draw", "Place", "Seeding", "Trace", "elements_of", "number"]

#: Modules whose own frames are not the caller's.
_PASSED = ("dpaudit.blackbox.recorded", "numpy", "scipy", "random", "secrets", "uuid")
#: Parameters that say how many values to draw and in which form, not from which distribution.
_FORM = frozenset({"size", "dtype", "out", "method", "random_state", "shuffle", "axis", "discrete"})
#: Draws that are kept; a run that draws more is heard to the end and counted only.
KEPT = 4096


@dataclass(frozen=True)
class Place:
    """Where in the source a call stands: lines from 1, columns from 0 (in UTF-8 bytes), as ``ast`` counts."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    function: str

    def __str__(self) -> str:
        return f"{Path(self.file).name}, line {self.line}"


@dataclass(frozen=True)
class Draw:
    """One call for randomness: ``source`` is ``numpy``, ``numpy (legacy)``, ``random``, ``secrets`` or
    ``scipy``; ``values`` a copy of what came out."""

    source: str
    family: str
    parameters: Mapping[str, Any]
    values: Any
    place: Place

    @property
    def count(self) -> int:
        """How many numbers came out; 1 for what is none, such as bytes."""
        return int(np.size(self.values)) if not isinstance(self.values, bytes | str) else 1

    def __str__(self) -> str:
        inside = ", ".join(f"{name}={_short(value)}" for name, value in self.parameters.items())
        times = f" x {self.count}" if self.count != 1 else ""
        return f"{self.family}({inside}){times}"


@dataclass(frozen=True)
class Seeding:
    """A generator that was given a seed inside the run: of the program's own, or (``drawn``) one that moves
    with the numbers that were drawn before."""

    what: str
    seed: Any
    place: Place
    drawn: bool = False

    def __str__(self) -> str:
        return f"{self.what}({_short(self.seed)}) in {self.place}"


@dataclass
class Trace:
    """What is heard. ``changes`` maps (draw, element) to a number that is added to what comes out there."""

    changes: Mapping[tuple[int, int], float] = field(default_factory=dict)
    #: Draws of an earlier run: what comes from the system's randomness, which has no seed, comes as it did.
    earlier: Sequence[Draw] = ()
    draws: list[Draw] = field(default_factory=list)
    seedings: list[Seeding] = field(default_factory=list)
    #: Numbers drawn by the calls beyond ``KEPT``, and whether a generator moved on without a call heard.
    more: int = 0
    unheard: bool = False
    #: Generators that the function made without a seed.
    made: int = 0
    thread: int = field(default_factory=threading.get_ident)
    _inside: bool = False
    _states: dict[int, tuple[Any, Any]] = field(default_factory=dict)

    def follow(self, bit_generator: Any) -> None:
        """Watch the state of a generator, so that draws past the listener are noticed."""
        self._states.setdefault(id(bit_generator), (bit_generator, _state(bit_generator)))

    def hear(
        self, source: str, family: str, parameters: Callable[[], Mapping[str, Any]], draw: Callable[[], Any]
    ) -> Any:
        """Let ``draw`` happen and write it down, unless it is a part of one that is being written down."""
        if self._inside:
            return draw()
        self.compare_states()
        said, place = _distributions_of(parameters()), _caller()
        self._inside = True
        try:
            values = draw()
        finally:
            self._inside = False
            self._note_states()
        if len(self.draws) >= KEPT:
            self.more += int(np.size(values))
            return values
        values = _changed(self._as_before(source, family, values), self.changes, len(self.draws))
        self.draws.append(Draw(source, family, said, _copied(values), place))
        return values

    def _as_before(self, source: str, family: str, values: Any) -> Any:
        before = self.earlier[len(self.draws)] if len(self.draws) < len(self.earlier) else None
        if before is None or source != "secrets" or before.family != family:
            return values
        return before.values if np.size(before.values) == np.size(values) else values

    def hear_seed(self, what: str, seed: Any) -> None:
        """Write down a seed that the program chose."""
        if not self._inside:
            self.seedings.append(Seeding(what, seed, _caller()))

    def reseed(self, seed: Callable[[], Any]) -> Any:
        """Let a generator be given a seed, which is no draw."""
        self.compare_states()
        try:
            return seed()
        finally:
            self._note_states()

    def _note_states(self) -> None:
        self._states = {key: (item, _state(item)) for key, (item, _) in self._states.items()}

    def compare_states(self) -> None:
        """See whether a watched generator moved on by itself since the last draw that was heard."""
        if not self.unheard and len(self.draws) < KEPT:
            self.unheard = any(_state(item) != state for item, state in self._states.values())


def elements_of(draw: Draw) -> int:
    """How many of a draw's numbers can be changed one by one; 0 for orders, labels and bytes."""
    if draw.family in ("shuffle", "permutation", "permuted", "bytes", "multinomial"):
        return 0
    if draw.family in ("choice", "choices", "sample") and not _numeric(draw.values):
        return 0
    return draw.count if _numeric(draw.values) else 0


def number(value: Any) -> float | None:
    """A parameter that is one number, or an array of equal ones."""
    try:
        flat = np.unique(np.asarray(value, dtype=float))
    except (TypeError, ValueError):
        return None
    return float(flat[0]) if len(flat) == 1 else None


def _numeric(values: Any) -> bool:
    if isinstance(values, list):
        return bool(values) and all(isinstance(value, int | float) for value in values)
    return isinstance(values, int | float | np.number | np.ndarray) and np.asarray(values).dtype.kind in "iuf"


def _changed(values: Any, changes: Mapping[tuple[int, int], float], index: int) -> Any:
    for (draw, element), change in changes.items():
        if draw != index:
            continue
        if isinstance(values, np.ndarray):
            values.flat[element] += np.asarray(change).astype(values.dtype)
        elif isinstance(values, list):
            values[element] += type(values[element])(change)
        else:
            values = type(values)(values + type(values)(change))
    return values


def _copied(values: Any) -> Any:
    return values.copy() if isinstance(values, np.ndarray | list) else values


def _distributions_of(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _copied(value) for name, value in parameters.items() if name not in _FORM}


def _state(bit_generator: Any) -> Any:
    """The state in a form that can be compared; an array of it by its bytes."""
    state = bit_generator.state
    inner = state.get("state")
    if isinstance(inner, dict) and "key" in inner:
        return inner["key"].tobytes(), inner["pos"]
    return inner if isinstance(inner, dict) else repr(state)


def _caller() -> Place:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith(_PASSED):
        frame = frame.f_back
    if frame is None:
        return Place("?", 0, 0, 0, 0, "?")
    line, end, column, last = _position(frame.f_code, frame.f_lasti, frame.f_lineno)
    return Place(frame.f_code.co_filename, line, column, end, last, frame.f_code.co_name)


@lru_cache(maxsize=1024)
def _position(code: CodeType, instruction: int, line: int) -> tuple[int, int, int, int]:
    for index, position in enumerate(code.co_positions()):
        if 2 * index == instruction:
            start, end, column, last = position
            return start or line, end or line, column or 0, last or 0
    return line, line, 0, 0


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.size > 3:
        same = number(value)
        return f"{same:g} (all {value.size})" if same is not None else f"array of {value.size}"
    if isinstance(value, float | np.floating):
        return f"{float(value):.6g}"
    text = repr(value.tolist() if isinstance(value, np.ndarray | np.generic) else value)
    return text if len(text) <= 40 else f"{text[:36]} ..."
