"""Compute the exact information between hidden signs and a learner's output, on finite alphabets, in nats.

A ``SignDistribution`` is the joint distribution of V, uniform on {-1, 1}^d, and X. It holds the masses of X
for each V.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from dpaudit.core.errors import InvalidParameterError
from dpaudit.kernel.ball import arb

__all__ = [
    "SignDistribution",
    "Signs",
    "divergence",
    "entropy",
    "half_mixture",
    "jensen_shannon",
    "noisy_signs",
]

Signs = tuple[int, ...]


def entropy(masses: Sequence[arb]) -> arb:
    """Return -Σ p log p, in nats."""
    return -sum((p * p.log() for p in masses if not p.is_zero()), arb(0))


def divergence(first: Sequence[arb], second: Sequence[arb]) -> arb:
    """Return KL(first | second). ``second`` must be positive where ``first`` is."""
    pairs = [(p, q) for p, q in zip(first, second, strict=True) if not p.is_zero()]
    if not all(bool(q > 0) for _, q in pairs):
        raise InvalidParameterError(
            "second must have mass wherever first has mass; otherwise the divergence is infinite."
        )
    return sum((p * (p / q).log() for p, q in pairs), arb(0))


def half_mixture(first: Sequence[arb], second: Sequence[arb]) -> list[arb]:
    """Return the masses of M = (P + Q)/2."""
    return [(p + q) / 2 for p, q in zip(first, second, strict=True)]


def jensen_shannon(first: Sequence[arb], second: Sequence[arb]) -> arb:
    """Return (KL(P | M) + KL(Q | M))/2: the information that a draw has about which distribution produced
    it."""
    middle = half_mixture(first, second)
    return (divergence(first, middle) + divergence(second, middle)) / 2


@dataclass(frozen=True)
class SignDistribution:
    """``given[V][x]`` = P(X = x | V) for each V in {-1, 1}^d, all of one length. V is uniform."""

    given: Mapping[Signs, Sequence[arb]]

    @property
    def dim(self) -> int:
        """Return d."""
        return len(next(iter(self.given)))

    def averaged(self, fixed: Mapping[int, int]) -> list[arb]:
        """Return the masses of X given V_j = v for the ``fixed`` pairs."""
        rows = [
            masses for signs, masses in self.given.items() if all(signs[j] == v for j, v in fixed.items())
        ]
        return [sum(column, arb(0)) / len(rows) for column in zip(*rows, strict=True)]

    def sides(self, j: int) -> tuple[list[arb], list[arb]]:
        """Return the masses of X given V_j = 1 and given V_j = -1."""
        return self.averaged({j: 1}), self.averaged({j: -1})

    def information(self) -> arb:
        """Return I(V; X)."""
        inner = sum((entropy(masses) for masses in self.given.values()), arb(0)) / len(self.given)
        return entropy(self.averaged({})) - inner

    def information_of_one(self, j: int) -> arb:
        """Return I(V_j; X)."""
        return jensen_shannon(*self.sides(j))

    def information_given_others(self, j: int) -> arb:
        """Return I(V_j; X | V_-j)."""
        others = [k for k in range(self.dim) if k != j]
        found = arb(0)
        for values in product((-1, 1), repeat=len(others)):
            fixed = dict(zip(others, values, strict=True))
            found += jensen_shannon(self.averaged({**fixed, j: 1}), self.averaged({**fixed, j: -1}))
        return found / (1 << len(others))

    def divergence_of_one(self, j: int) -> arb:
        """Return KL of X given V_j = 1 from X given V_j = -1."""
        return divergence(*self.sides(j))

    def smallest_errors(self) -> arb:
        """Return the least expected number of wrong signs of any decoder of X."""
        total = arb(0)
        for j in range(self.dim):
            total += sum((p.min(q) / 2 for p, q in zip(*self.sides(j), strict=True)), arb(0))
        return total


def noisy_signs(dim: int, *, correct: arb) -> SignDistribution:
    """Return V with each sign kept with probability ``correct``, independently, as X."""
    every = list(product((-1, 1), repeat=dim))

    def mass(signs: Signs, shown: Signs) -> Any:
        return prod(
            (correct if a == b else 1 - correct for a, b in zip(signs, shown, strict=True)), start=arb(1)
        )

    return SignDistribution({signs: [mass(signs, shown) for shown in every] for signs in every})
