"""What a mutant is: a broken variant of a reference algorithm, and how it is caught.

A mutant is the reference with one part replaced, by a mistake that somebody could make. ``caught`` is the
least that an audit must find:

* ``leak``: something shown depends on the data without noise (a raw value, a raw branch, noise used twice);
* ``accounting``: one record touches more releases than declared, or pays more for them;
* ``refuted``: the loss exceeds the claim in the adversary's own view, the decisions.

Every program takes (coins, data), with data (T, K) of potential outcomes or of reward vectors, and claims
``EPSILON``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from dpaudit.coins import Coins, Program
from dpaudit.reference.algorithms.environment import PotentialOutcomes, RewardVectors
from dpaudit.reference.algorithms.play import Decisions, Strategy, play

__all__ = ["EPSILON", "Catch", "Mutant", "bandit", "full_information"]

EPSILON = 1
Catch = Literal["leak", "accounting", "refuted"]


class Mutant(NamedTuple):
    """A broken program and the least that an audit must find."""

    program: Program
    caught: Catch


def bandit(make: Callable[[], Strategy]) -> Program:
    """A program that builds its strategy anew in every run: mutants keep state."""

    def program(coins: Coins, data: Any) -> Decisions:
        return play(make(), coins, PotentialOutcomes(data))

    return program


def full_information(make: Callable[[], Strategy]) -> Program:
    """The same for reward vectors."""

    def program(coins: Coins, data: Any) -> Decisions:
        return play(make(), coins, RewardVectors(data))

    return program
