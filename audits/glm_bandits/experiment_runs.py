"""Reruns of the experiments: regrets, their medians with exact intervals, and how often each branch ran.

Regrets of non-private baselines have heavy tails here (a wrong early estimate that is never revised), so that
ten runs say little about a mean; medians stand beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from algorithms.contextual.glm_simulation import GlmRuns
from audits.glm_bandits.experiment_settings import FIGURES, PRINTED, TABLE, runs_of
from dpaudit import plots
from dpaudit.errors import InvalidParameterError
from dpaudit.regret import Interval
from dpaudit.suite import Run

__all__ = ["branch_counts", "median_interval", "rerun", "rerun_table"]

Floats = NDArray[np.float64]


def median_interval(values: Floats, *, alpha: float) -> Interval:
    """A median of the law of independent ``values``, by order statistics: wrong with probability ``alpha`` at
    most. Infinite on both sides where the values are too few."""
    if not len(values) or not 0 < alpha < 1:
        raise InvalidParameterError(
            f"a median needs values and an error level in (0, 1), got {len(values)} values and {alpha}; "
            "run more."
        )
    ordered, n = np.sort(values), len(values)
    # P(fewer than k of n values are on one side of a median) is the binomial's at k - 1.
    k = int(stats.binom.ppf(alpha / 2, n, 0.5))
    while k and stats.binom.cdf(k - 1, n, 0.5) > alpha / 2:
        k -= 1
    middle = float(np.median(values))
    return (
        Interval(float(ordered[k - 1]), float(ordered[n - k]), middle) if k else Interval(0.0, np.inf, middle)
    )


@lru_cache(maxsize=4)
def _found(run: Run, setting: str, algorithms: tuple[str, ...], runs: int) -> dict[str, GlmRuns]:
    chosen = TABLE[setting] if setting in TABLE else FIGURES[setting]
    seed = run.seed_sequence(f"experiments {setting}")
    return runs_of(chosen, seed=seed, runs=runs, algorithms=algorithms, points=8)


def rerun(run: Run, setting: str, algorithms: Sequence[str], *, runs: int) -> dict[str, GlmRuns]:
    """``runs`` runs of each algorithm in the setting of that S (Table 2) or figure."""
    return _found(run, setting, tuple(algorithms), runs)


def branch_counts(found: Mapping[str, GlmRuns]) -> str:
    """Smallest and largest count of each branch over the runs, in words."""
    words = []
    for name, result in found.items():
        parts = [f"{branch} {n.min()} to {n.max()}" for branch, n in result.counts.items()]
        words.append(f"{name}: {', '.join(parts)}")
    return "; ".join(words)


def rerun_table(found: Mapping[str, GlmRuns], *, setting: str, alpha: float) -> plots.Plot:
    """Mean, median with its interval, and the print."""
    column = list(TABLE).index(setting) if setting in TABLE else None
    rows = []
    for name, result in found.items():
        middle = median_interval(result.pseudo.final, alpha=alpha / len(found))
        printed = PRINTED[name][column] if column is not None else None
        ends = [end if np.isfinite(end) else None for end in (middle.low, middle.high)]
        rows.append([name, result.pseudo.mean, middle.mean, *ends, printed])
    return plots.table(
        title=f"Regret at T, {len(next(iter(found.values())).pseudo.final)} runs, setting {setting}",
        columns=["algorithm", "mean", "median", "median at least", "median at most", "printed mean of 10"],
        rows=rows,
    )
