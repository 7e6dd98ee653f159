"""H 1: at the head of the loop all state is in the frame, each list under one name."""

from __future__ import annotations

from typing import Any

from dpaudit.coins import Coins
from dpaudit.distributions import Laplace
from tests.prover.hostile.row import hostile
from tests.prover.oracle import Within

LOW = Within(high=0)
_SEEN: list[Any] = []


@hostile("H1", [0, 0, 0], [1, 1, 1], [LOW, LOW, LOW], 2.9, every=True)
def counts_on_a_function(coins: Coins, data: Any) -> None:
    """An attribute of a function keeps its value from before the loop in each step."""
    marks = counts_on_a_function
    marks.done = 0  # type: ignore[attr-defined]
    for record in data:
        if marks.done < 3:  # type: ignore[attr-defined]
            coins.release(record, Laplace(scale=1), site="shown")
        marks.done += 1  # type: ignore[attr-defined]


@hostile("H1", [0, 0], [1, 1], [LOW, LOW], 1.9, every=True)
def counts_in_a_default(coins: Coins, data: Any, used: Any = None) -> None:
    """A default could share a list of the frame. The list grows, but is short in every single step."""
    used = [] if used is None else used
    for record in data:
        if len(used) < 5:
            coins.release(record, Laplace(scale=1), site="shown")
        used.append(1)


@hostile("H1", [0, 0], [1, 1], [LOW, LOW], 1.9, every=True)
def counts_in_a_global_list(coins: Coins, data: Any) -> None:
    """A global list is not a local."""
    _SEEN.clear()
    for record in data:
        if len(_SEEN) < 5:
            coins.release(record, Laplace(scale=1), site="shown")
        _SEEN.append(1)


@hostile("H1", [0, 0], [1, 1], [LOW, LOW], 1.9, every=True)
def counts_in_a_closure(coins: Coins, data: Any) -> None:
    """State in a cell of an inner function."""
    count = 0

    def once() -> bool:
        nonlocal count
        count += 1
        return count < 5

    for record in data:
        if once():
            coins.release(record, Laplace(scale=1), site="shown")


@hostile("H1", [0, 0], [1, 1], [LOW, LOW], 1.9, every=True)
def two_names_for_one_list(coins: Coins, data: Any) -> None:
    """A list has two names, and a copy for each would count separately."""
    one = [0]
    two = one
    for record in data:
        if two[0] < 5:
            coins.release(record, Laplace(scale=1), site="shown")
        one[0] = two[0] + 1


@hostile("H1", [0, 0], [1, 1], [LOW, LOW], 1.9, every=True)
def one_list_inside_another(coins: Coins, data: Any) -> None:
    """One list reached twice at some depth."""
    inner = [0]
    outer = [[inner], inner]
    for record in data:
        if outer[1][0] < 5:
            coins.release(record, Laplace(scale=1), site="shown")
        outer[0][0][0] += 1  # type: ignore[index]


@hostile("H1", [0, 0], [1, 1], [LOW, LOW], 1.9, every=True)
def second_name_for_the_coins(coins: Coins, data: Any) -> None:
    """The coins under another name."""
    others = coins
    for record in data:
        others.release(record, Laplace(scale=1), site="shown")


@hostile("H1", [0, 0], [1, 1], [Within(0, 0), Within(0, 0)], every=True)
def second_name_for_the_data(coins: Coins, data: Any) -> None:
    """The data have another name and are read during the loop."""
    others = data
    i = 0
    for record in data:
        coins.reveal(others[i] + 0 * record, site="shown")
        i += 1  # noqa: SIM113


@hostile("H1", [0, 0], [1, 1], [LOW, LOW], 1.9, every=True)
def data_rebound(coins: Coins, data: Any) -> None:
    """The data argument bound to a list of the same records."""
    data = list(data)
    for record in data:
        coins.release(record, Laplace(scale=1), site="shown")


class Tally(int):
    """A number that has none of the plain types."""


@hostile("H1", [0, 0], [1, 1], [LOW, LOW], 1.9, every=True)
def subclass_of_a_number(coins: Coins, data: Any) -> None:
    """The counter has a special type."""
    done = Tally(0)
    for record in data:
        if done < 5:
            coins.release(record, Laplace(scale=1), site="shown")
        done = Tally(done + 1)


@hostile("H1", [0, 0, 0], [1, 0, 0], ["fresh", Within(0, 0), Within(0, 0)], every=True)
def unbound_name(coins: Coins, data: Any) -> None:
    """A name that is unbound in a state must be unbound. Here it is bound from the first record on."""
    for record in data:
        if "kept" in dir():
            coins.reveal(kept, site="shown")  # noqa: F821
        else:
            coins.reveal("fresh", site="shown")
        kept = record  # noqa: F841


@hostile("H1", [0, 0], [1, 0], [LOW, LOW, LOW], 1.9, every=True)
def carries_a_record(coins: Coins, data: Any) -> None:
    """The last record is released again with the next record, and each release is charged."""
    last = 0
    for record in data:
        coins.release(record, Laplace(scale=1), site="shown")
        last = last + record
    coins.release(last, Laplace(scale=1), site="last")


@hostile("H1", [0, 0], [1, 1], [LOW, LOW], 1.9, every=True)
def counts_on_the_coins(coins: Coins, data: Any) -> None:
    """An attribute stored on the coins."""
    coins.mark = 0  # type: ignore[attr-defined]
    for record in data:
        if coins.mark < 5:  # type: ignore[attr-defined]
            coins.release(record, Laplace(scale=1), site="shown")
        coins.mark += 1  # type: ignore[attr-defined]


@hostile("H1", [0, 0], [1, 1], [LOW, LOW], 1.9, every=True)
def iterator_beside_the_data(coins: Coins, data: Any) -> None:
    """An iterator has a position that no copy of the frame contains."""
    places = iter([True] * 5)
    for record in data:
        if next(places, False):
            coins.release(record, Laplace(scale=1), site="shown")
