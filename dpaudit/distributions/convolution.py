"""Compute sums of independent integer variables with finitely many outcomes, by exact convolution.

Equal distributions are raised to a power by repeated squaring. Different factors are multiplied in order of
length, the two shortest first, so that n users with k values each need about log(n) products of the full
length instead of n.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from heapq import heapify, heappop, heappush
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from flint import arb, arb_poly, ctx, fmpz_poly
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError, NotTractableError, UndecidedError
from dpaudit.distributions.base import (
    Argument,
    Distribution,
    LogConcavity,
    Support,
    distribution_from_json,
    register,
)
from dpaudit.distributions.identity import identity
from dpaudit.distributions.lattice import LatticeDistribution
from dpaudit.distributions.scalar import Floats
from dpaudit.kernel.ball import MAX_PRECISION, precision

Polynomial = TypeVar("Polynomial", arb_poly, fmpz_poly)

__all__ = ["ConvolvedIntegers", "grouped", "product_of", "read_groups", "with_digits"]

#: The largest number of outcomes of a convolution.
_WIDEST = 2**16


def grouped(distributions: Iterable[Distribution]) -> tuple[tuple[Distribution, int], ...]:
    """Return the distinct distributions with multiplicities, in an order independent of the input's order."""
    kept = list(distributions)
    keys = [*map(identity, kept)]  # thousands of users share a few objects, so hash each only once
    objects = dict(zip(keys, kept, strict=True))
    counts: dict[Distribution, int] = {}
    for key, times in Counter(keys).items():
        counts[objects[key]] = counts.get(objects[key], 0) + times
    if len(counts) == 1:
        return tuple(counts.items())
    return tuple(sorted(counts.items(), key=lambda item: json.dumps(item[0].to_json(), sort_keys=True)))


