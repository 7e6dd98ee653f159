"""H 5: shown, released and returned values are numbers, text, None or symbols, at any depth."""

from __future__ import annotations

from typing import Any

from dpaudit.coins import Coins
from dpaudit.distributions import Laplace
from tests.prover.hostile.row import hostile
from tests.prover.oracle import Within

LOW = Within(high=0)


@hostile("H5", [0], [1], ["list of 1", "tuple of 2", "a", Within(0, 0)])
def record_at_depth(coins: Coins, data: Any) -> None:
    """A record inside a pair inside a list."""
    coins.reveal([("a", data[0])], site="shown")


@hostile("H5", [0], [1], ["list of 1", "list of 1", Within(0, 0)])
def returns_at_depth(coins: Coins, data: Any) -> Any:
    """The same value is returned."""
    return [[data[0]]]


@hostile("H5", [0], [1], None)
def shows_a_function(coins: Coins, data: Any) -> None:
    """A shown function closes over the record, which its caller can read."""
    coins.reveal(lambda: data[0], site="shown")


@hostile("H5", [0], [1], None)
def shows_an_iterator(coins: Coins, data: Any) -> None:
    """An iterator over the records."""
    coins.reveal(iter([data[0]]), site="shown")


@hostile("H5", [0], [1], None)
def shows_a_dictionary(coins: Coins, data: Any) -> None:
    """A dictionary with the record as a value."""
    coins.reveal({"x": data[0]}, site="shown")


@hostile("H5", [0], [1], None)
def shows_a_method(coins: Coins, data: Any) -> None:
    """A bound method of a list of records."""
    coins.reveal([data[0]].pop, site="shown")


@hostile("H5", [0], [1], None)
def returns_a_set(coins: Coins, data: Any) -> Any:
    """A set of records."""
    return {data[0]}


@hostile("H5", [0], [1], None)
def shows_the_data(coins: Coins, data: Any) -> None:
    """The data object is shown."""
    coins.reveal(data, site="shown")


@hostile("H5", [0], [1], None)
def shows_a_generator(coins: Coins, data: Any) -> None:
    """A generator over the records."""
    coins.reveal((record for record in data), site="shown")


@hostile("H5", [0], [1], ["list of 2", True, Within(0, 0)])
def shows_a_grown_list(coins: Coins, data: Any) -> None:
    """A list shown after a record was put into it."""
    kept: list[Any] = [True]
    kept.append(data[0])
    coins.reveal(kept, site="shown")


@hostile("H5", [0, 0], [1, 1], [LOW, LOW], 100.9, every=True)
def releases_before_the_loop(coins: Coins, data: Any) -> None:
    """A release before the loop has little noise, and an early version charged 0."""
    total = sum(data)
    coins.release(100 * total, Laplace(scale=2), site="before")
    for record in data:
        coins.release(record, Laplace(scale=1), site="shown")
        return


@hostile("H5", [0, 0], [1, 1], [LOW], 3.9, every=True)
def releases_after_the_loop(coins: Coins, data: Any) -> None:
    """A release after the loop: two changes at scale 1/2."""
    total = 0
    for record in data:
        total = total + record
    coins.release(total, Laplace(scale="1/2"), site="sum")


@hostile("H5", [0, 0], [1, 1], [LOW, LOW], 99, every=True)
def scale_falls(coins: Coins, data: Any) -> None:
    """The scale is not constant: 1, then 1/100."""
    scale = 1.0
    for record in data:
        coins.release(record, Laplace(scale=scale), site="shown")
        scale = scale / 100
