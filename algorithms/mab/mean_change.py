"""A change of an arm's mean from 1/2 - Δ to 1/2 + Δ, in exact numbers.

This file computes how many rewards the change affects, and what it can cost under ε-DP: the construction
behind the lower bounds of Shariff and Sheffet (2018).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from dpaudit.kernel.ball import ball

__all__ = ["cheapest_coupling", "dearest_change"]


def cheapest_coupling(samples: int, gap: Fraction) -> Fraction:
    """Return the least expected number of differing places of two coupled samples.

    ``samples`` rewards have mean 1/2 - Δ in one sample and 1/2 + Δ in the other. The exact distributions of
    both give the dual bound: the expected number of ones is 1-Lipschitz in the number of places, and the
    place-by-place maximal coupling attains its difference.

    Raises ``ArithmeticError`` if the two sides disagree.
    """
    low, high = Fraction(1, 2) - gap, Fraction(1, 2) + gap
    ones = [
        sum(k * math.comb(samples, k) * p**k * (1 - p) ** (samples - k) for k in range(samples + 1))
        for p in (low, high)
    ]
    # A uniform per place gives 1 below the mean: the pair differs if it falls between the two means.
    differ = high - low
    places = sum(
        k * math.comb(samples, k) * differ**k * (1 - differ) ** (samples - k) for k in range(samples + 1)
    )
    if ones[1] - ones[0] != places:
        raise ArithmeticError(f"the coupling must attain the dual bound {ones[1] - ones[0]}, got {places}.")
    return Fraction(places)


def dearest_change(samples: int, gap: Fraction, epsilon: Fraction) -> Any:
    """Return the largest log P'(E)/P(E) over all ε-DP mechanisms of ``samples`` rewards, as a ball.

    The mean changes from 1/2 - Δ to 1/2 + Δ. One reward: an event's chance f(0), f(1) has f(1) <= e^ε f(0),
    and the ratio grows with f(1)/f(0); hence log((1 + x)/(1 - x)), x = 2Δ tanh(ε/2). Rewards are independent:
    place by place the bounds multiply, and ε-DP mechanisms with e^{ε (number of ones)} in proportion attain
    the product.
    """
    x = 2 * ball(gap) * (ball(epsilon) / 2).tanh()
    return samples * ((1 + x) / (1 - x)).log()
