"""H 9 and H 10, every N: vertices of whole records, and exact costs around every cycle of states."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dpaudit.coins import Coins
from dpaudit.distributions import Laplace
from tests.prover.hostile.row import ONE_REPLACED, ONE_WAY, hostile
from tests.prover.oracle import Within

LOW = Within(high=0)


@hostile("H9", [(0, 0)], [(1, 0)], [Within(0, 0)], every=True, width=2, adjacency=ONE_WAY)
def difference_inside_a_record(coins: Coins, data: Any) -> None:
    """r[0] - r[1] is unchanged only if all coordinates change equally."""
    for record in data:
        coins.reveal(record[0] - record[1], site="shown")


@hostile("H9", [(0, 0)], [(1, -1)], [LOW], 1.9, every=True, width=2)
def difference_released_from_a_record(coins: Coins, data: Any) -> None:
    """r[0] - r[1] changes by 2."""
    for record in data:
        coins.release(record[0] - record[1], Laplace(scale=1), site="shown")
        return


@hostile("H9", [(0, 1)], [(1, 0)], [LOW], 1.9, every=True, width=2, adjacency=ONE_REPLACED, low=0, high=1)
def difference_of_a_replaced_record(coins: Coins, data: Any) -> None:
    """The same for one replaced record in the unit square."""
    for record in data:
        coins.release(record[0] - record[1] + 1, Laplace(scale=1), site="shown")


@hostile("H9", [(0, 0, 0)], [(1, -1, 1)], [LOW], 2.9, every=True, width=3)
def three_coordinates(coins: Coins, data: Any) -> None:
    """All sign patterns of three coordinates."""
    for record in data:
        coins.release(record[0] - record[1] + record[2], Laplace(scale=1), site="shown")
        return


@hostile("H9", [0], [1], [LOW], 0.99, every=True, adjacency=ONE_WAY, claim="1/2")
def one_way_still_moves(coins: Coins, data: Any) -> None:
    """Records still change one way."""
    for record in data:
        coins.release(record, Laplace(scale=1), site="shown")
        return


@hostile("H10", [0] * 3, [10**9] * 3, [LOW] * 3, 2.9, every=True, by=Fraction(10**9), claim="1/1000")
def vast_scale_each_record(coins: Coins, data: Any) -> None:
    """Laplace(10^9) per record costs 1e-9 each, below the solver's tolerance, and the records change as
    far."""
    for record in data:
        coins.release(record, Laplace(scale=10**9), site="shown")


@hostile("H10", [0] * 3, [1] * 3, [LOW] * 3, 2.9e-9, every=True, claim="1/10000000000")
def tiny_cost_each_record(coins: Coins, data: Any) -> None:
    """Laplace(10^9) per record has no bound for every N, and 3e-9 at N = 3."""
    for record in data:
        coins.release(record, Laplace(scale=10**9), site="shown")


@hostile("H10", [0] * 3, [1] * 3, [LOW] * 3, 2.9e-1, every=True, claim="1/100")
def tiny_value_and_scale(coins: Coins, data: Any) -> None:
    """x/10^9 + Laplace(10^-8), a row scaled down to nothing, costs 1/10 per record."""
    for record in data:
        coins.release(record / 10**9, Laplace(scale=Fraction(1, 10**8)), site="shown")


@hostile("H10", [0] * 4, [1] * 4, [LOW] * 2, 1.9e-9, every=True, claim="1/10000000000")
def tiny_cost_on_a_cycle(coins: Coins, data: Any) -> None:
    """One of two alternating states costs 1e-9."""
    even = True
    for record in data:
        if even:
            coins.release(record, Laplace(scale=10**9), site="shown")
        even = not even


@hostile("H10", [0] * 3, [1] * 3, [LOW] * 3, 2.9, every=True)
def one_release_a_prefix(coins: Coins, data: Any) -> None:
    """A release per prefix, whose change grows with it."""
    total: Any = 0
    for record in data:
        total = total + record
        coins.release(total, Laplace(scale=2), site="prefix")


@hostile("H10", [60] * 5, [61] * 5, [False] * 5, 2.4, every=True)
def no_cut_off(coins: Coins, data: Any) -> None:
    """Each answer above has a cost, without query noise."""
    for record in data:
        coins.reveal(bool(record + coins.draw(Laplace(scale=2), site="n") >= 40), site="above")
