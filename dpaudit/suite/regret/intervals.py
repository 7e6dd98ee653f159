"""Bound mean regret from runs: cap each run's regret, bound the excess, and bet on the capped mean.

One run's regret lies in [0, gap * T], far above its mean, and bounds for a bounded mean are useless on that
range. But E R is between E min(R, cap) and E min(R, cap) + E max(0, R - cap), and an algorithm's own analysis
bounds the last term for caps not far above the mean. The rest is a variable in [0, cap].

The bounds of several intervals hold jointly at the sum of their levels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpaudit.blackbox.statistics import mean_bounds, proportion_bounds
from dpaudit.core.errors import UndecidedError

__all__ = [
    "CUT_AND_CHARGED",
    "Cut",
    "Interval",
    "average",
    "combination_interval",
    "difference_interval",
    "gaps_of",
    "mean_interval",
    "octave",
    "proportion_interval",
    "trivial_cut",
]

Floats = NDArray[np.float64]

#: A description of how ``mean_interval`` bounds an expected regret.
CUT_AND_CHARGED = "simulation; bets on the mean of min(regret, cap), rigorous excess added"


@dataclass(frozen=True)
class Interval:
    """Bounds on an expectation, and the sample mean. The ends must be in order."""

    low: float
    high: float
    mean: float

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise UndecidedError(
                f"an interval's ends must be numbers in order, got [{self.low}, {self.high}].",
                code="E-INTERVAL-ORDER",
            )

    def __truediv__(self, other: float | Interval) -> Interval:
        """Divide by a positive number, or by an interval that holds jointly with this one.

        Both expectations must be 0 or more. The upper end is infinite if the denominator may be 0.
        """
        if isinstance(other, Interval):
            return self._over(other)
        return Interval(self.low / other, self.high / other, self.mean / other)

    def _over(self, other: Interval) -> Interval:
        if self.low < 0 or other.low < 0 or not other.high > 0:
            raise UndecidedError(
                "a ratio requires a numerator of at least 0 and a denominator that can be positive, got "
                f"[{self.low:g}, {self.high:g}] over [{other.low:g}, {other.high:g}]. Compare differences "
                "instead.",
                code="E-RATIO-SIGN",
            )
        high = self.high / other.low if other.low > 0 else math.inf
        mean = self.mean / other.mean if other.mean > 0 else math.inf
        return Interval(self.low / other.high, high, mean)


@dataclass(frozen=True)
class Cut:
    """A cap on one run's regret, and a bound on the expected regret beyond it.

    ``floors`` are caps for lower bounds. Any fixed number is valid, and one just above the mean is best.
    """

    cap: float
    excess: float
    floors: tuple[float, ...]

    def __mul__(self, scale: float) -> Cut:
        """Return the cut of the regret in units of 1/``scale``."""
        return Cut(self.cap * scale, self.excess * scale, tuple(floor * scale for floor in self.floors))


def gaps_of(means: Sequence[float]) -> list[float]:
    """Return the positive gaps, in the order of the arms."""
    return [max(means) - mean for mean in means if mean < max(means)]


def trivial_cut(means: Sequence[float], *, horizon: int) -> Cut:
    """Return a cut without excess, whose cap is the regret of the worst arm in every round."""
    gaps = gaps_of(means)
    if not gaps:
        return Cut(0.0, 0.0, (0.0,))
    return Cut(max(gaps) * horizon, 0.0, (sum(gaps) / len(means) * horizon,))


def mean_interval(regret: Floats, cut: Cut, *, alpha: float) -> Interval:
    """Return bounds on the expected regret from independent runs, jointly at level ``alpha``."""
    mean = float(regret.mean())
    if cut.cap == 0:
        return Interval(0.0, cut.excess, mean)
    lower, upper = mean_bounds(np.minimum(regret, cut.cap), low=0.0, high=cut.cap, alpha=alpha)
    return Interval(lower, upper + cut.excess, mean)


def proportion_interval(events: NDArray[np.bool_], *, alpha: float) -> Interval:
    """Return exact bounds on P(event) from independent runs, jointly at level ``alpha``.

    The number of runs must be fixed beforehand (Clopper and Pearson).
    """
    low, high = proportion_bounds(int(events.sum()), len(events), alpha=alpha)
    return Interval(low, high, float(events.mean()))


def difference_interval(
    left: Floats, left_cut: Cut, right: Floats, right_cut: Cut, *, factor: float, alpha: float
) -> tuple[float, float]:
    """Return bounds on E left - factor * E right from paired runs, each at level ``alpha``/2.

    They bet on the paired differences of the capped regrets, with the level divided among the floors.
    """
    floors = [(floor, alpha / len(left_cut.floors)) for floor in left_cut.floors]
    lower = max(_difference(left, floor, right, right_cut.cap, factor, level)[0] for floor, level in floors)
    floors = [(floor, alpha / len(right_cut.floors)) for floor in right_cut.floors]
    upper = min(_difference(left, left_cut.cap, right, floor, factor, level)[1] for floor, level in floors)
    return lower - factor * right_cut.excess, upper + left_cut.excess


def _difference(
    left: Floats, left_cap: float, right: Floats, right_cap: float, factor: float, alpha: float
) -> tuple[float, float]:
    paired = np.minimum(left, left_cap) - factor * np.minimum(right, right_cap)
    low, high = -factor * right_cap, left_cap
    return mean_bounds(np.clip(paired, low, high), low=low, high=high, alpha=alpha)


def combination_interval(terms: Sequence[tuple[float, Floats, Cut]], *, alpha: float) -> tuple[float, float]:
    """Return bounds on Σ coefficient * E regret from paired runs, jointly at level ``alpha``.

    Terms are (coefficient, regrets, cut). The bounds bet on Σ coefficient * min(regret, cap).
    """
    paired = sum((factor * np.minimum(values, c.cap) for factor, values, c in terms), start=np.zeros(1))
    low = sum(min(factor, 0.0) * c.cap for factor, _, c in terms)
    high = sum(max(factor, 0.0) * c.cap for factor, _, c in terms)
    lower, upper = mean_bounds(np.clip(paired, low, high), low=low, high=high, alpha=alpha)
    lower += sum(min(factor, 0.0) * c.excess for factor, _, c in terms)
    return lower, upper + sum(max(factor, 0.0) * c.excess for factor, _, c in terms)


def average(intervals: Sequence[Interval]) -> Interval:
    """Return the mean of expectations whose intervals hold jointly."""
    low, high, mean = np.mean([(one.low, one.high, one.mean) for one in intervals], axis=0).tolist()
    return Interval(low, high, mean)


def octave(value: Fraction, *, points: int) -> list[Fraction]:
    """Return ``points`` values from ``value`` down to half of it, which is left out.

    If blocks double, regret is a saw-tooth in the logarithm of a scale, with a period of one octave. A mean
    over an octave has almost no teeth.
    """
    return [value * Fraction(points, points + i) for i in range(points)]
