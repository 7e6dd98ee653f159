"""The regret engine: pseudo-regret of many seeded runs, at a grid of rounds.

Pseudo-regret by round t is the sum of the gaps of the arms pulled (Hu, Huang and Mehta, arXiv 2102.07929,
eqs. (1) and (2)). It depends on the decisions only, and those are runs of equal arms: a curve is read off by
linear interpolation between the ends of runs, so that a horizon of 10^12 costs what its decisions cost.

Three engines, one law: ``runs`` (a run after the other, for strategies whose requests are long),
``replicates`` (all runs as one array, for public schedules), ``rounds`` (all runs as one array, round by
round).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from algorithms import ftnl, hybrid_ucb, lazy_ucb, successive_elimination, ucb1
from algorithms.environment import BernoulliArms, BernoulliVectors
from algorithms.per_round import GeneratorDraws, HybridPolicy, Policy, Ucb1Policy, pulls_at
from algorithms.play import Decisions, Strategy, play
from dpaudit.coins import Sampler
from dpaudit.errors import InvalidParameterError
from dpaudit.exact import ExactLike, exact, positive

__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "RegretRuns",
    "Seed",
    "checkpoint_grid",
    "regret_curve",
    "simulate",
    "simulate_many",
]

Floats = NDArray[np.float64]
Seed = int | np.random.SeedSequence

#: Makes a strategy: ``factory(epsilon, horizon)``. Anytime algorithms ignore the horizon.
StrategyFactory = Callable[[ExactLike, int], Strategy]
#: Makes the state of many runs: ``policy(shape, epsilons, horizon)``.
PolicyFactory = Callable[[tuple[int, int], Floats, int], Policy]


@dataclass(frozen=True)
class Algorithm:
    """An algorithm as the engine knows it. The engine ``rounds`` needs a ``policy``."""

    name: str
    engine: Literal["runs", "replicates", "rounds"]
    feedback: Literal["bandit", "full"]
    strategy: StrategyFactory
    policy: PolicyFactory | None = None
    private: bool = True


def _lazy(epsilon: ExactLike, horizon: int) -> Strategy:
    return lazy_ucb.strategy(epsilon=epsilon)


def _elimination(epsilon: ExactLike, horizon: int) -> Strategy:
    return successive_elimination.strategy(epsilon=epsilon, failure_probability=1 / exact(horizon))


def _hybrid(variant: Literal["printed", "repaired", "promoted"]) -> Algorithm:
    return Algorithm(
        f"hybrid_ucb/{variant}",
        "rounds",
        "bandit",
        lambda epsilon, horizon: hybrid_ucb.strategy(epsilon=epsilon, variant=variant),
        lambda shape, epsilons, horizon: HybridPolicy(
            shape, epsilons=epsilons, horizon=horizon, variant=variant
        ),
    )


def _ftnl(variant: Literal["printed", "repaired"]) -> Algorithm:
    return Algorithm(
        f"ftnl/{variant}",
        "replicates",
        "full",
        lambda epsilon, horizon: ftnl.strategy(epsilon=epsilon, variant=variant),
    )


#: By name. ``hybrid_ucb`` and ``ftnl`` come in the variants of their modules, e.g. ``ftnl/printed``.
ALGORITHMS: dict[str, Algorithm] = {
    algorithm.name: algorithm
    for algorithm in (
        Algorithm("lazy_ucb", "runs", "bandit", _lazy),
        Algorithm("dp_se", "runs", "bandit", _elimination),
        *(_hybrid(variant) for variant in ("printed", "repaired", "promoted")),
        Algorithm(
            "ucb1",
            "rounds",
            "bandit",
            lambda epsilon, horizon: ucb1.strategy(),
            lambda shape, epsilons, horizon: Ucb1Policy(shape),
            private=False,
        ),
        *(_ftnl(variant) for variant in ("printed", "repaired")),
        Algorithm("naive_ftnl", "replicates", "full", lambda epsilon, horizon: ftnl.naive(epsilon=epsilon)),
        Algorithm(
            "ftl", "replicates", "full", lambda epsilon, horizon: ftnl.follow_the_leader(), private=False
        ),
    )
}


@dataclass(frozen=True, eq=False)
class RegretRuns:
    """Pseudo-regret of several runs: ``curves[i, g]`` is run i's regret by round ``checkpoints[g]``."""

    algorithm: str
    checkpoints: NDArray[np.int64]
    curves: Floats

    @property
    def final(self) -> Floats:
        """Regret at the horizon, one number per run."""
        return np.asarray(self.curves[:, -1])

    @property
    def mean(self) -> float:
        return float(self.final.mean())

    @property
    def standard_error(self) -> float:
        """Standard error of ``mean``; descriptive, no verdict rests on it."""
        return (
            float(self.final.std(ddof=1) / np.sqrt(len(self.final))) if len(self.final) > 1 else float("nan")
        )


