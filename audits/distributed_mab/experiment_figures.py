"""The experiments' figures and tables as plot data: Reg(t)/t over time, Reg(T)/T at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from algorithms.mab.distributed_elimination import DESIGNS
from audits.distributed_mab.experiment_settings import FIGURES, Competitor
from dpaudit import plots
from dpaudit.exact import ExactLike
from dpaudit.regret import RegretRuns

__all__ = ["Table", "final_figure", "label", "regret_table", "time_figure"]

#: (``Competitor.label``, epsilon) -> regret of every instance, as ``figure_table`` returns it.
Table = Mapping[tuple[str, ExactLike], RegretRuns]

#: Where curves over time begin: the first rounds play the arms in turn and tell nothing.
FIRST_ROUND = 100
#: What they call the instances.
ENVIRONMENTS: Mapping[str, str] = {
    "easy": "Easy instances",
    "hard": "Hard instances",
    "diamonds": "Graded diamonds",
}


def label(competitor: Competitor) -> str:
    """A curve's name in the legend."""
    scale = "" if competitor.scale_factor == 1 else f" (s = {competitor.scale_factor})"
    called = "DP-SE" if competitor.name == "dp_se" else DESIGNS[competitor.name].title
    return called + scale


def _labels(figure: int) -> dict[str, str]:
    return {competitor.label: label(competitor) for competitor in FIGURES[figure].competitors}


def _epsilons(found: Table) -> list[ExactLike]:
    return list(dict.fromkeys(epsilon for _, epsilon in found))


def _per_round(result: RegretRuns) -> tuple[float, float]:
    """Mean and standard error (0 for one run) of Reg(T)/T in units of 10^-5."""
    horizon = int(result.checkpoints[-1])
    error = result.standard_error if len(result.final) > 1 else 0.0
    return 1e5 * result.mean / horizon, 1e5 * error / horizon


def regret_table(figure: int, found: Table) -> plots.Plot:
    """Reg(T)/T of every curve of a figure: mean and standard error over the instances."""
    epsilons, names = _epsilons(found), _labels(figure)
    horizon = int(next(iter(found.values())).checkpoints[-1])
    rows: list[Sequence[str]] = []
    for key, name in names.items():
        cells = (_per_round(found[key, epsilon]) for epsilon in epsilons)
        rows.append([name, *(f"{mean:.0f} ± {error:.0f}" for mean, error in cells)])
    runs = len(next(iter(found.values())).final)
    where = ENVIRONMENTS[FIGURES[figure].environment]
    return plots.table(
        title=f"{where}: 10⁵ · Reg(T)/T at T = {horizon:,} (figure {figure})",
        columns=["algorithm", *(f"ε = {epsilon}" for epsilon in epsilons)],
        rows=rows,
        note=f"mean ± standard error of {runs} runs; the errors describe, verdicts rest on bets",
    )


def time_figure(figure: int, found: Table, epsilon: ExactLike) -> plots.Plot:
    """Reg(t)/t against t at one epsilon; bands of one standard error."""
    series = []
    for key, name in _labels(figure).items():
        result = found[key, epsilon]
        rates = result.curves / result.checkpoints
        shown = result.checkpoints >= FIRST_ROUND
        series.append(_band(name, result.checkpoints[shown].tolist(), rates[:, shown]))
    return plots.curves(
        title=f"{ENVIRONMENTS[FIGURES[figure].environment]}, ε = {epsilon}: regret per round",
        series=series,
        x_title="round t",
        y_title="Reg(t)/t",
        x_log=True,
        y_log=True,
        note="band: one standard error of the mean over the runs",
    )


def final_figure(figure: int, found: Table) -> plots.Plot:
    """Reg(T)/T against epsilon; bands of one standard error."""
    epsilons = _epsilons(found)
    series = []
    for key, name in _labels(figure).items():
        results = [found[key, epsilon] for epsilon in epsilons]
        rates = np.stack([result.final / result.checkpoints[-1] for result in results], axis=1)
        series.append(_band(name, [float(epsilon) for epsilon in epsilons], rates))
    return plots.curves(
        title=f"{ENVIRONMENTS[FIGURES[figure].environment]}: regret per round at the horizon",
        series=series,
        x_title="ε",
        y_title="Reg(T)/T",
        x_log=True,
        y_log=True,
        note="band: one standard error of the mean over the runs",
    )


def _band(name: str, x: list[float], rates: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> plots.Plot:
    """A series from rates of shape (runs, points)."""
    mean = rates.mean(axis=0)
    error = rates.std(axis=0, ddof=1) / np.sqrt(len(rates)) if len(rates) > 1 else np.zeros_like(mean)
    return plots.series(
        name=name, x=x, y=mean.tolist(), low=(mean - error).tolist(), high=(mean + error).tolist()
    )
