"""Cut the line of one noisy number where the two sides differ most.

Half-lines give the best events if the noise is the same on both sides. If its scale differs, or its density
has heavy tails, the largest ratio of the densities may lie anywhere, and the best event of a claim with a
delta is a union of intervals that end where the densities cross. Everything here is computed in floats and
only proposes cuts. The probabilities of the cells are enclosed elsewhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction

__all__ = ["best_places", "crossings"]

#: The probabilities of an interval on both sides.
Chances = Callable[[Fraction, Fraction], tuple[float, float] | None]

#: Rounds and places of the search for the largest ratio, and bisections of a crossing.
ROUNDS, PLACES, BISECTIONS = 4, 20, 30
#: Differences of probabilities below this are rounding.
LEAST = 1e-13


def best_places(places: Sequence[Fraction], width: Fraction, chances: Chances) -> list[Fraction]:
    """Return, for each direction, the start of an interval of ``width`` with the largest ratio.

    Each round divides the neighbourhood of the best place so far.
    """
    found = []
    for side in (0, 1):
        tried, best = list(places), None
        for _ in range(ROUNDS):
            rated = [(_ratio(chances(at, at + width), side), at) for at in tried]
            most, best = max(rated)
            near = sorted(at for at in tried if at != best)
            if most <= 0 or not near:
                break
            reach = min(abs(at - best) for at in near)
            below = max((at for at in near if at < best), default=best - reach)
            above = min((at for at in near if at > best), default=best + reach)
            tried = sorted({best, *(below + (above - below) * k / PLACES for k in range(PLACES + 1))})
        if best is not None:
            found.append(best)
    return found


def _ratio(ends: tuple[float, float] | None, side: int) -> float:
    """Return p / q in one direction, or 0 if rounding may explain it."""
    if ends is None or min(ends) < LEAST:
        return 0.0
    return ends[side] / ends[1 - side]


def crossings(cuts: Sequence[Fraction], chances: Chances, factor: float) -> list[Fraction]:
    """Return places between the cuts where one density is ``factor`` times the other, in either direction."""
    found = []
    for side in (0, 1):

        def is_above(at: Fraction, width: Fraction, side: int = side) -> bool:
            ends = chances(at, at + width)
            return ends is not None and ends[side] - factor * ends[1 - side] > 0

        for low, high in itertools.pairwise(cuts):
            width = (high - low) / 1000
            first = is_above(low, width)
            if first == is_above(high - width, width):
                continue
            for _ in range(BISECTIONS):
                middle = (low + high) / 2
                if is_above(middle, width) == first:
                    low = middle
                else:
                    high = middle
            found.append(Fraction(round(high * 2**40), 2**40))
    return found
