"""Plot simulated regret over time and at the horizon, with bands of one standard error of the mean.

The errors are descriptive. No verdict rests on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dpaudit.core import plots
from dpaudit.suite.regret.runs import RegretRuns

__all__ = ["at_horizon", "over_time", "plus_minus"]

Floats = NDArray[np.float64]

NOTE = "band: one standard error of the mean over the runs"


def over_time(
    results: Mapping[str, RegretRuns], *, title: str, per_round: bool = False, first_round: int = 1
) -> plots.Plot:
    """Plot regret, or regret per round, by each checkpoint from ``first_round`` on: one curve per name."""
    lines = []
    for name, result in results.items():
        shown = result.checkpoints >= first_round
        rounds = result.checkpoints[shown]
        values = result.curves[:, shown] / (rounds if per_round else 1)
        lines.append(_band(name, rounds.tolist(), values))
    return plots.curves(
        title=title,
        series=lines,
        x_title="round t",
        y_title="Reg(t)/t" if per_round else "regret",
        x_log=True,
        y_log=True,
        note=NOTE,
    )


def at_horizon(
    results: Mapping[str, Sequence[RegretRuns]],
    *,
    title: str,
    x: Sequence[float],
    x_title: str,
    per_round: bool = False,
) -> plots.Plot:
    """Plot regret at the horizon, or per round, against ``x``: one curve per name, one point per result."""
    lines = []
    for name, points in results.items():
        scales = [int(point.checkpoints[-1]) if per_round else 1 for point in points]
        values = [point.final / scale for point, scale in zip(points, scales, strict=True)]
        lines.append(_band(name, list(x), np.stack(values, axis=1)))
    return plots.curves(
        title=title,
        series=lines,
        x_title=x_title,
        y_title="Reg(T)/T" if per_round else "regret",
        x_log=True,
        y_log=True,
        note=NOTE,
    )


def plus_minus(values: Floats) -> str:
    """Return the mean and its standard error as text, such as ``123 ± 4``."""
    mean, error = _mean_and_error(values)
    return f"{mean:.0f} ± {error:.0f}"


def _band(name: str, x: Sequence[float], values: Floats) -> plots.Plot:
    """Return a series from values of shape (runs, points)."""
    mean, error = _mean_and_error(values)
    return plots.series(
        name=name, x=x, y=mean.tolist(), low=(mean - error).tolist(), high=(mean + error).tolist()
    )


def _mean_and_error(values: Floats) -> tuple[Floats, Floats]:
    """Return mean and standard error over the first axis. One run has an error of 0."""
    mean = np.asarray(values.mean(axis=0))
    if len(values) < 2:
        return mean, np.zeros_like(mean)
    return mean, np.asarray(values.std(axis=0, ddof=1) / np.sqrt(len(values)))
