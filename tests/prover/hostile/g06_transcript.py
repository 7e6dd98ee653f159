"""G 6: an output is an ordered list of typed events. A difference in type or order is a difference."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dpaudit.coins import Coins
from dpaudit.distributions import Laplace
from tests.prover.hostile.row import hostile
from tests.prover.oracle import Within


@hostile("G6", [0], [1], [True])
def truth_or_its_text(coins: Coins, data: Any) -> None:
    """True and "True" were once equal in the output."""
    coins.reveal(True if data[0] <= 0 else "True", site="shown")


@hostile("G6", [0], [1], [1])
def one_or_true(coins: Coins, data: Any) -> None:
    """1 == True, but they print differently."""
    coins.reveal(1 if data[0] <= 0 else True, site="shown")


@hostile("G6", [0], [1], [False])
def false_or_zero(coins: Coins, data: Any) -> None:
    """False == 0."""
    coins.reveal(False if data[0] <= 0 else 0, site="shown")


@hostile("G6", [0], [1], ["1"])
def number_or_its_text(coins: Coins, data: Any) -> None:
    """1 and "1"."""
    coins.reveal("1" if data[0] <= 0 else 1, site="shown")


@hostile("G6", [0], [1], [1])
def integer_or_float(coins: Coins, data: Any) -> None:
    """1 and 1.0 print differently."""
    coins.reveal(1 if data[0] <= 0 else 1.0, site="shown")


@hostile("G6", [0], [1], [None])
def none_or_its_text(coins: Coins, data: Any) -> None:
    """None and "None"."""
    coins.reveal(None if data[0] <= 0 else "None", site="shown")


@hostile("G6", [0], [1], [""])
def empty_text_or_nothing(coins: Coins, data: Any) -> None:
    """Showing an empty text is not silence."""
    if data[0] <= 0:
        coins.reveal("", site="shown")


@hostile("G6", [0], [1], ["a", "b"])
def order_of_constants(coins: Coins, data: Any) -> None:
    """The same two constants in the other order."""
    for text in ("a", "b") if data[0] <= 0 else ("b", "a"):
        coins.reveal(text, site="shown")


@hostile("G6", [0], [1], ["ab"])
def one_text_or_two(coins: Coins, data: Any) -> None:
    """Two lists of texts join to the same text."""
    if data[0] <= 0:
        coins.reveal("ab", site="shown")
    else:
        coins.reveal("a", site="shown")
        coins.reveal("b", site="shown")


@hostile("G6", [0], [1], ["tuple of 2", "a", "b"])
def pair_or_two(coins: Coins, data: Any) -> None:
    """A pair differs from its two elements shown one by one."""
    if data[0] <= 0:
        coins.reveal(("a", "b"), site="shown")
    else:
        coins.reveal("a", site="shown")
        coins.reveal("b", site="shown")


@hostile("G6", [0], [1], ["list of 1", 1])
def list_or_tuple(coins: Coins, data: Any) -> None:
    """[1] and (1,)."""
    coins.reveal([1] if data[0] <= 0 else (1,), site="shown")


@hostile("G6", [0], [1], ["tuple of 2", "tuple of 1", 1, 2])
def nesting(coins: Coins, data: Any) -> None:
    """((1,), 2) and (1, (2,)) flatten alike."""
    coins.reveal(((1,), 2) if data[0] <= 0 else (1, (2,)), site="shown")


@hostile("G6", [0], [1], [Within()])
def outcome_or_none(coins: Coins, data: Any) -> None:
    """One path has an outcome, the other shows nothing."""
    if data[0] <= 0:
        coins.release(0, Laplace(scale=1), site="shown")


@hostile("G6", [0], [1], ["a", Within()])
def outcome_before_or_after(coins: Coins, data: Any) -> None:
    """A constant before the outcome, or after it."""
    if data[0] <= 0:
        coins.reveal("a", site="text")
        coins.release(0, Laplace(scale=1), site="shown")
    else:
        coins.release(0, Laplace(scale=1), site="shown")
        coins.reveal("a", site="text")


@hostile("G6", [0], [1], ["form"])
def a_word_for_a_form(coins: Coins, data: Any) -> None:
    """A text that a prover could use to mark a shown form is shown instead of a form."""
    if data[0] <= 0:
        coins.reveal("form", site="shown")
    else:
        coins.reveal(coins.draw(Laplace(scale=1), site="noise"), site="shown")


@hostile("G6", [0], [1], ["outcome"])
def a_word_for_an_outcome(coins: Coins, data: Any) -> None:
    """A text that a prover could use to mark an outcome is shown instead of an outcome."""
    if data[0] <= 0:
        coins.reveal("outcome", site="shown")
    else:
        coins.release(0, Laplace(scale=1), site="shown")


@hostile("G6", [0], [1], ["a", "a"])
def once_or_twice(coins: Coins, data: Any) -> None:
    """The same constant once or twice."""
    coins.reveal("a", site="shown")
    if data[0] <= 0:
        coins.reveal("a", site="shown")


@hostile("G6", [0], [1], ["a"])
def shown_or_returned_too(coins: Coins, data: Any) -> Any:
    """A returned text is one more event."""
    coins.reveal("a", site="shown")
    return None if data[0] <= 0 else "a"


@hostile("G6", [0], [1], ["a", None, "b"])
def none_between(coins: Coins, data: Any) -> None:
    """A shown None takes a position."""
    coins.reveal("a", site="shown")
    if data[0] <= 0:
        coins.reveal(None, site="shown")
    coins.reveal("b", site="shown")


@hostile("G6", [0], [1], ["1/2"])
def fraction_or_its_text(coins: Coins, data: Any) -> None:
    """1/2 and "1/2"."""
    coins.reveal("1/2" if data[0] <= 0 else Fraction(1, 2), site="shown")


@hostile("G6", [0], [1], [Within(0, 1), Within(5, 6)], 8.99)
def outcomes_exchanged(coins: Coins, data: Any) -> None:
    """Two outcomes with their values exchanged."""
    values = (0, 5) if data[0] <= 0 else (5, 0)
    for value in values:
        coins.release(value, Laplace(scale=1), site="shown")


@hostile("G6", [0], [1], [0.0])
def zero_or_minus_zero(coins: Coins, data: Any) -> None:
    """0.0 and -0.0 print differently, and the oracle distinguishes them by their text."""
    coins.reveal(0.0 if data[0] <= 0 else -0.0, site="shown")


@hostile("G6", [0], [1], [Within(0, 1), Within(5, 6)], 8.9)
def shows_outcomes_exchanged(coins: Coins, data: Any) -> None:
    """Outcomes are equal on both inputs only if their values have the same order."""
    first = coins.draw(Laplace(scale=1), site="one")
    second = 5 + coins.draw(Laplace(scale=1), site="two")
    for value in (first, second) if data[0] <= 0 else (second, first):
        coins.reveal(value + 0, site="shown")


@hostile("G6", [0], [1], None)
def shows_another_outcome_again(coins: Coins, data: Any) -> None:
    """The record decides which of two outcomes is shown again."""
    one = coins.release(0, Laplace(scale=1), site="one")
    two = coins.release(0, Laplace(scale=1), site="two")
    coins.reveal(one if data[0] <= 0 else two, site="again")
    coins.reveal("public", site="end")


@hostile("G6", [0], [1], None)
def yields_before_or_after(coins: Coins, data: Any) -> Any:
    """The record decides whether a generator reveals "b" before or after its yielded value."""
    if data[0] <= 0:
        coins.reveal("b", site="shown")
        yield "a"
    else:
        yield "a"
        coins.reveal("b", site="shown")


@hostile("G6", [0], [1], None)
def returns_from_a_generator(coins: Coins, data: Any) -> Any:
    """The caller of a generator sees its return value."""
    yield "a"
    return data[0] > 0
