"""Disjoint masks, randomised response and linear queries: right programs are verified, wrong ones are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpaudit.core.claims.privacy import PureDP, ZeroConcentratedDP
from dpaudit.core.data import EVERY, Anything, Ball, Integers, Interval, Records, Table
from dpaudit.prover.values.prove import prove_values

CAT, CATN = Records(Integers(0, 4), size=20), Records(Integers(0, 4), size=EVERY)
BITS, BITSN = Records(Integers(0, 1), size=9), Records(Integers(0, 1), size=EVERY)
TRUTH = Records(Integers(0, 1, bits=True), size=9)
X, ROWS = Records(Anything(), size=12), Records(Interval(0, 1), size=12, width=3)
PAIR = Table({"a": Integers(0, 1), "b": Integers(0, 2)}, size=12)
QUERIES = np.array([[1, 1, 0, 0, 0], [0, 0, 1, 1, 0], [1, 0, 1, 0, 1]])
SPREAD = np.array([[2, 0, -1, 0, 0], [0, 0, 1, 1, 0]])

CASES: list[tuple[bool, Callable[..., Any], float, Any, str]] = []


def case(right: bool, epsilon: float, data: Any, *, add_remove: bool = False) -> Callable[[Any], Any]:
    """Register a program with its claim in epsilon, or in rho for a negative number."""

    def registered(function: Callable[..., Any]) -> Callable[..., Any]:
        CASES.append((right, function, epsilon, data, "add-remove" if add_remove else "replace-one"))
        return function

    return registered


# Masks


@case(True, 1, X, add_remove=True)
def mask_and_negation(data, rng):
    high = data > 3
    return [mask.sum() + rng.laplace(scale=1) for mask in (high, ~high)]


@case(False, 1, X)
def mask_and_negation_replaced(data, rng):
    high = data > 3
    return [mask.sum() + rng.laplace(scale=1) for mask in (high, ~high)]


@case(True, 1, X, add_remove=True)
def negation_of_a_comparison_of_columns(data, rng):
    high = data > np.sin(data)
    return [mask.sum() + rng.laplace(scale=1) for mask in (high, ~high)]


@case(False, 1, X, add_remove=True)
def negation_of_a_conjunction(data, rng):
    middle = (data > 1) & (data < 3)
    return [mask.sum() + rng.laplace(scale=1) for mask in (middle, data <= 1, ~middle)]


@case(False, 1, X, add_remove=True)
def mask_and_its_disjunction(data, rng):
    high, low = data > 3, data < 1
    return [mask.sum() + rng.laplace(scale=1) for mask in (high, high | low)]


@case(False, 1, X, add_remove=True)
def closed_ends_meet(data, rng):
    return [mask.sum() + rng.laplace(scale=1) for mask in (data >= 3, data <= 3)]


@case(True, 1, CAT, add_remove=True)
def all_but_two(data, rng):
    rest = (data != 0) & (data != 1)
    return [mask.sum() + rng.laplace(scale=1) for mask in (data == 0, data == 1, rest)]


@case(False, 1, CAT, add_remove=True)
def all_but_one_of_two(data, rng):
    return [mask.sum() + rng.laplace(scale=1) for mask in (data == 0, data == 1, data != 0)]


@case(False, 1, CAT, add_remove=True)
def either_is_not(data, rng):
    rest = (data != 0) | (data != 1)
    return [mask.sum() + rng.laplace(scale=1) for mask in (data == 0, data == 1, rest)]


@case(True, 1, PAIR, add_remove=True)
def cells_of_two_columns(data, rng):
    return [
        ((data["a"] == i) & (data["b"] == j)).sum() + rng.laplace(scale=1) for i in range(2) for j in range(3)
    ]


@case(True, 2, PAIR)
def cells_of_two_columns_replaced(data, rng):
    return [
        ((data["a"] == i) & (data["b"] == j)).sum() + rng.laplace(scale=1) for i in range(2) for j in range(3)
    ]


@case(False, 1, PAIR, add_remove=True)
def margins_of_two_columns(data, rng):
    return [(data["a"] == 0).sum() + rng.laplace(scale=1), (data["b"] == 0).sum() + rng.laplace(scale=1)]


@case(False, 1, PAIR, add_remove=True)
def cells_of_an_either(data, rng):
    return [((data["a"] == i) | (data["b"] == i)).sum() + rng.laplace(scale=1) for i in range(2)]


@case(False, 1.5, PAIR)
def cells_move_from_one_to_another(data, rng):
    return [
        ((data["a"] == i) & (data["b"] == j)).sum() + rng.laplace(scale=1) for i in range(2) for j in range(3)
    ]


@case(False, 1, CAT)
def the_rest_of_a_conjunction(data, rng):
    # Where (d > 2) & (d == 4) fails, d may still be above 2.
    return np.where((data > 2) & (data == 4), 0, data).sum() + rng.laplace(scale=2)


@case(True, 1, CAT)
def the_rest_of_a_comparison(data, rng):
    return np.where(data > 2, 0, data).sum() + rng.laplace(scale=2)


@case(False, 1, CAT)
def the_rest_of_an_inequality(data, rng):
    return np.where(data != 2, data, 0).sum() + rng.laplace(scale=2)


# Randomised response


@case(True, 2.2, CAT)
@case(True, 2.2, CATN)
def one_hot_answers(data, rng):
    bits = data[:, None] == np.arange(5)
    return np.where(rng.random((len(data), 5)) < 0.25, ~bits, bits)


@case(False, 2.1, CAT)
def one_hot_answers_cost_two_bits(data, rng):
    bits = data[:, None] == np.arange(5)
    return np.where(rng.random((len(data), 5)) < 0.25, ~bits, bits)


@case(False, 2.2, CAT)
def thresholds_are_not_one_hot(data, rng):
    bits = data[:, None] > np.arange(5)
    return np.where(rng.random((len(data), 5)) < 0.25, ~bits, bits)


@case(False, 2.2, CAT)
def repeated_columns_are_not_one_hot(data, rng):
    bits = data[:, None] == np.array([0, 0, 1, 1, 2])
    return np.where(rng.random((len(data), 5)) < 0.25, ~bits, bits)


@case(False, 1.03, CAT)
def private_chances_of_thresholds(data, rng):
    bits = data[:, None] > np.arange(5)
    return rng.random((len(data), 5)) < np.where(bits, 0.625, 0.375)


@case(False, 1.03, CAT)
def private_chances_too_far_apart(data, rng):
    bits = data[:, None] == np.arange(5)
    return rng.random((len(data), 5)) < np.where(bits, 0.65, 0.375)


@case(True, 1.1, BITS)
@case(True, 1.1, BITSN)
def flips_by_distance(data, rng):
    return np.abs(data - (rng.random(len(data)) < 0.25))


@case(True, 1.1, BITS)
def flips_by_parity(data, rng):
    return (data + (rng.random(len(data)) < 0.25)) % 2


@case(True, 1.1, BITS)
def flips_by_builtin_abs(data, rng):
    return abs((rng.random(len(data)) < 0.25) - data)


@case(True, 1.1, TRUTH)
def flips_by_inequality(data, rng):
    return data != (rng.random(len(data)) < 0.25)


@case(False, 1.1, BITS)
def flips_too_few(data, rng):
    return (data + (rng.random(len(data)) < 0.1)) % 2


@case(False, 1.1, BITS)
def a_sum_is_no_flip(data, rng):
    return data + (rng.random(len(data)) < 0.25)


@case(False, 1.1, BITS)
def distance_of_a_sum(data, rng):
    return np.abs(data + (rng.random(len(data)) < 0.25))


@case(False, 1.1, BITS)
def another_modulus(data, rng):
    return (data + (rng.random(len(data)) < 0.25)) % 3


@case(False, 1.1, BITS)
def flips_that_are_known(data, rng):
    flips = rng.random(len(data)) < 0.25
    return (data + flips) % 2, flips


@case(False, 1.1, BITS)
def flips_used_twice(data, rng):
    flips = rng.random(len(data)) < 0.25
    return (data + flips) % 2, np.abs(data - flips)


@case(False, 1.1, BITS)
def one_flip_for_all(data, rng):
    return (data + (rng.random() < 0.25)) % 2


@case(False, 1.1, CAT)
def flips_of_categories(data, rng):
    return (data + (rng.random(len(data)) < 0.25)) % 2


@case(True, 1.4, CAT)
def another_category(data, rng):
    n = len(data)
    return np.where(rng.random(n) < 0.5, data, (data + rng.integers(1, 5, size=n)) % 5)


@case(True, 1.4, CAT)
def another_category_turned(data, rng):
    n = len(data)
    return np.where(rng.random(n) < 0.5, (rng.integers(1, 5, size=n) + data) % 5, data)


@case(False, 1.3, CAT)
def another_category_below_its_cost(data, rng):
    n = len(data)
    return np.where(rng.random(n) < 0.5, data, (data + rng.integers(1, 5, size=n)) % 5)


@case(False, 1.4, CAT)
def another_category_with_a_gap(data, rng):
    n = len(data)
    return np.where(rng.random(n) < 0.5, data, (data + rng.integers(1, 4, size=n)) % 5)


@case(False, 1.4, CAT)
def another_category_kept_too_often(data, rng):
    n = len(data)
    return np.where(rng.random(n) < 0.6, data, (data + rng.integers(1, 5, size=n)) % 5)


@case(False, 1.4, CAT)
def another_category_of_other_data(data, rng):
    n = len(data)
    return np.where(rng.random(n) < 0.5, data, (data // 2 + rng.integers(1, 5, size=n)) % 5)


@case(False, 5, CAT)
def never_the_own_category(data, rng):
    return (data + rng.integers(1, 5, size=len(data))) % 5


@case(False, 1.4, CAT)
def the_shift_is_known(data, rng):
    n = len(data)
    shift = rng.integers(1, 5, size=n)
    return np.where(rng.random(n) < 0.5, data, (data + shift) % 5), shift


@case(True, 1.1, BITS)
def fair_coins(data, rng):
    n = len(data)
    return np.where(rng.random(n) < 0.5, data, rng.random(n) < 0.5)


@case(False, 1.1, BITS)
def unfair_coins(data, rng):
    n = len(data)
    return np.where(rng.random(n) < 0.5, data, rng.random(n) < 0.1)


@case(False, 1.1, BITS)
def one_uniform_for_both_coins(data, rng):
    u = rng.random(len(data))
    return np.where(u < 0.5, data, u < 0.5)


@case(True, 2.2, CAT)
def signs(data, rng):
    sent = np.where(data[:, None] == np.arange(5), 1, -1)
    return np.where(rng.random((len(data), 5)) < 0.25, -sent, sent)


@case(False, 2.1, CAT)
def signs_below_their_cost(data, rng):
    sent = np.where(data[:, None] == np.arange(5), 1, -1)
    return np.where(rng.random((len(data), 5)) < 0.75, sent, -sent)


@case(False, 2.2, CAT)
def signs_of_two_sizes(data, rng):
    sent = np.where(data[:, None] == np.arange(5), 2, -1)
    return np.where(rng.random((len(data), 5)) < 0.25, -sent, sent)


@case(True, 1.1, BITS)
def one_answer_after_another(data, rng):
    return [x if rng.random() < 0.75 else 1 - x for x in data]


@case(False, 1.1, BITS)
def one_coin_for_all_answers(data, rng):
    keep = rng.random() < 0.75
    return [x if keep else 1 - x for x in data]


@case(False, 1.1, BITS)
def each_answer_twice(data, rng):
    return [[x if rng.random() < 0.75 else 1 - x for _ in range(2)] for x in data]


@case(False, 1.1, BITS)
def an_answer_that_is_no_bit(data, rng):
    return [x if rng.random() < 0.75 else 2 - x for x in data]


@case(True, 1.1, CAT)
def answers_to_released_chances(data, rng):
    bits = data[:, None] == np.arange(5)
    first = rng.random((len(data), 5)) < np.where(bits, 0.625, 0.375)
    return rng.random((len(data), 5)) < np.where(first, 0.75, 0.5)


# Linear queries of counts


@case(True, 1, CAT)
@case(True, 1, CATN)
def query_chosen_from_counts(data, rng):
    answers = QUERIES @ np.bincount(data, minlength=5)
    weights = np.exp(answers / 2)
    return rng.choice(3, p=weights / weights.sum())


@case(False, 1, CAT)
def query_of_a_wide_row(data, rng):
    answers = SPREAD @ np.bincount(data, minlength=5)
    weights = np.exp(answers / 4)
    return rng.choice(2, p=weights / weights.sum())


@case(True, 1.5, CAT)
def query_of_a_wide_row_at_its_cost(data, rng):
    answers = SPREAD @ np.bincount(data, minlength=5)
    weights = np.exp(answers / 4)
    return rng.choice(2, p=weights / weights.sum())


@case(False, 1, CAT)
def query_of_weighted_rows(data, rng):
    answers = QUERIES @ (np.bincount(data, minlength=5) * 2)
    weights = np.exp(answers / 2)
    return rng.choice(3, p=weights / weights.sum())


@case(True, 2, CAT)
def outcomes_in_a_list(data, rng):
    noisy = [np.sum(data == k) + rng.laplace(scale=1) for k in range(5)]
    return noisy.index(min(noisy))


@case(False, 1, CAT)
def outcomes_in_a_list_without_noise(data, rng):
    counts = [np.sum(data == k) for k in range(5)]
    return counts.index(max(counts))


@case(True, 1, ROWS)
def variances_of_columns(data, rng):
    return data.var(axis=0) + rng.laplace(scale=3 / 12, size=3)


@case(False, 1, ROWS)
def variances_of_columns_as_one(data, rng):
    return data.var(axis=0) + rng.laplace(scale=1 / 12, size=3)


@case(False, 1, ROWS)
def variances_of_rows(data, rng):
    return data.var(axis=1) + rng.laplace(scale=3 / 12, size=12)


@case(True, -0.5, Records(Anything(), size=12, width=3), add_remove=True)
def norms_by_a_root(data, rng):
    norms = np.sqrt((data**2).sum(axis=1, keepdims=True))
    return (data / np.maximum(norms, 1.0)).sum(axis=0) + rng.normal(0, 1, size=3)


@case(False, -0.5, Records(Anything(), size=12, width=3), add_remove=True)
def norms_by_a_root_of_columns(data, rng):
    norms = np.sqrt((data**2).sum(axis=0, keepdims=True))
    return (data / np.maximum(norms, 1.0)).sum(axis=0) + rng.normal(0, 1, size=3)


FREE, BALL = Records(Anything(), size=12, width=3), Records(Ball(1, width=3), size=12)


@case(True, -0.5, FREE, add_remove=True)
def einsum_of_factors(data, rng):
    factors = np.minimum(1.0, 1.0 / (np.linalg.norm(data, axis=1) + 1e-6))
    return np.einsum("n,ni->i", factors, data) + rng.normal(0, 1, size=3)


@case(False, -0.4, FREE, add_remove=True)
def einsum_of_factors_below_its_cost(data, rng):
    factors = np.minimum(1.0, 1.0 / (np.linalg.norm(data, axis=1) + 1e-6))
    return np.einsum("n,ni->i", factors, data) + rng.normal(0, 1, size=3)


@case(False, -0.5, FREE, add_remove=True)
def einsum_without_factors(data, rng):
    return np.einsum("ni->i", data) + rng.normal(0, 1, size=3)


@case(True, -1, BALL)
def einsum_of_moments(data, rng):
    return np.einsum("ni,nj->ij", data, data) + rng.normal(0, 1, size=(3, 3))


@case(False, -0.9, BALL)
def einsum_of_moments_below_its_cost(data, rng):
    return np.einsum("ni,nj->ij", data, data) + rng.normal(0, 1, size=(3, 3))


@case(False, -1, BALL)
def einsum_of_all_pairs(data, rng):
    return np.einsum("ni,mi->nm", data, data) + rng.normal(0, 1, size=(12, 12))


@case(True, -2.25, BALL)
def einsum_of_squares(data, rng):
    return np.einsum("ni,ni->", data, data) + rng.normal(0, 0.5)


@case(True, 1, PAIR)
def table_of_two_columns(data, rng):
    table, _, _ = np.histogram2d(data["a"], data["b"], bins=[2, 3], range=[[0, 2], [0, 3]])
    return table + rng.laplace(scale=2, size=(2, 3))


@case(True, 1, PAIR, add_remove=True)
def table_of_two_columns_added(data, rng):
    table, first, second = np.histogram2d(data["a"], data["b"], bins=[2, 3], range=[[0, 2], [0, 3]])
    return table + rng.laplace(scale=1, size=(2, 3)), first, second


@case(False, 1, PAIR)
def table_of_two_columns_replaced(data, rng):
    table, _, _ = np.histogram2d(data["a"], data["b"], bins=[2, 3], range=[[0, 2], [0, 3]])
    return table + rng.laplace(scale=1, size=(2, 3))


@case(False, 1, PAIR)
def table_with_edges_of_the_data(data, rng):
    table, first, _ = np.histogram2d(data["a"], data["b"], bins=[2, 3])
    return table + rng.laplace(scale=2, size=(2, 3)), first


@pytest.mark.parametrize(
    ("right", "function", "epsilon", "data", "adjacency"),
    [pytest.param(*one, id=f"{one[1].__name__}-{k}") for k, one in enumerate(CASES)],
)
def test_right_programs_are_verified_and_wrong_ones_are_not(
    right: bool, function: Callable[..., Any], epsilon: float, data: Any, adjacency: str
) -> None:
    """The verdict is ``verified`` exactly for the right programs."""
    kind, value = (PureDP, epsilon) if epsilon > 0 else (ZeroConcentratedDP, -epsilon)
    claim = kind(value, adjacency=adjacency) if adjacency != "replace-one" else kind(value)
    found = prove_values(function, claim, data=data)
    assert (found.verdict == "verified") == right, found.reason
