"""Count permutations of labelled messages, for several mechanisms that share one shuffler."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from functools import lru_cache

__all__ = ["labelled_distance", "order_distance"]


@lru_cache(maxsize=4)
def _orders(users: int, labels: int) -> Counter[tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]]:
    """Count how often each pair (labels by place, each label's users in order) occurs over all
    permutations."""
    messages = [(user, label) for label in range(labels) for user in range(users)]
    found: Counter[tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]] = Counter()
    for order in itertools.permutations(messages):
        places = tuple(label for _, label in order)
        each = tuple(tuple(user for user, label in order if label == own) for own in range(labels))
        found[places, each] += 1
    return found


def labelled_distance(*, users: int, labels: int) -> Fraction:
    """Return the total variation distance between joint and separate shuffling.

    Joint shuffling applies one uniform permutation to all messages and splits them by label. Separate
    shuffling applies an independent uniform permutation per label.
    """
    total = math.factorial(users * labels)
    sequences: Counter[tuple[tuple[int, ...], ...]] = Counter()
    for (_, each), count in _orders(users, labels).items():
        sequences[each] += count
    each_chance = Fraction(1, math.factorial(users) ** labels)
    missing = math.factorial(users) ** labels - len(sequences)
    differences = sum(
        (abs(Fraction(count, total) - each_chance) for count in sequences.values()), Fraction(0)
    )
    return (differences + missing * each_chance) / 2


def order_distance(*, users: int, labels: int) -> Fraction:
    """Return the total variation distance between a joint distribution and the product of its marginals.

    The joint distribution is that of the labels by place and of the sequences. The distance is 0 if the
    places reveal nothing about who sent what.
    """
    joint = _orders(users, labels)
    total = math.factorial(users * labels)
    places: Counter[tuple[int, ...]] = Counter()
    sequences: Counter[tuple[tuple[int, ...], ...]] = Counter()
    for (place, each), count in joint.items():
        places[place] += count
        sequences[each] += count
    gaps = (
        abs(Fraction(joint[place, each], total) - Fraction(places[place] * sequences[each], total**2))
        for place in places
        for each in sequences
    )
    return sum(gaps, Fraction(0)) / 2
