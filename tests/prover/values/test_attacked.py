"""Programs that attackers of the tool found: none is verified, and right ones are not refuted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpaudit.auditing import audit
from dpaudit.core.claims import PureDP
from dpaudit.core.data import EVERY, Integers, Interval, Records, Table
from dpaudit.core.views import EVERYBODY_ELSE, SERVER, View, user
from dpaudit.distributions import Laplace
from dpaudit.prover.values.prove import prove_values

UNIT = Records(Interval(0, 1), size=3)


def list_of_chances(data: Any, rng: Any) -> Any:
    return rng.choice(2, p=[data[0], 1 - data[0]])


def tuple_of_chances(data: Any, rng: Any) -> Any:
    x = np.clip(data[0], 0.1, 0.9)
    return rng.choice(2, p=(x, 1 - x))


def listed_by_a_loop(data: Any, rng: Any) -> Any:
    chances = [(1 + x) / 10 for x in data]
    return rng.choice(5, p=[*chances, 1 - sum(chances)])


def one_private_chance(data: Any, rng: Any) -> Any:
    x = data.mean() / 2
    return rng.choice([5, 6, 7], p=[0.5, x, 0.5 - x])


def several_choices(data: Any, rng: Any) -> Any:
    return rng.choice(2, p=[data[0], 1 - data[0]], size=3)


@pytest.mark.parametrize(
    "program", [list_of_chances, tuple_of_chances, listed_by_a_loop, one_private_chance, several_choices]
)
@pytest.mark.parametrize("size", [4, EVERY])
def test_private_probabilities_in_a_list_are_not_public(program: Callable[..., Any], size: Any) -> None:
    """A choice whose probabilities hold private numbers is no public randomness."""
    data = Records(Integers(0, 1), size=size)
    assert prove_values(program, PureDP(epsilon=9), data=data).verdict == "inconclusive"


def only_to_the_server(coins: Any, data: Any) -> None:
    coins.release(data.sum(), Laplace(scale=1), site="a", to=SERVER)


def less_to_the_public(coins: Any, data: Any) -> Any:
    coins.release(data.sum(), Laplace(scale=1), site="a", to=SERVER)
    return coins.release(data.sum(), Laplace(scale=2), site="b")


def own_noisy_record(coins: Any, data: Any) -> None:
    for k in range(3):
        coins.release(data[k], Laplace(scale=1), site="a", to=user(k))


def revealed_to_the_server(coins: Any, data: Any) -> Any:
    coins.reveal(data.sum(), site="a", to=SERVER)
    return coins.release(data.sum(), Laplace(scale=2), site="b")


def revealed_and_sorted(coins: Any, data: Any) -> Any:
    coins.reveal(data.sum(), site="a", to=SERVER)
    return coins.release(sum(sorted(data)), Laplace(scale=2), site="b")


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("program", "claim"),
    [
        (only_to_the_server, PureDP(epsilon="1/2")),
        (less_to_the_public, PureDP(epsilon="1/2")),
        (only_to_the_server, PureDP(epsilon="1/2", view=View.of(user(0)))),
        (own_noisy_record, PureDP(epsilon="1/2", view=EVERYBODY_ELSE)),
        (revealed_to_the_server, PureDP(epsilon="1/2")),
        (revealed_and_sorted, PureDP(epsilon="1/2")),
    ],
)
def test_what_the_view_does_not_see_refutes_nothing(program: Callable[..., Any], claim: Any) -> None:
    """An attack and a counterexample compare only what the claim's view sees."""
    assert audit(program, claim, data=UNIT, seconds=10).verdict != "refuted"


def test_what_the_view_sees_refutes() -> None:
    """Twice the loss is refuted in the public view."""

    def public(coins: Any, data: Any) -> None:
        coins.release(data.sum(), Laplace(scale=1), site="a")

    assert audit(public, PureDP(epsilon="1/2"), data=UNIT, seconds=10).verdict == "refuted"


