"""G 9: vertices suffice for one method, and no row may be dropped because of a single vertex."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dpaudit.coins import Coins
from dpaudit.distributions import Laplace
from tests.prover.hostile.row import ONE_REPLACED, hostile
from tests.prover.oracle import Within


@hostile("G9", [0], [Fraction(1, 2)], [False], adjacency=ONE_REPLACED, low=0, high=1)
def middle_of_the_interval(coins: Coins, data: Any) -> None:
    """At d = 1 the record must be 0 and 1, on the same side; it leaks at d = 1/2 only."""
    coins.reveal(bool(Fraction(1, 4) <= data[0] <= Fraction(3, 4)), site="shown")


@hostile("G9", [0], [Fraction(1, 2)], [False], 2.45, adjacency=ONE_REPLACED, low=0, high=1)
def noisy_middle_of_the_interval(coins: Coins, data: Any) -> None:
    """The same leak with a little noise at the ends."""
    noisy = data[0] + coins.draw(Laplace(scale="1/10"), site="noise")
    coins.reveal(bool(Fraction(1, 4) <= noisy <= Fraction(3, 4)), site="shown")


@hostile("G9", [Fraction(1, 2), 0], [Fraction(1, 2), 1], ["half"], adjacency=ONE_REPLACED, low=0, high=1)
def interior_record_decides(coins: Coins, data: Any) -> None:
    """Only at an interior point of the domain does the other record matter."""
    if data[0] > Fraction(1, 3) and data[0] < Fraction(2, 3) and data[1] <= 0:
        coins.reveal("half", site="shown")
    else:
        coins.reveal("other", site="shown")


@hostile("G9", [0], [Fraction(1, 2)], ["low"], adjacency=ONE_REPLACED, low=0, high=1)
def two_thresholds(coins: Coins, data: Any) -> None:
    """low, middle or high."""
    if data[0] <= Fraction(1, 4):
        coins.reveal("low", site="shown")
    elif data[0] < 1:
        coins.reveal("middle", site="shown")
    else:
        coins.reveal("high", site="shown")


@hostile("G9", [0, 0], [1, -1], [Within(high=0)], 1.99)
def difference_released(coins: Coins, data: Any) -> None:
    """x - y changes by 2 at the vertex (1, -1) only."""
    coins.release(data[0] - data[1], Laplace(scale=1), site="shown")


@hostile("G9", [0, 0, 0], [1, -1, 1], [Within(high=0)], 2.99)
def alternating_sum_released(coins: Coins, data: Any) -> None:
    """x - y + z changes by 3 at a vertex in the middle of the list of vertices."""
    coins.release(data[0] - data[1] + data[2], Laplace(scale=1), site="shown")


@hostile("G9", [(0, 1)], [(1, 0)], [Within(high=-1)], 1.99, adjacency=ONE_REPLACED, low=0, high=1, width=2)
def replaced_pair(coins: Coins, data: Any) -> None:
    """Both numbers of a record may change, in opposite directions."""
    coins.release(data[0][0] - data[0][1], Laplace(scale=1), site="shown")


@hostile("G9", [0], [2], [Within(high=0)], 1.99, by=Fraction(2))
def moves_by_two(coins: Coins, data: Any) -> None:
    """Records change by up to 2."""
    coins.release(data[0], Laplace(scale=1), site="shown")


@hostile("G9", [-3], [3], [Within(high=-3)], 5.99, adjacency=ONE_REPLACED, low=-3, high=3)
def replaced_in_a_wide_domain(coins: Coins, data: Any) -> None:
    """A replaced record changes by the width of its domain, not by 1."""
    coins.release(data[0], Laplace(scale=1), site="shown")
