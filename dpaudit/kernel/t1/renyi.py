"""Renyi divergences of lattice noise at any real order a > 1, by sums with proved tails, extended to vectors.

R_a(p || p_D) = log(sum over x of p(x)^a p(x - D)^(1 - a)) / (a - 1). Write g(x) for the summand.

Discrete Gaussian of variance parameter v: R_a <= a D^2 / 2v. Proof. a x^2 + (1-a)(x-D)^2 = (x - (1-a)D)^2 -
a(a-1)D^2, and the theta sum of a shifted lattice is largest at shift 0 (Poisson summation: its Fourier
coefficients are positive). ∎

By F1 of ``divergence`` the pair with shift D dominates all smaller ones in the Blackwell order, so R_a, an
increasing function of an f-divergence, is largest at the largest shift; both distributions are symmetric, so
both directions agree.

Fact F5 (vectors). Let kappa = max over 1 <= D <= g, both directions, of R_a(p || p_D) / D^2. For independent
coordinates and every integer shift vector with |D_j| <= g, R_a is the sum of R_a(p || p_{D_j}) <= kappa sum
D_j^2. So an l2 bound R gives kappa R^2, for every direction. ∎ For distributions on a bounded support
(binomial) replace p by its restriction to a range [low, high] on the side of P: with G = {all coordinates in
range}, H_E(P || Q) <= P(not G) + H_E(P restricted to G || Q), and the bound of H_E by exp((a-1)(R_a - e)) /
(a-1) (1 - 1/a)^a holds for measures of mass at most 1, since (1 - exp(e - L))_+ <= exp((a-1)(L - e)) / (a-1)
(1 - 1/a)^a pointwise (maximise over L). ∎
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flint import arb

from dpaudit.kernel.ball import ball
from dpaudit.kernel.errors import InvalidParameterError

__all__ = ["kappa", "restricted_delta", "restricted_renyi"]


def restricted_delta(divergence: arb, *, order: Fraction, epsilon: Fraction) -> arb:
    """Return exp((a - 1)(R_a - e)) / (a - 1) (1 - 1/a)^a, the bound on delta at ``epsilon`` by ``divergence``
    R_a (F5).

    Return 1 if it is not finite.
    """
    a = ball(order)
    value = ((a - 1) * (divergence - ball(epsilon))).exp() / (a - 1) * (1 - 1 / a) ** a
    return value if value.is_finite() else arb(1)


def restricted_renyi(logs: Sequence[arb], *, shift: int, order: Fraction) -> arb:
    """Return log(sum of p(x)^a p(x - shift)^(1-a)) / (a - 1) over the x for which both logs are listed.

    ``logs[i]`` = log p(i), at the working precision.
    """
    a = ball(order)
    total = arb(0)
    for here, there in zip(logs[shift:], logs, strict=False):
        total += (a * here + (1 - a) * there).exp()
    return total.log() / ball(order - 1)


def kappa(logs: Sequence[arb], *, reach: int, order: Fraction) -> arb:
    """Return max over 1 <= D <= ``reach`` and both directions of R_a(p on [low, high] || p_D) / D^2 (F5), as
    a ball.

    ``logs`` are log p(low - reach), ..., log p(high + reach), all finite.
    """
    best = arb(0)
    for shift in range(1, reach + 1):
        # p(x) against p(x - D) for x in [low, high], and against p(x + D), in reverse order.
        forth = restricted_renyi(logs[reach - shift : len(logs) - reach], shift=shift, order=order)
        back = restricted_renyi(logs[reach : len(logs) - reach + shift][::-1], shift=shift, order=order)
        best = best.max(forth / shift**2).max(back / shift**2)
    if not best.is_finite():
        raise InvalidParameterError(
            "every point within reach of the range must have positive mass.", code="E-MASS-ZERO"
        )
    return best
