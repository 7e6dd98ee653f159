"""Define the Poisson multinomial distribution: symbol counts of users with different distributions.

A shuffler reveals these counts if messages are symbols. The counts of users with equal distributions are
multinomial. The largest such group keeps this closed form, and the other groups are convolved exactly. One
changed user among n equal users therefore needs k terms, for every n.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from flint import arb, arb_poly, ctx, fmpz_poly
from numpy.typing import NDArray
from scipy import special

from dpaudit.core.errors import InvalidParameterError, NotTractableError
from dpaudit.distributions.base import BaseMeasure, Distribution, register
from dpaudit.distributions.convolution import grouped, product_of, read_groups, with_digits
from dpaudit.distributions.scalar import Floats
from dpaudit.distributions.shared_level_ball import to_accuracy

__all__ = ["CountVector"]

#: The largest number of count vectors (of all smaller groups, and of one group), and of pairs to convolve.
_VECTORS, _PAIRS = 2**18, 2**24
#: The largest number of pairs in ball arithmetic, where each product is a Python call. For more, a polynomial
#: of at most the second number of coefficients is used.
_BALL_PAIRS, _DEGREE = 2**17, 2**20

Vectors = NDArray[np.int64]


@register("count-vector")
@dataclass(frozen=True, repr=False, init=False)
class CountVector(Distribution):
    """The distribution of the number of users with symbol 0, ..., k-1, an integer vector of length k.

    Parameters
    ----------
    distributions : sequence of Distribution
        One scalar distribution on 0, ..., k-1 for each user.
    outcomes : int
        The number k of symbols, 1 or more.

    Raises
    ------
    InvalidParameterError
        There are no users, or a distribution has an outcome outside 0, ..., k-1.
    NotTractableError
        A distribution is not scalar. Evaluation also raises this for too many distinct distributions: the
        smaller groups may have at most 2^18 count vectors.
    """

    outcomes: int
    groups: tuple[tuple[Distribution, int], ...]
    base_measure: ClassVar[BaseMeasure] = BaseMeasure.COUNTING
    event_ndim: ClassVar[int] = 1

    def __init__(self, distributions: Sequence[Distribution], *, outcomes: int) -> None:
        self._keep(grouped(distributions), outcomes)

    def _keep(self, groups: tuple[tuple[Distribution, int], ...], outcomes: int) -> None:
        if isinstance(outcomes, bool) or not isinstance(outcomes, int) or outcomes < 1:
            raise InvalidParameterError(
                f"outcomes must be an integer, 1 or more, got {outcomes!r}.", code="E-SYMBOLS-RANGE"
            )
        if not groups:
            raise InvalidParameterError("counts require at least one user, got none.", code="E-USERS-MISSING")
        for distribution, _ in groups:
            if distribution.batch_shape or distribution.event_ndim:
                raise NotTractableError(
                    "counts have an exact distribution only for scalar distributions on symbols, got "
                    f"{distribution!r}. Use sampling.",
                    code="E-DISTRIBUTION-NOT-SCALAR",
                )
            ends = distribution.support
            if not ends.finite or (ends.lower or 0) < 0 or (ends.upper or 0) >= outcomes:
                raise InvalidParameterError(
                    f"every user's outcomes must be in 0..{outcomes - 1}, got {distribution!r}.",
                    code="E-OUTCOME-RANGE",
                )
        object.__setattr__(self, "outcomes", int(outcomes))
        # The largest group comes last, because it keeps its closed form.
        object.__setattr__(self, "groups", tuple(sorted(groups, key=lambda item: item[1])))

    @property
    def users(self) -> int:
        """The number of users."""
        return sum(times for _, times in self.groups)

    @property
    def messages(self) -> Counter[Distribution]:
        return Counter(dict(self.groups))

    def as_outcome(self, number: int) -> Any:
        """Return the counts of two symbols with ``number`` of the second one."""
        return np.array([self.users - number, number]) if self.outcomes == 2 else None

    def outcome_against(self, other: Distribution, distance: float) -> Any:
        """Return the counts with the largest ratio, from the tables of thousands of them."""
        if not isinstance(other, CountVector):
            return super().outcome_against(other, distance)
        try:
            atoms = [(value, p) for value, p in self.atoms() if p > 0]
            table = {tuple(value): p for value, p in other.atoms() if p > 0}
        except NotTractableError:
            return None
        losses = [_log_ratio(p, table.get(tuple(value))) for value, p in atoms]
        return atoms[int(np.argmax(losses))][0] if atoms else None

    def sample(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> NDArray[np.int64]:
        total = np.zeros((*size, self.outcomes), dtype=np.int64)
        for distribution, times in self.groups:
            if times == 1:
                total += distribution.sample(rng, size)[..., None] == np.arange(self.outcomes)
            else:  # numpy's multinomial uses the group's float probabilities, normalised
                chances = np.exp(self._logs(distribution))
                total += rng.multinomial(times, chances / chances.sum(), size=size)
        return total

    def _logs(self, distribution: Distribution) -> Floats:
        return distribution.logp(np.arange(float(self.outcomes)))

    def logp(self, x: Any) -> Floats:
        counts = np.asarray(x)
        if counts.ndim == 0 or counts.shape[-1] != self.outcomes:
            raise InvalidParameterError(
                f"an outcome must have {self.outcomes} counts on its last axis, got shape {counts.shape}.",
                code="E-OUTCOME-SHAPE",
            )
        rows = counts.reshape(-1, self.outcomes)
        possible = (
            (rows >= 0).all(axis=1) & (np.floor(rows) == rows).all(axis=1) & (rows.sum(axis=1) == self.users)
        )
        rows = np.where(possible[:, None], rows, 0).astype(np.int64)
        try:
            vectors, logs = self._smaller_groups()
        except NotTractableError:
            return np.where(possible, self._by_polynomial(rows, possible), -np.inf).reshape(counts.shape[:-1])
        distribution, times = self.groups[-1]
        result = np.full(len(rows), -np.inf)
        step = max(1, _PAIRS // (4 * vectors.size))
        for start in range(0, len(rows), step):
            rest = rows[start : start + step, None, :] - vectors
            terms = logs + _log_multinomial(rest, times, self._logs(distribution))
            result[start : start + step] = np.logaddexp.reduce(terms, axis=1)
        return np.where(possible, result, -np.inf).reshape(counts.shape[:-1])

    def _smaller_groups(self) -> tuple[Vectors, Floats]:
        """Return all count vectors of the users outside the largest group, with their log-probabilities."""
        k, smaller = self.outcomes, self.users - self.groups[-1][1]
        if math.comb(smaller + k - 1, k - 1) > _VECTORS:
            raise NotTractableError(self._too_many, code="E-TERMS-TOO-MANY")
        found = _vectors_of(self.groups[:-1], k)
        if found is None:
            raise NotTractableError(self._too_many, code="E-TERMS-TOO-MANY")
        return found

    def _by_polynomial(self, rows: Vectors, possible: NDArray[np.bool_]) -> Floats:
        """Return log-probabilities from the generating polynomial, for too many pairs to convolve."""
        kept, back = _distinct(rows, self.users + 1)
        logs = np.full(len(kept), -np.inf)
        for i in np.unique(back[possible]):
            chance = self._coefficient(tuple(kept[i].tolist()))
            logs[i] = float(chance.log()) if not chance.is_zero() else -np.inf
        return np.asarray(logs[back])

    def _coefficient(self, counts: tuple[int, ...]) -> arb:
        """Return P(counts), a coefficient of Π_users Σ_j p_j x_j.

        Here x_0 = 1 and x_j = X^{b^(j-1)} with b = users + 1 (Kronecker).
        """
        base = self.users + 1
        if base ** (self.outcomes - 1) > _DEGREE:
            raise NotTractableError(self._too_many, code="E-TERMS-TOO-MANY")
        key = self._key(counts)
        if self._gaps and _generating_support(self)[key] == 0:
            return arb(0)
        return to_accuracy(lambda: _generating(self, int(ctx.prec))[key])

    @property
    def _too_many(self) -> str:
        return (
            f"counts of {self.users} users with {len(self.groups)} different distributions on "
            f"{self.outcomes} "
            f"symbols have too many terms. Use fewer distinct distributions, or sampling."
        )

    def logp_ball(self, x: Any) -> arb:
        counts = np.asarray(x)
        if counts.shape != (self.outcomes,):
            raise InvalidParameterError(
                f"one outcome must have shape ({self.outcomes},), got {counts.shape}.", code="E-OUTCOME-SHAPE"
            )
        possible = bool(((counts >= 0) & (np.floor(counts) == counts) & (counts <= self.users)).all())
        if not possible or counts.sum() != self.users:
            return arb.neg_inf()
        target = tuple(int(c) for c in counts.tolist())
        table: dict[tuple[int, ...], arb] = {(0,) * self.outcomes: arb(1)}
        try:
            for distribution, times in self.groups[:-1]:
                table = self._convolve(table, distribution, times, target)
        except NotTractableError:
            chance = self._coefficient(target)
            return arb.neg_inf() if chance.is_zero() else chance.log()
        distribution, times = self.groups[-1]
        chances = [distribution.logp_ball(j).exp() for j in range(self.outcomes)]
        total = arb(0)
        for vector, weight in table.items():
            rest = tuple(t - v for t, v in zip(target, vector, strict=True))
            total += weight * _multinomial_ball(rest, times, chances)
        return arb.neg_inf() if total.is_zero() else total.log()

    def _convolve(
        self,
        table: dict[tuple[int, ...], arb],
        distribution: Distribution,
        times: int,
        target: tuple[int, ...] | None,
    ) -> dict[tuple[int, ...], arb]:
        """Return the table with one more group, without the vectors that exceed ``target`` in an entry."""
        own = _compositions(times, self.outcomes)
        if len(own) * len(table) > _BALL_PAIRS:
            raise NotTractableError(
                f"an enclosure for {self.users} users with {len(self.groups)} different distributions has "
                "too many terms. Use fewer distinct distributions.",
                code="E-TERMS-TOO-MANY",
            )
        chances = [distribution.logp_ball(j).exp() for j in range(self.outcomes)]
        weights = [(tuple(row), _multinomial_ball(tuple(row), times, chances)) for row in own.tolist()]
        weights = [(row, weight) for row, weight in weights if not weight.is_zero()]
        following: dict[tuple[int, ...], arb] = {}
        for vector, weight in table.items():
            for row, own_weight in weights:
                key = tuple(a + b for a, b in zip(vector, row, strict=True))
                if target is None or all(a <= t for a, t in zip(key, target, strict=True)):
                    following[key] = following.get(key, arb(0)) + weight * own_weight
        return following

    def atoms(self, *, tail: float = 0.0) -> Iterator[tuple[Any, arb]]:
        return ((np.array(vector, dtype=np.int64), p) for vector, p in _atoms(self, int(ctx.prec)))

    def _atoms_by_pairs(self) -> list[tuple[tuple[int, ...], arb]]:
        """Return all count vectors in order, convolving group by group."""
        table: dict[tuple[int, ...], arb] = {(0,) * self.outcomes: arb(1)}
        for distribution, times in self.groups:
            table = self._convolve(table, distribution, times, None)
        return sorted(table.items())

    def _atoms_by_polynomial(self) -> list[tuple[tuple[int, ...], arb]]:
        """Return all coefficients of the generating polynomial, in the order of the vectors."""
        vectors = [tuple(vector) for vector in _compositions(self.users, self.outcomes).tolist()]
        keys = [self._key(vector) for vector in vectors]
        if self._gaps:
            support = _generating_support(self)
            kept = [i for i, key in enumerate(keys) if support[key] != 0]
            vectors, keys = [vectors[i] for i in kept], [keys[i] for i in kept]

        def compute() -> list[arb]:
            product = _generating(self, int(ctx.prec))
            return [product[key] for key in keys]

        values = with_digits(compute, bits=max(int(ctx.prec), 53), what=self)
        return [*zip(vectors, values, strict=True)]

    def _key(self, counts: Sequence[int]) -> int:
        """Return the exponent of a count vector in the generating polynomial."""
        return sum(c * (self.users + 1) ** j for j, c in enumerate(counts[1:]))

    @property
    def _gaps(self) -> bool:
        """Whether a symbol is impossible for a user. Coefficients may then be 0, which integers decide."""
        return any(
            distribution.logp_ball(j).exp().is_zero()
            for distribution, _ in self.groups
            for j in range(self.outcomes)
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "law": self.name,
            "outcomes": self.outcomes,
            "groups": [[distribution.to_json(), times] for distribution, times in self.groups],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        if data.keys() != {"law", "outcomes", "groups"} or not isinstance(data["groups"], list):
            raise InvalidParameterError(
                f"a {cls.name} distribution must have outcomes and groups, got {sorted(data)}.",
                code="E-DISTRIBUTION-FIELDS",
            )
        distribution = object.__new__(cls)
        distribution._keep(read_groups(data["groups"]), data["outcomes"])
        return distribution

    def __repr__(self) -> str:
        return f"CountVector(outcomes={self.outcomes}) of " + " + ".join(
            f"{times} x {distribution!r}" for distribution, times in self.groups
        )


def _log_ratio(p: arb, q: arb | None) -> float:
    """Return the log-ratio of an atom's probabilities, infinite if the other distribution has none."""
    return math.inf if q is None else float((p / q).log())


