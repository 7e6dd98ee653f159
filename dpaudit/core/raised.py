"""Convert an exception to text: class, attributes, notes, cause and context.

A caller that catches an exception can read all of these. The text is equal for equal exceptions in any
process. The traceback is left out. An object that cannot be converted is represented by its type alone.
"""

from __future__ import annotations

from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any

import numpy as np

__all__ = ["held_by"]

#: Attributes of every exception that hold no data, or that the text contains under another name.
_OWN = frozenset({"__dict__", "__traceback__", "__weakref__", "__cause__", "__context__"})
#: Nested objects beyond this depth, and objects beyond this number, are represented by their types alone.
DEPTH, OBJECTS = 12, 10_000


def held_by(error: BaseException) -> str:
    """Return the text for ``error``. Equal exceptions have equal texts."""
    return _Reader().text(error)


class _Reader:
    """A writer for one exception. An object inside itself is written as the depth of the outer object."""

    def __init__(self) -> None:
        self._around: dict[int, int] = {}
        self._written = 0

    def text(self, value: Any, depth: int = 0) -> str:
        kind = type(value)
        name = f"{kind.__module__}.{kind.__qualname__}"
        if value is None or kind in (bool, int, float, complex, str, bytes):
            return f"{kind.__name__} {value!r}"
        if kind.__module__.startswith("dpaudit.coins"):
            return "coins"  # a different interpreter of the coins in each run
        if id(value) in self._around:
            return f"again {self._around[id(value)]}"
        self._written += 1
        if depth > DEPTH or self._written > OBJECTS:
            return name
        self._around[id(value)] = depth
        try:
            return self._inside(value, name, depth)
        finally:
            del self._around[id(value)]

    def _inside(self, value: Any, name: str, depth: int) -> str:
        if isinstance(value, type):
            return f"class {value.__module__}.{value.__qualname__}"
        if isinstance(value, BaseException):
            return f"{name}({self._joined(self._parts_of(value), depth)})"
        if isinstance(value, np.ndarray) and value.dtype.kind in "biufcSUmM":
            return f"{name} {value.dtype.str} {value.shape} {value.tobytes().hex()}"
        if isinstance(value, list | tuple):
            return f"{name}[{', '.join(self.text(item, depth + 1) for item in value)}]"
        if isinstance(value, set | frozenset):
            return f"{name}{sorted(_Reader().text(item, depth + 1) for item in value)}"
        if isinstance(value, dict):
            pairs = (
                f"{self.text(key, depth + 1)}: {self.text(item, depth + 1)}" for key, item in value.items()
            )
            return f"{name}{{{', '.join(pairs)}}}"
        return f"{name}({self._saved(value, depth)})"

    def _parts_of(self, error: BaseException) -> list[tuple[str, Any]]:
        """Return the attributes by name, including class attributes and notes, then cause and context."""
        found: dict[str, Any] = {}
        for base in reversed(type(error).__mro__):
            for name, item in vars(base).items():
                if isinstance(item, GetSetDescriptorType | MemberDescriptorType) and name not in _OWN:
                    try:
                        found[name] = getattr(error, name)
                    except AttributeError:
                        continue  # a slot that was not set
                elif base.__module__ != "builtins" and not name.startswith("__") and not callable(item):
                    found[name] = item
        found |= vars(error)
        links = [("__cause__", error.__cause__), ("__context__", error.__context__)]
        mro = [("bases", [base for base in type(error).__mro__ if base is not object])]
        return [*mro, *sorted(found.items()), *links]

    def _joined(self, parts: list[tuple[str, Any]], depth: int) -> str:
        return ", ".join(f"{name}={self.text(part, depth + 1)}" for name, part in parts)

    def _saved(self, value: Any, depth: int) -> str:
        """Return the text of what pickle would save of an object, or an empty text if it cannot save it."""
        try:
            made = value.__reduce_ex__(2)
        except Exception:  # an object that cannot be pickled cannot be examined either
            return ""
        if not isinstance(made, tuple):
            return str(made)
        parts = [list(part) if part is not None and k > 2 else part for k, part in enumerate(made[1:], 1)]
        return ", ".join(self.text(part, depth + 1) for part in parts)
