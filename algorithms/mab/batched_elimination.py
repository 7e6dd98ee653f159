"""Private batched successive elimination: the one loop behind every distributed variant.

Chowdhury and Zhou (ICLR 2023), Algorithm 1. Batch b pulls every active arm l(b) times, each pull by a new
user. One protocol run per arm turns these rewards into a noisy sum. Arms whose upper confidence bound falls
below the best lower bound are eliminated. Decisions use the last batch only ("forgetting").

``Elimination`` is the decision part, a state machine on arrays (..., K) without randomness. It is driven by
``strategy`` (one run, through the coins) and by the simulator of ``distributed_regret`` (many runs at once).

Not printed in the paper, chosen here: a batch of an arm that the horizon cuts is never aggregated. The last
arm left is played to the end. l(b) = ceil(η^b) for a growth η that is not an integer. If users drop out, the
sum is divided by the number of users present, and an arm without users present neither can be eliminated nor
eliminates others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.coins.base import Coins
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, exact, probability
from dpaudit.reference.algorithms.environment import Batch
from dpaudit.reference.algorithms.play import Pulls, Strategy

__all__ = [
    "Elimination",
    "NoiseTail",
    "Protocols",
    "batch_length",
    "batch_lengths",
    "confidence_radius",
    "strategy",
]

Floats = NDArray[np.float64]

#: The protocol for a batch size, as ``mechanisms.batch_protocol.BatchProtocol``: from (coins, rewards) to the
#: noisy sum.
Protocols = Callable[[int], Callable[[Coins, Sequence[Any]], Any]]


@dataclass(frozen=True)
class NoiseTail:
    """Assumption 1: with probability 1 - 2p the noise in a decoded sum is at most
    ``sigma`` sqrt(log(2/p)) + ``h`` log(2/p)."""

    sigma: float
    h: float


def batch_length(batch: int, *, growth: ExactLike = 2) -> int:
    """Return l(b) = ceil(η^b) users of each active arm in batch ``batch`` = 1, 2, ...; ``growth`` = η > 1."""
    return math.ceil(_growth(growth) ** batch)


def batch_lengths(horizon: int, *, growth: ExactLike = 2) -> list[int]:
    """Return the batch sizes l(1), l(2), ... below ``horizon``: no other batch can be completed."""
    found: list[int] = []
    while (length := batch_length(len(found) + 1, growth=growth)) < horizon:
        found.append(length)
    return found


def confidence_radius(
    batch: int, n_active: Any, length: int, *, failure_prob: float, tail: NoiseTail
) -> Floats:
    """Return β(b) of eq. (2): sampling error and noise of a mean over ``length`` rewards.

    ``n_active`` is |Φ(b)|, a number or an array.
    """
    squares = np.asarray(n_active) * float(batch) ** 2 / failure_prob
    sampling = np.sqrt(np.log(4 * squares) / (2 * length))
    noise = np.log(2 * squares)
    return np.asarray(sampling + (tail.sigma * np.sqrt(noise) + tail.h * noise) / length)


class Elimination:
    """The set of active arms, batch by batch.

    ``active`` has shape (K,), or (R, K) for R runs in step. ``tail(length)`` gives the noise constants.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        *,
        failure_prob: ExactLike,
        tail: Callable[[int], NoiseTail],
        growth: ExactLike = 2,
    ) -> None:
        p = probability(failure_prob, name="failure_prob")
        if p == 0:
            raise InvalidParameterError(
                "failure_prob must be greater than 0, got 0; pass 1/T for a horizon of T."
            )
        self.failure_prob, self._tail, self._growth = float(p), tail, _growth(growth)
        self.active = np.ones(shape, dtype=bool)
        self.batch = 1

    @property
    def length(self) -> int:
        """Return l(b) of the current batch."""
        return batch_length(self.batch, growth=self._growth)

    @property
    def n_active(self) -> NDArray[np.int64]:
        return np.asarray(self.active.sum(axis=-1))

    def update(self, means: Any) -> None:
        """Close the batch: ``means`` holds the active arms' noisy means, NaN for an arm without a mean."""
        radius = confidence_radius(
            self.batch,
            self.n_active[..., None],
            self.length,
            failure_prob=self.failure_prob,
            tail=self._tail(self.length),
        )
        means = np.where(self.active, means, np.nan)
        lower = np.where(np.isnan(means), -np.inf, means - radius)
        best = lower.max(axis=-1, keepdims=True)
        self.active = self.active & ~(means + radius < best)
        self.batch += 1


def strategy(
    protocols: Protocols,
    *,
    failure_prob: ExactLike,
    tail: Callable[[int], NoiseTail],
    growth: ExactLike = 2,
    participation: Sequence[bool] | None = None,
) -> Strategy:
    """Return Algorithm 1 with the protocols given, one for each batch size.

    ``participation[t]`` states whether the user of round t sends a message (default: all do); it is public.
    """

    def run(coins: Coins, n_arms: int) -> Pulls:
        state = Elimination((n_arms,), failure_prob=failure_prob, tail=tail, growth=growth)
        arms = list(range(n_arms))
        while len(arms) > 1:
            means = [math.nan] * n_arms
            length = state.length
            for arm in arms:
                batch = yield arm, length
                rewards = _heard(batch, participation)
                if rewards:
                    means[arm] = protocols(length)(coins, rewards) / len(rewards)
            state.update(means)
            arms = [arm for arm in arms if state.active[arm]]
            # the same set, written as decisions: a proof need not carry the formulas that led to them
            state.active = np.array([arm in arms for arm in range(n_arms)])
        for arm in arms:  # the last one, to the end
            yield arm, None

    return run


def _heard(batch: Batch, participation: Sequence[bool] | None) -> list[Any]:
    """Return the rewards of the users who send a message."""
    return [
        reward
        for t, reward in zip(batch.rounds, batch.values().tolist(), strict=True)
        if participation is None or participation[t]
    ]


def _growth(value: ExactLike) -> Fraction:
    growth = exact(value, name="growth")
    if growth <= 1:
        raise InvalidParameterError(f"growth must be greater than 1, got {growth}.")
    return growth
