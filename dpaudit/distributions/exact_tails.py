"""Exact tails P(X > t) and P(|X| > t) of laws on the integers at irrational thresholds, in balls."""

from __future__ import annotations

from dpaudit.core.errors import UndecidedError
from dpaudit.kernel.ball import arb, integer
from dpaudit.distributions.lattice import LatticeLaw

__all__ = ["above", "beyond", "sum_beyond"]


def above(law: LatticeLaw, threshold: arb) -> arb:
    """P(X > threshold) for a law on the integers and a ball: an enclosure of both values where the ball
    straddles an integer."""
    least, most = _wholes(threshold)
    tail = law.sf_ball(least)
    return tail if least == most else tail.union(law.sf_ball(most))


def beyond(law: LatticeLaw, threshold: arb) -> arb:
    """P(|X| > threshold) for a symmetric law on the integers and a ball ``threshold`` >= 0."""
    return 2 * above(law, threshold)


def sum_beyond(first: LatticeLaw, second: LatticeLaw, threshold: arb, *, reach: int) -> arb:
    """P(|X + Y| > threshold) for independent symmetric X and Y: the values of X up to ``reach`` in size one
    by one, the rest of its mass as a ball from 0 to all of it.
    """
    least, most = _wholes(threshold)
    tail = _sum_above(first, second, least, reach)
    return 2 * (tail if least == most else tail.union(_sum_above(first, second, most, reach)))


def _sum_above(first: LatticeLaw, second: LatticeLaw, k: int, reach: int) -> arb:
    total, tail = arb(0), second.sf_ball(k + reach)  # P(Y > k - j) for j = -reach, then upward in j
    for j in range(-reach, reach + 1):
        total += first.logp_ball(j).exp() * tail
        tail += second.logp_ball(k - j).exp()
    return total + arb(0).union(2 * first.sf_ball(reach))


def _wholes(threshold: arb) -> tuple[int, int]:
    """The floors of both ends of a finite ball."""
    if not threshold.is_finite():
        raise UndecidedError(f"a threshold must be finite, got {threshold}; move the parameters.")
    return integer(threshold.lower().floor()), integer(threshold.upper().floor())
