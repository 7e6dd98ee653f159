"""H 1 to H 7, every N: forgotten state, steps of another loop, changing distributions and lists."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from dpaudit.coins import Coins
from dpaudit.distributions import Bernoulli, Laplace
from tests.prover.hostile.row import ONE_REPLACED, ONE_WAY, hostile
from tests.prover.oracle import ANY, Within

LOW = Within(high=0)
ONE: dict[str, Any] = {"adjacency": ONE_REPLACED, "low": 0, "high": 1}


@hostile("H3", [0], [1], [Within(low=1), Within(0, 0)], every=True)
def raw_in_the_first_of_two_loops(coins: Coins, data: Any) -> None:
    """Two loops in two branches: a step of the second, from a state of the first, would show nothing raw."""
    if coins.release(0, Laplace(scale=1), site="coin") > 0:
        for record in data:
            coins.reveal(record + 0, site="shown")
    else:
        for _ in data:
            coins.reveal("a", site="shown")


@hostile("H3", [0], [1], [Within(high=-1), Within(0, 0)], every=True)
def raw_in_the_second_of_two_loops(coins: Coins, data: Any) -> None:
    """The same two loops in the opposite order."""
    if coins.release(0, Laplace(scale=1), site="coin") > 0:
        for _ in data:
            coins.reveal("a", site="shown")
    else:
        for record in data:
            coins.reveal(record + 0, site="shown")


def shows_all(coins: Coins, data: Any) -> None:
    """Show all data in a helper's loop."""
    for record in data:
        coins.reveal(record + 0, site="shown")


@hostile("H3", [0, 0], [1, 1], [Within(0, 0), Within(0, 0)], every=True)
def loop_in_a_helper(coins: Coins, data: Any) -> None:
    """The frame that requests a record is not the program's."""
    shows_all(coins, data)


@hostile("H3", [0, 0, 0], [1, 1, 1], [LOW] * 3, 2.9, every=True)
def calls_itself(coins: Coins, data: Any, depth: int = 0) -> None:
    """The frame that requests a record has the program's code, but another frame calls it."""
    if depth == 0:
        calls_itself(coins, data, 1)
        return
    for record in data:
        coins.release(record, Laplace(scale=1), site="shown")


@hostile("H1", [0, 0], [1, 1], [LOW, LOW], 1.9, every=True)
def coins_bound_by_the_loop(coins: Coins, data: Any) -> None:
    """The loop binds the name of the coins to each record, so that a release there has no coins."""
    release = coins.release
    for coins in data:
        release(coins, Laplace(scale=1), site="shown")


@hostile("H1", [0, 0], [0, 1], [ANY, LOW], 99.0, every=True, **ONE)
def distribution_that_changes(coins: Coins, data: Any) -> None:
    """From the first record on the scale is 1/100, which a state must record."""
    noise = Laplace(scale=100)
    for record in data:
        coins.release(record, noise, site="shown")
        noise = Laplace(scale=Fraction(1, 100))


def _keeps_in_a_cell() -> Callable[[Coins, Any], None]:
    count = 0

    def program(coins: Coins, data: Any) -> None:
        """The count is in a cell of an enclosing function, which is not among the frame's locals."""
        nonlocal count
        count = 0
        for record in data:
            if count < 5:
                coins.release(record, Laplace(scale=1), site="shown")
            count += 1

    return program


keeps_in_a_cell = hostile("H1", [0, 0], [1, 1], [LOW, LOW], 1.9, every=True)(_keeps_in_a_cell())


@hostile("H5", [0, 0], [1, 0], ["list of 1", ANY, "list of 1", Within(0, 0)], every=True)
def shows_a_list_and_fills_it(coins: Coins, data: Any) -> None:
    """A shown list is kept, and later gets the record."""
    shown: list[Any] = [0]
    for record in data:
        coins.reveal(shown, site="shown")
        shown[0] = record + 0


@hostile("H6", [0] * 7, [1] * 7, [*[ANY] * 7, Within(0, 0)], every=True)
def record_appended_late(coins: Coins, data: Any) -> None:
    """A list of public values gets a record, and its last entry is returned."""
    seen: list[Any] = []
    last: Any = 0
    for record in data:
        coins.release(0, Laplace(scale=1), site="noise")
        last = record + 0
        seen.append(1)
    coins.reveal(last, site="last")


@hostile("H4", [0, 0], [1, 1], [Within(0, "1/10"), "up"] * 2, every=True)
def public_limit_for_records(coins: Coins, data: Any) -> None:
    """An outcome is equal on both inputs, but the value compared with it is not."""
    for record in data:
        outcome = coins.release(0, Laplace(scale=1), site="outcome")
        coins.reveal("up" if record < outcome + Fraction(1, 2) else "down", site="shown")


@hostile("H4", [0, 0], [1, 1], [ANY, Within(0, 0)] * 2, every=True, adjacency=ONE_WAY)
def public_part_taken_off(coins: Coins, data: Any) -> None:
    """The outcome is added to the record and subtracted again."""
    for record in data:
        outcome = coins.release(0, Laplace(scale=1), site="outcome")
        coins.reveal(outcome + record - outcome, site="shown")


@hostile("H7", [0] * 2, [1] * 2, [ANY, Within(0, 0)], every=True)
def state_of_a_hidden_coin(coins: Coins, data: Any) -> None:
    """A hidden coin before the loop gives more states than the first path has."""
    coin = coins.draw(Bernoulli(p="1/2"), site="coin")
    for record in data:
        coins.release(0, Laplace(scale=1), site="noise")
        if coin == 1:
            coins.reveal(record + 0, site="raw")
            return
