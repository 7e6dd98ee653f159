"""Functions of cumulants, defined once for balls and for power series of balls.

At a ball they give an enclosure. At the series t + e with a ball t they give an enclosure of f(t) + f'(t) e +
..., for every t in the ball simultaneously.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TypeVar

from flint import arb, arb_series, ctx

from dpaudit.kernel.ball import ball
from dpaudit.kernel.errors import NotTractableError

__all__ = ["X", "direct_theta", "dual_theta", "expm1", "sinh", "variable"]

#: A ball, or a series of balls.
X = TypeVar("X", arb, arb_series)

#: Series are cut after the fifth coefficient, which belongs to the fourth derivative.
LENGTH = 5


def sinh(t: X) -> X:
    return t.sinh() if isinstance(t, arb) else (t.exp() - (-t).exp()) / 2


def expm1(t: X) -> X:
    return t.expm1() if isinstance(t, arb) else t.exp() - 1


def _blur(t: X, size: arb) -> X:
    """Return a number, or a series, each of whose coefficients is within ``size`` of 0."""
    near = (-size).union(size)
    return arb_series([near] * LENGTH) if isinstance(t, arb_series) else near


def dual_theta(s: Fraction, t: X) -> X:
    """Return 1 + 2 sum_m exp(-2 pi^2 s m^2) cos(2 pi m s t).

    Rest: the e^j coefficient of cos(2 pi m s (t + e)) is at most (2 pi m s)^j / j! <= max(1, 2 pi m s)^4 for
    j <= 4, and from one m to the next the bounds shrink by 2 or more (checked), so the rest is at most the
    last bound taken, doubled.
    """
    angle = 2 * arb.pi() * ball(s)
    total: X = t * 0 + 1
    m = 0
    while True:
        m += 1
        bound = (angle * m).max(arb(1)) ** 4 * (-arb.pi() * angle * m * m).exp()
        if bound < arb(2) ** (-ctx.prec - 8) and 16 * (-arb.pi() * angle * (2 * m + 1)).exp() < 0.5:
            return total + _blur(t, 4 * bound)
        total = total + 2 * (-arb.pi() * angle * m * m).exp() * (angle * m * t).cos()


def direct_theta(s: Fraction, y: X) -> X:
    """Return sum_j exp(jy - j^2/2s). The rest on either side is bounded as in ``dual_theta``."""
    rate, slope = ball(1 / (2 * s)), abs(y[0] if isinstance(y, arb_series) else y)
    total: X = y * 0 + 1
    j = 0
    while True:
        j += 1
        bound = arb(j) ** 4 * (slope * j - rate * j * j).exp()
        if bound < arb(2) ** (-ctx.prec - 8) and 16 * (slope - rate * (2 * j + 1)).exp() < 0.5:
            return total + _blur(y, 4 * bound)
        total = total + (-rate * j * j).exp() * ((y * j).exp() + (-y * j).exp())
        if j > 2000:  # the ball is too wide for a useful enclosure
            return _blur(y, arb.nan())


def variable(t: arb) -> arb_series:
    """Return the series t + e. It carries its own length, which flint's global cap must not reduce."""
    if ctx.cap < LENGTH:
        raise NotTractableError(f"flint.ctx.cap must be {LENGTH} or more, got {ctx.cap}.", code="E-FLINT-CAP")
    return arb_series([t, 1], LENGTH)
