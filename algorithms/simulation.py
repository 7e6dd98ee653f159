"""The regret engine: many seeded runs of an algorithm on Bernoulli arms, at a grid of rounds.

Three engines have one distribution. ``runs`` plays a run after the other, for strategies whose requests are
long. ``replicates`` plays all runs as one array, for public schedules. ``rounds`` plays all runs as one
array, for a ``Policy`` that decides anew in every round: a round costs the same in every case, and a table of
experiments, each run with its means and epsilon, is one call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from dpaudit.coins import Sampler
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, exact, positive
from dpaudit.reference.algorithms.environment import BernoulliArms, BernoulliVectors
from dpaudit.reference.algorithms.play import Strategy, play
from dpaudit.suite.regret import Cut, RegretRuns, Seed, checked_grid, regret_curve, root_of, trivial_cut

__all__ = [
    "Algorithm",
    "CutRule",
    "Draws",
    "GeneratorDraws",
    "Policy",
    "pulls_at",
    "simulate",
    "simulate_many",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_CHUNK = 512


class Draws(Protocol):
    """The source of a policy's randomness: unit Laplace variables, and the environment's uniforms."""

    def uniforms(self) -> Floats:
        """Draw one uniform on [0, 1) per run."""

    def laplaces(self) -> Floats:
        """Draw one unit Laplace variable per run."""

    def more_laplaces(self, count: int) -> Floats:
        """Draw ``count`` further unit Laplace variables, for the runs that close an array."""


class GeneratorDraws:
    """Draws in chunks: ``rewards`` belongs to the environment, ``noise`` to the mechanism."""

    def __init__(self, runs: int, *, rewards: np.random.Generator, noise: np.random.Generator) -> None:
        self._runs, self._rewards, self._noise = runs, rewards, noise
        self._uniforms: list[Floats] = []
        self._laplaces: list[Floats] = []

    def uniforms(self) -> Floats:
        if not self._uniforms:
            self._uniforms = list(self._rewards.random((_CHUNK, self._runs)))
        return self._uniforms.pop()

    def laplaces(self) -> Floats:
        if not self._laplaces:
            self._laplaces = list(self._noise.laplace(size=(_CHUNK, self._runs)))
        return self._laplaces.pop()

    def more_laplaces(self, count: int) -> Floats:
        return np.asarray(self._noise.laplace(size=count))


class Policy(Protocol):
    """The state of all runs. Cells are flat positions, run * K + arm."""

    def indices(self, t: int) -> Floats:
        """Return the indices, shape (runs, K); the buffer is the policy's."""

    def update(self, cells: Ints, rewards: Floats, draws: Draws) -> None:
        """Update with one pull per run: ``cells[i]`` is run i's."""


#: Makes a strategy: ``factory(epsilon, horizon)``. Anytime algorithms ignore the horizon.
StrategyFactory = Callable[[ExactLike, int], Strategy]
#: Makes the state of many runs: ``policy(shape, epsilons, horizon)``.
PolicyFactory = Callable[[tuple[int, int], Floats, int], Policy]


class CutRule(Protocol):
    """Where an algorithm's regret on Bernoulli arms may be cut, and the cost."""

    def __call__(self, means: Sequence[float], *, epsilon: float, horizon: int) -> Cut: ...


def _uncut(means: Sequence[float], *, epsilon: float, horizon: int) -> Cut:
    return trivial_cut(means, horizon=horizon)


@dataclass(frozen=True)
class Algorithm:
    """An algorithm for the engine. The engine ``rounds`` needs a ``policy``."""

    name: str
    _: KW_ONLY
    title: str
    engine: Literal["runs", "replicates", "rounds"]
    strategy: StrategyFactory
    policy: PolicyFactory | None = None
    cut: CutRule = _uncut


def simulate(
    algorithm: Algorithm,
    means: Sequence[float],
    *,
    epsilon: ExactLike,
    horizon: int,
    runs: int,
    seed: Seed,
    checkpoints: Sequence[int] | None = None,
) -> RegretRuns:
    """Simulate ``runs`` independent runs on Bernoulli arms with these ``means``.

    ``epsilon`` is exact. ``checkpoints`` are increasing rounds that end at the horizon (by default
    ``checkpoint_grid(horizon)``). Equal seeds give equal results.
    """
    return simulate_many(
        algorithm, [means], epsilons=[epsilon], horizon=horizon, runs=runs, seed=seed, checkpoints=checkpoints
    )[0]


