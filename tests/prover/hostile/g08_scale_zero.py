"""G 8: rows are checked without draws and releases too, and a scale of 0 is not noise."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dpaudit.coins import Coins
from dpaudit.distributions import Laplace
from tests.prover.hostile.row import ONE_REPLACED, hostile
from tests.prover.oracle import Within


@hostile("G8", [0], [1], [Within(0, 0)])
def shows_a_record(coins: Coins, data: Any) -> None:
    """Without draw and release there is no cost, so that 0 was once proved."""
    coins.reveal(data[0], site="shown")


@hostile("G8", [0], [1], [False], adjacency=ONE_REPLACED, low=0, high=1)
def shows_a_threshold(coins: Coins, data: Any) -> None:
    """x >= 1/4 is shown without noise, and 0 was once proved."""
    coins.reveal(bool(data[0] >= Fraction(1, 4)), site="shown")


@hostile("G8", [0], [1], [Within(0, 0)])
def noise_taken_off_again(coins: Coins, data: Any) -> None:
    """x + n - n is x."""
    noise = coins.draw(Laplace(scale=1), site="noise")
    coins.reveal(data[0] + noise - noise, site="shown")


@hostile("G8", [0], [1], [Within(0, 0)])
def noise_times_zero(coins: Coins, data: Any) -> None:
    """Noise with coefficient 0."""
    coins.reveal(data[0] + 0 * coins.draw(Laplace(scale=1), site="noise"), site="shown")


@hostile("G8", [0], [1], None)
def releases_at_scale_zero(coins: Coins, data: Any) -> None:
    """A release at scale 0 shows the record, or raises."""
    coins.release(data[0], Laplace(scale=0), site="shown")


@hostile("G8", [0], [1], ["a", Within(0, 0)])
def shows_a_record_after_a_draw(coins: Coins, data: Any) -> None:
    """An unused draw does not protect the record."""
    coins.draw(Laplace(scale=1), site="noise")
    coins.reveal("a", site="text")
    coins.reveal(data[0] + 0, site="shown")


@hostile("G8", [0, 0], [1, 0], [Within(0, 0)], adjacency=ONE_REPLACED, low=0, high=1)
def shows_a_sum(coins: Coins, data: Any) -> None:
    """A sum of all records is shown without noise."""
    coins.reveal(sum(data), site="shown")
