"""Rényi DP of one batch's aggregate: the printed bounds of Lemma 3 and Theorem 2, and exact divergences."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dpaudit.certify.build import Proof, compose_parallel, integer_noise
from dpaudit.certify.witnesses.divergence import divergence_witness
from dpaudit.core.claims import RenyiDP
from dpaudit.core.evidence import Witness
from dpaudit.kernel.ball import ball
from dpaudit.reference.mechanisms.parameter_sheet import rounded_up_root

__all__ = [
    "lemma_3",
    "skellam_batch",
    "skellam_batches",
    "skellam_witness",
    "theorem_2_batch",
    "theorem_2_final",
]


def lemma_3(order: int, shift: int, variance: Fraction) -> Fraction:
    """Return αΔ²/(2σ²) + min{((2α-1)Δ² + 6Δ)/(4σ⁴), 3Δ/(2σ²)}."""
    first = Fraction((2 * order - 1) * shift**2 + 6 * shift) / (4 * variance**2)
    return Fraction(order * shift**2) / (2 * variance) + min(first, Fraction(3 * shift) / (2 * variance))


def skellam_witness(claim: RenyiDP, variance: Fraction, shift: int, modulus: int | None = None) -> Witness:
    """Return the exact divergence of the pair with shift Δ, at the claim's order."""
    text = f"Skellam noise of variance {variance} against itself shifted by {shift}"
    return divergence_witness(
        claim, "skellam", shift=shift, variance=variance, modulus=modulus, description=text
    )


def theorem_2_batch(order: int, epsilon: Fraction, s: Fraction, n: int) -> Any:
    """Return ε_n(α) = αε²/2 + min{(2α-1)ε²/(4s²n) + 3ε/(2s³n^{3/2}), 3ε²/(2s sqrt n)}, as a ball."""
    root = ball(n).sqrt()
    first = ball((2 * order - 1) * epsilon**2 / (4 * s**2 * n)) + ball(3 * epsilon / (2 * s**3 * n)) / root
    return ball(order * epsilon**2 / 2) + first.min(ball(3 * epsilon**2 / (2 * s)) / root)


def theorem_2_final(order: int, epsilon: Fraction, s: Fraction) -> Fraction:
    """Return ε(α) = αε²/2 + min{(2α-1)ε²/(4s²) + 3ε/(2s³), 3ε²/(2s)}."""
    first = (2 * order - 1) * epsilon**2 / (4 * s**2) + 3 * epsilon / (2 * s**3)
    return order * epsilon**2 / 2 + min(first, 3 * epsilon**2 / (2 * s))


def skellam_batch(epsilon: Fraction, s: Fraction, n: int) -> tuple[int, Fraction]:
    """Return g and the aggregate's variance g²/ε² of Theorem 2's sheet."""
    g = rounded_up_root(s * epsilon, n)
    return g, g**2 / epsilon**2


def skellam_batches(epsilon: Fraction, s: Fraction) -> Proof:
    """Compose the aggregates of the batches of 2, 4, ..., 64 users, at disjoint positions."""
    parts = []
    for n in (2, 4, 8, 16, 32, 64):
        g, variance = skellam_batch(epsilon, s, n)
        parts.append(integer_noise("skellam", sensitivity=g, variance=variance))
    return compose_parallel(parts)