N = TypeVar("N", arb, int)


@lru_cache(maxsize=4)
def _atoms(distribution: CountVector, bits: int) -> list[tuple[tuple[int, ...], arb]]:
    """Return the atoms at the working precision ``bits``, which is the current one.

    They are cached, because an audit that forces histories enumerates the same distribution repeatedly.
    """
    users, last = distribution.users, distribution.outcomes - 1
    short = (users + 1) ** last <= _DEGREE and math.comb(users + last, last) <= _VECTORS
    return (
        distribution._atoms_by_polynomial()
        if len(distribution.groups) > 1 and short
        else distribution._atoms_by_pairs()
    )


@lru_cache(maxsize=4)
def _generating(distribution: CountVector, bits: int) -> arb_poly:
    """Return Π over groups of (Σ_j p_j X^{b^(j-1)})^times in balls of ``bits`` bits.

    ``bits`` is the current precision. It is a parameter because it is part of the cache key.
    """
    factors = []
    for part, times in distribution.groups:
        masses = [part.logp_ball(j).exp() for j in range(distribution.outcomes)]
        factors.append(arb_poly(_spread(distribution, masses, zero=arb(0))) ** times)
    return product_of(factors)


@lru_cache(maxsize=4)
def _generating_support(distribution: CountVector) -> fmpz_poly:
    """Return the generating polynomial with 1 for every possible symbol.

    A coefficient is 0 if and only if the count vector is impossible.
    """
    factors = []
    for part, times in distribution.groups:
        possible = [int(not part.logp_ball(j).exp().is_zero()) for j in range(distribution.outcomes)]
        factors.append(fmpz_poly(_spread(distribution, possible, zero=0)) ** times)
    return product_of(factors)


