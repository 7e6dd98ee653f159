"""Force the outcomes of several sites at once.

If sites are forced one at a time (``quantiles``), behaviour that needs several outcomes is never seen. Here
every random number of a run, visible or hidden, takes an outcome in one of its tails, by a pattern of signs:
number k is high if k and the pattern's mask have an odd number of bits in common. The opposite pattern
follows. With the masks 1, 2 and 4 any two of the first eight numbers take opposite tails, in both orders. For
three or four numbers, the masks 1, 2, 3 with the histories of ``quantiles`` (all on the same side) cover
every combination of three.

Sites with few outcomes are combined: site number k takes its outcome number s + k t, modulo a prime p, for
all s and t, so that any two of p sites take every combination. With p at most 3, s + k t + k^2 u covers any
three. Histories beyond the allowed number of runs are left out evenly.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from dpaudit.coins import Choice, Recording
from dpaudit.coins.levels import outcome_at, outcomes_of
from dpaudit.coins.transcript import count_of
from dpaudit.distributions.base import Distribution

__all__ = ["combinations_of", "patterns_of"]

#: Tail levels: one where thresholds may be, and one beyond them.
LEVELS = (0.02, 1e-6)
#: Largest number of masks, with one history in each order.
MASKS = 3
#: Sites with more outcomes than this are not combined.
OUTCOMES = 7
#: The largest numbers of sites or outcomes of which all pairs are combined.
PRIMES = (2, 3, 5, 7)


def patterns_of(base: Recording) -> list[tuple[str, Choice]]:
    """Return choices of high and low outcomes at every random site, for runs like ``base``.

    Each has a description. The list is empty for a run with fewer than two random numbers.
    """
    numbers = sum(count_of(site.value) for site in base.sites if site.random)
    if numbers < 2:
        return []
    masks = [1, 2, 3] if numbers in (3, 4) else [2**bit for bit in range((numbers - 1).bit_length())][:MASKS]
    return [
        (f"opposite tails, pattern {mask}{' turned' * turned}, at {level:g}", _pattern(mask, turned, level))
        for level in LEVELS
        for mask in masks
        for turned in (False, True)
    ]


def _pattern(mask: int, turned: bool, level: float) -> Choice:
    met = 0

    def choose(site: str, occurrence: int, distribution: Distribution) -> Any:
        nonlocal met
        if not isinstance(distribution, Distribution):  # a channel without distributions of single answers
            met += 1
            answers = getattr(distribution, "answers", None)
            return answers[-1 if _high(met - 1, mask) ^ turned else 0] if answers else None
        size = max(1, int(np.prod(distribution.batch_shape)))
        places = np.arange(met, met + size)
        met += size
        high = _high(places, mask) ^ turned
        return outcome_at(distribution, np.where(high, 1 - level, level).reshape(distribution.batch_shape))

    return choose


def _high(place: Any, mask: int) -> Any:
    return (np.bitwise_count(place & mask) % 2).astype(bool)


def combinations_of(base: Recording, *, most: int) -> list[tuple[str, Choice]]:
    """Return at most ``most`` choices of outcomes at all sites with few of them, with descriptions.

    The list is empty for a run with fewer than two such sites.
    """
    widths = [
        len(values)
        for values in map(_few, (site.distribution for site in base.sites if site.random))
        if values
    ]
    if len(widths) < 2 or most < 1:
        return []
    prime = next((p for p in PRIMES if p >= max(*widths, min(len(widths), PRIMES[-1]))), PRIMES[-1])
    all_of = list(product(range(prime), repeat=3 if prime <= 3 else 2))
    step = max(1, -(-len(all_of) // most))
    return [(f"outcomes combined {numbers}", _combined(numbers, prime)) for numbers in all_of[::step]]


def _combined(numbers: Sequence[int], prime: int) -> Choice:
    met = 0

    def choose(site: str, occurrence: int, distribution: Distribution) -> Any:
        nonlocal met
        values = _few(distribution)
        if not values:
            return None
        place = sum(number * met**power for power, number in enumerate(numbers)) % prime
        met += 1
        return values[place % len(values)]

    return choose


def _few(distribution: Distribution | None) -> list[Any]:
    """Return the outcomes of a distribution with at least two and few, in the same order on every run."""
    if not isinstance(distribution, Distribution) or distribution.batch_shape:
        return []
    values = outcomes_of(distribution, most=OUTCOMES)
    return values if len(values) > 1 else []
