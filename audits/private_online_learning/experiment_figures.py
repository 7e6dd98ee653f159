"""The experiments' table and figures as plot data."""

from __future__ import annotations

from audits.private_online_learning.experiment_settings import EPSILONS, RUNS, SETTINGS
from audits.private_online_learning.grids import as_float
from audits.private_online_learning.variants import VARIANTS
from dpaudit import plots
from dpaudit.regret import RegretRuns, at_horizon, over_time, plus_minus

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
    rows: list[list[str | int]] = [
        [
            setting,
            VARIANTS[name].title,
            *(plus_minus(table[setting, epsilon].final[:RUNS]) for epsilon in EPSILONS),
        ]
        for setting in SETTINGS
        for name, table in found.items()
    ]
    return plots.table(
        title=f"Final regret, T = {horizon}, mean ± standard error of at most {RUNS} runs",
        columns=["setting", "algorithm", *(f"ε = {epsilon}" for epsilon in EPSILONS)],
        rows=rows,
        note="the errors describe; verdicts rest on bets",
    )


def time_figure(found: dict[str, Table], cell: Cell) -> plots.Plot:
    """Regret against rounds in one cell."""
    setting, epsilon = cell
    return over_time(
        {VARIANTS[name].title: table[cell] for name, table in found.items()},
        title=f"Setting {setting}, ε = {epsilon}: regret over time",
    )


def final_figure(found: dict[str, Table], setting: int) -> plots.Plot:
    """Final regret against epsilon in one setting."""
    horizons = {name: int(table[setting, EPSILONS[0]].checkpoints[-1]) for name, table in found.items()}
    longest = max(horizons.values())
    results = {}
    for name, table in found.items():
        shorter = f", T = {horizons[name]}" if horizons[name] < longest else ""
        results[VARIANTS[name].title + shorter] = [table[setting, epsilon] for epsilon in EPSILONS]
    return at_horizon(
        results,
        title=f"Setting {setting}: final regret at T = {longest}",
        x=[as_float(epsilon) for epsilon in EPSILONS],
        x_title="ε",
    )
