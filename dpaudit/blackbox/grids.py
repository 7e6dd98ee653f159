"""Compute features of the low-order bits of floats: the grid of an output, and whether it can be a given sum.

A float is a multiple of a power of two that grows with its size, and a sum of two floats is a multiple of the
coarser grid of the two. If a naive sampler adds noise to a number in floats, outputs near a cancellation lie
on a coarser grid than floats of their size. Other floats there cannot be the number plus a float (Mironov
2012). These outputs are known in advance if the number can be guessed from the input, as the input, its sum
or its mean. Each guess is a feature that is fixed before the first run. A wrong guess detects nothing, and
only its share of the capital is lost.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dpaudit.blackbox.features import CoordinateScore, Feature, FixedFeature, Floats
from dpaudit.blackbox.outcomes import Outcomes

__all__ = ["LOWEST_BIT", "FloatSum", "Guesses", "bit_features", "guesses", "lowest_bit"]

#: The name of a feature with special rules.
LOWEST_BIT = "exponent of the lowest bit of the number"

#: Numbers to which noise may have been added: a name, and the values on the first and the second input.
Guesses = tuple[tuple[str, float, float], ...]


def bit_features(width: int, guessed: Guesses) -> list[tuple[Feature, float]]:
    """Return the features of the bits of outputs of ``width`` numbers, with their shares of the capital."""
    if width > 1:
        return [(CoordinateScore("likelihood ratio of the lowest bits", lowest_bit), 2.0)]
    lowest = FixedFeature(LOWEST_BIT, lambda out: lowest_bit(out.values[:, 0]))
    sums = [FloatSum(*guess) for guess in guessed]
    return [(lowest, 8.0 / (1 + bool(sums))), *((each, 8.0 / len(sums)) for each in sums)]


def guesses(data: tuple[Any, Any]) -> Guesses:
    """Return the numbers to which a mechanism may add noise: the input itself, or its sum and its mean.

    There is no guess if the inputs are not numbers, or give the same number.
    """
    sides = [_numbers(side) for side in data]
    if any(side is None for side in sides):
        return ()
    found: Guesses = ()
    for name, function in (("sum", np.sum), ("mean", np.mean)):
        first, second = (float(function(side)) for side in sides if side is not None)
        known = {pair for _, *numbers in found for pair in [tuple(numbers)]}
        if first != second and np.isfinite([first, second]).all() and (first, second) not in known:
            found = (*found, (name, first, second))
    return found


def _numbers(data: Any) -> Floats | None:
    try:
        numbers = np.asarray(data)
    except Exception:  # the conversion of user data may raise anything
        return None
    return numbers.astype(float) if numbers.dtype.kind in "buif" and numbers.size else None


class FloatSum(Feature):
    """Feature that states which sum an output can be.

    It is 1 for an output that can be ``first`` plus a float and cannot be ``second`` plus a float, -1 in the
    reverse case, and 0 for all others.
    """

    def __init__(self, name: str, first: float, second: float) -> None:
        super().__init__(f"which {name} plus a float the number is")
        self._guessed, self._first, self._second = name, first, second

    def values(self, outcomes: Outcomes) -> Floats:
        numbers = outcomes.values[:, 0]
        finite = np.isfinite(numbers)
        kept = np.where(finite, numbers, 0.0)
        sign = _is_sum(kept, self._first).astype(float) - _is_sum(kept, self._second)
        return np.where(finite, sign, np.nan)

    def describe(self, low: float | None, high: float | None) -> str:
        """Describe the event by the sums."""
        if low is not None and low > 0:
            return self._only(self._first, self._second)
        if high is not None and high <= 0:
            return self._only(self._second, self._first)
        return f"the number can be, or cannot be, the {self._guessed} of either input plus a float"

    def _only(self, one: float, other: float) -> str:
        return f"the number can be {one:g} plus a float and cannot be {other:g} plus a float"


def _is_sum(numbers: Floats, part: float) -> Floats:
    """Return whether each number is ``part`` plus some float.

    Near a cancellation, differences are exact (Sterbenz 1974), so only the difference can be that float.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray((numbers - part) + part == numbers)


def lowest_bit(values: Floats) -> Floats:
    """Return log2 of the largest power of two that divides each float (1100 for 0), or NaN."""
    finite = np.isfinite(values)
    mantissa, exponent = np.frexp(np.where(finite, values, 0.0))
    whole = np.abs(mantissa * 2.0**53).astype(np.int64)
    trailing = np.log2(np.maximum(whole & -whole, 1).astype(float))
    return np.where(finite, np.where(whole == 0, 1100.0, exponent - 53 + trailing), np.nan)
