"""Build policies with noise, ridge and radius as in the authors' public code behind the figures
(``LinBanditPrivate.py``).

All radii are constant over time and ridges are 2Γ. No noise is the noise of a theorem: the factor 4 sqrt(2)
is missing, and so is log(2/δ) of P_Amp. P_Vec draws with the integer part of b and subtracts with the real
b. Logarithms are natural.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError
from dpaudit.reference.algorithms.contextual.aggregate_noise import (
    AggregateNoise,
    BinomialNoise,
    GaussianNoise,
    NoiseState,
    symmetric_gaussians,
)
from dpaudit.reference.algorithms.contextual.environments import Batch
from dpaudit.reference.algorithms.contextual.linear_policy import BatchedPolicy
from dpaudit.reference.algorithms.contextual.radius import coded_radius

__all__ = ["CodedTreeNoise", "coded_binomial", "coded_policy"]

Floats = NDArray[np.float64]
FEATURE_NORM = math.sqrt(2)


@dataclass(frozen=True, kw_only=True, eq=False)
class CodedTreeNoise:
    """The code's replacement for a tree.

    It makes floor(log T) + 1 draws once. The first floor(log(1 + t)) + 1 draws are in the sums after t
    rounds. ``std`` (R,) is per entry. The matrix is averaged with its transpose.
    """

    std: Floats
    horizon: int

    def init(self, replicates: int, dim: int) -> NoiseState:
        return NoiseState(0, np.zeros((replicates, dim)), np.zeros((replicates, dim, dim)))

    def step(self, state: NoiseState, batch: Batch, rng: np.random.Generator) -> NoiseState:
        before, closed = state.batches, state.batches + 1
        had = 0 if before == 0 else math.floor(math.log1p(before)) + 1
        more = min(math.floor(math.log1p(closed)), math.floor(math.log(self.horizon))) + 1 - had
        if more <= 0:
            return state._replace(batches=closed)
        vec, mat = state.vec, state.mat
        for _ in range(more):
            vec = vec + self.std[:, None] * rng.normal(size=vec.shape)
            mat = mat + self.std[:, None, None] * symmetric_gaussians(rng, mat.shape, "average")
        return NoiseState(closed, vec, mat)


def coded_binomial(*, epsilon: float, dim: int, batch_size: int, delta: float) -> BinomialNoise:
    """Return P_Vec's noise with real g, and b = scale g² log(d/δ)²/(ε² B).

    The scale is 1 for epsilon below 1 and 10 otherwise. The coordinate bound is sqrt(2).
    """
    precision = max(2 * math.sqrt(batch_size), dim, 4)
    scale = 1 if epsilon < 1 else 10
    trials = scale * precision**2 * math.log(dim / delta) ** 2 / (epsilon**2 * batch_size)
    return BinomialNoise(precision=precision, trials=int(trials), scale=FEATURE_NORM, debias_trials=trials)


def coded_policy(
    algorithm: str, epsilons: Floats, *, dim: int, horizon: int, batch_size: int, delta: float
) -> BatchedPolicy:
    """Return the policy ``jdp``, ``ldp``, ``sdp_amp`` or ``sdp_vec``.

    ``epsilons`` has one value per replicate, or one for all (the only option for ``sdp_vec``).
    """
    noise: AggregateNoise
    users = batch_size if algorithm.startswith("sdp") else 1
    spread = math.sqrt(horizon * dim)
    if algorithm == "ldp":
        std = math.sqrt(math.log(2.5 / delta)) / epsilons
        noise, gamma = GaussianNoise(std_vec=std, std_mat=std, symmetry="average"), std * spread
    elif algorithm == "jdp":
        std = math.sqrt(math.log(horizon)) * math.log(2.5 / delta) / epsilons
        noise, gamma = CodedTreeNoise(std=std, horizon=horizon), std * math.sqrt(math.log(horizon) * dim)
    elif algorithm == "sdp_amp":
        std = math.sqrt(math.log(2.5 * users / delta) / users) / epsilons
        noise, gamma = GaussianNoise(std_vec=std, std_mat=std, symmetry="average"), std * spread
    elif algorithm == "sdp_vec" and len(epsilons) == 1:
        noise = coded_binomial(epsilon=float(epsilons[0]), dim=dim, batch_size=users, delta=delta)
        gamma = math.log(dim / delta) / (4 * epsilons * math.sqrt(users)) * spread
    else:
        raise InvalidParameterError(
            "algorithm must be jdp, ldp or sdp_amp, or sdp_vec with one epsilon, got "
            f"{algorithm!r} with {len(epsilons)}."
        )
    radii = np.array(
        [coded_radius(horizon=horizon, dim=dim, gamma=float(at), feature_norm=FEATURE_NORM) for at in gamma]
    )
    return BatchedPolicy(batch_size=users, ridge=lambda t: 2 * gamma, radius=lambda t: radii, noise=noise)
