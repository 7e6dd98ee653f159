"""Comparisons of mean regrets per round, taken from the paper's sentences about its figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

from audits.distributed_mab.experiment_figures import Table, final_figure, regret_table, time_figure
from audits.distributed_mab.experiment_runs import Cell, Combination, decided
from audits.distributed_mab.experiment_settings import (
    FIGURES,
    HORIZONS,
    figure_table,
)
from dpaudit.core import plots
from dpaudit.core.exact import exact
from dpaudit.core.suite import Group, Outcome, Run
from dpaudit.reference.algorithms.mab.competitors import Competitor
from dpaudit.suite import evidence

__all__ = ["at_most", "compared", "comparison", "difference", "falling"]


def _cell(figure: int, competitor: Competitor, epsilon: str, *, shorter: int = 1) -> Cell:
    environment = FIGURES[figure].environment
    return Cell(environment, competitor, epsilon, HORIZONS[environment] // shorter)


def at_most(figure: int, left: Competitor, right: Competitor, epsilon: str, factor: str = "1") -> Combination:
    """Return left - factor * right."""
    return [(1.0, _cell(figure, left, epsilon)), (-float(exact(factor)), _cell(figure, right, epsilon))]


def difference(
    figure: int,
    left: Competitor,
    right: Competitor,
    epsilon: str,
    *,
    weight: float = 1.0,
    shorter: int = 1,
) -> list[tuple[float, Cell]]:
    """Return weight * (left - right), at the horizon divided by ``shorter``."""
    return [
        (weight, _cell(figure, left, epsilon, shorter=shorter)),
        (-weight, _cell(figure, right, epsilon, shorter=shorter)),
    ]


def falling(figure: int, left: Competitor, right: Competitor, epsilons: Sequence[str]) -> list[Combination]:
    """Return left - right at the larger epsilon, minus the same difference at the smaller epsilon."""
    return [
        [
            *difference(figure, left, right, large),
            *difference(figure, left, right, small, weight=-1.0),
        ]
        for small, large in pairwise(epsilons)
    ]


@lru_cache(maxsize=8)
def _figure(run: Run, figure: int) -> Table:
    return figure_table(figure, seed=run.seed_sequence(f"figure {figure}"))


def _pictures(run: Run, figure: int) -> list[plots.Plot]:
    """Return the paper's figure as a table and curves, with one run on each of the 20 instances."""
    found = _figure(replace(run, row_id="CZ23-E"), figure)
    over_time = [time_figure(figure, found, epsilon) for epsilon in FIGURES[figure].epsilons]
    return [regret_table(figure, found), *over_time, final_figure(figure, found)]


def compared(
    run: Run, combinations: Sequence[Combination], *, runs: tuple[int, int], figure: int | None = None
) -> Outcome:
    """Bound the largest of some combinations of E Reg(T)/T, from ``runs`` runs (quick, full)."""
    size: int = run.choose(quick=runs[0], full=runs[1])
    estimate, measured = decided(run, combinations, runs=size)
    return Outcome([estimate], measured, plots=[] if figure is None else _pictures(run, figure))


def comparison(rows: Group, id: str, source: str, **options: Any) -> Callable[[Any], Any]:
    """Decorate a row that claims its title: a combination of E Reg(T)/T is at most 0, or at most
    ``at_most``."""
    chosen = {"at_most": 0, "quantity": "largest combination of E Reg(T)/T", "kind": "utility"}
    return evidence(rows, id, source, **(chosen | options))
