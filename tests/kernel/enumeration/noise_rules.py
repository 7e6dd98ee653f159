"""Cases for the rules of additive noise: a random query, its sensitivity by enumeration, noise by one's own
formulas.

Distributed noise is made of parts, one a user. A view that holds users takes their parts off; a lower
participation leaves one part out; and a user who is removed from the data takes his part along.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import scipy.stats

from dpaudit.certify import build
from dpaudit.certify.build import BoundedSum, LossGrid
from dpaudit.core.claims import Adjacency, Unit
from dpaudit.core.views import PUBLIC, View, user
from tests.kernel.enumeration import oracle
from tests.kernel.enumeration.cases import Case, generates
from tests.kernel.enumeration.data import Data, Pair, Situation, move, pairs_in, values_of
from tests.kernel.enumeration.oracle import Distribution, joint
from tests.kernel.enumeration.queries import (
    choose,
    distance_1,
    distance_2,
    distance_max,
    random_sum,
    random_table,
)

__all__ = ["SHARES_STAY"]

HALVES = [Fraction(k, 2) for k in range(5)]
ENDS = [Fraction(-1), Fraction(-1, 2), Fraction(0), Fraction(1), Fraction(3, 2)]


def bounded_sum(rng: np.random.Generator, ends: list[Fraction]) -> tuple[BoundedSum, Any]:
    """Two ends in order, and a sum of records whose values reach both."""
    low, high = sorted((choose(rng, ends), choose(rng, ends)))
    g = {0: low, 1: high, 2: choose(rng, [low, high, (low + high) / 2])}
    g = {v: x if x.denominator in (1, 2) else high for v, x in g.items()}
    return BoundedSum(low, high), lambda values: sum((g[v] for v in values if v is not None), Fraction(0))


@generates("laplace")
def laplace(rng: np.random.Generator, situation: Situation) -> Case:
    """A table in one or two dimensions, with its l1 sensitivity."""
    pairs, scale = pairs_in(situation), choose(rng, HALVES[1:])
    queries = [random_table(rng, HALVES) for _ in range(int(rng.integers(1, 3)))]
    moved = move(pairs, lambda values: [query(values) for query in queries], distance_1)
    return Case(
        proof=lambda: build.laplace_mechanism(sensitivity=moved, scale=scale, dimension=len(queries)),
        distribution=lambda v: joint(
            *(oracle.laplace_cells(float(q(v)), float(scale), np.arange(0, 2.01, 0.25)) for q in queries)
        ),
        pairs=pairs,
    )


def _per_event(situation: Situation) -> bool:
    return situation.unit is Unit.EVENT


@generates("laplace:sum", holds=_per_event)
def laplace_sum(rng: np.random.Generator, situation: Situation) -> Case:
    """A clipped sum, whose sensitivity the kernel derives."""
    sensitivity, query = bounded_sum(rng, ENDS)
    scale, edges = choose(rng, HALVES[1:]), np.arange(-4.5, 4.51, 0.25)
    return Case(
        proof=lambda: build.laplace_mechanism(sensitivity=sensitivity, scale=scale),
        distribution=lambda v: oracle.laplace_cells(float(query(v)), float(scale), edges),
        pairs=pairs_in(situation),
    )


@generates("discrete-laplace")
def discrete_laplace(rng: np.random.Generator, situation: Situation) -> Case:
    """An integer table, or an integer sum with its sensitivity stated."""
    pairs, scale = pairs_in(situation), choose(rng, HALVES[1:])
    query = choose(rng, [random_table(rng, range(4)), random_sum(rng, [-1, 0, 1, 2])])
    moved = move(pairs, query, lambda a, b: abs(a - b))
    return Case(
        proof=lambda: build.discrete_laplace_mechanism(sensitivity=moved, scale=scale),
        distribution=lambda v: oracle.discrete_laplace_clamped(query(v), float(scale), -4, 8),
        pairs=pairs,
    )


@generates("discrete-laplace:sum", holds=lambda situation: False, close=0.0)
def discrete_laplace_sum(rng: np.random.Generator, situation: Situation) -> Case:
    """An integer sum, whose sensitivity the kernel derives."""
    sensitivity, query = bounded_sum(rng, [Fraction(k) for k in (-1, 0, 1, 2)])
    scale = choose(rng, HALVES[1:])
    return Case(
        proof=lambda: build.discrete_laplace_mechanism(sensitivity=sensitivity, scale=scale),
        distribution=lambda v: oracle.discrete_laplace_clamped(int(query(v)), float(scale), -4, 8),
        pairs=pairs_in(situation),
    )


@generates("gaussian")
def gaussian(rng: np.random.Generator, situation: Situation) -> Case:
    """A table in one or two dimensions, with its squared l2 sensitivity; or a clipped sum."""
    pairs, scale = pairs_in(situation), choose(rng, [Fraction(1), Fraction(3, 2), Fraction(2)])
    queries = [random_table(rng, HALVES) for _ in range(int(rng.integers(1, 3)))]
    stated: dict[str, Any] = {
        "sensitivity_squared": move(pairs, lambda values: [query(values) for query in queries], distance_2)
    }
    if _per_event(situation) and rng.integers(2):
        sensitivity, query = bounded_sum(rng, ENDS)
        stated, queries = {"sensitivity": sensitivity}, [query]
    edges = np.linspace(-6, 8, 113 if len(queries) == 1 else 29)
    return Case(
        proof=lambda: build.gaussian_mechanism(**stated, scale=scale),
        distribution=lambda v: joint(
            *(oracle.gaussian_cells(float(q(v)), float(scale), edges) for q in queries)
        ),
        pairs=pairs,
    )


def _one_changes(situation: Situation) -> bool:
    return situation.unit is Unit.EVENT and situation.view == View.of(PUBLIC)


@generates("poisson-subsampled-gaussian", holds=_one_changes)
def subsampled_gaussian(rng: np.random.Generator, situation: Situation) -> Case:
    """Every subset of the records with its chance; a random table of contributions, 0 for the null record."""
    step = _Step(rng, cells=72)
    return Case(
        proof=step.proof,
        distribution=lambda values: step.distribution(values, 1.0),
        pairs=pairs_in(situation),
    )


class _Step:
    """A step with random parameters: its proof, and its distribution with all contributions times a
    factor."""

    def __init__(self, rng: np.random.Generator, *, cells: int) -> None:
        self.scale = choose(rng, [Fraction(1), Fraction(2)])
        self.rate = choose(rng, [Fraction(1, 4), Fraction(2, 3)])
        self.table = [Fraction(int(k), 2) for k in rng.integers(-4, 5, size=3)]
        self.edges = np.linspace(-9, 9, cells + 1)

    def proof(self) -> build.Proof:
        moved = max(*map(abs, self.table), Fraction(1, 2))
        return build.poisson_subsampled_gaussian(sensitivity=moved, rate=self.rate, scale=self.scale)

    def distribution(self, values: Sequence[int | None], factor: float) -> Distribution:
        records = [0.0 if v is None else factor * float(self.table[v]) for v in values]
        total = np.zeros(len(self.edges) + 1)
        for chosen in product((False, True), repeat=len(records)):
            chance = float(np.prod([float(self.rate if c else 1 - self.rate) for c in chosen]))
            shown = float(np.dot(records, chosen))
            total += chance * oracle.gaussian_cells(shown, float(self.scale), self.edges)
        return total


@generates("sequential:subsampled", holds=_one_changes, count=6)
def subsampled_steps(rng: np.random.Generator, situation: Situation) -> Case:
    """Two steps on a grid, the second with contributions that turn round after a negative first outcome."""
    step = _Step(rng, cells=24)
    grid = LossGrid(step="1/50", bits=64, tail=30)

    def distribution(values: Sequence[int | None]) -> Distribution:
        after = [step.distribution(values, -1.0 if j <= 12 else 1.0) for j in range(26)]
        return np.concatenate(
            [p * later for p, later in zip(step.distribution(values, 1.0), after, strict=True)]
        )

    return Case(
        proof=lambda: build.compose_sequential([step.proof()], times=[2], grid=grid),
        distribution=distribution,
        pairs=pairs_in(situation),
    )


#: A user who leaves takes his noise along: what a certificate must say if that cannot happen.
SHARES_STAY = r"noise.*(both sides|either side|same)|same noise|takes? no noise"


class Parts:
    """Distributed noise of two users in one situation: how many parts the adversary does not know."""

    def __init__(self, situation: Situation, *, counted: bool = True) -> None:
        """``counted``: the certificate counts parts. Otherwise it names one distribution, the same on both
        sides."""
        leaves = situation.unit is Unit.USER and situation.adjacency is Adjacency.ADD_REMOVE
        self.leaves = leaves and counted
        self.unknown = 2 - (not _unheld(situation)) - (situation.participation != "everybody")
        pairs = pairs_in(situation)
        if self.leaves:
            pairs = tuple(p for p in pairs if len({who for who, _ in p.left}) == 2)
        self.pairs = pairs

    def reads(self, data: Data) -> tuple[Any, int]:
        """The values, and the number of unknown parts."""
        missing = 2 - len({who for who, _ in data}) if self.leaves else 0
        return values_of(data), max(self.unknown - missing, 0)

    def conditions(self, declared: Fraction) -> dict[str, Any]:
        """``declared``: the share of the two parts that the certificate counts on."""

        def enough(pair: Pair) -> bool:
            return all(self.reads(data)[1] >= 2 * declared for data in (pair.left, pair.right))

        return {
            r"[Aa]t least .*(noise|share|parts|distribution|added)": enough,
            SHARES_STAY: lambda pair: self.reads(pair.left)[1] == self.reads(pair.right)[1],
        }


def _unheld(situation: Situation) -> bool:
    """Nobody's part is known."""
    return not situation.view.complement and user(1) not in situation.view.principals


