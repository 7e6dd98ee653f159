"""The subsampled DP-SPRT (Michel, Basu and Kaufmann 2026) on a stream of ones, solved by a recursion.

Given the threshold's noise Z, the test stops in each step with a probability that depends on the number of
observations that have entered, and on whether the changed observation has. The probability that it is still
open grows with Z, so sums over a grid of Z enclose it. Settings: means 0.1 and 0.9, errors 0.05, epsilon 1.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import zeta
from scipy.stats import laplace

__all__ = ["still_open"]

LOW, HIGH, ERROR = 0.1, 0.9, 0.05
#: The exponent of the union bound, and epsilon / 10 as the square of the sampling rate.
POWER, RATE = 1.134, math.sqrt(0.1)
#: Cells of Z's distribution, of equal mass.
CELLS = 2000


def still_open(steps: int, *, zero: bool) -> tuple[float, float]:
    """Enclose P(no decision within ``steps`` observations). All observations are 1, or with ``zero`` the
    first is 0. The floats are accurate to about 1e-12, and the enclosure covers the error of the grid."""
    cuts = laplace.ppf(np.arange(1, CELLS) / CELLS)
    inside = _open_given(steps, zero, cuts)
    # In each cell of Z the probability lies between its values at the ends: 0 below all cells, 1 above all.
    ends = np.concatenate([[0.0], inside, [1.0]])
    return float(ends[:-1].mean()), float(ends[1:].mean())


def _open_given(steps: int, zero: bool, noise: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return P(still open) for each value of Z, by a recursion over the number of observations that have
    entered and over whether the first is among them."""
    weights = np.zeros((len(noise), steps + 1, 2))
    weights[:, 0, 0] = 1
    entered = np.arange(steps + 1)
    for step in range(1, steps + 1):
        moved = weights * (1 - RATE)
        if step == 1:
            moved[:, 1:, 1] += weights[:, :-1, 0] * RATE
        else:
            moved[:, 1:] += weights[:, :-1] * RATE
        weights = moved
        for first in (0, 1):
            weights[:, :, first] *= _stays(step, entered, float(zero and first), noise)
    return weights.sum(axis=(1, 2))


def _stays(
    step: int, entered: NDArray[np.int_], zeros: float, noise: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return P(no decision in this step) for each Z and each number of observations that have entered."""
    count = np.maximum(entered, 1)
    mean = (count - zeros) / count
    share = math.log(2 / ERROR) / count  # half of the error, by the allocation at epsilon 1
    slope = _logit(HIGH) - _logit(LOW)
    divergence = LOW * math.log(LOW / HIGH) + (1 - LOW) * math.log((1 - LOW) / (1 - HIGH))
    margin = 6 * RATE * math.log(2 * step**POWER * round(zeta(POWER), 6) / ERROR) / step
    shift = noise[:, None] * 2 * RATE / step + margin
    above = HIGH + (share - divergence) / slope + shift
    below = LOW + (divergence - share) / slope - shift
    scale = 4 * RATE / step
    stays = laplace.cdf((above - mean) / scale) - laplace.cdf((below - mean) / scale)
    stays = np.maximum(stays, 0.0)
    stays[:, 0] = 1.0  # no observation has entered: no decision
    return stays


def _logit(mean: float) -> float:
    return math.log(mean / (1 - mean))
