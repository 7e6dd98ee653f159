"""T1: Skellam and binomial masses without special functions, from ratios of neighbours and the sum 1.

A distribution is known from the ratios of neighbouring masses, up to a factor. The sum of all masses is 1,
which gives the factor once the mass beyond a table is bounded. Only positive numbers are added and
multiplied.

* Binomial(n, p): p(k+1)/p(k) = (n - k)/(k + 1) p/(1 - p), a rational number. Ratios fall in k, so that beyond
  the table's ends the masses are below a geometric series (F6 of ``lattice``).
* Skellam of variance v, u_n = p(n+1)/p(n) for n >= 0: u_{n-1} = 1/(2n/v + u_n), and U_{n+1} <= u_n <= U_n
  with U_n = v/(n + sqrt(n^2 + v^2)) (``skellam_renyi`` has the proof). The error of u_{n-1} is u_{n-1}^2
  times that of u_n. If the recurrence starts far enough out, at N, the unknown part of u_N is below the
  working precision at the table's beginning. Beyond its end f the masses add up to at most p(f) U_f/(1 -
  U_f), for the u_n fall.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt

from flint import arb, ctx

from dpaudit.kernel.ball import ball
from dpaudit.kernel.t1.lattice import LogConcave, check_run

__all__ = ["MAX_VARIANCE", "Binomial", "Skellam"]

#: Above this variance a table is too long, and tier T2 takes single masses from special functions.
MAX_VARIANCE = 10**8


@dataclass(frozen=True)
class Skellam(LogConcave):
    """The difference of two independent Poisson(variance / 2), ``variance`` at most ``MAX_VARIANCE``."""

    variance: Fraction

    @property
    def centre(self) -> int:
        return 0

    @property
    def symmetric(self) -> bool:
        return True

    def masses(self, low: int, high: int) -> list[arb]:
        far = max(abs(low), abs(high))
        check_run(0, far)
        table = _skellam_table(self.variance, 1 << far.bit_length(), ctx.prec)
        return [table[abs(k)] for k in range(low, high + 1)]


@lru_cache(maxsize=16)
def _skellam_table(variance: Fraction, far: int, bits: int) -> list[arb]:
    """Return p(0), ..., p(f) for some f >= ``far``. ``bits`` is the working precision, part of the cache
    key.
    """
    v = ball(variance)
    end = max(far, 16, isqrt(int(variance) * 2 * bits))
    while True:
        check_run(0, end)
        relative = _relative(variance, end, bits)
        top = v / (end + (arb(end) ** 2 + v * v).sqrt())  # U_end < 1
        total = sum(relative, arb(0)) * 2 - 1
        beyond = 2 * relative[end] * top / (1 - top)
        if beyond < total * arb(2) ** -bits:
            total += arb(0).union(beyond)
            return [mass / total for mass in relative]
        end *= 2


def _relative(variance: Fraction, end: int, bits: int) -> list[arb]:
    """Return p(n)/p(0) for n = 0, ..., end."""
    v = ball(variance)
    start = isqrt(end * end + int(variance) * bits) + bits
    u = _bound(v, start + 1).union(_bound(v, start))
    ratios = [u]
    for n in range(start, 0, -1):
        u = 1 / (2 * n / v + u)
        if n <= end:
            ratios.append(u)
    relative = [arb(1)]
    for ratio in ratios[:0:-1]:  # u_0, u_1, ...
        relative.append(relative[-1] * ratio)
    return relative


def _bound(v: arb, n: int) -> arb:
    """Return U_n."""
    return v / (n + (arb(n) ** 2 + v * v).sqrt())


@dataclass(frozen=True)
class Binomial(LogConcave):
    """The number of successes in ``trials`` trials of ``probability``, variance at most ``MAX_VARIANCE``."""

    trials: int
    probability: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "first", 0)
        object.__setattr__(self, "last", self.trials)

    @property
    def centre(self) -> int:
        return int(self.trials * self.probability)

    @property
    def symmetric(self) -> bool:
        return self.probability == Fraction(1, 2)

    def masses(self, low: int, high: int) -> list[arb]:
        check_run(low, high)
        start, table = _binomial_table(self.trials, self.probability, ctx.prec)
        end = start + len(table) - 1
        within = table[max(low - start, 0) : max(high - start + 1, 0)]
        if start <= low and high <= end:
            return within
        below = _onward(self, start, table[0], low) if low < start else []
        above = _onward(self, end, table[-1], high) if high > end else []
        known = dict(zip(range(start - 1, -1, -1), below, strict=False))
        known |= zip(range(max(low, start), end + 1), within, strict=False)
        known |= zip(range(end + 1, self.trials + 1), above, strict=False)
        return [known.get(k, arb(0)) for k in range(low, high + 1)]


def _step(distribution: Binomial, k: int) -> arb:
    """Return p(k + 1) / p(k)."""
    return ball(
        Fraction(distribution.trials - k, k + 1) * distribution.probability / (1 - distribution.probability)
    )


def _onward(distribution: Binomial, start: int, mass: arb, end: int) -> list[arb]:
    """Return the masses after ``start``, whose mass is given, towards ``end``, within the support, in that
    order.
    """
    check_run(min(start, end), max(start, end))
    masses = []
    for k in range(start, min(end, distribution.trials)):
        mass = mass * _step(distribution, k)
        masses.append(mass)
    for k in range(start, max(end, 0), -1):
        mass = mass / _step(distribution, k - 1)
        masses.append(mass)
    return masses


@lru_cache(maxsize=16)
def _binomial_table(trials: int, probability: Fraction, bits: int) -> tuple[int, list[arb]]:
    """Return the least outcome of a table and the masses from there on: all but 2^-``bits`` of the
    distribution.
    """
    distribution = Binomial(trials, probability)
    mode = distribution.centre
    up, above = _side(distribution, mode, 1, bits)
    down, below = _side(distribution, mode, -1, bits)
    relative = [*down[::-1], arb(1), *up]
    total = sum(relative, arb(0)) + arb(0).union(above + below)
    return mode - len(down), [mass / total for mass in relative]


def _side(distribution: Binomial, mode: int, direction: int, bits: int) -> tuple[list[arb], arb]:
    """Return masses relative to the mode's on one side, and a bound on the mass beyond them."""
    masses: list[arb] = []
    k, mass = mode, arb(1)
    while (k < distribution.trials) if direction > 0 else (k > 0):
        ratio = _step(distribution, k) if direction > 0 else 1 / _step(distribution, k - 1)
        if ratio < 1 and mass * ratio / (1 - ratio) < arb(2) ** -bits:
            return masses, mass * ratio / (1 - ratio)
        mass, k = mass * ratio, k + direction
        masses.append(mass)
        check_run(0, len(masses))
    return masses, arb(0)