def _distributed(situation: Situation) -> bool:
    """Where a bound must be given: nobody's part is known, and nobody leaves with one."""
    leaves = situation.unit is Unit.USER and situation.adjacency is Adjacency.ADD_REMOVE
    return not leaves and _unheld(situation)


def _integer_query(rng: np.random.Generator, pairs: Any) -> tuple[Any, int]:
    query = choose(rng, [random_table(rng, range(3)), random_sum(rng, [0, 1])])
    return query, int(move(pairs, query, lambda a, b: abs(a - b)))


@generates("polya", holds=_distributed)
def polya(rng: np.random.Generator, situation: Situation) -> Case:
    """Polya shares of two users, certified at full participation or for one of them."""
    parts, scale = Parts(situation), choose(rng, [Fraction(1), Fraction(2)])
    query, moved = _integer_query(rng, parts.pairs)
    declared = choose(rng, [Fraction(1, 2), Fraction(1)])

    def distribution(key: Any) -> Distribution:
        values, count = key
        noise = oracle.polya_difference(count / 2, float(scale), 8) if count else np.eye(1, 17, 8)[0]
        return oracle.lattice(noise, query(values), -2, 4)

    return Case(
        proof=lambda: build.polya_noise(sensitivity=moved, scale=scale, share=declared),
        distribution=distribution,
        reads=parts.reads,
        pairs=parts.pairs,
        conditions=parts.conditions(declared),
    )


