"""Space and horizon (HHM-SPACE, HHM-ANY): the tuples of appendix A, and the algorithms that need to know T.

Decisions are compared round by round on the same rewards and with the same noise. The regret that restarts
add to DP-SE, to make it anytime, is measured.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from audits.private_online_learning.variants import VARIANTS
from dpaudit.coins import Program, Sampler
from dpaudit.core.claims import Ordering, SameDistribution
from dpaudit.core.exact import exact
from dpaudit.core.plots import table
from dpaudit.core.suite import Group, Run
from dpaudit.reference.algorithms.mab import lazy_ucb, successive_elimination
from dpaudit.reference.algorithms.mab.restarted_elimination import RESTARTED
from dpaudit.reference.algorithms.play import Decisions
from dpaudit.reference.algorithms.simulation import simulate
from dpaudit.suite import Measured, evidence, full, over
from dpaudit.suite.regret import difference_interval

__all__ = ["rows"]

rows = Group("Space and horizon")

COUNTED = "exact count, same rewards and same noise"
EPSILONS = ("1/10", "1", "1000000")


def _differences(left: Decisions, right: Decisions) -> int:
    """Count the rounds that both played in which the arms differ."""
    both = ([arm for arm, count in decisions for _ in range(count)] for decisions in (left, right))
    return sum(a != b for a, b in zip(*both, strict=False))


def _played(program: Program, noise: int, data: Any) -> Decisions:
    decisions: Decisions = program(Sampler(np.random.default_rng(noise)), data)
    return decisions


def _counted(count: int, *, runs: int, scope: str, note: str = "") -> Measured:
    notes = [note] if note else []
    return Measured(low=count, high=count, samples=runs, method=COUNTED, scope=scope, notes=notes)


# Space

MEMORIES = over(n_arms=(1, 2, 5), epsilon=EPSILONS, horizon=(1, 2, 3, 5, 64, 1000))


@evidence(
    rows,
    "HHM-SPACE",
    "Appendix A",
    claim=SameDistribution(
        text=(
            "with the same rewards and noise, tuples (N, S, λ) and arrays of all observations pull the same "
            "arm in every round, and an arm keeps at most two tuples, whatever the horizon"
        ),
        quantity_name="rounds that differ, and numbers kept beyond two tuples per arm",
        claimed=0,
    ),
)
def tuples_for_arrays(run: Run) -> Measured:
    """Appendix A: two tuples per arm make the same decisions as the arrays

    Run the algorithm with both memories, count the rounds that differ, and count the numbers that each memory
    keeps. The arrays of the same runs keep every observation, so their size grows with T. The count can
    therefore exceed its bound.
    """
    rng, repeats = run.rng("data"), run.choose(quick=3, full=30)
    wrong, largest, points = 0, 0, list(MEMORIES.at(run))
    for point in (point for point in points for _ in range(repeats)):
        n_arms, epsilon = point["n_arms"], point["epsilon"]
        data = rng.integers(0, 2, size=(max(point["horizon"], n_arms), n_arms)).astype(float)
        noise = int(rng.integers(2**32))
        left, tuples = _remembered(lazy_ucb.Tuples, epsilon, noise, data)
        right, arrays = _remembered(lazy_ucb.Arrays, epsilon, noise, data)
        # In addition to the tuple being filled, the algorithm keeps the released mean and size of the last
        # tuple.
        excess = sum(max(0, len(vars(kept)) - 3) for kept in tuples) + abs(len(tuples) - n_arms)
        wrong += _differences(left, right) + excess
        observations = sum(len(values) for kept in arrays for array in kept.arrays for values in array)
        largest = max(largest, observations)
    return _counted(
        wrong,
        runs=repeats * len(points),
        scope=f"random rewards, {repeats} runs each: {MEMORIES.scope}",
        note=f"tuples: 3 numbers per arm at every horizon; arrays: up to {largest} observations",
    )


def _remembered(
    memory: Callable[[], Any], epsilon: str, noise: int, data: Any
) -> tuple[Decisions, list[Any]]:
    """Return the decisions, and the memories that the program made."""
    kept: list[Any] = []

    def keep() -> Any:
        kept.append(memory())
        return kept[-1]

    return _played(lazy_ucb.program(epsilon=epsilon, memory=keep), noise, data), kept


# Horizon


def _lazy_ucb(horizon: int, epsilon: str) -> Program:
    return lazy_ucb.program(epsilon=epsilon)


def _elimination(horizon: int, epsilon: str) -> Program:
    return successive_elimination.program(epsilon=epsilon, failure_probability=Fraction(1, horizon))


def _prefix(name: str) -> SameDistribution:
    text = (
        f"with the same rewards and noise, {name} for T and for 4T rounds pull the same arms in the first T"
    )
    return SameDistribution(text=text, quantity_name="rounds that differ", claimed=0)


PREFIXES = over(horizon=(2, 100, 2000), epsilon=EPSILONS)


@evidence(
    rows,
    "HHM-ANY/dp-se",
    "Section 7: DP-SE is not anytime",
    claim=_prefix("DP-SE with β = 1/T"),
    role="what-if",
    expect="refuted",
    algorithm="DP-SE with β = 1/T",
    program=_elimination,
)
@evidence(
    rows,
    "HHM-ANY",
    "Sections 1 and 4.1",
    claim=_prefix("Anytime-Lazy-UCB"),
    algorithm="Anytime-Lazy-UCB",
    program=_lazy_ucb,
)
def prefix(run: Run, algorithm: str, program: Callable[[int, str], Program]) -> Measured:
    """{algorithm} needs no horizon: a shorter one gives a prefix of the decisions

    Play T and 4T rounds on the same data with the same noise and count the rounds that differ.
    """
    rng, repeats = run.rng("data"), run.choose(quick=3, full=20)
    wrong, points = 0, list(PREFIXES.at(run))
    for point in (point for point in points for _ in range(repeats)):
        horizon, epsilon = point["horizon"], point["epsilon"]
        data = rng.integers(0, 2, size=(4 * horizon, 3)).astype(float)
        noise = int(rng.integers(2**32))
        short = _played(program(horizon, epsilon), noise, data[:horizon])
        wrong += _differences(short, _played(program(4 * horizon, epsilon), noise, data))
    scope = f"3 arms, random rewards, {repeats} pairs of runs each: {PREFIXES.scope}"
    return _counted(wrong, runs=repeats * len(points), scope=scope)


RESTARTS = over(
    means=((0.75, 0.7, 0.7, 0.7, 0.7), (0.75, 0.625, 0.5, 0.375, 0.25), (1.0, 0.0), (0.5, 0.4)),
    epsilon=("1/10", "1"),
    horizon=(10**5, 2**32, full(2**22, 10**9, 10**12)),
)


@evidence(
    rows,
    "HHM-ANY/restarts",
    "Section 7: 'a multiplicative constant between 4 or 8'",
    kind="regret",
    claim=Ordering(
        text=(
            "E regret of DP-SE, restarted for phases of 2^(2^i) rounds, ≤ 8 E regret of DP-SE that knows T; "
            f"{RESTARTS.scope}"
        ),
        quantity_name="E restarted - 8 E with T known, rewards",
        claimed=0,
        constants=(("factor", "8"),),
    ),
)
def restarts(run: Run) -> Measured:
    """Restarts make DP-SE anytime and cost a factor between 4 and 8 at most

    Simulate DP-SE with and without knowledge of T, also just after a restart, and bet on the paired
    differences.

    Note: a bound proportional to log T loses a factor (2 + 4 + ... + 2^i) / 2^(i-1) < 4 at most, in the first
    round of phase i
    """
    runs, points = run.choose(quick=130, full=400), list(RESTARTS.at(run))
    found = [_compared(run, alpha=run.alpha / len(points), runs=runs, **point) for point in points]
    entries = [
        [str(point["means"]), point["epsilon"], point["horizon"], ours, known, ours / known]
        for point, (_, ours, known) in zip(points, found, strict=True)
    ]
    factors = [entry[-1] for entry in entries]
    picture = table(
        title="Mean regret of DP-SE with and without restarts",
        columns=["means", "ε", "T", "restarted", "T known", "factor"],
        rows=entries,
    )
    return Measured(
        low=max(low for (low, _), _, _ in found),
        high=max(high for (_, high), _, _ in found),
        samples=2 * runs * len(points),
        method="bets on paired differences of regrets cut at a cap, rigorous excess added",
        scope=f"{runs} runs each: {RESTARTS.scope}",
        exact=False,
        notes=[f"measured factors from {min(factors):.2f} to {max(factors):.2f}"],
        plots=[picture],
    )


def _compared(
    run: Run, *, alpha: float, runs: int, means: tuple[float, ...], epsilon: str, horizon: int
) -> tuple[tuple[float, float], float, float]:
    """Return bounds on E restarted - 8 E known from paired runs, and both means."""
    seeds = run.seed_sequence(f"{means} {epsilon} {horizon}").spawn(2)
    options = {"epsilon": epsilon, "horizon": horizon, "runs": runs, "checkpoints": [horizon]}
    pair = RESTARTED, VARIANTS["dp_se"]
    ours, known = (
        simulate(algorithm, means, seed=seed, **options) for algorithm, seed in zip(pair, seeds, strict=True)
    )
    cuts = [item.cut(means, epsilon=float(exact(epsilon)), horizon=horizon) for item in pair]
    ends = difference_interval(ours.final, cuts[0], known.final, cuts[1], factor=8, alpha=alpha)
    return ends, ours.mean, known.mean
