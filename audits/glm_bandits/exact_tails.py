"""Compute probabilities of the tail lemmas, exactly or in balls: binomial tails, paths of Bernoulli noise,
chi square."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import comb

from dpaudit.core.errors import InvalidParameterError
from dpaudit.kernel.ball import arb, ball

__all__ = ["binomial_at_least", "binomial_below", "chi_square_above", "crossing_probability"]


@cache
def _masses(n: int, p: Fraction) -> tuple[Fraction, ...]:
    if n < 1 or not 0 < p < 1:
        raise InvalidParameterError(f"a binomial distribution needs n >= 1 and 0 < p < 1, got {n} and {p}.")
    return tuple(comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1))


def binomial_at_least(n: int, p: Fraction, limit: arb) -> Fraction:
    """Return P(Bin(n, p) >= limit). A value that the ball leaves undecided is included."""
    return sum((mass for k, mass in enumerate(_masses(n, p)) if not limit > k), Fraction(0))


def binomial_below(n: int, p: Fraction, limit: Fraction) -> Fraction:
    """Return P(Bin(n, p) < limit)."""
    return sum((mass for k, mass in enumerate(_masses(n, p)) if k < limit), Fraction(0))


def chi_square_above(freedom: int, limit: arb) -> arb:
    """Return P(chi square with ``freedom`` degrees > limit), as a ball."""
    found: arb = (limit / 2).gamma_upper(arb(freedom) / 2, regularized=1)
    return found


def crossing_probability(*, p: Fraction, rounds: int, crossed: Callable[[int, arb], bool]) -> arb:
    """Return P(crossed(t, S_t) for some t <= rounds), for S_t a sum of t independent Bernoulli(p) minus p.

    Paths that crossed are removed. ``crossed`` receives a ball of the sum.
    """
    alive, gone = {0: arb(1)}, arb(0)
    chance = ball(p)
    for t in range(1, rounds + 1):
        following: dict[int, arb] = {}
        for ones, mass in alive.items():
            for more, weight in ((0, 1 - chance), (1, chance)):
                following[ones + more] = following.get(ones + more, arb(0)) + mass * weight
        alive = {}
        for ones, mass in following.items():
            if crossed(t, ball(ones - t * p)):
                gone += mass
            else:
                alive[ones] = mass
    return gone
