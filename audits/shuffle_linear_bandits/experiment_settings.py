"""Run the experiments of Section 6 and Appendix G: five algorithms on the same instances, in two profiles.

100 arms, T = 20000, 50 instances, δ = 0.1, B = 20. Figure 1 has d = 5 and ε = 0.2, 1, 10. Figure 2 has ε =
1 and d = 10, 15. The paper prints neither λ nor radius nor noise for them. ``authors_code`` reproduces the
authors' public code (``coded_policy``). ``theorem`` takes noise, ridge and radius from the theorems
(``theorem_policy``), with α = 1/T.

At B = 20 and δ = 0.1 Theorem 3.2 covers ε <= 0.387. P_Amp at ε = 1 and 10 is outside its range.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from audits.shuffle_linear_bandits.coded_policies import coded_policy
from audits.shuffle_linear_bandits.theorem_policies import theorem_policy
from dpaudit.core.errors import InvalidParameterError
from dpaudit.reference.algorithms.contextual.environments import FixedArms, coded_arms, sphere_arms
from dpaudit.reference.algorithms.contextual.linear_policy import BatchedPolicy
from dpaudit.reference.algorithms.contextual.radius import coded_radius, printed_radius
from dpaudit.reference.algorithms.contextual.simulated_regret import (
    LinearRuns,
    simulate_batched,
    simulate_linucb,
)
from dpaudit.suite.regret import Seed, root_of

__all__ = [
    "ALGORITHMS",
    "DELTA",
    "EPSILONS",
    "FIGURES",
    "HORIZON",
    "PROFILES",
    "RUNS",
    "Figure",
    "Table",
    "figure_table",
    "instances",
    "simulated",
]

Floats = NDArray[np.float64]
HORIZON, N_ARMS, RUNS, BATCH_SIZE, DELTA = 20_000, 100, 50, 20, 0.1
EPSILONS: tuple[str, ...] = ("0.2", "1", "10")
PROFILES = ("authors_code", "theorem")

#: Map each key to its title, in the order of the legend.
ALGORITHMS: Mapping[str, str] = {
    "linucb": "LinUCB",
    "jdp": "LinUCB-JDP",
    "sdp_amp": "LinUCB-SDP (P_Amp)",
    "sdp_vec": "LinUCB-SDP (P_Vec)",
    "ldp": "LinUCB-LDP",
}


@dataclass(frozen=True)
class Figure:
    """A panel's data: dimension and levels of privacy."""

    dim: int
    epsilons: tuple[str, ...]


FIGURES: Mapping[str, Figure] = {
    "1": Figure(5, EPSILONS),
    "2a": Figure(10, ("1",)),
    "2b": Figure(15, ("1",)),
}

#: Map (algorithm, epsilon) to runs. LinUCB is listed under each epsilon.
Table = Mapping[tuple[str, str], LinearRuns]


def instances(profile: str, *, runs: int, dim: int, rng: np.random.Generator) -> FixedArms:
    """Return the instances of a profile.

    ``theorem`` has norm 1 as printed. ``authors_code`` has arms of norm sqrt(2), d of them a basis.
    """
    if profile not in PROFILES:
        raise InvalidParameterError(f"profile must be one of {PROFILES}, got {profile!r}.")
    make = coded_arms if profile == "authors_code" else sphere_arms
    return make(replicates=runs, n_arms=N_ARMS, dim=dim, rng=rng)


def simulated(
    algorithm: str,
    profile: str,
    arms: FixedArms,
    epsilons: Sequence[str],
    *,
    horizon: int,
    seed: Seed,
) -> dict[str, LinearRuns]:
    """Simulate one algorithm at several ε, in one array if a round is a batch. Every ε plays the same
    instances."""
    runs, _, dim = arms.shape
    if algorithm == "linucb":
        found = _linucb(profile, arms, horizon=horizon, seed=seed)
        return dict.fromkeys(epsilons, found)
    levels = [float(epsilon) for epsilon in epsilons]
    if algorithm in ("jdp", "ldp"):
        stacked = np.repeat(levels, runs)
        policy = _policy(algorithm, profile, stacked, dim=dim, horizon=horizon)
        together = simulate_batched(
            policy, arms.repeated(len(levels)), name=ALGORITHMS[algorithm], horizon=horizon, seed=seed
        )
        return {epsilon: together.part(i, runs) for i, epsilon in enumerate(epsilons)}
    return {
        epsilon: simulate_batched(
            _policy(algorithm, profile, np.array([level]), dim=dim, horizon=horizon),
            arms,
            name=ALGORITHMS[algorithm],
            horizon=horizon,
            seed=own,
        )
        for epsilon, level, own in zip(epsilons, levels, root_of(seed).spawn(len(levels)), strict=True)
    }


def _policy(algorithm: str, profile: str, epsilons: Floats, *, dim: int, horizon: int) -> BatchedPolicy:
    make = coded_policy if profile == "authors_code" else theorem_policy
    return make(algorithm, epsilons, dim=dim, horizon=horizon, batch_size=BATCH_SIZE, delta=DELTA)


def _linucb(profile: str, arms: FixedArms, *, horizon: int, seed: Seed) -> LinearRuns:
    dim = arms.shape[2]
    if profile == "authors_code":
        constant = coded_radius(horizon=horizon, dim=dim, gamma=1.0, feature_norm=math.sqrt(2))
        return simulate_linucb(arms, radius=lambda t: constant, ridge=1e-4, horizon=horizon, seed=seed)
    times = np.arange(horizon, dtype=np.float64)
    radii = np.asarray(printed_radius(times, dim=dim, ridge=1.0, failure_prob=1 / horizon))
    return simulate_linucb(arms, radius=lambda t: float(radii[t]), ridge=1.0, horizon=horizon, seed=seed)


def figure_table(
    profile: str,
    *,
    dim: int,
    epsilons: Sequence[str],
    seed: Seed,
    runs: int = RUNS,
    horizon: int = HORIZON,
    algorithms: Sequence[str] = tuple(ALGORITHMS),
) -> dict[tuple[str, str], LinearRuns]:
    """Return all curves of a figure, (algorithm, epsilon) -> runs. Run r of each curve plays instance r.

    Instances and algorithms have independent seeds, so the results do not depend on which algorithms are
    requested.
    """
    own = root_of(seed).spawn(1 + len(ALGORITHMS))
    arms = instances(profile, runs=runs, dim=dim, rng=np.random.default_rng(own[0]))
    found: dict[tuple[str, str], LinearRuns] = {}
    for algorithm, at in zip(ALGORITHMS, own[1:], strict=True):
        if algorithm in algorithms:
            curves = simulated(algorithm, profile, arms, epsilons, horizon=horizon, seed=at)
            found |= {(algorithm, epsilon): curve for epsilon, curve in curves.items()}
    return found
