"""The figure of regret against Theorem 3's rate, with bands at the row's error level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from algorithms.mab.lazy_replicates import lazy_runs
from algorithms.simulation import Algorithm, simulate
from audits.private_online_learning.experiment_settings import SETTINGS
from audits.private_online_learning.grids import lazy_rate
from audits.private_online_learning.variants import VARIANTS
from dpaudit import plots
from dpaudit.regret import gaps_of, mean_interval
from dpaudit.suite import Run

__all__ = ["against_rate"]

Floats = NDArray[np.float64]


def against_rate(run: Run, *, constant: int) -> plots.Plot:
    """All algorithms in setting 2 at ε = 1/2, and Theorem 3's rate with ``constant`` and with 4."""
    means, runs = SETTINGS[2], run.choose(quick=100, full=1000)
    horizons = [10**k for k in range(2, 13)]
    rounds = [2**k for k in range(7, run.choose(quick=12, full=16) + 1)]
    lazy = lazy_runs(
        means,
        epsilon="1/2",
        horizon=horizons[-1],
        runs=runs,
        seed=run.seed_sequence("plot"),
        checkpoints=horizons,
    )
    series = [_with_band(run, "Anytime-Lazy-UCB", VARIANTS["lazy_ucb"], horizons, list(lazy.curves.T))]
    elimination = [
        simulate(
            VARIANTS["dp_se"], means, epsilon="1/2", horizon=t, runs=40, seed=run.seed_sequence(f"dp-se {t}")
        ).final
        for t in horizons
    ]
    series.append(_with_band(run, "DP-SE, one horizon a point", VARIANTS["dp_se"], horizons, elimination))
    for name, label in (("hybrid_ucb/printed", "Hybrid-UCB"), ("ucb1", "UCB1 (not private)")):
        result = simulate(
            VARIANTS[name],
            means,
            epsilon="1/2",
            horizon=rounds[-1],
            runs=20,
            seed=run.seed_sequence(name),
            checkpoints=rounds,
        )
        series.append(_with_band(run, label, VARIANTS[name], rounds, list(result.curves.T)))
    for c in (constant, 4):
        rate = [c * sum(lazy_rate(g, 0.5, t) for g in gaps_of(means)) for t in horizons]
        series.append(plots.series(name=f"Theorem 3 with c = {c}", x=horizons, y=rate, dashed=True))
    return plots.curves(
        title="Regret against Theorem 3's rate: setting 2, ε = 1/2",
        series=series,
        x_title="rounds T",
        y_title="regret",
        x_log=True,
        y_log=True,
        note="bands: bounds on each mean at this row's error level; few runs, wide bands",
    )


def _with_band(
    run: Run, label: str, algorithm: Algorithm, horizons: Sequence[int], regrets: Sequence[Floats]
) -> dict[str, Any]:
    bounds = [
        mean_interval(values, algorithm.cut(SETTINGS[2], epsilon=0.5, horizon=t), alpha=run.alpha)
        for t, values in zip(horizons, regrets, strict=True)
    ]
    return plots.series(
        name=label,
        x=horizons,
        y=[float(values.mean()) for values in regrets],
        low=[one.low for one in bounds],
        high=[one.high for one in bounds],
    )
