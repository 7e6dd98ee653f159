"""Compare regret simulators with the plain per-round loops: ``python -m benchmarks.regret``.

Both sides play the same experiment (setting 2 of the paper, K = 5). The plain loop plays one run, for at most
``--plain`` rounds, and is scaled up to the simulator's rounds. Its cost per round grows slowly, so the ratio
is on the low side. Anytime-Lazy-UCB is also compared with a tight loop, which reuses values that a round does
not change.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from audits.private_online_learning.experiment_settings import HORIZON, RUNS, SETTINGS
from audits.private_online_learning.variants import VARIANTS
from benchmarks import plain_loops
from dpaudit.reference.algorithms.simulation import simulate_many

__all__ = ["Result", "main", "measure"]

MEANS = SETTINGS[2]
EPSILON = 1


@dataclass(frozen=True)
class Result:
    """Seconds for ``runs`` runs: simulated, and by the plain loop (scaled from ``plain_rounds``)."""

    algorithm: str
    horizon: int
    runs: int
    seconds: float
    plain_rounds: int
    plain_seconds: float
    tight_seconds: float | None = None

    @property
    def ratio(self) -> float:
        return self.plain_seconds / self.seconds

    @property
    def tight_ratio(self) -> str:
        """Return the ratio to the tight loop, if there is one."""
        return "-" if self.tight_seconds is None else f"{self.tight_seconds / self.seconds:.0f}"


def _plain(algorithm: str, rounds: int) -> Callable[[], object]:
    """Return one run of the plain loop, ready to be timed."""
    rng = np.random.default_rng(1)
    n_arms, means = len(MEANS), list(MEANS)
    uniforms = rng.random(rounds).tolist()
    table = (rng.random((rounds, n_arms)) < MEANS).astype(float).tolist() if "ft" in algorithm else []
    position = iter(uniforms)
    rows = iter(table)

    def pull(arm: int) -> float:
        return float(next(position) < means[arm])

    def noise(site: str, scale: float) -> float:
        return float(rng.laplace(scale=scale))

    loops: dict[str, Callable[[], object]] = {
        "lazy_ucb": lambda: plain_loops.lazy_ucb(n_arms, rounds, EPSILON, pull, noise),
        "lazy_ucb/tight": lambda: plain_loops.lazy_ucb_tight(n_arms, rounds, EPSILON, pull, noise),
        "dp_se": lambda: plain_loops.successive_elimination(n_arms, rounds, EPSILON, 1 / rounds, pull, noise),
        "hybrid_ucb/repaired": lambda: plain_loops.hybrid_ucb(
            n_arms, rounds, EPSILON, pull, noise, extra_level=1
        ),
        "ucb1": lambda: plain_loops.ucb1(n_arms, rounds, pull),
        "ftnl/repaired": lambda: plain_loops.ftnl(rounds, 2 / EPSILON, lambda: next(rows), noise),
    }
    return loops[algorithm]


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(algorithm: str, *, horizon: int, runs: int, instances: int, plain_rounds: int) -> Result:
    """Time ``runs`` simulated runs of each of ``instances`` equal instances, and one plain run."""
    rounds = min(plain_rounds, horizon)
    scaling = (horizon / rounds) * runs * instances
    plain = _seconds(_plain(algorithm, rounds)) * scaling
    tight = _seconds(_plain("lazy_ucb/tight", rounds)) * scaling if algorithm == "lazy_ucb" else None
    cells = [MEANS] * instances
    fast = _seconds(
        lambda: simulate_many(
            VARIANTS[algorithm], cells, epsilons=[EPSILON] * instances, horizon=horizon, runs=runs, seed=1
        )
    )
    return Result(algorithm, horizon, runs * instances, fast, rounds, plain, tight)


def main(arguments: list[str] | None = None) -> None:
    """Measure every simulator and print one line each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--horizon", type=int, default=HORIZON, help="rounds of the event-driven simulators")
    parser.add_argument("--rounds", type=int, default=4096, help="rounds of the round-by-round engines")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--plain", type=int, default=200_000, help="rounds that a plain loop plays at most")
    options = parser.parse_args(arguments)
    sizes = {
        "lazy_ucb": (options.horizon, 1),
        "dp_se": (options.horizon, 1),
        "ftnl/repaired": (options.horizon, 1),
        # Round by round, the whole table of 3 settings and 7 epsilons is one array.
        "hybrid_ucb/repaired": (options.rounds, 21),
        "ucb1": (options.rounds, 21),
    }
    sys.stdout.write(
        f"{'algorithm':20} {'horizon':>10} {'runs':>5} {'simulated':>11} {'plain loop':>11} "
        f"{'tight ratio':>11} {'ratio':>9}\n"
    )
    for algorithm, (horizon, instances) in sizes.items():
        result = measure(
            algorithm, horizon=horizon, runs=options.runs, instances=instances, plain_rounds=options.plain
        )
        sys.stdout.write(
            f"{algorithm:20} {horizon:10d} {result.runs:5d} {result.seconds * 1e3:8.1f} ms "
            f"{result.plain_seconds:9.1f} s {result.tight_ratio:>11} {result.ratio:9.0f}\n"
        )


if __name__ == "__main__":
    main()
