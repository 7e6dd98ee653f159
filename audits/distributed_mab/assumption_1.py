"""Assumption 1: two-term tails of n_a(b), the total noise in a batch's reward sum.

n_a(b) has three sources: randomised rounding, the noise, and wraps that the analyzer does not undo. Its law
is exact (``mechanisms.decoding_error``).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from audits.distributed_mab.noise_laws import ENOUGH
from dpaudit.rows import Grid, in_words, over
from mechanisms.decoding_error import Rewards, error_probability
from mechanisms.parameter_sheet import (
    Sheet,
    discrete_gaussian_sheet,
    local_laplace_sheet,
    polya_sheet,
    skellam_sheet,
)

__all__ = ["BATCHES", "VARIANTS", "Batch", "worst_ratio"]

#: Floats: the error probabilities are right to better than this, thresholds to better than its square.
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

    def error_probability(self, threshold: float) -> float:
        """P(|n_a(b)| > threshold)."""
        return error_probability(self.sheet, threshold, mean=self.mean, rewards=self.rewards)


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


def worst_ratio(batches: Sequence[Batch], levels: Sequence[Fraction]) -> tuple[float, float, str]:
    """The largest P(|n_a| > radius at p)/(2p), from both sides of rounding, over batches and over p = the
    batch's level times each of ``levels``; and where it is."""
    low, high, where = 0.0, 0.0, ""
    for batch, part in itertools.product(batches, levels):
        p = batch.level * part
        if p > 1:
            continue
        radius = batch.radius(p)
        most = batch.error_probability(radius * (1 - ROUNDING) - ROUNDING) / float(2 * p)
        least = batch.error_probability(radius * (1 + ROUNDING) + ROUNDING) / float(2 * p)
        if least > low:
            low, where = least, f"{batch.in_words()}, p = {float(p):.3g}"
        high = max(high, most)
    return low * (1 - ROUNDING), high * (1 + ROUNDING), where
