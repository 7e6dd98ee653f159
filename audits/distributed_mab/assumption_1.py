"""Assumption 1: two-term tails of n_a(b), the total noise in a batch's reward sum.

n_a(b) has three sources: randomised rounding, the noise, and wraps that the analyzer does not undo. Its law
is computed exactly here, wraps included.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from audits.distributed_mab.noise_laws import ENOUGH
from dpaudit.kernel.ball import precision
from dpaudit.kernel.t1.lattice import DiscreteGaussianSum, bulk
from dpaudit.laws import Binomial, DiscreteGaussian, DiscreteLaplace
from dpaudit.rows import Grid, in_words, over
from mechanisms.parameter_sheet import (
    Sheet,
    discrete_gaussian_sheet,
    local_laplace_sheet,
    polya_sheet,
    skellam_sheet,
)

__all__ = ["BATCHES", "VARIANTS", "Batch", "Rewards", "error_probability", "worst_ratio"]

Floats = NDArray[np.float64]
Rewards = Literal["constant", "coins"]

#: Floats: sums of positive terms below are right to better than this, thresholds to better than its square.
ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class Batch:
    """One batch at one arm: ``level`` is the p that τ was built for."""

    variant: str
    n: int
    epsilon: Fraction
    level: Fraction
    mean: Fraction
    rewards: Rewards

    def in_words(self) -> str:
        return in_words({"n": self.n, "ε": self.epsilon, "p of τ": self.level, "mean": self.mean}) + (
            f", {self.rewards}"
        )

    @property
    def stated(self) -> bool:
        """Whether the theorem speaks of this batch: Theorem 6 only of n >= 2 log(2/p)."""
        return self.variant != "LDP-SE" or self.n >= 2 * math.log(2 / self.level)

    @property
    def sheet(self) -> Sheet:
        return _sheet(self.variant, self.n, self.epsilon, self.level)

    def radius(self, level: Fraction) -> float:
        """σ sqrt(log(2/p)) + h log(2/p) with the variant's own σ and h, at p = ``level``."""
        sigma, h = VARIANTS[self.variant](self.n)
        spread = math.log(2 / level)
        return (sigma * math.sqrt(spread) + h * spread) / float(self.epsilon)


def _constants(s: int) -> dict[str, Any]:
    root = math.sqrt(2)
    return {
        "Dist-DP-SE": lambda n: (root, 1.0),
        f"Dist-RDP-SE, s = {s}": lambda n: (2 + root / s, 1 / s),
        f"Dist-CDP-SE, s = {s}": lambda n: (root + root / s, 0.0),
        "LDP-SE": lambda n: (float(ENOUGH) * root * math.sqrt(n) + root, 0.0),
    }


#: σ ε and h ε of each variant, as functions of the batch size.
VARIANTS = _constants(1) | _constants(10)


def _grid(variant: str) -> Grid:
    budgets = "1/10 1/2 99/100" if variant.startswith(("Dist-CDP", "LDP")) else "1/10 1/2 99/100 5"
    return over(
        epsilon=budgets, level="1/2 1/10 1/1000", mean="0 1/100 1/2 99/100 1", rewards=("constant", "coins")
    )


#: The batches of one size at which Assumption 1 is computed; Theorems 4 and 6 are for ε < 1.
BATCHES = {variant: _grid(variant) for variant in VARIANTS}


@lru_cache(maxsize=256)
def _sheet(variant: str, n: int, epsilon: Fraction, level: Fraction) -> Sheet:
    if variant == "Dist-DP-SE":
        return polya_sheet(users=n, epsilon=epsilon, tail_prob=level)
    if variant == "LDP-SE":
        return local_laplace_sheet(users=n, epsilon=epsilon, tail_prob=level)
    s = int(variant.rsplit(" ", 1)[1])
    build = skellam_sheet if "RDP" in variant else discrete_gaussian_sheet
    return build(users=n, epsilon=epsilon, tail_prob=level, scale_factor=s)


@lru_cache(maxsize=256)
def _residues(sheet: Sheet) -> Floats:
    """P(total noise ≡ e mod m) for e = 0, ..., m - 1, each accurate relative to itself down to 1e-30."""
    if isinstance(sheet.share, DiscreteGaussian) and sheet.users > 1:
        with precision(192):
            law = DiscreteGaussianSum(sheet.share.sigma2, sheet.users)
            low, high, _, _ = bulk(law, 100)
            values, masses = np.arange(low, high + 1), np.array([float(p) for p in law.masses(low, high)])
    else:
        total = sheet.total_noise()
        reach = _reach(total)
        values = np.arange(-reach, reach + 1)
        masses = np.exp(total.logp(values))
    residues = np.zeros(sheet.modulus)
    np.add.at(residues, values % sheet.modulus, masses)
    return residues


def _reach(law: DiscreteLaplace | Any) -> int:
    """Some k with P(|X| > k) below 1e-30, by doubling."""
    reach = 64
    while float(law.sf(reach)) > 1e-30:
        reach *= 2
    return reach


def error_probability(batch: Batch, threshold: float) -> float:
    """P(|n_a(b)| > threshold), exactly but for float rounding: over the rewards ("coins"), the rounding
    ("constant" rewards at the mean), the noise and the wraps of the modulus."""
    sheet = batch.sheet
    residues, g, m = _residues(sheet), sheet.precision, sheet.modulus
    y = np.arange(m)
    decoded = np.where(y > batch.n * g + sheet.noise_margin, y - m, y)
    total = 0.0
    for weight, encoded, reward_sum in _encoded(batch, g):
        far = np.abs(decoded - g * reward_sum) > g * threshold
        total += weight * float(residues[(y[far] - encoded) % m].sum())
    return total


def _encoded(batch: Batch, g: int) -> Iterator[tuple[float, int, float]]:
    """Weight, Σ x̂ and Σ x: rewards of 0 and 1 are encoded without rounding, equal ones up to n coins."""
    whole, part = divmod(batch.mean * g, 1)
    chance = batch.mean if batch.rewards == "coins" else part
    weights = np.exp(Binomial(trials=batch.n, p=chance).logp(np.arange(batch.n + 1)))
    for k in np.flatnonzero(weights > 1e-40):
        if batch.rewards == "coins":
            yield float(weights[k]), g * int(k), float(k)
        else:
            yield float(weights[k]), batch.n * int(whole) + int(k), float(batch.n * batch.mean)


def worst_ratio(batches: Sequence[Batch], levels: Sequence[Fraction]) -> tuple[float, float, str]:
    """The largest P(|n_a| > radius at p)/(2p), from both sides of rounding, over batches and over p = the
    batch's level times each of ``levels``; and where it is."""
    low, high, where = 0.0, 0.0, ""
    for batch, part in itertools.product(batches, levels):
        p = batch.level * part
        if p > 1:
            continue
        radius = batch.radius(p)
        most = error_probability(batch, radius * (1 - ROUNDING) - ROUNDING) / float(2 * p)
        least = error_probability(batch, radius * (1 + ROUNDING) + ROUNDING) / float(2 * p)
        if least > low:
            low, where = least, f"{batch.in_words()}, p = {float(p):.3g}"
        high = max(high, most)
    return low * (1 - ROUNDING), high * (1 + ROUNDING), where
