"""A change of an arm's mean from 1/2 - Δ to 1/2 + Δ, in exact numbers: how many rewards it changes, and what
it can cost under ε-DP. The construction behind the lower bounds of Shariff and Sheffet (2018)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from dpaudit.kernel.ball import ball

__all__ = ["cheapest_coupling", "dearest_change"]


def cheapest_coupling(samples: int, gap: Fraction) -> Fraction:
    """The least expected number of differing places when ``samples`` rewards of mean 1/2 - Δ and of 1/2 + Δ
    are coupled, from the exact distributions of both by the dual: the expected number of ones is 1-Lipschitz
    in the number of places, and the place-by-place maximal coupling attains its difference.

    Raises ``ArithmeticError`` where the two sides disagree.
    """
    low, high = Fraction(1, 2) - gap, Fraction(1, 2) + gap
    ones = [
        sum(k * math.comb(samples, k) * p**k * (1 - p) ** (samples - k) for k in range(samples + 1))
        for p in (low, high)
    ]
    # A uniform per place shows 1 below the mean: the pair differs where it falls between the two means.
    differ = high - low
    places = sum(
        k * math.comb(samples, k) * differ**k * (1 - differ) ** (samples - k) for k in range(samples + 1)
    )
    if ones[1] - ones[0] != places:
        raise ArithmeticError(f"the coupling must attain the dual bound {ones[1] - ones[0]}, got {places}.")
    return Fraction(places)


def dearest_change(samples: int, gap: Fraction, epsilon: Fraction) -> Any:
    """The largest log P'(E)/P(E) over all ε-DP mechanisms of ``samples`` rewards, when their mean moves from
    1/2 - Δ to 1/2 + Δ, as a ball.

    One reward: an event's chance f(0), f(1) has f(1) <= e^ε f(0), and the ratio grows with f(1)/f(0); hence
    log((1 + x)/(1 - x)), x = 2Δ tanh(ε/2). Rewards are independent: place by place the bounds multiply, and
    ε-DP mechanisms with e^{ε (number of ones)} in proportion attain the product.
    """
    x = 2 * ball(gap) * (ball(epsilon) / 2).tanh()
    return samples * ((1 + x) / (1 - x)).log()
