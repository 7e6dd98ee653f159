"""T1 and T2, rule ``integer-noise``: log-concave noise on an integer query, for every shift up to its
sensitivity.

Statement. Let q have values in Z and sensitivity at most D, and let Z have a log-concave distribution p on
the integers: Skellam, a sum of independent discrete Gaussians (the noise of ``count`` honest parties), or
binomial. Then for every epsilon, delta of q + Z is at most the larger of H_E(p || p_D) and H_E(p_D || p), and
it is attained; and the pair with the pointwise maximum of the two dominates every neighbouring pair. For
Skellam noise the Renyi divergence of every order is at most that of the shift D.

Proof. Facts F1 (all shifts are dominated by D, in either direction), F2 (rounding and other users' coins that
are independent of the noise only average) and F3 (post-processing: reduction modulo m, clipping) of
``divergence``. The direction of a step of an adaptive composition may depend on the past, so the maximum of
the two is composed (fact F4 of ``certpld``). ∎

The distributions are untruncated, on all of Z. Sources: Agarwal, Kairouz, Liu 2021 (Skellam); Kairouz, Liu,
Steinke 2021 (sums of discrete Gaussians, here exactly and not through a bound on the distance to one); Cheu,
Joseph, Mao, Peng 2022 (binomial).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb

from dpaudit.kernel.ball import precision
from dpaudit.kernel.kernel_t0 import (
    BeyondTierError,
    Guarantee,
    Parameters,
    Setting,
    moved,
    participation,
    shared_noise,
)
from dpaudit.kernel.t1.certpld import Grid, LossDistribution, from_atoms
from dpaudit.kernel.t1.divergence import lattice_delta
from dpaudit.kernel.t1.lattice import DiscreteGaussianSum, LogConcave, Reflected, bulk
from dpaudit.kernel.t1.profiles import maximum
from dpaudit.kernel.t1.recurrences import MAX_VARIANCE, Binomial, Skellam
from dpaudit.kernel.t1.skellam_renyi import skellam_renyi
from dpaudit.kernel.t1.tier import Curve, Curves, Tier

__all__ = ["FAMILIES", "Family", "add_integer_noise", "lattice_pair", "noise_conditions", "read_family"]

#: Points of the longest convolution, which every check of a certificate computes again.
MAX_POINTS = 4000

MAX_COUNT = 10_000
MAX_TRIALS = 10**15
MAX_SHIFT = 10**6


def read_gaussian_sum(p: Parameters) -> LogConcave:
    """Read a sum of ``count`` discrete Gaussians. Its masses are a convolution, whose size is bounded."""
    variance, count = p.positive("variance"), p.integer("count", low=1, high=MAX_COUNT)
    points = count * max(1, int(20 * math.sqrt(min(variance, Fraction(10**12)))))
    p.need(
        count == 1 or points <= MAX_POINTS,
        f"count times 20 sqrt(variance) must be at most {MAX_POINTS}, got {points}. Use gaussian-sum.",
    )
    return DiscreteGaussianSum(variance, count)


def read_skellam(p: Parameters) -> LogConcave:
    """Read Skellam noise whose table is short enough for this tier."""
    variance = p.positive("variance")
    if variance > MAX_VARIANCE:
        raise BeyondTierError("T2", "Skellam noise of a large variance")
    return Skellam(variance)


def skellam_curve(distribution: Skellam, shift: int) -> Curve:
    """Return the exact divergences by order, whose sums have proved tails.

    The largest shift suffices, because the divergences are increasing functions of f-divergences.
    """
    return lambda order: skellam_renyi(distribution.variance, shift=shift, order=order)


def read_binomial(p: Parameters) -> LogConcave:
    """Read binomial noise whose table is short enough for this tier."""
    chance, trials = p.number("probability"), p.integer("trials", low=1, high=MAX_TRIALS)
    p.need(0 < chance < 1, f"probability must be in (0, 1), got {chance}.")
    if trials * chance * (1 - chance) > MAX_VARIANCE:
        raise BeyondTierError("T2", "binomial noise of a large variance")
    return Binomial(trials, chance)


@dataclass(frozen=True)
class Family:
    """A family of noise: how a node gives its distribution, and its exact divergence curve for a shift."""

    read: Callable[[Parameters], LogConcave]
    renyi: Callable[[Any, int], Curve] | None = None


FAMILIES: dict[str, Family] = {
    "discrete-gaussian-sum": Family(read_gaussian_sum),
    "skellam": Family(read_skellam, skellam_curve),
    "binomial": Family(read_binomial),
}


def read_family(p: Parameters, families: Mapping[str, Family]) -> Family:
    """Read a node's ``family``."""
    return families[p.choice("family", sorted(families))]


def add_integer_noise(tier: Tier, families: Mapping[str, Family]) -> None:
    """Add the rule ``integer-noise`` for these families."""

    @tier.rule("integer-noise")
    def _integer_noise(p: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
        shift, family = int(moved(p, setting, most=MAX_SHIFT)), read_family(p, families)
        distribution = family.read(p)
        curves = Curves(
            profile=lambda epsilon: lattice_delta(distribution, shift=shift, epsilon=epsilon),
            renyi=None if family.renyi is None else family.renyi(distribution, shift),
            pair=lambda grid: lattice_pair(distribution, shift, grid),
        )
        return Guarantee(
            pure=None if shift else Fraction(0),
            curves=curves,
            assumptions=noise_conditions(p, setting, distribution),
        )


def noise_conditions(p: Parameters, setting: Setting, distribution: LogConcave) -> tuple[str, ...]:
    """Return the assumptions on the noise.

    One discrete Gaussian is drawn by one party. The other distributions may be sums of many parties' shares.
    """
    if not distribution.in_shares:
        return participation(setting)
    return shared_noise(p, setting, "at least the stated noise is added")


def lattice_pair(distribution: LogConcave, shift: int, grid: Grid) -> LossDistribution:
    """Return the upper loss distribution that dominates all shifts up to ``shift`` in size, in both
    directions.
    """
    forth = _one_direction(distribution, shift, grid)
    if distribution.symmetric:
        return forth
    return maximum(forth, _one_direction(Reflected(distribution), shift, grid))


def _one_direction(distribution: LogConcave, shift: int, grid: Grid) -> LossDistribution:
    """Return the distribution of p against p_shift, with loss log p(x)/p(x - shift), which falls in x.

    The lower tail goes to infinity, and the upper tail to the last loss.
    """
    with precision(grid.precision):
        low, high, below, above = bulk(distribution, 2 * grid.tail)
        masses = distribution.masses(low - shift, high)
        atoms: list[tuple[arb, arb]] = [(masses[j], masses[j - shift]) for j in range(shift, len(masses))]
        last_p, last_q = atoms[-1]
        end = arb(above.upper())
        atoms.append((end, end * last_q / last_p))
        return from_atoms(grid, atoms, infinite=below)
