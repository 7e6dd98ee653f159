"""G 5: a slice may be dropped only if its probability is 0 for every input, and strict and weak rows
differ."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dpaudit.coins import Coins
from dpaudit.distributions import Laplace
from tests.prover.hostile.row import hostile
from tests.prover.oracle import Within


@hostile("G5", [0], [1], ["zero"])
def equal_by_two_comparisons(coins: Coins, data: Any) -> None:
    """x <= 0 and x >= 0 has an empty interior, but data lie in it."""
    coins.reveal("zero" if data[0] <= 0 and data[0] >= 0 else "other", site="shown")


@hostile("G5", [0], [1], ["zero"])
def sliver_of_data(coins: Coins, data: Any) -> None:
    """A sliver of width 1e-10 was once pruned by a margin."""
    if data[0] >= Fraction(-1, 10**10) and data[0] <= 0:
        coins.reveal("zero", site="shown")
    else:
        coins.reveal("other", site="shown")


@hostile("G5", [0], [1], [False])
def cancelled_strictly_below(coins: Coins, data: Any) -> None:
    """The noise cancels, so that x > 0 is decided without noise."""
    noise = coins.draw(Laplace(scale=1), site="noise")
    coins.reveal(bool((data[0] + noise) - noise > 0), site="shown")


@hostile("G5", [0], [1], ["no"])
def below_itself(coins: Coins, data: Any) -> None:
    """0 < 0 was once taken as true, so that one of the two branches was dropped."""
    noise = coins.draw(Laplace(scale=1), site="noise")
    if noise < noise or data[0] > 0:
        coins.reveal("yes", site="shown")
    else:
        coins.reveal("no", site="shown")


@hostile("G5", [0], [1], [Within(0, 0)])
def shows_if_not_below_itself(coins: Coins, data: Any) -> None:
    """x < x is false, so that the record is always shown."""
    if data[0] < data[0]:
        coins.reveal("never", site="shown")
    else:
        coins.reveal(data[0] + 0, site="shown")


@hostile("G5", [0], [1], [Within(0, 0)])
def shows_if_at_most_itself(coins: Coins, data: Any) -> None:
    """x <= x is true."""
    if data[0] <= data[0]:
        coins.reveal(data[0] + 0, site="shown")
    else:
        coins.reveal("never", site="shown")


@hostile("G5", [0, 0], [0, 1], ["equal"])
def two_records_equal(coins: Coins, data: Any) -> None:
    """x - y <= 0 and y - x <= 0."""
    if data[0] <= data[1] and data[1] <= data[0]:
        coins.reveal("equal", site="shown")
    else:
        coins.reveal("different", site="shown")


@hostile("G5", [0], [1], ["zero"])
def equal_under_shared_noise(coins: Coins, data: Any) -> None:
    """x + n <= n and x + n >= n: a null set in (x, n), an event in x."""
    noise = coins.draw(Laplace(scale=1), site="noise")
    if data[0] + noise <= noise and data[0] + noise >= noise:
        coins.reveal("zero", site="shown")
    else:
        coins.reveal("other", site="shown")


@hostile("G5", [0], [1], ["zero"])
def tiny_coefficients(coins: Coins, data: Any) -> None:
    """Rows scaled by 1e-12: still x <= 0."""
    coins.reveal("zero" if data[0] * Fraction(1, 10**12) <= 0 else "other", site="shown")


@hostile("G5", [0], [Fraction(1, 10**9)], ["zero"])
def strict_against_weak(coins: Coins, data: Any) -> None:
    """x < 0 leaves 0 to the other branch: neighbours may be as close as they like."""
    coins.reveal("zero" if not data[0] > 0 else "other", site="shown")


@hostile("G5", [Fraction(1, 2)], [Fraction(3, 4)], ["half"])
def three_comparisons_to_a_point(coins: Coins, data: Any) -> None:
    """x <= 1/2, 2x >= 1: equality by rows of other sizes."""
    coins.reveal("half" if data[0] <= Fraction(1, 2) and 2 * data[0] >= 1 else "other", site="shown")


@hostile("G5", [0, 0], [1, 1], ["corner"])
def corner_of_a_region(coins: Coins, data: Any) -> None:
    """x >= 0, y >= 0, x + y <= 0: a point."""
    inside = data[0] >= 0 and data[1] >= 0 and data[0] + data[1] <= 0
    coins.reveal("corner" if inside else "other", site="shown")


@hostile("G5", [0], [1], ["in"], 19.99)
def thin_region_of_noise(coins: Coins, data: Any) -> None:
    """A sliver of noise is thin, not null: 0 <= n <= 1e-9 if x <= 0, and never otherwise but far out."""
    noise = coins.draw(Laplace(scale="1/20"), site="noise")
    gap = noise - data[0]
    coins.reveal("in" if gap >= 0 and gap <= Fraction(1, 10**9) else "out", site="shown")
