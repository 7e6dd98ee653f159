"""Add Renyi divergences over the steps of a composition, and convert the sums to delta."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from flint import arb

from dpaudit.kernel.ball import ball, precision
from dpaudit.kernel.kernel_t0 import Guarantee, Parameters, orders_of, zcdp
from dpaudit.kernel.t1.readout import renyi_bound
from dpaudit.kernel.t1.renyi import restricted_delta
from dpaudit.kernel.t1.tier import Curve, curves_of

__all__ = ["Cut", "converted", "read_orders", "summed_cut", "summed_renyi"]

BITS = 96

#: A function from an order to (b, r), as in ``Curves.cut``.
Cut = Callable[[Fraction], tuple[arb, arb]]
Parts = Sequence[tuple[Guarantee, int]]


def read_orders(p: Parameters) -> tuple[Fraction, ...]:
    """Return the Renyi orders of a node: at least one, each above 1."""
    p.get("orders")  # refuse a node without orders
    return tuple(orders_of(p) or ())


def summed_renyi(parts: Parts) -> Curve | None:
    """Return the sum of the premises' divergences, if each has one and some have a separate curve.

    Sums of rational bounds are made by T0.
    """
    if any(_unbounded(g) and curves_of(g).renyi is None for g, _ in parts):
        return None
    if all(curves_of(g).renyi is None for g, _ in parts):
        return None
    return lambda order: ball(sum((n * (renyi_bound(g, order) or 0) for g, n in parts), Fraction(0)))


def summed_cut(parts: Parts) -> Cut | None:
    """Return the sums of the premises' left-out probabilities and of their divergences, if some premise
    has a curve.
    """
    curves = [curves_of(g) for g, _ in parts]
    if any(
        _unbounded(g) and c.renyi is None and c.cut is None for (g, _), c in zip(parts, curves, strict=True)
    ):
        return None
    if all(c.renyi is None and c.cut is None for c in curves):
        return None

    def cut(order: Fraction) -> tuple[arb, arb]:
        with precision(BITS):
            outside, divergence = arb(0), arb(0)
            for (premise, count), c in zip(parts, curves, strict=True):
                own = c.cut(order) if c.cut is not None else (arb(0), ball(renyi_bound(premise, order) or 0))
                outside, divergence = outside + count * own[0], divergence + count * own[1]
            return outside, divergence

    return cut


def _unbounded(guarantee: Guarantee) -> bool:
    """Return whether a premise has no bound that implies a divergence."""
    return zcdp(guarantee) is None


def converted(cut: Cut, orders: Sequence[Fraction]) -> Curve:
    """Return the curve of the smallest delta over the orders."""
    known: dict[Fraction, tuple[arb, arb]] = {}

    def profile(epsilon: Fraction) -> arb:
        bounds = []
        for order in orders:
            known[order] = known[order] if order in known else cut(order)
            outside, divergence = known[order]
            with precision(BITS):
                bounds.append(outside + restricted_delta(divergence, order=order, epsilon=epsilon))
        return min(bounds, key=lambda bound: float(bound.upper()))

    return profile
