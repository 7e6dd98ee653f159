"""Errors of concurrent private sums against the number of users, for ``benchmarks.figures``.

The paper has no experiments. These pictures evaluate its rates with calibrated bits at (1/2, 1e-6):

* ``error``: the largest error over all times on all ones, mean of the runs, and the bound that holds for
  every input in nine runs of ten (dashed);
* ``noise``: the largest exact standard deviation of an estimate's noise;
* ``blind``: how many users are in no complete batch, at most.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial

import numpy as np
import pandas

from audits.concurrent_shuffle.error_bounds import radius
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.plots import Plot, curves, series
from dpaudit.reference.mechanisms.binary_sum import binary_sum_mechanism
from dpaudit.reference.mechanisms.concurrent_sum import ConcurrentSum
from dpaudit.reference.mechanisms.concurrent_tree import binary_tree, build_tree

__all__ = ["CONCURRENT_FIGURES", "SOURCE", "regenerate_concurrent"]

SOURCE = "arXiv 2301.12535"

EPSILON, DELTA, BETA = Fraction(1, 2), Fraction(1, 10**6), Fraction(1, 10)

#: The y axis of each figure.
CONCURRENT_FIGURES: Mapping[str, str] = {
    "error": "largest error over all times",
    "noise": "largest standard deviation of the noise",
    "blind": "blind users at most",
}


def _counter(shufflers: int, exponent: int) -> ConcurrentSum:
    """Return Algorithm 3 with this number of shufflers, or Algorithm 2 for 0."""
    n = 2**exponent
    tree = build_tree(horizon=n, n_shufflers=shufflers) if shufflers else binary_tree(n)
    return ConcurrentSum(tree, binary_sum_mechanism, EPSILON, DELTA)


#: Name of a curve -> the counter for 2^i users.
COUNTERS: Mapping[str, Callable[[int], ConcurrentSum]] = {
    **{f"k = {k}": partial(_counter, k) for k in (1, 2, 3)},
    "k = log n - 1": partial(_counter, 0),
}


def regenerate_concurrent(
    names: Sequence[str], *, horizon: int | None, runs: int | None, seed: int = 0
) -> tuple[dict[str, Plot], pandas.DataFrame, pandas.DataFrame]:
    """Return the named figures, all runs behind them, and one line of numbers for each counter and n.

    n = 2^8, 2^10, ... up to ``horizon`` (2^16 unless given); ``runs`` are 50. Raises
    ``InvalidParameterError`` for an unknown figure, and for a horizon below 2^8.
    """
    unknown = [name for name in names if name not in CONCURRENT_FIGURES]
    if unknown or not names:
        raise InvalidParameterError(
            f"figures must be among {', '.join(CONCURRENT_FIGURES)}, got {unknown or 'none'}."
        )
    last = (2**16 if horizon is None else horizon).bit_length() - 1
    if last < 8:
        raise InvalidParameterError(f"horizon must be 256 or more, got {horizon}.")
    frame, numbers = _simulated(range(8, last + 1, 2), 50 if runs is None else runs, seed)
    return {name: _figure(name, numbers) for name in names}, frame, numbers


def _simulated(exponents: range, runs: int, seed: int) -> tuple[pandas.DataFrame, pandas.DataFrame]:
    """Return every run's largest error, and the exact figures of each counter."""
    cells = [(name, i) for name in COUNTERS for i in exponents]
    seeds = np.random.SeedSequence(seed).spawn(len(cells))
    runs_of, lines = [], []
    for (name, i), child in zip(cells, seeds, strict=True):
        counter, n = COUNTERS[name](i), 2**i
        found = counter.largest_errors(np.ones(n, np.int64), np.random.default_rng(child), runs=runs)
        runs_of += [{"shufflers": name, "n": n, "run": j, "largest error": e} for j, e in enumerate(found)]
        lines.append(
            {
                "shufflers": name,
                "n": n,
                "error": found.mean(),
                "standard error": found.std(ddof=1) / np.sqrt(runs) if runs > 1 else np.nan,
                "bound": float(radius(counter, BETA)),
                "noise": float(np.sqrt(counter.noise_variance().max())),
                "blind": counter.tree.sizes[0] - 1,
                "fair bits of a user": sum(node.trials for node in counter.mechanisms),
                "padding": counter.tree.padding,
            }
        )
    return pandas.DataFrame(runs_of), pandas.DataFrame(lines)


def _figure(name: str, numbers: pandas.DataFrame) -> Plot:
    """Plot one curve per number of shufflers, and for the errors also the bounds."""
    lines = []
    for shufflers, part in numbers.groupby("shufflers", sort=False):
        lines.append(series(name=str(shufflers), x=part["n"].tolist(), y=part[name].tolist()))
        if name == "error":
            bound = part["bound"].tolist()
            lines.append(series(name=f"{shufflers}, every input", x=part["n"].tolist(), y=bound, dashed=True))
    return curves(
        title=f"{CONCURRENT_FIGURES[name]}, calibrated bits, ε = 1/2, δ = 1e-6",
        series=lines,
        x_title="users n",
        y_title=CONCURRENT_FIGURES[name],
        x_log=True,
        y_log=name != "blind",
    )
