"""The chances of enumerated transcripts as exact numbers, where every distribution along every path has them.

A path's chance is the product of its outcomes' weights over that of their distributions' sums
(``exact_weights``).
Brought to one denominator, the paths of a transcript add up, and the transcripts are in proportion to sums of
exponentials, between which equality is decided.
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

#: More paths than this, or more terms in a sum, are left to balls.
MAX_PATHS, MAX_TERMS = 5000, 500

#: The weight of an outcome, and the sum of the weights of its distribution.
Share = tuple[ExpSum, ExpSum]
_Terms = frozenset[tuple[Fraction, Fraction]]


class _TooLongError(Exception):
    """A sum has more terms than are written out."""


def shares_of(distribution: Distribution) -> list[Share] | None:
    """The shares of the outcomes 0, 1, ... of ``distribution``; ``None`` where it has no exact weights."""
    weights = exact_weights(distribution)
    if weights is None:
        return None
    whole = reduce(ExpSum.__add__, weights)
    return [(weight, whole) for weight in weights]


class ExactPaths:
    """Collects the paths of an enumeration by what was seen on them."""

    def __init__(self) -> None:
        self._paths: dict[str, list[Sequence[Share]]] | None = {}
        self._count = 0

    def add(self, key: str, path: Sequence[Share] | None) -> None:
        """One path to the transcript ``key``, by the shares along it; ``None`` where one is not known."""
        self._count += 1
        if path is None or self._count > MAX_PATHS:
            self._paths = None
        if self._paths is not None and path is not None:
            self._paths.setdefault(key, []).append(path)

    def weights(self) -> dict[str, ExpSum] | None:
        """For each transcript a weight in proportion to its chance; ``None`` where a path had no shares, and
        where there are too many paths or terms."""
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
    """The factors of a path's denominator, each as often as it stands there."""
    return Counter(frozenset(whole.terms.items()) for _, whole in path)


def _weight(path: Sequence[Share], most: Counter[_Terms]) -> ExpSum:
    """The numerator of a path over the denominator ``most``, which its own divides."""
    missing = (most - _denominator(path)).elements()
    return _product([*(weight for weight, _ in path), *(ExpSum(dict(terms)) for terms in missing)])


def _product(factors: Iterable[ExpSum]) -> ExpSum:
    product = ExpSum.exp(0)
    for factor in factors:
        product = product * factor
        if len(product.terms) > MAX_TERMS:
            raise _TooLongError
    return product
