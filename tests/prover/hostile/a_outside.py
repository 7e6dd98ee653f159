"""Behaviour that no exploration can observe: state between runs, other randomness, other code."""

from __future__ import annotations

import functools
import random
from typing import Any

from dpaudit.coins import Coins
from dpaudit.distributions import Laplace
from tests.prover.hostile.row import hostile
from tests.prover.oracle import Within

_RUNS: list[int] = []
_NOISE: list[Any] = []
_COUNT = {"runs": 0}


@hostile("A", [0], [1], None)
def changes_with_its_runs(coins: Coins, data: Any) -> None:
    """The program is harmless in the exploration, and shows the record from the eighth run on."""
    _RUNS.append(1)
    coins.reveal(data[0] + 0 if len(_RUNS) > 7 else "nothing", site="shown")


@hostile("A", [0], [1], None)
def counts_its_runs_in_a_dictionary(coins: Coins, data: Any) -> None:
    """The same count in a dictionary."""
    _COUNT["runs"] = _COUNT["runs"] + 1
    coins.reveal(data[0] + 0 if _COUNT["runs"] > 7 else "nothing", site="shown")


@hostile("A", [0], [1], None)
def tosses_a_coin_of_its_own(coins: Coins, data: Any) -> None:
    """Other randomness than the coins shows the record once in a hundred thousand runs."""
    coins.reveal(data[0] + 0 if random.random() < 1e-5 else "nothing", site="shown")


@hostile("A", [0], [1], None)
def keeps_noise_between_runs(coins: Coins, data: Any) -> None:
    """The noise of the first run is reused, so that the record is shown with known noise."""
    if not _NOISE:
        _NOISE.append(coins.draw(Laplace(scale=1), site="n"))
    coins.reveal(bool(data[0] + _NOISE[0] >= 0), site="shown")


def helper(value: Any) -> bool:
    """Compare two values outside the program."""
    return bool(value > 0)


@hostile("A", [0], [1], [False])
def asks_a_helper(coins: Coins, data: Any) -> None:
    """A global function compares."""
    coins.reveal(helper(data[0]), site="shown")


@hostile("A", [0], [1], [False])
def maps_a_helper(coins: Coins, data: Any) -> None:
    """The same comparison through map and any."""
    coins.reveal(any(map(helper, data)), site="shown")


def inner(coins: Coins, data: Any, *, scale: Any) -> None:
    """Return a program with a parameter."""
    coins.release(data[0], Laplace(scale=scale), site="shown")


partly = functools.partial(inner, scale="1/4")
partly.__doc__ = "A program that is a partial application: 4."
partly.__name__ = "partly"  # type: ignore[attr-defined]
hostile("A", [0], [1], [Within(high=0)], 3.9)(partly)


class Callable_:
    """A program that is an object, with loss 4."""

    __name__ = "callable_object"

    def __call__(self, coins: Coins, data: Any) -> None:
        coins.release(data[0], Laplace(scale="1/4"), site="shown")


hostile("A", [0], [1], [Within(high=0)], 3.9)(Callable_())


@hostile("A", [0], [1], [Within(high=0)], 3.9)
def draws_with_an_altered_distribution(coins: Coins, data: Any) -> None:
    """The scale of the distribution was altered after its construction."""
    distribution = Laplace(scale=4)
    object.__setattr__(distribution, "scale", distribution.scale / 16)
    coins.release(data[0], distribution, site="shown")


class Narrow(Laplace):
    """A distribution that draws other noise than it declares."""

    @property
    def drawn(self) -> Laplace:
        return Laplace(scale=self.scale / 16)


@hostile("A", [0], [1], None, 3.9)
def draws_from_a_subclass(coins: Coins, data: Any) -> None:
    """A subclass may sample differently. With a sixteenth of its scale, the loss is 4."""
    coins.release(data[0], Narrow(scale=4), site="shown")


@hostile("A", [0], [1], None)
def empties_the_data(coins: Coins, data: Any) -> None:
    """The program changes the caller's list, so that the next run reads other data."""
    if len(data) > 0:
        coins.reveal(bool(data.pop() > 0), site="shown")
    else:
        coins.reveal("nothing", site="shown")


@hostile("A", [0], [1], [False])
def reads_the_code_of_the_prover(coins: Coins, data: Any) -> None:
    """The program reads a symbol's form by a private name. Its text would be a constant."""
    form = getattr(data[0], "_form", None)
    coins.reveal(bool(data[0] > 0) if form is None else "a form", site="shown")
