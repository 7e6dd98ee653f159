"""The instances of Theorem 10 (appendix H), in exact numbers: their distances, and the smallest error of a
private selector.

Instance j is a product of K Bernoulli laws: action j has mean ``base + gap``, every other one mean
``base``; the paper's base is 1/2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array

from dpaudit.errors import InvalidParameterError

__all__ = ["instance", "smallest_private_error", "total_variation", "witness_gap"]

Outcome = tuple[int, ...]
Law = dict[Outcome, Fraction]
HALF = Fraction(1, 2)
#: Beyond it exp(epsilon) is too large a coefficient for the solver.
LARGEST_EPSILON = 16


def instance(best: int, *, n_actions: int, gap: Fraction, base: Fraction = HALF) -> Law:
    """The law of one reward vector under instance ``best`` (from 0), on {0, 1}^K.

    Raises ``InvalidParameterError`` where ``base + gap`` is no probability.
    """
    if not 0 <= base <= base + gap <= 1:
        raise InvalidParameterError(
            f"base and base + gap must be in [0, 1], got {base} and {base + gap}; take a smaller gap or base."
        )
    means = [base + gap if j == best else base for j in range(n_actions)]
    return {
        outcome: math.prod(
            (m if bit else 1 - m for bit, m in zip(outcome, means, strict=True)), start=Fraction(1)
        )
        for outcome in product((0, 1), repeat=n_actions)
    }


def total_variation(first: Law, second: Law) -> Fraction:
    """The largest difference of probability over all events: half the l1 distance."""
    return sum((abs(first[x] - second[x]) for x in first), Fraction(0)) / 2


def witness_gap(first: Law, second: Law) -> Fraction:
    """P_1(A) - P_2(A) for the paper's event A: action 1 pays, action 2 does not."""
    return sum((first[x] - second[x] for x in first if x[0] == 1 and x[1] == 0), Fraction(0))


def smallest_private_error(
    *, n_actions: int, n: int, gap: Fraction, epsilon: float, base: Fraction = HALF
) -> float:
    """The smallest worst-case error of any epsilon-DP selector from ``n`` reward vectors, by linear
    programming.

    A selector may be averaged over the orders of its input without losing privacy or error, so that it is a
    table: data set (a multiset of n vectors in {0, 1}^K) by answer. Unknowns: the table and the worst
    error. Constraints: each row is a distribution, rows of neighbours (one vector replaced) are within
    exp(epsilon) of each other in every entry, and the error under each of the K instances is at most the
    worst one.

    Raises ``InvalidParameterError`` for an epsilon that is not positive, or above 16.
    """
    if not 0 < epsilon <= LARGEST_EPSILON:
        raise InvalidParameterError(
            f"epsilon must be in (0, {LARGEST_EPSILON}] for the solver, got {epsilon}; choose another."
        )
    states = list(combinations_with_replacement(product((0, 1), repeat=n_actions), n))
    laws = [instance(j, n_actions=n_actions, gap=gap, base=base) for j in range(n_actions)]
    k, size, answers = n_actions, len(states) * n_actions, np.arange(n_actions)
    weights = np.array([[_probability(state, law) for state in states] for law in laws])
    pairs = np.array(list(set(_neighbours(states))))
    one, other = ((pairs[:, [side]] * k + answers).ravel() for side in (0, 1))
    ratios = k + np.arange(one.size)  # rows of P(answer | state) <= exp(epsilon) P(answer | neighbour)
    right = answers[:, None] + k * np.arange(len(states))  # of the answers that instance j makes right
    limits = coo_array(
        (
            np.concatenate(
                [-weights.ravel(), -np.ones(k), np.repeat([1.0, -math.exp(epsilon)], one.size)],
            ),
            (
                np.concatenate([np.repeat(answers, len(states)), answers, ratios, ratios]),
                np.concatenate([right.ravel(), np.full(k, size), one, other]),
            ),
        ),
        shape=(k + one.size, size + 1),
    )
    entries = np.arange(size)
    whole = coo_array((np.ones(size), (entries // k, entries)), shape=(len(states), size + 1))
    result: Any = linprog(  # type: ignore[call-overload]  # its stubs know dense matrices only
        np.arange(size + 1) == size,
        A_ub=limits.tocsr(),
        b_ub=np.repeat([-1.0, 0.0], [k, one.size]),
        A_eq=whole.tocsr(),
        b_eq=np.ones(len(states)),
        bounds=(0, 1),
    )
    if not result.success:
        raise ArithmeticError(f"a feasible linear program must be solved, got {result.message!r}.")
    return float(result.fun)


def _probability(state: tuple[Outcome, ...], law: Law) -> float:
    """Of a multiset: the number of its orders times the probability of one."""
    orders = math.factorial(len(state))
    for outcome in set(state):
        orders //= math.factorial(state.count(outcome))
    return float(orders * math.prod((law[outcome] for outcome in state), start=Fraction(1)))


def _neighbours(states: list[tuple[Outcome, ...]]) -> Iterator[tuple[int, int]]:
    """Ordered pairs of multisets that differ in one vector."""
    index = {state: i for i, state in enumerate(states)}
    outcomes = sorted({outcome for state in states for outcome in state})
    for state, i in index.items():
        for k in range(len(state)):
            for other in outcomes:
                j = index[tuple(sorted((*state[:k], other, *state[k + 1 :])))]
                if j != i:
                    yield i, j
