"""Anytime-Lazy-UCB, many runs as one array: the race of ``race`` for all runs at once.

A run needs 60 to 150 events up to a horizon of 10^12, most of them in Python in the reference
(``algorithms.mab.lazy_ucb``). Here every step advances each run to its next event: the end of its leader's
array, or the round before a rival overtakes. Exact in distribution, not draw by draw: an array's sum is one
Binomial draw when the array is full, and rounds within 2 of an overtake are played one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, positive
from dpaudit.suite.regret import RegretRuns, Seed, checked_grid, root_of

__all__ = ["lazy_runs", "lazy_runs_many"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Beyond this a float cannot count rounds.
LONGEST = 10**15
#: The computed root of an overtake is trusted up to this share of it, and 2 rounds.
ROOT_ERROR = 2.0**-44


def lazy_runs(
    means: Sequence[float],
    *,
    epsilon: ExactLike,
    horizon: int,
    runs: int,
    seed: Seed,
    checkpoints: Sequence[int] | None = None,
) -> RegretRuns:
    """Simulate Anytime-Lazy-UCB in distribution, faster than ``simulate``; the same arguments."""
    return lazy_runs_many(
        [means], epsilons=[epsilon], horizon=horizon, runs=runs, seed=seed, checkpoints=checkpoints
    )[0]


def lazy_runs_many(
    instances: Sequence[Sequence[float]],
    *,
    epsilons: Sequence[ExactLike],
    horizon: int,
    runs: int,
    seed: Seed,
    checkpoints: Sequence[int] | None = None,
) -> list[RegretRuns]:
    """Play ``runs`` runs of every pair ``instances[i]``, ``epsilons[i]``; all instances have equally many
    arms.

    Bernoulli arms. ``checkpoints`` increase and end at ``horizon`` (at most 10^15), by default
    ``checkpoint_grid(horizon)``.
    """
    if len({len(means) for means in instances}) != 1 or len(instances) != len(epsilons) or runs < 1:
        raise InvalidParameterError(
            "instances must have equally many arms, one epsilon each and runs be 1 or more, got "
            f"{len(instances)} instances, {len(epsilons)} epsilons and {runs} runs."
        )
    if not 1 <= horizon <= LONGEST:
        raise InvalidParameterError(f"horizon must be from 1 to 10^15, got {horizon}.")
    grid = checked_grid(horizon, checkpoints)
    means = np.repeat(np.asarray(instances, dtype=np.float64), runs, axis=0)
    if not np.all((means >= 0) & (means <= 1)):
        raise InvalidParameterError(f"means must be in [0, 1], got {instances}.")
    budgets = np.repeat([float(positive(epsilon, name="epsilon")) for epsilon in epsilons], runs)
    root = root_of(seed)
    curves = _Race(means, budgets, horizon, *map(np.random.default_rng, root.spawn(2))).curves(grid)
    return [RegretRuns("lazy_ucb", grid, curves[i * runs : (i + 1) * runs]) for i in range(len(instances))]


class _Race:
    """The state of all runs, one row each. ``t`` is the next round, counted from 1."""

    def __init__(
        self,
        means: Floats,
        epsilons: Floats,
        horizon: int,
        rewards: np.random.Generator,
        noise: np.random.Generator,
    ) -> None:
        self._means, self._epsilons, self._horizon = means, epsilons[:, None], horizon
        self._rewards, self._noise = rewards, noise
        runs, n_arms = means.shape
        self._n_arms = n_arms
        self._gaps = means.max(axis=1, keepdims=True) - means
        self._size = np.ones((runs, n_arms))  # of the last full array
        self._room = np.full((runs, n_arms), 2.0)  # left in the current one, of twice that size
        first = (rewards.random(means.shape) < means).astype(np.float64)
        self._index = first + noise.laplace(size=means.shape) / self._epsilons
        self._t = np.full(runs, n_arms + 1.0)

    def curves(self, grid: Ints) -> Floats:
        """Return regret of every run at the rounds ``grid``."""
        runs = len(self._means)
        ends = [np.zeros(runs)]
        heights = [np.zeros(runs)]
        for first in range(self._n_arms):
            ends.append(np.full(runs, first + 1.0))
            heights.append(heights[-1] + self._gaps[:, first])
        active = np.arange(runs)
        while len(active := active[self._t[active] <= self._horizon]):
            arm, count = self._step(active)
            end, height = ends[-1].copy(), heights[-1].copy()
            end[active] += count
            height[active] += self._gaps[active, arm] * count
            ends.append(end)
            heights.append(height)
        xs, ys = np.array(ends), np.array(heights)
        return np.array([np.interp(grid, xs[:, i], ys[:, i]) for i in range(runs)])

    def _step(self, active: Ints) -> tuple[Ints, Floats]:
        """Play one stretch of equal pulls for each active run; returns the arms and the lengths."""
        t, size, mean, epsilon = (
            self._t[active],
            self._size[active],
            self._index[active],
            self._epsilons[active],
        )
        log_t = np.log(t)[:, None]
        arm = (mean + np.sqrt(3 * log_t / size) + 3 * log_t / (epsilon * size)).argmax(axis=1)
        rows = np.arange(len(active))
        own_size, own_mean = size[rows, arm][:, None], mean[rows, arm][:, None]
        # The lead over an arm with a shorter array falls to 0 at the root in sqrt(ln t); over others it
        # grows.
        shorter = size < own_size
        ahead = np.where(shorter, own_mean - mean, 0.0)
        slope = np.where(shorter, np.sqrt(3 / size) - np.sqrt(3 / own_size), 1.0)
        bend = np.where(shorter, 3 / epsilon * (1 / size - 1 / own_size), 0.0)
        inside = np.maximum(slope * slope + 4 * bend * ahead, 0.0)
        root = np.where(shorter, 2 * ahead / (slope + np.sqrt(inside)), np.inf).min(axis=1)
        overtake = np.exp(np.minimum(root * np.abs(root), np.log(4.0 * LONGEST)))
        clear = np.floor(overtake * (1 - ROOT_ERROR)) - 2 - t
        room = self._room[active, arm]
        count = np.minimum(np.clip(clear, 1.0, room), self._horizon - t + 1)
        self._t[active] = t + count
        self._room[active, arm] = room - count
        self._refresh(active, arm)
        return arm, count

    def _refresh(self, active: Ints, arm: Ints) -> None:
        """Release the arrays that are full, and open the next ones."""
        full = (self._room[active, arm] == 0) & (self._t[active] <= self._horizon)
        run, arm = active[full], arm[full]
        if len(run):
            size = 2 * self._size[run, arm]
            total = self._rewards.binomial(size.astype(np.int64), self._means[run, arm])
            release = total + self._noise.laplace(size=len(run)) / self._epsilons[run, 0]
            self._size[run, arm] = size
            self._index[run, arm] = release / size
            self._room[run, arm] = 2 * size
