"""Enclose the probability that independent variables are above or below one shared random level, in balls.

This encloses the integral of ``dpaudit.distributions.shared_level``. Laplace and exponential distributions
have a closed form between two kinks. For Gaussian distributions, ``acb.integral`` (Johansson 2018, rigorous)
integrates the middle, and log-concavity bounds the two tails. The precision is raised until the relative
accuracy reaches the working precision of the caller, so a caller that doubles it gets twice the digits.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np
from flint import acb, arb, arb_poly, ctx, fmpq

from dpaudit.distributions.base import Distribution
from dpaudit.distributions.continuous import Exponential, Gaussian, Laplace
from dpaudit.distributions.shared_level import (
    gaussian_drop,
    gaussian_mode,
    log_level_integral,
    require_level_distributions,
    require_top,
)
from dpaudit.kernel.ball import MAX_PRECISION, ball, enclose

__all__ = ["between_ball", "level_integral_ball", "to_accuracy"]

Number = TypeVar("Number", arb, acb)


def to_accuracy(compute: Callable[[], arb], *, spare: int = 32) -> arb:
    """Call ``compute`` at increasing precision until its ball has the caller's working precision.

    The accuracy is relative to the value. The first precision includes ``spare`` bits for a known loss.
    """
    wanted = max(int(ctx.prec), 53)
    return enclose(compute, bits=wanted - 4, start=wanted + spare, limit=2 * (MAX_PRECISION + spare))


def level_integral_ball(
    level: Distribution,
    noise: Distribution,
    below: Sequence[Fraction],
    above: Sequence[Fraction],
    *,
    top: Fraction | None = None,
) -> arb:
    """Return an ``arb`` that contains I.

    I is the probability that all variables with centres in ``below`` are below the level, all with centres in
    ``above`` are above it, and the level is at most ``top``.
    """
    require_level_distributions(level, noise)
    if top is not None:
        require_top(level)
    if not below and not above:
        return arb(1) if top is None else between_ball(level, None, top)
    if isinstance(level, Gaussian) and isinstance(noise, Gaussian):
        return _gaussian_integral(level, noise, list(below), list(above))
    # The alternating coefficients of Π (1 - c t), 1/2 <= c <= 1, lose at most 2 bits a factor.
    return to_accuracy(
        lambda: _piecewise_integral(level, noise, below, above, top),
        spare=32 + 2 * (len(below) + len(above)),
    )


def between_ball(distribution: Distribution, low: Fraction | None, high: Fraction | None) -> arb:
    """Return an ``arb`` that contains P(low < X <= high), exactly 0 for an empty interval.

    An infinite end is ``None``.
    """
    if low is not None and high is not None and high <= low:
        return arb(0)

    def compute() -> arb:
        if low is not None and low >= 0:  # use the upper tail, which is smaller here
            return distribution.sf_ball(low) - (arb(0) if high is None else distribution.sf_ball(high))
        top = arb(1) if high is None else distribution.cdf_ball(high)
        return top - (arb(0) if low is None else distribution.cdf_ball(low))

    return to_accuracy(compute)


# Laplace and exponential distributions. Between two kinks, each factor is
# constant + coefficient·e^{±(z-at)/scale}.


@dataclass(frozen=True)
class _Branch:
    """A factor on one side of its centre: constant + coefficient · e^{sign·rate·(z - at)}.

    ``constant`` is 0 or 1.
    """

    constant: int
    coefficient: fmpq
    sign: int = 0


@dataclass(frozen=True)
class _Factor:
    """A factor of the integrand: its centre, its rate, and its forms left and right of the centre."""

    at: fmpq
    rate: fmpq
    left: _Branch
    right: _Branch


def _quotient(number: Fraction) -> fmpq:
    """Return the same exact number with arithmetic in C, because there are many small operations."""
    return fmpq(number.numerator, number.denominator)


def _density(level: Distribution) -> _Factor:
    assert isinstance(level, Laplace | Exponential)
    rate = 1 / _quotient(level.scale)
    if isinstance(level, Exponential):
        return _Factor(fmpq(0), rate, _Branch(0, fmpq(0)), _Branch(0, rate, -1))
    return _Factor(fmpq(0), rate, _Branch(0, rate / 2, 1), _Branch(0, rate / 2, -1))


def _side(noise: Distribution, at: fmpq, above: bool) -> _Factor:
    assert isinstance(noise, Laplace | Exponential)
    zero, half, one, rate = fmpq(0), fmpq(1, 2), fmpq(1), 1 / _quotient(noise.scale)
    if isinstance(noise, Exponential):  # F = 0 | 1 - e^{-(z-at)/b},  1 - F = 1 | e^{-(z-at)/b}
        flat = (_Branch(1, zero), _Branch(0, one, -1)), (_Branch(0, zero), _Branch(1, -one, -1))
        forms = flat[0] if above else flat[1]
    elif above:  # 1 - F = 1 - e^{(z-at)/b}/2 | e^{-(z-at)/b}/2
        forms = (_Branch(1, -half, 1), _Branch(0, half, -1))
    else:  # F = e^{(z-at)/b}/2 | 1 - e^{-(z-at)/b}/2
        forms = (_Branch(0, half, 1), _Branch(1, -half, -1))
    return _Factor(at, rate, *forms)


def _piecewise_integral(
    level: Distribution,
    noise: Distribution,
    below: Sequence[Fraction],
    above: Sequence[Fraction],
    top: Fraction | None,
) -> arb:
    factors = [
        _density(level),
        *(_side(noise, _quotient(d), False) for d in below),
        *(_side(noise, _quotient(d), True) for d in above),
    ]
    end = None if top is None else _quotient(top)
    inside = {factor.at for factor in factors if end is None or factor.at < end}
    kinks: list[fmpq | None] = [None, *sorted(inside), end]
    total = arb(0)
    for low, high in itertools.pairwise(kinks):
        total += _piece(factors, low, high)
    return total


def _piece(factors: Sequence[_Factor], low: fmpq | None, high: fmpq | None) -> arb:
    """Return the integral from ``low`` to ``high``, between which no factor has a kink.

    An infinite end is ``None``. Decreasing exponentials are anchored at ``low`` and increasing exponentials
    at ``high``, so that every exponential is at most 1. The integrand is C e^{-p(z-low)} e^{q(z-high)}
    A(e^{-r(z-low)}) B(e^{r(z-high)}), with polynomials A and B and the rate r of the noise.
    """
    weight, falling, growing = arb(1), fmpq(0), fmpq(0)
    poly_low, poly_high, rate = arb_poly([1]), arb_poly([1]), fmpq(0)
    for factor in factors:
        branch = factor.right if low is not None and factor.at <= low else factor.left
        if branch.coefficient == 0:
            if branch.constant == 0:
                return arb(0)
            continue
        anchor = low if branch.sign < 0 else high
        assert anchor is not None  # decreasing branches are right of their centre, increasing ones left
        scaled = arb(branch.coefficient) * arb(branch.sign * factor.rate * (anchor - factor.at)).exp()
        if branch.constant == 0:
            weight *= scaled
            falling, growing = (
                (falling + factor.rate, growing) if branch.sign < 0 else (falling, growing + factor.rate)
            )
        else:
            rate = factor.rate
            if branch.sign < 0:
                poly_low *= arb_poly([1, scaled])
            else:
                poly_high *= arb_poly([1, scaled])
    total = arb(0)
    for j, a in enumerate(poly_low.coeffs()):
        for k, b in enumerate(poly_high.coeffs()):
            total += a * b * _exponential_piece(falling + j * rate, growing + k * rate, low, high)
    return weight * total


def _exponential_piece(p: fmpq, q: fmpq, low: fmpq | None, high: fmpq | None) -> arb:
    """Return ∫ e^{-p(z-low)} e^{q(z-high)} dz = (e^{-qw} - e^{-pw}) / (p - q) with w = high - low.

    The formula avoids the cancellation.
    """
    if low is None:
        return 1 / arb(q)
    if high is None:
        return 1 / arb(p)
    width = high - low
    slower, gap = min(p, q), abs(p - q)
    scale = arb(-slower * width).exp()
    return scale * arb(width) if gap == 0 else scale * -arb(-gap * width).expm1() / arb(gap)


# Gaussian distributions


def _gaussian_integral(level: Gaussian, noise: Gaussian, below: list[Fraction], above: list[Fraction]) -> arb:
    places = np.array([float(d) for d in below + above])
    sides = np.array([False] * len(below) + [True] * len(above))
    mode = float(gaussian_mode(level, noise, places[None], sides[None])[0])
    size = abs(float(log_level_integral(level, noise, places, sides)))

    def compute() -> arb:
        # Floats choose the interval. Any interval is sound, because the tails outside it are bounded.
        ends = gaussian_drop(level, noise, places, sides, mode, (int(ctx.prec) + 8) * math.log(2))
        return _gaussian_on(level, noise, below, above, tuple(Fraction(z) for z in (ends[0], mode, ends[1])))

    return to_accuracy(compute, spare=24 + math.ceil(math.log2(1 + size)))  # e^{-size} costs log2(size) bits


def _gaussian_on(
    level: Gaussian,
    noise: Gaussian,
    below: list[Fraction],
    above: list[Fraction],
    points: tuple[Fraction, ...],
) -> arb:
    """Return the integral from the first to the last of three points, plus bounds of both tails.

    ∫_{-∞}^L g <= g(L)/λ for log-concave g with λ = (log g)'(L) > 0.
    """
    left, mode, right = (ball(z) for z in points)
    s2, root = ball(level.sigma2), ball(2 * noise.sigma2).sqrt()

    def integrand(z: Number) -> Number:
        value = (-(z * z) / (2 * s2)).exp()
        for d in below:
            value *= ((ball(d) - z) / root).erfc() / 2
        for d in above:
            value *= ((z - ball(d)) / root).erfc() / 2
        return value

    def slope(z: arb) -> arb:
        hazard_scale = 2 / (
            root * arb.pi().sqrt()
        )  # φ/Φ at x = u√2 is 2 e^{-u²} / (√π erfc(-u)), per unit of z
        total = -z / s2
        for sign, centres in ((1, below), (-1, above)):
            for d in centres:
                u = sign * (z - ball(d)) / root
                total += sign * hazard_scale * (-u * u).exp() / (-u).erfc()
        return total

    slope_left, slope_right = slope(left), slope(right)
    peak = integrand(mode)
    if not (slope_left > 0 and slope_right < 0 and peak > 0):
        return arb.nan()  # undecided at this precision, so the caller raises the precision
    tolerance = arb(2) ** -int(ctx.prec)
    middle = acb.integral(
        lambda z, _: integrand(z) / peak, left, right, rel_tol=tolerance, abs_tol=tolerance * s2.sqrt() / 64
    ).real
    tails = (integrand(left) / slope_left - integrand(right) / slope_right) / peak
    return (middle + arb(0).union(tails)) * peak / (2 * arb.pi() * s2).sqrt()
