"""Bet on cells of outputs in the two-sided pair game of the black-box attack.

Outputs are sorted into cells. Before a block of pairs, stakes ``a[c]`` (the output came from the first
input) and ``b[c]`` (it came from the second) are frozen, both at most ``1/(e^epsilon + delta)``. A pair
``Y`` (first input) and ``Y'`` (second), independent, multiplies the wealth by

    (1 + a(Y) - e^epsilon b(Y) - k) * (1 + b(Y') - e^epsilon a(Y') - k),    k = delta (max a + max b) / 2.

Its mean is at most 1 under the claim. With x = E a(Y) and y = E b(Y'), (epsilon, delta)-DP in both
directions gives e^epsilon E a(Y') >= x - delta max a and e^epsilon E b(Y) >= y - delta max b, so the two
factors have means at most 1 + u and 1 - u for u = x - y + delta (max b - max a)/2. Their product is at most
1 - u^2. Every pair tests both directions, and the stakes may differ from cell to cell, which is impossible
with one payoff in [0, 1] at one stake.

Several *experts* bet, each with its own cells. The wealth is their mixture, and a part of it follows the
richest expert.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from dpaudit.blackbox.statistics.capital import log_average
from dpaudit.core.errors import InvalidParameterError

__all__ = ["CellBetting", "CellBlock", "cell_stakes", "log_gains"]

#: Prior count of outputs at the boundary of the claim in each cell, so that few real outputs make no bet.
BOUNDARY_COUNT = 12.0
#: Number of outputs at which a cell's share is known as precisely as in the prior (in the Occam factor of the
#: Bayes factor).
PRIOR_COUNT = 60.0
#: Prior count of a bold expert. If the claim holds, one input alone would rarely fill the cells of this
#: expert.
BOLD_COUNT = 1.0
#: Largest share of the limit, so that no stake loses everything at once.
SHARE_MAX = 0.98
#: Caps on the stakes that are tried if delta > 0, as shares of the limit.
CAPS = np.array([0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0])


@dataclass(frozen=True)
class CellBlock:
    """Counts of outputs by input and cell. Each expert's cells were fixed before the block.

    Attributes
    ----------
    known : array, shape (2, E, C)
        Counts by input, expert and cell of all pairs before the block.
    seen : array, shape (2, E, C)
        Counts in the block.
    bold : array of bool, shape (E,), optional
        Experts that bet from the first outputs on. Default: none.
    places : array, shape (E, C), optional
        Typical past value of the feature in each cell, or NaN. Default: unknown.
    """

    known: NDArray[np.int64] | NDArray[np.float64]
    seen: NDArray[np.int64] | NDArray[np.float64]
    bold: NDArray[np.bool_] | None = None
    places: NDArray[np.float64] | None = None

    def of(self, experts: NDArray[np.int64]) -> CellBlock:
        """Return the block for some experts only."""
        bold = None if self.bold is None else self.bold[experts]
        places = None if self.places is None else self.places[experts]
        return CellBlock(self.known[:, experts], self.seen[:, experts], bold, places)

    @property
    def pairs(self) -> int:
        """Return the number of pairs in the block."""
        return int(self.seen[0, 0].sum())


class CellBetting:
    """E-processes against the claims (epsilons[j], deltas[j]), j = 1..J, on the same blocks.

    ``log_wealth`` has shape (J,). ``experts``, of shape (J, E), holds the log-wealth of each expert.

    Parameters
    ----------
    epsilons, deltas : array, shape (J,)
        The claims.
    weights : array, shape (E,)
        Shares of the experts in the capital. With ``follow``, they sum to 1.
    follow : float
        Share of the bettor that copies the expert with the largest wealth before each block.

    Raises
    ------
    InvalidParameterError
        The shares are negative or do not sum to 1.
    """

    def __init__(self, epsilons: ArrayLike, *, deltas: ArrayLike, weights: ArrayLike, follow: float) -> None:
        pair = np.broadcast_arrays(np.atleast_1d(np.asarray(epsilons, float)), np.asarray(deltas, float))
        self.epsilons, self.deltas = pair
        self._weights = np.append(np.asarray(weights, dtype=float), follow)
        if abs(self._weights.sum() - 1) > 1e-9 or np.any(self._weights < 0):
            raise InvalidParameterError(
                f"weights and follow must be shares that sum to 1, got {self._weights}.", code="E-WEIGHTS-SUM"
            )
        self.experts: NDArray[np.float64] = np.zeros((len(self.epsilons), len(self._weights) - 1))
        self._follower: NDArray[np.float64] = np.zeros(len(self.epsilons))

    @property
    def log_wealth(self) -> NDArray[np.float64]:
        """Return the log of the mixture's wealth against each claim, shape (J,)."""
        return log_average(np.column_stack([self.experts, self._follower]), self._weights, axis=1)

    def keep(self, claims: NDArray[np.bool_]) -> None:
        """Continue against these claims only, shape (J,)."""
        self.epsilons, self.deltas = self.epsilons[claims], self.deltas[claims]
        self.experts, self._follower = self.experts[claims], self._follower[claims]

    def update(self, block: CellBlock) -> NDArray[np.float64]:
        """Bet on one block, and return ``log_wealth`` after it, shape (J,)."""
        gains = log_gains(block, self.epsilons, self.deltas)
        rows = np.arange(len(self.epsilons))
        leader = np.argmax(self.experts, axis=1)
        self._follower = self._follower + np.where(self.experts[rows, leader] > 0, gains[rows, leader], 0.0)
        self.experts = self.experts + gains
        return self.log_wealth