def _spread(distribution: CountVector, values: list[N], *, zero: N) -> list[N]:
    """Return coefficients with symbol 0 at the constant term and symbol j at exponent b^(j-1)."""
    base = distribution.users + 1
    coefficients = [zero] * (base ** max(distribution.outcomes - 2, 0) + 1)
    coefficients[0] = values[0]
    for j, value in enumerate(values[1:]):
        coefficients[base**j] = value
    return coefficients


def _compositions(total: int, parts: int) -> Vectors:
    """Return all vectors of ``parts`` non-negative integers with the given sum.

    The shape is (C(total+parts-1, parts-1), parts).
    """
    count = math.comb(total + parts - 1, parts - 1)
    if count > _VECTORS:
        raise NotTractableError(
            f"a group of {total} equal users has {count} count vectors on {parts} symbols, more than "
            f"{_VECTORS}. Use sampling.",
            code="E-TERMS-TOO-MANY",
        )
    # Extend the vectors by one coordinate at a time. The last coordinate is the remainder.
    prefixes, left = np.zeros((1, 0), dtype=np.int64), np.array([total])
    for _ in range(parts - 1):
        repeats = left + 1
        prefixes = np.repeat(prefixes, repeats, axis=0)
        starts = np.repeat(np.cumsum(repeats) - repeats, repeats)
        value = np.arange(len(prefixes)) - starts
        left = np.repeat(left, repeats) - value
        prefixes = np.concatenate([prefixes, value[:, None]], axis=1)
    return np.concatenate([prefixes, left[:, None]], axis=1)


