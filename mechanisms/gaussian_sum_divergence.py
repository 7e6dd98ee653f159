"""Sums of discrete Gaussians, exactly: how far their divergences are from those of one discrete Gaussian.

The sum of n parts of parameter v has p(x) = c exp(-x²/(2nv)) Θ(x) with Θ of period n (proof: rule
``gaussian-sum`` of the kernel). Hence, for a shift D and an order α,

    D_α = αD²/(2nv) + excess_α,
    excess_α = log(Σ_x Θ(x)^α Θ(x-D)^{1-α} G(x - (1-α)D) / Σ_x Θ(x) G(x)) / (α - 1),   G(x) = exp(-x²/(2nv)),

and every excess is at most M = max_r log Θ(r)/Θ(r-D) (ibid.).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from flint import ctx

from dpaudit.kernel.ball import arb, ball, precision
from dpaudit.kernel.t1.lattice import DiscreteGaussianSum

__all__ = ["divergence_excess", "largest_log_ratio", "one_gaussian", "xi"]


def one_gaussian(variance: Fraction, *, count: int, shift: int) -> Fraction:
    """Return D²/(2nv): the zCDP parameter of one discrete Gaussian with the summed variance parameter."""
    return Fraction(shift**2) / (2 * count * variance)


def xi(square: Fraction, terms: int) -> arb:
    """Return ξ = 10 Σ_{k=1}^{terms} exp(-2π² square k/(k+1)) as a ball.

    Chowdhury and Zhou (ICLR 2023) allow this excess for the sum of discrete Gaussians over one discrete
    Gaussian. Lemma 4 has square = σ² and n - 1 terms, Theorem 4 s² and T/2 - 1 terms. Beyond 4096 terms the
    rest is enclosed by its first and its last term.
    """
    rate = -2 * arb.pi() ** 2 * ball(square)
    near = min(terms, 4096)
    total = sum(((rate * ball(Fraction(k, k + 1))).exp() for k in range(1, near + 1)), arb(0))
    if terms > near:
        first, last = ((rate * ball(Fraction(k, k + 1))).exp() for k in (near + 1, terms))
        total += (terms - near) * first.union(last)  # the terms decrease
    return 10 * total


@lru_cache(maxsize=16)
def _log_periodic(variance: Fraction, count: int, bits: int) -> tuple[arb, ...]:
    """Return log Θ(r) for r = 0, ..., n - 1, up to one constant; ``bits`` is the working precision."""
    half = count // 2
    masses = DiscreteGaussianSum(variance, count).masses(0, half)
    logs = [p.log() + ball(Fraction(r * r, 2 * count) / variance) for r, p in enumerate(masses)]
    return tuple(logs[min(r, count - r)] for r in range(count))


def _bits(variance: Fraction, count: int) -> int:
    """Return enough bits for masses as small as exp(-n/(8v)) to keep 200 bits."""
    return 256 + math.ceil(count / (4 * float(variance)))


def _ratios(variance: Fraction, count: int, shift: int) -> list[arb]:
    logs = _log_periodic(variance, count, int(ctx.prec))
    return [logs[r] - logs[(r - shift) % count] for r in range(count)]


def largest_log_ratio(variance: Fraction, *, count: int, shift: int) -> arb:
    """Return M = max over r of log Θ(r)/Θ(r - D): no order's excess is larger."""
    with precision(_bits(variance, count)):
        ratios = _ratios(variance, count, shift)
        largest = ratios[0]
        for ratio in ratios[1:]:
            largest = largest.max(ratio)
        return largest


def _window(variance: Fraction, count: int) -> tuple[int, arb]:
    """Return R and a ball for the sum over |x| > R of exp(-x²/(2nv)), relative to its largest term 1."""
    width = float(variance) * count
    reach = math.ceil(math.sqrt(2 * width * (int(ctx.prec) + 16) * math.log(2))) + 2
    edge = ball(Fraction(-reach * reach, 2 * count) / variance).exp()
    ratio = ball(Fraction(-reach, count) / variance).exp()
    return reach, arb(0).union(2 * edge / (1 - ratio))


def divergence_excess(variance: Fraction, *, count: int, shift: int, order: Fraction) -> arb:
    """Return excess_α at any real α > 1: D_α minus αD²/(2nv)."""
    with precision(_bits(variance, count)):
        reach, rest = _window(variance, count)
        logs = _log_periodic(variance, count, int(ctx.prec))
        a, centre = ball(order), (1 - order) * shift
        middle = round(centre)
        weights = [(a * logs[r] + (1 - a) * logs[(r - shift) % count]).exp() for r in range(count)]
        gauss = ball(Fraction(-1, 2 * count) / variance)
        top = sum(
            (
                weights[x % count] * (gauss * ball((x - centre) ** 2)).exp()
                for x in range(middle - reach - 1, middle + reach + 2)
            ),
            arb(0),
        )
        bottom = sum(
            (logs[x % count].exp() * (gauss * x * x).exp() for x in range(-reach, reach + 1)), arb(0)
        )
        heaviest = max(weights, key=lambda value: float(value.mid().log()))
        most = max(logs, key=lambda value: float(value.mid()))
        top += rest * 2 * heaviest
        bottom += rest * 2 * most.exp()
        return (top / bottom).log() / (a - 1)
