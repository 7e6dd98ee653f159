"""Random queries of small data sets: arbitrary tables, and sums of a function of each record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

__all__ = ["Query", "choose", "distance_1", "distance_2", "distance_max", "random_sum", "random_table"]

Values = tuple[int | None, ...]
Query = Callable[[Values], Any]


def choose(rng: np.random.Generator, options: Sequence[Any]) -> Any:
    """One of the options."""
    return options[int(rng.integers(len(options)))]


def random_table(rng: np.random.Generator, entries: Sequence[Any], *, most: int = 4) -> Query:
    """An arbitrary function of the list of values: order and length count."""
    alphabet = (0, 1, 2, None)
    keys = [key for size in range(most + 1) for key in product(alphabet, repeat=size)]
    chosen = rng.integers(len(entries), size=len(keys))
    table = {key: entries[int(i)] for key, i in zip(keys, chosen, strict=True)}
    return lambda values: table[tuple(values)]


def random_sum(rng: np.random.Generator, entries: Sequence[Any]) -> Query:
    """The sum of g(value) over the records, g random with values in ``entries``, the null record being 0."""
    g = {value: choose(rng, entries) for value in (0, 1, 2)}
    return lambda values: sum((g[value] for value in values if value is not None), 0 * entries[0])


def distance_1(one: Sequence[Fraction], other: Sequence[Fraction]) -> Fraction:
    """The l1 distance of two vectors."""
    return sum((abs(a - b) for a, b in zip(one, other, strict=True)), Fraction(0))


def distance_2(one: Sequence[Fraction], other: Sequence[Fraction]) -> Fraction:
    """The square of the l2 distance."""
    return sum(((a - b) ** 2 for a, b in zip(one, other, strict=True)), Fraction(0))


def distance_max(one: Sequence[Fraction], other: Sequence[Fraction]) -> Fraction:
    """The largest distance of a coordinate."""
    return max((abs(a - b) for a, b in zip(one, other, strict=True)), default=Fraction(0))
