"""Refute Lemma 6.1 on one instance: what the set of explored rounds reveals about one user's context.

Logistic, d = 1, R = 1, c = 1 in (21), θ* = S, one arm per round in [1/2, 1], so that 1/κ* = μ'(S/2) and κ =
1/μ'(S) for both neighbours. Criterion I explores an arm x if the noisy V is at most x² γ²κ. 2^k is the
power of two in (γ²κ/4, γ²κ/2]:

* Rounds 1, ..., 2^k - 1 have x = 1 and are explored, since V stays below γ²κ.
* Round 2^k belongs to the changed user. It has x = 1, explored, or x = 1/2, not explored, since V > γ²κ/4.
* Round 2^k + 1 has x² = (λ + 2^k - 1/2)/(γ²κ). It is explored if V + Z <= λ + 2^k - 1/2, where
  V = λ + 2^k or one less, and Z is the noise of the one node of the first 2^k leaves, of variance σ² (/2).

So its bit has probabilities Φ(-1/(2σ)) and Φ(1/(2σ)), up to the probability that an earlier noise, a sum of
at most m nodes, exceeds its margin.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact_functions import ln
from dpaudit.kernel.ball import arb, ball, integer, lower_exact, precision
from dpaudit.kernel.t2.gaussian import normal_cdf
from dpaudit.reference.algorithms.contextual.links import logistic
from dpaudit.reference.mechanisms.matrix_tree import levels, printed_variance

__all__ = ["SwitchBit", "switch_bit"]


@dataclass(frozen=True, kw_only=True)
class SwitchBit:
    """κ*, γ²κ and σ as balls, k, and a lower bound on delta of the set without the changed user's round."""

    kappa_star: arb
    reach: arb
    deviation: arb
    power: int
    delta: Fraction


def switch_bit(*, S: int, horizon: int, epsilon: Fraction, delta: Fraction, at: Fraction) -> SwitchBit:
    """Evaluate Algorithm 2 at (``epsilon``, ``delta``), ζ = δ/2. The bound is on delta at epsilon = ``at``.

    Raise ``InvalidParameterError`` if 2^k + 1 rounds exceed the horizon, or the margins are too small.
    """
    with precision(400):
        return _switch_bit(S, horizon, epsilon, delta, at)


def _switch_bit(S: int, T: int, epsilon: Fraction, delta: Fraction, at: Fraction) -> SwitchBit:
    kappa, kappa_star = (1 / logistic().at(arb(S) / j).slope for j in (1, 2))
    zeta, log = delta / 2, ln(32 / delta)
    ridge = 64 * 5 * log * ln(T) * (ln(16 * T / zeta) + 1) / (ball(epsilon) * kappa_star)
    gamma = S**4 * ln(T / zeta) ** 2 * log / (ball(min(epsilon, Fraction(1))) * kappa_star**2)
    reach = gamma**2 * kappa
    power = integer((reach.log() / arb.const_log2()).floor()) - 1
    depth = levels(T)
    sigma = printed_variance(epsilon=epsilon, delta=delta, depth=depth, sensitivity=1 / kappa_star).sqrt()
    V = ridge + 2**power
    margin = (reach - V).min(V - 1 - reach / 4)
    if power < 1 or 2**power + 1 > T or not margin > 0:
        raise InvalidParameterError(
            f"the rounds must fit the horizon and V its margins, got k = {power}, margin {margin}; change S."
        )
    strayed = 2 * ball(2**power) * (-(margin**2) / (2 * depth * sigma**2)).exp()
    near, far = normal_cdf(1 / (2 * sigma)), normal_cdf(-1 / (2 * sigma))
    difference = near - strayed - ball(at).exp() * (far + strayed)
    found = max(Fraction(0), lower_exact(difference))
    return SwitchBit(kappa_star=kappa_star, reach=reach, deviation=sigma, power=power, delta=found)
