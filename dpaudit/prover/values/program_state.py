"""Find and undo what a run of a program changes in its own defaults, closure, globals and objects."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from dpaudit.prover.values.programs import unwrapped_program

__all__ = ["ProgramState"]

#: Limit on the objects that are looked at.
MAX_OBJECTS = 20_000


class ProgramState:
    """The objects that a program can reach and change, as they are now.

    Objects of other modules are not looked at, except lists, deques, dicts, sets and arrays.
    """

    def __init__(self, program: Callable[..., Any]) -> None:
        function, fixed, receiver = unwrapped_program(program)
        self._globals: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self._objects: dict[int, tuple[Any, Any]] = {}
        self._cells: dict[int, tuple[Any, Any]] = {}
        pending: list[Any] = [function, *fixed.values(), *receiver]
        seen: set[int] = set()
        while pending and len(seen) < MAX_OBJECTS:
            value = pending.pop()
            if id(value) not in seen:
                seen.add(id(value))
                pending += self._parts(value, function.__module__)

    def _parts(self, value: Any, module: str) -> list[Any]:
        if isinstance(value, FunctionType):
            return self._of_function(value) if value.__module__ == module else []
        if isinstance(value, tuple | frozenset):
            return list(value)
        kept = _contents(value, module)
        if kept is None:
            return []
        self._objects[id(value)] = (value, kept)
        if isinstance(kept, np.ndarray):
            return list(kept.ravel()) if kept.dtype == object else []
        return list(kept.values()) if isinstance(kept, dict) else list(kept)

    def _of_function(self, function: FunctionType) -> list[Any]:
        known = function.__globals__
        names = {name: known[name] for name in set(_names(function.__code__)) if name in known}
        absent = {name: _ABSENT for name in set(_names(function.__code__)) if name not in known}
        self._globals.append((known, {**names, **absent}))
        parts = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values(), *names.values()]
        for cell in function.__closure__ or ():
            try:
                self._cells[id(cell)] = (cell, cell.cell_contents)
            except ValueError:  # an empty cell
                continue
            parts.append(cell.cell_contents)
        return parts

    def restored(self) -> bool:
        """Undo all changes, and return whether there was one."""
        changed = False
        for known, names in self._globals:
            for name, value in names.items():
                if known.get(name, _ABSENT) is not value:
                    changed = True
                    if value is _ABSENT:
                        del known[name]
                    else:
                        known[name] = value
        for cell, value in self._cells.values():
            if cell.cell_contents is not value:
                cell.cell_contents, changed = value, True
        for value, kept in self._objects.values():
            if not _same(value, kept):
                _refill(value, kept)
                changed = True
        return changed


_ABSENT = object()


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _contents(value: Any, module: str) -> Any:
    """Return a copy of what an object holds, or None if it holds nothing that is looked at."""
    if isinstance(value, list | deque | set):
        return list(value)
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, dict):
        return dict(value)
    kind = value if isinstance(value, type) else type(value)
    if kind.__module__ != module or not hasattr(value, "__dict__"):
        return None
    return _attributes(value)


def _attributes(value: Any) -> dict[str, Any]:
    return {name: part for name, part in vars(value).items() if not name.startswith("__")}


def _same(value: Any, kept: Any) -> bool:
    if isinstance(value, np.ndarray):
        if value.dtype != kept.dtype or value.shape != kept.shape:
            return False
        if value.dtype == object:
            return all(a is b for a, b in zip(value.ravel(), kept.ravel(), strict=True))
        return bool(value.tobytes() == kept.tobytes())
    if isinstance(kept, dict):
        now = value if isinstance(value, dict) else _attributes(value)
        return now.keys() == kept.keys() and all(now[name] is kept[name] for name in kept)
    return len(value) == len(kept) and all(a is b for a, b in zip(value, kept, strict=True))


def _refill(value: Any, kept: Any) -> None:
    if isinstance(value, np.ndarray):
        value[...] = kept
    elif isinstance(value, dict):
        value.clear()
        value.update(kept)
    elif isinstance(kept, dict):
        for name in _attributes(value).keys() - kept.keys():
            delattr(value, name)
        for name, part in kept.items():
            if vars(value).get(name) is not part:
                setattr(value, name, part)
    else:
        value.clear()
        (value.update if isinstance(value, set) else value.extend)(kept)
