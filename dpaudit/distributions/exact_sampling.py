"""Sample exactly: parameters and outcomes are integers, and no float affects a decision.

* ``bernoulli_exp``, ``discrete_laplace`` and ``discrete_gaussian`` are Algorithms 1, 2 and 3 of Canonne,
  Kamath and Steinke 2020 (The Discrete Gaussian for Differential Privacy), on whole arrays. Each round makes
  proposals for all missing entries and keeps the accepted ones.
* ``choose`` draws one of finitely many outcomes whose cumulative probabilities are any computable numbers. It
  compares a uniform real digit by digit (62 bits at a time) with their binary expansions (Knuth and Yao
  1976).

All randomness comes from ``rng.integers``, which numpy makes uniform by rejection (Lemire 2019). Arithmetic
uses ``int64`` if the numbers fit, and otherwise arrays of Python integers, which are slower but never
rounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError

__all__ = ["DIGIT_BITS", "bernoulli_exp", "choose", "discrete_gaussian", "discrete_laplace"]

Integers = NDArray[Any]  # int64, or Python integers if int64 could overflow
Booleans = NDArray[np.bool_]

DIGIT_BITS = 62
_WORD = 1 << DIGIT_BITS

#: A geometric count above this has probability e^-512. With a bound below 2^53, products fit in int64.
_ROOM = 512

#: Up to this many rows, numpy's call overhead dominates the cost of a round, not its random numbers.
_FEW = 64


def _uniform_below(rng: np.random.Generator, bound: int, count: int) -> Integers:
    """Return ``count`` uniform integers in [0, bound), as int64 if ``bound`` permits."""
    if bound <= _WORD:
        return rng.integers(bound, size=count)
    words = -(-bound.bit_length() // DIGIT_BITS)
    reach = 1 << (words * DIGIT_BITS)
    limit = reach - reach % bound  # the largest multiple of the bound; values from here on are drawn again
    kept = np.empty(0, dtype=object)
    while kept.size < count:
        digits = rng.integers(_WORD, size=(count - kept.size, words)).astype(object)
        values = digits[:, 0]
        for column in range(1, words):
            values = values * _WORD + digits[:, column]
        kept = np.concatenate([kept, values[(values < limit).astype(bool)]])
    return kept % bound


def bernoulli_exp(rng: np.random.Generator, numerators: Integers, denominator: int) -> Booleans:
    """Draw independent coins with success probability exp(-numerators / denominator), exactly (Algorithm 1).

    ``numerators`` is a flat array of non-negative integers. The denominator is positive.
    """
    if denominator > _WORD:
        numerators = numerators.astype(object)
    whole = numerators // denominator
    alive = _exp_fraction(rng, numerators - whole * denominator, denominator)
    pending = np.flatnonzero(alive & (whole > 0).astype(bool))
    left = whole[pending]
    while pending.size:  # exp(-w) means w successes of exp(-1) in a row, and most rows fail at once
        success = _exp_minus_one(rng, pending.size)
        alive[pending[~success]] = False
        left = left[success] - 1
        pending = pending[success][(left > 0).astype(bool)]
        left = left[(left > 0).astype(bool)]
    return alive


def _exp_fraction(rng: np.random.Generator, numerators: Integers, denominator: int) -> Booleans:
    """Draw coins with success probability exp(-g) for g = numerators / denominator in [0, 1].

    Draw A_k ~ Bernoulli(g/k) for k = 1, 2, ... until the first failure, at K. The coin succeeds if K is odd.
    A_k is the conjunction of a Bernoulli(g) and a Bernoulli(1/k), each from one uniform integer.
    """
    odd = np.ones(numerators.size, dtype=bool)  # whether the number of draws, including the next, is odd
    active = np.flatnonzero((numerators > 0).astype(bool))
    tops = numerators[active]
    k = 1
    while active.size:
        going = (_uniform_below(rng, denominator, active.size) < tops).astype(bool)
        if k > 1:
            going &= rng.integers(k, size=active.size) == 0
        active, tops = active[going], tops[going]
        odd[active] ^= True
        k += 1
    return odd


def _exp_minus_one(rng: np.random.Generator, count: int) -> Booleans:
    """Draw coins with success probability exp(-1), the case g = 1 of ``_exp_fraction``."""
    odd = np.zeros(count, dtype=bool)  # A_1 always succeeds, so the count starts at the second draw
    active = np.arange(count)
    k = 2
    while active.size:
        active = active[rng.integers(k, size=active.size) == 0]
        odd[active] ^= True
        k += 1
    return odd


def _geometric_e(rng: np.random.Generator, count: int) -> NDArray[np.int64]:
    """Draw numbers of successes of exp(-1) coins before the first failure."""
    runs = np.zeros(count, dtype=np.int64)
    active = np.arange(count)
    while active.size:
        width = 6 if active.size <= _FEW else 1  # for few rows, spare coins are cheaper than another round
        coins = _exp_minus_one(rng, active.size * width).reshape(active.size, width)
        unbroken = coins.all(axis=1)
        runs[active] += np.where(unbroken, width, np.argmin(coins, axis=1))
        active = active[unbroken]
    return runs


def _rejection(count: int, rate: float, propose: Callable[[int], Integers]) -> NDArray[np.int64]:
    """Call ``propose(n)``, which returns the accepted of n proposals, until ``count`` are accepted.

    ``rate`` is a guess of the acceptance rate. It affects only the size of a round.
    """
    kept: list[Integers] = []
    missing = count
    while missing > 0:
        accepted = propose(int(missing / rate * 1.05) + 8)[:missing]
        kept.append(accepted)
        missing -= accepted.size
    return _to_int64(np.concatenate(kept)) if kept else np.empty(0, dtype=np.int64)


def _to_int64(values: Integers) -> NDArray[np.int64]:
    try:
        return values.astype(np.int64)
    except OverflowError as error:
        raise InvalidParameterError(
            "the samples of an integer distribution must fit in 64 bits, got a larger one. Use a coarser "
            "unit.",
            code="E-SAMPLE-TOO-LARGE",
        ) from error


def discrete_laplace(rng: np.random.Generator, scale: Fraction, size: tuple[int, ...]) -> NDArray[np.int64]:
    """Draw samples with P(X = k) in proportion to exp(-|k| / scale), exactly (Algorithm 2, t/s = scale)."""

    def propose(count: int) -> Integers:
        return _laplace_proposals(rng, scale.numerator, scale.denominator, count)

    return _rejection(math.prod(size), 0.45, propose).reshape(size)


def _laplace_proposals(rng: np.random.Generator, t: int, s: int, count: int) -> Integers:
    """Return the accepted of ``count`` proposals of Algorithm 2, in the notation of the paper."""
    u = _uniform_below(rng, t, count)
    u = u[_exp_fraction(rng, u, t)]
    runs = _geometric_e(rng, u.size)
    if t * _ROOM > _WORD or s > _WORD:
        u, runs = u.astype(object), runs.astype(object)
    magnitude = (u + t * runs) // s  # geometric with ratio exp(-1/scale)
    negative = rng.integers(2, size=u.size) == 1
    keep = ~(negative & (magnitude == 0).astype(bool))  # reject -0, so that zero is not counted twice
    return np.asarray(np.where(negative, -magnitude, magnitude)[keep])


def discrete_gaussian(rng: np.random.Generator, sigma2: Fraction, size: tuple[int, ...]) -> NDArray[np.int64]:
    """Draw samples with P(X = k) in proportion to exp(-k^2 / (2 sigma2)), exactly (Algorithm 3)."""
    t = math.isqrt(sigma2.numerator // sigma2.denominator) + 1  # floor(sigma) + 1
    top, bottom = sigma2.numerator, sigma2.denominator
    denominator = 2 * top * bottom * t * t

    def propose(count: int) -> Integers:
        y = _laplace_proposals(rng, t, 1, count)
        # Accept with probability exp(-(|y| - sigma2/t)^2 / (2 sigma2)), in integers over one denominator.
        distance = _multiply(np.abs(y), bottom * t) - top
        return y[bernoulli_exp(rng, _square(distance), denominator)]

    return _rejection(math.prod(size), 0.3, propose).reshape(size)


def _largest(values: Integers) -> int:
    return int(np.abs(values).max(initial=0))


def _multiply(values: Integers, factor: int) -> Integers:
    fits = values.dtype != object and _largest(values) * factor < _WORD
    return values * factor if fits else values.astype(object) * factor


def _square(values: Integers) -> Integers:
    fits = values.dtype != object and _largest(values) ** 2 < _WORD
    return values * values if fits else values.astype(object) ** 2


def choose(
    rng: np.random.Generator, thresholds: Callable[[int], list[int]], size: tuple[int, ...]
) -> NDArray[np.int64]:
    """Draw indices j with probability c_j - c_(j-1).

    The c_0, c_1, ... are non-decreasing cumulative probabilities, without c_last = 1. ``thresholds(bits)``
    returns floor(c_j 2^bits) for all j. It is called with more bits only if a uniform real agrees with some
    c_j in all bits so far, which has probability 2^-62 per threshold.
    """
    borders = np.array(thresholds(DIGIT_BITS), dtype=np.int64)
    u = rng.integers(_WORD, size=math.prod(size))
    index = np.searchsorted(borders, u, side="left")
    if borders.size:
        nearest = borders[np.minimum(index, borders.size - 1)]
        for position in np.flatnonzero(nearest == u):
            index[position] = _resolve(rng, thresholds, int(u[position]))
    return index.astype(np.int64, copy=False).reshape(size)


def _resolve(rng: np.random.Generator, thresholds: Callable[[int], list[int]], u: int) -> int:
    """Finish a comparison that the first 62 bits did not decide, by adding bits until no threshold agrees."""
    bits = DIGIT_BITS
    while True:
        bits += DIGIT_BITS
        u = u * _WORD + int(rng.integers(_WORD))
        borders = thresholds(bits)
        if u not in borders:
            return sum(border < u for border in borders)
