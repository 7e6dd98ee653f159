"""Programs whose records are users, each of whom enters several releases or several places of a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from audits.distributed_mab.returning_programs import GROWTH, HORIZON, SCHEDULE, USERS, returning_program
from dpaudit.core.claims import PureDP
from dpaudit.core.data import Integers, Records
from dpaudit.core.views import SERVER, View
from dpaudit.distributions import DiscreteLaplace
from dpaudit.reference.algorithms.mab.batched_elimination import batch_lengths
from dpaudit.reference.algorithms.mab.distributed_elimination import strategy, variant
from tests.followed import proof_of

NOISE = DiscreteLaplace(scale=1)
BITS = Records(Integers(0, 1), size=6)


def verdict(of: Callable[..., Any], epsilon: int | str, data: Records = BITS) -> str:
    return str(proof_of(of, PureDP(epsilon=epsilon), data).verdict)


def over(places: Sequence[int], change: Callable[[Any], Any] = lambda a: a) -> Callable[..., Any]:
    """Return a program that releases the sum of the list of the records at ``places``."""

    def program(coins: Any, data: Any) -> Any:
        picked = change(np.array([data[k] for k in places]))
        total = 0
        for x in picked.tolist():
            total += x
        return coins.release(total, NOISE, site="sum")

    return program


def two_sums(coins: Any, data: Any) -> Any:
    first = np.array([data[k] for k in (2, 0)]).tolist()
    second = np.array([data[k] for k in (5, 2, 4)]).tolist()
    one = coins.release(first[0] + first[1], NOISE, site="one")
    return one, coins.release(second[0] + second[1] + second[2], NOISE, site="two")


def parts_of_one_list(coins: Any, data: Any) -> Any:
    picked = np.array([data[k] for k in (2, 0, 5, 4)]).tolist()
    one = coins.release(picked[0] + picked[1], NOISE, site="one")
    return one, coins.release(picked[2] + picked[3], NOISE, site="two")


def changed_in_place(coins: Any, data: Any) -> Any:
    picked = np.array([data[k] for k in (2, 0, 5, 4)])
    picked += data[1]
    return coins.release(sum(picked.tolist()), NOISE, site="sum")


def overwritten(coins: Any, data: Any) -> Any:
    picked = np.array([data[0], data[1]])
    picked[1] = data[0]
    first, second = picked.tolist()
    return coins.release(first + second, NOISE, site="sum")


def truncated(coins: Any, data: Any) -> Any:
    picked = np.array([data[0] * 1.9, data[1] * 1.9], dtype=np.int64)
    first, second = picked.tolist()
    return coins.release(first + second, NOISE, site="sum")


@pytest.mark.parametrize(
    ("program", "needed"),
    [
        (over([3, 1, 5]), 1),
        (over([3, 1, 3]), 2),
        (over([3, 3, 3]), 3),
        (over([0, 1, 2, 3, 4, 5, 0]), 2),
        (over([3, 1, 5], lambda a: 2 * a), 2),
        (over([3, 1, 3, 2], lambda a: a[1:]), 1),
        (over([3, 1, 3, 2], lambda a: a[::2]), 2),
        (over([3, 1, 5], lambda a: np.cumsum(a)), 3),
        (two_sums, 2),
        (parts_of_one_list, 1),
    ],
    ids=["apart", "twice", "thrice", "all", "doubled", "tail", "step", "cumsum", "two sums", "parts"],
)
def test_lists_of_picked_records(program: Callable[..., Any], needed: int) -> None:
    """The bound counts how often one record enters, and no claim below the true loss is proved."""
    assert verdict(program, f"{100 * needed - 1}/100") != "verified"


@pytest.mark.parametrize(
    ("program", "needed"),
    [
        (over([3, 1, 5]), 1),
        (over([3, 1, 3]), 2),
        (over([3, 3, 3]), 3),
        (over([0, 1, 2, 3, 4, 5, 0]), 2),
        (two_sums, 2),
        (parts_of_one_list, 1),
    ],
    ids=["apart", "twice", "thrice", "all", "two sums", "parts"],
)
def test_bounds_of_lists_are_exact(program: Callable[..., Any], needed: int) -> None:
    """The list of an array of picked records is proved at its true loss."""
    assert verdict(program, needed) == "verified"


@pytest.mark.parametrize(
    ("program", "loss"),
    [(changed_in_place, 4), (overwritten, 2), (truncated, 1)],
    ids=["changed", "overwritten", "truncated"],
)
def test_changed_arrays_are_not_their_parts(program: Callable[..., Any], loss: int) -> None:
    """An array that is changed after it was made, or has another type than its parts, has other entries."""
    assert verdict(program, f"{100 * loss - 1}/100") != "verified"


def protocol(schedule: Sequence[int], *, epsilon: int = 1) -> Callable[..., Any]:
    lengths = batch_lengths(HORIZON, growth=GROWTH)
    chosen = variant("dist_dp_se", epsilon=epsilon, failure_prob=f"1/{HORIZON}").prepared(lengths)
    return returning_program(strategy(chosen, growth=GROWTH, grid=1), schedule)


TWICE_IN_ONE_BATCH = (0, 0, *SCHEDULE[2:])


@pytest.mark.sample(1, each=("expected",))
@pytest.mark.parametrize(
    ("schedule", "noise", "claimed", "expected"),
    [
        (SCHEDULE, 1, "2", "verified"),
        (SCHEDULE, 1, "199/100", "inconclusive"),
        (SCHEDULE, 2, "2", "inconclusive"),
        (TWICE_IN_ONE_BATCH, 1, "2", "inconclusive"),
        (TWICE_IN_ONE_BATCH, 1, "3", "verified"),
    ],
    ids=["right", "below", "half the noise", "twice in a batch", "three times"],
)
def test_returning_users(schedule: Sequence[int], noise: int, claimed: str, expected: str) -> None:
    """Users in two batches have 2ε: not less, nor with half of the noise, nor if one plays three times."""
    claim = PureDP(epsilon=claimed, view=View.of(SERVER))
    of = protocol(schedule, epsilon=noise)
    assert proof_of(of, claim, USERS).verdict == expected
