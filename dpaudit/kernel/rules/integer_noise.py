"""Rule ``integer-noise``: log-concave noise on an integer query, for every shift up to its sensitivity.

Statement. Let q have values in Z and sensitivity at most D, and let Z have a log-concave law p on the
integers: Skellam, a sum of independent discrete Gaussians (the noise of ``count`` honest parties), or
binomial. Then for every epsilon, delta of q + Z is at most the larger of H_E(p || p_D) and H_E(p_D || p), and
it is attained; and the pair with the pointwise maximum of the two dominates every neighbouring pair. For
Skellam noise the Renyi divergence of every order is at most that of the shift D.

Proof. Facts F1 (all shifts are dominated by D, in either direction), F2 (rounding and other users' coins that
are independent of the noise only average) and F3 (post-processing: reduction modulo m, clipping) of
``divergence``. Which direction a step of an adaptive composition takes may depend on the past, so the maximum
of the two is composed (fact F4 of ``certpld``). ∎

The laws are untruncated, on all of Z. Sources: Agarwal, Kairouz, Liu 2021 (Skellam); Kairouz, Liu, Steinke
2021 (sums of discrete Gaussians, here exactly and not through a bound on the distance to one); Cheu, Joseph,
Mao, Peng 2022 (binomial).
"""

from __future__ import annotations

from typing import Any

from flint import arb

from dpaudit.kernel.ball import precision
from dpaudit.kernel.certpld import Grid, LossLaw, from_atoms, maximum
from dpaudit.kernel.divergence import lattice_delta
from dpaudit.kernel.lattice import Binomial, DiscreteGaussianSum, LogConcave, Reflected, Skellam, bulk
from dpaudit.kernel.renyi import skellam_renyi
from dpaudit.kernel.rules.sensitivity import sensitivity
from dpaudit.kernel.terms import Guarantee, Parameters, RenyiCurve, Setting, rule

__all__ = ["FAMILIES", "lattice_pair", "read_law"]

FAMILIES = ("skellam", "discrete-gaussian-sum", "binomial")
MAX_COUNT = 10_000
MAX_TRIALS = 10**15
MAX_SHIFT = 10**6


@rule("integer-noise")
def _integer_noise(parameters: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
    moved = sensitivity(parameters, "sensitivity", setting)
    if moved.denominator != 1 or moved > MAX_SHIFT:
        raise parameters.fail(
            f"an integer query must have an integer sensitivity up to {MAX_SHIFT}, got {moved}; round the "
            "query."
        )
    law, shift = read_law(parameters), int(moved)
    return Guarantee(
        pure=moved if shift == 0 else None,
        profile=lambda epsilon: lattice_delta(law, shift=shift, epsilon=epsilon),
        renyi=_renyi_curve(law, shift),
        pair=lambda grid: lattice_pair(law, shift, grid),
    )


def _renyi_curve(law: LogConcave, shift: int) -> RenyiCurve | None:
    """Exact divergences where their sums have proved tails; of all shifts the largest counts, for they are
    increasing functions of f-divergences (``renyi``).
    """
    if not isinstance(law, Skellam):
        return None
    variance = law.variance
    return lambda order: skellam_renyi(variance, shift=shift, order=order)


def read_law(parameters: Parameters) -> LogConcave:
    """The noise law that a node's ``family`` and its parameters name."""
    family = parameters.choice("family", FAMILIES)
    if family == "skellam":
        return Skellam(parameters.positive("variance"))
    if family == "discrete-gaussian-sum":
        return DiscreteGaussianSum(
            parameters.positive("variance"), parameters.integer("count", low=1, high=MAX_COUNT)
        )
    chance = parameters.probability("probability")
    if chance in (0, 1):
        raise parameters.fail(
            f"probability must be in (0, 1), got {chance}; without noise there is no privacy."
        )
    return Binomial(parameters.integer("trials", low=1, high=MAX_TRIALS), chance)


def lattice_pair(law: LogConcave, shift: int, grid: Grid) -> LossLaw:
    """The upper loss law that dominates all shifts up to ``shift`` in size, in both directions."""
    forth = _one_direction(law, shift, grid)
    return forth if law.symmetric else maximum(forth, _one_direction(Reflected(law), shift, grid))


def _one_direction(law: LogConcave, shift: int, grid: Grid) -> LossLaw:
    """p against p_shift: loss log p(x)/p(x - shift), which falls in x. The tails left out: below to
    infinity, above to the last loss.
    """
    with precision(grid.precision):
        low, high, below, above = bulk(law, 2 * grid.tail)
        masses = law.masses(low - shift, high)
        atoms: list[tuple[Any, Any]] = [(masses[j], masses[j - shift]) for j in range(shift, len(masses))]
        last_p, last_q = atoms[-1]
        end = arb(above.upper())
        atoms.append((end, end * last_q / last_p))
        return from_atoms(grid, atoms, infinite=below)
