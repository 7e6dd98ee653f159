"""Convert a guarantee to the quantity of a claim, between notions of privacy.

Every conversion below is an upper bound, and the smallest one counts.

1. Pure to the profile (Kairouz, Oh, Viswanath 2015, Theorem 3.3 and its proof). Every pair (P, P') with
   log-ratio in [-p, p] is a post-processing of randomised response, Bernoulli(e^p / (1 + e^p)) against
   Bernoulli(1 / (1 + e^p)). So delta(e) <= max(0, e^p - e^e) / (1 + e^p), and the Renyi divergence of order a
   is at most log(s^a t^(1-a) + t^a s^(1-a)) / (a - 1), with s, t = e^(±p/2) / (e^(p/2) + e^(-p/2)).
2. mu-GDP to the profile (Dong, Roth, Su 2022, Corollary 2.13): delta(e) <= Phi(mu/2 - e/mu) - e^e Phi(-mu/2 -
   e/mu). Renyi: mu^2 a / 2 (their Corollary B.6).
3. rho-zCDP: Renyi divergence rho a at every order. Renyi to the profile (Canonne, Kamath, Steinke 2020,
   Proposition 12): for every a > 1, delta(e) <= exp((a - 1)(rho a - e)) / (a - 1) (1 - 1/a)^a. Any a gives a
   bound; three near the best one are tried.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from flint import arb

from dpaudit.kernel.ball import ball, enclose, upper_exact, upper_short
from dpaudit.kernel.kernel_t0 import Guarantee, notion_of, number_of, rational_bound, zcdp
from dpaudit.kernel.t1.tier import curves_of

__all__ = [
    "GaussianDelta",
    "best_bound",
    "delta_bound",
    "probability",
    "pure_delta",
    "renyi_bound",
    "zcdp_delta",
]


GaussianDelta = Callable[[Fraction, Fraction], Fraction]

#: The smallest positive probability that is written.
LEAST = Fraction(1, 1 << 4000)


def best_bound(
    guarantee: Guarantee, claim: dict[str, Any], gaussian_delta: GaussianDelta | None = None
) -> Fraction | None:
    """Return the smallest bound that ``guarantee`` implies for the quantity of a claim (as JSON), or
    ``None``.
    """
    kind = notion_of(claim)
    if kind == "gdp":
        return None if guarantee.gdp_squared is None else _root(guarantee.gdp_squared)
    if kind == "renyi-dp":
        return renyi_bound(guarantee, number_of(claim, "order"))
    if kind == "approx-dp":
        return delta_bound(guarantee, number_of(claim, "epsilon"), gaussian_delta)
    return rational_bound(guarantee, claim)


def _root(squared: Fraction) -> Fraction:
    """Return the square root, exact if it is rational, otherwise its upper end."""
    root = enclose(lambda: ball(squared).sqrt())
    nearest = upper_exact(root).limit_denominator(10**12)
    return nearest if nearest**2 == squared else upper_short(root)


def renyi_bound(guarantee: Guarantee, order: Fraction) -> Fraction | None:
    """Return the smallest Renyi divergence of ``order`` that the bounds imply, or ``None``."""
    pure, rho = guarantee.pure, zcdp(guarantee)
    bounds = [] if rho is None else [rho * order]
    if pure is not None:
        bounds.append(upper_short(enclose(lambda: _response_renyi(pure, order))))
    curve = curves_of(guarantee).renyi
    if curve is not None:
        bounds.append(upper_short(curve(order)))
    return min(bounds, default=None)


def _response_renyi(pure: Fraction, order: Fraction) -> arb:
    # s^a t^(1-a) + t^a s^(1-a) with s = e^p t: t (e^(a p) + e^((1-a) p)), t = 1 / (1 + e^p)
    weight = ball(order * pure).exp() + ball((1 - order) * pure).exp()
    return (weight / (1 + ball(pure).exp())).log() / ball(order - 1)


def delta_bound(
    guarantee: Guarantee, epsilon: Fraction, gaussian_delta: GaussianDelta | None = None
) -> Fraction:
    """Return the smallest delta at ``epsilon`` that the bounds imply, or 1.

    Without ``gaussian_delta``, which tier T2 has, a GDP bound counts as the zCDP bound that it implies.
    """
    bounds = [Fraction(1)]
    if guarantee.pure is not None:
        bounds.append(pure_delta(guarantee.pure, epsilon))
    if guarantee.gdp_squared is not None and gaussian_delta is not None:
        bounds.append(gaussian_delta(guarantee.gdp_squared, epsilon))
    profile = curves_of(guarantee).profile
    if profile is not None:
        bounds.append(probability(profile(epsilon)))
    rho = zcdp(guarantee)
    if rho is not None:
        bounds.append(zcdp_delta(rho, epsilon))
    return min(bounds)


def pure_delta(pure: Fraction, epsilon: Fraction) -> Fraction:
    """Return delta at ``epsilon`` of every ``pure``-DP mechanism (conversion 1), which is 0 from ``pure``
    on.
    """
    if epsilon >= pure:
        return Fraction(0)
    return probability(enclose(lambda: (1 - ball(epsilon - pure).exp()) / (1 + ball(-pure).exp())))


def zcdp_delta(rho: Fraction, epsilon: Fraction) -> Fraction:
    """Return delta at ``epsilon`` of every ``rho``-zCDP mechanism, from Renyi orders near the best one
    (conversion 3).
    """
    if rho == 0:
        return Fraction(0)
    best = ((epsilon + rho) / (2 * rho)).limit_denominator(10**6)
    orders = [
        order for order in (best, best * Fraction(11, 10), best * Fraction(5, 4), Fraction(2)) if order > 1
    ]
    return min(_renyi_delta(rho * order, epsilon, order) for order in orders)


def _renyi_delta(divergence: Fraction, epsilon: Fraction, order: Fraction) -> Fraction:
    exponent = (order - 1) * (divergence - epsilon)
    if exponent > 1000:  # a useless bound, whose exponential may be too large to write down
        return Fraction(1)

    def compute() -> arb:
        a = ball(order)
        return (ball(exponent).exp() / (a - 1)) * (1 - 1 / a) ** a

    return probability(enclose(compute))


def probability(value: arb) -> Fraction:
    """Return the upper end of a ball, cut to [0, 1]. A positive end below ``LEAST`` is rounded up to it."""
    bound = min(max(upper_short(value), Fraction(0)), Fraction(1))
    return max(bound, LEAST) if bound else bound
