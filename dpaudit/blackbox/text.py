"""Read numbers inside text, and name the numbers in an output.

Text is a pattern with numbers in it: ``"sum: 3.5 of 7"`` is ``"sum: # of #"`` with 3.5 and 7. A name is the
expression that accesses a number: ``output['sum'][0]``.
"""

from __future__ import annotations

import re
from collections.abc import ItemsView, KeysView, Mapping, Sequence, ValuesView
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.blackbox.integers import MODULO, are_huge, is_huge
from dpaudit.blackbox.objects import is_missing, parts_of_object
from dpaudit.blackbox.times import MAX_FIELDS, seconds_of, time_numbers, without_numpy
from dpaudit.core.tables import table_parts

__all__ = ["as_text", "column_names", "is_whole", "numbers_in", "plain", "value_of_member"]

#: A number that is not part of a word or another number.
_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
#: More digits than a float holds, such as bits. They are read one by one.
_DIGITS = re.compile(r"(?<![\w.])\d{16,}(?![\w.])")
_BLANKS = re.compile(" +")


def plain(part: Any) -> Any:
    """Convert a numpy scalar to a Python number, text, time or tuple, and a missing value to None."""
    if not isinstance(part, np.generic):
        return None if is_missing(part) else part
    if isinstance(part, np.datetime64 | np.timedelta64):
        return without_numpy(part)
    item = part.item()
    if isinstance(item, np.generic):  # extended precision, which Python numbers lack
        return complex(item) if isinstance(item, np.complexfloating) else float(item)
    return item


def is_whole(part: Any) -> bool:
    """Return whether this is read as one number or one label."""
    return part is None or isinstance(part, bool | int | float | Enum | Fraction | Decimal)


def value_of_member(part: Any) -> bool | int | float | None:
    """Return the value of an enumeration member if it is a number, or None."""
    if not isinstance(part, Enum):
        return None
    value = plain(part.value)
    return value if isinstance(value, bool | int | float) and value == value else None


def numbers_in(text: str) -> tuple[list[float], str]:
    """Return the separate numbers in the text, and the text with ``#`` for them and single blanks.

    Words of digits that are too long for a float are read digit by digit.
    """
    text = _DIGITS.sub(lambda digits: " ".join(digits[0]), text)
    numbers = [float(found) for found in _NUMBER.findall(text)]
    return (numbers, _BLANKS.sub(" ", _NUMBER.sub("#", text))) if numbers else ([], text)


def as_text(output: Any) -> str | None:
    """Return the text of a string, or of bytes that are plain text, or None."""
    if isinstance(output, str):
        return str(output)
    if isinstance(output, bytes) and output.isascii():
        return output.decode("ascii")
    return None


def column_names(output: Any, name: str = "output") -> list[str]:
    """Return the expressions that access the numbers and labels of an output, in reading order."""
    output = plain(output)
    if is_huge(output):
        return [name, name + MODULO]
    if value_of_member(output) is not None:
        return [f"{name}.value"]
    moment = time_numbers(output)
    if moment is not None:
        return [name + place for place in moment[1]]
    text = None if is_whole(output) else as_text(output)
    if text is not None:
        count = len(numbers_in(text)[0])
        the = "the " if name == "output" else ""
        if count <= 1:
            return [f"the number in {the}{name}" if count else name]
        return [f"number {k + 1} in {the}{name}" for k in range(count)]
    parts = None if is_whole(output) or isinstance(output, bytes | type) else _parts(output)
    return (
        [name]
        if parts is None
        else [found for place, part in parts for found in column_names(part, name + place)]
    )


def _both(places: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Return the names of the two numbers that represent each integer, if one of the integers is huge."""
    return [(name + more, 0) for name, _ in places for more in ("", MODULO)]


def _parts(output: Any) -> list[tuple[str, Any]]:
    """Return the parts of a container or object, in order, with the expressions that access them."""
    if isinstance(output, complex):
        return [(".real", output.real), (".imag", output.imag)]
    if isinstance(output, np.ma.MaskedArray):
        return [(".data", np.ma.getdata(output)), (".mask", np.ma.getmaskarray(output))]
    if isinstance(output, np.ndarray):
        output = seconds_of(output) if output.dtype.kind in "mM" and output.size > MAX_FIELDS else output
        places = [(f"[{', '.join(map(str, place))}]", output[place]) for place in np.ndindex(output.shape)]
        return _both(places) if are_huge(output) else places
    if isinstance(output, Sequence):
        places = [(f"[{k}]", part) for k, part in enumerate(output)]
        return _both(places) if are_huge(output) else places
    if isinstance(output, Mapping):
        return [(f"[{key!r}]", output[key]) for key in sorted(output, key=repr)]
    if isinstance(output, set | frozenset):
        return [(f" (element {k + 1})", part) for k, part in enumerate(sorted(output, key=repr))]
    if isinstance(output, ValuesView | KeysView | ItemsView):
        return _parts(list(output))
    table = table_parts(output)
    if table is not None:
        return table[1]
    return _parts(np.asarray(output)) if hasattr(output, "__array__") else parts_of_object(output) or []
