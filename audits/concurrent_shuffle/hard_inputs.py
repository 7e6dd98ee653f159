"""The hard inputs of Theorem 4.1: scales, the family D_{n,k}, the marked bits, and what a cut of an input is.

Scales are real numbers and stand in balls; copies and distances of drawn inputs are rounded: R = max(1,
round(rep)). Users are counted from 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError
from dpaudit.kernel.ball import MAX_PRECISION, arb, ball, integer, precision, upper

__all__ = [
    "HardInputs",
    "bernoulli_std",
    "big_batch",
    "family",
    "hard_inputs",
    "largest_delta",
    "marked_bits",
    "repeat_len",
    "smallest_horizon",
    "variance_ratio",
]

#: The least variance of Lemma B.4.
LEAST_VARIANCE = 200**2


def bernoulli_std(epsilon: Fraction) -> arb:
    """c_ε = e^ε/(e^{2ε} + 1), the standard deviation of a bit with mean 1/(e^{2ε} + 1)."""
    growth: arb = ball(epsilon).exp()
    return growth / (growth**2 + 1)


def _power(base: arb, exponent: Fraction) -> arb:
    result: arb = (base.log() * ball(exponent)).exp()
    return result


def repeat_len(n: int | arb, k: int, epsilon: Fraction) -> arb:
    """rep_{n,k} = n^{1/(2k+1)} c_ε^{2k/(2k+1)}/2, for n > 0 and k >= 0."""
    size = ball(n) if isinstance(n, int) else n
    return (
        _power(size, Fraction(1, 2 * k + 1)) * _power(bernoulli_std(epsilon), Fraction(2 * k, 2 * k + 1)) / 2
    )


def big_batch(n: int | arb, k: int, epsilon: Fraction) -> arb:
    """Big_{n,k} = n^{(2k-1)/(2k+1)} c_ε^{2/(2k+1)}, for k >= 1."""
    size = ball(n) if isinstance(n, int) else n
    spread = _power(bernoulli_std(epsilon), Fraction(2, 2 * k + 1))
    return _power(size, Fraction(2 * k - 1, 2 * k + 1)) * spread


def variance_ratio(n: int, k: int, epsilon: Fraction) -> arb:
    """n c_ε²/Big_{n,k}, which must be above 200² for Lemma B.6."""
    return n * bernoulli_std(epsilon) ** 2 / big_batch(n, k, epsilon)


def smallest_horizon(k: int, epsilon: Fraction) -> int:
    """The smallest n with n c_ε²/Big_{n,k} > 200²: the next integer above 200^{2k+1}/c_ε^{2k}, k >= 1.

    Raises ``UndecidedError`` where that has more digits than the largest working precision holds.
    """
    bits = 256
    while True:
        with precision(bits):
            whole = (200 ** (2 * k + 1) / bernoulli_std(epsilon) ** (2 * k)).floor()
            if whole.unique_fmpz() is not None or 2 * bits > MAX_PRECISION:
                return integer(whole) + 1
        bits *= 2


def largest_delta(n: int, k: int, epsilon: Fraction) -> Fraction:
    """min(ε, 1)/(40 n (k + 1)): δ has to be below."""
    return min(epsilon, Fraction(1)) / (40 * n * (k + 1))


@dataclass(frozen=True, kw_only=True)
class HardInputs:
    """One member of D_{n,k}: ``prefix_len`` <= ``copies`` users with ``prefix_bit``, then a single fair bit
    and ``copies`` times another one, again and again, cut off after ``horizon`` users.

    Raises ``InvalidParameterError`` for a longer prefix, or fewer than one copy.
    """

    horizon: int
    copies: int
    prefix_len: int = 0
    prefix_bit: int = 0

    def __post_init__(self) -> None:
        if self.copies < 1 or not 0 <= self.prefix_len <= self.copies:
            raise InvalidParameterError(
                f"copies must be 1 or more and the prefix at most as long, got {self.copies} and "
                f"{self.prefix_len}; round them."
            )

    @cached_property
    def blocks(self) -> NDArray[np.int64]:
        """Which fair bit each user holds, shape (horizon,): -1 in the prefix, even numbers are single
        bits."""
        after = np.arange(self.horizon) - self.prefix_len
        period = self.copies + 1
        numbers = 2 * (after // period) + (after % period > 0)
        return np.where(after < 0, -1, numbers)

    @property
    def singles(self) -> tuple[int, ...]:
        """The users who hold single bits."""
        return tuple(range(self.prefix_len + 1, self.horizon + 1, self.copies + 1))

    def values(self, fair: NDArray[np.integer]) -> NDArray[np.int64]:
        """Inputs (..., horizon) from as many fair bits (..., bits) as there are blocks."""
        filled = fair[..., np.maximum(self.blocks, 0)]
        return np.where(self.blocks < 0, self.prefix_bit, filled)

    @property
    def bits(self) -> int:
        """How many fair bits an input has."""
        return int(self.blocks.max()) + 1

    def draw(self, rng: np.random.Generator, *, runs: int) -> NDArray[np.int64]:
        """Independent inputs, shape (runs, horizon)."""
        return self.values(rng.integers(0, 2, size=(runs, max(1, self.bits))))

    def cut(self, start: int, size: int) -> HardInputs:
        """What users ``start`` to ``start + size - 1`` hold, given the users before: a member again, whose
        prefix is what is left of the original prefix or of a run. Of a run the bit is one of two constants;
        here it is ``prefix_bit``."""
        if start <= self.prefix_len:
            left = self.prefix_len - start + 1
        else:
            place = (start - 1 - self.prefix_len) % (self.copies + 1)
            left = self.copies + 1 - place if place else 0
        return HardInputs(horizon=size, copies=self.copies, prefix_len=left, prefix_bit=self.prefix_bit)


def _copies(n: int, k: int, epsilon: Fraction) -> int:
    return max(1, round(float(repeat_len(n, k, epsilon).mid())))


def family(n: int, k: int, epsilon: Fraction) -> Iterator[HardInputs]:
    """Members with no prefix, and with half and all of the longest one, of either bit."""
    copies = _copies(n, k, epsilon)
    yield HardInputs(horizon=n, copies=copies)
    for length in sorted({copies // 2, copies} - {0}):
        for bit in (0, 1):
            yield HardInputs(horizon=n, copies=copies, prefix_len=length, prefix_bit=bit)


def hard_inputs(
    n: int, k: int, epsilon: Fraction, *, rng: np.random.Generator, runs: int
) -> NDArray[np.int64]:
    """Inputs of the member without a prefix, shape (runs, n)."""
    return HardInputs(horizon=n, copies=_copies(n, k, epsilon)).draw(rng, runs=runs)


def marked_bits(member: HardInputs, *, distance: float | arb) -> tuple[int, ...]:
    """Bits_{n,k}: users with single bits, each the first one ``distance`` = Big or more after the one before.

    No batch of at most Big users in a row holds two of them.
    """
    apart = upper(distance) if isinstance(distance, arb) else distance
    marked: list[int] = []
    for user in member.singles:
        if not marked or user - marked[-1] >= apart:
            marked.append(user)
    return tuple(marked)
