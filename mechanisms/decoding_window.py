"""The analyzer of ``modular_sum`` on every noisy sum of a small size, in exact numbers.

Noisy sums lie inside the window [-τ, n g + τ] and outside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpaudit.reference.mechanisms.local_noise import polya_share
from dpaudit.reference.mechanisms.modular_sum import decoded_sum
from dpaudit.reference.mechanisms.parameter_sheet import Sheet

__all__ = ["Circle"]


@dataclass(frozen=True, kw_only=True)
class Circle:
    """One (n, g, τ), the modulus n g + 2τ + 1 - ``short``, and a window of noisy sums v."""

    n: int
    g: int
    tau: int
    short: int = 0

    @property
    def sheet(self) -> Sheet:
        modulus = self.n * self.g + 2 * self.tau + 1 - self.short
        return Sheet(
            trust="distributed",
            users=self.n,
            precision=self.g,
            noise_margin=self.tau,
            modulus=modulus,
            tail_prob=Fraction(1, 2),
            share=polya_share(users=self.n, epsilon=1, precision=self.g),
        )

    def inside(self) -> NDArray[np.int64]:
        """Return -τ, ..., n g + τ."""
        return np.arange(-self.tau, self.n * self.g + self.tau + 1)

    def outside(self) -> NDArray[np.int64]:
        """Return the window extended by two moduli on either side."""
        m, window = self.sheet.modulus, self.inside()
        return np.concatenate([np.arange(window[0] - 2 * m, window[0]), np.arange(1, 2 * m + 1) + window[-1]])

    def errors(self, sums: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return g times (analyzer's output - v/g) as exact integers; outputs are multiples of 1/g."""
        decoded = np.asarray(decoded_sum(sums % self.sheet.modulus, self.sheet))
        return np.asarray(np.rint(decoded * self.g).astype(np.int64) - sums)

    def cases(self) -> int:
        """Count the v in the window that violate Case 1 (ŷ > n g + τ, then v in [-τ, 0) and ŷ - m = v) or
        Case 2 (otherwise ŷ = v).
        """
        v, m = self.inside(), self.sheet.modulus
        y = v % m
        high = y > self.n * self.g + self.tau
        first = (v >= -self.tau) & (v < 0) & (y - m == v)
        return int(np.count_nonzero(~np.where(high, first, y == v)))
