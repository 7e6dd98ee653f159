"""Fields of a result that somebody else wrote: a field that is missing or of another type is no error, it is
shown as missing, or described.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpaudit.report.notation import clean, describe

__all__ = [
    "NOT_REPEATED",
    "STRENGTHS",
    "UNENTERED",
    "VERDICTS",
    "read_lines",
    "read_list",
    "read_object",
    "read_text",
]

#: How a note begins that excuses lines of a program: a page folds these.
UNENTERED = "not every line of "
VERDICTS = ("crashed", "refuted", "inconclusive", "consistent", "verified")
#: Weakest first: a verified row with less behind it needs attention before one with more.
STRENGTHS = ("none", "estimate", "computation", "witness", "tested", "accounted", "proved in scope", "proved")


#: Of one row, and after a number of rows, whose ``fresh_processes`` is 0.
NOT_REPEATED = "no program, so nothing was repeated in a fresh process"


def read_text(data: Mapping[str, Any], key: str) -> str:
    """A text field; empty if missing or null, described if it is something else."""
    value = data.get(key)
    return "" if value is None else clean(value if isinstance(value, str) else describe(value))


def read_lines(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """A list of sentences."""
    return tuple(line if isinstance(line, str) else describe(line) for line in read_list(data, key))


def read_list(data: Mapping[str, Any], key: str) -> list[Any]:
    """A list; empty for anything else."""
    value = data.get(key)
    return value if isinstance(value, list) else []


def read_object(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """An object; empty for anything else."""
    value = data.get(key)
    return value if isinstance(value, Mapping) else {}
