"""G 2: a shift may depend on shown values, never on hidden ones, and a release costs its whole change."""

from __future__ import annotations

from typing import Any

from dpaudit.coins import Coins
from dpaudit.distributions import Laplace
from tests.prover.hostile.row import hostile
from tests.prover.oracle import ANY, Within


@hostile("G2", [1], [0], ["yes", Within(high=-1)], 9.2)
def releases_noise_that_was_compared(coins: Coins, data: Any) -> None:
    """The shift of n that keeps x + n >= 0 moves the release of n by 10."""
    noise = coins.draw(Laplace(scale=1), site="noise")
    coins.reveal("yes" if data[0] + noise >= 0 else "no", site="shown")
    coins.release(noise, Laplace(scale="1/10"), site="released")


@hostile("G2", [0], [1], [Within(high=0), Within(high=0)], 1.95)
def releases_the_same_twice(coins: Coins, data: Any) -> None:
    """Two releases of one noisy number cost either the hidden noise once, or both releases."""
    noisy = data[0] + coins.draw(Laplace(scale="1/2"), site="noise")
    coins.release(noisy, Laplace(scale="1/4"), site="one")
    coins.release(noisy, Laplace(scale="1/4"), site="two")


@hostile("G2", [0], [1], [Within(low=0, high="1/100"), Within(low=0, high="1/100")])
def shows_noise_and_sum(coins: Coins, data: Any) -> None:
    """n and x + n are shown, and no shift keeps both."""
    noise = coins.draw(Laplace(scale=100), site="noise")
    coins.reveal(noise + 0, site="noise")
    coins.reveal(data[0] + noise, site="sum")


@hostile("G2", [0], [1], ["neg", "one"], 0.65)
def shift_by_a_hidden_sign(coins: Coins, data: Any) -> None:
    """A shift that depends on the sign of hidden noise would fold the line."""
    noise = coins.draw(Laplace(scale=10), site="noise")
    coins.reveal("neg" if noise < 3 else "pos", site="sign")
    coins.reveal("one" if noise > data[0] + 1 else "other", site="shown")


@hostile("G2", [0], [1], ["yes", "yes", ANY])
def one_draw_in_two_places(coins: Coins, data: Any) -> None:
    """n must go up for one comparison and down for the other: at x = 1 it cannot."""
    noise = coins.draw(Laplace(scale=2), site="noise")
    coins.reveal("yes" if noise - data[0] >= 0 else "no", site="first")
    coins.reveal("yes" if noise + data[0] <= 1 else "no", site="second")
    coins.release(data[0], Laplace(scale=1), site="released")