def simulate_many(
    algorithm: Algorithm,
    instances: Sequence[Sequence[float]],
    *,
    epsilons: Sequence[ExactLike],
    horizon: int,
    runs: int,
    seed: Seed,
    checkpoints: Sequence[int] | None = None,
) -> list[RegretRuns]:
    """Return one ``RegretRuns`` per pair ``instances[i]``, ``epsilons[i]``; ``rounds`` takes all pairs at
    once.
    """
    if len(instances) != len(epsilons) or not instances or runs < 1:
        raise InvalidParameterError(
            f"instances and epsilons must pair up and runs be 1 or more, got {len(instances)}, "
            f"{len(epsilons)} and {runs}."
        )
    exact_epsilons = [positive(epsilon, name="epsilon") for epsilon in epsilons]
    grid = checked_grid(horizon, checkpoints)
    root = root_of(seed)
    if algorithm.engine == "rounds":
        return _by_rounds(algorithm, instances, exact_epsilons, grid, runs, root)
    engine = _by_runs if algorithm.engine == "runs" else _by_replicates
    seeds = root.spawn(len(instances))
    return [
        RegretRuns(algorithm.name, grid, engine(algorithm, means, epsilon, grid, runs, own))
        for means, epsilon, own in zip(instances, exact_epsilons, seeds, strict=True)
    ]


def _gaps(means: Sequence[float]) -> Floats:
    array = np.asarray(means, dtype=np.float64)
    return np.asarray(array.max() - array)


def _by_runs(
    algorithm: Algorithm,
    means: Sequence[float],
    epsilon: ExactLike,
    grid: NDArray[np.int64],
    runs: int,
    seed: np.random.SeedSequence,
) -> Floats:
    horizon = int(grid[-1])
    strategy = algorithm.strategy(epsilon, horizon)
    curves = np.empty((runs, len(grid)))
    for run, own in enumerate(seed.spawn(runs)):
        rewards, noise = map(np.random.default_rng, own.spawn(2))
        environment = BernoulliArms(means, rewards, horizon=horizon)
        curves[run] = regret_curve(play(strategy, Sampler(noise), environment), _gaps(means), grid)
    return curves


def _by_replicates(
    algorithm: Algorithm,
    means: Sequence[float],
    epsilon: ExactLike,
    grid: NDArray[np.int64],
    runs: int,
    seed: np.random.SeedSequence,
) -> Floats:
    horizon = int(grid[-1])
    rewards, noise = map(np.random.default_rng, seed.spawn(2))
    environment = BernoulliVectors(means, rewards, horizon=horizon, replicates=runs)
    decisions = play(algorithm.strategy(epsilon, horizon), Sampler(noise, replicates=runs), environment)
    return regret_curve(decisions, _gaps(means), grid)


def _by_rounds(
    algorithm: Algorithm,
    instances: Sequence[Sequence[float]],
    epsilons: Sequence[ExactLike],
    grid: NDArray[np.int64],
    runs: int,
    seed: np.random.SeedSequence,
) -> list[RegretRuns]:
    if algorithm.policy is None:
        raise InvalidParameterError(f"the engine 'rounds' needs a policy, {algorithm.name} has none.")
    if len({len(means) for means in instances}) != 1:
        raise InvalidParameterError("instances of one call must have equally many arms.")
    means = np.repeat(np.asarray(instances, dtype=np.float64), runs, axis=0)
    budgets = np.repeat([float(exact(epsilon)) for epsilon in epsilons], runs)
    rewards, noise = map(np.random.default_rng, seed.spawn(2))
    policy = algorithm.policy((means.shape[0], means.shape[1]), budgets, int(grid[-1]))
    draws = GeneratorDraws(len(means), rewards=rewards, noise=noise)
    pulls = pulls_at(grid.tolist(), policy, means, draws)
    regret = np.einsum("grk,rk->rg", pulls, means.max(axis=1, keepdims=True) - means)
    return [
        RegretRuns(algorithm.name, grid, regret[i * runs : (i + 1) * runs]) for i in range(len(instances))
    ]


def pulls_at(checkpoints: Sequence[int], policy: Policy, means: Floats, draws: Draws) -> Ints:
    """Play ``policy`` with Bernoulli ``means`` (runs, K); return the pulls of every arm by each checkpoint.

    ``checkpoints`` increase, the last is the horizon. Each arm is pulled once first. Shape (checkpoints,
    runs, K).
    """
    runs, n_arms = means.shape
    flat_means = np.ascontiguousarray(means).ravel()
    rows = np.arange(runs) * n_arms
    counts = np.zeros(runs * n_arms, dtype=np.int64)
    result = np.zeros((len(checkpoints), runs, n_arms), dtype=np.int64)
    played = 0
    for position, checkpoint in enumerate(checkpoints):
        for t in range(played + 1, checkpoint + 1):
            arm = t - 1 if t <= n_arms else policy.indices(t).argmax(axis=1)
            cells = rows + arm
            counts[cells] += 1
            policy.update(cells, (draws.uniforms() < flat_means.take(cells)).astype(np.float64), draws)
        played = checkpoint
        result[position] = counts.reshape(runs, n_arms)
    return result
