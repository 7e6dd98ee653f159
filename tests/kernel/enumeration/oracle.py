"""The truth by enumeration: distributions as vectors of probabilities, and the largest loss between two of
them.

Nothing here comes from the package under test. A distribution is the vector of the probabilities of finitely
many outcomes. Outcomes may be left out or merged (a density becomes the masses of cells): both only make the
truth smaller, so that "bound >= truth" stays what it says. Pairs of distributions are compared many at a
time: p and q hold one distribution a row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.optimize
import scipy.special

__all__ = [
    "RENYI_ORDERS",
    "Distribution",
    "delta",
    "discrete_gaussian_sum",
    "discrete_laplace_clamped",
    "gaussian_cells",
    "joint",
    "laplace_cells",
    "lattice",
    "mu",
    "polya_difference",
    "pure",
    "renyi",
    "rho",
    "skellam",
]

Distribution = np.ndarray[Any, np.dtype[np.float64]]

#: Orders at which zero-concentrated DP is looked at.
RENYI_ORDERS = (1.05, 1.5, 2.0, 4.0, 16.0, 64.0)

#: Numbers that are worked on at a time: as many as stay near the processor.
BLOCK = 2**17

#: Losses at which Gaussian DP is looked at.
EPSILONS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)


def pure(p: Distribution, q: Distribution) -> Distribution:
    """The largest log-ratio of p over q in every row; infinite where q misses an outcome of p."""
    return np.max(_losses(p, q), axis=1, initial=0.0)


def _losses(p: Distribution, q: Distribution) -> Distribution:
    """Log-ratios; minus infinity where p has no mass."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p > 0, np.log(p) - np.log(q), -math.inf)


