"""Section 6: declared functions of public values, and finite data, which run on plain numbers."""

from __future__ import annotations

from typing import Any

from dpaudit.coins import Coins
from dpaudit.distributions import Laplace
from dpaudit.prover import post
from tests.prover.hostile.row import ONE_REPLACED, hostile
from tests.prover.oracle import Within

BITS: dict[str, Any] = {"adjacency": ONE_REPLACED, "low": 0, "high": 1, "integers": True}
_CALLS: list[int] = []


def sign(value: Any) -> int:
    return 1 if value > 0 else 2


@hostile("6", [0], [1], None)
def choices_in_another_order(coins: Coins, data: Any) -> None:
    """One question with its choices in two orders: a remembered position gives two values."""
    outcome = coins.release(0, Laplace(scale=1), site="outcome")
    one = post(sign, outcome, choices=[1, 2])
    two = post(sign, outcome, choices=[2, 1])
    coins.reveal(data[0] + 0 if one == two else "differ", site="shown")


@hostile("6", [0], [1], None)
def two_functions_of_one_name(coins: Coins, data: Any) -> None:
    """Two functions of one name are different functions, whose answers always differ."""
    outcome = coins.release(0, Laplace(scale=1), site="outcome")
    one = post(lambda value: 1, outcome, choices=[1, 2])
    two = post(lambda value: 2, outcome, choices=[1, 2])
    coins.reveal("same" if one == two else data[0] + 0, site="shown")


@hostile("6", [0], [1], None)
def declared_function_of_a_record(coins: Coins, data: Any) -> None:
    """A declared function gets a private argument."""
    coins.reveal(post(sign, data[0], choices=[1, 2]), site="shown")


@hostile("6", [0], [1], None)
def declared_function_with_a_record_inside(coins: Coins, data: Any) -> None:
    """A declared function closes over a private value."""
    outcome = coins.release(0, Laplace(scale=1), site="outcome")
    coins.reveal(post(lambda value: 1 if data[0] > 0 else 2, outcome, choices=[1, 2]), site="shown")


@hostile("E", [0], [1], None, **BITS)
def bits_change_with_runs(coins: Coins, data: Any) -> None:
    """State between runs is not allowed for finite data either."""
    _CALLS.append(1)
    coins.reveal(data[0] if len(_CALLS) > 7 else "nothing", site="shown")


@hostile("E", [0], [1], None, **BITS)
def bits_know_their_coins(coins: Coins, data: Any) -> None:
    """The program detects the class of its coins."""
    name = type(coins).__name__
    coins.reveal(data[0] if name in ("Sampler", "Recorder") else "nothing", site="shown")


@hostile("E", [0], [1], [Within(0, 0)], **BITS)
def bits_shown(coins: Coins, data: Any) -> None:
    """A bit is shown without noise."""
    coins.reveal(data[0], site="shown")


@hostile("E", [0], [1], ["int"], **BITS)
def bits_by_text(coins: Coins, data: Any) -> None:
    """Two constants that differ in type are shown for the bit."""
    coins.reveal("int" if data[0] == 0 else 0, site="shown")


@hostile("E", [0], [1], [], **BITS)
def bits_by_silence(coins: Coins, data: Any) -> None:
    """Nothing shown, or something."""
    if data[0] == 1:
        coins.reveal("one", site="shown")


@hostile("E", [0], [1], ["end"], **BITS)
def bits_by_a_crash(coins: Coins, data: Any) -> None:
    """A division by the bit's complement."""
    coins.reveal("end" if 1 // (1 - data[0]) > 0 else "never", site="shown")
