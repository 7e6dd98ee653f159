"""Simulate Algorithm 4 as printed: its regret, and the norms of the errors of its sums."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from audits.concurrent_shuffle.regret_bounds import Setting
from dpaudit.kernel.ball import arb, lower
from dpaudit.reference.algorithms.contextual.concurrent_linucb import (
    ConcurrentPolicy,
    ConcurrentState,
    simulate,
)
from dpaudit.reference.algorithms.contextual.environments import sphere_arms

__all__ = ["RegretRuns", "simulated"]


@dataclass(frozen=True, eq=False)
class RegretRuns:
    """Results of simulated runs.

    ``regret`` is the regret by run (R,). ``uniform`` is the mean regret of uniform play. The other fields
    are the largest ‖H'_t‖ and ‖h_t‖ over times and runs, in units of σ-tilde sqrt(d), and the number of
    batches after which V_t was not positive definite.
    """

    regret: NDArray[np.float64]
    uniform: float
    mat_norm: float
    vec_norm: float
    indefinite: int


def simulated(at: Setting, *, replicates: int, n_arms: int, seed: np.random.SeedSequence) -> RegretRuns:
    """Simulate ``replicates`` instances with arms and theta on the sphere, one run each, with the printed λ
    and β_t."""
    largest = np.zeros(2)

    def watch(state: ConcurrentState) -> None:
        mats = np.linalg.norm(state.mat_error, ord=2, axis=(1, 2))
        vecs = np.linalg.norm(state.vec_error, axis=1)
        np.maximum(largest, (mats.max(), vecs.max()), out=largest)

    instances, runs = seed.spawn(2)
    arms = sphere_arms(replicates=replicates, n_arms=n_arms, dim=at.dim, rng=np.random.default_rng(instances))
    policy = ConcurrentPolicy(
        tree=at.tree, ridge=lower(at.ridge(1)), radius=at.radius(), vec_noise=at.nodes, mat_noise=at.nodes
    )
    found = simulate(policy, arms, seed=runs, checkpoints=[at.horizon], watch=watch)
    gaps = arms.means.max(axis=1) - arms.means.mean(axis=1)
    unit = lower(at.error_bound * arb(at.dim).sqrt())
    return RegretRuns(
        regret=found.pseudo.final,
        uniform=at.horizon * float(gaps.mean()),
        mat_norm=float(largest[0] / unit),
        vec_norm=float(largest[1] / unit),
        indefinite=int(found.indefinite.sum()),
    )