def log_gains(
    block: CellBlock, epsilons: NDArray[np.float64], deltas: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the log of the factor by which a block multiplies each expert's wealth, shape (J, E)."""
    first, second, fee = cell_stakes(block.known, epsilons, deltas, bold=block.bold)
    gains: NDArray[np.float64] = _log_factors(block.seen, first, second, fee, epsilons).sum(axis=-1)
    return gains


def _log_factors(
    counts: NDArray[np.number],
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    fee: NDArray[np.float64],
    epsilons: NDArray[np.float64],
) -> NDArray[np.float64]:
    odds, fees = np.exp(epsilons)[:, None, None], fee[..., None]
    logs: NDArray[np.float64] = counts[0] * np.log1p(first - odds * second - fees)
    logs += counts[1] * np.log1p(second - odds * first - fees)
    return logs


def cell_stakes(
    known: NDArray[np.number],
    epsilons: NDArray[np.float64],
    deltas: NDArray[np.float64],
    *,
    bold: NDArray[np.bool_] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the stakes on the first and the second input, shapes (J, E, C), and the fee k, shape (J, E).

    ``known`` holds the counts before the block, shape (2, E, C). The claim allows at most the share
    p = e^epsilon/(1 + e^epsilon) of the outputs in a cell to come from the first input. For a known share
    q > p, the best stake is (q - p)/p (Kelly). Here q is shrunk towards p, and the stake is multiplied by the
    posterior probability that the cell exceeds the claim at all. A ``bold`` expert (shape (E,)) shrinks q
    only a little, like the estimate of Krichevsky and Trofimov (1981), and does not wait for evidence. This
    choice affects power, not validity.
    """
    is_bold = np.zeros(known.shape[1], dtype=bool) if bold is None else bold
    first = _kelly(known[0], known[1], epsilons, is_bold[:, None])
    second = _kelly(known[1], known[0], epsilons, is_bold[:, None])
    limit = (SHARE_MAX / (np.exp(epsilons) + deltas))[:, None, None]
    first, second = np.minimum(first, limit), np.minimum(second, limit)
    fee = np.zeros(first.shape[:2])
    if np.any(deltas > 0):
        first, second, fee = _capped(known, first, second, limit, epsilons, deltas)
    return first, second, fee


def _kelly(
    wins: NDArray[np.number],
    losses: NDArray[np.number],
    epsilons: NDArray[np.float64],
    bold: NDArray[np.bool_],
) -> NDArray[np.float64]:
    p, rest = special.expit(epsilons), special.expit(-epsilons)
    total = wins + losses
    prior = np.where(bold, BOLD_COUNT, BOUNDARY_COUNT)
    other = (losses + prior * rest[:, None, None]) / (total + prior)  # 1 - q, exact where p is nearly 1
    excess = rest[:, None, None] - other
    stake = np.zeros(excess.shape)
    # Most cells are within the claim and get no stake, so logarithms are computed for the other cells only.
    beyond = np.flatnonzero(excess > 0)
    claim, cell = np.divmod(beyond, total.size)
    expert = cell // total.shape[1]
    p, rest, prior, other = p[claim], rest[claim], prior.ravel()[expert], other.ravel()[beyond]
    total = total.ravel()[cell]
    q = (wins.ravel()[cell] + prior * p) / (total + prior)
    # Laplace's approximation of the log Bayes factor of "beyond the claim" against "at its boundary".
    divergence = q * np.log(q / p) + other * np.log(other / rest)
    evidence = total * divergence - 0.5 * np.log1p(total / PRIOR_COUNT)
    trust = np.where(bold.ravel()[expert], 1.0, special.expit(evidence))
    stake.ravel()[beyond] = excess.ravel()[beyond] / p * trust
    return stake


def _capped(
    known: NDArray[np.number],
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    limit: NDArray[np.float64],
    epsilons: NDArray[np.float64],
    deltas: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Cap the stakes at the value with the largest past gain, or place no bet.

    With delta > 0, the largest stake determines the fee.
    """
    best_first, best_second = np.zeros_like(first), np.zeros_like(second)
    best_fee, best_gain = np.zeros(first.shape[:2]), np.zeros(first.shape[:2])
    smoothed = known + 0.25
    for cap in CAPS:
        one, two = np.minimum(first, cap * limit), np.minimum(second, cap * limit)
        fee = 0.5 * deltas[:, None] * (one.max(axis=-1) + two.max(axis=-1))
        gain = _log_factors(smoothed, one, two, fee, epsilons).sum(axis=-1)
        better = gain > best_gain
        best_gain, best_fee = np.where(better, gain, best_gain), np.where(better, fee, best_fee)
        best_first = np.where(better[..., None], one, best_first)
        best_second = np.where(better[..., None], two, best_second)
    return best_first, best_second, best_fee
