"""Simulated regret of linear bandit policies: many replicates at once, at a grid of rounds.

``simulate_batched`` plays a ``BatchedPolicy`` on any environment, one step per batch. ``simulate_linucb``
plays LinUCB with fixed arms, one step per round. Rewards and noise have separate generators, spawned from the
seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError
from dpaudit.reference.algorithms.contextual import linear_policy, rank_one
from dpaudit.reference.algorithms.contextual.environments import Environment, FixedArms
from dpaudit.reference.algorithms.contextual.linear_policy import BatchedPolicy, PolicyState
from dpaudit.suite.regret import RegretRuns, Seed, checked_grid, root_of

__all__ = ["LinearRuns", "simulate_batched", "simulate_linucb"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_CHUNK = 512


@dataclass(frozen=True, eq=False)
class LinearRuns:
    """The regret per run and checkpoint.

    It holds the pseudo-regret and the realised regret (the best arm's rewards minus the played arms'
    rewards); ``indefinite_batches`` per run; and the last ``state`` of a batched policy.
    """

    pseudo: RegretRuns
    realised: RegretRuns
    indefinite_batches: Ints
    state: PolicyState | None = None

    def part(self, index: int, size: int) -> LinearRuns:
        """Return the runs of cell ``index``, if cells of ``size`` runs were simulated as one array."""
        own = slice(index * size, (index + 1) * size)
        cut = [
            RegretRuns(runs.algorithm, runs.checkpoints, runs.curves[own])
            for runs in (self.pseudo, self.realised)
        ]
        return LinearRuns(cut[0], cut[1], self.indefinite_batches[own])


def simulate_batched(
    policy: BatchedPolicy,
    environment: Environment,
    *,
    name: str,
    horizon: int,
    seed: Seed,
    checkpoints: Sequence[int] | None = None,
    watch: Callable[[PolicyState], None] | None = None,
) -> LinearRuns:
    """Play ``horizon`` rounds, a multiple of the batch size; ``watch`` receives the state after every batch.

    Within a batch regret is interpolated, which is exact for fixed arms.
    """
    size = policy.batch_size
    if horizon < size or horizon % size:
        raise InvalidParameterError(
            f"the horizon must be a multiple of the batch size {size}, got {horizon}; the paper has no "
            "partial batches."
        )
    grid = checked_grid(horizon, checkpoints)
    rewards, noise = map(np.random.default_rng, root_of(seed).spawn(2))
    replicates, _, dim = environment.shape
    state = linear_policy.init(policy, replicates, dim)
    curves = np.zeros((2, horizon // size + 1, replicates))
    for m in range(1, horizon // size + 1):
        batch = environment.play(partial(linear_policy.choose, state), size, rewards)
        curves[:, m] = curves[:, m - 1] + (batch.regret, batch.realised)
        state = linear_policy.step(policy, state, batch, noise)
        if watch is not None:
            watch(state)
    pseudo, realised = (RegretRuns(name, grid, _interpolated(curve, grid, size)) for curve in curves)
    return LinearRuns(pseudo, realised, state.indefinite_batches, state)


def _interpolated(curve: Floats, grid: NDArray[np.int64], size: int) -> Floats:
    """Return regret by the rounds of ``grid`` from regret by the ends of batches (M + 1, R); shape (R,
    grid).
    """
    before = np.minimum(grid // size, len(curve) - 2)
    share = (grid - before * size) / size
    return np.asarray((curve[before] + share[:, None] * (curve[before + 1] - curve[before])).T)


def simulate_linucb(
    arms: FixedArms,
    *,
    radius: Callable[[int], float],
    ridge: float,
    horizon: int,
    seed: Seed,
    name: str = "LinUCB",
    checkpoints: Sequence[int] | None = None,
) -> LinearRuns:
    """Play LinUCB without privacy; ``radius(t)`` after t rounds. A round costs O(R K d)."""
    grid = checked_grid(horizon, checkpoints)
    rng = np.random.default_rng(root_of(seed).spawn(2)[0])
    means = arms.means
    replicates, n_arms = means.shape
    rows, flat, best = np.arange(replicates) * n_arms, means.ravel(), means.max(axis=1)
    best_cells = rows + means.argmax(axis=1)
    state = rank_one.init_scores(arms.features, ridge=ridge)
    curves, totals = np.zeros((2, len(grid), replicates)), np.zeros((2, replicates))
    uniforms: list[Floats] = []
    position = 0
    for t in range(horizon):
        if not uniforms:
            uniforms = list(rng.random((_CHUNK, 2, replicates)))
        own, other = uniforms.pop()
        cells = rank_one.best_arms(state, radius(t)) + rows
        played = flat[cells]
        ones = (own < played).astype(np.float64)
        totals[0] += best - played
        totals[1] += np.where(cells == best_cells, ones, other < best) - ones
        state = rank_one.step_scores(state, cells, ones)
        if t + 1 == grid[position]:
            curves[:, position] = totals
            position += 1
    pseudo, realised = (RegretRuns(name, grid, curve.T.copy()) for curve in curves)
    return LinearRuns(pseudo, realised, np.zeros(replicates, dtype=np.int64))
