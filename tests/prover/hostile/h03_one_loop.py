"""H 3: the loop over the data is entered once, and each record is delivered once."""

from __future__ import annotations

from typing import Any

from dpaudit.coins import Coins
from dpaudit.distributions import Laplace
from tests.prover.hostile.row import ONE_REPLACED, hostile
from tests.prover.oracle import Within

LOW = Within(high=0)
ONE: dict[str, Any] = {"adjacency": ONE_REPLACED, "low": 0, "high": 1}


@hostile("H3", [0, 0], [1, 0], [LOW] * 20, 9.9, every=True, **ONE)
def reads_ten_times(coins: Coins, data: Any) -> None:
    """Data that can be read again are charged once and read ten times: proved 1, true 10."""
    for _ in range(10):
        for record in data:
            coins.release(record, Laplace(scale=1), site="shown")


@hostile("H3", [0, 0], [1, 0], [LOW] * 4, 1.9, every=True, **ONE)
def two_loops(coins: Coins, data: Any) -> None:
    """Two loops one after the other."""
    for record in data:
        coins.release(record, Laplace(scale=1), site="first")
    for record in data:
        coins.release(record, Laplace(scale=1), site="second")


@hostile("H3", [0, 0], [1, 0], [LOW] * 6, 2.9, every=True, **ONE)
def while_around_the_loop(coins: Coins, data: Any) -> None:
    """A while loop around the loop."""
    rounds = 0
    while rounds < 3:
        for record in data:
            coins.release(record, Laplace(scale=1), site="shown")
        rounds += 1


@hostile("H3", [0, 0], [1, 0], [LOW] * 2, 1.9, every=True, **ONE)
def zips_the_data_with_itself(coins: Coins, data: Any) -> None:
    """Each record delivered twice at once."""
    for one, two in zip(data, data, strict=True):
        coins.release(one + two, Laplace(scale=1), site="shown")


@hostile("H3", [0, 0], [1, 0], [LOW, LOW, LOW], 1.9, every=True, **ONE)
def sums_before_the_loop(coins: Coins, data: Any) -> None:
    """A sum of all records before the loop."""
    coins.release(sum(data), Laplace(scale=1), site="sum")
    for record in data:
        coins.release(record, Laplace(scale=1), site="shown")


@hostile("H3", [0, 0], [1, 0], [LOW, LOW, LOW], 1.9, every=True, **ONE)
def indexes_before_the_loop(coins: Coins, data: Any) -> None:
    """The first record before the loop."""
    coins.release(data[0], Laplace(scale=1), site="first")
    for record in data:
        coins.release(record, Laplace(scale=1), site="shown")


@hostile("H3", [0, 0], [1, 0], [LOW, LOW, LOW, LOW], 1.9, every=True, **ONE)
def comprehension_and_loop(coins: Coins, data: Any) -> None:
    """A comprehension over the data, and a loop."""
    values = [record + 0 for record in data]
    for record in data:
        coins.release(record, Laplace(scale=1), site="shown")
    for value in values:
        coins.release(value, Laplace(scale=1), site="again")


@hostile("H3", [0, 0], [1, 0], [LOW, LOW, LOW], 1.9, every=True, **ONE)
def last_record_after_the_loop(coins: Coins, data: Any) -> None:
    """The loop variable remains after the loop, here with all records in a sum."""
    total = 0
    for record in data:
        coins.release(record, Laplace(scale=1), site="shown")
        total = total + record
    coins.release(total, Laplace(scale=1), site="sum")


@hostile("H3", [0, 0, 0], [1, 1, 1], [LOW] * 3, 2.9, every=True)
def enumerates(coins: Coins, data: Any) -> None:
    """enumerate keeps its position on the stack, so that every step would have the first record."""
    for i, record in enumerate(data):
        if i < 5:
            coins.release(record, Laplace(scale=1), site="shown")


@hostile("H3", [0, 0, 0], [1, 1, 1], [LOW] * 3, 2.9, every=True)
def iterates_by_hand(coins: Coins, data: Any) -> None:
    """next on an iterator of the data."""
    records = iter(data)
    left = 3
    while left > 0:
        coins.release(next(records), Laplace(scale=1), site="shown")
        left -= 1


@hostile("H3", [0, 0, 0], [0, 0, 1], [Within(0, 0)], every=True)
def reversed_data(coins: Coins, data: Any) -> None:
    """The last record first."""
    for record in reversed(data):
        coins.reveal(record + 0, site="shown")
        return
