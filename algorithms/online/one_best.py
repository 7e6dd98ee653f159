"""Learners on instances with one action of larger mean and all others alike: exact leader distribution and
regret.

Action j has Bernoulli rewards of mean 1/2 + gap, all others of mean 1/2. Epochs have 1, 2, 4, ... rounds, the
first epoch with action 1: by symmetry the worst instance is the one whose best action is the last. An epoch's
sums are Binomial, the noise is Laplace or absent. P(a wrong leader) is a sum or a one-dimensional integral
whose integrand is smooth between integers: no simulation.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter
from scipy.stats import binom

from dpaudit.core.errors import InvalidParameterError

__all__ = [
    "ROUNDING",
    "epoch_lengths",
    "follow_the_leader_error",
    "leader_error",
    "majority_error",
    "noisy_max_error",
    "worst_regret",
]

Floats = NDArray[np.float64]

#: Gauss-Legendre nodes in each unit interval, and the smallest noise scale that they resolve.
NODES = 8
SMALLEST_SCALE = 0.25

#: Margin for the quadratures, far above their errors.
ROUNDING = 1e-8


def worst_regret(*, scale: float, n_actions: int, gap: float, horizon: int) -> float:
    """Return the largest pseudo-regret over the K instances of the learner that follows the previous leader.

    In every epoch it plays the leader of the previous epoch, with Laplace noise of ``scale`` on its sums; 0
    for none.
    """
    lengths = epoch_lengths(horizon)
    wrong = sum(
        length * leader_error(n=before, n_actions=n_actions, gap=gap, scale=scale)
        for before, length in pairwise(lengths)
    )
    return gap * (float(lengths[0]) + wrong)


def majority_error(*, scale: float, n_actions: int, gap: float, epochs: int) -> float:
    """Return P(the last of ``epochs`` epochs plays a wrong action) on the worst instance.

    Its rounds are more than half of all, so its action is the majority.
    """
    if epochs == 1:
        return 1.0
    return leader_error(n=2 ** (epochs - 2), n_actions=n_actions, gap=gap, scale=scale)


def leader_error(*, n: int, n_actions: int, gap: float, scale: float) -> float:
    """Return P(the last action, the best one, does not lead after an epoch of ``n`` rounds)."""
    if scale:
        return noisy_max_error(n=n, best=0.5 + gap, others=0.5, n_actions=n_actions, scale=scale)
    return follow_the_leader_error(n=n, best=0.5 + gap, others=0.5, n_actions=n_actions, best_first=False)


def follow_the_leader_error(*, n: int, best: float, others: float, n_actions: int, best_first: bool) -> float:
    """Return P(the best action does not have the largest of the K independent Binomial sums of ``n`` rounds).

    Ties go to the lowest index: the best action wins them if it is the first action, and loses them if it is
    the last.
    """
    counts = np.arange(n + 1)
    below = binom.cdf(counts if best_first else counts - 1, n, others)
    return float(binom.pmf(counts, n, best) @ -np.expm1((n_actions - 1) * _log(below)))


def _log(probabilities: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(probabilities))


def noisy_max_error(*, n: int, best: float, others: float, n_actions: int, scale: float) -> float:
    """Return P(Report Noisy Max misses the best action): K independent Binomial sums of ``n`` rounds +
    Lap(scale).

    P(win) is the integral of g(x) H(x)^(K-1), with g the density of the best noisy sum and H the cdf of
    another noisy sum. Between integers both are combinations of 1, exp(x/scale) and exp(-x/scale):
    Gauss-Legendre in each unit interval of [0, n], closed forms outside. Raises ``InvalidParameterError`` for
    a scale below 1/4, because the nodes would not resolve the density.
    """
    if not scale >= SMALLEST_SCALE:
        raise InvalidParameterError(
            f"scale must be {SMALLEST_SCALE} or more, got {scale}; use a smaller epsilon, or more nodes."
        )
    rate = 1 / scale
    own, other = (_sides(n, mean, rate) for mean in (best, others))
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    u = (nodes + 1) / 2
    down, up = np.exp(-rate * u), np.exp(rate * u)
    below, above, mass = (side[:-1, None] for side in other)
    # The rival's 1 - H keeps its small values: powers of H near 1 are computed by log1p.
    missing = (1 - mass) + 0.5 * below * down - 0.5 * above * up
    density = 0.5 * rate * (own[0][:-1, None] * down + own[1][:-1, None] * up)
    inside = float(np.sum(density * -np.expm1((n_actions - 1) * _log1m(missing)) @ (weights / 2)))
    return inside + _outside(own, other, n, rate, n_actions)


def _log1m(x: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log1p(-np.clip(x, 0.0, 1.0)))


def _sides(n: int, mean: float, rate: float) -> tuple[Floats, Floats, Floats]:
    """Return at i = 0..n: sum over k <= i of p_k exp(-(i - k) rate), over k > i of p_k exp(-(k - i) rate),
    and P(B <= i).
    """
    distribution = binom.pmf(np.arange(n + 1), n, mean)
    decay = math.exp(-rate)
    below = lfilter([1.0], [1.0, -decay], distribution)
    above = lfilter([0.0, decay], [1.0, -decay], distribution[::-1])[::-1]
    return np.asarray(below), np.asarray(above), np.asarray(binom.cdf(np.arange(n + 1), n, mean))


def _outside(own: Any, other: Any, n: int, rate: float, n_actions: int) -> float:
    """Return the part of P(lose) with the best noisy sum outside [0, n]."""
    # Left of 0: density rate * m exp(rate x)/2 and H = m' exp(rate x)/2, with m = E exp(-rate B).
    m, m_other = (float(side[1][0] + side[0][0]) for side in (own, other))
    left = m / 2 - m / (2 * n_actions) * (m_other / 2) ** (n_actions - 1)
    # Right of n, v = exp(-rate (x - n)): density a/2 dv and H = 1 - a' v/2, with a = E exp(-rate (n - B)).
    a, a_other = float(own[0][n]), float(other[0][n])
    share = n_actions * a_other / 2
    win = -math.expm1(n_actions * math.log1p(-a_other / 2)) / share if share else 1.0
    return left + a / 2 * (1 - win)


def epoch_lengths(horizon: int) -> list[int]:
    """Return rounds of each epoch 1, 2, 4, ... within ``horizon``; the last epoch may be cut."""
    lengths = [2**s for s in range((horizon + 1).bit_length() - 1)]
    rest = horizon - sum(lengths)
    return [*lengths, rest] if rest else lengths
