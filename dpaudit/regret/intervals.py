"""Intervals of an expected regret: scaled, averaged and divided by one another.

The bounds of several intervals hold together at the sum of their levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

__all__ = ["Interval", "average", "octave"]


@dataclass(frozen=True)
class Interval:
    """Bounds on a positive expectation, and the sample's own value of it."""

    low: float
    high: float
    mean: float

    def __truediv__(self, other: float | Interval) -> Interval:
        """Scaled by a positive number, or the ratio of two expectations whose intervals hold together."""
        if isinstance(other, Interval):
            return Interval(self.low / other.high, self.high / other.low, self.mean / other.mean)
        return Interval(self.low / other, self.high / other, self.mean / other)


def average(intervals: Sequence[Interval]) -> Interval:
    """The mean of expectations whose intervals hold together."""
    low, high, mean = np.mean([(one.low, one.high, one.mean) for one in intervals], axis=0).tolist()
    return Interval(low, high, mean)


def octave(value: Fraction, *, points: int) -> list[Fraction]:
    """``points`` values from ``value`` down to half of it, which is left out.

    Where blocks double, regret is a saw-tooth in the logarithm of a scale, with a period of one octave; a
    mean over an octave has almost no teeth.
    """
    return [value * Fraction(points, points + i) for i in range(points)]
