"""Concentrated DP of one batch's aggregate: Lemma 4 and Theorem 4 as printed, exact divergences."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dpaudit.certify.build import Proof, compose_parallel, discrete_gaussian_sum
from dpaudit.certify.witnesses.divergence import divergence_witness
from dpaudit.core.claims import ZeroConcentratedDP
from dpaudit.core.evidence import Witness
from dpaudit.kernel.ball import ball, upper_short
from dpaudit.reference.mechanisms.parameter_sheet import rounded_up_root

__all__ = ["NEAR_ONE", "concentrated_bound", "gaussian_batch", "gaussian_batches", "sum_witness"]

#: R_α/α bounds rho from below at every order α. At this order it equals D_1 to six digits.
NEAR_ONE = Fraction(10**6 + 1, 10**6)


def concentrated_bound(square: Fraction, correction: Any) -> Fraction:
    """Return (1/2) min{sqrt(e² + ξ/2), e + ξ}² for e² = ``square``, rounded up: e²/2 + min{ξ/4, eξ +
    ξ²/2}."""
    root = ball(square).sqrt()
    return square / 2 + upper_short((correction / 4).min(root * correction + correction**2 / 2))


def sum_witness(
    claim: ZeroConcentratedDP, variance: Fraction, *, count: int, shift: int, modulus: int | None = None
) -> Witness:
    """Return the exact divergence of the sum from itself shifted, at an order so near to 1 that it equals
    D_1."""
    return divergence_witness(
        claim,
        "discrete-gaussian-sum",
        shift=shift,
        order=NEAR_ONE,
        modulus=modulus,
        variance=variance,
        count=count,
        description=f"{count} discrete Gaussians of σ² = {variance} against themselves shifted by {shift}",
    )


def gaussian_batch(epsilon: Fraction, s: Fraction, n: int) -> tuple[int, Fraction]:
    """Return g and each share's parameter g²/(nε²) of Theorem 4's sheet."""
    g = rounded_up_root(s * epsilon, n)
    return g, g**2 / (n * epsilon**2)


def gaussian_batches(epsilon: Fraction, s: int, exponent: int) -> Proof:
    """Compose the aggregates of the batches of 2, 4, ..., 2^(exponent - 1) users, at disjoint positions."""
    parts = []
    for n in (2**b for b in range(1, exponent)):
        g, share = gaussian_batch(epsilon, Fraction(s), n)
        parts.append(discrete_gaussian_sum(sensitivity=g, variance=share, count=n))
    return compose_parallel(parts)
