"""Extreme cases of the regret theorems: the experiments' p on extreme means, and small batches of LDP-SE.

With p = 1/10 as in the experiments, an aggregate's noise exceeds its margin τ with a probability near p/4 on
each side, in every batch. For a mean near 1/2 the residue still decodes correctly, but a mean of 1 decodes to
near 0, and a mean of 0 to near 1. The distribution of both decoded means is computed exactly, wraps included,
for two arms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpaudit.distributions import Binomial
from dpaudit.reference.algorithms.mab.batched_elimination import confidence_radius
from dpaudit.reference.algorithms.mab.batched_regret import Setting
from dpaudit.reference.mechanisms.parameter_sheet import Sheet

__all__ = ["Exit", "decoded_distribution", "exits", "regret_between"]

Floats = NDArray[np.float64]

#: Error of the convolution by FFT: about 1e-15 of the total mass for each value.
CONVOLUTION = 1e-9


@dataclass(frozen=True)
class Exit:
    """Two arms, both active before batch ``batch`` with probability ``reached``.

    ``best`` and ``other`` are the probabilities that the best arm, or the other arm, is eliminated at the end
    of the batch.
    """

    batch: int
    reached: float
    best: float
    other: float


def decoded_distribution(sheet: Sheet, mean: float, *, rate: float) -> Floats:
    """Return the distribution of g times the decoded sum of ``sheet.users`` Bernoulli rewards of this mean.

    The result holds masses on -τ, ..., n g + τ. The noise is Lap_Z(1/``rate``). Bernoulli rewards are encoded
    without rounding.
    """
    n, g, m = sheet.users, sheet.precision, sheet.modulus
    e = np.arange(m, dtype=np.float64)
    noise = (np.exp(-rate * e) + np.exp(-rate * (m - e))) * -math.expm1(-rate) / (1 + math.exp(-rate))
    noise /= -math.expm1(-rate * m)
    if mean in (0.0, 1.0):
        residues = np.roll(noise, n * g if mean else 0)
    else:
        sums = np.zeros(m)
        counts = Binomial(trials=n, p=Fraction(mean))
        sums[np.arange(n + 1) * g] = np.exp(counts.logp(np.arange(n + 1)))
        residues = np.fft.irfft(np.fft.rfft(sums) * np.fft.rfft(noise), m).clip(0.0)
    return np.asarray(np.roll(residues, sheet.noise_margin))


def _exceeds(one: Floats, other: Floats, threshold: float) -> float:
    """Return P(X > Y + threshold) for X and Y with distributions ``one`` and ``other`` on the same integers.

    The margin on the threshold makes it a lower bound.
    """
    shift = math.floor(threshold + 1e-6) + 1
    above = np.append(np.cumsum(one[::-1])[::-1], 0.0)  # P(X >= i)
    return float(other[: max(0, len(other) - shift)] @ above[shift : len(one)])


@lru_cache(maxsize=32)
def exits(setting: Setting, means: tuple[float, float], *, batches: int) -> tuple[Exit, ...]:
    """Return the first ``batches`` batches of Dist-DP-SE on two Bernoulli arms, the best arm first."""
    found, reached = [], 1.0
    for batch in range(1, batches + 1):
        n = 2**batch
        sheet = setting.variant.sheet(n)
        rate = float(setting.epsilon / sheet.precision)
        radius = float(
            confidence_radius(batch, 2, n, failure_prob=float(setting.p), tail=setting.variant.tail(n))
        )
        best, other = (decoded_distribution(sheet, mean, rate=rate) for mean in means)
        threshold = 2 * radius * n * sheet.precision
        out = Exit(batch, reached, _exceeds(other, best, threshold), _exceeds(best, other, threshold))
        found.append(out)
        reached *= 1 - out.best - out.other
    return tuple(found)


def regret_between(found: Sequence[Exit], *, gap: float, horizon: int) -> tuple[float, float]:
    """Bound E Reg(T) from the exits; an arm left after the last of them may be right or wrong.

    Only for horizons that contain all these batches.
    """
    low = high = 0.0
    for one in found:
        pulls = 2 ** (one.batch + 1) - 2  # of each arm by the end of the batch
        low += one.reached * (one.best * (horizon - pulls) + one.other * pulls)
        high += one.reached * ((one.best + CONVOLUTION) * horizon + (one.other + CONVOLUTION) * pulls)
    rest = found[-1].reached * (1 - found[-1].best - found[-1].other) + CONVOLUTION
    return gap * low * (1 - CONVOLUTION), gap * (high + rest * horizon)
