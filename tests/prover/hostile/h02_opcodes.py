"""H 2: handlers, stores outside the frame, inner code and identity tests are refused before any run."""

from __future__ import annotations

from typing import Any

from dpaudit.coins import Coins
from dpaudit.distributions import Laplace
from tests.prover.hostile.row import hostile
from tests.prover.oracle import Within

LOW = Within(high=0)


@hostile("H2", [1], [0], ["yes"])
def swallows_a_refusal(coins: Coins, data: Any) -> None:
    """A handler that swallows the refusal shows anything."""
    try:
        text = "yes" if int(data[0]) > 0 else "no"
    except Exception:
        text = "constant"
    coins.reveal(text, site="shown")


@hostile("H2", [1], [0], ["yes"])
def swallows_everything(coins: Coins, data: Any) -> None:
    """A bare handler also swallows stop signals."""
    text = "constant"
    try:  # noqa: SIM105
        text = "yes" if data[0] > 0 else "no"
    except BaseException:
        pass
    coins.reveal(text, site="shown")


@hostile("H2", [0, 1], [1, 0], [LOW, LOW], 0.0, every=True)
def swallows_in_the_loop(coins: Coins, data: Any) -> None:
    """A handler inside the loop body."""
    for record in data:
        try:
            coins.release(record, Laplace(scale=1), site="shown")
        except BaseException:
            coins.reveal("none", site="shown")


@hostile("H2", [0], [1], [Within(0, 0)])
def leaves_by_finally(coins: Coins, data: Any) -> Any:
    """A return in a finally clause drops the exception that stopped the run."""
    value = 0
    try:
        value = data[0] + 0
    finally:
        coins.reveal(value, site="shown")


@hostile("H2", [0], [1], [Within(0, 0)])
def inner_function_shows(coins: Coins, data: Any) -> None:
    """An inner function returns the record."""

    def inner(value: Any) -> None:
        coins.reveal(value + 0, site="shown")

    inner(data[0])


@hostile("H2", [0, 0], [1, 1], [Within(0, 0), Within(0, 0)], every=True)
def generator_shows(coins: Coins, data: Any) -> None:
    """A generator keeps a separate frame."""
    for value in (record + 0 for record in data):
        coins.reveal(value, site="shown")


@hostile("H2", [0], [1], [Within(0, 0)])
def class_shows(coins: Coins, data: Any) -> None:
    """A class has an attribute."""

    class Box:
        value = data[0]

    coins.reveal(Box.value + 0, site="shown")


@hostile("H2", [0], [1], ["zero"])
def pattern_matches(coins: Coins, data: Any) -> None:
    """A literal pattern compares by equality."""
    match data[0]:
        case 0:
            coins.reveal("zero", site="shown")
        case _:
            coins.reveal("other", site="shown")


@hostile("H2", [0], [1], ["same"])
def identity_of_a_small_number(coins: Coins, data: Any) -> None:
    """Equal small integers are identical, but a symbol is identical to no number."""
    zero = 0
    coins.reveal("same" if data[0] is zero else "other", site="shown")


@hostile("H2", [0], [1], ["0"])
def formats_through_a_method(coins: Coins, data: Any) -> None:
    """A method of text is not an operator of the symbol."""
    coins.reveal("{}".format(data[0]), site="shown")  # noqa: UP032


@hostile("H2", [0], [1], [0])
def asks_for_an_attribute(coins: Coins, data: Any) -> None:
    """The program reads an attribute of a number."""
    coins.reveal(data[0].numerator, site="shown")


@hostile("H2", [0], [1], ["plain"])
def probes_the_type(coins: Coins, data: Any) -> None:
    """The program detects the prover by the record's type and behaves differently."""
    if isinstance(data[0], int | float):
        coins.reveal("plain" if data[0] == 0 else "other", site="shown")
    else:
        coins.reveal("symbol", site="shown")


@hostile("H2", [0], [1], ["plain"])
def probes_an_attribute(coins: Coins, data: Any) -> None:
    """The program detects the prover by hasattr."""
    if hasattr(data[0], "bit_length"):
        coins.reveal("plain" if data[0] == 0 else "other", site="shown")
    else:
        coins.reveal("symbol", site="shown")


@hostile("H2", [0], [1], ["plain"])
def probes_the_coins(coins: Coins, data: Any) -> None:
    """The program detects the prover by the name of the coins' class."""
    if "rov" not in type(coins).__name__ and "ymbol" not in type(coins).__name__:
        coins.reveal("plain" if data[0] == 0 else "other", site="shown")
    else:
        coins.reveal("symbol", site="shown")


@hostile("H2", [0], [1], [Within(0, 0)], every=False)
def probes_the_stack(coins: Coins, data: Any) -> None:
    """The program detects the prover by the modules on the stack."""
    import sys

    frame, found = sys._getframe(), False
    while frame.f_back is not None:
        frame = frame.f_back
        found = found or "dpaudit.prover" in str(frame.f_globals.get("__name__"))
    coins.reveal("symbol" if found else data[0] + 0, site="shown")
