"""Findings of a verification about parts of a report, and the first difference between two parts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

__all__ = ["Finding", "first_difference", "id_of"]

_MISSING: Any = object()


@dataclass(frozen=True)
class Finding:
    """A finding about one part of a report.

    Parameters
    ----------
    id : str
        The id of the result.
    ok : bool
        Whether the part is confirmed.
    what, reason : str
        The kind of part, and the reason.
    taken : bool
        Whether the part was taken from the report without computing it again.
    tier : str
        The tier of the kernel that a certificate needs.
    """

    id: str
    ok: bool
    what: str
    reason: str
    taken: bool = False
    tier: str = ""


def id_of(result: Any) -> str:
    """Return the id of a result, shortened, or ``?`` if it has none."""
    return str(result.get("id", "?"))[:200] if isinstance(result, dict) else "?"


def first_difference(written: Any, wanted: Any, *, name: str, where: tuple[str, str]) -> str:
    """Return the first place below ``name`` at which two pieces of JSON differ, with both values.

    An example is ``evidence[0].bound: '1' in the report, '1/2' here``, where ``where`` names the two sides.
    The text is empty if they are equal.
    """
    for path, left, right in _differences(written, wanted, name):
        start = max(0, _same_until(left, right) - 30)
        shown = [_shown(side, start) for side in (left, right)]
        return f"{path}: {shown[0]} {where[0]}, {shown[1]} {where[1]}"
    return ""


def _same_until(left: Any, right: Any) -> int:
    """Return the length of the common prefix of two strings, or 0 for anything else."""
    if not (isinstance(left, str) and isinstance(right, str)):
        return 0
    pairs = enumerate(zip(left, right, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(left), len(right)))


def _shown(side: Any, start: int) -> str:
    """Return a value on one line. A long text starts shortly before the place of the difference."""
    if side is _MISSING:
        return "nothing"
    return ("..." if start else "") + repr(side[start:] if start else side)[:80]


def _differences(left: Any, right: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        for key in [*right, *(key for key in left if key not in right)]:
            step = f"{path}.{str(key)[:40]}" if path else str(key)[:40]
            yield from _differences(left.get(key, _MISSING), right.get(key, _MISSING), step)
    elif isinstance(left, list | tuple) and isinstance(right, list | tuple):
        for number, (one, other) in enumerate(zip_longest(left, right, fillvalue=_MISSING)):
            yield from _differences(one, other, f"{path}[{number}]")
    elif _MISSING in (left, right) or json.dumps(left) != json.dumps(right):
        yield path, left, right
