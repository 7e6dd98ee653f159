"""Compute tails P(X > t) and P(|X| > t) of integer distributions at irrational thresholds, in balls."""

from __future__ import annotations

from dpaudit.core.errors import UndecidedError
from dpaudit.distributions.lattice import LatticeDistribution
from dpaudit.kernel.ball import arb, integer

__all__ = ["above", "beyond", "sum_beyond"]


def above(distribution: LatticeDistribution, threshold: arb) -> arb:
    """Return P(X > threshold) for a distribution on the integers and a ball ``threshold``.

    If the ball contains an integer, the result encloses both possible values.
    """
    least, most = _wholes(threshold)
    tail = distribution.sf_ball(least)
    return tail if least == most else tail.union(distribution.sf_ball(most))


def beyond(distribution: LatticeDistribution, threshold: arb) -> arb:
    """Return P(|X| > threshold) for a symmetric integer distribution and a ball ``threshold`` >= 0."""
    return 2 * above(distribution, threshold)


def sum_beyond(first: LatticeDistribution, second: LatticeDistribution, threshold: arb, *, reach: int) -> arb:
    """Return P(|X + Y| > threshold) for independent symmetric X and Y.

    Sum over the values of X up to ``reach`` in absolute value. The remaining mass of X contributes a ball
    from 0 to all of it.
    """
    least, most = _wholes(threshold)
    tail = _sum_above(first, second, least, reach)
    return 2 * (tail if least == most else tail.union(_sum_above(first, second, most, reach)))


def _sum_above(first: LatticeDistribution, second: LatticeDistribution, k: int, reach: int) -> arb:
    total, tail = arb(0), second.sf_ball(k + reach)  # P(Y > k - j) for j = -reach, then upward in j
    for j in range(-reach, reach + 1):
        total += first.logp_ball(j).exp() * tail
        tail += second.logp_ball(k - j).exp()
    return total + arb(0).union(2 * first.sf_ball(reach))


def _wholes(threshold: arb) -> tuple[int, int]:
    """Return the floors of both ends of a finite ball."""
    if not threshold.is_finite():
        raise UndecidedError(f"a threshold must be finite, got {threshold}.", code="E-THRESHOLD-NOT-FINITE")
    return integer(threshold.lower().floor()), integer(threshold.upper().floor())
