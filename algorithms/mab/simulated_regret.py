"""Simulated regret of batched elimination with valid bounds: runs in step, cut at a cap of
``batched_regret``.

The results are leaves of expressions for rows. Each run plays its instance with the arms in a random order. A
horizon that ends inside a batch favours the arms that come first, and no verdict may depend on labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.suite import Run
from dpaudit.reference.algorithms.mab.batched_regret import Setting, cut_of, shape_value
from dpaudit.reference.algorithms.mab.distributed_regret import simulate_baseline, simulate_variant
from dpaudit.reference.algorithms.mab.pull_bounds import elimination_cut
from dpaudit.reference.algorithms.mab.reward_models import RewardLevels, bernoulli_arms
from dpaudit.suite import Expression, average, leaf
from dpaudit.suite.regret import CUT_AND_CHARGED, Interval, Seed, mean_interval, octave, root_of

__all__ = [
    "against_rate",
    "baseline_interval",
    "baseline_regret",
    "final_regrets",
    "in_units_of_noise",
    "interval",
    "mean_regret",
    "noise_cells",
    "sampling_cells",
    "shuffled_arms",
]

Floats = NDArray[np.float64]

#: Points of an octave.
POINTS = 3


def shuffled_arms(means: Sequence[float], *, runs: int, rng: np.random.Generator) -> RewardLevels:
    """Return Bernoulli arms of these means, in a random order in each run."""
    return bernoulli_arms(rng.permuted(np.tile(means, (runs, 1)), axis=1))


def final_regrets(setting: Setting, means: Sequence[float], *, runs: int, seed: Seed) -> Floats:
    """Return regret at the horizon of independent runs, shape (runs,)."""
    order, play = root_of(seed).spawn(2)
    arms = shuffled_arms(means, runs=runs, rng=np.random.default_rng(order))
    return simulate_variant(setting.variant, arms, horizon=setting.horizon, seed=play, points=2).final


def interval(run: Run, setting: Setting, means: Sequence[float], *, runs: int, alpha: float) -> Interval:
    """Bound E Reg(T) from ``runs`` simulated runs, with both ends jointly at level ``alpha``."""
    regrets = final_regrets(setting, means, runs=runs, seed=run.seed_sequence(f"{setting} {means}"))
    return mean_interval(regrets, cut_of(setting, means), alpha=alpha)


def baseline_interval(
    run: Run, setting: Setting, means: Sequence[float], *, runs: int, alpha: float
) -> Interval:
    """Bound the same for DP-SE of Sajed and Sheffet at the setting's ε and horizon, failure probability
    1/T.
    """
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
    """Return how many runs a comparison simulates."""
    return int(run.choose(quick=400, full=2000))


def mean_regret(setting: Setting, means: Sequence[float], *, label: str = "", times: int = 1) -> Expression:
    """Return E Reg(T), simulated in ``times`` as many runs as usual."""

    def runs(run: Run) -> int:
        return times * runs_of(run)

    def bounding(run: Run, alpha: float) -> Interval:
        return interval(run, setting, means, runs=runs(run), alpha=alpha)

    return leaf(f"{setting} {means} {times}", bounding, label=label, runs=runs, method=CUT_AND_CHARGED)


def baseline_regret(setting: Setting, means: Sequence[float], *, label: str = "") -> Expression:
    """Return E Reg(T) of DP-SE at the same ε and horizon, simulated."""

    def bounding(run: Run, alpha: float) -> Interval:
        return baseline_interval(run, setting, means, runs=runs_of(run), alpha=alpha)

    return leaf(f"dp_se {setting} {means}", bounding, label=label, runs=runs_of, method=CUT_AND_CHARGED)


def noise_cells(
    name: str, *, scale: int = 1, epsilon: Fraction, n_arms: int, exponent: int
) -> list[tuple[Setting, tuple[float, ...]]]:
    """Return settings and means for which noise decides.

    One arm always gives 1, the others 0, with ε over an octave below ``epsilon``.
    """
    means = (1.0,) + (0.0,) * (n_arms - 1)
    return [
        (Setting(name=name, epsilon=e, n_arms=n_arms, horizon=2**exponent, scale_factor=scale), means)
        for e in octave(epsilon, points=POINTS)
    ]


def in_units_of_noise(cells: Sequence[tuple[Setting, Sequence[float]]], *, times: int = 1) -> Expression:
    """Return ε E Reg(T), averaged over cells."""
    return average(
        [mean_regret(setting, means, times=times) / (1 / float(setting.epsilon)) for setting, means in cells]
    )


def against_rate(cells: Sequence[tuple[Setting, Sequence[float]]]) -> Expression:
    """Return E Reg(T) / rate, averaged over cells."""
    return average([mean_regret(setting, means) / shape_value(setting, means) for setting, means in cells])


def sampling_cells(
    name: str, *, scale: int = 1, epsilon: Fraction, exponent: int
) -> list[tuple[Setting, tuple[float, ...]]]:
    """Return settings in which sampling decides: two Bernoulli arms around 1/2 at a large ε.

    Gaps are over an octave below 1/4.
    """
    setting = Setting(name=name, epsilon=epsilon, n_arms=2, horizon=2**exponent, scale_factor=scale)
    gaps = octave(Fraction(1, 4), points=POINTS)
    return [(setting, (float(1 + gap) / 2, float(1 - gap) / 2)) for gap in gaps]
