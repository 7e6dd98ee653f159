"""The figures of "Shuffle Private Linear Contextual Bandits" for ``benchmarks.figures``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas

from audits.shuffle_linear_bandits.experiment_figures import PANELS, WORDS, panel
from audits.shuffle_linear_bandits.experiment_orders import regret_table
from audits.shuffle_linear_bandits.experiment_settings import ALGORITHMS, FIGURES, HORIZON, RUNS, figure_table
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.plots import Plot
from dpaudit.reference.algorithms.contextual.simulated_regret import LinearRuns
from dpaudit.suite.regret import regret_frame

__all__ = ["SHUFFLED_FIGURES", "regenerate_shuffled"]

#: Name -> panel and profile: 1a as in the authors' code, 1a-theorem as in the theorems.
SHUFFLED_FIGURES: Mapping[str, tuple[str, str]] = {
    name if profile == "authors_code" else f"{name}-{profile}": (name, profile)
    for profile in WORDS
    for name in PANELS
}


def regenerate_shuffled(
    names: Sequence[str], *, horizon: int | None, runs: int | None, seed: int = 0
) -> tuple[dict[str, Plot], pandas.DataFrame]:
    """Return the named figures as plot data, with a table for each profile and dimension, and the runs behind
    them.

    ``horizon`` and ``runs`` replace the paper's 20000 and 50. The seeds of a figure do not depend on which
    others are requested.
    """
    unknown = [name for name in names if name not in SHUFFLED_FIGURES]
    if unknown or not names:
        raise InvalidParameterError(
            f"figures must be among {', '.join(SHUFFLED_FIGURES)}, got {unknown or 'none'}."
        )
    chosen = {name: SHUFFLED_FIGURES[name] for name in names}
    wanted = dict.fromkeys((PANELS[at][0], profile) for at, profile in chosen.values())
    found = {key: _table(*key, horizon=horizon, runs=runs, seed=seed) for key in wanted}
    tables: dict[str, Plot] = {}
    for (figure, profile), curves in found.items():
        title = f"Regret at the horizon, d = {FIGURES[figure].dim}, {WORDS[profile]} (figure {figure})"
        tables[f"{figure} ({profile})"] = regret_table(curves, title=title)
    figures = {}
    for name, (at, profile) in chosen.items():
        plot = panel(at, profile, found[PANELS[at][0], profile])
        figures[name] = plot | {"title": f"Figure {name}. {plot['title']}"}
    return tables | figures, _frame(found)


def _table(
    figure: str, profile: str, *, horizon: int | None, runs: int | None, seed: int
) -> dict[tuple[str, str], LinearRuns]:
    shown, place = FIGURES[figure], list(FIGURES).index(figure)
    return figure_table(
        profile,
        dim=shown.dim,
        epsilons=shown.epsilons,
        seed=np.random.SeedSequence([seed, place]),
        runs=RUNS if runs is None else runs,
        horizon=HORIZON if horizon is None else horizon,
    )


def _frame(found: Mapping[tuple[str, str], Mapping[tuple[str, str], LinearRuns]]) -> pandas.DataFrame:
    cells = []
    for (figure, profile), curves in found.items():
        for (key, epsilon), runs in curves.items():
            labels = {"algorithm": ALGORITHMS[key], "profile": profile, "d": FIGURES[figure].dim}
            cells.append((labels | {"epsilon": epsilon}, runs.pseudo))
    return regret_frame(cells)
