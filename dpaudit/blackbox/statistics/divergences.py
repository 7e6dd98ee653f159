"""Bet against bounds on Rényi divergences, by their variational forms on cells of outputs.

Let the outputs be Y ~ P on the first input and Y' ~ Q on the second, independent given the past. A claim
bounds the Rényi divergence of order a >= 1 by d in both directions. Order 1 is the Kullback-Leibler
divergence. For functions g, h of the cell that were fixed before, the claim implies E_P g <= E_Q h:

* **Order 1.** For every bounded f, E_P f - E_Q exp(f) + 1 <= KL(P, Q) (Nguyen, Wainwright & Jordan 2010; from
  Donsker & Varadhan 1975 and log t <= t - 1). So g = f and h = exp(f) - 1 + d.
* **Order a > 1.** By Hölder's inequality with the exponents a and b = a/(a-1), every g >= 0 has E_P g =
  E_Q[(dP/dQ) g] <= (E_Q (dP/dQ)^a)^(1/a) (E_Q g^b)^(1/b), and the first factor is at most k = exp((a-1) d/a)
  (van Erven & Harremoës 2014; Birrell et al. 2021). The tangent at 1 of the concave function t^(1/b) gives
  t^(1/b) <= 1/a + t/b. So g/k takes the place of g, and h = 1/a + g^b/b. If P is not absolutely continuous
  with respect to Q, the divergence is infinite and the claim is false.

A function of the cell is a function of the output, so both hold for the outputs themselves: coarse cells lose
power, never validity.

**The bet.** Let (g1, h1) be such functions for P against Q, and (g2, h2) for Q against P, with numbers m1, m2
and stakes s1, s2 >= 0, all fixed before the block. A pair (Y, Y') multiplies the wealth by (1 + A(Y)) (1 +
B(Y')) with

    A = s1 (g1 - m1) + s2 (m2 - h2),    B = s1 (m1 - h1) + s2 (g2 - m2).

**It is a supermartingale under the claim.** A and B are at least -``LARGEST_LOSS`` > -1 on every cell. With u
= E_P A, the two inequalities E_Q h1 >= E_P g1 and E_Q g2 <= E_P h2 give E_Q B <= s1 (m1 - E_P g1) + s2 (E_P
h2 - m2) = -u. Y and Y' are independent and both factors are positive, so the product has mean at most (1 + u)
(1 - u) = 1 - u^2 <= 1. This holds for all P, Q of the claim, and whatever the past taught g, h, m and s. By
Ville's inequality, the wealth reaches 1/alpha with probability at most alpha.

**What is learnt.** The score of a cell estimates log dP/dQ: by the ratio of its past counts, and by a
logistic regression on 1, x and x^2 for the value x of the feature, which also knows tails where one input has
few outputs. Scores are flattened and clipped in several ways (``SCORES``), because a flatter score loses a
little of the divergence and much of its variance. g is the power of the score that attains equality, the
exponential of (a-1) score, normed to E_Q g^b = 1. Stakes have the proportions of Kelly's to second order,
from the mean of *past payoffs* (which the scores had not seen when they were paid), so a score that has
learnt noise gets no stake. Order, score, expert and size of stakes have separate capital, and a part of it
follows the richest.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from dpaudit.blackbox.statistics.capital import log_average
from dpaudit.blackbox.statistics.cells import CellBlock
from dpaudit.core.errors import InvalidParameterError

__all__ = ["LEAST_ORDER", "DivergenceBetting", "payoffs"]

#: Smallest order above 1. Nearer to 1, floats do not separate a payoff from 0, and order 1 says the same.
LEAST_ORDER = 1.001

#: Scores that are tried: whether it is the smooth one, its power, and where it is clipped.
SCORES = ((True, 0.85, 4.0), (True, 0.6, 2.5), (False, 0.85, 4.0))
#: Sizes of stakes that are tried: 0 for Kelly's, or the standard deviation of the pay.
SIZES = (0.0, 0.06)
#: Share of the bettor that copies the richest, and share of the first order in the rest.
FOLLOW, FIRST_ORDER = 0.7, 0.5
#: Precision of the prior of the smooth score's coefficients, and steps of Newton's method.
RIDGE, NEWTON_STEPS = 0.5, 8
#: Count that is added to each cell on each input. It clips the score.
PSEUDO_COUNT = 1.0
#: Largest share of the wealth that one output may take.
LARGEST_LOSS = 0.7
#: Pairs of runs without a payoff that are added to the past ones. They shrink the first stakes.
PRIOR_PAIRS = 10.0

Floats = NDArray[np.float64]


class DivergenceBetting:
    """E-processes against J claims, each of which bounds the divergences of the same D orders.

    ``log_wealth`` has shape (J,). ``experts``, of shape (J, D, S, E, Z), holds the log-wealth of each order,
    score, expert and size of stakes.

    Parameters
    ----------
    orders : array, shape (D,)
        Orders, 1 or at least ``LEAST_ORDER``, finite. The first one has the largest share of the capital.
    bounds : array, shape (J, D)
        The claimed bounds on the divergences, at least 0.
    weights : array, shape (E,)
        Shares of the experts in the capital, in proportion. Experts without capital are left out (``chosen``
        holds the indices of the others).

    Raises
    ------
    InvalidParameterError
        An order, a bound or a weight is out of range.
    """

    def __init__(self, orders: ArrayLike, bounds: ArrayLike, *, weights: ArrayLike) -> None:
        self.orders, self.bounds = np.asarray(orders, dtype=float), np.asarray(bounds, dtype=float)
        usable = (self.orders == 1) | ((self.orders >= LEAST_ORDER) & np.isfinite(self.orders))
        if not np.all(usable):
            raise InvalidParameterError(
                f"orders must be 1, or finite and at least {LEAST_ORDER}, got {orders!r}.",
                code="E-ORDER-RANGE",
            )
        if self.bounds.ndim != 2 or self.bounds.shape[1] != len(self.orders) or not np.all(self.bounds >= 0):
            raise InvalidParameterError(
                f"bounds must hold a number of at least 0 for each claim and order, got {bounds!r}.",
                code="E-DIVERGENCE-RANGE",
            )
        given = np.asarray(weights, dtype=float)
        self.chosen = np.flatnonzero(given)
        shares = _capital_shares(len(self.orders), given[self.chosen])
        shape = (len(self.bounds), *shares.shape)
        self._weights = np.append((1 - FOLLOW) * shares.ravel(), FOLLOW)
        self.experts: Floats = np.zeros(shape)
        self._follower: Floats = np.zeros(shape[0])
        #: Sums of the past payoffs of both directions at stake 1, and their number.
        self._sums: Floats = np.zeros((2, *shape[:-1]))
        self._pairs = 0

    @property
    def log_wealth(self) -> Floats:
        """Return the log of the wealth against each claim, shape (J,)."""
        logs = self.experts.reshape(len(self.experts), -1)
        return log_average(np.column_stack([logs, self._follower]), self._weights, axis=1)

    def keep(self, claims: NDArray[np.bool_]) -> None:
        """Continue against these claims only, shape (J,)."""
        self.bounds, self.experts = self.bounds[claims], self.experts[claims]
        self._follower, self._sums = self._follower[claims], self._sums[:, claims]

    def update(self, block: CellBlock) -> Floats:
        """Bet on one block, and return ``log_wealth`` after it, shape (J,)."""
        block = block.of(self.chosen)
        first, second = payoffs(block.known, self.orders, self.bounds, places=block.places)
        gains = self._log_gains(first, second, block)
        flat, rows = self.experts.reshape(len(gains), -1), np.arange(len(gains))
        leader = np.argmax(flat, axis=1)
        copied = np.where(flat[rows, leader] > 0, gains.reshape(len(gains), -1)[rows, leader], 0.0)
        self._follower = self._follower + copied
        self.experts = self.experts + gains
        self._sums = self._sums + _sums(block.seen[0], first) + _sums(block.seen[1], second)
        self._pairs += block.pairs
        return self.log_wealth

    def _log_gains(self, first: Floats, second: Floats, block: CellBlock) -> Floats:
        """Return the log of the factor by which a block multiplies each part, shape (J, D, S, E, Z)."""
        gains = np.zeros(self.experts.shape)
        active = np.nonzero((self._sums > 0).any(axis=0))  # the others have no stake
        means = np.stack([part[active] for part in self._sums]) / (self._pairs + PRIOR_PAIRS)
        own, other = (np.stack([part[active] for part in paid]) for paid in (first, second))
        share, seen = _shares(block.known)[:, active[-1]], block.seen[:, active[-1]]
        moments = [
            _totals(share[0], own[i] * own[j]) + _totals(share[1], other[i] * other[j])
            for i, j in ((0, 0), (1, 1), (0, 1))
        ]
        stakes = _kelly(means, *moments)
        sized = [_resized(stakes, size, *moments) for size in SIZES]
        gains[active] = np.stack([_log_factors(seen, own, other, item) for item in sized], axis=-1)
        return gains


def _capital_shares(orders: int, weights: Floats) -> Floats:
    """Return the shares of the capital, shape (D, S, E, Z), with sum 1."""
    if not np.all(weights >= 0) or not weights.sum() > 0:
        raise InvalidParameterError(
            f"weights must be at least 0 with a positive sum, got {weights}.", code="E-WEIGHTS-SUM"
        )
    first = FIRST_ORDER if orders > 1 else 1.0
    of_orders = np.append(first, np.full(orders - 1, (1 - first) / max(orders - 1, 1)))
    alike = np.full((len(SCORES), 1, len(SIZES)), 1 / (len(SCORES) * len(SIZES)))
    shares: Floats = of_orders[:, None, None, None] * alike * (weights / weights.sum())[:, None]
    return shares


def _shares(known: NDArray[np.number]) -> Floats:
    """Return the estimated probabilities of the cells on each input, shape (2, E, C)."""
    smooth = known + PSEUDO_COUNT
    shares: Floats = smooth / smooth.sum(axis=-1, keepdims=True)
    return shares


def payoffs(
    known: NDArray[np.number], orders: Floats, bounds: Floats, *, places: Floats | None = None
) -> tuple[Floats, Floats]:
    """Return what each direction pays on the first and on the second input, both (2, J, D, S, E, C).

    Under the claims, the sum of both means is at most 0 for each direction, because E_P g <= E_Q h.

    Parameters
    ----------
    known : array, shape (2, E, C)
        Past counts by input, expert and cell.
    orders, bounds : array, shapes (D,) and (J, D)
        The claimed bounds on the divergences.
    places : array, shape (E, C), optional
        Typical past value of the feature in each cell, or NaN.
    """
    share, score = _shares(known), _scores(known, places)
    one = [_bounding(score, share, order, bounds[:, k]) for k, order in enumerate(orders)]
    two = [_bounding(-score, share[::-1], order, bounds[:, k]) for k, order in enumerate(orders)]
    first = np.stack([np.stack([g for g, _ in one], axis=1), np.stack([-h for _, h in two], axis=1)])
    second = np.stack([np.stack([-h for _, h in one], axis=1), np.stack([g for g, _ in two], axis=1)])
    return first, second


def _scores(known: NDArray[np.number], places: Floats | None) -> Floats:
    """Return the scores of all cells from their past counts, shape (S, E, C)."""
    ratio = np.log((known[0] + PSEUDO_COUNT) / (known[1] + PSEUDO_COUNT))
    fitted = ratio if places is None else _smooth_scores(known, places)
    found = [np.clip(power * (fitted if smooth else ratio), -clip, clip) for smooth, power, clip in SCORES]
    return np.stack(found)


def _smooth_scores(known: NDArray[np.number], places: Floats) -> Floats:
    """Return the log odds of a logistic regression on 1, x and x^2, for x the place of the cell, (E, C).

    A cell without a place has the score 0.
    """
    lost = np.isnan(places)
    wins, total = np.where(lost, 0.0, known[0]), np.where(lost, 0.0, known[0] + known[1])
    basis = _basis(np.nan_to_num(places), total)
    ridge = RIDGE * np.eye(basis.shape[-1])
    fit = np.zeros((len(basis), basis.shape[-1], 1))
    for _ in range(NEWTON_STEPS):
        odds = special.expit((basis @ fit)[..., 0])
        slope = np.einsum("eck,ec->ek", basis, wins - total * odds)[..., None] - ridge @ fit
        curvature = np.einsum("eck,ec,ecl->ekl", basis, total * odds * (1 - odds), basis) + ridge
        fit = fit + np.linalg.solve(curvature, slope)
    return np.where(lost, 0.0, (basis @ fit)[..., 0])


def _basis(x: Floats, weight: Floats) -> Floats:
    """Return 1, x and x^2 after x was given mean 0 and variance 1, shape (E, C, 3)."""
    total = np.maximum(weight.sum(axis=-1, keepdims=True), 1.0)
    x = x / np.maximum(np.abs(x).max(axis=-1, keepdims=True), np.finfo(float).tiny)  # squares are finite
    x = x - (weight * x).sum(axis=-1, keepdims=True) / total
    x = x / np.maximum(np.sqrt((weight * x**2).sum(axis=-1, keepdims=True) / total), 1e-9)
    return np.stack([np.ones_like(x), x, x**2], axis=-1)


def _bounding(score: Floats, share: Floats, order: float, bounds: Floats) -> tuple[Floats, Floats]:
    """Return g - m and h - m of one order against J bounds, both of shape (J, S, E, C).

    ``score`` has shape (S, E, C), and ``share``, of shape (2, E, C), estimates P and Q. m is the middle of
    the estimated means of g and h.
    """
    claimed = bounds[:, None, None, None]
    norm = np.log((share[1] * np.exp(order * score)).sum(axis=-1, keepdims=True))
    power = np.exp(order * score - norm)
    if order == 1:
        g, h = np.broadcast_to(score - norm, (len(bounds), *score.shape)), power - 1 + claimed
    else:
        g = np.exp((order - 1) * (score - norm / order - claimed / order))
        h = np.broadcast_to(1 / order + (1 - 1 / order) * power, g.shape)
    middle = 0.5 * (share[0] * g + share[1] * h).sum(axis=-1, keepdims=True)
    return g - middle, h - middle


def _sums(counts: NDArray[np.number], paid: Floats) -> Floats:
    """Return ``_totals`` of payoffs of shape (..., E, C), by one matrix product for each expert."""
    total: Floats = np.einsum("...ec,ec->...e", paid, counts.astype(float), optimize=True)
    return total


def _totals(counts: NDArray[np.number], paid: Floats) -> Floats:
    """Return the sum of what is paid for ``counts`` outputs (or probabilities) of each cell."""
    total: Floats = (paid * counts).sum(axis=-1)
    return total


def _kelly(means: Floats, own: Floats, other: Floats, mixed: Floats) -> Floats:
    """Return the stakes s >= 0 that maximise s.mean - s.M.s/2 for the second moments M of two payoffs."""
    tiny = np.finfo(float).tiny
    alone = np.maximum(means, 0) / np.maximum(np.stack([own, other]), tiny)
    determinant = np.maximum(own * other - mixed**2, tiny)
    both = np.stack([means[0] * other - means[1] * mixed, means[1] * own - means[0] * mixed]) / determinant
    worth = alone * np.maximum(means, 0)
    single = np.where([worth[0] >= worth[1], worth[1] > worth[0]], alone, 0.0)
    inside = (both > 0).all(axis=0) & (determinant > 1e-9 * own * other)
    found: Floats = np.where(inside, both, single)
    return found


def _resized(stakes: Floats, size: float, own: Floats, other: Floats, mixed: Floats) -> Floats:
    """Return the stakes in the same proportion, so that the pay has the standard deviation ``size``."""
    if not size:
        return stakes
    deviation = np.sqrt(stakes[0] ** 2 * own + stakes[1] ** 2 * other + 2 * stakes[0] * stakes[1] * mixed)
    return stakes * (size / np.where(deviation > 0, deviation, 1.0))


def _log_factors(seen: NDArray[np.number], own: Floats, other: Floats, stakes: Floats) -> Floats:
    """Return the log of the factor of n bets, shape (n,), for counts (2, n, C) and payoffs (2, n, C) each."""
    first, second = ((stakes[..., None] * paid).sum(axis=0) for paid in (own, other))
    loss = np.maximum(-first.min(axis=-1), -second.min(axis=-1))
    scale = (LARGEST_LOSS / np.maximum(loss, LARGEST_LOSS))[:, None]
    return _totals(seen[0], np.log1p(scale * first)) + _totals(seen[1], np.log1p(scale * second))
