"""Table 2 and Figure 1 on generalized linear bandits for ``benchmarks.figures``.

Every line of numbers names its constants: those of the experiments, as the printed table has, or those of the
analysis. It has means, medians with an exact interval, the printed mean of 10, and how often each branch ran.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas

from audits.glm_bandits.experiment_runs import branch_words, median_interval, printed_mean, rerun_table
from audits.glm_bandits.experiment_settings import FIGURES, RUNS, TABLE, Setting, constants_of, runs_of
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.plots import Plot
from dpaudit.reference.algorithms.contextual.glm_simulation import GlmRuns
from dpaudit.suite.regret import over_time, regret_frame

__all__ = ["GLM_FIGURES", "regenerate_glm"]

#: Names of the figures on generalized linear bandits, Table 2 first.
GLM_FIGURES = ("table2", "1a", "1b")
#: Joint significance level of each table's median intervals.
ALPHA = 0.05

_SETTINGS: Mapping[str, Setting] = {
    **{f"table2, S = {norm}": setting for norm, setting in TABLE.items()},
    **FIGURES,
}


def regenerate_glm(
    names: Sequence[str], *, horizon: int | None, runs: int | None, seed: int = 0
) -> tuple[dict[str, Plot], pandas.DataFrame, pandas.DataFrame]:
    """Return Table 2 and Figure 1 as plot data, the runs behind them, and one line of numbers for each
    algorithm.

    ``horizon`` and ``runs`` replace the paper's. The seeds of a setting do not depend on which others are
    requested. Raises ``InvalidParameterError`` for an unknown figure.
    """
    unknown = [name for name in names if name not in GLM_FIGURES]
    if unknown or not names:
        raise InvalidParameterError(
            f"figures must be among {', '.join(GLM_FIGURES)}, got {unknown or 'none'}."
        )
    figures: dict[str, Plot] = {}
    cells, numbers = [], []
    for place, (label, setting) in enumerate(_SETTINGS.items()):
        if label.partition(",")[0] not in names:
            continue
        found = runs_of(
            setting if horizon is None else replace(setting, horizon=horizon),
            seed=np.random.SeedSequence([seed, place]),
            runs=RUNS if runs is None else runs,
        )
        key = (
            label.rpartition("= ")[2] if horizon is None else ""
        )  # the printed value is for its horizon only
        figures[f"{label} (table)"] = rerun_table(found, setting=key, alpha=ALPHA)
        figures[label] = over_time(
            {algorithm: result.pseudo for algorithm, result in found.items()}, title=f"Setting {label}"
        )
        cells += [({"algorithm": n, "setting": label}, result.pseudo) for n, result in found.items()]
        numbers += [_line(label, name, found, printed=printed_mean(name, key)) for name in found]
    return figures, regret_frame(cells), pandas.DataFrame(numbers)


def _line(label: str, name: str, found: Mapping[str, GlmRuns], *, printed: float | None) -> dict[str, object]:
    final = found[name].pseudo.final
    middle = median_interval(final, alpha=ALPHA / len(found))
    return {
        "setting": label,
        "algorithm": name,
        "constants": constants_of(name),
        "runs": len(final),
        "horizon": int(found[name].pseudo.checkpoints[-1]),
        "mean": found[name].pseudo.mean,
        "standard_error": float(np.std(final, ddof=1) / np.sqrt(len(final))) if len(final) > 1 else None,
        "median": middle.mean,
        "median_low": middle.low,
        "median_high": middle.high if np.isfinite(middle.high) else None,
        "printed_mean_of_10": printed,
        "branches": branch_words(found[name]),
    }
