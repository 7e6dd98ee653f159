"""Log-concave distributions on the integers, in balls. For this noise one shift D bounds all shifts up to D.

A distribution gives single masses (``mass``), runs of masses (``masses``) and its ends. Everything is an
enclosure at the working precision. The reasons for log-concavity (p(k)^2 >= p(k-1) p(k+1), no internal
zeros):

* discrete Gaussian, p(k) ~ exp(-k^2 / 2v): log p is a concave quadratic;
* sums of independent log-concave distributions are log-concave (Hoggar 1974).

Skellam and binomial distributions, whose single masses are special functions, are in tier T2.

Fact F6 (tail of a log-concave distribution). If p(k)/p(k+1) = r < 1, then the mass strictly below k is at
most p(k) r / (1 - r). Proof. Ratios p(j)/p(j+1) do not increase as j decreases, so p(k-i) <= p(k) r'^i with
r' = p(k-1)/p(k) <= r. Sum over i >= 1. ∎
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from flint import arb, arb_poly, ctx

from dpaudit.kernel.ball import ball
from dpaudit.kernel.errors import InvalidParameterError

__all__ = [
    "DiscreteGaussianSum",
    "LogConcave",
    "Reflected",
    "bulk",
    "check_run",
    "survival",
    "tail_below",
]

#: Longest run of masses, which bounds memory and time for untrusted parameters.
MAX_RUN = 4_000_000


class LogConcave(ABC):
    """A log-concave distribution on the integers.

    ``first`` and ``last`` are the ends of its support (``None`` if infinite).
    """

    first: int | None = None
    last: int | None = None

    @property
    @abstractmethod
    def centre(self) -> int:
        """Return an integer near the mode, from which searches start."""

    @abstractmethod
    def masses(self, low: int, high: int) -> list[arb]:
        """Return enclosures of p(low), ..., p(high)."""

    def mass(self, k: int) -> arb:
        """Return an enclosure of p(k)."""
        return self.masses(k, k)[0]

    @property
    def symmetric(self) -> bool:
        """Return whether p(centre + j) = p(centre - j) for all j."""
        return False

    @property
    def in_shares(self) -> bool:
        """Return whether the noise may be a sum of many parties' shares, instead of one party's draw."""
        return True

    def _inside(self, k: int) -> bool:
        return (self.first is None or k >= self.first) and (self.last is None or k <= self.last)


def check_run(low: int, high: int) -> None:
    """Raise ``InvalidParameterError`` for a run of masses that would take too long."""
    if high - low > MAX_RUN:
        raise InvalidParameterError(
            f"a run of masses must have at most {MAX_RUN} terms, got {high - low}.", code="E-MASSES-TOO-MANY"
        )


def tail_below(distribution: LogConcave, k: int) -> arb | None:
    """Return a ball from 0 to a bound on the mass strictly below ``k`` (F6), or ``None`` if ``k`` is not
    below the mode.
    """
    if distribution.first is not None and k <= distribution.first:
        return arb(0)
    edge, inner = distribution.mass(k), distribution.mass(k + 1)
    ratio = edge / inner
    return arb(0).union(edge * ratio / (1 - ratio)) if ratio < 1 else None


def survival(distribution: LogConcave, k: int) -> arb:
    """Return P(X >= k), with a small relative radius."""
    width, mirror = 64, Reflected(distribution)
    while True:
        end = k + width if distribution.last is None else min(k + width, distribution.last)
        tail = tail_below(mirror, -end)
        total = sum(distribution.masses(k, end), arb(0)) if k <= end else arb(0)
        if tail is not None and tail <= total * arb(2) ** (-ctx.prec):
            return total + tail
        width *= 2


def bulk(distribution: LogConcave, bits: int) -> tuple[int, int, arb, arb]:
    """Return a range (low, high) and the masses below and above it (balls), each at most 2^-``bits``."""
    low, below = _reach(distribution, bits)
    high, above = _reach(Reflected(distribution), bits)
    return low, -high, below, above


def _reach(distribution: LogConcave, bits: int) -> tuple[int, arb]:
    width = 4
    while True:
        low = distribution.centre - width
        if distribution.first is not None:
            low = max(low, distribution.first)
        tail = tail_below(distribution, low)
        if tail is not None and tail <= arb(2) ** -bits:
            return low, tail
        check_run(0, width)
        width += width // 2


@dataclass(frozen=True)
class Reflected(LogConcave):
    """The distribution of -X."""

    distribution: LogConcave

    def __post_init__(self) -> None:
        object.__setattr__(self, "first", None if self.distribution.last is None else -self.distribution.last)
        first = self.distribution.first
        object.__setattr__(self, "last", None if first is None else -first)

    @property
    def centre(self) -> int:
        return -self.distribution.centre

    def masses(self, low: int, high: int) -> list[arb]:
        return self.distribution.masses(-high, -low)[::-1]

    def mass(self, k: int) -> arb:
        return self.distribution.mass(-k)


@lru_cache(maxsize=64)
def _theta(variance: Fraction, bits: int) -> arb:
    """Return the sum over k in Z of exp(-k^2 / 2 variance) at ``bits`` bits.

    ``bits`` is the working precision, which is part of the cache key. Tail: sum_{k > T} exp(-k^2 / 2v) <=
    e^{-T^2/2v} / (1 - e^{-T/v}), because k^2 >= T^2 + 2T(k - T) for k >= T.
    """
    v = ball(variance)
    total, k = arb(1), 1
    while True:
        term = (-ball(Fraction(k * k, 2)) / v).exp()
        total += 2 * term
        if term < arb(2) ** (-bits - 8) or k >= MAX_RUN:
            tail = 2 * term / (1 - (-arb(k) / v).exp())
            return total + arb(0).union(tail)
        k += 1


@dataclass(frozen=True)
class DiscreteGaussianSum(LogConcave):
    """The sum of ``count`` independent discrete Gaussians with p(k) ~ exp(-k^2 / 2 ``variance``)."""

    variance: Fraction
    count: int = 1

    @property
    def centre(self) -> int:
        return 0

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def in_shares(self) -> bool:
        return self.count > 1

    def mass(self, k: int) -> arb:
        if self.count == 1:
            return (-ball(Fraction(k * k, 2) / self.variance)).exp() / _theta(self.variance, ctx.prec)
        return self.masses(k, k)[0]

    def masses(self, low: int, high: int) -> list[arb]:
        check_run(low, high)
        if self.count == 1:
            return [self.mass(k) for k in range(low, high + 1)]
        middle, table, missing = _power(self.variance, self.count, ctx.prec)
        return [(table[middle + k] if abs(k) <= middle else arb(0)) + missing for k in range(low, high + 1)]


@lru_cache(maxsize=8)
def _power(variance: Fraction, count: int, bits: int) -> tuple[int, list[arb], arb]:
    """Return the convolution power of one discrete Gaussian cut at [-T, T], and a ball for the mass lost at
    any point.

    P(sum = k) is the cut convolution plus the probability of {sum = k, some |X_i| > T}, at most count * P(|X|
    > T).
    """
    single = DiscreteGaussianSum(variance)
    cut = 1
    while (-ball(Fraction(cut * cut, 2) / variance)).exp() > arb(2) ** (-2 * bits):
        cut *= 2
        check_run(0, cut * count)
    middle = cut * count
    power = arb_poly(single.masses(-cut, cut)) ** count
    edge = single.mass(cut)
    tail = 2 * edge / (1 - (-arb(cut) / ball(variance)).exp())  # as for theta
    return middle, [power[i] for i in range(2 * middle + 1)], arb(0).union(count * tail)
