"""Simulated regret of Algorithm 1 with bounds that hold: runs in step, cut at a cap of ``regret_bounds``.

Each run plays its instance with the arms in an order of its own, drawn at random: a horizon that ends inside
a batch favours the arms that come first, and no verdict may hang on labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from algorithms.mab.distributed_regret import simulate_baseline, simulate_variant
from algorithms.mab.regret_cuts import elimination_cut
from algorithms.mab.reward_models import RewardLevels, bernoulli_arms
from audits.distributed_mab.regret_bounds import Setting, cut_of
from dpaudit.regret import Interval, Seed, average, mean_interval, root_of
from dpaudit.rows import Expression, leaf
from dpaudit.suite import Run

__all__ = [
    "baseline_interval",
    "baseline_regret",
    "final_regrets",
    "interval",
    "mean_interval_over",
    "mean_regret",
    "shuffled_arms",
]

Floats = NDArray[np.float64]


def shuffled_arms(means: Sequence[float], *, runs: int, rng: np.random.Generator) -> RewardLevels:
    """Bernoulli arms of these means, in a random order in each run."""
    return bernoulli_arms(rng.permuted(np.tile(means, (runs, 1)), axis=1))


def final_regrets(setting: Setting, means: Sequence[float], *, runs: int, seed: Seed) -> Floats:
    """Regret at the horizon of independent runs, shape (runs,)."""
    order, play = root_of(seed).spawn(2)
    arms = shuffled_arms(means, runs=runs, rng=np.random.default_rng(order))
    return simulate_variant(setting.variant, arms, horizon=setting.horizon, seed=play, points=2).final


def interval(run: Run, setting: Setting, means: Sequence[float], *, runs: int, alpha: float) -> Interval:
    """E Reg(T) from ``runs`` simulated runs, both ends together at level ``alpha``."""
    regrets = final_regrets(setting, means, runs=runs, seed=run.seed_sequence(f"{setting} {means}"))
    return mean_interval(regrets, cut_of(setting, means), alpha=alpha)


def baseline_interval(
    run: Run, setting: Setting, means: Sequence[float], *, runs: int, alpha: float
) -> Interval:
    """The same for DP-SE of Sajed and Sheffet at the setting's ε and horizon, failure probability 1/T."""
    order, play = run.seed_sequence(f"dp_se {setting} {means}").spawn(2)
    arms = shuffled_arms(means, runs=runs, rng=np.random.default_rng(order))
    regrets = simulate_baseline(
        arms,
        epsilon=setting.epsilon,
        failure_prob=Fraction(1, setting.horizon),
        horizon=setting.horizon,
        seed=play,
        points=2,
    ).final
    cut = elimination_cut(means, epsilon=float(setting.epsilon), horizon=setting.horizon)
    return mean_interval(regrets, cut, alpha=alpha)


def runs_of(run: Run) -> int:
    """How many runs a comparison simulates."""
    return int(run.choose(quick=400, full=2000))


def mean_regret(setting: Setting, means: Sequence[float], *, label: str = "") -> Expression:
    """E Reg(T), simulated."""

    def bounding(run: Run, alpha: float) -> Interval:
        return interval(run, setting, means, runs=runs_of(run), alpha=alpha)

    return leaf(f"{setting} {means}", bounding, label=label, runs=runs_of)


def baseline_regret(setting: Setting, means: Sequence[float], *, label: str = "") -> Expression:
    """E Reg(T) of DP-SE at the same ε and horizon, simulated."""

    def bounding(run: Run, alpha: float) -> Interval:
        return baseline_interval(run, setting, means, runs=runs_of(run), alpha=alpha)

    return leaf(f"dp_se {setting} {means}", bounding, label=label, runs=runs_of)


def mean_interval_over(
    run: Run, cells: Sequence[tuple[Setting, Sequence[float], float]], *, runs: int, alpha: float
) -> Interval:
    """The mean of E Reg / unit over cells (setting, means, unit), both ends together at level ``alpha``."""
    level = alpha / len(cells)
    return average(
        [interval(run, setting, means, runs=runs, alpha=level) / unit for setting, means, unit in cells]
    )
