"""Simulate runs that bound a rate from below: the paper's instances, and each protocol's printed noise,
ridge and radius."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import special

from audits.shuffle_linear_bandits.regret_protocols import Point
from dpaudit.reference.algorithms.contextual import noise_levels
from dpaudit.reference.algorithms.contextual.aggregate_noise import (
    AggregateNoise,
    BinomialNoise,
    GaussianNoise,
    TreeNoise,
)
from dpaudit.reference.algorithms.contextual.environments import sphere_arms
from dpaudit.reference.algorithms.contextual.linear_policy import BatchedPolicy
from dpaudit.reference.algorithms.contextual.noise_levels import BinomialNoiseLevel
from dpaudit.reference.algorithms.contextual.radius import exact_radius, noise_bound, regularity
from dpaudit.reference.algorithms.contextual.simulated_regret import LinearRuns, simulate_batched
from dpaudit.suite.regret import Seed

__all__ = ["N_ARMS", "PROTOCOL_NOISE", "ProtocolNoise", "noisy_policy", "quantile_floor", "simulated_rate"]

Floats = NDArray[np.float64]
#: The noise of a protocol, and σ of Lemma A.4, at a point with this epsilon.
ProtocolNoise = Callable[[Point, float], tuple[AggregateNoise, float]]
N_ARMS = 10


def _gaussian(std: float, horizon: int) -> tuple[AggregateNoise, float]:
    return GaussianNoise(std_vec=std, std_mat=std), std * float(np.sqrt(horizon))


def _amplified(p: Point, epsilon: float) -> tuple[AggregateNoise, float]:
    std = noise_levels.amplified_std(epsilon=epsilon, delta=float(p.delta), batch_size=p.batch_size)
    return _gaussian(std, p.horizon)


def _returning(p: Point, epsilon: float) -> tuple[AggregateNoise, float]:
    std = noise_levels.returning_amplified_std(
        epsilon=epsilon, delta=float(p.delta), horizon=p.horizon, batch_size=p.batch_size
    )
    return _gaussian(std, p.horizon)


def _local(p: Point, epsilon: float) -> tuple[AggregateNoise, float]:
    return _gaussian(noise_levels.local_std(epsilon=epsilon, delta=float(p.delta)), p.horizon)


def _binomial(level: BinomialNoiseLevel, p: Point) -> tuple[AggregateNoise, float]:
    total = noise_levels.accumulated_binomial_std(level, batch_size=p.batch_size, n_batches=p.batches)
    return BinomialNoise(precision=level.precision, trials=level.trials), total


def _vector(p: Point, epsilon: float, *, local: bool = False) -> tuple[AggregateNoise, float]:
    level = noise_levels.binomial_level(
        epsilon=epsilon, delta=float(p.delta), batch_size=p.batch_size, dim=p.dim, local=local
    )
    return _binomial(level, p)


def _returning_vector(p: Point, epsilon: float) -> tuple[AggregateNoise, float]:
    level = noise_levels.returning_binomial_level(
        epsilon=epsilon, delta=float(p.delta), horizon=p.horizon, batch_size=p.batch_size, dim=p.dim
    )
    return _binomial(level, p)


def _tree(p: Point, epsilon: float, *, participations: int = 1) -> tuple[AggregateNoise, float]:
    std = noise_levels.tree_std(
        epsilon=epsilon, delta=float(p.delta), leaves=p.batches, participations=participations
    )
    total = std * float(np.sqrt(p.batches.bit_length()))
    return TreeNoise(std_vec=std, std_mat=std, n_batches=p.batches), total


#: Noise by claim id.
PROTOCOL_NOISE: Mapping[str, ProtocolNoise] = {
    "CZ22-B.1r": _amplified,
    "CZ22-T3.2r": _amplified,
    "CZ22-C.1r": _vector,
    "CZ22-T3.5r": _vector,
    "CZ22-E.3r": _returning,
    "CZ22-E.5r": _returning_vector,
    "CZ22-B.3/regret": _local,
    "CZ22-C.3/regret": partial(_vector, local=True),
    "CZ22-F.1r": _local,
    "CZ22-F.3r": _tree,
    "CZ22-P4.3r": partial(_tree, participations=8),
}


def noisy_policy(p: Point, noise: AggregateNoise, total_std: float, *, constant: float) -> BatchedPolicy:
    """Return Algorithm 1 with λ = max(1, 2 Σ_N) and the radius of the proof of Lemma A.2.

    α is split as in ``proved_regret``.
    """
    alpha = float(p.failure_prob) / 2
    bound = noise_bound(
        total_std=total_std,
        dim=p.dim,
        n_batches=p.batches,
        failure_prob=alpha,
        concentration_const=constant,
    )
    regular = regularity(vec_bound=bound, mat_bound=bound)

    def radius(time: int) -> float:
        return float(exact_radius(time, dim=p.dim, regular=regular, failure_prob=alpha))

    return BatchedPolicy(
        batch_size=p.batch_size, ridge=lambda time: regular.ridge, radius=radius, noise=noise
    )


def simulated_rate(id: str, p: Point, *, epsilon: float, runs: int, seed: Seed) -> LinearRuns:
    """Simulate ``runs`` runs of the protocol of a claim at ``p``, each on an instance of Section 6 with 10
    arms."""
    own = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    instances, played = own.spawn(2)
    arms = sphere_arms(replicates=runs, n_arms=N_ARMS, dim=p.dim, rng=np.random.default_rng(instances))
    noise, total = PROTOCOL_NOISE[id](p, epsilon)
    policy = noisy_policy(p, noise, total, constant=6.0)
    return simulate_batched(policy, arms, name=id, horizon=p.horizon, seed=played, checkpoints=[p.horizon])


def quantile_floor(values: Floats, *, level: float, alpha: float) -> float:
    """Return a lower confidence bound, at level ``alpha``, on the ``level``-quantile of independent values.

    The bound is an order statistic, or 0 if none is low enough. If the quantile were below the k-th
    smallest value, fewer than k of n values would be at most the quantile, which has probability P(Bin(n,
    level) <= k - 1) at most.
    """
    ranks = np.arange(1, len(values) + 1)
    allowed = ranks[special.bdtr(ranks - 1, len(values), level) <= alpha]
    return float(np.sort(values)[allowed[-1] - 1]) if len(allowed) else 0.0
