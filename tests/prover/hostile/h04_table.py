"""H 4: only listed operations combine symbols, and no reflected operator makes a value public."""

from __future__ import annotations

from typing import Any

from dpaudit.coins import Coins
from dpaudit.distributions import Laplace
from tests.prover.hostile.row import hostile
from tests.prover.oracle import Within


@hostile("H4", [0, 0], [1, 1], [Within(0, "1/10"), Within(0, "1/10")] * 2, every=True)
def adds_outcomes_and_records(coins: Coins, data: Any) -> None:
    """Public + private inside the loop."""
    for record in data:
        outcome = coins.release(record, Laplace(scale=1), site="outcome")
        coins.reveal(outcome + record, site="shown")


@hostile("H4", [0, 0], [1, 1], [Within("1/2", "3/4"), True] * 2, every=True)
def compares_outcomes_and_records(coins: Coins, data: Any) -> None:
    """Public >= private inside the loop is a fork that depends on the record."""
    for record in data:
        outcome = coins.release(0 * record, Laplace(scale=1), site="outcome")
        coins.reveal(bool(outcome >= record), site="shown")


@hostile("H4", [1], [0], ["list of 1", 0])
def multiplies_a_list(coins: Coins, data: Any) -> None:
    """list * record repeats."""
    coins.reveal([0] * data[0], site="shown")


@hostile("H4", [1], [0], ["a"])
def multiplies_a_text(coins: Coins, data: Any) -> None:
    """record * text, reflected."""
    coins.reveal(data[0] * "a", site="shown")


@hostile("H4", [0], [1], [Within("1/2", "3/4"), Within(0, 0)])
def larger_of_both_negated(coins: Coins, data: Any) -> None:
    """max(-o, x) returns the record."""
    outcome = coins.release(0, Laplace(scale=1), site="outcome")
    coins.reveal(max(-outcome, data[0]), site="shown")


@hostile("H4", [0], [1], [Within("1/2", "3/4"), Within(0, 0)])
def sorts_both(coins: Coins, data: Any) -> None:
    """A sort of public and private values: the smallest is shown."""
    outcome = coins.release(0, Laplace(scale=1), site="outcome")
    coins.reveal(sorted([outcome, data[0]])[0], site="shown")


@hostile("H4", [0], [1], [Within(0, "1/2"), Within(0, 0)])
def sums_a_mixed_list(coins: Coins, data: Any) -> None:
    """sum of a list with both, and the outcome subtracted again."""
    outcome = coins.release(0, Laplace(scale=1), site="outcome")
    coins.reveal(sum([data[0], outcome]) - outcome, site="shown")


@hostile("H4", [0], [1], [Within("1/2", "3/4"), "equal"])
def running_total_against_public_limit(coins: Coins, data: Any) -> None:
    """A private total is compared with a public limit, so that the branch depends on the record."""
    limit = coins.release(0, Laplace(scale=1), site="limit")
    total = 0 + data[0]
    coins.reveal("equal" if not total >= limit else "over", site="shown")
