"""Play policies on generalized linear bandits: many replicates of one sequence of arms at once.

    class Policy:
        choose(t, arms) -> arm of each replicate
        learn(t, x, rewards)
        counts -> how often each branch ran

Rewards and the policy's noise have separate generators, spawned from the seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpaudit.reference.algorithms.contextual.glm_environments import GlmEnvironment
from dpaudit.suite.regret import RegretRuns, Seed, checked_grid, root_of

__all__ = ["GlmPolicy", "GlmRuns", "MakePolicy", "simulate_glm"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class GlmPolicy(Protocol):
    """R replicates of one algorithm, with their state."""

    def choose(self, t: int, arms: Floats) -> Ints:
        """Return the arm of each replicate, (R,), in round ``t`` (from 0), from ``arms`` (K, d)."""

    def learn(self, t: int, x: Floats, rewards: Floats) -> None:
        """Update with the played arms, (R, d), and their rewards, (R,)."""

    @property
    def counts(self) -> Mapping[str, Ints]:
        """Return how often each branch ran, (R,) each."""


#: (replicates, generator) -> a policy before its first round.
MakePolicy = Callable[[int, np.random.Generator], GlmPolicy]


@dataclass(frozen=True, eq=False)
class GlmRuns:
    """Pseudo-regret of the replicates at a grid of rounds, and how often each branch ran in each of them."""

    pseudo: RegretRuns
    counts: Mapping[str, Ints]


def simulate_glm(
    make: MakePolicy,
    environment: GlmEnvironment,
    *,
    name: str,
    replicates: int,
    seed: Seed,
    checkpoints: Sequence[int] | None = None,
) -> GlmRuns:
    """Play all rounds of ``environment``, ``replicates`` times with independent rewards and noise."""
    horizon = environment.shape[0]
    grid = checked_grid(horizon, checkpoints)
    reward_rng, noise_rng = map(np.random.default_rng, root_of(seed).spawn(2))
    policy = make(replicates, noise_rng)
    total, curves, position = np.zeros(replicates), np.zeros((replicates, len(grid))), 0
    for t in range(horizon):
        arms = environment.arms[t]
        chosen = policy.choose(t, arms)
        policy.learn(t, arms[chosen], environment.rewards(t, chosen, reward_rng))
        total += environment.regret(t, chosen)
        if t + 1 == grid[position]:
            curves[:, position] = total
            position += 1
    return GlmRuns(RegretRuns(name, grid, curves), policy.counts)
