"""Play an algorithm against an environment, and release its decisions.

An algorithm is a *strategy*: a generator that yields ``(arm, count)`` and is sent the batch of those pulls.
It knows no horizon: the player cuts the last run at the end of the environment and does not resume the
generator, so that a shorter horizon gives a prefix. Nothing is released for a block that the horizon cuts,
nor for a block that it just completes.

The adversary sees one arm per round, hence no difference between a run of 5 pulls and runs of 2 and 3. The
player therefore releases *maximal* runs of equal arms: ``coins.reveal((arm, count), site="pull", to=PUBLIC)``
when the arm changes and at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from numpy.typing import NDArray

from dpaudit.coins.base import Coins, Program
from dpaudit.core.errors import MechanismError
from dpaudit.core.views import PUBLIC
from dpaudit.reference.algorithms.environment import Batch, Environment, PotentialOutcomes, RewardVectors

__all__ = ["Decisions", "Pulls", "Strategy", "bandit_program", "full_information_program", "play"]

#: Yields (arm, count), count None for "from now on"; is sent the batch. Under replicates the arm is an array
#: (R,).
Pulls = Generator[tuple[Any, int | None], Batch, None]
Strategy = Callable[[Coins, int], Pulls]

#: Maximal runs of equal arms, (arm, count), in order. Under replicates one entry per request, with arms of
#: shape (R,).
Decisions = tuple[tuple[Any, int], ...]


def play(strategy: Strategy, coins: Coins, environment: Environment) -> Decisions:
    """Run ``strategy(coins, n_arms)`` until the environment's horizon and return its decisions.

    Raises ``MechanismError`` if the strategy stops before the horizon, ``InvalidParameterError`` if it pulls
    an arm or count out of range.
    """
    journal = _Journal(coins) if coins.replicates is None else _ReplicatesJournal(coins)
    left = environment.horizon
    pulls = strategy(coins, environment.n_arms)
    try:
        arm, count = next(pulls)
        while True:
            played = left if count is None else min(count, left)
            batch = environment.pull(arm, played)
            journal.note(arm, played)
            left -= played
            if not left:
                return journal.close()
            arm, count = pulls.send(batch)
    except StopIteration as stop:
        raise MechanismError(
            f"a strategy must play until the horizon, got an end with {left} rounds left."
        ) from stop
    finally:
        pulls.close()


class _Journal:
    """Merges consecutive runs of one arm and releases each maximal run once."""

    def __init__(self, coins: Coins) -> None:
        self._coins = coins
        self._runs: list[tuple[Any, int]] = []
        self._open: tuple[Any, int] | None = None

    def note(self, arm: Any, count: int) -> None:
        if self._open is not None and self._open[0] == arm:
            self._open = (arm, self._open[1] + count)
        else:
            if self._open is not None:
                self._show(self._open)
            self._open = (arm, count)

    def close(self) -> Decisions:
        if self._open is not None:
            self._show(self._open)
        return tuple(self._runs)

    def _show(self, run: tuple[Any, int]) -> None:
        self._runs.append(self._coins.reveal(run, site="pull", to=PUBLIC))


class _ReplicatesJournal(_Journal):
    """Release each run at once: the replicates' arms change at different times, so there is no run to
    merge.
    """

    def note(self, arm: Any, count: int) -> None:
        self._show((arm, count))


def bandit_program(strategy: Strategy) -> Program:
    """Run the audit's program: ``data`` is an array (T, K) of potential outcomes, the result the
    decisions.
    """

    def program(coins: Coins, data: NDArray[Any]) -> Decisions:
        return play(strategy, coins, PotentialOutcomes(data))

    return program


def full_information_program(strategy: Strategy) -> Program:
    """Run the audit's program: ``data`` is an array (T, K) of reward vectors, the result the decisions."""

    def program(coins: Coins, data: NDArray[Any]) -> Decisions:
        return play(strategy, coins, RewardVectors(data))

    return program
