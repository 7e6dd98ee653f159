"""Numbers without noise that differ by rounding alone: over the reals, which a claim is about by default,
they may be one number. What is left of a sum from which its mean was taken is 0, and 0.1 + 0.2 is 0.3.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import nullcontext, suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.rounding_modes import MODES, rounding_mode

__all__ = ["Rounded", "differ_by_rounding", "largest_number", "unrounded_share"]

#: For each number of an output what it is taken to be, and how far from that it may lie.
Rounded = dict[int, tuple[float, float]]

#: Differences of this share of what was computed with come from rounding (a float has 53 binary digits).
ROUNDING = 2.0**-44
#: Larger inputs are not taken to have gone into what is shown.
LARGEST = 2.0**20
#: Runs in all rounding modes, on each input.
RUNS_IN_MODES = 3


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


def unrounded_share(
    mechanism: Callable[..., Any], left: Any, right: Any, *, seed: int, size: int | None = None
) -> float:
    """The least share of the difference between outputs on two inputs that the mechanism's own rounding
    cannot explain, by runs with equal generators in all rounding modes of the processor: 1 where nothing is
    rounded. Outputs that are no numbers must not change with the mode. Numbers as good as equal are left
    out. Runs that raise, and a mechanism that does not repeat itself, say nothing."""
    least = 1.0
    for number in range(RUNS_IN_MODES):
        sides = []
        for data in (left, right):
            runs = []
            for mode in (None, *MODES, None):
                arguments = [copy.deepcopy(data), np.random.default_rng([seed, number])]
                arguments += [] if size is None else [size]
                with suppress(Exception), nullcontext() if mode is None else rounding_mode(mode):
                    runs.append(mechanism(*arguments))
            sides.append([_flat(output) for output in runs])
        one, other = sides
        if min(len(one), len(other)) < len(MODES) + 2:
            continue
        if any(repr(side[0]) != repr(side[-1]) for side in sides):
            return 1.0
        if any(said != side[0][1] for side in sides for _, said in side):
            return 0.0
        if one[0][1] != other[0][1]:
            continue
        ranges = [np.array([numbers for numbers, _ in side]) for side in sides]
        gap = np.abs(ranges[0][0] - ranges[1][0])
        low, high = ([pick(side, axis=0) for side in ranges] for pick in (np.min, np.max))
        certain = np.maximum(np.maximum(low[0] - high[1], low[1] - high[0]), 0.0)
        sizes = np.maximum(np.abs(ranges[0][0]), np.abs(ranges[1][0]))
        apart = np.isfinite(gap) & (gap > ROUNDING * np.maximum(sizes, 1.0))
        if apart.any():
            least = min(least, float(np.min(certain[apart] / gap[apart])))
    return least


def _flat(output: Any) -> tuple[list[float], str]:
    """The numbers of an output, and all else of it."""
    if isinstance(output, bool | np.bool_):
        return [], repr(output)
    if isinstance(output, int | float | np.number):
        return [float(np.real(output))], "number"
    if isinstance(output, np.ndarray) and output.dtype.kind in "fiu":
        return output.astype(float).ravel().tolist(), f"array {output.shape}"
    if isinstance(output, dict):
        output = list(output.items())
    if isinstance(output, list | tuple | np.ndarray):
        parts = [_flat(item) for item in output]
        return [number for numbers, _ in parts for number in numbers], f"[{', '.join(s for _, s in parts)}]"
    return [], output if isinstance(output, str) else type(output).__name__
