"""Build the hard inputs of Theorem 4.1: scales, the family D_{n,k}, marked bits, and cuts of an input.

Scales are real numbers, represented by balls. The copies and distances of drawn inputs are rounded: R =
max(1, round(rep)). Users are counted from 1.
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

#: The smallest variance that Lemma B.4 covers.
LEAST_VARIANCE = 200**2


def bernoulli_std(epsilon: Fraction) -> arb:
    """Return c_ε = e^ε/(e^{2ε} + 1), the standard deviation of a bit with mean 1/(e^{2ε} + 1)."""
    growth: arb = ball(epsilon).exp()
    return growth / (growth**2 + 1)


def _power(base: arb, exponent: Fraction) -> arb:
    result: arb = (base.log() * ball(exponent)).exp()
    return result


def repeat_len(n: int | arb, k: int, epsilon: Fraction) -> arb:
    """Return rep_{n,k} = n^{1/(2k+1)} c_ε^{2k/(2k+1)}/2, for n > 0 and k >= 0."""
    size = ball(n) if isinstance(n, int) else n
    return (
        _power(size, Fraction(1, 2 * k + 1)) * _power(bernoulli_std(epsilon), Fraction(2 * k, 2 * k + 1)) / 2
    )


def big_batch(n: int | arb, k: int, epsilon: Fraction) -> arb:
    """Return Big_{n,k} = n^{(2k-1)/(2k+1)} c_ε^{2/(2k+1)}, for k >= 1."""
    size = ball(n) if isinstance(n, int) else n
    spread = _power(bernoulli_std(epsilon), Fraction(2, 2 * k + 1))
    return _power(size, Fraction(2 * k - 1, 2 * k + 1)) * spread


def variance_ratio(n: int, k: int, epsilon: Fraction) -> arb:
    """Return n c_ε²/Big_{n,k}, which must be above 200² for Lemma B.6."""
    return n * bernoulli_std(epsilon) ** 2 / big_batch(n, k, epsilon)


def smallest_horizon(k: int, epsilon: Fraction) -> int:
    """Return the smallest n with n c_ε²/Big_{n,k} > 200², for k >= 1.

    This is the next integer above 200^{2k+1}/c_ε^{2k}. Raise ``UndecidedError`` if that number has more
    digits than the largest working precision holds.
    """
    bits = 256
    while True:
        with precision(bits):
            whole = (200 ** (2 * k + 1) / bernoulli_std(epsilon) ** (2 * k)).floor()
            if whole.unique_fmpz() is not None or 2 * bits > MAX_PRECISION:
                return integer(whole) + 1
        bits *= 2


def largest_delta(n: int, k: int, epsilon: Fraction) -> Fraction:
    """Return min(ε, 1)/(40 n (k + 1)), which δ must be below."""
    return min(epsilon, Fraction(1)) / (40 * n * (k + 1))


@dataclass(frozen=True, kw_only=True)
class HardInputs:
    """One member of D_{n,k}.

    The first ``prefix_len`` <= ``copies`` users hold ``prefix_bit``. After them a single fair bit and
    ``copies`` users with another fair bit alternate. The input is cut off after ``horizon`` users. Raise
    ``InvalidParameterError`` if the prefix is longer than ``copies`` or there is no copy.
    """

    horizon: int
    copies: int
    prefix_len: int = 0
    prefix_bit: int = 0

    def __post_init__(self) -> None:
        if self.copies < 1 or not 0 <= self.prefix_len <= self.copies:
            raise InvalidParameterError(
                f"copies must be 1 or more and the prefix at most as long, got {self.copies} and "
                f"{self.prefix_len}."
            )

    @cached_property
    def blocks(self) -> NDArray[np.int64]:
        """Return the number of the fair bit that each user holds, shape (horizon,).

        The number is -1 in the prefix. Even numbers are single bits.
        """
        after = np.arange(self.horizon) - self.prefix_len
        period = self.copies + 1
        numbers = 2 * (after // period) + (after % period > 0)
        return np.where(after < 0, -1, numbers)

    @property
    def singles(self) -> tuple[int, ...]:
        """Return the users who hold single bits."""
        return tuple(range(self.prefix_len + 1, self.horizon + 1, self.copies + 1))

    def values(self, fair: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return inputs (..., horizon) for fair bits (..., bits), one fair bit per block."""
        filled = fair[..., np.maximum(self.blocks, 0)]
        return np.where(self.blocks < 0, self.prefix_bit, filled)

    @property
    def bits(self) -> int:
        """Return the number of fair bits of an input."""
        return int(self.blocks.max()) + 1

    def draw(self, rng: np.random.Generator, *, runs: int) -> NDArray[np.int64]:
        """Draw independent inputs, shape (runs, horizon)."""
        return self.values(rng.integers(0, 2, size=(runs, max(1, self.bits))))

    def cut(self, start: int, size: int) -> HardInputs:
        """Return the inputs of users ``start`` to ``start + size - 1``, given the users before.

        They form a member again. Its prefix is the rest of the original prefix or of a run. The bit of a
        run is one of two constants. Here it is ``prefix_bit``.
        """
        if start <= self.prefix_len:
            left = self.prefix_len - start + 1
        else:
            place = (start - 1 - self.prefix_len) % (self.copies + 1)
            left = self.copies + 1 - place if place else 0
        return HardInputs(horizon=size, copies=self.copies, prefix_len=left, prefix_bit=self.prefix_bit)


def _copies(n: int, k: int, epsilon: Fraction) -> int:
    return max(1, round(float(repeat_len(n, k, epsilon).mid())))


def family(n: int, k: int, epsilon: Fraction) -> Iterator[HardInputs]:
    """Yield the members with no prefix, and with half and all of the longest prefix, for either bit."""
    copies = _copies(n, k, epsilon)
    yield HardInputs(horizon=n, copies=copies)
    for length in sorted({copies // 2, copies} - {0}):
        for bit in (0, 1):
            yield HardInputs(horizon=n, copies=copies, prefix_len=length, prefix_bit=bit)


def hard_inputs(
    n: int, k: int, epsilon: Fraction, *, rng: np.random.Generator, runs: int
) -> NDArray[np.int64]:
    """Draw inputs of the member without a prefix, shape (runs, n)."""
    return HardInputs(horizon=n, copies=_copies(n, k, epsilon)).draw(rng, runs=runs)


def marked_bits(member: HardInputs, *, distance: float | arb) -> tuple[int, ...]:
    """Return Bits_{n,k}: users with single bits, each at least ``distance`` = Big after the one before.

    No batch of at most Big consecutive users holds two of them.
    """
    apart = upper(distance) if isinstance(distance, arb) else distance
    marked: list[int] = []
    for user in member.singles:
        if not marked or user - marked[-1] >= apart:
            marked.append(user)
    return tuple(marked)
