"""Cases for noisy selection: Report Noisy Max and the sparse vector technique, by quadrature over the noise.

Between the points where a factor has a kink the integrands are smooth, and Gauss's rule is exact to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import scipy.special

from dpaudit.certify import build
from dpaudit.certify.build import BoundedSum
from dpaudit.core.claims import Unit
from tests.kernel.enumeration.cases import Case, generates
from tests.kernel.enumeration.data import Pair, Situation, move, pairs_in
from tests.kernel.enumeration.oracle import Distribution
from tests.kernel.enumeration.queries import choose, distance_max, random_sum, random_table

__all__ = ["SAME_DIRECTION", "SINGLE", "winner"]

SAME_DIRECTION = r"same (direction|way)"
SINGLE = r"only one (score|query|coordinate)|(one|single) (score|query|coordinate) (moves|changes)"

Density = Callable[[Distribution], Distribution]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


def density(noise: str, z: Distribution) -> Distribution:
    """The density of the noise of scale 1 (Gaussian: deviation 1)."""
    if noise == "laplace":
        return np.exp(-np.abs(z)) / 2
    if noise == "gaussian":
        return np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    return np.where(z >= 0, np.exp(-np.abs(z)), 0.0)


def survival(noise: str, z: Distribution) -> Distribution:
    """P(Z > z) for the same noise."""
    tail = np.exp(-np.abs(z))
    if noise == "laplace":
        return np.where(z >= 0, tail / 2, 1 - tail / 2)
    if noise == "gaussian":
        return np.asarray(scipy.special.ndtr(-z))
    return np.where(z >= 0, tail, 1.0)


def below(noise: str, z: Distribution) -> Distribution:
    """P(Z <= z), with its own digits where it is small."""
    tail = np.exp(-np.abs(z))
    if noise == "laplace":
        return np.where(z >= 0, 1 - tail / 2, tail / 2)
    if noise == "gaussian":
        return np.asarray(scipy.special.ndtr(z))
    return np.where(z >= 0, -np.expm1(-np.abs(z)), 0.0)


def quadrature(kinks: Sequence[float], reach: float) -> tuple[Distribution, Distribution]:
    """Nodes and weights on [min - reach, max + reach] with all kinks at ends of pieces of at most 1.5."""
    points = sorted({*kinks, min(kinks) - reach, max(kinks) + reach})
    edges = np.concatenate(
        [np.linspace(a, b, int((b - a) / 1.5) + 2)[:-1] for a, b in pairwise(points)] + [points[-1:]]
    )
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (1 + _NODES)).ravel(), (half * _WEIGHTS).ravel()


def winner(scores: Sequence[float], noise: str, scale: float) -> Distribution:
    """The distribution of the index of the largest noisy score."""
    q = np.asarray(scores, dtype=float) / scale
    if noise == "gumbel":
        return np.asarray(scipy.special.softmax(q))
    z, weights = quadrature(list(q), 9.0 if noise == "gaussian" else 45.0)
    factors = np.array([below(noise, z - x) for x in q])
    return np.array(
        [
            float(np.sum(weights * density(noise, z - q[i]) * np.prod(np.delete(factors, i, axis=0), axis=0)))
            for i in range(q.size)
        ]
    )


def _directions(query: Callable[[Any], Sequence[Any]]) -> dict[str, Callable[[Pair], bool]]:
    """Which pairs keep the two premises about how scores move."""

    def moved(pair: Pair) -> list[Any]:
        return [b - a for a, b in zip(*(query(values) for values in pair.values), strict=True)]

    return {
        SAME_DIRECTION: lambda pair: min(moved(pair)) >= 0 or max(moved(pair)) <= 0,
        SINGLE: lambda pair: sum(d != 0 for d in moved(pair)) <= 1,
    }


def _scores(rng: np.random.Generator, situation: Situation, count: int) -> tuple[Any, Any]:
    """``count`` queries together, and their stated sensitivity."""
    ends = choose(rng, [(Fraction(0), Fraction(1)), (Fraction(0), Fraction(2)), (Fraction(-1), Fraction(1))])
    kind = choose(rng, ["table", "counts", "clipped"])
    entries = [ends[0], ends[1], Fraction(0), Fraction(0)]
    make = random_table if kind == "table" else random_sum
    queries = [make(rng, entries) for _ in range(count)]
    how = choose(rng, ["free", "aligned", "single"])
    chosen = [
        int(c)
        for c in (np.eye(count)[rng.integers(count)] if how == "single" else rng.integers(2, size=count))
    ]

    def together(values: Any) -> list[Any]:
        """Every score for itself, or some of them the same and the others constant."""
        if how == "free":
            return [query(values) for query in queries]
        return [c * queries[0](values) for c in chosen]

    if kind == "clipped" and situation.unit is Unit.EVENT:
        return together, BoundedSum(*ends)
    return together, move(pairs_in(situation), together, distance_max)


def _selection(rng: np.random.Generator, situation: Situation, noise: str) -> Case:
    count, scale = int(rng.integers(2, 4)), choose(rng, [Fraction(1), Fraction(3, 2), Fraction(2)])
    moving = choose(rng, ["general", "monotone", "one_coordinate"])
    scores, sensitivity = _scores(rng, situation, count)
    return Case(
        proof=lambda: build.report_noisy_max(
            sensitivity=sensitivity, range=moving, noise=noise, scale=scale, candidates=count
        ),
        distribution=lambda values: winner([float(s) for s in scores(values)], noise, float(scale)),
        pairs=pairs_in(situation),
        conditions=_directions(scores),
    )


def _register(noise: str, close: float) -> None:
    @generates(f"noisy-max:{noise}", close=close, count=10)
    def make(rng: np.random.Generator, situation: Situation) -> Case:
        return _selection(rng, situation, noise)


for _noise, _close in (("laplace", 0.6), ("gumbel", 0.6), ("exponential", 0.6), ("gaussian", 0.6)):
    _register(_noise, _close)


def transcripts(
    queries: Callable[[tuple[int, ...]], float],
    *,
    steps: int,
    answers: int,
    noise: str,
    threshold_scale: float,
    query_scale: float,
) -> Distribution:
    """The distribution of the answers: threshold 0, query by the earlier answers, stop after ``answers`` of
    1."""
    prefixes = [p for n in range(steps) for p in product((0, 1), repeat=n)]
    kinks = [0.0] + [queries(prefix) for prefix in prefixes]
    # Threshold noise and query noise have one kink each, at the threshold and where it meets the query.
    z, weights = quadrature(kinks, 45.0 * threshold_scale)
    weights = weights * density(noise, z / threshold_scale) / threshold_scale
    result = []
    for end in product((0, 1), repeat=steps):
        stop = next((t + 1 for t in range(steps) if sum(end[: t + 1]) == answers), steps)
        if any(end[stop:]):
            continue
        value = weights
        for t in range(stop):
            distance = (z - queries(end[:t])) / query_scale
            value = value * (survival(noise, distance) if end[t] else below(noise, distance))
        result.append(float(np.sum(value)))
    return np.array(result)


def _sparse(rng: np.random.Generator, situation: Situation, noise: str) -> Case:
    steps, answers = 3, int(rng.integers(1, 3))
    prefixes = [p for n in range(steps) for p in product((0, 1), repeat=n)]
    moving = choose(rng, ["general", "monotone", "one_query"])
    scores, sensitivity = _scores(rng, situation, len(prefixes))
    start = choose(rng, [Fraction(-4), Fraction(0), Fraction(4)])
    scales = [choose(rng, [Fraction(1), Fraction(2), Fraction(3)]) for _ in range(2)]

    def distribution(values: Any) -> Distribution:
        table = dict(zip(prefixes, [float(s + start) for s in scores(values)], strict=True))
        return transcripts(
            table.__getitem__,
            steps=steps,
            answers=answers,
            noise=noise,
            threshold_scale=float(scales[0]),
            query_scale=float(scales[1]),
        )

    return Case(
        proof=lambda: build.above_threshold(
            sensitivity=sensitivity,
            threshold_scale=scales[0],
            query_scale=scales[1],
            answers=answers,
            range=moving,
            noise=noise,
        ),
        distribution=distribution,
        pairs=pairs_in(situation),
        conditions=_directions(scores),
    )


@generates("above-threshold:laplace", close=0.3, count=6)
def sparse_laplace(rng: np.random.Generator, situation: Situation) -> Case:
    """Three queries chosen by the earlier answers, Laplace noise."""
    return _sparse(rng, situation, "laplace")


@generates("above-threshold:exponential", close=0.4, count=16)
def sparse_exponential(rng: np.random.Generator, situation: Situation) -> Case:
    """The same with one-sided exponential noise."""
    return _sparse(rng, situation, "exponential")
