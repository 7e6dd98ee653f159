"""Find the budget of Theorem 2 that Lemma 10 converts to (ε, δ)-DP."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from audits.distributed_mab.renyi_privacy import theorem_2_final
from dpaudit.core.conversions import converted
from dpaudit.core.errors import InvalidParameterError
from dpaudit.kernel.ball import ball, upper

__all__ = ["best_order", "converted_renyi", "renyi_budget"]


def best_order(epsilon: float, delta: float) -> int:
    """Return the integer order at which Lemma 10's expression for ε(α) = αε²/2 is smallest, in floats."""
    # Without the term log(1/α) the minimum is at 1 + √(2 log(1/δ))/ε. The term lowers it.
    last = 3 + round(math.sqrt(2 * math.log(1 / delta)) / epsilon)
    orders = np.arange(2, max(3, last) + 1, dtype=np.float64)
    values = orders * epsilon**2 / 2 - np.log(orders * delta) / (orders - 1) + np.log1p(-1 / orders)
    return int(orders[np.argmin(values)])


def converted_renyi(epsilon: Fraction, delta: Fraction, scale: int) -> Any:
    """Return Lemma 10's expression for Theorem 2's ε(α) at the best integer order or an adjacent order, as a
    ball."""
    centre = best_order(float(epsilon), float(delta))
    values = [
        converted(ball(theorem_2_final(order, epsilon, Fraction(scale))), Fraction(order), delta)
        for order in range(max(2, centre - 1), centre + 2)
    ]
    return min(values, key=float)


@lru_cache(maxsize=64)
def renyi_budget(epsilon: Fraction, delta: Fraction, *, scale: int) -> Fraction:
    """Return the largest budget of Theorem 2, to three digits, that Lemma 10 converts to (ε, δ)-DP.

    Raise ``InvalidParameterError`` if there is none between ε/1000 and 1000 ε.
    """
    low, high = -3.0, 3.0
    for _ in range(14):
        middle = (low + high) / 2
        passes = upper(converted_renyi(_digits(epsilon, middle), delta, scale)) <= epsilon
        low, high = (middle, high) if passes else (low, middle)
    if low == -3.0:
        raise InvalidParameterError(
            f"a budget must exist for epsilon {epsilon}, delta {delta}, s {scale}; raise s or delta."
        )
    return _digits(epsilon, low)


def _digits(epsilon: Fraction, power: float) -> Fraction:
    return epsilon * Fraction(10**power).limit_denominator(10**6)
