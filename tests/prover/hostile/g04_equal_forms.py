"""G 4: shown forms are merged only if they are equal, never if they are only proportional."""

from __future__ import annotations

from typing import Any

from dpaudit.coins import Coins
from dpaudit.distributions import Laplace
from tests.prover.hostile.row import hostile
from tests.prover.oracle import Within


@hostile("G4", [-1], [0], [Within(low=60)], 25)
def shows_one_or_two_times_the_noise(coins: Coins, data: Any) -> None:
    """Normalised, n and 2n are one form: 0 was proved, no bound is true."""
    noise = coins.draw(Laplace(scale=1), site="noise")
    if data[0] >= 0:
        coins.reveal(noise + 0, site="shown")
    else:
        coins.reveal(2 * noise, site="shown")


@hostile("G4", [-1], [0], [Within(low=5)], 4.9)
def shows_noise_with_an_offset(coins: Coins, data: Any) -> None:
    """n or n + 5 is shown, with different constants."""
    noise = coins.draw(Laplace(scale=1), site="noise")
    coins.reveal(noise + 0 if data[0] >= 0 else noise + 5, site="shown")


@hostile("G4", [0], [-1], [Within(high=-1)])
def shows_noise_or_its_negative(coins: Coins, data: Any) -> None:
    """n or -n of one-sided noise is shown, with different signs."""
    noise = coins.draw(Laplace(scale=1), site="noise")
    size = noise if noise >= 0 else -noise
    coins.reveal(-size if data[0] >= 0 else size, site="shown")


@hostile("G4", [-1], [0], [Within(low=0), Within(high=-1)], 5.6)
def shows_two_draws_in_either_order(coins: Coins, data: Any) -> None:
    """(n, m + x) or (m + x, n) is shown."""
    one, two = coins.draw(Laplace(scale=1), site="one"), coins.draw(Laplace(scale=1), site="two")
    first, second = (one, two + 5) if data[0] >= 0 else (two + 5, one)
    coins.reveal(first + 0, site="first")
    coins.reveal(second + 0, site="second")


@hostile("G4", [0], [1], [Within(low=50, high=51)], 45)
def hidden_coin_shows_a_multiple(coins: Coins, data: Any) -> None:
    """A coin that depends on the record chooses between n and 100 n."""
    noise = coins.draw(Laplace(scale=1), site="noise")
    if data[0] <= 0:
        coins.reveal(100 * noise, site="shown")
    else:
        coins.reveal(noise + 0, site="shown")
