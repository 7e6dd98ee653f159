"""Shuffled messages with noise, and shifts of public integers, in proofs of programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpaudit import Interval, PureDP, Records, ZeroConcentratedDP, distributions
from dpaudit.core.views import EVERYBODY_ELSE
from dpaudit.distributions import Gaussian, Laplace, Shuffle
from dpaudit.prover.values.prove import prove_values

ONE = Records(Interval(0, 1), size=3)
ROWS = Records(Interval(0, 1), width=2, size=3)


def shuffled(coins: Any, data: Any) -> Any:
    return coins.aggregate([Laplace(scale=1).shift(x) for x in data], Shuffle(), site="list")


def shuffled_rows(coins: Any, data: Any) -> Any:
    noise = Gaussian(variance=1)
    sent = coins.aggregate([noise.shift(row) for row in data], Shuffle(), site="list")
    total = sent[0]
    for row in sent[1:]:
        total = total + row
    return total


def one_is_shifted(coins: Any, data: Any) -> Any:
    """Let public values be sent as well."""
    noise = Laplace(scale=1)
    return coins.aggregate([noise.shift(data[0]), noise.shift(0.5)], Shuffle(), site="list")


def twice(coins: Any, data: Any) -> Any:
    return [shuffled(coins, data), shuffled(coins, data)]


def half(coins: Any, data: Any) -> Any:
    return coins.aggregate([Laplace(scale="1/2").shift(x) for x in data], Shuffle(), site="list")


def everybody_sends_the_first(coins: Any, data: Any) -> Any:
    return coins.aggregate([Laplace(scale=1).shift(data[0]) for x in data], Shuffle(), site="list")


def totals(coins: Any, data: Any) -> Any:
    return coins.aggregate([Laplace(scale=1).shift(data.sum()) for x in data], Shuffle(), site="list")


def doubled(coins: Any, data: Any) -> Any:
    return coins.aggregate([Laplace(scale=1).shift(2 * x) for x in data], Shuffle(), site="list")


def two_scales(coins: Any, data: Any) -> Any:
    noises = [Laplace(scale=1), Laplace(scale=1), Laplace(scale="1/4")]
    return coins.aggregate([a.shift(x) for a, x in zip(noises, data)], Shuffle(), site="list")  # noqa: B905


def two_families(coins: Any, data: Any) -> Any:
    noises = [Laplace(scale=1), Laplace(scale=1), Gaussian(variance=1)]
    return coins.aggregate([a.shift(x) for a, x in zip(noises, data)], Shuffle(), site="list")  # noqa: B905


def scaled_by_an_outcome(coins: Any, data: Any) -> Any:
    scale = max(float(coins.release(data[0], Laplace(scale=1), site="first")), 0.01)
    return coins.aggregate([Laplace(scale=scale).shift(x) for x in data], Shuffle(), site="list")


def without_noise(coins: Any, data: Any) -> Any:
    return coins.aggregate(list(data), Shuffle(), site="list")


def branch_on_data(coins: Any, data: Any) -> Any:
    return shuffled(coins, data if data[0] > 0.5 else 1 - data)


def number_of_messages(coins: Any, data: Any) -> Any:
    return coins.aggregate([Laplace(scale=1).shift(x) for x in data[data > 0.5]], Shuffle(), site="list")


def sorted_by_entry(coins: Any, data: Any) -> Any:
    return coins.aggregate([Laplace(scale=1).shift(x) for x in data], Shuffle(row_ndim=1), site="list")


def shown_besides(coins: Any, data: Any) -> Any:
    coins.reveal(float(data[0]), site="raw")
    return shuffled(coins, data)


def sum_shown(coins: Any, data: Any) -> Any:
    return shuffled(coins, data) - data.sum()


def largest_at_its_place(coins: Any, data: Any) -> Any:
    """Show the message and what it was made of."""
    sent = shuffled(coins, data)
    return sent[0] - data[0]


def test_shuffled_numbers_cost_a_message() -> None:
    """A record has one message, so its cost is that of the message."""
    found = prove_values(shuffled, PureDP(epsilon=1), data=ONE)
    assert found.verdict == "verified"
    assert found.bound == 1


def test_shuffled_rows_cost_a_row() -> None:
    """A row of two numbers moves by 2 squared at most, so rho is 1."""
    found = prove_values(shuffled_rows, ZeroConcentratedDP(rho=1), data=ROWS)
    assert found.verdict == "verified"
    assert found.bound == 1
    assert prove_values(shuffled_rows, ZeroConcentratedDP(rho="99/100"), data=ROWS).verdict != "verified"


def test_public_messages_cost_nothing() -> None:
    """A list of a private and a public message costs the private one."""
    assert prove_values(one_is_shifted, PureDP(epsilon=1), data=ONE).bound == 1


@pytest.mark.parametrize(
    ("program", "bound"), [(twice, 2), (half, 2), (everybody_sends_the_first, 3), (totals, 3), (doubled, 2)]
)
def test_wrong_lists_cost_more(program: Any, bound: int) -> None:
    """Each list that is released twice, has less noise or more of a record has its own larger bound."""
    found = prove_values(program, PureDP(epsilon=1), data=ONE)
    assert found.verdict != "verified"
    assert found.bound == bound


@pytest.mark.parametrize(
    "program",
    [
        two_scales, two_families, scaled_by_an_outcome, without_noise, branch_on_data, number_of_messages,
        sorted_by_entry, shown_besides, sum_shown, largest_at_its_place,
    ],
)  # fmt: skip
def test_other_lists_are_not_verified(program: Any) -> None:
    """Unequal noise, no noise, private branches and lengths, and raw data are not verified."""
    assert prove_values(program, PureDP(epsilon=1), data=ONE).verdict != "verified"
    assert prove_values(program, PureDP(epsilon=1, view=EVERYBODY_ELSE), data=ONE).verdict != "verified"


def test_the_value_is_the_list_of_the_coins() -> None:
    """A message that is at least as large as all sorted ones is the last one of the real list."""
    rng = np.random.default_rng(1)
    parts = [distributions.Laplace(scale=1).shift(x) for x in (0.0, 1.0, 0.5)]
    found = Shuffle().sample(parts, rng)
    assert found.shape == (3,)
    assert (np.diff(found) >= 0).all()


def by_shift(coins: Any, data: Any) -> Any:
    level = (6 & -6).bit_length()
    return coins.release(data[0] * (1 << level >> 2), Laplace(scale=1), site="x")


def private_shift(coins: Any, data: Any) -> Any:
    return 1 << int(data[0] * 3)


def private_length(coins: Any, data: Any) -> Any:
    return int(data[0] * 3).bit_length()


def test_shifts_are_of_public_integers() -> None:
    """1 << 2 >> 2 is 1. A private shift, and the length of a private integer, are refused."""
    assert prove_values(by_shift, PureDP(epsilon=1), data=ONE).bound == 1
    for program in (private_shift, private_length):
        assert prove_values(program, PureDP(epsilon=1), data=ONE).verdict != "verified"


def methods_in_a_branch(coins: Any, data: Any) -> Any:
    row = data[0]
    found = row.max() if row[0] > 0.5 else row.min()
    return coins.release(found, Laplace(scale=1), site="x")


def test_methods_may_be_called_in_a_private_branch() -> None:
    """The largest or the smallest entry is in [0, 1], so it costs 1."""
    assert prove_values(methods_in_a_branch, PureDP(epsilon=1), data=ROWS).bound == 1
    assert prove_values(methods_in_a_branch, PureDP(epsilon="1/2"), data=ROWS).verdict != "verified"
