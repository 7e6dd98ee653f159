"""Identify numbers without noise that differ by rounding only.

A claim is about real numbers by default, and over the reals such numbers may be equal. For example, the sum
of deviations from the mean is 0, and 0.1 + 0.2 is 0.3.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["ROUNDING", "Rounded", "differ_by_rounding", "largest_number"]

#: Maps the index of a number in an output to its common value and the tolerance around it.
Rounded = dict[int, tuple[float, float]]

#: Differences up to this share of the numbers in a computation are rounding (a float has 53 binary digits).
ROUNDING = 2.0**-44
#: Cap on the size of inputs, because a larger input is not assumed to enter the output.
LARGEST = 2.0**20


def largest_number(rows: NDArray[np.float64], *, labels_below: float) -> float:
    """Return the size of the largest number in some inputs, at most ``LARGEST``, or 0 if there is none."""
    numbers = np.abs(rows[(rows > labels_below) & np.isfinite(rows)])
    return min(float(numbers.max()), LARGEST) if numbers.size else 0.0


def differ_by_rounding(values: NDArray[np.float64], pairs: int, *, largest: float) -> Rounded:
    """Return the numbers that are constant on each input and differ between the inputs by rounding only.

    ``values`` has shape (2 pairs, d), with the outputs on the first input first. ``largest`` is the size of
    the largest number in the inputs. Integers that differ are excluded, because they are counts and not
    rounded.
    """
    found: Rounded = {}
    if pairs < 2:
        return found
    one, other = values[:pairs], values[pairs:]
    constant = np.all(one == one[0], axis=0) & np.all(other == other[0], axis=0) & (one[0] != other[0])
    for column in np.flatnonzero(constant):
        left, right = float(one[0, column]), float(other[0, column])
        width = ROUNDING * max(abs(left), abs(right), largest)
        if (
            np.isfinite(width)
            and abs(left - right) <= width
            and not (left.is_integer() and right.is_integer())
        ):
            found[int(column)] = (left, width)
    return found
