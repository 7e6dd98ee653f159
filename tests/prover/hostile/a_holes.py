"""Section A: a box around the data, and paths merged although they draw or show different things."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dpaudit.coins import Coins
from dpaudit.distributions import Bernoulli, Laplace
from tests.prover.hostile.row import hostile
from tests.prover.oracle import Within


@hostile("A", [5000], [5001], [Within(5000, 5000)])
def shows_far_records(coins: Coins, data: Any) -> None:
    """The branch that shows the record is empty inside a box of +-1000, so that 1 was once proved."""
    if data[0] + coins.draw(Laplace(scale=1), site="noise") >= 5000:
        coins.reveal(data[0], site="shown")
    else:
        coins.reveal("no", site="shown")


@hostile("A", [10**9], [10**9 + 1], [Within(10**9, 10**9)])
def shows_very_far_records(coins: Coins, data: Any) -> None:
    """The same branch beyond any box that a solver's tolerance allows."""
    if data[0] + coins.draw(Laplace(scale=1), site="noise") >= 10**9:
        coins.reveal(data[0], site="shown")
    else:
        coins.reveal("no", site="shown")


@hostile("A", [-(10**7)], [-(10**7) - 1], ["far"], float("inf"))
def tests_far_records(coins: Coins, data: Any) -> None:
    """Without noise, "far" is shown on one input only, at a far record."""
    coins.reveal("far" if data[0] >= -(10**7) else "near", site="shown")


@hostile("A", [0, 5], [0, 6], [Within(5, 5)])
def coin_between_noisy_and_bare(coins: Coins, data: Any) -> None:
    """Merged with the forms of the first path only, 1/100 was once proved."""
    if coins.draw(Laplace(scale=1), site="coin") >= 0:
        coins.reveal(data[0] + coins.draw(Laplace(scale=100), site="noise"), site="shown")
    else:
        coins.reveal(data[1], site="shown")


@hostile("A", [50, 0], [50, 1], [Within(high=0)], 9.99)
def coin_between_two_releases(coins: Coins, data: Any) -> None:
    """Merged with the releases of the first path only, 1 was once proved, and 10 is true."""
    if coins.draw(Laplace(scale=1), site="coin") >= 0:
        coins.release(data[0], Laplace(scale=1), site="shown")
    else:
        coins.release(data[1], Laplace(scale="1/10"), site="shown")


@hostile("A", [50, 0], [50, 1], [Within(high=0)], 9.99)
def finite_coin_between_two_releases(coins: Coins, data: Any) -> None:
    """The same merge with a finite coin."""
    if coins.draw(Bernoulli(p="1/2"), site="coin") == 0:
        coins.release(data[0], Laplace(scale=1), site="shown")
    else:
        coins.release(data[1], Laplace(scale="1/10"), site="shown")


@hostile("A", [0], [-1], [True], 0.69)
def coin_between_two_scales(coins: Coins, data: Any) -> None:
    """The hidden draw has scale 100 or 1/100, so that the loss is at least ln 2, not 1/100."""
    if coins.draw(Laplace(scale=1), site="coin") >= 0:
        noisy = data[0] + coins.draw(Laplace(scale=100), site="noise")
    else:
        noisy = data[0] + coins.draw(Laplace(scale="1/100"), site="noise")
    coins.reveal(bool(noisy >= 0), site="shown")


@hostile("A", [0, 0], [1, 0], [Within(high=-1)], 4.99)
def coin_between_two_orders_of_releases(coins: Coins, data: Any) -> None:
    """A hidden coin chooses which record is released: 5 is true, not 1/100."""
    if coins.draw(Laplace(scale=100), site="coin") >= 0:
        coins.release(data[0], Laplace(scale="1/5"), site="shown")
    else:
        coins.release(data[1] + 300, Laplace(scale="1/5"), site="shown")


@hostile("A", [0, 0], [1, 1], ["both"], float("inf"))
def coin_between_records(coins: Coins, data: Any) -> None:
    """It is hidden which record is tested, but shown that the test passed."""
    which = 0 if coins.draw(Laplace(scale=1), site="coin") >= 0 else 1
    coins.reveal("both" if data[which] <= 0 else "none", site="shown")


@hostile("A", [Fraction(1, 2)], [Fraction(-1, 2)], [Within(low=100)], 0.99)
def region_that_needs_no_box(coins: Coins, data: Any) -> None:
    """Far regions of noise count: a value beyond 100 needs a shift everywhere."""
    coins.reveal(data[0] + coins.draw(Laplace(scale=1), site="noise"), site="shown")
