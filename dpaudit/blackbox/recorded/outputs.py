"""An output as a flat list of what it shows: numbers, and labels for everything else, each with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from dpaudit.core.tables import table_parts

__all__ = ["Leaf", "leaves"]

#: Entries of an output that are looked at.
SHOWN = 512

#: A number in a text: its values are shown numbers, the text around them a label.
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.]*\w)")

#: One shown value with its place in the output; a number, or a text that stands for what is none.
Leaf = tuple[str, float | str]


def leaves(output: Any) -> list[Leaf]:
    """The first ``SHOWN`` entries of an output, in its own order (a set's in the order of their texts)."""
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
