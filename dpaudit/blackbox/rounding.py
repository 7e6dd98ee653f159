"""Numbers without noise that differ by rounding alone: over the reals, which a claim is about by default,
they may be one number. What is left of a sum from which its mean was taken is 0, and 0.1 + 0.2 is 0.3.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["ROUNDING", "Rounded", "differ_by_rounding", "largest_number"]

#: For each number of an output what it is taken to be, and how far from that it may lie.
Rounded = dict[int, tuple[float, float]]

#: Differences of this share of what was computed with come from rounding (a float has 53 binary digits).
ROUNDING = 2.0**-44
#: Larger inputs are not taken to have gone into what is shown.
LARGEST = 2.0**20


def largest_number(rows: NDArray[np.float64], *, labels_below: float) -> float:
    """The size of the largest number in some inputs, at most ``LARGEST``; 0 where there is none."""
    numbers = np.abs(rows[(rows > labels_below) & np.isfinite(rows)])
    return min(float(numbers.max()), LARGEST) if numbers.size else 0.0


def differ_by_rounding(values: NDArray[np.float64], pairs: int, *, largest: float) -> Rounded:
    """Which numbers of the first outputs are the same in each output on an input, and as good as the same on
    the other one. ``values``: shape (2 pairs, d), those on the first input before; ``largest``: of the
    inputs. Whole numbers that differ are left alone: these are counts, and no rounding.
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
