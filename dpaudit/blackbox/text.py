"""Numbers inside text, and the names of the numbers in an output.

Text is a pattern with numbers in it: ``"sum: 3.5 of 7"`` is ``"sum: # of #"`` with 3.5 and 7. A name is how
the user reaches a number: ``output['sum'][0]``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.errors import MechanismError

__all__ = ["as_text", "attributes", "column_names", "is_whole", "numbers_in", "plain"]

#: A number that does not continue a word or another number.
_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
#: More digits than a float holds: bits, or digits that are read one by one.
_DIGITS = re.compile(r"(?<![\w.])\d{16,}(?![\w.])")
_BLANKS = re.compile(" +")


def plain(part: Any) -> Any:
    """A numpy scalar as Python's own number, text or tuple; anything else as it is."""
    if not isinstance(part, np.generic):
        return part
    item = part.item()
    if isinstance(item, np.generic):  # extended precision: there is no such Python number
        return complex(item) if isinstance(item, np.complexfloating) else float(item)
    return item


def is_whole(part: Any) -> bool:
    """Whether this is read as one number or one label."""
    return part is None or isinstance(part, bool | int | float | Enum | Fraction | Decimal)


def numbers_in(text: str) -> tuple[list[float], str]:
    """The numbers that stand alone in the text, and the text with ``#`` for them and single blanks.
    Words of digits that are too long for a float are read digit by digit.
    """
    text = _DIGITS.sub(lambda digits: " ".join(digits[0]), text)
    numbers = [float(found) for found in _NUMBER.findall(text)]
    return (numbers, _BLANKS.sub(" ", _NUMBER.sub("#", text))) if numbers else ([], text)


def as_text(output: Any) -> str | None:
    """The text of strings, of bytes that are plain text, and of times; ``None`` for anything else."""
    if isinstance(output, str):
        return str(output)
    if isinstance(output, date | time | timedelta):
        return str(output)
    if isinstance(output, bytes) and output.isascii():
        return output.decode("ascii")
    return None


def attributes(output: Any) -> dict[str, Any]:
    """What an object holds: the fields of a data class, or its attributes.

    Raises ``MechanismError`` for an object that holds nothing to see.
    """
    if is_dataclass(output) and not isinstance(output, type):
        return {item.name: getattr(output, item.name) for item in fields(output)}
    held = {} if callable(output) else getattr(output, "__dict__", {})
    if not held:
        raise MechanismError(
            "an output must be made of numbers, text, None and containers or objects that hold these, got "
            f"{type(output).__name__}; convert it before it is returned."
        )
    return dict(sorted(held.items()))


def column_names(output: Any, name: str = "output") -> list[str]:
    """How to reach each number or label of an output, in the order in which they are read."""
    output = plain(output)
    text = None if is_whole(output) else as_text(output)
    if text is not None:
        count = len(numbers_in(text)[0])
        the = "the " if name == "output" else ""
        if count <= 1:
            return [f"the number in {the}{name}" if count else name]
        return [f"number {k + 1} in {the}{name}" for k in range(count)]
    parts = None if is_whole(output) or isinstance(output, bytes) else _parts(output)
    return (
        [name]
        if parts is None
        else [found for place, part in parts for found in column_names(part, name + place)]
    )


def _parts(output: Any) -> list[tuple[str, Any]]:
    """The parts of a container or object, in order, with how to reach them."""
    if isinstance(output, complex):
        return [(".real", output.real), (".imag", output.imag)]
    if isinstance(output, np.ma.MaskedArray):
        return [(".data", np.ma.getdata(output)), (".mask", np.ma.getmaskarray(output))]
    if isinstance(output, np.ndarray):
        return [(f"[{', '.join(map(str, place))}]", output[place]) for place in np.ndindex(output.shape)]
    if isinstance(output, Sequence):
        return [(f"[{k}]", part) for k, part in enumerate(output)]
    if isinstance(output, Mapping):
        return [(f"[{key!r}]", output[key]) for key in sorted(output, key=repr)]
    if isinstance(output, set | frozenset):
        return [(f" (element {k + 1})", part) for k, part in enumerate(sorted(output, key=repr))]
    if hasattr(output, "__array__"):
        return _parts(np.asarray(output))
    return [(f".{key}", part) for key, part in attributes(output).items()]