def delta(p: Distribution, q: Distribution, epsilon: float) -> Distribution:
    """The sum of the positive parts of p - e^epsilon q in every row."""
    factor, rows, result = math.exp(epsilon), max(1, BLOCK // p.shape[1]), np.zeros(len(p))
    for start in range(0, len(p), rows):
        part = slice(start, start + rows)
        excess = factor * q[part]
        np.subtract(p[part], excess, out=excess)
        np.maximum(excess, 0.0, out=excess)
        result[part] = np.sum(excess, axis=1)
    return result


def renyi(p: Distribution, q: Distribution, order: float) -> Distribution:
    """The Renyi divergence of ``order`` above 1 in every row, over the outcomes that are listed."""
    with np.errstate(divide="ignore"):
        exponents = np.log(p) + (order - 1) * _losses(p, q)
    top = np.max(exponents, axis=1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(over="ignore"):
        total = np.sum(np.exp(exponents - top), axis=1)
    return (top[:, 0] + np.log(total)) / (order - 1)


def rho(p: Distribution, q: Distribution) -> Distribution:
    """The largest Renyi divergence divided by its order."""
    return np.max([renyi(p, q, order) / order for order in RENYI_ORDERS], axis=0)


def mu(p: Distribution, q: Distribution) -> Distribution:
    """The least mu whose Gaussian delta is at least that of the row, found for the worst row at each loss."""
    result = np.where(pure(p, q) == math.inf, math.inf, 0.0)
    for epsilon in EPSILONS:
        deltas = delta(p, q, epsilon)
        worst = int(np.argmax(deltas))
        result[worst] = max(result[worst], _gaussian_mu(epsilon, float(deltas[worst])))
    return result


def _gaussian_mu(epsilon: float, wanted: float) -> float:
    def short(m: float) -> float:
        near, far = m / 2 - epsilon / m, -m / 2 - epsilon / m
        return _normal_cdf(near) - math.exp(epsilon) * _normal_cdf(far) - wanted

    # Less than this is lost in rounding.
    if wanted < 1e-9 or short(1e-3) >= 0:
        return 0.0
    return float(scipy.optimize.brentq(short, 1e-3, 60.0, xtol=1e-13)) if short(60.0) > 0 else 60.0


def _normal_cdf(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


def joint(*distributions: Distribution) -> Distribution:
    """The distribution of independent outcomes together."""
    result = np.ones(1)
    for distribution in distributions:
        result = np.multiply.outer(result, distribution).ravel()
    return result


def discrete_laplace_clamped(value: int, scale: float, low: int, high: int) -> Distribution:
    """``value`` + discrete Laplace noise, clamped to [low, high]; ``value`` must lie in it."""
    a = math.exp(-1 / scale)
    if low == high:
        return np.ones(1)
    k = np.arange(low, high + 1) - value
    masses = (1 - a) / (1 + a) * a ** np.abs(k)
    masses[0], masses[-1] = a ** (value - low) / (1 + a), a ** (high - value) / (1 + a)
    return np.asarray(masses, dtype=float)


def laplace_cells(value: float, scale: float, edges: Sequence[float]) -> Distribution:
    """The masses of the cells between the edges, and beyond them, of ``value`` + Laplace noise."""
    return _cells(np.asarray(edges) - value, lambda x: 0.5 * np.exp(-x / scale))


def gaussian_cells(value: float, deviation: float, edges: Sequence[float]) -> Distribution:
    """The same for Gaussian noise."""
    return _cells(np.asarray(edges) - value, lambda x: scipy.special.ndtr(-x / deviation))


def _cells(edges: Distribution, survival: Callable[[Distribution], Distribution]) -> Distribution:
    """Masses of a symmetric distribution: on either side of 0 by differences of its own tail, to keep
    digits."""
    tail = survival(np.abs(edges))
    inner = np.where(
        edges[:-1] >= 0,
        tail[:-1] - tail[1:],
        np.where(edges[1:] <= 0, tail[1:] - tail[:-1], 1 - tail[:-1] - tail[1:]),
    )
    first = tail[0] if edges[0] <= 0 else 1 - tail[0]
    last = tail[-1] if edges[-1] >= 0 else 1 - tail[-1]
    return np.concatenate([[first], inner, [last]])


def lattice(noise: Distribution, value: int, low: int, high: int) -> Distribution:
    """The masses on low..high of ``value`` + noise, given on -size..size. Outcomes beyond are left out."""
    size = noise.size // 2
    places = np.arange(low, high + 1) - value
    inside = np.abs(places) <= size
    return np.asarray(np.where(inside, noise[np.clip(places, -size, size) + size], 0.0), dtype=float)


def discrete_gaussian_sum(variance: float, count: int, size: int) -> Distribution:
    """The sum of ``count`` discrete Gaussians with p(k) ~ exp(-k^2 / 2 variance), on -size..size."""
    k = np.arange(-60, 61)
    one = np.exp(-(k**2) / (2 * variance))
    return _central(_power(one / one.sum(), count), size)


def skellam(variance: float, size: int) -> Distribution:
    """The difference of two Poisson(variance / 2), on -size..size."""
    k = np.arange(0, 120)
    one = np.exp(k * math.log(variance / 2) - variance / 2 - np.array([math.lgamma(j + 1) for j in k]))
    return _central(np.convolve(one, one[::-1]), size)


def polya_difference(share: float, scale: float, size: int) -> Distribution:
    """The difference of two Polya(share, exp(-1/scale)), on -size..size."""
    p = math.exp(-1 / scale)
    terms = int(45 * scale) + 3 * size
    ratios = (share + np.arange(terms)) / (1 + np.arange(terms)) * p
    one = (1 - p) ** share * np.concatenate([[1.0], np.cumprod(ratios)])
    return _central(np.convolve(one, one[::-1]), size)


def _power(one: Distribution, count: int) -> Distribution:
    result = np.ones(1)
    for _ in range(count):
        result = np.convolve(result, one)
    return result


def _central(distribution: Distribution, size: int) -> Distribution:
    middle = distribution.size // 2
    return distribution[middle - size : middle + size + 1]
