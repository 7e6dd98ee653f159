"""Intervals with exact ends.

The radius of a ball is rounded up: 1 + [-1, 1] as a ball is not certainly nonnegative. Here each end is a
number without a radius, rounded outward at the working precision, so that comparisons at an end are exact. An
operation that is undefined somewhere on its arguments, or whose result is not bounded, returns ``NOWHERE``,
of which no comparison is true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import reduce

from dpaudit.kernel.ball import arb, ball

__all__ = ["NOWHERE", "ONE", "ZERO", "Interval", "exactly", "hull", "pi"]


class Interval:
    """The numbers from ``lo`` to ``hi``, two balls of radius 0; ``NOWHERE`` has ends that are not numbers."""

    __slots__ = ("hi", "lo")

    def __init__(self, lo: arb, hi: arb) -> None:
        self.lo, self.hi = lo, hi

    @classmethod
    def around(cls, value: arb) -> Interval:
        """Return the interval of a ball."""
        return cls(value.lower(), value.upper()) if value.is_finite() else NOWHERE

    def __repr__(self) -> str:
        return f"[{self.lo}, {self.hi}]"

    @property
    def finite(self) -> bool:
        return bool(self.lo.is_finite() and self.hi.is_finite())

    @property
    def zero(self) -> bool:
        return bool(self.lo.is_zero() and self.hi.is_zero())

    @property
    def nonnegative(self) -> bool:
        return bool(self.lo >= 0)

    @property
    def positive(self) -> bool:
        return bool(self.lo > 0)

    @property
    def nonpositive(self) -> bool:
        return bool(self.hi <= 0)

    @property
    def negative(self) -> bool:
        return bool(self.hi < 0)

    def exact(self) -> Fraction | None:
        """Return the number in an interval of one number, as far as it is short, or None."""
        if not self.finite or self.lo != self.hi:
            return None
        mantissa, exponent = (int(part) for part in self.lo.man_exp())
        return Fraction(mantissa) * Fraction(2) ** exponent if abs(exponent) < 4000 else None

    def ball(self) -> arb:
        """Return a ball that contains the interval."""
        return self.lo.union(self.hi)

    def __add__(self, other: Interval) -> Interval:
        return _finite((self.lo + other.lo).lower(), (self.hi + other.hi).upper())

    def __neg__(self) -> Interval:
        return Interval(-self.hi, -self.lo)

    def __sub__(self, other: Interval) -> Interval:
        return self + -other

    def __mul__(self, other: Interval) -> Interval:
        if not (self.finite and other.finite):
            return NOWHERE
        if self.nonnegative and other.nonnegative:
            return _finite((self.lo * other.lo).lower(), (self.hi * other.hi).upper())
        if self.nonpositive and other.nonpositive:
            return _finite((self.hi * other.hi).lower(), (self.lo * other.lo).upper())
        if self.nonnegative and other.nonpositive:
            return _finite((self.hi * other.lo).lower(), (self.lo * other.hi).upper())
        if self.nonpositive and other.nonnegative:
            return other * self
        products = [a * b for a in (self.lo, self.hi) for b in (other.lo, other.hi)]
        return _finite(_least(p.lower() for p in products), _greatest(p.upper() for p in products))

    def inverse(self) -> Interval:
        """Return 1/x."""
        if not (self.positive or self.negative):
            return NOWHERE
        return _finite((1 / self.hi).lower(), (1 / self.lo).upper())

    def __truediv__(self, other: Interval) -> Interval:
        return self * other.inverse()

    def __pow__(self, power: int) -> Interval:
        if not self.finite:
            return NOWHERE
        if power < 0:
            return (self**-power).inverse()
        base = abs(self) if power % 2 == 0 else self
        return _finite((base.lo**power).lower(), (base.hi**power).upper())

    def __abs__(self) -> Interval:
        if self.nonnegative:
            return self
        if self.nonpositive:
            return -self
        return Interval(arb(0), _greatest((-self.lo, self.hi))) if self.finite else NOWHERE

    def _rising(self, function: Callable[[arb], arb]) -> Interval:
        """Return the image under an increasing function."""
        return _finite(function(self.lo).lower(), function(self.hi).upper()) if self.finite else NOWHERE

    def exp(self) -> Interval:
        return self._rising(arb.exp)

    def log(self) -> Interval:
        return self._rising(arb.log) if self.positive else NOWHERE

    def sqrt(self) -> Interval:
        return self._rising(arb.sqrt) if self.nonnegative else NOWHERE

    def sinh(self) -> Interval:
        return self._rising(arb.sinh)

    def cosh(self) -> Interval:
        return abs(self)._rising(arb.cosh)

    def tanh(self) -> Interval:
        return self._rising(arb.tanh)

    def atanh(self) -> Interval:
        return self._rising(arb.atanh) if self.lo > -1 and self.hi < 1 else NOWHERE

    def erfc(self) -> Interval:
        return -(self._rising(lambda x: -x.erfc()))

    def ceil(self) -> Interval:
        return self._rising(arb.ceil)

    def floor(self) -> Interval:
        return self._rising(arb.floor)

    def min(self, other: Interval) -> Interval:
        if not (self.finite and other.finite):
            return NOWHERE
        return Interval(_least((self.lo, other.lo)), _least((self.hi, other.hi)))

    def max(self, other: Interval) -> Interval:
        return -((-self).min(-other))

    def union(self, other: Interval) -> Interval:
        """Return the smallest interval with both."""
        if not (self.finite and other.finite):
            return NOWHERE
        return Interval(_least((self.lo, other.lo)), _greatest((self.hi, other.hi)))

    def cut(self) -> Interval:
        """Return the part from 0 on, of an interval whose value is known to be nonnegative."""
        if self.nonnegative or not self.finite:
            return self
        return NOWHERE if self.negative else Interval(arb(0), self.hi)

    def __lt__(self, other: Interval) -> bool:
        """Whether every number of this interval is below every number of the other."""
        return bool(self.hi < other.lo)

    def __le__(self, other: Interval) -> bool:
        return bool(self.hi <= other.lo)


def _finite(lo: arb, hi: arb) -> Interval:
    return Interval(lo, hi) if lo.is_finite() and hi.is_finite() else NOWHERE


def _least(values: Iterable[arb]) -> arb:
    return reduce(lambda a, b: b if b < a else a, values)


def _greatest(values: Iterable[arb]) -> arb:
    return reduce(lambda a, b: b if b > a else a, values)


NOWHERE = Interval(arb("nan"), arb("nan"))
ZERO = Interval(arb(0), arb(0))
ONE = Interval(arb(1), arb(1))


def exactly(value: Fraction | int) -> Interval:
    """Return an interval around one number, of one number if it is representable."""
    return Interval.around(ball(value))


def hull(lo: Fraction, hi: Fraction) -> Interval:
    """Return an interval that contains ``lo`` to ``hi``."""
    return Interval(ball(lo).lower(), ball(hi).upper())


def pi() -> Interval:
    """Return an interval around pi."""
    return Interval.around(arb.pi())