@lru_cache(maxsize=32)
def _vectors_of(groups: tuple[tuple[Distribution, int], ...], k: int) -> tuple[Vectors, Floats] | None:
    """Return all vectors of ``k`` counts of these groups with their log-probabilities, as read-only arrays.

    Return ``None`` if there are too many pairs. Results are cached, because each run of a program constructs
    such a distribution again.
    """
    users = sum(times for _, times in groups)
    vectors, logs = np.zeros((1, k), dtype=np.int64), np.zeros(1)
    for distribution, times in groups:
        own = _compositions(times, k)
        own_logs = _log_multinomial(own, times, distribution.logp(np.arange(float(k))))
        own, own_logs = own[np.isfinite(own_logs)], own_logs[np.isfinite(own_logs)]
        if len(own) * len(vectors) * k > _PAIRS:
            return None
        sums = (vectors[:, None, :] + own).reshape(-1, k)
        vectors, back = _distinct(sums, users + 1)
        pairs = (logs[:, None] + own_logs).ravel()
        logs = np.full(len(vectors), -np.inf)
        np.logaddexp.at(logs, back, pairs)
    for array in (vectors, logs):
        array.flags.writeable = False
    return vectors, logs


def _distinct(rows: Vectors, base: int) -> tuple[Vectors, NDArray[np.intp]]:
    """Return the distinct rows and, for each row, its index among them. Entries are below ``base``."""
    if base ** rows.shape[1] >= 2**62:
        kept, back = np.unique(rows, axis=0, return_inverse=True)
        return kept, back.ravel()
    keys = rows @ base ** np.arange(rows.shape[1])
    _, first, back = np.unique(keys, return_index=True, return_inverse=True)
    return rows[first], back.ravel()


