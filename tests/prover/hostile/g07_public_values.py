"""G 7: no operator of a public value may take a private operand and return a public result."""

from __future__ import annotations

from typing import Any

from dpaudit.coins import Coins
from dpaudit.distributions import Laplace
from tests.prover.hostile.row import hostile
from tests.prover.oracle import Within


@hostile("G7", [0], [1], [Within(0, "1/10"), Within(0, "1/10")])
def shows_outcome_plus_record(coins: Coins, data: Any) -> None:
    """o + x was once public, and shows the record together with o."""
    outcome = coins.release(data[0], Laplace(scale=1), site="outcome")
    coins.reveal(outcome + data[0], site="shown")


@hostile("G7", [0], [1], [Within(0, "1/10"), Within(0, "1/10")])
def shows_outcome_minus_record(coins: Coins, data: Any) -> None:
    """o - x is the noise of the release."""
    outcome = coins.release(data[0], Laplace(scale=1), site="outcome")
    coins.reveal(outcome - data[0], site="shown")


@hostile("G7", [0], [1], [Within(0, "1/10"), Within("-1/10", 0)])
def shows_record_minus_outcome(coins: Coins, data: Any) -> None:
    """The reflected operator."""
    outcome = coins.release(data[0], Laplace(scale=1), site="outcome")
    coins.reveal(data[0] - outcome, site="shown")


@hostile("G7", [1], [0], [Within("1/2", "3/5"), Within("1/2", "3/5")])
def shows_outcome_times_record(coins: Coins, data: Any) -> None:
    """A product with a public value is linear only while the value is a number."""
    outcome = coins.release(0, Laplace(scale=1), site="outcome")
    coins.reveal(outcome * data[0], site="shown")


@hostile("G7", [0], [1], [Within("1/2", "3/4"), True])
def compares_outcome_with_record(coins: Coins, data: Any) -> None:
    """o >= x was once a fork of public values."""
    outcome = coins.release(0, Laplace(scale=1), site="outcome")
    coins.reveal(bool(outcome >= data[0]), site="shown")


@hostile("G7", [0], [1], [Within("1/2", "3/4"), True])
def compares_record_with_outcome(coins: Coins, data: Any) -> None:
    """x <= o."""
    outcome = coins.release(0, Laplace(scale=1), site="outcome")
    coins.reveal(bool(data[0] <= outcome), site="shown")


@hostile("G7", [0], [1], [Within("1/2", "3/4"), Within(0, 0)])
def smaller_of_outcome_and_record(coins: Coins, data: Any) -> None:
    """min compares and returns the record."""
    outcome = coins.release(0, Laplace(scale=1), site="outcome")
    coins.reveal(min(data[0], outcome), site="shown")


@hostile("G7", [0, 0], [0, 1], [Within(0, "1/10"), Within(high=0)], 7.9)
def releases_outcome_plus_record(coins: Coins, data: Any) -> None:
    """A public value plus a record changes with the record in a release."""
    outcome = coins.release(data[0], Laplace(scale=1), site="outcome")
    coins.release(outcome + data[1], Laplace(scale="1/10"), site="shown")


@hostile("G7", [1], [2], [Within("1/2", 1), True])
def compares_multiples(coins: Coins, data: Any) -> None:
    """2 o >= x compares a computed public value."""
    outcome = coins.release(0, Laplace(scale=1), site="outcome")
    coins.reveal(bool(2 * outcome - data[0] >= 0), site="shown")


@hostile("G7", [-1], [0], [Within(0, "1/100"), "below"], 9.9)
def hidden_draw_against_outcome(coins: Coins, data: Any) -> None:
    """In x + n < o with o shown, the draw has the cost, not the outcome."""
    outcome = coins.release(0, Laplace(scale=10), site="outcome")
    below = data[0] + coins.draw(Laplace(scale="1/10"), site="noise") < outcome - 1
    coins.reveal("below" if below else "above", site="shown")


@hostile("G7", [0], [1], [Within("1/2", "3/4"), "a"])
def outcome_indexes_by_record(coins: Coins, data: Any) -> None:
    """A public condition chooses a value that the record decides."""
    outcome = coins.release(0, Laplace(scale=1), site="outcome")
    limit = outcome if outcome > 0 else -outcome
    coins.reveal("a" if data[0] < limit else "b", site="shown")


@hostile("G7", [0], [1], [Within(0, 1), Within(0, 0)])
def sum_of_outcomes_and_records(coins: Coins, data: Any) -> None:
    """sum adds the outcome and the record to 0, and the outcome is subtracted again."""
    outcome = coins.release(0, Laplace(scale=1), site="outcome")
    coins.reveal(sum([outcome, data[0]]) - outcome, site="shown")


@hostile("G7", [0], [1], [Within(0, 1), False])
def outcome_equals_outcome_plus_record(coins: Coins, data: Any) -> None:
    """o == o + x."""
    outcome = coins.release(0, Laplace(scale=1), site="outcome")
    coins.reveal(bool(outcome < outcome + data[0]), site="shown")
