"""Rerun the experiments: regrets, their medians with exact intervals, and how often each branch ran.

Regrets of non-private baselines have heavy tails here (a wrong early estimate that is never revised). Ten
runs say little about a mean, so the medians are reported too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from audits.glm_bandits.experiment_settings import FIGURES, PRINTED, TABLE, constants_of, runs_of
from dpaudit.core import plots
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.suite import Run
from dpaudit.reference.algorithms.contextual.glm_simulation import GlmRuns
from dpaudit.suite.regret import Interval

__all__ = ["branch_counts", "branch_words", "median_interval", "printed_mean", "rerun", "rerun_table"]

Floats = NDArray[np.float64]


def median_interval(values: Floats, *, alpha: float) -> Interval:
    """Return a median of the distribution of independent ``values``, with an interval from order
    statistics.

    The interval is wrong with probability ``alpha`` at most. It is infinite on both sides if there are too
    few values.
    """
    if not len(values) or not 0 < alpha < 1:
        raise InvalidParameterError(
            f"a median needs values and alpha in (0, 1), got {len(values)} values and {alpha}."
        )
    ordered, n = np.sort(values), len(values)
    # P(fewer than k of n values are on one side of a median) is the binomial probability at k - 1.
    k = np.count_nonzero(special.bdtr(np.arange(n), n, 0.5) <= alpha / 2)
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
    """Return ``runs`` runs of each algorithm in the setting with that S (Table 2) or figure."""
    return _found(run, setting, tuple(algorithms), runs)


def branch_words(result: GlmRuns) -> str:
    """Return the smallest and largest count of each branch over the runs as text, or "-" if there is one
    branch."""
    return ", ".join(f"{branch} {n.min()} to {n.max()}" for branch, n in result.counts.items()) or "-"


def branch_counts(found: Mapping[str, GlmRuns]) -> str:
    """Return the branches of each algorithm as text."""
    return "; ".join(f"{name}: {branch_words(result)}" for name, result in found.items())


def printed_mean(algorithm: str, setting: str) -> float | None:
    """Return Table 2's regret at that S, or None if it has none."""
    if setting not in TABLE or algorithm not in PRINTED:
        return None
    return float(PRINTED[algorithm][list(TABLE).index(setting)])


def rerun_table(found: Mapping[str, GlmRuns], *, setting: str, alpha: float) -> plots.Plot:
    """Return a table of mean, median with interval, printed value, and the constants and branches behind
    them."""
    rows = []
    for name, result in found.items():
        middle = median_interval(result.pseudo.final, alpha=alpha / len(found))
        ends = [end if np.isfinite(end) else None for end in (middle.low, middle.high)]
        numbers = [result.pseudo.mean, middle.mean, *ends, printed_mean(name, setting)]
        rows.append([name, constants_of(name), *numbers, branch_words(result)])
    return plots.table(
        title=f"Regret at T, {len(next(iter(found.values())).pseudo.final)} runs, setting {setting}",
        columns=[
            "algorithm", "constants", "mean", "median", "median at least", "median at most",
            "printed mean of 10", "branches",
        ],
        rows=rows,
    )  # fmt: skip
