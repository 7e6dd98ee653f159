"""Read integers beyond 2^53, which a float does not hold exactly, such as sums modulo 2^64.

Each integer is read as two numbers: the nearest float, and its value modulo 2^53, starting at -2^52.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["BEYOND", "MODULO", "are_huge", "both_numbers", "is_huge"]

#: The words for such a number in a shape, and for its last digits in a name.
BEYOND, MODULO = "beyond 2^53", " modulo 2^53"

_LIMIT = 2**53


def is_huge(value: Any) -> bool:
    """Return whether the value is an integer beyond 2^53."""
    return type(value) is int and not -_LIMIT <= value <= _LIMIT


def are_huge(values: Sequence[Any] | NDArray[Any]) -> bool:
    """Return whether an array or a sequence holds only integers, and at least one of them beyond 2^53."""
    if not isinstance(values, np.ndarray):
        return any(map(is_huge, values)) and all(type(value) is int for value in values)
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8 or not values.size:
        return False
    return bool(values.max() > _LIMIT or (values.dtype.kind == "i" and values.min() < -_LIMIT))


def both_numbers(values: Sequence[int]) -> list[float]:
    """Return, for each integer in turn, the nearest float and its value modulo 2^53."""
    return [number for value in values for number in (_size(value), _last_digits(value))]


def _size(value: int) -> float:
    try:
        return float(value)
    except OverflowError:  # the integer is beyond the largest float
        return float("inf") if value > 0 else -float("inf")


def _last_digits(value: int) -> float:
    return float((value + _LIMIT // 2) % _LIMIT - _LIMIT // 2)
