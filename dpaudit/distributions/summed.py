"""Compute moments, sums and exponential moments of noise distributions from their masses alone.

This is an independent check of the closed forms of the other files, which are not used here for the
quantities that are compared. Terms are added up, and the remainder of each series is bounded.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from flint import arb_poly, ctx
from numpy.typing import NDArray

from dpaudit.distributions import Skellam
from dpaudit.kernel.ball import arb, ball

__all__ = [
    "convolved_polya",
    "gamma_poisson",
    "laplace_mass",
    "laplace_moment",
    "laplace_sum_tail",
    "poisson_difference",
    "skellam_mgf",
    "skellam_pair",
]

Number = int | Fraction
Integers = NDArray[np.int64]


def laplace_mass(b: Number, k: int) -> arb:
    """Return the discrete Laplace mass (e^{1/b} - 1)/(e^{1/b} + 1) e^{-|k|/b} as a ball."""
    power = ball(1 / Fraction(b)).exp()
    return (power - 1) / (power + 1) * ball(-abs(k) / Fraction(b)).exp()


def laplace_moment(b: Number, degree: int) -> arb:
    """Return the sum over all integers k of k^degree times ``laplace_mass``, for even ``degree``.

    The terms t(k) = k^d a^k satisfy t(k+1) <= r t(k) with r = a ((N+1)/N)^d for k >= N, so the remainder
    after N terms is between 0 and t(N+1)/(1 - r).
    """
    ratio = ball(-1 / Fraction(b)).exp()
    last = math.ceil(Fraction(b) * ctx.prec * Fraction(7, 10)) + 4 * degree + 4
    mass = laplace_mass(b, 0)
    total = mass if degree == 0 else arb(0)
    for k in range(1, last + 1):
        mass = mass * ratio
        total += 2 * k**degree * mass
    growth = ratio * ball(Fraction(last + 1, last) ** degree)
    return total + arb(0).union(2 * (last + 1) ** degree * mass * ratio / (1 - growth))


@lru_cache(maxsize=8)
def _one_sided_sum(n: int, b: Fraction, length: int, bits: int) -> tuple[arb, ...]:
    """Return masses 0..length-1 of the sum of ``n`` Pólya(1/n, e^{-1/b}) variables, by truncated convolution.

    The low masses of a sum of non-negative integers depend only on the low masses of its parts, so truncation
    is exact. ``bits`` is the working precision, a parameter because it is part of the cache key.
    """
    ratio, mass = ball(-1 / b).exp(), (1 - ball(-1 / b).exp()) ** ball(Fraction(1, n))
    single = [mass]
    for x in range(1, length):
        mass = mass * ratio * ball((x - 1 + Fraction(1, n)) / x)
        single.append(mass)
    power, base, left = arb_poly([1]), arb_poly(single), n
    while left:
        if left & 1:
            power = _cut(power * base, length)
        base, left = (_cut(base * base, length) if left > 1 else base), left >> 1
    return tuple(power[i] for i in range(length))


def _cut(polynomial: arb_poly, length: int) -> arb_poly:
    return arb_poly([polynomial[i] for i in range(length)])


def convolved_polya(n: int, b: Fraction, k: int, *, length: int) -> arb:
    """Return P(Σ (γ⁺ - γ⁻) = k), k >= 0, for ``n`` pairs of Pólya(1/n, e^{-1/b}), from the Pólya masses only.

    Sums up to ``length`` are computed by convolution, and the remainder is a ball.
    """
    masses = _one_sided_sum(n, Fraction(b), length, int(ctx.prec))
    inside = length - k
    total = sum((masses[j] * masses[j + k] for j in range(inside)), arb(0))
    left_out = (1 - sum(masses[:inside], arb(0))) * (1 - sum(masses, arb(0)))  # P(Y >= inside) sup P(X = ..)
    return total + arb(0).union(left_out.abs_upper())


def gamma_poisson(
    rng: np.random.Generator, *, shape: float, second: float, size: int, reading: str
) -> NDArray[np.int64]:
    """Draw X ~ Poisson(λ) with λ ~ Gamma(shape, second).

    ``reading`` is "scale" or "rate", the meaning of the second parameter of the gamma distribution.
    """
    scale = second if reading == "scale" else 1 / second
    return rng.poisson(rng.gamma(shape, scale, size=size))


def poisson_difference(variance: Number, k: int) -> arb:
    """Return P(N1 - N2 = k), k >= 0, for independent N1 and N2 with distribution Poisson(variance / 2).

    It is the sum of e^{-v} (v/2)^{2j+k} / (j! (j+k)!) over j, from ratios of successive terms.
    """
    half = ball(Fraction(variance) / 2)
    term = (-2 * half).exp() * half**k / arb(k + 1).gamma()
    total, j = term, 0
    while True:
        j += 1
        ratio = half * half / (j * (j + k))
        term = term * ratio
        total += term
        if ratio < arb("0.5") and term < total * arb(2) ** -int(ctx.prec):
            return total + arb(0).union(2 * term * ratio)


def skellam_pair(first: Number, second: Number, k: int) -> arb:
    """Return P(X + Y = k) for independent Skellam variables, by summation, with the remainder as a ball."""
    distributions = [Skellam(variance=v) for v in (first, second)]
    reach = int(14 * math.sqrt(first) + 60)
    total = sum(
        (
            distributions[0].logp_ball(j).exp() * distributions[1].logp_ball(k - j).exp()
            for j in range(-reach, reach + 1)
        ),
        arb(0),
    )
    return total + arb(0).union(2 * distributions[0].sf_ball(reach))


def skellam_mgf(variance: Number, t: Fraction) -> arb:
    """Return E e^{tX} by summation. Ratios of e^{tk} p(k) decrease, so the remainder is at most geometric."""
    distribution, point = Skellam(variance=variance), ball(t)
    reach = int((abs(t) + 16) * (math.sqrt(variance) + 1) + float(variance) * math.sinh(abs(t)) + 60)
    terms = [(distribution.logp_ball(k) + point * k).exp() for k in range(-reach, reach + 1)]
    ends = [terms[i] * (terms[i] / terms[j]) / (1 - terms[i] / terms[j]) for i, j in ((0, 1), (-1, -2))]
    return sum(terms, arb(0)) + arb(0).union(ends[0] + ends[1])


def laplace_sum_tail(n: int, x: arb) -> arb:
    """Return P(Z_1 + ... + Z_n >= x) as a ball, for independent Laplace draws of scale 1 and a ball x >= 0.

    The density is exp(-x) times a polynomial, so this is a sum of Gamma tails of shape n - k with positive
    weights C(n-1+k, k) 2^-(n+k), k = 0..n-1.
    """
    total, shape_tail, power = arb(0), arb(0), arb(1)
    tails = []
    for j in range(n):
        shape_tail += power  # 1 + x + ... + x^j/j!: the Gamma tail of shape j + 1, without exp(-x)
        tails.append(shape_tail)
        power = power * x / (j + 1)
    for k in range(n):
        total += ball(Fraction(math.comb(n - 1 + k, k), 2 ** (n + k))) * tails[n - 1 - k]
    return total * (-x).exp()
