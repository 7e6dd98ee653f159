"""Compare figures of the distributed paper with the plain per-user loop: ``python -m
benchmarks.distributed``.

Prints, for every figure, Reg(T)/T of each curve with its standard error and the seconds that the figure took.
Then it compares one curve with the plain loop of ``plain_distributed``, which plays at most ``--plain``
rounds and is scaled up. The cost per round of the plain loop does not fall, so the ratio is on the low side.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence

import numpy as np

from audits.distributed_mab.experiment_settings import (
    FAILURE_PROB,
    FIGURES,
    HORIZONS,
    figure_table,
    instances,
)
from benchmarks import plain_distributed
from benchmarks.options import count
from dpaudit.reference.algorithms.mab.distributed_elimination import variant
from dpaudit.reference.algorithms.mab.distributed_regret import simulate_variant

__all__ = ["main", "plain_seconds", "simulated_seconds"]

EPSILON = "0.5"


def simulated_seconds(*, horizon: int, runs: int) -> float:
    """Return seconds for the Dist-DP-SE curve of ``runs`` easy instances."""
    model, chosen = (
        instances("easy", runs=runs),
        variant("dist_dp_se", epsilon=EPSILON, failure_prob=FAILURE_PROB),
    )
    start = time.perf_counter()
    simulate_variant(chosen, model, horizon=horizon, growth=4, seed=1)
    return time.perf_counter() - start


def plain_seconds(*, rounds: int) -> float:
    """Return seconds for ``rounds`` rounds of one plain run of the same curve."""
    rng = np.random.default_rng(1)
    means: list[float] = instances("easy", runs=1).means[0].tolist()
    gaussians: Iterator[float] = iter(rng.normal(scale=0.1, size=rounds).tolist())

    def pull(arm: int) -> float:
        return min(1.0, max(0.0, means[arm] + next(gaussians)))

    start = time.perf_counter()
    plain_distributed.distributed_elimination(
        len(means),
        rounds,
        float(FAILURE_PROB),
        plain_distributed.constants("dist_dp_se", epsilon=float(EPSILON)),
        pull,
        plain_distributed.user_by_user(rng, float(EPSILON)),
        growth=4,
    )
    return time.perf_counter() - start


def _show_figure(figure: int, runs: int) -> None:
    environment = FIGURES[figure].environment
    start = time.perf_counter()
    table = figure_table(figure, seed=1, runs=runs)
    seconds = time.perf_counter() - start
    horizon = HORIZONS[environment]
    sys.stdout.write(f"\nfigure {figure} ({environment}, T = {horizon:.0e}): {seconds:.1f} s\n")
    for (label, epsilon), result in table.items():
        mean, error = result.mean / horizon, result.standard_error / horizon
        sys.stdout.write(
            f"  {label:22} epsilon {epsilon!s:>4}  {mean * 1e5:9.1f} ± {error * 1e5:6.1f}  e-5\n"
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the figures' tables and the comparison with the plain loop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--figures", type=int, nargs="*", default=sorted(FIGURES), choices=sorted(FIGURES))
    parser.add_argument("--runs", type=count, default=20)
    parser.add_argument("--plain", type=count, default=100_000, help="rounds of the plain loop")
    options = parser.parse_args(arguments)
    for figure in options.figures:
        _show_figure(figure, options.runs)
    horizon = HORIZONS["easy"]
    fast = simulated_seconds(horizon=horizon, runs=options.runs)
    plain = plain_seconds(rounds=options.plain) * horizon / options.plain * options.runs
    sys.stdout.write(
        f"\none curve, {options.runs} runs of {horizon:.0e} rounds: simulated {fast * 1e3:.0f} ms, "
        f"plain loop {plain:.0f} s (scaled up from {options.plain:.0e} rounds), ratio {plain / fast:.0f}\n"
    )


if __name__ == "__main__":
    main()
