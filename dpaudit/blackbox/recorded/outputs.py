"""Flatten an output into a list of numbers and labels, each with its place in the output."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from dpaudit.core.tables import table_parts

__all__ = ["Leaf", "leaves"]

#: Largest number of entries of an output that are read.
SHOWN = 512

#: A number in a text. Its value is a returned number, and the text around it is a label.
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.]*\w)")

#: A value with its place in the output. It is a number, or a text that represents any other value.
Leaf = tuple[str, float | str]


def leaves(output: Any) -> list[Leaf]:
    """Return the first ``SHOWN`` entries of an output in order, with sets ordered by their texts."""
    found: list[Leaf] = []
    for leaf in _walk(output, ""):
        found.append(leaf)
        if len(found) == SHOWN:
            break
    return found


def _walk(value: Any, path: str) -> Iterator[Leaf]:
    if isinstance(value, bool | int | float | np.bool_ | np.integer | np.floating):
        yield path, float(value)
    elif isinstance(value, np.ndarray):
        if value.ndim:
            for place in range(min(len(value), SHOWN)):
                yield from _walk(value[place], f"{path}[{place}]")
        else:
            yield from _walk(value.item(), path)
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _walk(part, f"{path}[{key!r}]")
    elif isinstance(value, list | tuple):
        for place, part in enumerate(value):
            yield from _walk(part, f"{path}[{place}]")
    elif isinstance(value, set | frozenset):
        for place, part in enumerate(sorted(value, key=repr)):
            yield from _walk(part, f"{path}{{{place}}}")
    elif is_dataclass(value) and not isinstance(value, type):
        for part in fields(value):
            yield from _walk(getattr(value, part.name), f"{path}.{part.name}")
    elif (table := table_parts(value)) is not None:
        for name, part in table[1]:
            yield from _walk(part, f"{path}{name}")
        yield path, table[0]
    elif isinstance(value, str):
        for place, text in enumerate(_NUMBER.findall(value)):
            yield f"{path}~{place}", float(text)
        yield f"{path}~", _NUMBER.sub("#", value)
    else:
        yield path, f"{type(value).__name__} {value!r}"
