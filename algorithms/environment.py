"""Environments: the source of an algorithm's observations.

They are not the mechanism: they own their randomness and have no access to the coins.

An environment answers ``pull(arm, count)`` with a *lazy batch*: nothing is drawn until it is read. ``sum()``
is one draw of the sum's distribution, and ``values()`` agrees with a sum already drawn. A stretch of 10^9
equal pulls costs one Binomial draw, or nothing if nobody reads it.

Simulated: ``BernoulliArms`` (bandit), ``BernoulliVectors`` (full information). Under audit the environment is
data, an array (T, K) of potential outcomes, so that every pull has an answer: ``PotentialOutcomes`` (bandit),
``RewardVectors`` (full information).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError

__all__ = [
    "Batch",
    "BernoulliArms",
    "BernoulliVectors",
    "Clock",
    "Environment",
    "GivenRewards",
    "PotentialOutcomes",
    "RewardVectors",
    "checked_rewards",
]

Floats = NDArray[np.float64]


class Batch(Protocol):
    """Observations of a stretch of equal pulls: scalars (bandit) or vectors of K (full information)."""

    @property
    def rounds(self) -> range:
        """Return the rounds of the batch, counted from 0."""

    def sum(self) -> Any:
        """Return the sum over the batch: a float (bandit), or shape (K,) or (R, K) (full information)."""

    def values(self) -> Any:
        """Return one row per round, in order; the rows add up to ``sum()``."""


class Environment(Protocol):
    """``n_arms`` arms for ``horizon`` rounds. ``pull`` advances time by ``count`` rounds."""

    @property
    def n_arms(self) -> int: ...

    @property
    def horizon(self) -> int: ...

    def pull(self, arm: Any, count: int) -> Batch: ...


class Clock:
    """Base of environments: counts rounds, and rejects arms out of range and pulls beyond the horizon."""

    def __init__(self, n_arms: int, horizon: int) -> None:
        if n_arms < 1:
            raise InvalidParameterError(f"an environment must have at least one arm, got {n_arms}.")
        if horizon < 1:
            raise InvalidParameterError(f"horizon must be 1 or more, got {horizon}.")
        self.n_arms, self.horizon = n_arms, horizon
        self._arms = range(n_arms)
        self.rounds_played = 0

    def _advance(self, count: int) -> range:
        left = self.horizon - self.rounds_played
        if not 1 <= count <= left:
            raise InvalidParameterError(
                f"count must be in 1..{left} (the rounds left), got {count}; end the run at the horizon."
            )
        start = self.rounds_played
        self.rounds_played = start + count
        return range(start, start + count)

    def _check_arm(self, arm: int) -> None:
        if arm not in self._arms:
            raise InvalidParameterError(f"arm must be in 0..{self.n_arms - 1}, got {arm}.")


def _checked_means(means: Sequence[float]) -> Floats:
    array = np.array(means, dtype=np.float64)
    if array.ndim != 1 or not np.all((array >= 0) & (array <= 1)):
        raise InvalidParameterError(f"means must be a list of numbers in [0, 1], got {means!r}.")
    return array


def checked_rewards(rewards: NDArray[Any]) -> Floats:
    """Return a copy of an array (T, K) as floats; raises ``InvalidParameterError`` off [0, 1]."""
    array = np.array(rewards, dtype=np.float64)
    if array.ndim != 2 or not np.all((array >= 0) & (array <= 1)):
        raise InvalidParameterError(f"rewards must be an array (T, K) in [0, 1], got shape {array.shape}.")
    return array


class _DrawnBatch:
    """Bernoulli rewards of one arm, drawn when read."""

    __slots__ = ("_mean", "_rng", "_sum", "_values", "rounds")

    def __init__(self, rounds: range, mean: float, rng: np.random.Generator) -> None:
        self.rounds, self._mean, self._rng = rounds, mean, rng
        self._sum: float | None = None
        self._values: Floats | None = None

    def sum(self) -> float:
        if self._sum is None:
            self._sum = float(self._rng.binomial(len(self.rounds), self._mean))
        return self._sum

    def values(self) -> Floats:
        if self._values is None:
            # Given their sum, independent coins are a uniformly random arrangement of that many ones.
            ones = int(self.sum())
            self._values = np.zeros(len(self.rounds))
            self._values[self._rng.permutation(len(self.rounds))[:ones]] = 1.0
        return self._values


class BernoulliArms(Clock):
    """Independent Bernoulli arms under bandit feedback. ``rng`` belongs to the environment."""

    def __init__(self, means: Sequence[float], rng: np.random.Generator, *, horizon: int) -> None:
        self.means = _checked_means(means)
        super().__init__(len(self.means), horizon)
        self._means: list[float] = self.means.tolist()
        self._rng = rng

    def pull(self, arm: int, count: int) -> _DrawnBatch:
        self._check_arm(arm)
        return _DrawnBatch(self._advance(count), self._means[arm], self._rng)


class _GivenBatch:
    """Reward vectors."""

    __slots__ = ("_rows", "rounds")

    def __init__(self, rounds: range, rows: Floats) -> None:
        self.rounds, self._rows = rounds, rows

    def sum(self) -> Any:
        return self._rows.sum(axis=0)

    def values(self) -> Floats:
        return self._rows


class GivenRewards(_GivenBatch):
    """Rewards of one arm."""

    __slots__ = ()

    def sum(self) -> float:
        return float(self._rows.sum())


class PotentialOutcomes(Clock):
    """Given rewards (T, K) in [0, 1] under bandit feedback: round t of arm j gives ``rewards[t, j]``.

    Sums are exact if the rewards are dyadic with few bits, as audit data are.
    """

    def __init__(self, rewards: NDArray[Any]) -> None:
        self._rewards = checked_rewards(rewards)
        super().__init__(self._rewards.shape[1], self._rewards.shape[0])

    def pull(self, arm: int, count: int) -> GivenRewards:
        self._check_arm(arm)
        rounds = self._advance(count)
        return GivenRewards(rounds, self._rewards[rounds.start : rounds.stop, arm])


class RewardVectors(Clock):
    """Given reward vectors (T, K) in [0, 1]: the whole vector is seen, whatever arm is played."""

    def __init__(self, rewards: NDArray[Any]) -> None:
        self._rewards = checked_rewards(rewards)
        super().__init__(self._rewards.shape[1], self._rewards.shape[0])

    def epoch(self, count: int) -> _GivenBatch:
        """Return the next ``count`` reward vectors; ``sum()`` has shape (K,)."""
        rounds = self._advance(count)
        return _GivenBatch(rounds, self._rewards[rounds.start : rounds.stop])

    def pull(self, arm: Any, count: int) -> _GivenBatch:
        return self.epoch(count)


class _DrawnVectors:
    """Bernoulli reward vectors with independent coordinates, drawn when read."""

    __slots__ = ("_means", "_replicates", "_rng", "_sum", "_values", "rounds")

    def __init__(
        self, rounds: range, means: Floats, rng: np.random.Generator, replicates: int | None
    ) -> None:
        self.rounds, self._means, self._rng, self._replicates = rounds, means, rng, replicates
        self._sum: Floats | None = None
        self._values: Floats | None = None

    def sum(self) -> Floats:
        if self._sum is None:
            outer = () if self._replicates is None else (self._replicates,)
            draws = self._rng.binomial(len(self.rounds), self._means, size=(*outer, len(self._means)))
            self._sum = draws.astype(np.float64)
        return self._sum

    def values(self) -> Floats:
        """Return shape (count, K), or (count, R, K)."""
        if self._values is None:
            total = self.sum()
            ranks = self._rng.random((len(self.rounds), *total.shape)).argsort(axis=0).argsort(axis=0)
            self._values = (ranks < total).astype(np.float64)
        return self._values


class BernoulliVectors(Clock):
    """Independent Bernoulli coordinates, all seen; ``replicates=R`` adds a leading axis to every sum."""

    def __init__(
        self, means: Sequence[float], rng: np.random.Generator, *, horizon: int, replicates: int | None = None
    ) -> None:
        self.means = _checked_means(means)
        super().__init__(len(self.means), horizon)
        self._rng, self._replicates = rng, replicates

    def epoch(self, count: int) -> _DrawnVectors:
        """Return the next ``count`` reward vectors; ``sum()`` has shape (K,), or (R, K)."""
        return _DrawnVectors(self._advance(count), self.means, self._rng, self._replicates)

    def pull(self, arm: Any, count: int) -> _DrawnVectors:
        return self.epoch(count)
