"""Bound and test means of bounded variables by confidence sequences and tests that are valid at any time.

``mean_bounds`` is the hedged capital of Waudby-Smith & Ramdas (2024, JRSS B 86(1), section 4.2). For every
candidate mean m, one bettor bets on "above m" and one on "below m", with stakes that follow the past
variance. The wealth of both bettors is monotone in m, so bisection over the *running maximum* finds the
interval of candidates that were not refuted, without a grid of candidates.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpaudit.blackbox.statistics.capital import Capital
from dpaudit.core.errors import InvalidParameterError

__all__ = ["difference_log_wealth", "mean_bounds", "mean_log_wealth"]

#: Largest share of the possible loss that a bettor stakes (c = 1/2 in the paper).
TRUNCATION = 0.5
BISECTIONS = 60


def mean_bounds(x: ArrayLike, *, low: float, high: float, alpha: float) -> tuple[float, float]:
    """Return a lower and an upper bound on the common conditional mean of ``x``.

    Both bounds hold simultaneously at all times with probability ``1 - alpha``. ``x`` has shape (n,) and
    values in [low, high], in the order of sampling. The bounds use all prefixes (running intersection), so
    more data never widen the interval. Without data, they are ``(low, high)``.
    """
    unit = _unit(x, low, high)
    if not 0 < alpha < 1:
        raise InvalidParameterError(f"alpha must be in (0, 1), got {alpha}.", code="E-ALPHA-RANGE")
    if not len(unit):
        return low, high
    below = _refuted_below(unit, alpha)
    above = _refuted_below(1.0 - unit, alpha)  # an upper bound on x is a lower bound on 1 - x
    width = high - low
    return low + width * below, high - width * above


def _unit(x: ArrayLike, low: float, high: float) -> NDArray[np.float64]:
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InvalidParameterError(
            f"low must be below high, both finite, got {low} and {high}.", code="E-RANGE-EMPTY"
        )
    values = np.asarray(x, dtype=float)
    if values.ndim != 1 or not np.all((values >= low) & (values <= high)):
        raise InvalidParameterError(
            f"x must be a vector in [{low}, {high}], got {x!r}.", code="E-VALUES-RANGE"
        )
    return np.clip((values - low) / (high - low), 0.0, 1.0)


def _predictable_bets(unit: NDArray[np.float64], alpha: float) -> NDArray[np.float64]:
    """Return lambda_t of eq. (26): sqrt(2 log(2/alpha) / (variance_{t-1} t log(t+1))).

    The variance is estimated from the past, with prior 1/4.
    """
    t = np.arange(1, len(unit) + 1, dtype=float)
    means = (0.5 + np.cumsum(unit)) / (t + 1)
    variance = (0.25 + np.cumsum((unit - means) ** 2)) / (t + 1)
    before = np.concatenate([[0.25], variance[:-1]])
    bets: NDArray[np.float64] = np.sqrt(2 * math.log(2 / alpha) / (before * t * np.log(t + 1)))
    return bets


def _refuted_below(unit: NDArray[np.float64], alpha: float) -> float:
    """Return the largest m such that the bettor "above" refuted every mean below m at level alpha/2."""
    bets, threshold = _predictable_bets(unit, alpha), math.log(2 / alpha)

    def refuted(m: float) -> bool:
        # min(lambda, c/m)(x - m) decreases in m for every x, and so does the wealth. Bisection is exact.
        stakes = np.minimum(bets, TRUNCATION / m)
        return bool(np.max(np.cumsum(np.log1p(stakes * (unit - m)))) >= threshold)

    return _largest(refuted)


def _largest(refuted: Callable[[float], bool]) -> float:
    bottom, top = 0.0, 1.0  # `bottom` is refuted or 0, so rounding can only widen the interval
    for _ in range(BISECTIONS):
        middle = 0.5 * (bottom + top)
        bottom, top = (middle, top) if refuted(middle) else (bottom, middle)
    return bottom


def mean_log_wealth(x: ArrayLike, *, low: float, high: float, at_most: float) -> NDArray[np.float64]:
    """Return the log-wealth of an e-process against "the mean of x is at most ``at_most``", shape (n,).

    Reject at level alpha once it reaches log(1/alpha), at any time. ``at_most`` is in [low, high). For "at
    least m", pass -x, -high, -low and -m.
    """
    values = np.asarray(x, dtype=float)
    _unit(values, low, high)
    if not low <= at_most < high:
        raise InvalidParameterError(
            f"at_most must be in [low, high) = [{low}, {high}), got {at_most}.", code="E-MEAN-RANGE"
        )
    # x - m >= -(m - low). If m = low, any positive value refutes, and a limit tied to the range keeps the
    # wealth finite.
    limit = 1.0 / max(at_most - low, 1e-6 * (high - low))
    return Capital([limit]).update(values - at_most)[:, 0]


def difference_log_wealth(
    x: ArrayLike, y: ArrayLike, *, low: float, high: float, at_most: float = 0.0
) -> NDArray[np.float64]:
    """Return the log-wealth against "the mean of paired x - y is at most ``at_most``", shape (n,).

    All values of x and y are in [low, high].
    """
    one, two = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if one.shape != two.shape:
        raise InvalidParameterError(
            f"x and y must be paired, got shapes {one.shape} and {two.shape}.", code="E-SHAPES-DIFFER"
        )
    _unit(one, low, high)
    _unit(two, low, high)
    width = high - low
    return mean_log_wealth(one - two, low=-width, high=width, at_most=at_most)
