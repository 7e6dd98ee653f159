"""The experiments' table and figures as plot data."""

from __future__ import annotations

import numpy as np

from audits.private_online_learning.experiment_settings import EPSILONS, RUNS, SETTINGS
from audits.private_online_learning.grids import as_float
from audits.private_online_learning.variants import VARIANTS
from dpaudit import plots
from dpaudit.regret import RegretRuns

__all__ = ["CELLS", "COMPARED", "Cell", "Table", "final_figure", "regret_table", "time_figure"]

#: A setting and an epsilon.
Cell = tuple[int, str]
Table = dict[Cell, RegretRuns]

#: The algorithms of the figures, by their names in ``VARIANTS``.
COMPARED = ("lazy_ucb", "dp_se", "hybrid_ucb/printed", "ucb1")
CELLS: tuple[Cell, ...] = tuple((setting, epsilon) for setting in SETTINGS for epsilon in EPSILONS)


def regret_table(found: dict[str, Table]) -> plots.Plot:
    """Final regret of the first 15 runs: mean and standard error, one line a setting and algorithm."""
    horizon = int(next(iter(next(iter(found.values())).values())).checkpoints[-1])
    rows = []
    for setting in SETTINGS:
        for name, table in found.items():
            row: list[str | int] = [setting, VARIANTS[name].title]
            for epsilon in EPSILONS:
                final = table[setting, epsilon].final[:RUNS]
                error = final.std(ddof=1) / np.sqrt(len(final)) if len(final) > 1 else float("nan")
                row.append(f"{final.mean():.0f} ± {error:.0f}")
            rows.append(row)
    return plots.table(
        title=f"Final regret, T = {horizon}, mean ± standard error of at most {RUNS} runs",
        columns=["setting", "algorithm", *(f"ε = {epsilon}" for epsilon in EPSILONS)],
        rows=rows,
        note="the errors describe; verdicts rest on bets",
    )


def time_figure(found: dict[str, Table], cell: Cell) -> plots.Plot:
    """Regret against rounds in one cell; bands of one standard error."""
    setting, epsilon = cell
    series = []
    for name, table in found.items():
        result = table[cell]
        mean = result.curves.mean(axis=0)
        spread = result.curves.std(axis=0, ddof=1) if len(result.curves) > 1 else np.zeros_like(mean)
        error = spread / np.sqrt(len(result.curves))
        series.append(
            plots.series(
                name=VARIANTS[name].title,
                x=result.checkpoints.tolist(),
                y=mean.tolist(),
                low=(mean - error).tolist(),
                high=(mean + error).tolist(),
            )
        )
    return plots.curves(
        title=f"Setting {setting}, ε = {epsilon}: regret over time",
        series=series,
        x_title="rounds",
        y_title="regret",
        x_log=True,
        y_log=True,
        note="band: one standard error of the mean",
    )


def final_figure(found: dict[str, Table], setting: int) -> plots.Plot:
    """Final regret against epsilon in one setting; bands of one standard error."""
    horizons = {name: int(table[setting, EPSILONS[0]].checkpoints[-1]) for name, table in found.items()}
    longest = max(horizons.values())
    series = []
    for name, table in found.items():
        results = [table[setting, epsilon] for epsilon in EPSILONS]
        shorter = f", T = {horizons[name]}" if horizons[name] < longest else ""
        error = [0.0 if len(r.final) < 2 else r.standard_error for r in results]
        series.append(
            plots.series(
                name=VARIANTS[name].title + shorter,
                x=[as_float(epsilon) for epsilon in EPSILONS],
                y=[r.mean for r in results],
                low=[r.mean - e for r, e in zip(results, error, strict=True)],
                high=[r.mean + e for r, e in zip(results, error, strict=True)],
            )
        )
    return plots.curves(
        title=f"Setting {setting}: final regret at T = {longest}",
        series=series,
        x_title="ε",
        y_title="regret",
        x_log=True,
        y_log=True,
        note="band: one standard error of the mean",
    )
