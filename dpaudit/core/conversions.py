"""Convert between notions of privacy, in balls.

The conversions are Rényi DP to (ε, δ)-DP, the exact Gaussian curve, the composition of randomised responses
(the worst of all mechanisms with the same budget), and the least Gaussian noise for which the composition of
several steps is (ε, δ)-DP, by three routes.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from dpaudit.core.exact_functions import ln
from dpaudit.kernel.ball import arb, ball

__all__ = [
    "approximate_route",
    "best_order",
    "concentrated_route",
    "converted",
    "exact_route",
    "gaussian_delta",
    "response_delta",
    "step_budget",
]


def gaussian_delta(rho: int | Fraction, epsilon: arb) -> arb:
    """Return the exact delta of a Gaussian mechanism with ``rho``-zCDP at any real ``epsilon``, as a ball."""
    mu = (2 * ball(rho)).sqrt()
    near, far = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    return _normal(near) - epsilon.exp() * _normal(far)


def _normal(x: arb) -> arb:
    return (-x / arb(2).sqrt()).erfc() / 2


def converted(divergence: arb, order: Fraction, delta: Fraction) -> arb:
    """Return the ε for which (α, ε(α))-RDP implies (ε, δ)-DP, as a ball. It may be negative.

    ε = ε(α) + log(1/(αδ))/(α-1) + log(1 - 1/α) (Canonne, Kamath and Steinke 2020, Proposition 12).
    """
    return divergence + ln(1 / (order * delta)) / ball(order - 1) + ln(1 - 1 / order)


@lru_cache(maxsize=512)
def best_order(rho: Fraction, delta: Fraction) -> Fraction:
    """Return the order at which ``converted`` is least for ε(α) = ρα, to about nine digits.

    With a = α - 1 the derivative ρ - log(1/(αδ))/a² changes sign once. Its root is found by bisection in
    log a.
    """
    low, high = -20.0, 60.0
    while high - low > 1e-10:
        middle = (low + high) / 2
        a = math.exp(middle)
        slope = float(rho) * a * a + math.log1p(a) + math.log(float(delta))
        low, high = (low, middle) if slope > 0 else (middle, high)
    return 1 + Fraction(math.exp(high)).limit_denominator(10**12)


def response_delta(epsilon: arb, *, times: int, at: arb, leak: Fraction = Fraction(0)) -> arb:
    """Return 1 minus the exact delta at ``at`` of the composition of ``times`` randomised responses.

    Each response has budget ``epsilon`` and reveals everything with probability ``leak``. With k = ``times``,
    the result is (1 - leak)^k Σ_l C(k,l) min(e^{(k-l)ε}, e^{at + lε}) / (1 + e^ε)^k.

    This is the worst adaptive composition of (ε, leak)-DP mechanisms (Kairouz, Oh, Viswanath 2015). The
    complement is returned because delta may be near 1.
    """
    total = arb(0)
    for k in range(times + 1):
        here, there = (epsilon * (times - k)).exp(), (at + epsilon * k).exp()
        total += math.comb(times, k) * here.min(there)
    return ball(1 - leak) ** times * total / (1 + epsilon.exp()) ** times


def step_budget(target: Fraction, times: int, slack: Fraction) -> arb:
    """Return ε = ε'/(2 sqrt(2k log(1/δ'))), the budget of each of k mechanisms by advanced composition.

    The formula is printed in Dwork and Roth, Corollary 3.21. It is wrong for slacks δ' near 1.
    """
    return ball(target) / (2 * (2 * times * ln(1 / slack)).sqrt())


# The variance of Gaussian noise on a query of sensitivity 1 in each of several steps, σ² = 1/(2ρ)


def _smallest_rho(epsilon: Fraction, delta: Fraction, *, route: str) -> float:
    """Return the zCDP parameter of the least Gaussian noise that a route allows at (ε, δ).

    ``route`` is "exact" (the exact curve, by bisection in the logarithm) or "closed"
    (ρ + 2 sqrt(ρ log(1/δ)) <= ε).
    """
    if route == "closed":
        root = math.sqrt(math.log(1 / delta) + float(epsilon)) - math.sqrt(math.log(1 / delta))
        return root**2
    low, high = -60.0, 10.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        fits = gaussian_delta(Fraction(math.exp(middle)), ball(epsilon)) <= ball(delta)
        low, high = (middle, high) if fits else (low, middle)
    return math.exp(low)


@lru_cache(maxsize=64)
def approximate_route(steps: int, epsilon: Fraction, delta: Fraction) -> arb:
    """Return σ² if each step is (ε_i, δ_i)-DP on the exact Gaussian curve, by advanced composition.

    ε_i is ``step_budget`` at δ/2, and δ_i = δ/(2 steps).
    """
    budget = step_budget(epsilon, steps, delta / 2)
    part = Fraction(float(budget.mid()))
    return 1 / (2 * ball(Fraction(_smallest_rho(part, delta / (2 * steps), route="exact"))))


def concentrated_route(steps: int, epsilon: Fraction, delta: Fraction) -> arb:
    """Return σ² if zCDP adds up over the steps and is converted by ρ + 2 sqrt(ρ log(1/δ)) <= ε."""
    return steps / (2 * ball(Fraction(_smallest_rho(epsilon, delta, route="closed"))))


@lru_cache(maxsize=64)
def exact_route(steps: int, epsilon: Fraction, delta: Fraction) -> arb:
    """Return the least possible σ², from the exact curve of the Gaussian noise of all steps."""
    return steps / (2 * ball(Fraction(_smallest_rho(epsilon, delta, route="exact"))))
