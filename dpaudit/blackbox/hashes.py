"""Hash rows of numbers, to recognise outputs that are equal as a whole."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["hash_rows"]

#: Rows of at most this many numbers are hashed column by column.
NARROW = 16


def hash_rows(values: NDArray[np.float64], salt: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each row, by splitmix64.

    Equal rows have equal hashes. A collision only reduces power.
    """
    bits = np.where(np.isnan(values), np.nan, values).view(np.uint64)
    result = _mix(salt)
    if bits.shape[1] <= NARROW:
        for column in bits.T:
            result = _mix(result ^ column)
        return result
    # Hash many columns at once: mix each value with its place, and mix the sum again.
    places = _mix(np.arange(bits.shape[1], dtype=np.uint64))
    return _mix(result ^ _mix(bits ^ places).sum(axis=1, dtype=np.uint64))


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    x = x + np.uint64(0x9E3779B97F4A7C15)  # unsigned arrays wrap around silently
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: NDArray[np.uint64] = x ^ (x >> np.uint64(31))
    return mixed
