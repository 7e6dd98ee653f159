"""G 3: change of variables requires equal scales, equal coefficients, and disjoint regions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dpaudit.coins import Coins
from dpaudit.distributions import Laplace
from tests.prover.hostile.row import hostile
from tests.prover.oracle import ANY, Within


@hostile("G3", [-1], [0], [Within(low=60)], 50)
def shows_noise_of_another_scale(coins: Coins, data: Any) -> None:
    """q >= 0: Laplace(1), else Laplace(100): equal unions of regions, 0 was proved, no bound is true."""
    if data[0] >= 0:
        coins.reveal(coins.draw(Laplace(scale=1), site="noise"), site="shown")
    else:
        coins.reveal(coins.draw(Laplace(scale=100), site="noise"), site="shown")


@hostile("G3", [0], [-1], [Within(low=0, high=1)], 0.668)
def shows_noise_stretched(coins: Coins, data: Any) -> None:
    """n if n <= 1, or 2n if n <= 1/2: the Jacobian is 2, true ln ratio 0.6685; 0.05 was proved."""
    noise = coins.draw(Laplace(scale=10), site="noise")
    if noise <= 0:
        coins.reveal("out", site="shown")
    elif data[0] >= 0:
        coins.reveal(noise if noise <= 1 else "out", site="shown")
    else:
        coins.reveal(2 * noise if noise <= Fraction(1, 2) else "out", site="shown")


@hostile("G3", [0], [-1], [Within(low=0, high=1)], 0.644)
def shows_noise_twice_over(coins: Coins, data: Any) -> None:
    """n on (0, 1] and n - 1 on (1, 2] show the same values; the other side has one of them: true 0.6444."""
    noise = coins.draw(Laplace(scale=10), site="noise")
    if noise <= 0:
        coins.reveal("out", site="shown")
    elif noise <= 1:
        coins.reveal(noise + 0, site="shown")
    elif noise <= 2 and data[0] >= 0:
        coins.reveal(noise - 1, site="shown")
    else:
        coins.reveal("out", site="shown")


@hostile("G3", [-1, -2], [0, -2], ["high", ANY], 2.93)
def other_draw_of_another_scale(coins: Coins, data: Any) -> None:
    """The draw that keeps its value has another scale on the other path, and shapes the region."""
    noise = coins.draw(Laplace(scale=10), site="noise")
    other = coins.draw(Laplace(scale=1 if data[0] >= 0 else 50), site="other")
    coins.reveal("high" if other >= 3 else "low", site="region")
    coins.reveal(noise + data[0], site="shown")


@hostile("G3", [20, -20, 20], [21, -21, 20], [ANY], 0.59)
def gap_of_noisy_maximum(coins: Coins, data: Any) -> None:
    """The gap alone, without the index: known to cost as much as the index."""
    values = [query + coins.draw(Laplace(scale=1), site="noise") for query in data]
    best = values[0]
    for value in values[1:]:
        if value > best:
            best = value
    coins.reveal(best - values[0] if best > values[0] else "first", site="shown")


@hostile("G3", [-20, 20, 20], [-21, 21, 21], [0, Within(low=0)], 1.9)
def gap_noisy_max_at_scale_one(coins: Coins, data: Any) -> None:
    """GapNoisyMax with Laplace(1): 2."""
    values = [query + coins.draw(Laplace(scale=1), site="noise") for query in data]
    best, winner = values[0], 0
    for i in range(1, len(values)):
        if values[i] > best:
            best, winner = values[i], i
    second = None
    for i in range(len(values)):
        if i != winner and (second is None or values[i] > second):
            second = values[i]
    coins.reveal(winner, site="winner")
    coins.reveal(best - second, site="gap")
