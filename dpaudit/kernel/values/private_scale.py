"""Compute the cost of noise whose scale is private: a smooth bound of the change of the released value.

It uses what ``order_statistics`` proves about the change of numbers computed from a sorted vector.

**Statement.** The release is v + b S Z, with v and S private, b > 0 a public constant, and Z standard
Laplace or Cauchy noise. Let |v' - v| <= q min(S, S'), S' <= r S and S <= r S' for all neighbours
(``sensitivity`` and ``growth``; Nissim, Raskhodnikova and Smith 2007 call S a smooth bound, with r =
e^beta). Put a = q / b. If S = 0, then S' = 0 and v' = v, so the release is the same. Otherwise shift and
scale the outcome so that v = 0 and b S = 1. On x' the noise then has the scale t = S' / S in [1/r, r] and
the centre m, |m| <= a min(1, t).

*Cauchy noise* is pure, with cosh(epsilon) = max(2 + a^2, r + (1 + a^2) / r) / 2. Proof. The ratio of the
densities at y is (t^2 + (y - m)^2) / (t (1 + y^2)). It is a quotient of two quadratic forms in (y, 1), so
its supremum is the largest eigenvalue of the matrix ((1, -m), (-m, t^2 + m^2)) / t. Its determinant is 1
and its trace T = (1 + t^2 + m^2) / t, so the eigenvalues are e^u and e^-u with 2 cosh(u) = T, and the
infimum of the ratio is e^-u. With s = max(t, 1/t), T <= s + 1/s + a^2 / s. This is convex in s, so it is
largest at s = 1 or s = r. QED

*Laplace noise* is (a + k, delta)-DP for every k >= log(r), with

    delta = (1 - 1/r) exp(-(k + log(r)) / (r - 1)), and 0 for r = 1.

Proof. Change the scale first, then the centre. Noise of scale t around 0 and around m differ by a factor of
at most e^(|m| / t), and |m| / t <= a. So it suffices that scales 1 and t with the same centre are (k,
delta)-DP. If t >= 1, the ratio of the densities at y is t exp(-|y| (1 - 1/t)) <= r <= e^k. If t = 1/s < 1,
it is exp(|y| (s - 1)) / s, which rises in |y|. The best event is |y| > z with (s - 1) z = k + log(s), and
its P - e^k P' is e^-z - e^(k - s z) = e^-z (1 - 1/s). For every z, e^-z - e^(k - s z) rises in s, and so
does the largest one. So the worst s is r. The other direction exchanges x and x'. QED

An (epsilon, delta)-DP release is an epsilon-DP release except with probability delta, given the outcomes
before (Kairouz, Oh and Viswanath 2017, Theorem 3.1 and its proof). So these probabilities add up on a path.

Source: Nissim, Raskhodnikova and Smith 2007, Lemma 2.6 and its examples 2.7 and 2.8, with (a, log r) =
(epsilon / 2, epsilon / (2 ln(2 / delta))) for Laplace and (epsilon / 6, epsilon / 6) for Cauchy noise. The
bounds here hold for all a and r, and are smaller.
"""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

from dpaudit.kernel.values.costs import Cost
from dpaudit.kernel.values.heavy_tails import log_above
from dpaudit.kernel.values.info import Info, Support, need, union
from dpaudit.kernel.values.order_statistics import growth, sensitivity
from dpaudit.kernel.values.polynomials import Poly, upper_root

__all__ = ["exp_above", "is_scale", "private_scale_cost"]


def is_scale(info: Info) -> bool:
    """Return whether a number may be the scale of noise on order statistics. It is never negative."""
    return info.shape == () and "order" in info.facts and _growth_of(info) is not None


def _growth_of(info: Info) -> Fraction | None:
    vector, [forms] = info.facts["order"]
    return growth(vector, forms, forms)


def private_scale_cost(value: Info, scale: Info, law: str, noise: Poly, split: Any) -> tuple[Cost, Support]:
    """Return the cost of ``value + noise scale Z`` for Laplace or Cauchy noise Z, and the records in it.

    ``split`` is k of the module docstring, which Laplace noise needs.
    """
    need(
        value.shape == () and is_scale(scale),
        "a private scale must be a maximum of differences of order statistics, with a bound on neighbours"
        " (a smooth bound), for a fixed number of records in a bounded range of which one changes",
    )
    need(noise.number is not None and noise.number > 0, "a factor of a private scale must be a constant")
    r = max(_growth_of(scale) or Fraction(0), Fraction(1))
    a = _sensitivity(value, scale) / (noise.number or Fraction(1))
    support = union(value.support, scale.support)
    if law == "cauchy":
        half = max(2 + a * a, r + (1 + a * a) / r) / 2
        return Cost(log_above(half + upper_root(half * half - 1))), support
    need(law == "laplace", f"{law} noise cannot have a private scale")
    k = Fraction(split)
    need(k >= 0, "the part of epsilon for the change of the scale must not be negative")
    return Cost(a + k, delta=_laplace_delta(r, k)), support


def _sensitivity(value: Info, by: Info) -> Fraction:
    """Return q with |v' - v| <= q min(S, S'), which must be derived."""
    if not value.private:
        return Fraction(0)
    vector, [forms] = by.facts["order"]
    known, entries = value.facts.get("order", (None, ()))
    need(
        known == vector,
        "noise of a private scale requires a value that is computed from the same sorted vector",
    )
    q = sensitivity(vector, entries[0], forms)
    need(q is not None, "the private scale does not bound the change of the released value")
    return Fraction(q or 0)


def _laplace_delta(r: Fraction, k: Fraction) -> Fraction:
    if r == 1:
        return Fraction(0)
    above = log_above(r)
    if k < above:
        return Fraction(1)
    below = max(above - Fraction(1, 10**50), Fraction(0))  # log_above is correct to 55 digits
    return Fraction(1 - 1 / r) * exp_above(-(k + below) / (r - 1))


def exp_above(power: Fraction) -> Fraction:
    """Return a rational at least exp(power), for power <= 0. ``Decimal.exp`` is correctly rounded."""
    context = Context(prec=60)
    above = context.next_plus(context.divide(Decimal(power.numerator), Decimal(power.denominator)))
    return Fraction(context.next_plus(above.exp(context)))
