"""Exact tails of noise: P(X > u), P(X >= u) and the like, as balls, for sums of independent parts.

* Gaussian parts: their variances add.
* n Laplace parts of one scale b. X/b is the difference of two independent Gamma(n) variables G and G'. Given
  G', P(G > x + G') = e^{-x-G'} sum_{k<n} (x + G')^k / k!. Expand the power and use E e^{-G'} G'^j / j! =
  C(n+j-1, j) 2^{-n-j}: for x >= 0, P(X/b > x) = e^{-x} sum_{i<n} x^i/i! sum_{j<n-i} C(n+j-1, j) 2^{-n-j}.
  All terms are positive. For n = 1 it is e^{-x} / 2.
* n exponential parts of one scale: a Gamma variable, incomplete gamma function.
* Integer parts. One log-concave distribution (Skellam and binomial distributions merge with their like, equal
  discrete Gaussians too): its masses from the level outward, and fact F6 for the rest (``lattice``).
  Otherwise each part is cut to an interval and the polynomials of their masses are multiplied; P(cut sum >=
  k) is short of P(X >= k) by at most the sum of the masses cut, which is added as a ball from 0.

A level u = t - shift that is not an integer is rounded to the next integer. If t is transcendental and its
ball holds an integer, the answer is not finite, and the caller raises the precision.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

from flint import arb, arb_poly, ctx

from dpaudit.kernel.ball import ball
from dpaudit.kernel.errors import NotTractableError
from dpaudit.kernel.t1 import lattice
from dpaudit.kernel.t2 import special_distributions
from dpaudit.kernel.t2.noise import (
    Binomial,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Finite,
    Gaussian,
    Laplace,
    Noise,
    Part,
    Skellam,
)

__all__ = ["mass_above"]

Parts = list[tuple[Part, int]]

#: Limits for untrusted parameters: draws in a closed form, coefficients of a product of polynomials.
MAX_DRAWS = 20_000
MAX_WIDTH = 1 << 21


def mass_above(noise: Noise, level: Fraction | arb, *, strict: bool, below: bool = False) -> arb:
    """Return an enclosure of P(X > level), or of P(X >= level) if not ``strict``.

    With ``below``, return an enclosure of P(X < -level), or of P(X <= -level). ``level`` is exact, or a ball
    of an irrational number. Raise ``NotTractableError`` for noise without an exact tail.
    """
    shift = -noise.shift if below else noise.shift
    moved = level - shift if isinstance(level, Fraction) else level - ball(shift)
    return _tail(_merged(noise), moved, strict, below)


def _merged(noise: Noise) -> Parts:
    """Merge equal kinds of parts: add variances and trials, and count other equal distributions once."""
    merged: dict[Part, int] = {}
    spread: dict[type[Part], Fraction] = {}
    trials: dict[Fraction, int] = {}
    for part, n in noise.parts:
        if isinstance(part, Gaussian | Skellam):
            spread[type(part)] = spread.get(type(part), Fraction(0)) + n * part.variance
        elif isinstance(part, Binomial):
            trials[part.probability] = trials.get(part.probability, 0) + n * part.trials
        else:
            merged[part] = merged.get(part, 0) + n
    for kind, variance in spread.items():
        merged[kind(variance)] = 1  # type: ignore[call-arg]
    for probability, count in trials.items():
        merged[Binomial(count, probability)] = 1
    return list(merged.items())


def _tail(parts: Parts, level: Fraction | arb, strict: bool, below: bool) -> arb:
    if len(parts) == 1:
        part, n = parts[0]
        if isinstance(part, Laplace):
            return _laplace_tail(n, _scaled(level, part.scale))
        if isinstance(part, Gaussian):
            x = level if isinstance(level, arb) else ball(level)
            return (x / ball(2 * part.variance).sqrt()).erfc() / 2
        if isinstance(part, Exponential):
            return _gamma_tail(n, _scaled(level, part.scale), below)
    least = _next_integer(level, strict)
    return arb.nan() if least is None else _integer_tail(parts, least, below)


def _scaled(level: Fraction | arb, scale: Fraction) -> arb:
    return ball(level / scale) if isinstance(level, Fraction) else level / ball(scale)


def _laplace_tail(n: int, x: arb) -> arb:
    _check_draws(n)
    if not (x >= 0 or x < 0):
        return arb.nan()
    if x < 0:
        return 1 - _laplace_tail(n, -x)
    weights, weight, running = [], arb(2) ** -n, arb(0)
    for j in range(n):  # weight = C(n+j-1, j) 2^{-n-j}
        running += weight
        weights.append(running)
        weight = weight * ball(Fraction(n + j, 2 * (j + 1)))
    total, power = arb(0), arb(1)
    for i in range(n):
        total += power * weights[n - 1 - i]
        power = power * x / (i + 1)
    return total * (-x).exp()


def _gamma_tail(n: int, x: arb, below: bool) -> arb:
    """Return P(G > x), or with ``below`` P(G < -x), for a Gamma(n) variable G."""
    _check_draws(n)
    end = -x if below else x
    if not (end > 0 or end <= 0):
        return arb.nan()
    if end <= 0:
        return arb(0 if below else 1)
    if below:
        return end.gamma_lower(arb(n), regularized=1)
    return end.gamma_upper(arb(n), regularized=1)


def _check_draws(n: int) -> None:
    if n > MAX_DRAWS:
        raise NotTractableError(
            f"an exact tail must be of at most {MAX_DRAWS} draws, got {n}; use a cumulant bound.",
            code="E-TAIL-DRAWS",
        )


def _next_integer(level: Fraction | arb, strict: bool) -> int | None:
    """Return the least integer above ``level`` (at or above it, if not ``strict``), or ``None`` if
    undecided.
    """
    if isinstance(level, Fraction):
        return floor(level) + 1 if strict else ceil(level)
    below = level.floor().unique_fmpz()
    return None if below is None else int(below) + 1


def _integer_tail(parts: Parts, least: int, below: bool) -> arb:
    if len(parts) == 1:
        distribution = _log_concave(*parts[0])
        if distribution is not None:
            distribution = lattice.Reflected(distribution) if below else distribution
            return (
                arb(1)
                if distribution.first is not None and least <= distribution.first
                else lattice.survival(distribution, least)
            )
    low, table, missing = _product(parts)
    if below:
        low, table = -(low + len(table) - 1), table[::-1]
    return sum(table[max(least - low, 0) :], arb(0)) + arb(0).union(missing)


def _log_concave(part: Part, n: int) -> lattice.LogConcave | None:
    if isinstance(part, Skellam):
        return special_distributions.Skellam(part.variance)
    if isinstance(part, DiscreteGaussian) and n == 1:
        return lattice.DiscreteGaussianSum(part.parameter)
    if isinstance(part, Binomial):
        return special_distributions.Binomial(part.trials, part.probability)
    return None


def _product(parts: Parts) -> tuple[int, list[arb], arb]:
    """Return the least outcome, the masses of the cut sum from there on, and a bound on the mass cut."""
    low, product, missing = 0, arb_poly([1]), arb(0)
    width = 0
    for part, n in parts:
        first, masses, cut = _cut(part)
        width += n * len(masses)
        if width > MAX_WIDTH:
            raise NotTractableError(
                f"an exact tail must have at most {MAX_WIDTH} outcomes; use a cumulant bound.",
                code="E-TAIL-WIDTH",
            )
        product = product * arb_poly(masses) ** n
        low += n * first
        missing += n * cut
    return low, [product[i] for i in range(product.length())], missing


def _cut(part: Part) -> tuple[int, list[arb], arb]:
    """Return an interval of outcomes, their masses, and a bound on the mass outside."""
    if isinstance(part, Finite) and all(x.denominator == 1 for x in part.values):
        return _finite_masses(part)
    if isinstance(part, DiscreteLaplace) and part.share == 1:
        return _geometric_masses(part.scale)
    distribution = _log_concave(part, 1)
    if distribution is None:
        raise NotTractableError(
            "an exact tail must be of integer parts, or of one continuous distribution, got "
            f"{part}; use a cumulant bound.",
            code="E-TAIL-PART",
        )
    low, high, under, over = lattice.bulk(distribution, ctx.prec)
    return low, distribution.masses(low, high), arb((under + over).upper())


def _finite_masses(part: Finite) -> tuple[int, list[arb], arb]:
    low, high = (int(end) for end in part.ends)
    if high - low > MAX_WIDTH:
        raise NotTractableError(
            f"outcomes must lie within {MAX_WIDTH} of each other; use a cumulant bound.", code="E-TAIL-WIDTH"
        )
    total, masses = sum(part.weights), [Fraction(0)] * (high - low + 1)
    for x, weight in zip(part.values, part.weights, strict=True):
        if weight:
            masses[int(x) - low] += weight / total
    return low, [ball(mass) for mass in masses], arb(0)


def _geometric_masses(scale: Fraction) -> tuple[int, list[arb], arb]:
    """Return P(k) = (1 - a)/(1 + a) a^|k|, a = e^{-1/scale}. The mass beyond T is 2 a^{T+1} / (1 + a)."""
    end = ceil(scale * ctx.prec)
    if end > MAX_WIDTH:
        most = MAX_WIDTH // ctx.prec
        raise NotTractableError(f"scale must be at most {most}, got {scale}.", code="E-TAIL-WIDTH")
    a = ball(-1 / scale).exp()
    half = [(1 - a) / (1 + a)]
    for _ in range(end):
        half.append(half[-1] * a)
    return -end, half[:0:-1] + half, 2 * half[-1] * a / (1 - a)
