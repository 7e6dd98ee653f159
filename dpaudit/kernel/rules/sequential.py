"""Rule ``sequential``: the bounds of mechanisms that run on the same data add up.

Statement. Let premise i hold for a mechanism that is run n_i times (``times``), each run possibly chosen in
view of all earlier outcomes among mechanisms for which the premise holds. The tuple of all outcomes has pure
epsilon sum n_i e_i, squared GDP parameter sum n_i mu_i^2, and zCDP parameter sum n_i rho_i.

With a ``grid``, delta of the whole is also bounded by the product of dominating pairs (see ``pairs``).

Proof. Pure: the density of the transcript is a product of conditional densities, each ratio at most exp(e_i)
for every prefix. zCDP: Renyi divergences add over conditional laws when each conditional divergence is
bounded for every prefix (Bun and Steinke 2016, Lemma 2.3). GDP: Dong, Roth, Su 2022, Theorem 3.2 and
Corollary 3.3. The n_i are fixed in advance. ∎
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from dpaudit.kernel.certpld import Grid
from dpaudit.kernel.rules.pairs import composed, read_grid
from dpaudit.kernel.terms import Guarantee, Parameters, Setting, rule

__all__ = ["MAX_PREMISES", "MAX_TIMES", "add_up", "zcdp"]

MAX_PREMISES = 1000
MAX_TIMES = 10**18


def zcdp(guarantee: Guarantee) -> Fraction | None:
    """The best rho that the bounds imply: e-DP is (e^2/2)-zCDP (Bun and Steinke 2016, Proposition 3.3),
    mu-GDP is (mu^2/2)-zCDP.
    """
    known = [guarantee.rho]
    known.append(None if guarantee.pure is None else guarantee.pure**2 / 2)
    known.append(None if guarantee.gdp_squared is None else guarantee.gdp_squared / 2)
    return min((rho for rho in known if rho is not None), default=None)


def add_up(premises: Sequence[Guarantee], times: Sequence[int], grid: Grid | None = None) -> Guarantee:
    """The guarantee of running premise i ``times[i]`` times; a notion survives if all that run have it."""
    if sum(times) == 1:
        return premises[list(times).index(1)]
    sums = Guarantee(
        pure=_sum([p.pure for p in premises], times),
        gdp_squared=_sum([p.gdp_squared for p in premises], times),
        rho=_sum([zcdp(p) for p in premises], times),
    )
    if grid is None:
        return sums
    # Composed only when a delta is asked for: it is the one expensive step of a derivation.
    parts = [*zip(premises, times, strict=True)]
    return replace(sums, profile=lambda epsilon: composed(parts, grid).delta(epsilon))


def _sum(costs: Sequence[Fraction | None], times: Sequence[int]) -> Fraction | None:
    total = Fraction(0)
    for cost, count in zip(costs, times, strict=True):
        if cost is None and count > 0:
            return None
        total += count * (cost or Fraction(0))
    return total


@rule("sequential", premises=(1, MAX_PREMISES))
def _sequential(parameters: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
    times = parameters.integers("times", low=1, high=MAX_TIMES, length=len(premises))
    return add_up(premises, times, read_grid(parameters))
