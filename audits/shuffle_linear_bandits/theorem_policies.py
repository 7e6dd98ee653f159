"""Build the experiments' algorithms with the noise, ridge and radius of the theorems, α = 1/T.

P_Amp and P_Vec use Theorems B.1 and C.1 and Lemma A.4 with c = 2 (``concentration_const``). c = 2 is proved
for Gaussian entries. For binomial entries c = 6 is proved. LDP uses this paper's local noise with the
sequential ridge and radius of Zheng et al. JDP uses Shariff and Sheffet's Gaussian tree over the T rounds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError
from dpaudit.reference.algorithms.contextual import noise_levels
from dpaudit.reference.algorithms.contextual.aggregate_noise import (
    AggregateNoise,
    BinomialNoise,
    GaussianNoise,
    TreeNoise,
)
from dpaudit.reference.algorithms.contextual.linear_policy import BatchedPolicy
from dpaudit.reference.algorithms.contextual.radius import (
    Regularity,
    exact_radius,
    noise_bound,
    private_tree_regularity,
    regularity,
    sequential_local_radius,
)

__all__ = ["theorem_policy"]

Floats = NDArray[np.float64]


def theorem_policy(
    algorithm: str, epsilons: Floats, *, dim: int, horizon: int, batch_size: int, delta: float
) -> BatchedPolicy:
    """Return the policy ``jdp``, ``ldp``, ``sdp_amp`` or ``sdp_vec``.

    ``epsilons`` has one value per replicate, or one for all (the only option for ``sdp_vec``). Printed
    ranges of ε are not checked.
    """
    if algorithm == "ldp":
        return _local(epsilons, dim=dim, horizon=horizon, delta=delta)
    if algorithm == "jdp":
        return _tree(epsilons, dim=dim, horizon=horizon, delta=delta)
    noise: AggregateNoise
    if algorithm == "sdp_amp":
        per_user = np.array(
            [noise_levels.amplified_std(epsilon=e, delta=delta, batch_size=batch_size) for e in epsilons]
        )
        noise, total = GaussianNoise(std_vec=per_user, std_mat=per_user), per_user * np.sqrt(horizon)
    elif algorithm == "sdp_vec" and len(epsilons) == 1:
        level = noise_levels.binomial_level(
            epsilon=float(epsilons[0]), delta=delta, batch_size=batch_size, dim=dim
        )
        noise = BinomialNoise(precision=level.precision, trials=level.trials)
        batches = horizon // batch_size
        total = np.array(
            [noise_levels.accumulated_binomial_std(level, batch_size=batch_size, n_batches=batches)]
        )
    else:
        raise InvalidParameterError(
            "algorithm must be jdp, ldp or sdp_amp, or sdp_vec with one epsilon, got "
            f"{algorithm!r} with {len(epsilons)}."
        )
    regular = [_regular(float(std), dim=dim, horizon=horizon, batch_size=batch_size) for std in total]
    return _with_regularity(noise, regular, dim=dim, horizon=horizon, batch_size=batch_size)


def _regular(total_std: float, *, dim: int, horizon: int, batch_size: int) -> Regularity:
    bound = noise_bound(
        total_std=total_std, dim=dim, n_batches=horizon // batch_size, failure_prob=1 / horizon
    )
    return regularity(vec_bound=bound, mat_bound=bound)


def _with_regularity(
    noise: AggregateNoise, regular: Sequence[Regularity], *, dim: int, horizon: int, batch_size: int
) -> BatchedPolicy:
    """Return the policy with the exact radius of each replicate's regularity, tabulated once for the ends
    of the batches."""
    ends = np.arange(0, horizon + 1, batch_size, dtype=np.float64)
    distinct = {one: i for i, one in enumerate(dict.fromkeys(regular))}
    which = [distinct[one] for one in regular]
    radii = np.stack(
        [exact_radius(ends, dim=dim, regular=one, failure_prob=1 / horizon) for one in distinct], axis=1
    )[:, which]
    ridges = np.array([one.ridge for one in regular])
    return BatchedPolicy(
        batch_size=batch_size,
        ridge=lambda t: ridges,
        radius=lambda t: np.asarray(radii[t // batch_size]),
        noise=noise,
    )


def _tree(epsilons: Floats, *, dim: int, horizon: int, delta: float) -> BatchedPolicy:
    known = {
        e: private_tree_regularity(epsilon=e, delta=delta, horizon=horizon, dim=dim, failure_prob=1 / horizon)
        for e in dict.fromkeys(epsilons.tolist())
    }
    std = np.array([known[e][0] for e in epsilons.tolist()])
    noise = TreeNoise(std_vec=std, std_mat=std, n_batches=horizon, symmetry="scaled")
    regular = [known[e][1] for e in epsilons.tolist()]
    return _with_regularity(noise, regular, dim=dim, horizon=horizon, batch_size=1)


def _local(epsilons: Floats, *, dim: int, horizon: int, delta: float) -> BatchedPolicy:
    std = np.array([noise_levels.local_std(epsilon=e, delta=delta) for e in epsilons.tolist()])
    # Γ_0 would be 0, so V_0 takes the ridge of the first round.
    times = np.maximum(np.arange(horizon + 1, dtype=np.float64), 1.0)
    distinct, which = np.unique(std, return_inverse=True)
    tables = [
        sequential_local_radius(times, std=float(one), dim=dim, horizon=horizon, failure_prob=1 / horizon)
        for one in distinct
    ]
    ridges, radii = (np.stack([pair[i] for pair in tables], axis=1)[:, which] for i in (0, 1))
    return BatchedPolicy(
        batch_size=1,
        ridge=lambda t: np.asarray(ridges[t]),
        radius=lambda t: np.asarray(radii[t]),
        noise=GaussianNoise(std_vec=std, std_mat=std),
    )
