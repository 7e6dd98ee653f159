"""Compute the wealth of a bettor from the payoffs of games that are fair or worse under the null hypothesis.

One game pays ``g`` for each unit staked, with ``g >= -1/limit`` and conditional mean at most 0 under the
null. A stake of the share ``b`` of ``limit`` multiplies the wealth by ``1 + b * limit * g``, which is never
negative. The wealth is therefore a non-negative supermartingale that starts at 1, and the probability that it
ever reaches ``1/alpha`` is at most ``alpha`` (Ville 1939). It may be observed at any time.

The wealth here is a mixture: half on fixed shares (some of them are near the best share, whatever it is), and
half on a share that follows the past payoffs (aGRAPA: Waudby-Smith & Ramdas 2024, section B.3). A mixture of
supermartingales is a supermartingale.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpaudit.core.errors import InvalidParameterError

__all__ = ["Capital", "log_average"]

#: Shares of the limit that the fixed bettors stake. The share 1 is excluded, because it could lose everything
#: at once.
SHARES = np.array(
    [0.97, 0.8, 0.6, 0.45, 0.33, 0.24, 0.17, 0.12, 0.08, 0.05, 0.03, 0.018, 0.01, 0.004, 0.0015, 0.0005]
)
ADAPTIVE_WEIGHT = 0.5
ADAPTIVE_SHARE_MAX = 0.9
ROUNDING = 1e-9
CHUNK_ENTRIES = 2**20


def log_average(log_values: NDArray[np.float64], weights: ArrayLike, *, axis: int = 0) -> NDArray[np.float64]:
    """Return log(sum of weights * exp(log_values)) along ``axis``, without overflow.

    Weights are non-negative and sum to at most 1.
    """
    weights = np.asarray(weights, dtype=float)
    if np.any(weights < 0) or weights.sum() > 1 + ROUNDING:
        raise InvalidParameterError(
            f"weights must be non-negative and sum to at most 1, got the sum {weights.sum():g}.",
            code="E-WEIGHTS-SUM",
        )
    shape = [1] * log_values.ndim
    shape[axis] = -1
    with np.errstate(divide="ignore"):
        log_weights = np.log(weights).reshape(shape)
    total: NDArray[np.float64] = np.logaddexp.reduce(log_values + log_weights, axis=axis)
    return total


class Capital:
    """Wealth of one bettor in each of J games.

    ``log_wealth`` and ``peak`` (its running maximum over every step so far) have shape (J,) and start at 0.

    Parameters
    ----------
    limits : array, shape (J,)
        Positive. Game j never pays less than ``-1/limits[j]`` per unit staked.

    Raises
    ------
    InvalidParameterError
        A limit is not positive and finite.
    """

    def __init__(self, limits: ArrayLike) -> None:
        self.limits = np.atleast_1d(np.asarray(limits, dtype=float))
        if self.limits.ndim != 1 or not np.all(np.isfinite(self.limits)) or np.any(self.limits <= 0):
            raise InvalidParameterError(
                f"limits must be a vector of positive finite numbers, got {limits!r}.", code="E-LIMITS-RANGE"
            )
        games = len(self.limits)
        self.log_wealth: NDArray[np.float64] = np.zeros(games)
        self.peak: NDArray[np.float64] = np.zeros(games)
        self.steps = 0
        self._weights = np.append(np.full(len(SHARES), (1 - ADAPTIVE_WEIGHT) / len(SHARES)), ADAPTIVE_WEIGHT)
        self._logs = np.zeros((len(SHARES) + 1, games))
        # Running sums of g and g^2 in units of 1/limit, with one pseudo-payoff of 0 and variance 1/4.
        self._sum = np.zeros(games)
        self._squares = np.full(games, 0.25)

    def update(self, payoffs: ArrayLike) -> NDArray[np.float64]:
        """Bet on the payoffs in order, and return the log-wealth after each of them, shape (n, J).

        Parameters
        ----------
        payoffs : array, shape (n, J)
            Or shape (n,) if J = 1.

        Raises
        ------
        InvalidParameterError
            A payoff is NaN or below ``-1/limit``, so the game is not the declared one.
        """
        scaled = self._scaled(payoffs)
        rows = max(1, CHUNK_ENTRIES // (len(self._weights) * len(self.limits)))
        parts = [self._play(scaled[start : start + rows]) for start in range(0, len(scaled), rows)]
        return np.concatenate(parts) if parts else np.zeros((0, len(self.limits)))

    def _scaled(self, payoffs: ArrayLike) -> NDArray[np.float64]:
        given = np.asarray(payoffs, dtype=float)
        given = given[:, None] if given.ndim == 1 else given
        if given.ndim != 2 or given.shape[1] != len(self.limits):
            raise InvalidParameterError(
                f"payoffs must have shape (n, {len(self.limits)}), got {np.shape(payoffs)}.",
                code="E-PAYOFF-SHAPE",
            )
        scaled = given * self.limits
        if np.any(np.isnan(scaled)) or np.any(scaled < -1 - ROUNDING):
            raise InvalidParameterError(
                f"a payoff must be at least -1/limit, got {np.min(scaled):g} in units of 1/limit.",
                code="E-PAYOFF-RANGE",
            )
        clipped: NDArray[np.float64] = np.maximum(scaled, -1.0)
        return clipped

    def _play(self, scaled: NDArray[np.float64]) -> NDArray[np.float64]:
        logs = np.empty((len(self._weights), *scaled.shape))
        np.log1p(SHARES[:, None, None] * scaled, out=logs[:-1])
        np.log1p(self._adaptive_shares(scaled) * scaled, out=logs[-1])
        logs[:, 0] += self._logs
        np.cumsum(logs, axis=1, out=logs)
        self._logs = logs[:, -1].copy()
        path = log_average(logs, self._weights)
        self.log_wealth = path[-1].copy()
        self.peak = np.maximum(self.peak, path.max(axis=0))
        self.steps += len(scaled)
        return path

    def _adaptive_shares(self, scaled: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the share before each step, from the payoffs before it: mean / second moment."""
        sums = np.vstack([self._sum, self._sum + np.cumsum(scaled, axis=0)])
        squares = np.vstack([self._squares, self._squares + np.cumsum(scaled**2, axis=0)])
        self._sum, self._squares = sums[-1], squares[-1]
        shares: NDArray[np.float64] = np.clip(sums[:-1] / squares[:-1], 0.0, ADAPTIVE_SHARE_MAX)
        return shares