def _log_multinomial(counts: NDArray[np.int64], total: int, logs: Floats) -> Floats:
    """Return the log of total! Π p_j^{c_j} / c_j! over the last axis, -inf if a count is negative.

    The sum of the counts is always ``total``.
    """
    safe = np.maximum(counts, 0)
    with np.errstate(invalid="ignore"):
        powers = np.where(safe == 0, 0.0, safe * logs)  # 0 · log 0 = 0
    largest = int(safe.max(initial=0))
    if largest < safe.size:  # compute each number once, then look it up
        factorials = special.gammaln(np.arange(largest + 1) + 1.0)[safe]
    else:
        factorials = special.gammaln(safe + 1.0)
    value = (powers - factorials).sum(axis=-1) + special.gammaln(total + 1.0)
    return np.where((counts >= 0).all(axis=-1), value, -np.inf)


def _multinomial_ball(counts: tuple[int, ...], total: int, chances: list[arb]) -> arb:
    """Return total! Π p_j^{c_j} / c_j! in balls, 0 if a count is negative."""
    if min(counts) < 0:
        return arb(0)
    coefficient, left = 1, total
    for c in counts:
        coefficient *= math.comb(left, c)
        left -= c
    value = arb(coefficient)
    for c, p in zip(counts, chances, strict=True):
        if c:
            value *= p**c
    return value
