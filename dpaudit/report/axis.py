"""Map numbers to positions on a linear or logarithmic axis, and choose its ticks."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["Scale", "wants_log"]

#: Beyond this ratio of the largest to the smallest number a linear axis hides the smallest.
LOG_RATIO = 30.0
#: The ends of an axis stay within this number, so that differences of two numbers on it are finite floats. A
#: larger number lies at the end.
LARGEST = 1e307
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


def wants_log(values: Iterable[float]) -> bool:
    """Return whether only a logarithmic axis shows all values: none is negative, and their ratio is large."""
    numbers = list(values)
    positive = [n for n in numbers if n > 0]
    if not positive or any(n < 0 for n in numbers):
        return False
    return math.log(max(positive)) - math.log(min(positive)) > math.log(LOG_RATIO)


@dataclass(frozen=True)
class Scale:
    """Map of data in [``low``, ``high``] to positions from ``start`` to ``end``, in pixels or per cent.

    ``end`` may be smaller than ``start``. On a logarithmic scale ``low`` > 0, and a number of 0 or less lies
    at ``start``. Numbers outside the range are clamped to the ends.
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    @classmethod
    def around(
        cls,
        values: Sequence[float],
        *,
        start: float,
        end: float,
        log: bool = False,
        pad: float = 0.04,
        zero: bool = False,
    ) -> Scale:
        """Return a scale that holds all ``values`` with a margin of ``pad`` times the range.

        With ``zero``, a linear scale includes 0.
        """
        if log:
            positive = [v for v in values if v > 0] or [1.0]
            low, high = math.log10(min(positive)), math.log10(max(positive))
            low, high = (
                (low - 0.5, high + 0.5)
                if high - low < 1e-9
                else (low - (high - low) * pad, high + (high - low) * pad)
            )
            return cls(10 ** max(low, -307.0), 10 ** min(high, 307.0), start, end, True)
        numbers = [min(max(v, -LARGEST), LARGEST) for v in values]
        numbers = [*numbers, 0.0] if zero else (numbers or [0.0])
        low, high = min(numbers), max(numbers)
        spread = high - low
        if spread <= 1e-9 * max(abs(low), abs(high)) or spread == 0:
            spread = max(abs(low), abs(high)) or 1.0
        keep_low = zero and low == 0
        keep_high = zero and high == 0 > low
        return cls(
            low if keep_low else low - spread * pad, high if keep_high else high + spread * pad, start, end
        )

    def __call__(self, value: float) -> float:
        """Return the position of ``value``."""
        if self.log:
            if value <= 0:
                return self.start
            share = (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + (self.end - self.start) * min(1.0, max(0.0, share))

    def ticks(self, about: int = 5) -> list[float]:
        """Return round numbers inside the range, about ``about`` of them."""
        return self._log_ticks(about) if self.log and self.high / self.low > 8 else self._linear_ticks(about)

    def _linear_ticks(self, about: int) -> list[float]:
        raw = (self.high - self.low) / max(about, 1)
        if raw < sys.float_info.min:  # too small for the logarithm below
            return [self.low, self.high]
        unit = 10.0 ** math.floor(math.log10(raw))
        step = next(s * unit for s in _STEPS if s * unit >= raw * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [k * step for k in range(first, min(last, first + 4 * about) + 1)]

    def _log_ticks(self, about: int) -> list[float]:
        low, high = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
        decades = range(low, high + 1)
        if len(decades) < 3:
            fine = [m * 10.0**e for e in range(low - 1, high + 1) for m in (1, 2, 5)]
            return [t for t in fine if self.low * (1 - 1e-9) <= t <= self.high * (1 + 1e-9)]
        skip = max(1, math.ceil(len(decades) / (about + 1)))
        return [10.0**e for e in decades if e % skip == 0]