def _gaussians(rng: np.random.Generator, situation: Situation, make: Any, variances: list[Any]) -> Case:
    """Discrete Gaussians of two users; ``make`` certifies the sum of both, or of one."""
    count, variance = int(rng.integers(1, 3)), choose(rng, variances)
    parts = Parts(situation, counted=count > 1)
    query, moved = _integer_query(rng, parts.pairs)

    def distribution(key: Any) -> Distribution:
        values, present = key
        return oracle.lattice(
            oracle.discrete_gaussian_sum(float(variance), present, 40), query(values), -10, 12
        )

    return Case(
        proof=lambda: make(sensitivity=moved, variance=variance, count=count),
        distribution=distribution,
        reads=parts.reads,
        pairs=parts.pairs,
        conditions=parts.conditions(Fraction(count, 2)),
    )


@generates("gaussian-sum", holds=_distributed)
def gaussian_sum(rng: np.random.Generator, situation: Situation) -> Case:
    """The zCDP bound of sums of discrete Gaussians."""
    variances = [Fraction(1, 2), Fraction(1), Fraction(2)]
    return _gaussians(rng, situation, build.discrete_gaussian_sum, variances)


@generates("integer-noise:discrete-gaussian-sum", holds=_distributed)
def integer_gaussian(rng: np.random.Generator, situation: Situation) -> Case:
    """The exact delta of sums of discrete Gaussians."""
    variances = [Fraction(1, 4), Fraction(1), Fraction(3)]
    return _gaussians(
        rng,
        situation,
        lambda **given: build.integer_noise("discrete-gaussian-sum", **given),
        variances,
    )


@generates("integer-noise:skellam", holds=_unheld)
def integer_skellam(rng: np.random.Generator, situation: Situation) -> Case:
    """Skellam noise, half of it from either user; certified for both or for one."""
    parts, variance = Parts(situation, counted=False), choose(rng, [Fraction(1), Fraction(4)])
    query, moved = _integer_query(rng, parts.pairs)
    declared = choose(rng, [Fraction(1, 2), Fraction(1)])

    def distribution(key: Any) -> Distribution:
        values, count = key
        noise = oracle.skellam(float(variance) * count / 2, 30) if count else np.eye(1, 61, 30)[0]
        return oracle.lattice(noise, query(values), -10, 12)

    return Case(
        proof=lambda: build.integer_noise("skellam", sensitivity=moved, variance=variance * declared),
        distribution=distribution,
        reads=parts.reads,
        pairs=parts.pairs,
        conditions=parts.conditions(declared),
    )


