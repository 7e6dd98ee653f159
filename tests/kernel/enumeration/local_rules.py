"""Cases for local randomisers, alone and shuffled: every record sends one message, the null record none.

Alone, the adversary sees the messages in order, so their number shows. Shuffled, he sees how often each
message came; a view that holds a user sees that user's messages besides, and one that holds the server all in
order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, permutations
from typing import Any

import numpy as np

from dpaudit.certify import build
from dpaudit.certify.build import LossGrid
from dpaudit.core.claims import Adjacency, Unit
from dpaudit.core.views import user
from dpaudit.distributions import Exponential, NoisyArgmax
from tests.kernel.enumeration.cases import Case, generates
from tests.kernel.enumeration.data import Data, Pair, Situation, datasets, neighbours, pairs_in
from tests.kernel.enumeration.oracle import Distribution, joint
from tests.kernel.enumeration.queries import choose

__all__ = ["ENOUGH", "ONE_EACH"]

#: Assumptions of the shuffled rules.
ENOUGH = r"at least \d+ users"
ONE_EACH = r"each user sends|one message|one event"

Table = Sequence[Sequence[Fraction]]


def random_rows(rng: np.random.Generator, inputs: int, outputs: int, *, zeros: bool) -> list[list[Fraction]]:
    """Random probabilities with small denominators."""
    rows = []
    for _ in range(inputs):
        weights = [int(w) for w in rng.integers(0 if zeros else 1, 6, size=outputs)]
        weights[int(rng.integers(outputs))] += 1
        rows.append([Fraction(w, sum(weights)) for w in weights])
    return rows


def response_rows(epsilon: Fraction, symbols: int) -> list[list[float]]:
    """The table of randomised response."""
    e = math.exp(float(epsilon))
    return [[(e if y == x else 1.0) / (e + symbols - 1) for y in range(symbols)] for x in range(symbols)]


def _in_order(rows: Sequence[Sequence[Any]], values: Sequence[int | None]) -> Distribution:
    """The distribution of the messages in order, one more symbol standing for "none"; numbers of messages
    apart."""
    size = len(rows[0]) + 1
    one = {x: np.array([*map(float, row), 0.0]) for x, row in enumerate(rows)}
    silent = np.eye(size)[-1]
    messages = joint(*(silent if value is None else one[value] for value in values))
    blocks = [np.zeros(size**n) for n in range(5)]
    blocks[len(values)] = messages
    return np.concatenate(blocks)


def _one_record(situation: Situation) -> bool:
    return situation.adjacency is Adjacency.REPLACE_ONE and situation.unit is Unit.EVENT


@generates("finite", holds=_one_record)
def finite(rng: np.random.Generator, situation: Situation) -> Case:
    """A random table for every record; sometimes with zeros."""
    rows = random_rows(rng, len(situation.values), int(rng.integers(2, 4)), zeros=bool(rng.integers(3) == 0))
    return Case(
        proof=lambda: build.finite_mechanism(rows),
        distribution=lambda values: _in_order(rows, values),
        pairs=pairs_in(situation),
    )


@generates("finite:weights", holds=_one_record)
def finite_weights(rng: np.random.Generator, situation: Situation) -> Case:
    """A table in exponentials: permute-and-flip on random scores for every record."""
    scores = [[int(q) for q in rng.integers(0, 3, size=3)] for _ in situation.values]
    scale = choose(rng, [Fraction(1), Fraction(2), Fraction(1, 2)])
    rows = [_flips(row, float(scale)) for row in scores]
    distributions = [NoisyArgmax(scores=row, noise=Exponential(scale=scale)) for row in scores]
    return Case(
        proof=lambda: build.finite_mechanism(distributions=distributions),
        distribution=lambda values: _in_order(rows, values),
        pairs=pairs_in(situation),
    )


def _flips(scores: Sequence[int], scale: float) -> list[float]:
    """Permute-and-flip over every order of the candidates."""
    distribution, orders = [0.0] * len(scores), [*permutations(range(len(scores)))]
    for order in orders:
        left = 1.0 / len(orders)
        for i in order:
            heads = math.exp((scores[i] - max(scores)) / scale)
            distribution[i] += left * heads
            left *= 1 - heads
    return distribution


@generates("randomised-response", holds=_one_record)
def randomised_response(rng: np.random.Generator, situation: Situation) -> Case:
    """Randomised response over two or three symbols."""
    epsilon, symbols = choose(rng, [Fraction(1, 2), Fraction(1), Fraction(2)]), len(situation.values)
    rows = response_rows(epsilon, symbols)
    return Case(
        proof=lambda: build.randomised_response(epsilon=epsilon, symbols=symbols),
        distribution=lambda values: _in_order(rows, values),
        pairs=pairs_in(situation),
    )


def _histogram(rows: Sequence[Sequence[float]], values: Sequence[int | None], most: int) -> Distribution:
    """The distribution of how often each message came."""
    outputs = len(rows[0])
    distribution = np.zeros((most + 1,) * outputs)
    distribution[(0,) * outputs] = 1.0
    for value in values:
        if value is not None:
            distribution = sum(
                float(chance) * np.roll(distribution, 1, axis=y) for y, chance in enumerate(rows[value])
            )  # nothing wraps: there are at most ``most`` messages
    return distribution.ravel()


def _shuffled(
    rng: np.random.Generator, situation: Situation, rows: Sequence[Sequence[float]], users: int, proof: Any
) -> Case:
    """At least ``users`` messages at full participation; one less if the claim allows a user to be absent."""
    absent = situation.participation != "everybody"
    sizes = (users - 1, users) if absent else (users, users + 1)
    most = users + 1
    values = tuple(range(len(rows)))
    alphabet = (*values, None) if situation.adjacency is Adjacency.ZERO_OUT else values
    pairs = _pairs(situation, tuple(s for s in sizes if s > 0), alphabet, values)
    holds_user = user(1) in situation.view.principals and not situation.view.complement

    def distribution(key: Any) -> Distribution:
        if situation.view.complement:
            return _in_order(rows, [value for _, value in key])
        known = [value for who, value in key if holds_user and who == 1]
        hidden = [value for who, value in key if not (holds_user and who == 1)]
        blocks = [np.zeros((len(rows[0]) + 1) ** n * (most + 1) ** len(rows[0])) for n in range(5)]
        blocks[len(known)] = joint(_in_block(rows, known), _histogram(rows, hidden, most))
        return np.concatenate(blocks[: 5 if holds_user else 1])

    def sends(data: Data) -> list[int]:
        return [who for who, value in data if value is not None]

    def one_each(pair: Pair) -> bool:
        return all(len(set(sends(d))) == len(sends(d)) for d in (pair.left, pair.right))

    return Case(
        proof=proof,
        distribution=distribution,
        pairs=pairs,
        reads=lambda data: data if holds_user else tuple((0, value) for _, value in data),
        conditions={
            ENOUGH: lambda pair: all(len(set(sends(d))) >= users for d in (pair.left, pair.right)),
            ONE_EACH: one_each,
        },
    )


def _in_block(rows: Sequence[Sequence[float]], values: Sequence[int | None]) -> Distribution:
    size, start = len(rows[0]) + 1, sum((len(rows[0]) + 1) ** n for n in range(len(values)))
    return _in_order(rows, values)[start : start + size ** len(values)]


def _pairs(
    situation: Situation, sizes: Sequence[int], alphabet: Sequence[int | None], values: Sequence[int]
) -> list[Pair]:
    """Neighbours; at full participation both sides have at least the smallest of the sizes, and per event
    every record has an owner of its own.
    """
    result = []
    for left in datasets(alphabet, sizes):
        if situation.unit is Unit.EVENT and len({who for who, _ in left}) < len(left):
            continue
        for right, owner in neighbours(left, situation, values, max(sizes)):
            result.append(Pair(left, right, owner))
    return result


def _shuffles(situation: Situation) -> bool:
    held = situation.view.complement or user(1) in situation.view.principals
    return _one_record(situation) and not held


def _settings(rng: np.random.Generator, situation: Situation) -> tuple[Fraction, int]:
    epsilon = choose(rng, [Fraction(1, 2), Fraction(1), Fraction(2)])
    return epsilon, int(rng.integers(2, 4)) if situation.unit is Unit.EVENT else 2


@generates("shuffled-response", holds=_shuffles)
def shuffled_response(rng: np.random.Generator, situation: Situation) -> Case:
    """Shuffled randomised response of one bit."""
    epsilon, users = _settings(rng, situation)
    proof = lambda: build.shuffled_response(users=users, local=epsilon)  # noqa: E731
    return _shuffled(rng, situation, response_rows(epsilon, 2), users, proof)


@generates("shuffle", holds=_shuffles, close=0.8)
def shuffle(rng: np.random.Generator, situation: Situation) -> Case:
    """The clone bound over randomised response, or over a random table (whose premise is its own rule)."""
    epsilon, users = _settings(rng, situation)
    rows: Sequence[Sequence[Any]] = response_rows(epsilon, 2)
    local: Any = lambda: build.randomised_response(epsilon=epsilon)  # noqa: E731
    if rng.integers(2):
        rows = table = random_rows(rng, 2, 2, zeros=False)
        local = lambda: build.finite_mechanism(table)  # noqa: E731
    return _shuffled(rng, situation, rows, users, lambda: build.shuffled(local(), users=users))


@generates("shuffle:approximate", holds=_shuffles, close=0.4)
def shuffle_with_delta(rng: np.random.Generator, situation: Situation) -> Case:
    """A random table with zeros, so that some outputs tell the input: the premise has a delta and no pure
    bound."""
    epsilon, users = _settings(rng, situation)
    rows = random_rows(rng, 2, int(rng.integers(2, 4)), zeros=True)
    local = lambda: build.finite_mechanism(rows)  # noqa: E731
    proof = lambda: build.shuffled(local(), users=users, local_epsilon=epsilon)  # noqa: E731
    return _shuffled(rng, situation, rows, users, proof)


@generates("shuffled-gaussian", holds=_shuffles, close=0.7)
def shuffled_gaussian(rng: np.random.Generator, situation: Situation) -> Case:
    """Gaussian messages around integers, of which only the cell of a partition of the line is looked at."""
    _, users = _settings(rng, situation)
    variance = choose(rng, [Fraction(1, 4), Fraction(1), Fraction(9)])
    cuts = sorted(float(cut) for cut in rng.normal(0.5, 2, size=int(rng.integers(1, 3))))
    rows = [_cells(x, math.sqrt(variance), cuts) for x in (0, 1)]
    noise: Any = {"sensitivity_squared": 1, "variance": variance}
    return _shuffled(rng, situation, rows, users, lambda: build.shuffled_gaussian(users=users, **noise))


def _cells(mean: float, deviation: float, cuts: Sequence[float]) -> list[float]:
    """The mass of N(mean, deviation²) between consecutive cuts."""
    below = [0.0, *((1 + math.erf((cut - mean) / deviation / math.sqrt(2))) / 2 for cut in cuts), 1.0]
    return [high - low for low, high in pairwise(below)]


@generates("sequential:shuffled", holds=_shuffles, close=0.8, count=9)
def shuffled_twice(rng: np.random.Generator, situation: Situation) -> Case:
    """Two shuffled rounds: on a grid, by exact pairs, clones or a blanket's profile, or by Renyi sums."""
    epsilon, users = _settings(rng, situation)
    rows: Sequence[Sequence[Any]] = response_rows(epsilon, 2)
    kind, fine = int(rng.integers(4)), LossGrid(step="1/50", bits=64, tail=30)
    round_ = lambda: build.shuffled_response(users=users, local=epsilon)  # noqa: E731
    if kind == 1:
        round_ = lambda: build.shuffled(build.randomised_response(epsilon=epsilon), users=users)  # noqa: E731
    if kind == 2:
        rows = table = random_rows(rng, 2, 2, zeros=False)
        round_ = lambda: build.shuffled_table(table, users=users, grid=fine)  # noqa: E731
    grid = None if kind == 3 else fine
    one = _shuffled(
        rng, situation, rows, users, lambda: build.compose_sequential([round_()], times=[2], grid=grid)
    )

    def distribution(key: Any) -> Distribution:
        once = one.distribution(key)
        return np.multiply.outer(once, once).ravel()

    return replace(one, distribution=distribution)


@generates("shuffled-table", holds=_shuffles, close=0.8, count=6)
def shuffled_table(rng: np.random.Generator, situation: Situation) -> Case:
    """The privacy blanket of a random table."""
    _, users = _settings(rng, situation)
    rows = random_rows(rng, 2, int(rng.integers(2, 4)), zeros=False)
    grid = LossGrid(step="1/50", bits=64, tail=30)
    proof = lambda: build.shuffled_table(rows, users=users, grid=grid)  # noqa: E731
    return _shuffled(rng, situation, rows, users, proof)
