"""G 10: one extreme of a coordinate suffices only if it enters all rows of the output with one sign."""

from __future__ import annotations

from typing import Any

from dpaudit.coins import Coins
from dpaudit.distributions import Laplace
from tests.prover.hostile.row import EACH, ONE_WAY, hostile
from tests.prover.oracle import Within


@hostile("G10", [-40], [-41], [True, True], 1.99)
def up_cheaply_down_dearly(coins: Coins, data: Any) -> None:
    """x + n >= 0 at scale 1/2 and x + m <= 0 at scale 10: upwards 1/10, downwards 2."""
    coins.reveal(bool(data[0] + coins.draw(Laplace(scale="1/2"), site="n") >= 0), site="first")
    coins.reveal(bool(data[0] + coins.draw(Laplace(scale=10), site="m") <= 0), site="second")


@hostile("G10", [-40, -40], [-41, -41], [True, True, True], 3.99)
def two_coordinates_with_both_signs(coins: Coins, data: Any) -> None:
    """Each coordinate enters one row upwards and one downwards."""
    coins.reveal(bool(data[0] + coins.draw(Laplace(scale="1/2"), site="n") >= 0), site="first")
    coins.reveal(bool(data[1] + coins.draw(Laplace(scale="1/2"), site="m") >= 0), site="second")
    coins.reveal(bool(data[0] + data[1] + coins.draw(Laplace(scale=10), site="k") <= 0), site="third")


@hostile("G10", [0], [-1], [True, Within(low=0)], 9.9)
def comparison_and_release(coins: Coins, data: Any) -> None:
    """A released value costs in both directions, the comparison in one."""
    coins.reveal(bool(data[0] + coins.draw(Laplace(scale=10), site="n") <= 1), site="first")
    coins.release(data[0], Laplace(scale="1/10"), site="second")


@hostile("G10", [0], [1], [True, Within(high=0)], 9.9)
def comparison_and_shown_form(coins: Coins, data: Any) -> None:
    """A shown form must be equal for both directions."""
    coins.reveal(bool(data[0] + coins.draw(Laplace(scale=10), site="n") >= -1), site="first")
    coins.reveal(data[0] + coins.draw(Laplace(scale="1/10"), site="m"), site="second")


@hostile("G10", [40], [41], ["in"], 0.99)
def two_sided_test(coins: Coins, data: Any) -> None:
    """-1 <= x + n <= 1 shown: the shift goes with the record both ways."""
    noisy = data[0] + coins.draw(Laplace(scale=1), site="n")
    coins.reveal("in" if -1 <= noisy <= 1 else "out", site="shown")


@hostile("G10", [40], [41], [True], 1.99, adjacency=ONE_WAY)
def one_way_downwards_too(coins: Coins, data: Any) -> None:
    """One way means all up or all down, and both are to be tried."""
    coins.reveal(bool(data[0] + coins.draw(Laplace(scale="1/2"), site="n") <= 0), site="shown")


@hostile("G10", [-40], [-41], [True], 1.99, adjacency=ONE_WAY)
def one_way_upwards_too(coins: Coins, data: Any) -> None:
    """The opposite direction is to be tried too."""
    coins.reveal(bool(data[0] + coins.draw(Laplace(scale="1/2"), site="n") >= 0), site="shown")


@hostile("G10", [0, 0], [1, -1], [Within(high=0)], 1.99, adjacency=EACH)
def any_direction_is_not_one_way(coins: Coins, data: Any) -> None:
    """x - y changes by 2, although it costs nothing one way."""
    coins.release(data[0] - data[1], Laplace(scale=1), site="shown")


@hostile("G10", [0, 0], [1, 0], [Within(high=0)], 0.99, adjacency=ONE_WAY)
def one_way_need_not_move_all(coins: Coins, data: Any) -> None:
    """Some changes may be 0: x - y changes by 1 one way, not by 0."""
    coins.release(data[0] - data[1], Laplace(scale=1), site="shown")
