"""The experiments of section 6 and appendix I.3: runs, bets on pairs of mean regrets, table and figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from audits.private_online_learning.experiment_settings import EPSILONS, RUNS, SETTINGS
from audits.private_online_learning.variants import VARIANTS
from dpaudit.core import plots
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import exact
from dpaudit.core.suite import Run
from dpaudit.reference.algorithms.mab.lazy_replicates import lazy_runs_many
from dpaudit.reference.algorithms.simulation import simulate_many
from dpaudit.suite import Measured
from dpaudit.suite.regret import Cut, RegretRuns, at_horizon, difference_interval, over_time, plus_minus

__all__ = [
    "CELLS",
    "COMPARED",
    "Cell",
    "Pair",
    "Side",
    "Table",
    "at_most",
    "experiment",
    "final_figure",
    "pairs",
    "regret_table",
    "time_figure",
]

#: A setting and an epsilon.
Cell = tuple[int, str]
Table = dict[Cell, RegretRuns]

#: The algorithms of the figures, by their names in ``VARIANTS``.
COMPARED = ("lazy_ucb", "dp_se", "hybrid_ucb/printed", "ucb1")
#: Algorithms without epsilon. Their runs serve every cell of a setting.
WITHOUT_EPSILON = frozenset({"ucb1"})
CELLS: tuple[Cell, ...] = tuple((setting, epsilon) for setting in SETTINGS for epsilon in EPSILONS)


class Side(NamedTuple):
    """The runs of one algorithm in one cell."""

    algorithm: str
    cell: Cell
    result: RegretRuns

    @property
    def horizon(self) -> int:
        return int(self.result.checkpoints[-1])

    def cut(self) -> Cut:
        """Return the cap on the algorithm's regret in this cell."""
        setting, epsilon = self.cell
        return VARIANTS[self.algorithm].cut(
            SETTINGS[setting], epsilon=float(exact(epsilon)), horizon=self.horizon
        )


Pair = tuple[Side, Side]


def pairs(
    left: str, left_runs: Table, right: str, right_runs: Table, cells: Sequence[tuple[Cell, Cell]]
) -> list[Pair]:
    """Two algorithms to compare, each with its cell."""
    return [(Side(left, one, left_runs[one]), Side(right, two, right_runs[two])) for one, two in cells]


def experiment(run: Run, algorithm: str, cells: Sequence[Cell], *, horizon: int, runs: int) -> Table:
    """Simulate ``runs`` regret runs of an algorithm of ``VARIANTS`` in every cell.

    The seed depends on the run, the algorithm and its size, but not on the calling row or its significance
    level. Rows of one process therefore share results. Cells of one setting share the runs of an algorithm
    without epsilon.
    """
    simulated = {cell: (cell[0], "1") if algorithm in WITHOUT_EPSILON else cell for cell in cells}
    distinct = tuple(dict.fromkeys(simulated.values()))
    found = _experiment(replace(run, row_id="HHM-E", alpha=0.0), algorithm, distinct, horizon, runs)
    return {cell: found[simulated[cell]] for cell in cells}


@lru_cache(maxsize=64)
def _experiment(run: Run, algorithm: str, cells: tuple[Cell, ...], horizon: int, runs: int) -> Table:
    instances = [SETTINGS[setting] for setting, _ in cells]
    epsilons = [epsilon for _, epsilon in cells]
    seed = run.seed_sequence(f"{algorithm} {horizon} {runs} {cells}")
    if algorithm == "lazy_ucb":
        results = lazy_runs_many(instances, epsilons=epsilons, horizon=horizon, runs=runs, seed=seed)
    else:
        results = simulate_many(
            VARIANTS[algorithm], instances, epsilons=epsilons, horizon=horizon, runs=runs, seed=seed
        )
    return dict(zip(cells, results, strict=True))


def at_most(run: Run, compared: Sequence[Pair], factor: str) -> Measured:
    """Bound E left - factor * E right for each pair, all jointly at the run's significance level, and return
    the largest bounds."""
    level = run.alpha / len(compared)
    number = float(exact(factor))
    bounds = [
        difference_interval(
            left.result.final, left.cut(), right.result.final, right.cut(), factor=number, alpha=level
        )
        for left, right in compared
    ]
    ratios = [left.result.mean / right.result.mean for left, right in compared]
    tightest = compared[int(np.argmax([high for _, high in bounds]))][0]
    setting, epsilon = tightest.cell
    return Measured(
        low=max(low for low, _ in bounds),
        high=max(high for _, high in bounds),
        samples=sum(len(side.result.final) for pair in compared for side in pair),
        method="bets on paired differences of regrets cut at a cap, rigorous excess added",
        scope=f"{len(compared)} pairs of means, T = {_horizons(compared)}",
        exact=False,
        notes=[
            f"measured ratios of means from {min(ratios):.3f} to {max(ratios):.3f}, to be at most {factor}; "
            f"the pair with the least room has {VARIANTS[tightest.algorithm].title} in setting {setting} at "
            f"ε = {epsilon} on the left"
        ],
    )


def _horizons(compared: Sequence[Pair]) -> str:
    return ", ".join(str(horizon) for horizon in sorted({left.horizon for left, _ in compared}))


# Table and figures


def regret_table(found: dict[str, Table]) -> plots.Plot:
    """Return a table of the final regret of the first 15 runs: mean and standard error, one line per setting
    and algorithm."""
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
        note="the standard errors are descriptive only; verdicts rest on bets",
    )


def time_figure(found: dict[str, Table], cell: Cell) -> plots.Plot:
    """Plot regret against rounds in one cell. A curve that ends before the others has its last round in its
    name."""
    setting, epsilon = cell
    ends = {name: int(table[cell].checkpoints[-1]) for name, table in found.items()}
    longest = max(ends.values())
    return over_time(
        {
            VARIANTS[name].title + (f", up to t = {ends[name]}" if ends[name] < longest else ""): table[cell]
            for name, table in found.items()
        },
        title=f"Setting {setting}, ε = {epsilon}: regret over time",
    )


def final_figure(found: dict[str, Table], setting: int) -> plots.Plot:
    """Plot final regret against epsilon in one setting. Raise ``InvalidParameterError`` for unequal
    horizons."""
    horizons = {int(table[setting, EPSILONS[0]].checkpoints[-1]) for table in found.values()}
    if len(horizons) != 1:
        raise InvalidParameterError(
            f"regrets at one epsilon must have one horizon, got {sorted(horizons)}; simulate every "
            "algorithm at the same one."
        )
    results = {
        VARIANTS[name].title: [table[setting, epsilon] for epsilon in EPSILONS]
        for name, table in found.items()
    }
    return at_horizon(
        results,
        title=f"Setting {setting}: final regret at T = {horizons.pop()}",
        x=[float(exact(epsilon)) for epsilon in EPSILONS],
        x_title="ε",
    )
