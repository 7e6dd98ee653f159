"""Branches on private conditions are followed if both sides only compute, and are refused otherwise."""

# ruff: noqa: E501, SIM108, SIM201 (programs as users write them, and tables of them)

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dpaudit.core.claims import PureDP
from dpaudit.core.data import Anything, Integers, Interval, Records
from dpaudit.kernel.values.check import check
from dpaudit.prover.values.prove import prove_values

E1 = PureDP(epsilon=1)
LIST = Records(Interval(0, 100), size=8, container="list")
ARRAY = Records(Interval(0, 100), size=8)
SIGNED_LIST = Records(Interval(-1, 1), size=8, container="list")
SIGNED = Records(Interval(-1, 1), size=8)
ANY = Records(Anything(), size=8)
DIGITS = Records(Integers(0, 3), size=8)
WEIGHTS = {0: 1.0, 1: 2.0}
STATE = [0]


# Right programs.


def count(data, rng):
    c = 0
    for x in data:
        if x > 50:
            c += 1
    return c + rng.laplace(scale=1)


def count_up_and_down(data, rng):
    c = 0
    for x in data:
        if x > 50:
            c += 1
        else:
            c -= 1
    return c + rng.laplace(scale=2)


def two_steps_per_record(data, rng):
    c = 0
    for x in data:
        if x > 10:
            c += 1
        if x > 50:
            c += 1
    return c + rng.laplace(scale=2)


def clipped_by_hand(data, rng):
    total = 0
    for x in data:
        if x > 10:
            x = 10
        total += x
    return float(total) + rng.laplace(scale=10)


def clip_to_ten(x):
    if x > 10:
        return 10.0
    if x < 1:
        return 1.0
    return x


def early_returns(data, rng):
    return float(sum(clip_to_ten(x) for x in data)) + rng.laplace(scale=9)


def conditional_expression(data, rng):
    return sum(x if x < 10 else 10 for x in data) + rng.laplace(scale=10)


def outliers_become_zero(data, rng):
    total = 0.0
    for x in data:
        total += float(x if 0 <= x <= 10 else 0.0)
    return total + rng.laplace(scale=10)


def chained_and_or(data, rng):
    return sum(1 for x in data if 10 <= x <= 20 or x > 50) + rng.laplace(scale=1)


def filtered_list(data, rng):
    return len([x for x in data if not (10 <= x <= 20) and x < 90]) + rng.laplace(scale=1)


def levels(data, rng):
    total = 0
    for x in data:
        if x < 10:
            w = 1
        elif x < 20:
            w = 2
        else:
            w = 4
        total += w
    return total + rng.laplace(scale=3)


def sum_and_count(data, rng):
    total, n = 0.0, 0
    for x in data:
        if 1 < x < 5 and not x == 3:
            total += x
            n += 1
    return total + rng.laplace(scale=10), n + rng.laplace(scale=2)


def larger_of_two(data, rng):
    return float(max(sum(data), 0)) + rng.laplace(scale=100)


def lookup_by_public_key(data, rng):
    total = 0.0
    for k, x in enumerate(data):
        total += WEIGHTS[k % 2] if x > 50 else 0.0
    return total + rng.laplace(scale=2)


def histogram_by_hand(data, rng):
    counts = [0, 0, 0]
    for x in data:
        b = 0 if x < 3 else 1 if x < 6 else 2
        for j in range(3):
            counts[j] += b == j
    return [c + rng.laplace(scale=6) for c in counts]


@pytest.mark.parametrize("data", [LIST, ARRAY], ids=["list", "array"])
@pytest.mark.parametrize(
    "program",
    [
        count, count_up_and_down, two_steps_per_record, clipped_by_hand, early_returns, conditional_expression,
        outliers_become_zero, chained_and_or, filtered_list, levels, sum_and_count, larger_of_two,
        lookup_by_public_key, histogram_by_hand,
    ],
)  # fmt: skip
def test_pure_branches_are_verified(program: Any, data: Any) -> None:
    """A loop whose branches only compute numbers is verified, and the kernel derives the same bound."""
    proof = prove_values(program, E1, data=data)
    assert proof.verdict == "verified", proof.reason
    assert proof.certificate is not None
    assert check(proof.certificate).epsilon == proof.bound


def dropped_values(data, rng):
    return np.where(data > 10, 0, data).sum() + rng.laplace(scale=10)


