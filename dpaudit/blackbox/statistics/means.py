"""Means of bounded variables: confidence sequences and one-sided tests that may be watched at any time.

``mean_bounds`` is the hedged capital of Waudby-Smith & Ramdas (2024, JRSS B 86(1), section 4.2): for every
candidate mean m, one bettor plays "above m" and one "below m", with stakes that follow the variance seen so
far. Both bettors' wealth is monotone in m, so the interval of candidates that nobody refuted is found by
bisection over the *running maximum*: no grid of candidates.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpaudit.blackbox.statistics.capital import Capital
from dpaudit.core.errors import InvalidParameterError

__all__ = ["difference_log_wealth", "mean_bounds", "mean_log_wealth"]

#: No bettor stakes more than this share of what could be lost (c = 1/2 in the paper).
TRUNCATION = 0.5
BISECTIONS = 60


def mean_bounds(x: ArrayLike, *, low: float, high: float, alpha: float) -> tuple[float, float]:
    """Lower and upper bound on the common conditional mean of ``x``, valid together at all times with
    probability ``1 - alpha``.

    ``x``: shape (n,), in [low, high], in the order of sampling. Uses all prefixes (running intersection),
    so that adding data never widens the interval. Returns ``(low, high)`` for no data.
    """
    unit = _unit(x, low, high)
    if not 0 < alpha < 1:
        raise InvalidParameterError(
            f"alpha must be in (0, 1), got {alpha}; pass an error level such as 0.05."
        )
    if not len(unit):
        return low, high
    below = _refuted_below(unit, alpha)
    above = _refuted_below(
        1.0 - unit, alpha
    )  # the mirror image: an upper bound on x is a lower bound on 1 - x
    width = high - low
    return low + width * below, high - width * above


def _unit(x: ArrayLike, low: float, high: float) -> NDArray[np.float64]:
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InvalidParameterError(
            f"low must be below high, both finite, got {low} and {high}; pass the variable's range."
        )
    values = np.asarray(x, dtype=float)
    if values.ndim != 1 or not np.all((values >= low) & (values <= high)):
        raise InvalidParameterError(
            f"x must be a vector in [{low}, {high}], got {x!r}; widen the range, drop no value."
        )
    return np.clip((values - low) / (high - low), 0.0, 1.0)


def _predictable_bets(unit: NDArray[np.float64], alpha: float) -> NDArray[np.float64]:
    """lambda_t of eq. (26): sqrt(2 log(2/alpha) / (variance_{t-1} t log(t+1))), variance from the past with
    a quarter as prior.
    """
    t = np.arange(1, len(unit) + 1, dtype=float)
    means = (0.5 + np.cumsum(unit)) / (t + 1)
    variance = (0.25 + np.cumsum((unit - means) ** 2)) / (t + 1)
    before = np.concatenate([[0.25], variance[:-1]])
    bets: NDArray[np.float64] = np.sqrt(2 * math.log(2 / alpha) / (before * t * np.log(t + 1)))
    return bets


def _refuted_below(unit: NDArray[np.float64], alpha: float) -> float:
    """The largest m such that every mean below m was refuted by the bettor "above", at level alpha/2."""
    bets, threshold = _predictable_bets(unit, alpha), math.log(2 / alpha)

    def refuted(m: float) -> bool:
        # min(lambda, c/m)(x - m) falls with m for every x, hence so does the wealth: bisection is exact.
        stakes = np.minimum(bets, TRUNCATION / m)
        return bool(np.max(np.cumsum(np.log1p(stakes * (unit - m)))) >= threshold)

    return _largest(refuted)


def _largest(refuted: Callable[[float], bool]) -> float:
    bottom, top = 0.0, 1.0  # `bottom` is refuted or 0; rounding errs towards the wider interval
    for _ in range(BISECTIONS):
        middle = 0.5 * (bottom + top)
        bottom, top = (middle, top) if refuted(middle) else (bottom, middle)
    return bottom


def mean_log_wealth(x: ArrayLike, *, low: float, high: float, at_most: float) -> NDArray[np.float64]:
    """Log-wealth, after each value, of an e-process against "the mean of x is at most ``at_most``". Shape
    (n,).

    Reject at level alpha once it reaches log(1/alpha), at any time. ``at_most`` in [low, high). For "at
    least m" pass -x, -high, -low, -m.
    """
    values = np.asarray(x, dtype=float)
    _unit(values, low, high)
    if not low <= at_most < high:
        raise InvalidParameterError(
            f"at_most must be in [low, high) = [{low}, {high}), got {at_most}; outside it the claim is void "
            "or impossible."
        )
    # x - m >= -(m - low); where m = low any positive value refutes, and a limit tied to the range keeps the
    # wealth finite.
    limit = 1.0 / max(at_most - low, 1e-6 * (high - low))
    return Capital([limit]).update(values - at_most)[:, 0]


def difference_log_wealth(
    x: ArrayLike, y: ArrayLike, *, low: float, high: float, at_most: float = 0.0
) -> NDArray[np.float64]:
    """Log-wealth against "the mean of the paired differences x - y is at most ``at_most``"; x and y in
    [low, high]. Shape (n,).
    """
    one, two = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if one.shape != two.shape:
        raise InvalidParameterError(
            f"x and y must be paired, got shapes {one.shape} and {two.shape}; drop no trial."
        )
    _unit(one, low, high)
    _unit(two, low, high)
    width = high - low
    return mean_log_wealth(one - two, low=-width, high=width, at_most=at_most)
