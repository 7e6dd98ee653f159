"""Bound delta(epsilon) from both sides by the exact privacy losses of sampled transcripts.

For L = log p(Y)/p'(Y) with Y drawn under the first input, delta(epsilon) = E[(1 - e^{epsilon - L})_+]
(Balle & Wang 2018, theorem 5; Sommer et al. 2019). The variable is in [0, 1], so bounded-mean betting
applies. No classifier is needed, because (1 - e^{epsilon-L})_+ is the optimal test. A bound holds for one
ordered pair of inputs, and a claim requires both orders.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpaudit.blackbox.statistics.means import mean_bounds, mean_log_wealth
from dpaudit.core.errors import InvalidParameterError

__all__ = ["delta_bounds", "delta_log_wealth", "hockey_stick"]


def hockey_stick(losses: ArrayLike, *, epsilon: float) -> NDArray[np.float64]:
    """Return (1 - e^{epsilon - L})_+ of each loss, in [0, 1].

    An infinite loss (the other input cannot produce the outcome) gives 1.
    """
    values = np.asarray(losses, dtype=float)
    if values.ndim != 1 or np.any(np.isnan(values)):
        raise InvalidParameterError(
            f"losses must be a vector without NaN, got {losses!r}.", code="E-LOSSES-NAN"
        )
    if not epsilon >= 0 or np.isinf(epsilon):
        raise InvalidParameterError(
            f"epsilon must be at least 0 and finite, got {epsilon}.", code="E-EPSILON-RANGE"
        )
    return -np.expm1(np.minimum(epsilon - values, 0.0))


def delta_bounds(losses: ArrayLike, *, epsilon: float, alpha: float) -> tuple[float, float]:
    """Return a lower and an upper bound on delta(epsilon) of one ordered pair.

    Both bounds hold simultaneously at any time with probability ``1 - alpha``. ``losses`` has shape (n,),
    sampled under the first input, in the order of sampling. ``inf`` and ``-inf`` are allowed.
    """
    return mean_bounds(hockey_stick(losses, epsilon=epsilon), low=0.0, high=1.0, alpha=alpha)


def delta_log_wealth(losses: ArrayLike, *, epsilon: float, delta: float) -> NDArray[np.float64]:
    """Return the log-wealth after each loss against "delta(epsilon) <= delta" of a pair, shape (n,)."""
    return mean_log_wealth(hockey_stick(losses, epsilon=epsilon), low=0.0, high=1.0, at_most=delta)
