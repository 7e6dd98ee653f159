"""T2: enclose the output probabilities of a program on integers, and its delta over all neighbours.

``values.exact_cells`` reads the integrals and proves the bound. Here each integral is enclosed:

* The line is cut where a Laplace density or distribution function changes its branch. These points are
  rational. Between them the integrand is an entire function, which FLINT integrates with a proved error
  (Petras 2002; Johansson 2018, Numerical integration in arbitrary-precision ball arithmetic).
* Beyond ``REACH`` scales of the pivot the integrand is between 0 and the pivot's density.

The probabilities of all outputs must sum to 1, as a check of the integrals. The enclosures are then
integers over 2^BITS: upper ends under q, lower ends under q', and exp(e) rounded down.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import ceil, floor
from typing import Any

from flint import acb, arb

from dpaudit.kernel.ball import ball, enclose, lower_exact, precision, upper_exact
from dpaudit.kernel.kernel_t0 import CertificateError
from dpaudit.kernel.t2.gaussian import normal_cdf
from dpaudit.kernel.values.exact_cells import End, ExactCase, Factor, Integral

__all__ = ["enclosed", "exact_delta"]

BITS, PRECISION = 90, 128
#: The largest distance of the pivot from 0 that is integrated, in scales: the tails are below 2^-90.
REACH = {"gaussian": 12, "laplace": 70}


def exact_delta(case: ExactCase, epsilon: Fraction) -> Fraction:
    """Return an upper bound on delta at ``epsilon``, equal to it up to rounding if all pairs are data."""
    above, below = _probabilities(case)
    with precision(PRECISION):
        factor = floor(lower_exact(enclose(lambda: ball(epsilon).exp())) * 2**BITS)
    worst = 0
    scaled: dict[int, list[int]] = {}
    for left, right in case.pairs():
        if right not in scaled:
            scaled[right] = [factor * p >> BITS for p in below[right]]
        worst = max(worst, sum(p - q for p, q in zip(above[left], scaled[right], strict=True) if p > q))
    return min(Fraction(worst, 2**BITS), Fraction(1))


@lru_cache(maxsize=4)
def _probabilities(case: ExactCase) -> tuple[list[list[int]], list[list[int]]]:
    """Return upper and lower ends of the probabilities of the outputs at each point, over 2^BITS."""
    above, below = [], []
    for table in case.tables:
        balls = [sum((enclosed(one) for one in integrals), arb(0)) for integrals in table]
        high = [ceil(upper_exact(one) * 2**BITS) for one in balls]
        low = [max(floor(lower_exact(one) * 2**BITS), 0) for one in balls]
        if not sum(low) <= 2**BITS <= sum(high) or sum(high) - sum(low) > 2 ** (BITS - 40):
            raise CertificateError("the probabilities of all outputs do not sum to 1.")
        above.append(high)
        below.append(low)
    return above, below


@lru_cache(maxsize=100_000)
def enclosed(one: Integral) -> arb:
    """Return a ball that contains the integral."""
    reach = REACH[one.noise] * one.scale
    start = -reach if one.low is None else max(-reach, one.low)
    stop = reach if one.high is None else min(reach, one.high)
    with precision(PRECISION):
        tail = _tail(one) if start == -reach or stop == reach or start >= stop else arb(0)
        if start >= stop:
            return arb(0).union(tail)
        total = arb(0).union(tail)
        for left, right in pairwise([start, *_kinks(one, start, stop), stop]):
            total += _between(one, left, right)
    return total


def _tail(one: Integral) -> arb:
    """Return the mass of the pivot beyond the reach."""
    if one.noise == "gaussian":
        return 2 * normal_cdf(arb(-REACH["gaussian"]))
    return arb(-REACH["laplace"]).exp()


def _kinks(one: Integral, start: Fraction, stop: Fraction) -> list[Fraction]:
    """Return the points inside at which the integrand changes its branch, and a grid of the pivot's scale."""
    step = one.scale * REACH[one.noise] / 4
    found = {k * step for k in range(-4, 5)}
    for factor in one.factors:
        for end in (factor.low, factor.high):
            if factor.noise == "laplace" and end is not None and end[0]:
                found.add(-end[1] / end[0])
    return sorted(point for point in found if start < point < stop)


def _between(one: Integral, left: Fraction, right: Fraction) -> arb:
    """Return a ball for the integral over an interval without a change of branch."""
    middle = (left + right) / 2
    density = _density(one.noise, one.scale, middle)
    factors = [_factor(factor, middle) for factor in one.factors]

    def integrand(t: Any, _analytic: bool) -> Any:
        value = density(t)
        for factor in factors:
            value *= factor(t)
        return value

    found = acb.integral(
        integrand, acb(ball(left)), acb(ball(right)), rel_tol=arb(2) ** -100, abs_tol=arb(2) ** -100
    )
    return found.real


def _density(noise: str, scale: Fraction, middle: Fraction) -> Callable[[Any], Any]:
    b = ball(scale)
    if noise == "gaussian":
        height = 1 / (b * (2 * arb.pi()).sqrt())
        return lambda t: height * (-((t / b) ** 2) / 2).exp()
    sign = 1 if middle < 0 else -1
    return lambda t: (sign * t / b).exp() / (2 * b)


def _factor(factor: Factor, middle: Fraction) -> Callable[[Any], Any]:
    """Return the probability that the draw is between its ends, as a function of the pivot."""
    if factor.low is None and factor.high is not None:
        return _below(factor, factor.high, middle)
    if factor.high is None and factor.low is not None:
        slope, constant = factor.low
        return _below(factor, (-slope, -constant), middle)  # both distributions are symmetric
    assert factor.low is not None
    assert factor.high is not None
    high, low = _below(factor, factor.high, middle), _below(factor, factor.low, middle)
    return lambda t: high(t) - low(t)


def _below(factor: Factor, end: End, middle: Fraction) -> Callable[[Any], Any]:
    """Return the distribution function of the draw at an end."""
    slope, constant, b = ball(end[0]), ball(end[1]), ball(factor.scale)
    if factor.noise == "gaussian":
        root = arb(2).sqrt() * b
        return lambda t: (-(slope * t + constant) / root).erfc() / 2
    if end[0] * middle + end[1] < 0:
        return lambda t: ((slope * t + constant) / b).exp() / 2
    return lambda t: 1 - (-(slope * t + constant) / b).exp() / 2
