"""Dominating pairs of shuffled mechanisms on a grid, for compositions.

``clones_pair``. The clone pair of ``shuffle`` is a pair of distributions, from which the shuffled outputs on
either input are made by a map that does not know the input; so it dominates, at every E and in products. Its
outcome (c, a) has P = P(C = c) (q b(a-1) + (1-q) b(a)) and Q the same with 1 - q. Exchange of the coordinates
exchanges P and Q, so one distribution serves both directions.

``exact_response_pair``. The shuffled answers of one bit depend on k, the number of other users who hold 1.
The pointwise maximum over k of the pairs dominates all of them, for any k in each step. The direction 0 to 1
of k is the direction 1 to 0 of n - 1 - k, so one direction for all k covers both.

Mass that is left out. Neither the far c nor the far a are listed. The missing mass of P is put at the largest
loss, e0, which no outcome exceeds: P <= e^e0 Q term by term. ∎
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from flint import arb, arb_poly

from dpaudit.kernel.ball import ball, precision
from dpaudit.kernel.errors import InvalidParameterError
from dpaudit.kernel.t1.certpld import Grid, LossDistribution, from_atoms
from dpaudit.kernel.t1.lattice import bulk
from dpaudit.kernel.t1.profiles import maximum, profile_pair
from dpaudit.kernel.t2.shuffle import MAX_EXACT_USERS, Clones, clones_delta

__all__ = ["clones_pair", "exact_response_pair", "renyi_grid"]

#: Largest number of listed outcomes (c, a) of the clone pair, which takes about ten seconds.
MAX_ATOMS = 600_000
#: The mass that is not listed is smaller than the grid's tail by this number of bits.
BEYOND = 16

Atom = tuple[arb, arb]


def renyi_grid(local: Fraction) -> Grid:
    """Return the grid on which Renyi divergences are computed: a thousand losses up to ``local``."""
    return Grid(step=local / 1000, tail=100)


@lru_cache(maxsize=16)
def clones_pair(users: int, local: Fraction, grid: Grid) -> LossDistribution:
    """Return the upper distribution of the clone pair of ``users`` outputs of a ``local``-DP randomiser.

    If there are too many users to list the outcomes, return the pair of its delta (``profiles``).
    """
    with precision(grid.precision):
        low, high, _, _ = bulk(Clones(users, local), grid.tail + BEYOND)
        # The mass beyond this width is at most 2^-bits, by Hoeffding. It is counted anyway.
        width = math.isqrt(int(0.35 * (grid.tail + BEYOND) * high)) + 2
        if (high - low + 1) * min(2 * width + 2, high + 2) <= MAX_ATOMS:
            return _distribution(grid, _clone_atoms(users, local, low, high, width), local)
    return profile_pair(lambda e: clones_delta(users=users, local=local, epsilon=e), local, grid)


def _distribution(grid: Grid, atoms: Iterable[Atom], local: Fraction) -> LossDistribution:
    """Return the upper distribution of these atoms, with the missing mass at the loss ``local``."""
    listed, total = list[Atom](), arb(0)
    for atom in atoms:
        listed.append(atom)
        total += atom[0]
    missing = arb((1 - total).upper())
    if missing > 0:
        listed.append((missing, missing * ball(-local).exp()))
    return from_atoms(grid, listed)


def _clone_atoms(users: int, local: Fraction, low: int, high: int, width: int) -> Iterator[Atom]:
    """Yield P and Q of the outcomes with c in ``low``..``high`` and a within ``width`` of its middle."""
    q = 1 / (1 + ball(-local).exp())
    for c, chance in zip(range(low, high + 1), Clones(users, local).masses(low, high), strict=True):
        first, last = max(0, c // 2 - width), min(c + 1, c // 2 + width)
        for below, here in pairwise(_halves(c, first - 1, last)):
            high_part, low_part = chance * below, chance * here
            yield q * high_part + (1 - q) * low_part, (1 - q) * high_part + q * low_part


def _halves(c: int, low: int, high: int) -> list[arb]:
    """Return the masses of Bin(c, 1/2) from ``low`` >= -1 to ``high`` <= c + 1."""
    start, end = max(low, 0), min(high, c)
    masses, value = [arb(0)] * (start - low), arb.bin_uiui(c, start) / arb(2) ** c
    for k in range(start, end + 1):
        masses.append(value)
        value = value * (c - k) / (k + 1)
    return masses + [arb(0)] * (high - end)


@lru_cache(maxsize=16)
def exact_response_pair(users: int, local: Fraction, grid: Grid) -> LossDistribution:
    """Return the upper distribution that dominates the shuffled one-bit answers of ``users``, for all
    neighbours.
    """
    if users > MAX_EXACT_USERS:
        raise InvalidParameterError(
            f"the exact pair needs at most {MAX_EXACT_USERS} users, got {users}; use clones instead.",
            code="E-USERS-TOO-MANY",
        )
    with precision(grid.precision):
        q, least = 1 / (1 + ball(-local).exp()), arb(2) ** -(grid.tail + BEYOND)
        ones, zeros = arb_poly([1 - q, q]), arb_poly([q, 1 - q])
        distributions = []
        for k in range(users):
            sums = (ones**k * zeros ** (users - 1 - k)).coeffs()
            sums = [arb(0), *sums, *[arb(0)] * (users + 1 - len(sums))]  # sums[x + 1] = s(x)
            atoms = (
                (q * below + (1 - q) * here, (1 - q) * below + q * here)
                for below, here in pairwise(sums)
                if below > least or here > least
            )
            distributions.append(_distribution(grid, atoms, local))
        return maximum(*distributions)
