"""G 11: branches on data alone: the joint differences of the computed values, and no more."""

from __future__ import annotations

from typing import Any

from dpaudit.coins import Coins
from dpaudit.distributions import Laplace
from tests.prover.hostile.row import ONE_REPLACED, hostile
from tests.prover.oracle import ANY, Within


@hostile("G11", [0], [1], [Within(high=0)], 1.99)
def clamps_a_multiple(coins: Coins, data: Any) -> None:
    """clamp(3x, 0, 2) changes by 2."""
    value = 3 * data[0]
    clamped = 0 if value < 0 else 2 if value > 2 else value
    coins.release(clamped, Laplace(scale=1), site="shown")


@hostile("G11", [0], [1], [Within(high=0)], 4.99)
def jumps(coins: Coins, data: Any) -> None:
    """0 or 5: a step, released."""
    coins.release(5 if data[0] > 0 else 0, Laplace(scale=1), site="shown")


@hostile("G11", [0], [1], ["small"], 4.9)
def jumps_below_a_threshold(coins: Coins, data: Any) -> None:
    """A step inside a comparison with noise."""
    step = 5 if data[0] > 0 else 0
    coins.reveal("small" if step + coins.draw(Laplace(scale=1), site="n") < 0 else "large", site="shown")


@hostile("G11", [0, 10], [1, 10], [Within(high=0)], 9.9)
def record_chooses_a_record(coins: Coins, data: Any) -> None:
    """A record decides which other record is released, and their values need not be close."""
    coins.release(data[1] if data[0] > 0 else 0, Laplace(scale=1), site="shown")


@hostile("G11", [0, 0], [1, 1], [Within(high=0), Within(high=0)], 3.9)
def two_steps_jointly(coins: Coins, data: Any) -> None:
    """Each step changes by 2, and both change together."""
    coins.release(2 if data[0] > 0 else 0, Laplace(scale=1), site="one")
    coins.release(2 if data[1] > 0 else 0, Laplace(scale=1), site="two")


@hostile("G11", [0], [1], [Within(high=0)], 1.99)
def folds_with_a_gap(coins: Coins, data: Any) -> None:
    """x below 1/2, x + 1 above."""
    coins.release(data[0] if 2 * data[0] < 1 else data[0] + 1, Laplace(scale=1), site="shown")


@hostile("G11", [1], [0], [Within(low=60)], 25)
def record_chooses_the_scale(coins: Coins, data: Any) -> None:
    """The scale of the noise follows from the record."""
    coins.release(0, Laplace(scale=2 if data[0] > 0 else 1), site="shown")


@hostile("G11", [0], [1], [ANY, "end"])
def record_chooses_to_release(coins: Coins, data: Any) -> None:
    """Whether there is a release follows from the record."""
    if data[0] <= 0:
        coins.release(0, Laplace(scale=1), site="shown")
    coins.reveal("end", site="end")


@hostile("G11", [0], [1], [Within(high=0), Within(high=0)], 1.9, adjacency=ONE_REPLACED, low=0, high=1)
def charged_to_one_of_two(coins: Coins, data: Any) -> None:
    """One change of the record changes both releases."""
    coins.release(1 if data[0] > 0 else 0, Laplace(scale=1), site="one")
    coins.release(0 if data[0] <= 0 else 1, Laplace(scale=1), site="two")


@hostile("G11", [0, 0, 0, 0], [1, 0, 0, 0], [True], float("inf"))
def majority_of_data(coins: Coins, data: Any) -> None:
    """A count by branches, compared without noise."""
    above = 0
    for record in data:
        if record > 0:
            above += 1
    coins.reveal(above == 0, site="shown")
