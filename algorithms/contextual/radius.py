"""Ridge and confidence radius: the formulas of Chowdhury and Zhou (2022) and of the baselines, by name.

Rewards are in [0, 1] (noise 1-sub-Gaussian), ``‖theta‖ <= 1`` and features have norm at most 1 unless a
formula states otherwise. Logarithms are natural.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError
from dpaudit.reference.algorithms.contextual import checks

__all__ = [
    "Regularity",
    "coded_radius",
    "exact_radius",
    "noise_bound",
    "printed_radius",
    "private_tree_regularity",
    "regularity",
    "self_normalised_radius",
    "sequential_local_radius",
]

#: A radius at one time, or at an array of times.
Times = float | NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Regularity:
    """Assumption A.1: ``min_eig <= eigenvalues of H_m <= max_eig`` and ``‖h_m‖ in H_m^-1 <=
    vec_noise_bound``.

    It holds for all batches. ``ridge`` is the ridge that achieves it.
    """

    ridge: float
    min_eig: float
    max_eig: float
    vec_noise_bound: float


def noise_bound(
    *, total_std: float, dim: int, n_batches: int, failure_prob: float, concentration_const: float = 2.0
) -> float:
    """Return Σ_n or Σ_N of Lemma A.4: c σ (sqrt(d) + sqrt(log(2M/α))).

    It bounds the norm of the accumulated noise at all M batches, with probability 1 - α/2. ``total_std``
    bounds the (sub-Gaussian) std of an entry at every batch. The paper names no constant c.
    """
    if not (total_std >= 0 and 0 < failure_prob <= 1 and n_batches >= 1):
        raise InvalidParameterError(
            "total_std must be 0 or more, failure_prob in (0, 1] and n_batches 1 or more, got "
            f"{total_std}, {failure_prob} and {n_batches}."
        )
    return (
        concentration_const * total_std * (math.sqrt(dim) + math.sqrt(math.log(2 * n_batches / failure_prob)))
    )


def _require(time: Times, *, dim: int, failure_prob: float, ridge: float = 1.0) -> None:
    """Require times of 0 or more, a dimension, a probability in (0, 1], and a ridge greater than 0."""
    checks.at_least(time, 0, name="time")
    checks.whole(dim, name="dim")
    checks.in_unit(failure_prob, name="failure_prob")
    checks.positive(ridge, name="ridge")


def regularity(*, vec_bound: float, mat_bound: float, least: float = 1.0) -> Regularity:
    """Return λ = 2 Σ_N as in the proof of Lemma A.4, at least ``least`` (the lemma's max{1, .}).

    With it λ - Σ_N <= H_m <= λ + Σ_N.
    """
    checks.at_least(vec_bound, 0, name="vec_bound")
    checks.at_least(mat_bound, 0, name="mat_bound")
    checks.positive(least, name="least")
    ridge = max(least, 2 * mat_bound)
    smallest = ridge - mat_bound
    return Regularity(
        ridge=ridge,
        min_eig=smallest,
        max_eig=ridge + mat_bound,
        vec_noise_bound=vec_bound / math.sqrt(smallest),
    )


def printed_radius(time: Times, *, dim: int, ridge: float, failure_prob: float) -> Times:
    """Return β_m of Section 3.1: sqrt(2 log(2/α) + d log(1 + t/(dλ))) + sqrt(λ).

    ``time`` is t_m (Section 3.1) or T (Lemma A.4). The 2 under the first logarithm and dλ under the second
    are a reading: that passage is damaged in the text at hand.
    """
    return self_normalised_radius(time, dim=dim, ridge=ridge, failure_prob=failure_prob / 2) + math.sqrt(
        ridge
    )


def exact_radius(time: Times, *, dim: int, regular: Regularity, failure_prob: float) -> Times:
    """Return β_m of the proof of Lemma A.2: sqrt(2 log(1/α) + d log(1 + t/(d λ_min))) + sqrt(λ_max) + ν."""
    width = self_normalised_radius(time, dim=dim, ridge=regular.min_eig, failure_prob=failure_prob)
    return width + math.sqrt(regular.max_eig) + regular.vec_noise_bound


def self_normalised_radius(
    time: Times, *, dim: int, ridge: float, failure_prob: float, feature_norm: float = 1.0
) -> Times:
    """Return sqrt(2 log(1/α) + d log(1 + t L²/(dλ))).

    Abbasi-Yadkori et al. (2011), Theorem 1 with the determinant bounded, for 1-sub-Gaussian reward noise.
    """
    _require(time, dim=dim, failure_prob=failure_prob, ridge=ridge)
    checks.positive(feature_norm, name="feature_norm")
    growth = np.log1p(np.asarray(time, dtype=float) * feature_norm**2 / (dim * ridge))
    return np.asarray(np.sqrt(2 * math.log(1 / failure_prob) + dim * growth))


def coded_radius(*, horizon: int, dim: int, gamma: float, feature_norm: float) -> float:
    """Return the constant radius of the authors' public code: sqrt(Γ) sqrt(d) + sqrt(d log((1 + T L²/Γ)
    T))/2.
    """
    _require(horizon, dim=dim, failure_prob=1.0, ridge=gamma)
    checks.positive(feature_norm, name="feature_norm")
    inside = (1 + horizon * feature_norm**2 / gamma) * horizon
    return math.sqrt(gamma * dim) + 0.5 * math.sqrt(dim * math.log(inside))


def private_tree_regularity(
    *, epsilon: float, delta: float, horizon: int, dim: int, failure_prob: float
) -> tuple[float, Regularity]:
    """Return the std of a node's entry and the regularity that the shift 2Υ gives, by Shariff and Sheffet
    (2018).

    Gaussian variant, features and rewards of norm at most 1. σ² = 16 m L⁴ log(4/δ)²/ε² with m = 1 + ceil(log2
    n) and L² = 2; Υ = sqrt(2m) σ (4 sqrt(d) + 2 log(2n/α)).
    """
    _require(horizon, dim=dim, failure_prob=failure_prob)
    checks.positive(epsilon, name="epsilon")
    checks.in_unit(delta, name="delta")
    checks.whole(horizon, name="horizon")
    levels = 1 + math.ceil(math.log2(horizon))
    std = 8 * math.sqrt(levels) * math.log(4 / delta) / epsilon
    shift = math.sqrt(2 * levels) * std * (4 * math.sqrt(dim) + 2 * math.log(2 * horizon / failure_prob))
    tail = math.sqrt(dim) + math.sqrt(2 * math.log(2 * horizon / failure_prob))
    bound = std * math.sqrt(levels / shift) * tail
    return std, Regularity(ridge=2 * shift, min_eig=shift, max_eig=3 * shift, vec_noise_bound=bound)


def sequential_local_radius(
    time: Times, *, std: float, dim: int, horizon: int, failure_prob: float
) -> tuple[Times, Times]:
    """Return ridge and radius of Zheng et al. (2020), as in their public code.

    The ridge is c_t = 2Γ_t with Γ_t = σ sqrt(t) (4 sqrt(d) + 2 log(2T/α)), and β_t = 2σ sqrt(d log T) +
    (sqrt(3Γ_t) + σ sqrt(d t/Γ_t)) d log T.
    """
    _require(time, dim=dim, failure_prob=failure_prob)
    checks.positive(std, name="std")
    checks.whole(horizon, name="horizon")
    at = np.asarray(time, dtype=float)
    gamma = std * np.sqrt(at) * (4 * math.sqrt(dim) + 2 * math.log(2 * horizon / failure_prob))
    log_t = math.log(horizon)
    inner = np.sqrt(3 * gamma) + std * np.sqrt(dim * at / gamma)
    return 2 * gamma, 2 * std * math.sqrt(dim * log_t) + inner * dim * log_t
