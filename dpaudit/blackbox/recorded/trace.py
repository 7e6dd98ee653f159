"""Record every draw of one run with its family, its parameters and its place in the source.

A draw is listed once, at the call in the function. Draws that a generator makes internally (the uniforms
behind ``random.gauss``, the generator behind a scipy distribution) are part of it.
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

#: Modules whose frames are skipped in the search for the calling code.
_PASSED = ("dpaudit.blackbox.recorded", "numpy", "scipy", "random", "secrets", "uuid")
#: Parameters that set the number and form of the values, not their distribution.
_FORM = frozenset({"size", "dtype", "out", "method", "random_state", "shuffle", "axis", "discrete"})
#: Largest number of draws that are kept. Later draws of a run are only counted.
KEPT = 4096


@dataclass(frozen=True)
class Place:
    """Place of a call in the source: lines from 1, columns from 0 in UTF-8 bytes, as ``ast`` counts them."""

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
    """One call to a source of randomness.

    ``source`` is ``numpy``, ``numpy (legacy)``, ``random``, ``secrets`` or ``scipy``. ``values`` is a copy of
    the drawn values.
    """

    source: str
    family: str
    parameters: Mapping[str, Any]
    values: Any
    place: Place

    @property
    def count(self) -> int:
        """Return how many numbers were drawn. A value that is not a number, such as bytes, counts as 1."""
        return int(np.size(self.values)) if not isinstance(self.values, bytes | str) else 1

    def __str__(self) -> str:
        inside = ", ".join(f"{name}={_short(value)}" for name, value in self.parameters.items())
        times = f" x {self.count}" if self.count != 1 else ""
        return f"{self.family}({inside}){times}"


@dataclass(frozen=True)
class Seeding:
    """Seed that the program gave to a generator inside the run.

    ``drawn`` states whether the seed depends on numbers drawn before.
    """

    what: str
    seed: Any
    place: Place
    drawn: bool = False

    def __str__(self) -> str:
        return f"{self.what}({_short(self.seed)}) in {self.place}"


@dataclass
class Trace:
    """Record of one run. ``changes`` maps (draw, element) to a number that is added to the drawn value."""

    changes: Mapping[tuple[int, int], float] = field(default_factory=dict)
    #: Draws of an earlier run. The system's randomness has no seed, so its earlier values are repeated.
    earlier: Sequence[Draw] = ()
    draws: list[Draw] = field(default_factory=list)
    seedings: list[Seeding] = field(default_factory=list)
    #: Numbers drawn by calls beyond ``KEPT``, and whether a generator advanced without a recorded call.
    more: int = 0
    unrecorded: bool = False
    #: Generators that the function made without a seed.
    made: int = 0
    thread: int = field(default_factory=threading.get_ident)
    _inside: bool = False
    _states: dict[int, tuple[Any, Any]] = field(default_factory=dict)

    def follow(self, bit_generator: Any) -> None:
        """Watch the state of a generator, to notice draws that bypass the proxy."""
        self._states.setdefault(id(bit_generator), (bit_generator, _state(bit_generator)))

    def record(
        self, source: str, family: str, parameters: Callable[[], Mapping[str, Any]], draw: Callable[[], Any]
    ) -> Any:
        """Call ``draw`` and record it, unless it is part of a draw that is being recorded."""
        if self._inside:
            return draw()
        self.compare_states()
        given, place = _distributions_of(parameters()), _caller()
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
        self.draws.append(Draw(source, family, given, _copied(values), place))
        return values

    def _as_before(self, source: str, family: str, values: Any) -> Any:
        before = self.earlier[len(self.draws)] if len(self.draws) < len(self.earlier) else None
        if before is None or source != "secrets" or before.family != family:
            return values
        return before.values if np.size(before.values) == np.size(values) else values

    def record_seed(self, what: str, seed: Any) -> None:
        """Record a seed that the program chose."""
        if not self._inside:
            self.seedings.append(Seeding(what, seed, _caller()))

    def reseed(self, seed: Callable[[], Any]) -> Any:
        """Call ``seed``, which seeds a generator, without recording a draw."""
        self.compare_states()
        try:
            return seed()
        finally:
            self._note_states()

    def _note_states(self) -> None:
        self._states = {key: (item, _state(item)) for key, (item, _) in self._states.items()}

    def compare_states(self) -> None:
        """Check whether a watched generator advanced by itself since the last recorded draw."""
        if not self.unrecorded and len(self.draws) < KEPT:
            self.unrecorded = any(_state(item) != state for item, state in self._states.values())


def elements_of(draw: Draw) -> int:
    """Return how many numbers of a draw can be changed one by one. It is 0 for orders, labels and bytes."""
    if draw.family in ("shuffle", "permutation", "permuted", "bytes", "multinomial"):
        return 0
    if draw.family in ("choice", "choices", "sample") and not _numeric(draw.values):
        return 0
    return draw.count if _numeric(draw.values) else 0


def number(value: Any) -> float | None:
    """Return a parameter that is one number or an array of equal numbers, or None."""
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
    """Return the state of a generator in a form that can be compared. An array is converted to bytes."""
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
