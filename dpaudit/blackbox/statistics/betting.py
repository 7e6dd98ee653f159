"""Bet against an (epsilon, delta) claim with the e-process behind every sampled privacy verdict.

Freeze a payoff ``f`` with values in [0, 1], then run the mechanism once on each of two neighbours,
independently: ``Y`` and ``Y'``. If the claim holds, ``g = f(Y) - e^epsilon f(Y') - delta`` has mean at most
0 and is at least ``-(e^epsilon + delta)``. So a bettor may stake up to ``1/(e^epsilon + delta)`` on every
pair, and may choose a new payoff and stake before each pair.

One process per value of a grid gives a lower bound on the true epsilon (or delta). The hypotheses are nested,
and the bound is the largest grid value with ALL smaller values rejected. It is wrong only if the smallest
true value of the grid is rejected, which has probability at most ``alpha``, at any stopping time and for any
size of the grid (fixed-sequence testing).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpaudit.blackbox.statistics.capital import Capital
from dpaudit.core.errors import InvalidParameterError

__all__ = ["PairBetting", "epsilon_grid", "epsilon_lower_bound", "nested_lower_bound"]


class PairBetting:
    """E-processes against the claims (epsilons[j], deltas[j]), j = 1..J, on the same pairs.

    Claim j is rejected at significance level alpha once ``peak[j] >= log(1/alpha)``. ``log_wealth`` and
    ``peak`` have shape (J,).

    Parameters
    ----------
    epsilons : array, shape (J,)
        Claimed epsilons, in [0, 700).
    deltas : number or array, shape (J,)
        Claimed deltas, in [0, 1).

    Raises
    ------
    InvalidParameterError
        An epsilon or a delta is out of range.
    """

    def __init__(self, epsilons: ArrayLike, *, deltas: ArrayLike = 0.0) -> None:
        self.epsilons, self.deltas = np.broadcast_arrays(
            np.atleast_1d(np.asarray(epsilons, dtype=float)), np.asarray(deltas, dtype=float)
        )
        if not np.all((self.epsilons >= 0) & (self.epsilons < 700)):
            raise InvalidParameterError(
                f"epsilons must be in [0, 700), got {epsilons!r}.", code="E-EPSILON-RANGE"
            )
        if not np.all((self.deltas >= 0) & (self.deltas < 1)):
            raise InvalidParameterError(f"deltas must be in [0, 1), got {deltas!r}.", code="E-DELTA-RANGE")
        self._capital = Capital(1.0 / (np.exp(self.epsilons) + self.deltas))

    @property
    def log_wealth(self) -> NDArray[np.float64]:
        """Return the log-wealth against each claim after the pairs so far, shape (J,)."""
        return self._capital.log_wealth

    @property
    def peak(self) -> NDArray[np.float64]:
        """Return the largest log-wealth against each claim so far, shape (J,)."""
        return self._capital.peak

    @property
    def pairs(self) -> int:
        """Return the number of pairs so far."""
        return self._capital.steps

    def update(self, first: ArrayLike, second: ArrayLike) -> NDArray[np.float64]:
        """Bet on pairs in order, and return the log-wealth after each pair, shape (n, J).

        ``first`` holds f(Y) and ``second`` holds f(Y'), both of shape (n,) with values in [0, 1]. The payoff
        may differ from pair to pair if each payoff was fixed before its pair.
        """
        one, two = _payoff(first, "first"), _payoff(second, "second")
        if one.shape != two.shape:
            raise InvalidParameterError(
                f"first and second must have one payoff per pair, got shapes {one.shape} and {two.shape}.",
                code="E-PAYOFF-SHAPE",
            )
        return self._capital.update(one[:, None] - np.exp(self.epsilons) * two[:, None] - self.deltas)


def _payoff(values: ArrayLike, name: str) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=float)
    if array.ndim != 1 or not np.all((array >= 0) & (array <= 1)):
        raise InvalidParameterError(
            f"{name} must be a vector of payoffs in [0, 1], got {values!r}.", code="E-PAYOFF-RANGE"
        )
    return array


def nested_lower_bound(grid: ArrayLike, peak: ArrayLike, *, alpha: float) -> float | None:
    """Return the largest grid value that is rejected with ALL smaller values, or None if there is none.

    The bound holds with probability ``1 - alpha``.

    Parameters
    ----------
    grid : array, shape (J,)
        Increasing values.
    peak : array, shape (J,)
        Largest log-wealth against each value.
    alpha : float
        Significance level, in (0, 1).
    """
    values, wealth = np.asarray(grid, dtype=float), np.asarray(peak, dtype=float)
    if values.ndim != 1 or values.shape != wealth.shape or np.any(np.diff(values) <= 0):
        raise InvalidParameterError(
            f"grid must be increasing with one peak for each value, got shapes {values.shape} and "
            f"{wealth.shape}.",
            code="E-GRID-NOT-INCREASING",
        )
    if not 0 < alpha < 1:
        raise InvalidParameterError(f"alpha must be in (0, 1), got {alpha}.", code="E-ALPHA-RANGE")
    standing = np.flatnonzero(wealth < math.log(1 / alpha))
    count = int(standing[0]) if len(standing) else len(values)
    return float(values[count - 1]) if count else None


def epsilon_lower_bound(process: PairBetting, *, alpha: float) -> float:
    """Return a lower bound on the true epsilon at the delta of the process, or 0.

    The bound holds with probability ``1 - alpha`` at any stopping time.
    """
    if np.any(process.deltas != process.deltas[0]):
        raise InvalidParameterError(
            "a bound on epsilon requires one delta for the whole grid, got several. Use nested_lower_bound.",
            code="E-DELTA-NOT-UNIQUE",
        )
    return nested_lower_bound(process.epsilons, process.peak, alpha=alpha) or 0.0


def epsilon_grid(
    claimed: float, *, ratio: float = 1.04, below: float = 8.0, above: float = 64.0
) -> NDArray[np.float64]:
    """Return an increasing geometric grid from about ``claimed / below`` to ``claimed * above``.

    The grid contains ``claimed * (1 + 1e-8)``. This value just above the claim refutes it, because a bound of
    1 does not refute a claim of 1.
    """
    if not (claimed > 0 and math.isfinite(claimed)) or not ratio > 1 or below < 1 or above < 1:
        raise InvalidParameterError(
            "claimed must be positive and finite, ratio above 1, below and above at least 1, got "
            f"{claimed}, {ratio}, {below}, {above}.",
            code="E-GRID-RANGE",
        )
    down = math.ceil(math.log(below) / math.log(ratio))
    up = math.ceil(math.log(above) / math.log(ratio))
    return claimed * (1 + 1e-8) * ratio ** np.arange(-down, up + 1, dtype=float)
