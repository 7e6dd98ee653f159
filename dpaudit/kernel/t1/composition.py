"""T1: bounds of compositions beyond sums: products of dominating pairs, sums of Renyi divergences, pointwise
maxima.

``sequential``, ``tree`` and ``accounted`` with a ``grid``: delta of the whole is at most the delta of the
product of dominating pairs (``pairs``). Without a grid, Renyi divergences that are bounded for every prefix
of earlier outcomes add up, order by order. If they hold except with probability b (``Curves.cut``), these b
add up too. At each of ``orders`` (those of the premises, if none are listed) the sum converts to delta.
``parallel``: the pointwise maximum of the premises' curves.

Proof of the sums. Let release i have outcomes in a range G_i but with probability b_i under its first
distribution P_i, for every prefix. Some release is out of range with probability at most sum b_i under the
first distribution of the transcript. On the transcripts that stay in range, sum P^a P'^(1-a) factorises by
prefixes, each factor at most exp((a-1) r_i). So the restricted distribution has Renyi divergence at most sum
r_i, and F5 of ``renyi`` converts it. ∎
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flint import arb

from dpaudit.kernel.ball import ball
from dpaudit.kernel.kernel_t0 import MAX_COUNT, Guarantee, Parameters, Setting, moves, zcdp
from dpaudit.kernel.t1.certpld import Grid, LossDistribution
from dpaudit.kernel.t1.pairs import GaussianPair, composed, read_grid
from dpaudit.kernel.t1.readout import GaussianDelta, delta_bound, renyi_bound
from dpaudit.kernel.t1.renyi_sums import converted, read_orders, summed_cut, summed_renyi
from dpaudit.kernel.t1.tier import Curve, Curves, Tier, curves_of

__all__ = ["add_compositions"]


def add_compositions(
    tier: Tier, *, gaussian_pair: GaussianPair | None = None, gaussian_delta: GaussianDelta | None = None
) -> None:
    """Extend the composition rules of a tier, with the Gaussian's functions if the tier has them."""

    def product(p: Parameters, premises: Sequence[Guarantee], times: Sequence[int]) -> Curves | None:
        grid, orders = read_grid(p), _orders(p, premises)
        if sum(times) == 1:  # one run: the premise's own curves
            return None
        parts = [*zip(premises, times, strict=True)]
        renyi, cut = summed_renyi(parts), summed_cut(parts)
        if grid is None:
            profile = None if cut is None or not orders else converted(cut, orders)
            return Curves(profile=profile, renyi=renyi, cut=cut, orders=orders)
        # Compose only when a delta is needed, because this is the only expensive step of a derivation.

        def directed(finer: Grid) -> tuple[LossDistribution, LossDistribution]:
            distributions = composed(parts, finer, gaussian_pair)
            return distributions[0], distributions[-1]

        def profile_on_grid(epsilon: Fraction) -> arb:
            first, *others = (one.delta(epsilon) for one in composed(parts, grid, gaussian_pair))
            return others[0].max(first) if others else first

        return Curves(profile=profile_on_grid, directed=directed, renyi=renyi, cut=cut, orders=orders)

    @tier.extend("sequential")
    def _sequential(
        p: Parameters, premises: tuple[Guarantee, ...], setting: Setting, sums: Guarantee
    ) -> Curves | None:
        return product(p, premises, _counts(p, "times", len(premises)))

    @tier.extend("accounted")
    def _accounted(
        p: Parameters, premises: tuple[Guarantee, ...], setting: Setting, sums: Guarantee
    ) -> Curves | None:
        return product(p, premises, _counts(p, "touches", len(premises)))

    @tier.extend("tree")
    def _tree(
        p: Parameters, premises: tuple[Guarantee, ...], setting: Setting, sums: Guarantee
    ) -> Curves | None:
        if "levels" in p:
            return product(p, premises, [p.integer("levels", low=1, high=MAX_COUNT)])
        return product(p, premises, [p.integer("leaves", low=1, high=MAX_COUNT).bit_length()])

    @tier.extend("parallel")
    def _parallel(
        p: Parameters, premises: tuple[Guarantee, ...], setting: Setting, sums: Guarantee
    ) -> Curves | None:
        if moves(p.values):
            return None
        return Curves(profile=_worst_profile(premises, gaussian_delta), renyi=_worst_renyi(premises))


def _counts(p: Parameters, name: str, length: int) -> list[int]:
    return [p.integer(name, count, low=1, high=MAX_COUNT) for count in p.entries(name, length=length)]


def _orders(p: Parameters, premises: Sequence[Guarantee]) -> tuple[Fraction, ...]:
    """Return the orders of a node, or those of its premises."""
    if "orders" in p:
        return read_orders(p)
    return tuple(sorted({order for premise in premises for order in curves_of(premise).orders}))


def _worst_profile(premises: Sequence[Guarantee], gaussian_delta: GaussianDelta | None) -> Curve | None:
    """Return the pointwise maximum of the premises' deltas, if at least one has a separate delta."""
    if all(curves_of(premise).profile is None for premise in premises):
        return None
    return lambda epsilon: ball(max(delta_bound(premise, epsilon, gaussian_delta) for premise in premises))


def _worst_renyi(premises: Sequence[Guarantee]) -> Curve | None:
    """Return the pointwise maximum of the premises' divergences, if at least one has a separate curve."""
    known = [p for p in premises if curves_of(p).renyi is not None or zcdp(p) is not None]
    if len(known) < len(premises) or all(curves_of(p).renyi is None for p in premises):
        return None
    return lambda order: ball(max((renyi_bound(p, order) or Fraction(0)) for p in premises))
