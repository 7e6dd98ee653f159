"""Text that accepts a symbol but not a number, and names that are bound to other objects than they
suggest."""

# ruff: noqa: F507, UP031  (the programs format what no text has a place for)

from __future__ import annotations

import builtins
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from dpaudit.coins import Coins
from dpaudit.distributions import Bernoulli, Laplace
from tests.prover.hostile.row import ONE_REPLACED, hostile

BITS: dict[str, Any] = {"adjacency": ONE_REPLACED, "low": 0, "high": 1, "integers": True}


@hostile("A", [0], [1], None)
def formats_a_record(coins: Coins, data: Any) -> None:
    """Formatting text without places by a number raises, so that the crash depends on the record."""
    if data[0] > 0:
        "abc" % data[0]
    coins.reveal("end", site="shown")


@hostile("E", [0], [1], None, **BITS)
def formats_a_bit(coins: Coins, data: Any) -> None:
    """The same crash over enumerated data: the dataset (1) ends the proof."""
    if data[0] > 0:
        "abc" % data[0]
    coins.reveal("end", site="shown")


@hostile("A", [0], [1], None)
def formats_a_record_into_bytes(coins: Coins, data: Any) -> None:
    """Bytes are formatted in the same way as text."""
    if data[0] > 0:
        b"abc" % data[0]
    coins.reveal("end", site="shown")


@hostile("A", [0], [1], None)
def formats_a_record_in_place(coins: Coins, data: Any) -> None:
    """The in-place operator formats in the same way."""
    text = "abc"
    if data[0] > 0:
        text %= data[0]
    coins.reveal("end", site="shown")


@hostile("A", [0], [1], None)
def formats_a_release(coins: Coins, data: Any) -> None:
    """An outcome is also a number, so that the program always crashes after a release with too little
    noise."""
    if "abc" % coins.release(data[0], Laplace(scale=1), site="outcome") == "abc":
        coins.reveal("end", site="shown")
    else:
        coins.reveal(data[0], site="shown")


@hostile("A", [0], [1], None)
def reads_the_text_of_its_coins(coins: Coins, data: Any) -> None:
    """The class of the coins distinguishes a run from a proof."""
    coins.reveal(data[0] + 0 if "Sampl" in str(coins) else "end", site="shown")


@hostile("E", [0], [1], None, **BITS)
def reads_the_text_of_a_primitive(coins: Coins, data: Any) -> None:
    """The text of a method also names its object."""
    coins.reveal(data[0] + 0 if "Sampl" in f"{coins.draw}" else "end", site="shown")


def silent(*values: Any) -> int:
    """Return 0 as the maximum of symbols."""
    return 0 if type(values[0]).__name__ == "Private" else values[0]  # type: ignore[no-any-return]


def made(source: str, scope: dict[str, Any], why: str) -> Callable[..., Any]:
    """Return the function ``program`` that ``source`` defines in ``scope``."""
    exec(source, scope)
    program: Callable[..., Any] = scope["program"]
    program.__doc__ = why
    return program


SHOWS_THE_MAXIMUM = "def program(coins, data):\n    coins.reveal(max(data[0], 0), site='shown')\n"
CALLS_INSIDE = (
    "def program(coins, data):\n"
    "    larger = lambda x: max(x, 0)\n"
    "    coins.reveal(larger(data[0]), site='shown')\n"
)
OTHERS = {**vars(builtins), "max": silent}
MODULE = ModuleType("others")
vars(MODULE).update(OTHERS)


def renamed(program: Callable[..., Any], name: str) -> Callable[..., Any]:
    program.__name__ = name
    return program


hostile("A", [0], [1], None)(
    renamed(made(SHOWS_THE_MAXIMUM, {"__builtins__": OTHERS}, "Builtins of its own."), "builtins_of_its_own")
)
hostile("A", [0], [1], None)(
    renamed(made(SHOWS_THE_MAXIMUM, {"__builtins__": MODULE}, "The same, as a module."), "a_builtins_module")
)
_LATER: dict[str, Any] = {"__builtins__": vars(builtins)}
hostile("A", [0], [1], None)(
    renamed(
        made(CALLS_INSIDE, _LATER, "Changed after the definition: inner functions look there."),
        "builtins_that_change",
    )
)
_LATER["__builtins__"] = OTHERS


class Globals(dict[str, Any]):
    """Global names that depend on how they are looked up."""

    def __getitem__(self, name: str) -> Any:
        return silent if name == "max" else super().__getitem__(name)


_IN_GLOBALS = made(SHOWS_THE_MAXIMUM, {"__builtins__": builtins}, "")
_PROGRAM = FunctionType(_IN_GLOBALS.__code__, Globals(__builtins__=builtins), "globals_of_its_own")
_PROGRAM.__doc__ = "Global names in a dictionary of a class of its own."
hostile("A", [0], [1], None)(_PROGRAM)


class Peeks(Laplace):
    """A distribution by its module's name only."""

    __module__ = "dpaudit.distributions.continuous"

    def __new__(cls, value: Any) -> Any:
        return "end" if type(value).__name__ == "Private" else value


@hostile("A", [0], [1], None)
def calls_a_class_that_says_it_is_a_distribution(coins: Coins, data: Any) -> None:
    """The constructor of the class returns any object."""
    coins.reveal(Peeks(data[0]), site="shown")


class _Equal(type):
    def __eq__(cls, other: object) -> bool:
        return True

    def __hash__(cls) -> int:
        return hash(Laplace)


class EqualsADistribution(metaclass=_Equal):
    """A class that is equal to every other object."""

    def __new__(cls, value: Any) -> Any:
        return "end" if type(value).__name__ == "Private" else value


@hostile("A", [0], [1], None)
def calls_a_class_that_equals_a_distribution(coins: Coins, data: Any) -> None:
    """A class can redefine equality."""
    coins.reveal(EqualsADistribution(data[0]), site="shown")


def _with_an_empty_cell() -> Callable[..., Any]:
    def names_what_has_no_value(coins: Coins, data: Any) -> None:
        """The program crashes on all data, because a name of the enclosing function is bound too late."""
        coins.reveal(data[0] + later, site="shown")

    if not _with_an_empty_cell.__name__:
        later = 1
    return names_what_has_no_value


hostile("A", [0], [1], None)(_with_an_empty_cell())


@hostile("H11", [0], [1], None)
def draws_while_it_is_one(coins: Coins, data: Any) -> None:
    """An unbounded loop without data, after which the record is shown."""
    while coins.draw(Bernoulli(p="1/2"), site="again") == 1:
        pass
    coins.reveal(data[0], site="shown")
