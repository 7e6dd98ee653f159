"""Lemmas A.2 and A.4 of Chowdhury and Zhou (2022) with every constant worked out, in ball arithmetic.

For ALL instances (arms and contexts arbitrary, ‖φ‖ and ‖theta‖ at most 1, mean rewards in [0, 1]): with
probability 1 - α or more

    Reg(T) <= d B/(2 log 2) log(1 + T/(d λ_min)) + 4 β_M sqrt(2 d T log(1 + T/(d λ_min))),

if the noise of every sum is symmetric with independent entries on and above the diagonal, sub-Gaussian
with proxy σ² at every batch, λ = max(1, 2 Σ_N), Σ_n = Σ_N = c σ (sqrt(d) + sqrt(log(2M/α'))), and β_M is the
β_M of the proof of Lemma A.2. Half of α goes to the noise (α' = α/2), half to the self-normalised bound.
Steps:

* c = 6 suffices for every such noise: a net of 9^d points (``norm_exceeded``); 2 for Gaussian entries and
  M >= 5.
* on both events V_m - Σxxᵀ = H_m with λ_min <= H_m <= λ_max, and ‖theta - theta_hat_m‖ in V_m is at most β_m;
* a round in which ‖φ‖ has not doubled since the last update costs at most 4 β_M ‖φ‖ in the norm of the round
  before (Claim A.6 bounds the others), and Σ min(1, ‖φ‖²) <= 2 d log(1 + T/(dλ_min)).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpaudit.core.exact_functions import larger, ln
from dpaudit.kernel.ball import arb, ball

__all__ = ["NET_CONSTANT", "Bounds", "noise_norm", "norm_exceeded", "worked_out"]

#: c of Lemma A.4 that holds for every sub-Gaussian noise with independent entries.
NET_CONSTANT = 6


def noise_norm(
    sigma: Any, *, dim: int, n_batches: int, failure_prob: Fraction, constant: Fraction | int = NET_CONSTANT
) -> arb:
    """Return Σ_n = Σ_N of Lemma A.4: c σ (sqrt(d) + sqrt(log(2M/α)))."""
    bound: arb = ball(constant) * sigma * (arb(dim).sqrt() + ln(2 * n_batches / failure_prob).sqrt())
    return bound


def norm_exceeded(*, dim: int, n_batches: int, failure_prob: Fraction, constant: Fraction | int) -> arb:
    """Bound the probability that the norm of the accumulated noise matrix exceeds Σ_N at some of M batches.

    Entries have proxy σ². On a quarter-net of the sphere, 9^d points x, the norm is at most twice the largest
    |xᵀNx| (Vershynin, High-Dimensional Probability, Section 4.4), and xᵀNx has proxy Σ x_i⁴ σ² + 4 Σ_{i<j}
    x_i² x_j² σ² <= 2σ². A union over net, signs and batches gives M 9^d 2 exp(-(Σ_N/2)²/(4σ²)).
    """
    level = ln(2 * n_batches / failure_prob)
    squared = ball(constant) ** 2 * (dim + level + 2 * (dim * level).sqrt())
    return 2 * n_batches * arb(9) ** dim * (-squared / 16).exp()


@dataclass(frozen=True)
class Bounds:
    """The bound on the regret, and its parts."""

    regret: Any
    min_eig: Any
    max_eig: Any
    vec_noise_bound: Any
    radius: Any


def worked_out(
    sigma: Any,
    *,
    horizon: int,
    batch_size: int,
    dim: int,
    failure_prob: Fraction,
    constant: Fraction | int = NET_CONSTANT,
) -> Bounds:
    """Return the bound above for total noise ``sigma`` (a ball, 0 or more); M is T/B rounded up."""
    batches = -(-horizon // batch_size)
    norm = noise_norm(sigma, dim=dim, n_batches=batches, failure_prob=failure_prob / 2, constant=constant)
    ridge = larger(arb(1), 2 * norm)
    least, most = ridge - norm, ridge + norm
    vec_bound = norm / least.sqrt()
    growth = (1 + horizon / (dim * least)).log()
    radius = (2 * ln(2 / failure_prob) + dim * growth).sqrt() + most.sqrt() + vec_bound
    stale = dim * batch_size * growth / (2 * arb(2).log())
    return Bounds(stale + 4 * radius * (2 * dim * horizon * growth).sqrt(), least, most, vec_bound, radius)
