"""H 11: a crash, an exception and silence are outputs, and an endless run has no verdict."""

from __future__ import annotations

from typing import Any

from dpaudit.coins import Coins
from dpaudit.distributions import Laplace
from tests.prover.hostile.row import hostile
from tests.prover.oracle import ANY, Within


@hostile("H11", [0], [1], ["fine"])
def raises_on_a_record(coins: Coins, data: Any) -> None:
    """An exception that follows the record."""
    if data[0] > 0:
        raise ValueError("positive")
    coins.reveal("fine", site="shown")


@hostile("H11", [1], [0], ["a"])
def asserts_on_a_record(coins: Coins, data: Any) -> None:
    """An assertion that follows the record, after something was shown."""
    coins.reveal("a", site="shown")
    assert data[0] > 0


@hostile("H11", [0], [1], ["end"])
def divides_by_zero(coins: Coins, data: Any) -> None:
    """A division by 0 on one branch."""
    one = 1 if data[0] <= 0 else 0
    coins.reveal("end" if 1 / one > 0 else "never", site="shown")


@hostile("H11", [0], [1], ["end"])
def index_out_of_range(coins: Coins, data: Any) -> None:
    """An index beyond the end on one branch."""
    places = ["end"]
    coins.reveal(places[0 if data[0] <= 0 else 1], site="shown")


@hostile("H11", [0], [1], None)
def never_ends(coins: Coins, data: Any) -> None:
    """The program stops for x <= 0 only, so that silence shows the sign. Known answers count as decisions."""
    while data[0] > 0:
        pass
    coins.reveal("end", site="shown")


@hostile("H11", [0], [1], None)
def redraws_for_ever(coins: Coins, data: Any) -> None:
    """Noise is drawn until it is above the record, so that the number of draws is unbounded."""
    noise = coins.draw(Laplace(scale=1), site="n")
    while noise <= data[0]:
        noise = coins.draw(Laplace(scale=1), site="n")
    coins.reveal(noise, site="shown")


@hostile("H11", [0], [1], None)
def recursion_for_ever(coins: Coins, data: Any) -> None:
    """The same redraws by recursion."""
    if data[0] > 0:
        recursion_for_ever(coins, data)
    coins.reveal("end", site="shown")


@hostile("H11", [0], [1], ["end"])
def exits(coins: Coins, data: Any) -> None:
    """SystemExit is not an Exception."""
    if data[0] > 0:
        raise SystemExit(0)
    coins.reveal("end", site="shown")


@hostile("H11", [0, 0], [1, 1], [ANY, ANY, "end"], every=True)
def raises_in_the_loop(coins: Coins, data: Any) -> None:
    """An exception inside the loop, every N."""
    for record in data:
        if record > 0:
            raise ValueError("positive")
        coins.release(0, Laplace(scale=1), site="shown")
    coins.reveal("end", site="end")


@hostile("H11", [0, 0], [1, 1], ["end"], every=True)
def breaks_out_of_the_loop(coins: Coins, data: Any) -> None:
    """A break that follows the record."""
    for record in data:
        if record > 0:
            break
    else:
        coins.reveal("end", site="end")


@hostile("H11", [0, 0], [1, 1], ["end"], every=True)
def stops_the_iteration(coins: Coins, data: Any) -> None:
    """StopIteration looks like the end of an iterator."""
    for record in data:
        if record > 0:
            raise StopIteration
    coins.reveal("end", site="end")


@hostile("H11", [1, 0], [0, 0], [Within(1, 1)], every=True)
def returns_the_first_record(coins: Coins, data: Any) -> Any:
    """A return inside the loop."""
    for record in data:
        return record + 0
    return None
