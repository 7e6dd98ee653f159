"""The experiments' figures and tables as plot data: Reg(t)/t over time, Reg(T)/T at the end."""

from __future__ import annotations

from collections.abc import Mapping

from audits.distributed_mab.experiment_settings import FIGURES
from dpaudit.core import plots
from dpaudit.core.exact import ExactLike
from dpaudit.suite.regret import RegretRuns, at_horizon, over_time, plus_minus

__all__ = ["Table", "final_figure", "regret_table", "time_figure"]

#: (``Competitor.label``, epsilon) -> regret of every instance, as ``figure_table`` returns it.
Table = Mapping[tuple[str, ExactLike], RegretRuns]

#: The round at which curves over time begin. The first rounds play the arms in turn and carry no information.
FIRST_ROUND = 100
#: Names of the instances in the figures.
ENVIRONMENTS: Mapping[str, str] = {
    "easy": "Easy instances",
    "hard": "Hard instances",
    "diamonds": "Graded diamonds",
}


def _labels(figure: int) -> dict[str, str]:
    return {competitor.label: competitor.title for competitor in FIGURES[figure].competitors}


def _epsilons(found: Table) -> list[ExactLike]:
    return list(dict.fromkeys(epsilon for _, epsilon in found))


def regret_table(figure: int, found: Table) -> plots.Plot:
    """Return a table of Reg(T)/T for every curve of a figure: mean and standard error over the instances."""
    epsilons = _epsilons(found)
    first = next(iter(found.values()))
    horizon = int(first.checkpoints[-1])
    rows = [
        [name, *(plus_minus(1e5 * found[key, epsilon].final / horizon) for epsilon in epsilons)]
        for key, name in _labels(figure).items()
    ]
    where = ENVIRONMENTS[FIGURES[figure].environment]
    return plots.table(
        title=f"{where}: 10⁵ · Reg(T)/T at T = {horizon:,} (figure {figure})",
        columns=["algorithm", *(f"ε = {epsilon}" for epsilon in epsilons)],
        rows=rows,
        note=f"mean ± standard error of {len(first.final)} runs (descriptive only; verdicts rest on bets)",
    )


def time_figure(figure: int, found: Table, epsilon: ExactLike) -> plots.Plot:
    """Plot Reg(t)/t against t at one epsilon."""
    return over_time(
        {name: found[key, epsilon] for key, name in _labels(figure).items()},
        title=f"{ENVIRONMENTS[FIGURES[figure].environment]}, ε = {epsilon}: regret per round",
        per_round=True,
        first_round=FIRST_ROUND,
    )


def final_figure(figure: int, found: Table) -> plots.Plot:
    """Reg(T)/T against epsilon."""
    epsilons = _epsilons(found)
    return at_horizon(
        {name: [found[key, epsilon] for epsilon in epsilons] for key, name in _labels(figure).items()},
        title=f"{ENVIRONMENTS[FIGURES[figure].environment]}: regret per round at the horizon",
        x=[float(epsilon) for epsilon in epsilons],
        x_title="ε",
        per_round=True,
    )