@generates("integer-noise:binomial", holds=_unheld)
def integer_binomial(rng: np.random.Generator, situation: Situation) -> Case:
    """Binomial noise, half of the trials from either user; the ends of its support show."""
    parts, trials = Parts(situation, counted=False), choose(rng, [4, 8])
    query, moved = _integer_query(rng, parts.pairs)
    chance, count = choose(rng, [Fraction(1, 2), Fraction(1, 3)]), int(rng.integers(1, 3))

    def distribution(key: Any) -> Distribution:
        values, present = key
        return np.asarray(
            scipy.stats.binom.pmf(np.arange(0, 24) - query(values), trials * present, float(chance))
        )

    return Case(
        proof=lambda: build.integer_noise(
            "binomial", sensitivity=moved, trials=trials * count, probability=chance
        ),
        distribution=distribution,
        reads=parts.reads,
        pairs=parts.pairs,
        conditions=parts.conditions(Fraction(count, 2)),
    )


@generates("vector-noise", holds=_distributed, close=0.01, count=6)
def vector_noise(rng: np.random.Generator, situation: Situation) -> Case:
    """Two coordinates with discrete Gaussians of two users on each."""
    count, variance = int(rng.integers(1, 3)), choose(rng, [Fraction(2), Fraction(4)])
    parts = Parts(situation, counted=count > 1)
    queries = [random_table(rng, range(3)) for _ in range(2)]
    vector = lambda values: [query(values) for query in queries]  # noqa: E731
    squares, largest = move(parts.pairs, vector, distance_2), move(parts.pairs, vector, distance_max)

    def distribution(key: Any) -> Distribution:
        values, present = key
        noise = oracle.discrete_gaussian_sum(float(variance), present, 40)
        return joint(*(oracle.lattice(noise, query(values), -9, 11) for query in queries))

    return Case(
        proof=lambda: build.vector_noise(
            "discrete-gaussian-sum",
            dimension=2,
            l2_squared=squares,
            largest=int(max(largest, 1)),
            orders=[2, 4, 8],
            cut=40,
            variance=variance,
            count=count,
        ),
        distribution=distribution,
        reads=parts.reads,
        pairs=parts.pairs,
        conditions=parts.conditions(Fraction(count, 2)),
    )


@generates("binomial-vectors", holds=_distributed, close=0.01, count=6)
def binomial_vectors(rng: np.random.Generator, situation: Situation) -> Case:
    """One or two numbers in halves, rounded up by a fair coin where they need it (or integers that are not),
    with binomial noise, half of it from either user.
    """
    parts, trials = Parts(situation, counted=False), 200
    chance, rounding = choose(rng, [Fraction(1, 2), Fraction(1, 3)]), choose(rng, ["none", "unbiased"])
    entries = HALVES if rounding == "unbiased" else [Fraction(k) for k in range(3)]
    queries = [random_table(rng, entries) for _ in range(int(rng.integers(1, 3)))]
    vector = lambda values: [query(values) for query in queries]  # noqa: E731
    squares, largest = move(parts.pairs, vector, distance_2), move(parts.pairs, vector, distance_max)
    mean, reach = trials * float(chance), 9 * math.sqrt(2 * trials / 4)
    # the ends, where one distribution may have no mass, and all within nine deviations, which leaves out
    # 1e-15
    points = np.r_[0:3, max(3, int(mean - reach)) : int(2 * mean + reach), 2 * trials + 2]

    def entry(value: Fraction, present: int) -> Distribution:
        low = int(value // 1)
        rounded = ((low, 1 - (value - low)), (low + 1, value - low))
        masses = (
            float(w) * scipy.stats.binom.pmf(points - x, trials * present, float(chance)) for x, w in rounded
        )
        return np.asarray(sum(masses))

    def distribution(key: Any) -> Distribution:
        values, present = key
        return joint(*(entry(query(values), present) for query in queries))

    return Case(
        proof=lambda: build.binomial_vectors(
            trials=trials,
            probability=chance,
            dimension=len(queries),
            l2_squared=squares,
            largest=largest,
            rounding=rounding,
            orders=[2, 4, 8, 16],
            deviation=40,
        ),
        distribution=distribution,
        reads=parts.reads,
        pairs=parts.pairs,
        conditions=parts.conditions(Fraction(1, 2)),
    )