@register("convolved-integers")
@dataclass(frozen=True, repr=False, init=False)
class ConvolvedIntegers(LatticeDistribution):
    """The distribution of a sum of independent integer variables, each with finitely many outcomes.

    Sums of equal parts are equal in any order. Probabilities are the coefficients of a product of polynomials
    in balls. The precision is raised until each of them has the digits of the working precision, however
    small it is.

    Parameters
    ----------
    parts : sequence of Distribution
        The distributions of the terms, at least one.

    Raises
    ------
    InvalidParameterError
        There are no parts.
    NotTractableError
        A part has infinitely many outcomes or is not a distribution on the integers, or there are more than
        2^16 outcomes in total.
    """

    groups: tuple[tuple[LatticeDistribution, int], ...]
    forms: ClassVar[tuple[tuple[str, ...], ...]] = (("parts",),)

    def __init__(self, parts: Sequence[Distribution]) -> None:
        self._keep(grouped(parts))

    def _keep(self, groups: tuple[tuple[Distribution, int], ...]) -> None:
        if not groups:
            raise InvalidParameterError(
                "a sum must have at least one part, got none. Use PointMass(0) for an empty sum.",
                code="E-PARTS-MISSING",
            )
        for distribution, _ in groups:
            if not isinstance(distribution, LatticeDistribution) or not distribution.support.finite:
                raise NotTractableError(
                    f"an exact convolution requires finitely many integer outcomes, got {distribution!r}. "
                    "Sum distributions of one family, or use sampling.",
                    code="E-OUTCOMES-NOT-FINITE",
                )
        object.__setattr__(self, "groups", groups)
        low, high = self._ends
        if high - low >= _WIDEST:
            raise NotTractableError(
                f"an exact convolution may have at most {_WIDEST} outcomes, got {high - low + 1}. Use "
                "sampling.",
                code="E-OUTCOMES-TOO-MANY",
            )

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self.groups)  # with a thousand users, this is too slow for every table look-up

    def __getstate__(self) -> dict[str, Any]:
        return {"groups": self.groups}  # hashes differ between processes

    def parameters(self) -> dict[str, Fraction]:
        raise NotImplementedError  # the parts are distributions, so to_json and repr are overridden below

    def noise_parts(self, count: int = 1) -> Iterator[tuple[dict[str, Any] | None, int, Fraction]]:
        for distribution, times in self.groups:
            yield from distribution.noise_parts(times * count)

    def to_json(self) -> dict[str, Any]:
        return {
            "law": self.name,
            "parts": [[distribution.to_json(), times] for distribution, times in self.groups],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        parts = data.get("parts")
        if data.keys() != {"law", "parts"} or not isinstance(parts, list):
            raise InvalidParameterError(
                f"a {cls.name} distribution must have a list of parts, got {str(data)[:60]}.",
                code="E-DISTRIBUTION-FIELDS",
            )
        distribution = object.__new__(cls)
        distribution._keep(read_groups(parts))
        return distribution

    def __repr__(self) -> str:
        return "ConvolvedIntegers of " + " + ".join(
            f"{times} x {distribution!r}" for distribution, times in self.groups
        )

    @cached_property
    def _ends(self) -> tuple[int, int]:
        ends = [(distribution.support, times) for distribution, times in self.groups]
        low = sum(int(one.lower or 0) * times for one, times in ends)
        return low, sum(int(one.upper or 0) * times for one, times in ends)

    @property
    def support(self) -> Support:
        low, high = self._ends
        return Support(lower=Fraction(low), upper=Fraction(high), integer=True)

    def sample(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> NDArray[np.int64]:
        total = np.zeros(size, dtype=np.int64)
        for distribution, times in self.groups:
            for _ in range(times):
                total = total + distribution.sample(rng, size)
        return total

    def _log_pmf(self, k: Floats) -> Floats:
        return np.asarray(_float_tables(self)[0][k.astype(np.int64) - self._ends[0]])

    def _log_pmf_ball(self, k: int) -> arb:
        p = self._pmf_ball(k)
        return arb.neg_inf() if p.is_zero() else p.log()

    def _pmf_ball(self, k: int) -> arb:
        return _table(self, max(int(ctx.prec), 53))[k - self._ends[0]]

    def atoms(self, *, tail: float = 0.0) -> Iterator[tuple[Any, arb]]:
        if tail > 0:
            return super().atoms(tail=tail)
        table = _table(self, max(int(ctx.prec), 53))
        return ((k, p) for k, p in enumerate(table, start=self._ends[0]) if not p.is_zero())

    def _below(self, k: Floats) -> Floats:
        return self._tail(k, 1)

    def _above(self, k: Floats) -> Floats:
        return self._tail(k, 2)

    def _tail(self, k: Floats, column: int) -> Floats:
        low, high = self._ends
        position = (np.clip(k, low - 1, high) - (low - 1)).astype(np.int64)
        return np.asarray(_float_tables(self)[column][position])

    def _below_ball(self, k: int) -> arb:
        return sum(_table(self, max(int(ctx.prec), 53))[: max(k - self._ends[0] + 1, 0)], arb(0))

    def _above_ball(self, k: int) -> arb:
        return sum(_table(self, max(int(ctx.prec), 53))[max(k - self._ends[0] + 1, 0) :], arb(0))

    def log_mgf_ball(self, t: Argument) -> arb:
        return sum((times * distribution.log_mgf_ball(t) for distribution, times in self.groups), arb(0))

    def mean(self) -> float:
        return float(sum(times * distribution.mean() for distribution, times in self.groups))

    def variance(self) -> float:
        return float(sum(times * distribution.variance() for distribution, times in self.groups))

    @property
    def log_concave(self) -> LogConcavity:
        for distribution, _ in self.groups:
            if not distribution.log_concave.holds:
                return LogConcavity(
                    False,
                    f"not known, because {distribution!r} is not log-concave: "
                    f"{distribution.log_concave.reason}",
                )
        return LogConcavity(True, "all parts are log-concave, and convolution keeps that")


def read_groups(parts: Any) -> tuple[tuple[Distribution, int], ...]:
    """Read [[distribution, times], ...] from JSON."""
    groups = []
    for item in parts:
        if (
            not isinstance(item, list)
            or len(item) != 2
            or isinstance(item[1], bool)
            or not isinstance(item[1], int)
            or item[1] < 1
        ):
            raise InvalidParameterError(
                f"a part must be a pair of a distribution and its multiplicity, got {str(item)[:60]}.",
                code="E-DISTRIBUTION-FIELDS",
            )
        groups.append((distribution_from_json(item[0]), item[1]))
    return tuple(groups)


def product_of(factors: Iterable[Polynomial]) -> Polynomial:
    """Return the product of polynomials, the two shortest first. Raise ``IndexError`` if there are none."""
    heap = [(len(factor), place, factor) for place, factor in enumerate(factors)]
    heapify(heap)
    for place in range(len(heap), 2 * len(heap) - 1):
        left, right = heappop(heap)[2], heappop(heap)[2]
        product = left * right
        heappush(heap, (len(product), place, product))
    return heap[0][2]


def _mask(distribution: LatticeDistribution) -> int:
    """Return the possible outcomes as bits: bit j is set if and only if lower + j is possible.

    They show where a product of polynomials is exactly 0.
    """
    low = int(distribution.support.lower or 0)
    return sum(1 << (int(k) - low) for k, _ in distribution.atoms())


def _possible(distribution: ConvolvedIntegers) -> list[bool]:
    low, high = distribution._ends
    total = 1
    for part, times in distribution.groups:
        steps = _mask(part)
        for _ in range(times):
            bits, following, shift = steps, 0, 0
            while bits:
                zeros = (bits & -bits).bit_length() - 1
                following |= total << (shift + zeros)
                bits, shift = bits >> (zeros + 1), shift + zeros + 1
            total = following
    return [bool(total >> j & 1) for j in range(high - low + 1)]


def _polynomial(distribution: LatticeDistribution) -> arb_poly:
    """Return the polynomial whose coefficients are the probabilities, from the smallest outcome."""
    low, high = int(distribution.support.lower or 0), int(distribution.support.upper or 0)
    atoms = dict(distribution.atoms())
    return arb_poly([atoms.get(k, 0) for k in range(low, high + 1)])


@lru_cache(maxsize=32)
def _table(distribution: ConvolvedIntegers, bits: int) -> tuple[arb, ...]:
    """Return the probabilities of all outcomes, each with a relative accuracy of about ``bits`` bits."""
    possible = _possible(distribution)

    def compute() -> list[arb]:
        product = product_of(_polynomial(part) ** times for part, times in distribution.groups)
        return [product[j] for j, there in enumerate(possible) if there]

    found = iter(with_digits(compute, bits=bits, what=distribution))
    return tuple(next(found) if there else arb(0) for there in possible)


def with_digits(compute: Callable[[], list[arb]], *, bits: int, what: Distribution) -> list[arb]:
    """Return the positive numbers that ``compute`` encloses, each to about ``bits`` bits of its own size.

    Fast multiplication loses the small coefficients first, so the accuracy of each number is checked and the
    precision is raised. Raise ``UndecidedError`` with the distribution ``what`` if that does not suffice.
    """
    working = bits + 32
    while working <= 2 * MAX_PRECISION:
        with precision(working):
            values = compute()
        if all(value > 0 and value.rel_accuracy_bits() >= bits - 4 for value in values):
            return values
        working *= 2
    raise UndecidedError(
        f"the smallest probability of {what!r} cannot be enclosed to {bits} bits, got {min(values)}. Use "
        "sampling.",
        code="E-PRECISION-LIMIT",
    )


@lru_cache(maxsize=32)
def _float_tables(distribution: ConvolvedIntegers) -> tuple[Floats, Floats, Floats]:
    """Return the log-probabilities, and P(X <= low - 1 + j) and P(X > low - 1 + j), summed from the ends."""
    with precision(96):
        logs = np.array([float(p.log()) if not p.is_zero() else -np.inf for p in _table(distribution, 96)])
    chances = np.exp(logs)
    below = np.concatenate([[0.0], np.cumsum(chances)])
    above = np.concatenate([np.cumsum(chances[::-1])[::-1], [0.0]])
    below[-1] = above[0] = 1.0
    for table in (logs, below, above):
        table.flags.writeable = False
    return logs, np.minimum(below, 1.0), np.minimum(above, 1.0)
