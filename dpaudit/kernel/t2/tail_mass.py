"""Exact tails of noise: P(X > u), P(X >= u) and the like, as balls, for sums of independent parts.

* Gaussian parts: their variances add. Laplace and exponential parts of one scale: ``closed_tails``.
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

from flint import arb, arb_poly

from dpaudit.kernel.ball import ball
from dpaudit.kernel.errors import NotTractableError
from dpaudit.kernel.t1 import lattice
from dpaudit.kernel.t2.closed_tails import MAX_WIDTH
from dpaudit.kernel.t2.noise import Noise, Part

__all__ = ["mass_above"]

Parts = list[tuple[Part, int]]


def mass_above(noise: Noise, level: Fraction | arb, *, strict: bool, below: bool = False) -> arb:
    """Return an enclosure of P(X > level), or of P(X >= level) if not ``strict``.

    With ``below``, return an enclosure of P(X < -level), or of P(X <= -level). ``level`` is exact, or a ball
    of an irrational number. Raise ``NotTractableError`` for noise without an exact tail.
    """
    shift = -noise.shift if below else noise.shift
    moved = level - shift if isinstance(level, Fraction) else level - ball(shift)
    return _tail(_merged(noise), moved, strict, below)


def _merged(noise: Noise) -> Parts:
    """Merge parts whose sum is one distribution of their family, and count other equal parts together."""
    counted: dict[Part, int] = {}
    sums: list[Part] = []
    for part, n in noise.parts:
        one = part.total(n)
        if one is None:
            counted[part] = counted.get(part, 0) + n
            continue
        found = [(i, both) for i, known in enumerate(sums) if (both := known.plus(one)) is not None]
        if found:
            sums[found[0][0]] = found[0][1]
        else:
            sums.append(one)
    return [*counted.items(), *((one, 1) for one in sums)]


def _tail(parts: Parts, level: Fraction | arb, strict: bool, below: bool) -> arb:
    if len(parts) == 1:
        part, n = parts[0]
        closed = part.tail(n, level, below=below)
        if closed is not None:
            return closed
    least = _next_integer(level, strict)
    return arb.nan() if least is None else _integer_tail(parts, least, below)


def _next_integer(level: Fraction | arb, strict: bool) -> int | None:
    """Return the least integer above ``level`` (at or above it, if not ``strict``), or ``None`` if
    undecided.
    """
    if isinstance(level, Fraction):
        return floor(level) + 1 if strict else ceil(level)
    below = level.floor().unique_fmpz()
    return None if below is None else int(below) + 1


def _integer_tail(parts: Parts, least: int, below: bool) -> arb:
    if len(parts) == 1 and parts[0][1] == 1:
        distribution = parts[0][0].log_concave
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


def _product(parts: Parts) -> tuple[int, list[arb], arb]:
    """Return the least outcome, the masses of the cut sum from there on, and a bound on the mass cut."""
    low, product, missing = 0, arb_poly([1]), arb(0)
    width = 0
    for part, n in parts:
        first, masses, cut = part.cut()
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
