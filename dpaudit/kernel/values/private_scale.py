"""Compute the cost of noise whose scale is private, and of a release after a test of its sensitivity.

Both use what ``order_statistics`` proves about the change of numbers computed from a sorted vector.

**Private scale.** The release is v + b S Z, with v and S private, b > 0 a public constant, and Z standard
Laplace or Cauchy noise. Let |v' - v| <= q min(S, S'), S' <= r S and S <= r S' for all neighbours
(``sensitivity`` and ``growth``; Nissim, Raskhodnikova and Smith 2007 call S a smooth bound, with r = e^beta).
Put a = q / b. If S = 0, then S' = 0 and v' = v, so the release is the same. Otherwise shift and scale the
outcome so that v = 0 and b S = 1. On x' the noise then has the scale t = S' / S in [1/r, r] and the centre m,
|m| <= a min(1, t).

*Cauchy noise* is pure, with cosh(epsilon) = max(2 + a^2, r + (1 + a^2) / r) / 2. Proof. The ratio of the
densities at y is (t^2 + (y - m)^2) / (t (1 + y^2)). It is a quotient of two quadratic forms in (y, 1), so its
supremum is the largest eigenvalue of the matrix ((1, -m), (-m, t^2 + m^2)) / t. Its determinant is 1 and its
trace T = (1 + t^2 + m^2) / t, so the eigenvalues are e^u and e^-u with 2 cosh(u) = T, and the infimum of the
ratio is e^-u. With s = max(t, 1/t), T <= s + 1/s + a^2 / s. This is convex in s, so it is largest at s = 1 or
s = r. QED

*Laplace noise* is (a + k, delta)-DP for every k >= log(r), with

    delta = (1 - 1/r) exp(-(k + log(r)) / (r - 1)), and 0 for r = 1.

Proof. Change the scale first, then the centre. Noise of scale t around 0 and around m differ by a factor of
at most e^(|m| / t), and |m| / t <= a. So it suffices that scales 1 and t with the same centre are (k,
delta)-DP. If t >= 1, the ratio of the densities at y is t exp(-|y| (1 - 1/t)) <= r <= e^k. If t = 1/s < 1, it
is exp(|y| (s - 1)) / s, which rises in |y|. The best event is |y| > z with (s - 1) z = k + log(s), and its P
- e^k P' is e^-z - e^(k - s z) = e^-z (1 - 1/s). For every z, e^-z - e^(k - s z) rises in s, and so does the
largest one. So the worst s is r. The other direction exchanges x and x'. QED

**Release after a test.** A count d of tests F_k <= g is released as d + noise, and v + Laplace noise of scale
c is released only on paths where d + noise > T. Let |v' - v| <= q min(F_k(x), F_k(x')) for every test. Then
the test costs delta = P(noise > T) in addition to its cost, and the release costs epsilon = q g / c.

Proof. If d >= 1 on x or on x', some test holds there, so |v' - v| <= q g. If d = 0 on both, the release is
made with probability at most delta, given all earlier outcomes. Call it a failure that the release is made in
this case. Each test is charged on every path on which it is made, also where it does not pass. So failures
have at most the probability D, the largest sum of delta on a path: by induction from the last test, their
probability after any prefix is at most the largest sum on the rest of the path. Without a failure, each path
has its other costs. QED

The two kinds of delta add up in the same way: an (epsilon, delta)-DP release is an epsilon-DP release except
with probability delta (Kairouz, Oh and Viswanath 2017, Theorem 3.1 and its proof), given the outcomes before.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

from dpaudit.kernel.values.costs import Cost
from dpaudit.kernel.values.info import Info, Setting, Support, need, union
from dpaudit.kernel.values.order_statistics import Sorted, Test, count_changes, growth, sensitivity
from dpaudit.kernel.values.polynomials import Poly, log_above, upper_root

__all__ = ["change_after_test", "count_change", "failure_of_test", "is_scale", "private_scale_cost"]


def is_scale(info: Info) -> bool:
    """Return whether a number may be the scale of noise on order statistics."""
    return info.shape == () and "order" in info.facts and _growth_of(info) is not None


def _growth_of(info: Info) -> Fraction | None:
    vector, [forms] = info.facts["order"]
    return growth(vector, forms, forms)


def private_scale_cost(
    s: Setting, value: Info, scale: Info, law: str, noise: Poly, split: Any
) -> tuple[Cost, Support]:
    """Return the cost of ``value + noise scale Z`` for Laplace or Cauchy noise Z, and the records in it.

    ``split`` is k of the module docstring, which Laplace noise needs.
    """
    need(value.shape == scale.shape == () and "order" in scale.facts, "a private scale must be a maximum of"
         " differences of order statistics, for data of a fixed number of records")  # fmt: skip
    r = _growth_of(scale)
    need(r is not None, "a private scale must bound itself on neighbours (a smooth bound)")
    ratio, q = max(r or Fraction(0), Fraction(1)), _sensitivity(value, scale)
    need(noise.number is not None, "a factor of a private scale must be a constant")
    a = q / (noise.number or Fraction(1))
    support = union(value.support, scale.support)
    if law == "cauchy":
        half = max(2 + a * a, ratio + (1 + a * a) / ratio) / 2
        return Cost(log_above(half + upper_root(half * half - 1))), support
    need(law == "laplace", f"{law} noise cannot have a private scale")
    k = Fraction(split)
    need(k >= 0, "the part of epsilon for the change of the scale must not be negative")
    return Cost(a + k, delta=_laplace_delta(ratio, k)), support


def _sensitivity(value: Info, by: Info) -> Fraction:
    """Return q with |v' - v| <= q min(S, S'), which must be derived."""
    if not value.private:
        return Fraction(0)
    vector, [forms] = by.facts["order"]
    need(
        "order" in value.facts and value.facts["order"][0] == vector,
        "noise of a private scale requires a value that is computed from the same sorted vector",
    )
    q = sensitivity(vector, value.facts["order"][1][0], forms)
    need(q is not None, "the private scale does not bound the change of the released value")
    return Fraction(q or 0)


def _laplace_delta(r: Fraction, k: Fraction) -> Fraction:
    if r == 1:
        return Fraction(0)
    if k < log_above(r):
        return Fraction(1)
    log_below = log_above(r) - Fraction(1, 10**50)  # log_above is correct to 55 digits
    return Fraction(1 - 1 / r) * exp_above(-(k + max(log_below, Fraction(0))) / (r - 1))


def exp_above(power: Fraction) -> Fraction:
    """Return a rational at least exp(power), for power <= 0. ``Decimal.exp`` is correctly rounded."""
    context = Context(prec=60)
    above = context.next_plus(context.divide(Decimal(power.numerator), Decimal(power.denominator)))
    return Fraction(context.next_plus(above.exp(context)))


def count_change(info: Info) -> int | None:
    """Return a bound on the change of a number of tests, or None if the value is not known as one."""
    if info.shape != () or "tests" not in info.facts:
        return None
    vector, [tests] = info.facts["tests"]
    return count_changes(vector, tests)


def change_after_test(value: Info, count: Info) -> Fraction:
    """Return the largest change of a number if the count of tests is at least 1 on x or on x'."""
    need(count.shape == value.shape == () and "tests" in count.facts, "a test must count comparisons")
    vector, [tests] = count.facts["tests"]
    need(value.facts.get("order", (None,))[0] == vector, "a test must be of the released value's vector")
    return max((_change_if(vector, value, test) for test in tests), default=Fraction(0))


def _change_if(vector: Sorted, value: Info, test: Test) -> Fraction:
    q = sensitivity(vector, value.facts["order"][1][0], test.forms)
    need(q is not None, "a test does not bound the change of the released value")
    return Fraction(q or 0) * max(test.number, Fraction(0))


def failure_of_test(scale: Poly, threshold: Fraction) -> Fraction:
    """Return at least P(Z > threshold) for Laplace noise Z."""
    need(scale.number is not None and scale.number > 0, "the noise of a test must have a constant scale")
    if threshold <= 0:
        return Fraction(1)
    return exp_above(-threshold / (scale.number or Fraction(1))) / 2


def charged_tests(releases: Sequence[dict[str, Any]]) -> list[tuple[dict[str, Any], Fraction]]:
    """Return the tests after which a program releases, each with its smallest threshold."""
    found: list[tuple[dict[str, Any], Fraction]] = []
    for release in releases:
        if "given" not in release:
            continue
        test, above = release["given"]["test"], Fraction(release["given"]["above"])
        lower = [level for other, level in found if other == test and level < above]
        found = [pair for pair in found if pair[0] != test] + [(test, min([above, *lower]))]
    return found


__all__ += ["charged_tests", "exp_above"]
