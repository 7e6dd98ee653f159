"""Tails and masses of single families of noise in closed form, for the table of families in ``noise``.

* n Laplace parts of one scale b. X/b is the difference of two independent Gamma(n) variables G and G'. Given
  G', P(G > x + G') = e^{-x-G'} sum_{k<n} (x + G')^k / k!. Expand the power and use E e^{-G'} G'^j / j! =
  C(n+j-1, j) 2^{-n-j}: for x >= 0, P(X/b > x) = e^{-x} sum_{i<n} x^i/i! sum_{j<n-i} C(n+j-1, j) 2^{-n-j}.
  All terms are positive. For n = 1 it is e^{-x} / 2.
* n exponential parts of one scale: a Gamma variable, incomplete gamma function.
* Discrete Laplace and finite distributions: their masses on an interval, and a bound on the mass outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil

from flint import arb, ctx

from dpaudit.kernel.ball import ball
from dpaudit.kernel.errors import NotTractableError

__all__ = ["MAX_WIDTH", "finite_masses", "gamma_tail", "geometric_masses", "laplace_tail"]

#: Limits for untrusted parameters: draws in a closed form, and outcomes of a distribution.
MAX_DRAWS = 20_000
MAX_WIDTH = 1 << 21


def laplace_tail(n: int, x: arb) -> arb:
    """Return P(X > x) for a sum X of ``n`` Laplace variables of scale 1."""
    _check_draws(n)
    if not (x >= 0 or x < 0):
        return arb.nan()
    if x < 0:
        return 1 - laplace_tail(n, -x)
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


def gamma_tail(n: int, x: arb, below: bool) -> arb:
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


def finite_masses(atoms: Sequence[tuple[Fraction, Fraction]]) -> tuple[int, list[arb], arb]:
    """Return the least outcome, all masses from there on, and 0, for integers with their weights."""
    low, high = int(min(x for x, _ in atoms)), int(max(x for x, _ in atoms))
    if high - low > MAX_WIDTH:
        raise NotTractableError(
            f"outcomes must lie within {MAX_WIDTH} of each other; use a cumulant bound.", code="E-TAIL-WIDTH"
        )
    total, masses = sum(weight for _, weight in atoms), [Fraction(0)] * (high - low + 1)
    for x, weight in atoms:
        masses[int(x) - low] += weight / total
    return low, [ball(mass) for mass in masses], arb(0)


def geometric_masses(scale: Fraction) -> tuple[int, list[arb], arb]:
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
