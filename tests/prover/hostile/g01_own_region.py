"""G 1: the images of different cells must be disjoint, and lie in the region of the same pattern."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dpaudit.coins import Coins
from dpaudit.distributions import Laplace
from tests.prover.hostile.row import hostile


@hostile("G1", [0], [1], ["b"])
def certain_on_one_side(coins: Coins, data: Any) -> None:
    """Beyond 1/2 nothing is drawn, so that a path of one data class has no image in the other."""
    if data[0] > Fraction(1, 2) or coins.draw(Laplace(scale=100), site="noise") > 0:
        coins.reveal("a", site="shown")
    else:
        coins.reveal("b", site="shown")


@hostile("G1", [0], [1], ["in"], 0.69)
def window_that_narrows(coins: Coins, data: Any) -> None:
    """Cells (x, 1) and (1, 2) both fit into (1, 2), one on the other: 1/100, true ln 2."""
    noise = coins.draw(Laplace(scale=100), site="noise")
    if (noise > data[0] and noise < 1) or (noise >= 1 and noise < 2 and noise > data[0]):
        coins.reveal("in", site="shown")
    else:
        coins.reveal("out", site="shown")


@hostile("G1", [0], [1], ["in"])
def window_that_closes(coins: Coins, data: Any) -> None:
    """x < n < 1 is empty at x = 1."""
    noise = coins.draw(Laplace(scale=100), site="noise")
    coins.reveal("in" if data[0] < noise < 1 else "out", site="shown")


@hostile("G1", [0], [1], ["in"], 0.688)
def two_windows_onto_one(coins: Coins, data: Any) -> None:
    """Two windows of width 1 for x <= 0 and one for x > 0: without any shift cost, two map onto one."""
    noise = coins.draw(Laplace(scale=100), site="noise")
    if 0 < noise < 1 or (data[0] <= 0 and 1 <= noise < 2):
        coins.reveal("in", site="shown")
    else:
        coins.reveal("out", site="shown")


@hostile("G1", [0, 0, 0], [0, 0, 1], ["one"], 0.6)
def window_by_three_records(coins: Coins, data: Any) -> None:
    """The window (z, 2 + y) narrows from one side, and the other side stays."""
    noise = coins.draw(Laplace(scale=10), site="noise")
    coins.reveal("one" if data[2] < noise < 2 + data[1] else "other", site="shown")
