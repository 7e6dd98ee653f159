"""Pseudo-regret of the distributed variants, all runs in step: a run costs its batches, not its users.

A batch of all runs and arms is four array operations: the sums of encodings (``reward_models``), the total
noise (one draw of the aggregate's distribution each), the residue modulo m, the analyzer. The same
``Elimination`` takes the decisions as user by user. A run ends when its horizon cuts a batch, which is then
not aggregated.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.exact import ExactLike, positive, probability
from dpaudit.distributions import DiscreteGaussian
from dpaudit.reference.algorithms.mab.batched_elimination import Elimination
from dpaudit.reference.algorithms.mab.distributed_elimination import Variant
from dpaudit.reference.algorithms.mab.reward_models import RewardModel
from dpaudit.reference.algorithms.mab.successive_elimination import epoch_length, radius
from dpaudit.reference.mechanisms.discrete_gaussian_sum import DiscreteGaussianSum
from dpaudit.reference.mechanisms.modular_sum import decoded_sum
from dpaudit.reference.mechanisms.parameter_sheet import Sheet
from dpaudit.suite.regret import RegretRuns, Seed, checkpoint_grid, root_of

__all__ = ["noisy_sums", "simulate_baseline", "simulate_variant"]

Floats = NDArray[np.float64]


class _Samples(Protocol):
    def sample(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> NDArray[Any]: ...


def noisy_sums(sheet: Sheet, encoded_totals: NDArray[np.int64], rng: np.random.Generator) -> Floats:
    """Return the decoded sums of many full batches under one sheet, given the sums of their encodings."""
    noise = _batch_noise(sheet).sample(rng, encoded_totals.shape)
    return np.asarray(decoded_sum((encoded_totals + noise) % sheet.modulus, sheet))


@lru_cache(maxsize=64)
def _batch_noise(sheet: Sheet) -> _Samples:
    if isinstance(sheet.share, DiscreteGaussian) and sheet.trust == "distributed":
        return DiscreteGaussianSum(sigma2=sheet.share.sigma2, terms=sheet.users)
    return sheet.total_noise()


def simulate_variant(
    variant: Variant,
    model: RewardModel,
    *,
    horizon: int,
    growth: ExactLike = 2,
    seed: Seed,
    points: int = 48,
) -> RegretRuns:
    """Play one run of ``variant`` on every instance of ``model``; row i of the curves is instance i's.

    Regret uses the exact means. Equal seeds give equal results.
    """
    grid = checkpoint_grid(horizon, points=points)
    root = root_of(seed)
    rewards, noise = map(np.random.default_rng, root.spawn(2))
    runs, n_arms = model.means.shape
    state = Elimination((runs, n_arms), failure_prob=variant.failure_prob, tail=variant.tail, growth=growth)
    played = np.zeros(runs, dtype=np.int64)
    pulls: list[NDArray[np.int64]] = []  # of one batch each, shape (runs, arms)
    while (played < horizon).any():
        length = state.length
        wanted = np.where(state.n_active == 1, horizon, length)[:, None] * state.active
        counts = _cut(wanted, horizon - played)
        pulls.append(counts)
        played += counts.sum(axis=1)
        cells = state.active & (played < horizon)[:, None]
        means = np.full((runs, n_arms), np.nan)
        if cells.any():
            sheet = variant.sheet(length)
            totals = model.encoded_sums(rewards, cells, users=length, precision=sheet.precision)
            means[cells] = noisy_sums(sheet, totals, noise) / length
        state.update(means)
    return RegretRuns(variant.name, grid, _curves(pulls, model.means, grid))


def _cut(wanted: NDArray[np.int64], left: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many of the wanted pulls the horizon leaves, arm after arm."""
    ends = np.minimum(np.cumsum(wanted, axis=1), left[:, None])
    return np.diff(ends, axis=1, prepend=0)


def _curves(pulls: list[NDArray[np.int64]], means: Floats, grid: NDArray[np.int64]) -> Floats:
    """Return regret at the checkpoints. It is piecewise linear in time: one piece per batch and arm."""
    counts = np.concatenate(pulls, axis=1)
    gaps = np.tile(means.max(axis=1, keepdims=True) - means, len(pulls))
    ends = np.cumsum(counts, axis=1, dtype=np.float64)
    heights = np.cumsum(counts * gaps, axis=1)
    start = [[0.0]]
    return np.array(
        [
            np.interp(grid, np.append(start, end), np.append(start, height))
            for end, height in zip(ends, heights, strict=True)
        ]
    )


def simulate_baseline(
    model: RewardModel,
    *,
    epsilon: ExactLike,
    failure_prob: ExactLike,
    horizon: int,
    seed: Seed,
    points: int = 48,
) -> RegretRuns:
    """Play DP-SE (Sajed and Sheffet 2019) on every instance of ``model``, as ``simulate_variant``.

    The decisions are those of ``successive_elimination``. Runs with equally many arms left draw their sums in
    one call.
    """
    grid = checkpoint_grid(horizon, points=points)
    root = root_of(seed)
    rewards, noise = map(np.random.default_rng, root.spawn(2))
    budget = float(positive(epsilon, name="epsilon"))
    settings = {
        "epsilon": budget,
        "failure_probability": float(probability(failure_prob, name="failure_prob")),
    }
    active = np.ones(model.means.shape, dtype=bool)
    played = np.zeros(len(active), dtype=np.int64)
    pulls: list[NDArray[np.int64]] = []
    while (played < horizon).any():
        epoch = len(pulls) + 1
        left = active.sum(axis=1)
        sizes = {n: epoch_length(epoch, n, **settings) for n in np.unique(left).tolist()}
        wanted = np.array([horizon if n == 1 else sizes[n] for n in left.tolist()])[:, None] * active
        counts = _cut(wanted, horizon - played)
        pulls.append(counts)
        played += counts.sum(axis=1)
        for n, length in sizes.items():
            rows = (left == n) & (played < horizon)
            if rows.any():
                means = _baseline_means(model, active & rows[:, None], length, budget, rewards, noise)[rows]
                best = np.fmax.reduce(means, axis=1, keepdims=True)
                active[rows] &= best - means <= radius(epoch, n, length, **settings)
    return RegretRuns("dp_se", grid, _curves(pulls, model.means, grid))


def _baseline_means(
    model: RewardModel,
    cells: NDArray[np.bool_],
    length: int,
    epsilon: float,
    rewards: np.random.Generator,
    noise: np.random.Generator,
) -> Floats:
    """Return the noisy means of one epoch of ``length`` pulls in the marked cells, nothing in the others."""
    sums = model.reward_sums(rewards, cells, users=length)
    sums += noise.laplace(scale=1 / epsilon, size=len(sums))
    means = np.full(cells.shape, np.nan)
    means[cells] = sums / length
    return means
