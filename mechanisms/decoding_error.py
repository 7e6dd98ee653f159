"""The exact distribution of the analyzer's error: decoded sum minus sum of rewards.

The error comes from rounding, noise, and wraps that the analyzer does not undo.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache, partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpaudit.distributions import Binomial, DiscreteGaussian, LatticeDistribution
from dpaudit.kernel.ball import precision
from dpaudit.kernel.t1.lattice import DiscreteGaussianSum, bulk
from dpaudit.reference.mechanisms.parameter_sheet import Sheet

__all__ = ["Rewards", "error_interval", "error_probability"]

Floats = NDArray[np.float64]
Rewards = Literal["constant", "coins"]

#: Bound on the error of float probabilities; thresholds are accurate to its square.
ROUNDING = 1e-9


@lru_cache(maxsize=256)
def _residues(sheet: Sheet) -> Floats:
    """Return P(total noise ≡ e mod m) for e = 0, ..., m - 1, with relative accuracy down to 1e-30."""
    if isinstance(sheet.share, DiscreteGaussian) and sheet.users > 1:
        with precision(192):
            distribution = DiscreteGaussianSum(sheet.share.sigma2, sheet.users)
            low, high, _, _ = bulk(distribution, 100)
            values, masses = (
                np.arange(low, high + 1),
                np.array([float(p) for p in distribution.masses(low, high)]),
            )
    else:
        total = sheet.total_noise()
        reach = _reach(total)
        values = np.arange(-reach, reach + 1)
        masses = np.exp(total.logp(values))
    residues = np.zeros(sheet.modulus)
    np.add.at(residues, values % sheet.modulus, masses)
    return residues


def _reach(distribution: LatticeDistribution) -> int:
    """Find some k with P(|X| > k) below 1e-30 by doubling."""
    reach = 64
    while float(distribution.sf(reach)) > 1e-30:
        reach *= 2
    return reach


def error_probability(
    sheet: Sheet, threshold: float, *, mean: Fraction, rewards: Rewards, moved: int = 0
) -> float:
    """Return P(|decoded sum - sum of rewards| > threshold), exact up to float rounding.

    The probability is over the rewards ("coins" of that mean, or "constant" rewards at the mean), the
    rounding, the noise and the wraps. The aggregate is shifted by ``moved`` residues before the analyzer
    decodes it.
    """
    residues, g, m = _residues(sheet), sheet.precision, sheet.modulus
    y = np.arange(m)
    given = (y + moved) % m
    decoded = np.where(given > sheet.users * g + sheet.noise_margin, given - m, given)
    total = 0.0
    for weight, encoded, reward_sum in _encoded(sheet.users, g, mean, rewards):
        far = np.abs(decoded - g * reward_sum) > g * threshold
        total += weight * float(residues[(y[far] - encoded) % m].sum())
    return total


@lru_cache(maxsize=256)
def _encoded(n: int, g: int, mean: Fraction, rewards: Rewards) -> list[tuple[float, int, float]]:
    """Return weight, Σ x̂ and Σ x: rewards of 0 and 1 are encoded without rounding, equal rewards up to n
    coins.
    """
    whole, part = divmod(mean * g, 1)
    weights = np.exp(Binomial(trials=n, p=mean if rewards == "coins" else part).logp(np.arange(n + 1)))
    likely = [(float(weights[k]), int(k)) for k in np.flatnonzero(weights > 1e-40)]
    if rewards == "coins":
        return [(weight, g * k, float(k)) for weight, k in likely]
    return [(weight, n * int(whole) + k, float(n * mean)) for weight, k in likely]


def error_interval(
    sheet: Sheet,
    threshold: float,
    *,
    mean: Fraction,
    rewards: Rewards,
    off: Fraction = Fraction(0),
    moved: int = 0,
    per: float = 1.0,
) -> tuple[float, float]:
    """Bound P(|decoded sum - sum of rewards| > threshold) from both sides of float rounding, in units of the
    probability ``per``.

    The secure function may be wrong with probability ``off`` or less. The lower bound uses a function that
    errs with probability ``off``, by ``moved`` residues. The upper bound allows any error.
    """
    far = partial(error_probability, sheet, mean=mean, rewards=rewards)
    outer, inner = threshold * (1 + ROUNDING) + ROUNDING, threshold * (1 - ROUNDING) - ROUNDING
    low = far(outer)
    if off:
        low = float(1 - off) * low + float(off) * far(outer, moved=moved)
    high = min(1.0, far(inner) + float(off))
    return low / per * (1 - ROUNDING), high / per * (1 + ROUNDING)
