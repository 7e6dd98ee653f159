"""Compute the probabilities of enumerated transcripts exactly, if all distributions have exact weights.

The probability of a path is the product of its outcomes' weights, divided by the product of the total weights
of their distributions (``exact_weights``). Over one common denominator, the numerators of the paths to one
transcript add up. The transcripts' probabilities are then in proportion to sums of exponentials, whose
equality is decidable.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce

from dpaudit.distributions.base import Distribution
from dpaudit.distributions.exact_weights import exact_weights
from dpaudit.kernel.t1.exponentials import ExpSum

__all__ = ["ExactPaths", "Share", "shares_of"]

#: With more paths, or more terms in a sum, only balls are computed.
MAX_PATHS, MAX_TERMS = 5000, 500

#: The weight of an outcome, and the total weight of its distribution.
Share = tuple[ExpSum, ExpSum]
_Terms = frozenset[tuple[Fraction, Fraction]]


class _TooLongError(Exception):
    """A sum has more than ``MAX_TERMS`` terms."""


def shares_of(distribution: Distribution) -> list[Share] | None:
    """Return the shares of the outcomes 0, 1, ... of ``distribution``, or ``None`` without exact weights."""
    weights = exact_weights(distribution)
    if weights is None:
        return None
    whole = reduce(ExpSum.__add__, weights)
    return [(weight, whole) for weight in weights]


class ExactPaths:
    """A collection of the paths of an enumeration, by transcript."""

    def __init__(self) -> None:
        self._paths: dict[str, list[Sequence[Share]]] | None = {}
        self._count = 0

    def add(self, key: str, path: Sequence[Share] | None) -> None:
        """Add a path to the transcript ``key``, by its shares, or by ``None`` if one is unknown."""
        self._count += 1
        if path is None or self._count > MAX_PATHS:
            self._paths = None
        if self._paths is not None and path is not None:
            self._paths.setdefault(key, []).append(path)

    def weights(self) -> dict[str, ExpSum] | None:
        """Return a weight for each transcript, in proportion to its probability.

        Return ``None`` if a path has no shares, or if there are too many paths or terms.
        """
        if self._paths is None:
            return None
        most = Counter[_Terms]()
        for path in itertools.chain(*self._paths.values()):
            most |= _denominator(path)
        try:
            return {
                key: reduce(ExpSum.__add__, (_weight(path, most) for path in group))
                for key, group in self._paths.items()
            }
        except _TooLongError:
            return None


def _denominator(path: Sequence[Share]) -> Counter[_Terms]:
    """Return the factors of a path's denominator with their multiplicities."""
    return Counter(frozenset(whole.terms.items()) for _, whole in path)


def _weight(path: Sequence[Share], most: Counter[_Terms]) -> ExpSum:
    """Return the numerator of a path over the denominator ``most``, a multiple of the path's denominator."""
    missing = (most - _denominator(path)).elements()
    return _product([*(weight for weight, _ in path), *(ExpSum(dict(terms)) for terms in missing)])


def _product(factors: Iterable[ExpSum]) -> ExpSum:
    product = ExpSum.exp(0)
    for factor in factors:
        product = product * factor
        if len(product.terms) > MAX_TERMS:
            raise _TooLongError
    return product