def checkpoint_grid(horizon: int, *, points: int = 48) -> NDArray[np.int64]:
    """Increasing rounds, about geometric, from 1 to ``horizon``."""
    grid = np.unique(np.round(np.geomspace(1, horizon, points)).astype(np.int64))
    grid[-1] = horizon
    return grid


def regret_curve(decisions: Decisions, gaps: Floats, checkpoints: NDArray[np.int64]) -> Floats:
    """Pseudo-regret by each checkpoint; arms of shape (R,) give shape (R, checkpoints)."""
    arms = np.array([arm for arm, _ in decisions])  # (runs of arms,) or (epochs, R)
    counts = np.array([count for _, count in decisions], dtype=np.float64)
    ends = np.concatenate([[0.0], np.cumsum(counts)])
    rises = gaps[arms].T * counts
    heights = np.concatenate([np.zeros((*rises.shape[:-1], 1)), np.cumsum(rises, axis=-1)], axis=-1)
    run = np.searchsorted(ends, checkpoints, side="left")  # the run in which the checkpoint lies, from 1
    share = (checkpoints - ends[run - 1]) / counts[run - 1]
    return np.asarray(heights[..., run - 1] + share * rises[..., run - 1])


def simulate(
    algorithm: str | Algorithm,
    means: Sequence[float],
    *,
    epsilon: ExactLike,
    horizon: int,
    runs: int,
    seed: Seed,
    checkpoints: Sequence[int] | None = None,
) -> RegretRuns:
    """Simulate ``runs`` independent runs on Bernoulli arms with these ``means``.

    ``algorithm`` is a name in ``ALGORITHMS`` or an ``Algorithm``. ``epsilon`` is exact. ``checkpoints`` are
    increasing rounds that end at the horizon (by default ``checkpoint_grid(horizon)``). Equal seeds give
    equal results.
    """
    return simulate_many(
        algorithm, [means], epsilons=[epsilon], horizon=horizon, runs=runs, seed=seed, checkpoints=checkpoints
    )[0]


def simulate_many(
    algorithm: str | Algorithm,
    instances: Sequence[Sequence[float]],
    *,
    epsilons: Sequence[ExactLike],
    horizon: int,
    runs: int,
    seed: Seed,
    checkpoints: Sequence[int] | None = None,
) -> list[RegretRuns]:
    """One ``RegretRuns`` per pair ``instances[i]``, ``epsilons[i]``; ``rounds`` takes them all at once."""
    chosen = _find(algorithm)
    if len(instances) != len(epsilons) or not instances or runs < 1:
        raise InvalidParameterError(
            f"instances and epsilons must pair up and runs be 1 or more, got {len(instances)}, "
            f"{len(epsilons)} and {runs}; "
            f"repeat the instance for every epsilon."
        )
    exact_epsilons = [positive(epsilon, name="epsilon") for epsilon in epsilons]
    grid = _grid(horizon, checkpoints)
    root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    if chosen.engine == "rounds":
        return _by_rounds(chosen, instances, exact_epsilons, grid, runs, root)
    engine = _by_runs if chosen.engine == "runs" else _by_replicates
    seeds = root.spawn(len(instances))
    return [
        RegretRuns(chosen.name, grid, engine(chosen, means, epsilon, grid, runs, own))
        for means, epsilon, own in zip(instances, exact_epsilons, seeds, strict=True)
    ]


def _find(algorithm: str | Algorithm) -> Algorithm:
    if isinstance(algorithm, Algorithm):
        return algorithm
    if algorithm not in ALGORITHMS:
        raise InvalidParameterError(
            f"algorithm must be one of {sorted(ALGORITHMS)}, got {algorithm!r}; choose one of them."
        )
    return ALGORITHMS[algorithm]


def _grid(horizon: int, checkpoints: Sequence[int] | None) -> NDArray[np.int64]:
    if horizon < 1:
        raise InvalidParameterError(f"horizon must be 1 or more, got {horizon}; pass the number of rounds.")
    grid = checkpoint_grid(horizon) if checkpoints is None else np.array(checkpoints, dtype=np.int64)
    if not len(grid) or grid[0] < 1 or np.any(np.diff(grid) <= 0) or grid[-1] != horizon:
        raise InvalidParameterError(
            f"checkpoints must increase from at least 1 and end at the horizon {horizon}, got "
            f"{checkpoints}; correct the grid."
        )
    return grid


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
        raise InvalidParameterError(
            f"the engine 'rounds' needs a policy, {algorithm.name} has none; use the engine 'runs'."
        )
    if len({len(means) for means in instances}) != 1:
        raise InvalidParameterError(
            "instances of one call must have equally many arms; simulate them one by one."
        )
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