def kept_values(data, rng):
    return np.where((data >= 5) & (data <= 10), data, 7.5).sum() + rng.laplace(scale=5)


@pytest.mark.parametrize("program", [dropped_values, kept_values])
@pytest.mark.parametrize("adjacency", ["replace-one", "zero-out"])
def test_a_condition_limits_the_value_that_it_selects(program: Any, adjacency: Any) -> None:
    """``np.where`` with a comparison of the value bounds its range, also for every size."""
    data = Records(Interval(0, 100)) if adjacency == "replace-one" else ARRAY
    proof = prove_values(program, PureDP(epsilon=1, adjacency=adjacency), data=data)
    assert proof.verdict == "verified", proof.reason


# Wrong programs: too little noise, and branches that do more than compute.


def count_twice(data, rng):
    c = 0
    for x in data:
        if x > 0:
            c += 2
    return c + rng.laplace(scale=1)


def count_both_ways(data, rng):
    c = 0
    for x in data:
        if x > 0:
            c += 1
        else:
            c -= 1
    return c + rng.laplace(scale=1)


def early_returns_bad(data, rng):
    return float(sum(clip_to_ten(100 * x) for x in data)) + rng.laplace(scale=8.9)


def kept_outside(data, rng):
    return np.where((np.array(data) >= 0) & (np.array(data) <= 0.5), 0.5, data).sum() + rng.laplace(scale=1.4)


def pairs(data, rng):
    c = 0
    for x in data:
        for y in data:
            if x > y:
                c += 1
    return c + rng.laplace(scale=7)


def latch(data, rng):
    seen, c = 0, 0
    for x in data:
        if x > 0.9:
            seen = 1
        if seen == 1:
            c += 1
    return c + rng.laplace(scale=1)


def first_positive(data, rng):
    found = 0.0
    for x in data:
        found = float(x) if found == 0 and x > 0 else found
    return found + rng.laplace(scale=0.9)


def wrong_side(data, rng):
    total = 0.0
    for x in data:
        if x < 0.5:
            x = 0.5
        total += float(x)
    return total + rng.laplace(scale=0.4)


def unknown_class(data, rng):
    v = data[0] if data[0] > 0 else 0
    v.clip(0, 1)  # an AttributeError for 0
    return rng.laplace()


def unknown_class_of_a_maximum(data, rng):
    return max(data[0], 0).item() + rng.laplace(scale=100)


def unknown_kind(data, rng):
    a = np.array([max(x, 0) for x in data])
    a *= 0.5  # an error for an array of integers
    return a.sum() + rng.laplace(scale=0.5)


def inverted_truth(data, rng):
    v = (data[0] > 0) if data[0] > 0.5 else True
    return (~v) ** 2 + rng.laplace(scale=1)


def sum_of_truths(data, rng):
    a, b = (data[0] > 0) or False, (data[0] > 0) or False
    return a + b + rng.laplace(scale=1)


def unbound(data, rng):
    if data[0] > 0:
        z = 1
    return z + rng.laplace(scale=1)


def changes_a_global(data, rng):
    if data[0] > 0:
        STATE[0] = 1
    return rng.laplace()


def counts_calls(data, rng):
    n = 0

    def called():
        nonlocal n
        n = n + 1
        return 1

    t = 0
    for x in data:
        t = called() if x > 0 else 0
    return n + 0 * t


def appends_in_a_branch(data, rng):
    found = []
    for x in data:
        if x > 0:
            found.append(1)
    return len(found)


def counts_by_walrus(data, rng):
    n = 0
    for x in data:
        _ = (n := n + 1) if x > 0 else 0
    return n


def consumes(items, x):
    if x > 0:
        return sum(items)
    return 0


def iterator_in_a_branch(data, rng):
    return consumes((k for k in range(3)), data[0])


def noise_in_a_branch(data, rng):
    noise = rng.laplace(scale=1)
    return data[0] if data[0] > 0 else noise


def draw_in_a_branch(data, rng):
    total = 0
    for x in data:
        if x > 0:
            total += rng.laplace()
    return total


def outcome_in_a_branch(data, rng):
    noisy = data[0] + rng.laplace(scale=4)
    if data[1] > 0:
        m = 1 if noisy > 0 else 0
    else:
        m = 0
    return m + rng.laplace(scale=2)


