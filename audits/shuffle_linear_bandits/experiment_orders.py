"""Restate the paper's sentences on its figures as differences of mean regret that must not be positive."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from scipy import special

from audits.shuffle_linear_bandits.experiment_settings import ALGORITHMS, figure_table
from dpaudit.core.plots import Plot, table
from dpaudit.reference.algorithms.contextual.simulated_regret import LinearRuns
from dpaudit.suite import Measured
from dpaudit.suite.regret import plus_minus

__all__ = ["Curve", "Pair", "between", "compared", "fading", "measured_curves", "nearer", "regret_table"]

#: (algorithm, epsilon).
Curve = tuple[str, str]
#: The lower curve and the higher one, or two gaps to LinUCB, which is the same in both.
Pair = tuple[Curve, Curve]
PRIVATE = ("jdp", "sdp_amp", "sdp_vec", "ldp")


def between(
    epsilon: str, *, low: Sequence[str], middle: Sequence[str], high: Sequence[str] = ()
) -> list[Pair]:
    """Yield pairs for: every curve of ``low`` is below every curve of ``middle``, and these are below
    ``high``, at one ε."""
    steps = [(low, middle), (middle, high)]
    return [((a, epsilon), (b, epsilon)) for left, right in steps for a in left for b in right]


def nearer(algorithms: Sequence[str], epsilons: Sequence[str] = ("0.2", "1", "10")) -> list[Pair]:
    """Yield pairs for: each curve is no higher at the next larger ε.

    LinUCB is the same at every ε, so this is also the order of the gaps to LinUCB.
    """
    steps = list(zip(epsilons[1:], epsilons, strict=False))
    return [((name, large), (name, small)) for name in algorithms for large, small in steps]


def fading(algorithms: Sequence[str]) -> list[Pair]:
    """Yield pairs for: the gap is smaller at ε = 10 than at 0.2."""
    return nearer(algorithms, ("0.2", "10"))


@lru_cache(maxsize=32)
def _curve(
    profile: str, dim: int, algorithm: str, epsilons: tuple[str, ...], runs: int, horizon: int, entropy: int
) -> Mapping[Curve, LinearRuns]:
    return figure_table(
        profile, dim=dim, epsilons=epsilons, seed=entropy, runs=runs, horizon=horizon, algorithms=[algorithm]
    )


def measured_curves(
    profile: str,
    pairs: Sequence[Pair],
    *,
    dim: int,
    runs: int,
    horizon: int,
    seed: int,
    levels: Sequence[str] = (),
) -> dict[Curve, LinearRuns]:
    """Return the curves that ``pairs`` need.

    Each algorithm has all of ``levels``, so that the parts of a row share curves, or only its own ε. Run r
    plays instance r in every curve.
    """
    found: dict[Curve, LinearRuns] = {}
    for algorithm in dict.fromkeys(name for pair in pairs for name, _ in pair):
        own = sorted({e for pair in pairs for name, e in pair if name == algorithm}, key=float)
        found |= _curve(profile, dim, algorithm, tuple(levels or own), runs, horizon, seed)
    return found


def compared(
    curves: Mapping[Curve, LinearRuns], pairs: Sequence[Pair], *, alpha: float, level: float = 2.0
) -> Measured:
    """Return the largest difference of mean regret per round, lower curve minus higher, over ``pairs``.

    The paired t-intervals hold jointly at ``alpha``, approximately. Ties (within ``level`` standard errors)
    are named.
    """
    bounds, differences = [], []
    for low, high in pairs:
        left, right = curves[low].pseudo, curves[high].pseudo
        paired = (left.final - right.final) / int(left.checkpoints[-1])
        size = len(paired)
        error = float(paired.std(ddof=1)) / math.sqrt(size)
        mean = float(paired.mean())
        half = -float(special.stdtrit(size - 1, alpha / (2 * len(pairs)))) * error
        bounds.append((mean - half, mean + half))
        tie = ", a tie" if abs(mean) < level * error else ""
        differences.append(f"{_named(low)} - {_named(high)}: {mean:.4f} ± {error:.4f} per round{tie}")
    outside = {_named(c): int((curves[c].indefinite_batches > 0).sum()) for pair in pairs for c in pair}
    size = len(next(iter(curves.values())).pseudo.final)
    counted = ", ".join(f"{count} of {size} runs of {name}" for name, count in outside.items() if count)
    return Measured(
        low=max(low for low, _ in bounds),
        high=max(high for _, high in bounds),
        exact=False,
        samples=size,
        method="paired differences on common instances; t-intervals, approximate",
        scope="; ".join(differences) + (f"; V_m not positive definite in {counted}" if counted else ""),
    )


def _named(curve: Curve) -> str:
    return ALGORITHMS[curve[0]] if curve[0] == "linucb" else f"{ALGORITHMS[curve[0]]}, ε = {curve[1]}"


def regret_table(curves: Mapping[Curve, LinearRuns], *, title: str) -> Plot:
    """Return a table of mean final regret, pseudo and realised, with standard errors, and of runs with an
    indefinite V_m."""
    rows = [
        [
            ALGORITHMS[name],
            epsilon,
            plus_minus(runs.pseudo.final),
            plus_minus(runs.realised.final),
            int((np.asarray(runs.indefinite_batches) > 0).sum()),
        ]
        for (name, epsilon), runs in curves.items()
    ]
    return table(
        title=title,
        columns=["algorithm", "ε", "pseudo-regret", "realised regret", "runs with an indefinite V_m"],
        rows=rows,
        note="mean ± standard error over instances; realised: the best arm's rewards minus the played arms'",
    )
