"""G 15 and section D: Gaussian noise proves no pure claim."""

from __future__ import annotations

from typing import Any

from dpaudit.coins import Coins
from dpaudit.distributions import Gaussian, Laplace
from tests.prover.hostile.row import hostile
from tests.prover.oracle import Within


@hostile("G15", [-39], [-40], [Within(low=0)], 2.3)
def releases_with_gaussian_noise(coins: Coins, data: Any) -> None:
    """The ratio of Gaussian tails is unbounded."""
    coins.release(data[0], Gaussian(sigma=4), site="shown")


@hostile("G15", [-39], [-40], [True], 2.3)
def gaussian_threshold(coins: Coins, data: Any) -> None:
    """A hidden Gaussian draw decides."""
    coins.reveal(bool(data[0] + coins.draw(Gaussian(sigma=4), site="n") >= 0), site="shown")


@hostile("G15", [-30, -30, 30], [-31, -31, 31], [False, False, True], -float("inf"))
def sparse_vector_with_gaussians(coins: Coins, data: Any) -> None:
    """Sparse vector with Gaussians of deviation 4 and 8: the loss of one query alone grows."""
    threshold = coins.draw(Gaussian(sigma=4), site="t")
    for query in data:
        above = query + coins.draw(Gaussian(sigma=8), site="n") >= threshold
        coins.reveal(bool(above), site="above")
        if above:
            return


@hostile("G15", [-39], [-40], [True], 2.3)
def gaussian_beside_laplace(coins: Coins, data: Any) -> None:
    """One of the draws is Gaussian, the others are Laplace."""
    coins.draw(Laplace(scale=1), site="unused")
    coins.reveal(bool(data[0] + coins.draw(Gaussian(sigma=4), site="n") >= 0), site="shown")


@hostile("G15", [0], [1], ["above"], -float("inf"), claim="1/20")
def both_tails_of_a_gaussian(coins: Coins, data: Any) -> None:
    """z > q, z < -q or between: the sum over vectors is needed, and no pure claim holds."""
    noise = coins.draw(Gaussian(sigma=1), site="n")
    if noise > data[0]:
        coins.reveal("above", site="shown")
    elif noise < -data[0]:
        coins.reveal("below", site="shown")
    else:
        coins.reveal("between", site="shown")
