"""Compute the best private selector, which finds the distribution that n records come from.

A lower bound on regret often rests on the error of private tests. For small n and few outcomes the set of all
private tests is a polytope, and the smallest error is the value of a linear program.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array

from dpaudit.core.errors import InvalidParameterError

__all__ = ["smallest_selection_error"]

#: Above this value, exp(epsilon) is too large a coefficient for the solver.
LARGEST_EPSILON = 16

Outcome = tuple[int, ...]
State = tuple[Outcome, ...]


def smallest_selection_error(
    distributions: Sequence[Mapping[Outcome, Fraction]], *, n: int, epsilon: float
) -> float:
    """Return the smallest worst-case error of any epsilon-DP selector, up to the solver's tolerance.

    The selector gets ``n`` records of one of ``distributions``, which have the same outcomes in the same
    order. It may be averaged over the orders of its input without losing privacy or error, so it is a table:
    dataset (a multiset of n outcomes) by answer. The unknowns are the table and the worst error. The
    constraints: each row is a distribution, rows of neighbours (one record replaced) are within exp(epsilon)
    of each other in every entry, and the error under each distribution is at most the worst one.

    Raises ``InvalidParameterError`` for an epsilon that is not positive, or above 16.
    """
    if not 0 < epsilon <= LARGEST_EPSILON:
        raise InvalidParameterError(
            f"epsilon must be in (0, {LARGEST_EPSILON}] for the solver, got {epsilon}.",
            code="E-EPSILON-RANGE",
        )
    states = list(combinations_with_replacement(distributions[0], n))
    k, size = len(distributions), len(states) * len(distributions)
    entries = np.arange(size)
    whole = coo_array((np.ones(size), (entries // k, entries)), shape=(len(states), size + 1))
    limits = _limits(distributions, states, epsilon)
    result: Any = linprog(  # type: ignore[call-overload]  # its stubs know dense matrices only
        np.arange(size + 1) == size,
        A_ub=limits.tocsr(),
        b_ub=np.repeat([-1.0, 0.0], [k, limits.shape[0] - k]),
        A_eq=whole.tocsr(),
        b_eq=np.ones(len(states)),
        bounds=(0, 1),
    )
    if not result.success:
        raise ArithmeticError(f"the solver failed on a feasible linear program: {result.message!r}.")
    return float(result.fun)


def _limits(distributions: Sequence[Mapping[Outcome, Fraction]], states: list[State], epsilon: float) -> Any:
    """Return the sparse rows of the inequalities.

    There is one per distribution for its error, then one per pair of neighbours and answer for privacy.
    """
    k, size, answers = len(distributions), len(states) * len(distributions), np.arange(len(distributions))
    weights = np.array(
        [[_probability(state, distribution) for state in states] for distribution in distributions]
    )
    pairs = np.array(list(set(_neighbours(states))))
    one, other = ((pairs[:, [side]] * k + answers).ravel() for side in (0, 1))
    ratios = k + np.arange(one.size)  # rows of P(answer | state) <= exp(epsilon) P(answer | neighbour)
    right = answers[:, None] + k * np.arange(len(states))  # of the answers that distribution j makes right
    return coo_array(
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


def _probability(state: State, distribution: Mapping[Outcome, Fraction]) -> float:
    """Return the probability of a multiset: the number of its orders times the probability of one order."""
    orders = math.factorial(len(state))
    for outcome in set(state):
        orders //= math.factorial(state.count(outcome))
    return float(orders * math.prod((distribution[outcome] for outcome in state), start=Fraction(1)))


def _neighbours(states: list[State]) -> Iterator[tuple[int, int]]:
    """Yield ordered pairs of multisets that differ in one record."""
    index = {state: i for i, state in enumerate(states)}
    outcomes = sorted({outcome for state in states for outcome in state})
    for state, i in index.items():
        for k in range(len(state)):
            for other in outcomes:
                j = index[tuple(sorted((*state[:k], other, *state[k + 1 :])))]
                if j != i:
                    yield i, j