def guarded_division(data, rng):
    v = 1 / data[0] if data[0] != 0 else 0.0
    return min(max(v, -1.0), 1.0) + rng.laplace(scale=2)


def guarded_logarithm(data, rng):
    v = math.log(data[0]) if data[0] > 0.5 else 0.0
    return v + rng.laplace(scale=1)


def breaks(data, rng):
    c = 0
    for x in data:
        if x < 0:
            break
        c += 1
    return c + rng.laplace(scale=1)


def raises_in_a_branch(data, rng):
    if data[0] > 0:
        raise ValueError
    return rng.laplace()


def asserts(data, rng):
    s = 1 if data[0] > 0 else 0
    assert s == 1
    return rng.laplace()


def number_or_none(x):
    if x > 0:
        return 1
    return None


def returns_none(data, rng):
    return (number_or_none(data[0]) is None) + rng.laplace(scale=1)


def private_key(data, rng):
    return WEIGHTS[1 if data[0] > 0 else 0] + rng.laplace(scale=0.5)


def private_scale(data, rng):
    return rng.laplace(scale=1 if data[0] > 0 else 2)


def private_size(data, rng):
    return rng.laplace(size=1 if data[0] > 0 else 2)


def private_probability(data, rng):
    p = 0.9 if data[0] > 0 else 0.1
    return rng.random() < p


def private_length(data, rng):
    for _ in range(len([x for x in data if x > 0])):
        pass
    return rng.laplace()


def chosen_array(data, rng):
    a, b = np.zeros(2), np.ones(2)
    if data[0] > 0:
        c = a
    else:
        c = b
    c[0] = 5
    return a + b


def changed_array(data, rng):
    a = np.zeros(2)
    if data[0] > 0:
        a += 1
    return a


def chosen_list(data, rng):
    found = [1]
    if data[0] > 0:
        found = found
    else:
        found = [2]
    return found


def private_operand(data, rng):
    return (data[0] and 5) + rng.laplace(scale=1)


def random_operand(data, rng):
    v = 1.0 if data[0] > 0 and rng.random() < 0.5 else 0.0
    return v + rng.laplace(scale=1)


@pytest.mark.parametrize("data", [SIGNED_LIST, SIGNED], ids=["list", "array"])
@pytest.mark.parametrize(
    "program",
    [
        count_twice, count_both_ways, early_returns_bad, kept_outside, pairs, latch, first_positive,
        wrong_side, unknown_class, unknown_class_of_a_maximum, unknown_kind, inverted_truth, sum_of_truths, unbound,
        changes_a_global, counts_calls, appends_in_a_branch, counts_by_walrus, iterator_in_a_branch,
        noise_in_a_branch, draw_in_a_branch, outcome_in_a_branch, guarded_division, guarded_logarithm, breaks,
        raises_in_a_branch, asserts, returns_none, private_key, private_scale, private_size,
        private_probability, private_length, chosen_array, changed_array, chosen_list, private_operand, random_operand,
    ],
)  # fmt: skip
def test_wrong_branches_are_not_verified(program: Any, data: Any) -> None:
    """A program with too little noise, or whose branch does more than compute, is not verified."""
    proof = prove_values(program, E1, data=data)
    assert proof.verdict == "inconclusive"
    assert proof.certificate is None


def half_clipped(data, rng):
    total = 0.0
    for x in data:
        if x > 1:
            x = 1.0
        elif x < -1:
            x = 1.0 * x
        total += float(x)
    return total + rng.laplace(scale=2)


def gap(data, rng):
    total = 0.0
    for x in data:
        total += float(1.0 if x > 1 else (x if x > -1 or x < -5 else -1.0))
    return total + rng.laplace(scale=2)


@pytest.mark.parametrize("program", [half_clipped, gap])
def test_incomplete_clipping_is_not_verified(program: Any) -> None:
    """Clipping by hand that misses some numbers has no bound."""
    assert prove_values(program, E1, data=ANY).verdict == "inconclusive"


def sum_of_small_digits(data, rng):
    return sum(x if x < 3 else 0 for x in data) + rng.laplace(scale=2)


def test_a_strict_comparison_of_integers_counts_as_its_closure() -> None:
    """The limit ``x < 3`` bounds integers by 3 and not by 2, which is above the true bound but safe."""
    proof = prove_values(sum_of_small_digits, E1, data=DIGITS)
    assert (proof.verdict, str(proof.bound)) == ("inconclusive", "3/2")
