"""Compare LinUCB with plain per-round loops in one run: ``python -m benchmarks.contextual``.

50 replicates of 20000 rounds, d = 5, 100 arms (Section 6 of Chowdhury and Zhou 2022). The simulator plays all
of it. The plain loops play one replicate for ``--plain`` rounds and are scaled up; their cost per round does
not grow. ``plain`` is the pseudo-code, one arm after the other. ``arrays`` is also a loop over rounds, with
all arms of a round in one array and V inverted by numpy. LinUCB-SDP with P_Amp, one step per batch, is then
compared with ``plain``.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from audits.shuffle_linear_bandits.experiment_settings import simulated
from benchmarks import plain_contextual
from benchmarks.options import count
from dpaudit.reference.algorithms.contextual.environments import FixedArms, sphere_arms
from dpaudit.reference.algorithms.contextual.simulated_regret import simulate_linucb

__all__ = ["Result", "main", "measure"]

RADIUS, RIDGE = 3.0, 1.0


@dataclass(frozen=True)
class Result:
    """Seconds for all replicates: simulated, and by each plain loop, scaled up from ``plain_rounds``."""

    seconds: float
    plain_seconds: float
    array_seconds: float
    batched_seconds: float
    plain_rounds: int


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _plain(arms: FixedArms, rounds: int) -> tuple[float, float]:
    """Return seconds for ``rounds`` rounds of one replicate: the pseudo-code, and the loop over arrays."""
    means = arms.means[0]
    uniforms = np.random.default_rng(1).random(rounds)
    position = iter(uniforms.tolist())
    plain = _seconds(
        lambda: plain_contextual.plain_linucb(
            arms.features[0],
            rounds,
            ridge=RIDGE,
            radius=lambda t: RADIUS,
            pull=lambda arm: float(next(position) < means[arm]),
        )
    )
    arrays = _seconds(
        lambda: plain_contextual.numpy_linucb(arms.features[0], uniforms, means, ridge=RIDGE, radius=RADIUS)
    )
    return plain, arrays


def measure(*, horizon: int, runs: int, plain_rounds: int, dim: int = 5, n_arms: int = 100) -> Result:
    """Time the simulators on ``runs`` replicates, and the plain loops on one for ``plain_rounds`` rounds."""
    arms = sphere_arms(replicates=runs, n_arms=n_arms, dim=dim, rng=np.random.default_rng(0))
    rounds = min(plain_rounds, horizon)
    plain, arrays = _plain(arms, rounds)
    scale = horizon / rounds * runs
    fast = _seconds(
        lambda: simulate_linucb(arms, radius=lambda t: RADIUS, ridge=RIDGE, horizon=horizon, seed=1)
    )
    batched = _seconds(lambda: simulated("sdp_amp", "theorem", arms, ("1",), horizon=horizon, seed=1))
    return Result(fast, plain * scale, arrays * scale, batched, rounds)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print one line each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--horizon", type=count, default=20_000)
    parser.add_argument("--runs", type=count, default=50)
    parser.add_argument("--plain", type=count, default=2_000, help="rounds that a plain loop plays")
    options = parser.parse_args(arguments)
    found = measure(horizon=options.horizon, runs=options.runs, plain_rounds=options.plain)
    what = f"{options.runs} replicates of {options.horizon} rounds, d = 5, 100 arms"
    sys.stdout.write(f"{what}; plain loops scaled up from {found.plain_rounds} rounds of one replicate\n")
    lines = {
        "LinUCB, simulated": found.seconds,
        "LinUCB, plain loop": found.plain_seconds,
        "LinUCB, loop over arrays": found.array_seconds,
        "LinUCB-SDP (P_Amp), simulated": found.batched_seconds,
    }
    for name, seconds in lines.items():
        sys.stdout.write(f"{name:30} {seconds:9.2f} s\n")
    sys.stdout.write(
        f"LinUCB is {found.plain_seconds / found.seconds:.0f} times as fast as the plain loop, "
        f"{found.array_seconds / found.seconds:.0f} times as fast as the loop over arrays\n"
    )


if __name__ == "__main__":
    main()
