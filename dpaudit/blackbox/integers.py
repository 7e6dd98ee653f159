"""Integers that a float does not hold to the last digit (beyond 2^53), such as sums modulo 2^64: each is read
as two numbers, its size, as near as a float gets, and itself modulo 2^53, from -2^52 on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["BEYOND", "MODULO", "are_huge", "both_numbers", "is_huge"]

#: How such a number is called in a shape, and how its digits are reached.
BEYOND, MODULO = "beyond 2^53", " modulo 2^53"

_LIMIT = 2**53


def is_huge(value: Any) -> bool:
    """Whether this is an integer beyond 2^53."""
    return type(value) is int and not -_LIMIT <= value <= _LIMIT


def are_huge(values: Sequence[Any] | NDArray[Any]) -> bool:
    """Whether an array or a sequence holds integers alone, of which at least one is beyond 2^53."""
    if not isinstance(values, np.ndarray):
        return any(map(is_huge, values)) and all(type(value) is int for value in values)
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8 or not values.size:
        return False
    return bool(values.max() > _LIMIT or (values.dtype.kind == "i" and values.min() < -_LIMIT))


def both_numbers(values: Sequence[int]) -> list[float]:
    """The size of each integer and itself modulo 2^53, one after the other."""
    return [number for value in values for number in (_size(value), _last_digits(value))]


def _size(value: int) -> float:
    try:
        return float(value)
    except OverflowError:  # beyond all floats is where it belongs
        return float("inf") if value > 0 else -float("inf")


def _last_digits(value: int) -> float:
    return float((value + _LIMIT // 2) % _LIMIT - _LIMIT // 2)
