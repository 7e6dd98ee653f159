"""Read fields of a report that another program may have written.

A field that is missing or has an unexpected type is not an error. It is shown as missing, or described.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpaudit.report.notation import clean, describe

__all__ = [
    "NO_PROGRAM",
    "STRENGTHS",
    "VERDICTS",
    "read_lines",
    "read_list",
    "read_object",
    "read_text",
]

VERDICTS = ("crashed", "refuted", "inconclusive", "consistent", "verified")
#: Weakest first, because a row with weaker evidence needs attention first.
STRENGTHS = ("none", "estimate", "computation", "witness", "tested", "accounted", "proved in scope", "proved")

#: What a row with ``fresh_processes`` equal to 0 "has".
NO_PROGRAM = "no program to run again in a fresh process"


def read_text(data: Mapping[str, Any], key: str) -> str:
    """Return a text field. It is empty if missing or null, and described if it has another type."""
    value = data.get(key)
    return "" if value is None else clean(value if isinstance(value, str) else describe(value))


def read_lines(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Return a list of sentences."""
    return tuple(line if isinstance(line, str) else describe(line) for line in read_list(data, key))


def read_list(data: Mapping[str, Any], key: str) -> list[Any]:
    """Return a list, or an empty list if the field is anything else."""
    value = data.get(key)
    return value if isinstance(value, list) else []


def read_object(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return an object, or an empty one if the field is anything else."""
    value = data.get(key)
    return value if isinstance(value, Mapping) else {}