def always_raising(data: Any, rng: Any) -> Any:
    if data.ndim != 2:
        raise ValueError("data must be rows.")
    return data.sum() + rng.laplace()


def test_a_program_that_only_raises_is_not_proved() -> None:
    """A declaration that does not fit the program proves nothing, and says what was raised."""
    proof = prove_values(always_raising, PureDP(epsilon=1), data=UNIT)
    assert proof.verdict == "inconclusive"
    assert "data must be rows" in proof.reason


ROWS = Records(Interval(0, 1), size=3, width=2)


def rows_in_a_loop(data: Any, rng: Any) -> Any:
    x = data.copy()
    for row in x:
        row *= 5
    return x.sum(axis=0) + rng.laplace(scale=2, size=2)


def a_row_by_index(data: Any, rng: Any) -> Any:
    x = data.copy()
    row = x[0]
    row *= 5
    return x.sum(axis=0) + rng.laplace(scale=2, size=2)


def unpacked_rows(data: Any, rng: Any) -> Any:
    x = np.clip(data, 0, 1)
    first, *_ = x
    first *= 5
    return x.sum(axis=0) + rng.laplace(scale=2, size=2)


def rows_in_a_list(data: Any, rng: Any) -> Any:
    x = data.copy()
    rows = list(x[::-1])
    rows[0] *= 5
    return x.sum(axis=0) + rng.laplace(scale=2, size=2)


def rows_as_arguments(data: Any, rng: Any) -> Any:
    x = data.copy()

    def scale(first: Any, second: Any, third: Any) -> None:
        first *= 5

    scale(*x)
    return x.sum(axis=0) + rng.laplace(scale=2, size=2)


@pytest.mark.parametrize(
    "program", [rows_in_a_loop, a_row_by_index, unpacked_rows, rows_in_a_list, rows_as_arguments]
)
def test_a_row_shares_the_memory_of_its_array(program: Callable[..., Any]) -> None:
    """A row that is changed in place changes its array, so such a program is not proved."""
    assert prove_values(program, PureDP(epsilon=1), data=ROWS).verdict == "inconclusive"


def column_in_place(data: Any, rng: Any) -> Any:
    x = data["a"]
    x *= 5
    return data["a"].sum() + rng.laplace()


def part_of_a_noisy_array(data: Any, rng: Any) -> Any:
    y = data + rng.laplace(size=3)
    z = y[0:1]
    z += 9 * data[0]
    return y


def test_a_column_or_a_part_of_a_noisy_array_is_changed_in_place() -> None:
    """Whether a column of a data frame is a copy depends on pandas, and a part of an outcome is none."""
    frame = Table({"a": Interval(0, 1)}, size=3, container="frame")
    assert prove_values(column_in_place, PureDP(epsilon=1), data=frame).verdict == "inconclusive"
    assert prove_values(part_of_a_noisy_array, PureDP(epsilon=1), data=UNIT).verdict == "inconclusive"


def part_kept_before_a_change(data: Any, rng: Any) -> Any:
    y = data + rng.laplace(size=3)
    z = y[:1]
    y[0] = data[0]
    return z


def part_changed_in_a_helper(data: Any, rng: Any) -> Any:
    y = data + rng.laplace(size=3)

    def change(v: Any) -> None:
        v[0] = data[0]

    change(y[1:])
    return y


def infinities_that_cancel(data: Any, rng: Any) -> Any:
    y = float(data[0] + rng.laplace())
    z = y * float("inf") - y * float("inf")
    if z > 0:
        return 1
    if not z > 0 and not z <= 0:
        return data[1]
    return 0


@pytest.mark.parametrize(
    "program", [part_kept_before_a_change, part_changed_in_a_helper, infinities_that_cancel]
)
def test_shared_parts_and_infinities(program: Callable[..., Any]) -> None:
    """Parts share memory in both directions, and an infinity may become NaN, which equals nothing."""
    assert prove_values(program, PureDP(epsilon=1), data=UNIT).verdict == "inconclusive"
