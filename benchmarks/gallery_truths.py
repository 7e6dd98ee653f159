"""The true costs of the gallery's mechanisms: exact losses without a single sample.

Finite outputs are summed out by Gauss-Legendre quadrature between the kinks of the noise. If the loss is a
closed form, the gallery has it. The distributions of ``dpaudit`` are the second route: the tests compare
both.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["argmax_distribution", "components", "flags_distribution", "largest_loss", "one_query"]

Floats = NDArray[np.float64]
#: Panels end at points beyond which the noise of a threshold or a score has mass below e^-60.
FAR = 60.0
NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)


def one_query(size: int) -> list[tuple[Floats, Floats]]:
    """Return pairs of answers in which one query changes by 1."""
    ones = np.ones(size)
    return [(ones, np.r_[first, ones[1:]]) for first in (2.0, 0.0)]


def components(size: int) -> list[tuple[Floats, Floats]]:
    """Return pairs of answers all of which may change by 1: the patterns of Ding et al. (2018)."""
    ones, half = np.ones(size), size // 2
    moved = [
        np.r_[2.0, np.zeros(size - 1)],
        np.r_[0.0, np.full(size - 1, 2.0)],
        np.r_[np.full(half, 2.0), np.zeros(size - half)],
        np.full(size, 2.0),
        np.zeros(size),
    ]
    cross = np.r_[np.ones(half), np.zeros(size - half)]
    return [*one_query(size), *((ones, other) for other in moved), (cross, 1 - cross)]


def _grid(kinks: Sequence[float], fine: float, wide: float) -> tuple[Floats, Floats]:
    """Return nodes and weights of a quadrature on panels between the kinks.

    Panels are at most half of ``fine`` wide and reach ``FAR`` times ``wide`` beyond the kinks.
    """
    ends = np.unique(np.r_[min(kinks) - FAR * wide, list(kinks), max(kinks) + FAR * wide])
    cuts = [
        np.linspace(low, high, math.ceil((high - low) / (fine / 2)) + 1)
        for low, high in itertools.pairwise(ends)
    ]
    edges = np.unique(np.concatenate(cuts))
    middles, halves = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    return (middles[:, None] + halves[:, None] * NODES).ravel(), (halves[:, None] * WEIGHTS).ravel()


def _density(x: Floats, scale: float, exponential: bool) -> Floats:
    if exponential:
        return np.where(x >= 0, np.exp(-np.maximum(x, 0) / scale) / scale, 0.0)
    return np.asarray(np.exp(-np.abs(x) / scale) / (2 * scale))


def _below(x: Floats, scale: float, exponential: bool) -> Floats:
    """Return P(noise <= x)."""
    if exponential:
        return np.asarray(-np.expm1(-np.maximum(x, 0) / scale))
    tail = np.exp(-np.abs(x) / scale) / 2
    return np.where(x < 0, tail, 1 - tail)


def argmax_distribution(scores: Floats, *, scale: float, exponential: bool = False) -> Floats:
    """Return P(index i wins), shape (K,), of ``scores`` with Laplace or exponential noise of ``scale``."""
    nodes, weights = _grid(scores.tolist(), scale, scale)
    gaps = nodes[:, None] - scores
    below = _below(gaps, scale, exponential)
    others = np.stack([np.delete(below, place, axis=1).prod(axis=1) for place in range(len(scores))], axis=1)
    return np.asarray(weights @ (_density(gaps, scale, exponential) * others))


def flags_distribution(
    answers: Floats, *, threshold: float, rho: float, nu: float, stop_after_one: bool
) -> dict[tuple[int, ...], float]:
    """Return the distribution of a sparse vector's flags.

    With ``stop_after_one`` up to the first answer above the threshold, otherwise for all of them. ``rho`` and
    ``nu`` are the scales of the Laplace noise of threshold and answers.
    """
    nodes, weights = _grid([0.0, *(answers - threshold).tolist()], min(rho, nu), max(rho, nu))
    base = weights * _density(nodes, rho, False)
    under = _below(threshold + nodes[:, None] - answers, nu, False)
    # P(noise >= x) as the other tail, which keeps its digits where it is small.
    over = _below(-(threshold + nodes[:, None] - answers), nu, False)
    if not stop_after_one:
        tails = np.stack([under, over])
        return {
            flags: float(base @ tails[list(flags), :, range(len(answers))].prod(axis=0))
            for flags in itertools.product((0, 1), repeat=len(answers))
        }
    distribution, stayed = {}, base
    for place in range(len(answers)):
        distribution[(0,) * place + (1,)] = float(stayed @ over[:, place])
        stayed = stayed * under[:, place]
    distribution[(0,) * len(answers)] = float(stayed.sum())
    return distribution


def largest_loss(one: Floats, two: Floats) -> float:
    """Return the largest log-ratio, either way, of two distributions on the same finite set with positive
    masses.
    """
    return float(np.abs(np.log(one) - np.log(two)).max())
