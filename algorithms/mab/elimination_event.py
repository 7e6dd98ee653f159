"""The event E of elimination in batches: every active arm's decoded mean is within β(b) of its mean.

The probability that E fails is bounded from both sides. From below: K arms that all give 0, or all 1. While E
holds none of them is eliminated, so the batches are independent. One arm fails if its noise exceeds τ: the
analyzer then decodes the wrap as a sum near the other end. The result is a product of tails.

From above, for all reward distributions in [0, 1]. A wrap needs noise below -τ - Σ x̂ or above τ + n g - Σ
x̂. The sum of both probabilities is convex in Σ x̂ (so is the tail of a symmetric unimodal distribution),
hence largest at an end. Without a wrap Hoeffding's lemma covers sampling and rounding jointly, since x̂/g
lies in [0, 1] and has the reward's mean, and the noise has Chernoff's bound; β is shared between the two.

Theorem 3's S may output a wrong sum with probability q. From above that adds q for every sum, for any S. From
below S is ``GarbledSum``, which outputs the residue opposite to the true one.

Computed in floats, a few operations deep; ``ROUNDING`` covers their errors. The bound from Assumption 1 alone
is in balls.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpaudit.kernel.ball import arb, ball
from dpaudit.reference.algorithms.mab.batched_elimination import batch_length, confidence_radius
from dpaudit.reference.algorithms.mab.distributed_elimination import DESIGNS, Design, Variant, variant
from dpaudit.reference.mechanisms.discrete_gaussian_sum import DiscreteGaussianSum
from dpaudit.reference.mechanisms.parameter_sheet import Sheet

__all__ = [
    "Margin",
    "Race",
    "arm_failure",
    "assumption_failure",
    "corner_failure",
    "failure_bound",
    "noise_tail",
    "tied_failure",
]

Floats = NDArray[np.float64]
Margin = Literal["printed", "by batch"]

#: Relative errors: of sums and products of floats, and of a tail that rests on differences of log p.
ROUNDING, SLOPES = 1e-9, 1e-5
#: Shares of β's budget that go to the noise; every share gives a valid bound.
SHARES = np.concatenate([np.geomspace(1e-6, 0.05, 6), np.linspace(0.1, 0.95, 15)])
#: Stretches of a log-concave tail, and the largest g/ε for which a Gaussian sum is tabulated.
PIECES, LONGEST_TABLE = 3, 2**12


@dataclass(frozen=True, kw_only=True)
class Race:
    """Algorithm 1 with all its public parameters.

    ``margin`` selects the failure probability of τ: "printed" is p in every batch, "by batch" is p/(K n) in a
    batch of n users, so that the probabilities of all arms and batches add up to p. All means are at least
    ``away`` from 0 and 1. With ``relaxed``, for Theorem 3, S is off with probability up to q = p', the level
    of the sheet.
    """

    name: str
    epsilon: Fraction
    n_arms: int
    horizon: int
    failure_prob: Fraction | Literal["1/T"] = "1/T"
    scale_factor: int = 1
    growth: Fraction = Fraction(2)
    margin: Margin = "printed"
    away: Fraction = Fraction(0)
    relaxed: bool = False

    def in_words(self) -> str:
        return f"K = {self.n_arms}, T = {self.horizon}, p = {float(self.p):.3g}, ε = {self.epsilon}"

    @property
    def p(self) -> Fraction:
        """Return the failure probability as a number."""
        return Fraction(1, self.horizon) if self.failure_prob == "1/T" else self.failure_prob

    @property
    def design(self) -> Design:
        return DESIGNS[self.name]

    @property
    def variant(self) -> Variant:
        return _variant(
            self.name,
            self.epsilon,
            self.p,
            self.scale_factor,
            self.n_arms if self.margin == "by batch" else None,
        )

    def length(self, batch: int) -> int:
        return batch_length(batch, growth=self.growth)

    def secagg_error(self, sheet: Sheet) -> float:
        """Return q of one sum."""
        return float(sheet.tail_prob) if self.relaxed else 0.0

    def batches(self, n_active: int = 2) -> int:
        """Return the last batch that ``n_active`` arms finish within the horizon, if none is eliminated."""
        batch = used = 0
        while (used := used + n_active * self.length(batch + 1)) <= self.horizon:
            batch += 1
        return batch

    def radius(self, batch: int, n_active: Any = None) -> Floats:
        """Return β(b) with ``n_active`` arms, a number or an array (default: all K)."""
        length = self.length(batch)
        active = self.n_arms if n_active is None else n_active
        tail = self.variant.tail(length)
        return confidence_radius(batch, active, length, failure_prob=float(self.p), tail=tail)


@lru_cache(maxsize=1024)
def _variant(name: str, epsilon: Fraction, p: Fraction, s: int, arms: int | None) -> Variant:
    level = None if arms is None else lambda users: p / (arms * users)
    return variant(name, epsilon=epsilon, failure_prob=p, scale_factor=s, margin_prob=level)


# From above: all reward distributions


@lru_cache(maxsize=1024)
def failure_bound(race: Race) -> float:
    """Bound P[not E] over all instances of K arms with rewards in [0, 1] (and means ``away`` from the ends).

    The bound holds up to the horizon. Given the past, batch b fails with probability at most |Φ(b)| times the
    probability for one arm; the worst |Φ| counts.
    """
    active = np.arange(2, race.n_arms + 1)
    batches = range(1, race.batches() + 2)  # the last batch may be complete for one arm only
    total = sum(float((active * arm_failure(race, batch, active)).max()) for batch in batches)
    return min(1.0, total * (1 + ROUNDING))


def arm_failure(race: Race, batch: int, n_active: Any) -> Floats:
    """Bound P(|μ̂_a(b) - μ_a| > β(b)) for any reward distribution in [0, 1] (and, if ``relaxed``, any S).

    Elementwise in ``n_active``.
    """
    n = race.length(batch)
    sheet = race.variant.sheet(n)
    most, tau = n * sheet.precision, sheet.noise_margin
    budget = n * race.radius(batch, n_active) * (1 - ROUNDING)
    noise = np.floor(SHARES * budget[..., None] * sheet.precision)
    rest = budget[..., None] - noise / sheet.precision
    inside = 2 * _chernoff(race, sheet, noise + 1) + 2 * np.exp(-2 * rest**2 / n)
    other = _wrap_bound(race, sheet) + race.secagg_error(sheet)
    bound = np.minimum(1.0, (inside.min(axis=-1) + other) * (1 + ROUNDING))
    # Decoded sums are in [-τ/g, n + τ/g], true ones in [0, n].
    return np.asarray(np.where(budget * sheet.precision >= most + tau, 0.0, bound))


def _wrap_bound(race: Race, sheet: Sheet) -> float:
    """Bound the probability of a wrap that the analyzer does not undo."""
    most, tau = sheet.users * sheet.precision, sheet.noise_margin
    beyond = noise_tail(race, sheet, tau + 1)[1]
    anywhere = beyond + float(_chernoff(race, sheet, np.asarray(most + tau + 1.0)))
    # Away from the ends: Σ x̂ is n g u nearer to an end than its mean (Hoeffding), or the noise is larger.
    nearer = float(race.away) * SHARES
    farther = _chernoff(race, sheet, np.floor(tau + most * (float(race.away) - nearer)) + 1)
    inside = 2 * (np.exp(-2 * sheet.users * nearer**2) * beyond + farther)
    return min(anywhere, float(inside.min()))


def _chernoff(race: Race, sheet: Sheet, k: Floats) -> Floats:
    """Bound P(N >= k), k >= 1, for a batch's total noise N.

    It is the discrete Laplace tail itself, and Chernoff's bound at its best exponent for the other
    distributions.
    """
    if race.design.noise == "gaussian":  # each share is sub-Gaussian with its parameter (Fact 2)
        return np.asarray(np.exp(-(k**2) / (2 * (sheet.precision / float(race.epsilon)) ** 2)))
    if race.design.noise == "skellam":
        return _skellam_bound((sheet.precision / float(race.epsilon)) ** 2, k)
    rate = race.design.pole(sheet, race.epsilon)
    if race.design.noise == "laplace of each user":
        return _laplace_sum_bound(rate, sheet.users, k)
    return np.asarray(np.exp(-rate * (k - 1)) / (math.exp(rate) + 1))


def _skellam_bound(variance: float, k: Floats) -> Floats:
    theta = np.arcsinh(k / variance)
    return np.asarray(np.exp(np.minimum(2 * variance * np.sinh(theta / 2) ** 2 - theta * k, 0.0)))


def _laplace_sum_bound(rate: float, terms: int, k: Floats) -> Floats:
    """Bound the tail at the best θ, which solves n sinh θ + k cosh θ = k cosh a, a quadratic equation for
    e^θ.
    """
    root = np.sqrt((k * math.sinh(rate)) ** 2 + float(terms) ** 2)
    theta = np.log1p((2 * k * math.sinh(rate / 2) ** 2 + root - terms) / (k + terms))
    # E exp(θN) = (1 - (sinh(θ/2)/sinh(a/2))²)^{-n}
    logs = -terms * np.log1p(-((np.sinh(theta / 2) / math.sinh(rate / 2)) ** 2)) - theta * k
    return np.asarray(np.exp(np.minimum(logs, 0.0)))


# Tails from both sides


def noise_tail(race: Race, sheet: Sheet, k: int) -> tuple[float, float]:
    """Bound P(N >= k), k >= 1, for the total noise N of one batch of ``sheet`` from below and above."""
    if race.design.noise in ("skellam", "laplace of each user"):
        return _log_concave_tail(sheet, k)
    upper = float(_chernoff(race, sheet, np.asarray(float(k))))
    if race.design.noise == "gaussian":
        low, high = _gaussian_sum_tail(race.epsilon, sheet, k)
        return low, min(upper, high)
    return upper, upper


@lru_cache(maxsize=4096)
def _log_concave_tail(sheet: Sheet, k: int) -> tuple[float, float]:
    """Bound the tail of a log-concave distribution.

    Between two points log p lies above the chord, and beyond a point below the line through it and its right
    neighbour. ``PIECES`` stretches have about the length in which p falls by e.
    """
    distribution = sheet.total_noise()
    first, second = distribution.logp(np.array([k, k + 1]))
    step = max(1, round(1 / (first - second)))
    points = k + step * np.arange(PIECES + 1)
    here, right = distribution.logp(points), distribution.logp(points + 1)
    fall, drop = here[:-1] - here[1:], here - right
    chords = np.exp(here[:-1]) * np.expm1(-fall) / np.expm1(-fall / step)
    lines = np.exp(here) * np.append(-np.expm1(-drop[:-1] * step), 1.0) / -np.expm1(-drop)
    return float(chords.sum()) * (1 - SLOPES), float(lines.sum()) * (1 + SLOPES)


@lru_cache(maxsize=4096)
def _gaussian_sum_tail(epsilon: Fraction, sheet: Sheet, k: int) -> tuple[float, float]:
    """Bound from the table of the sum's distribution; 0 and 1 if the table would be too long."""
    if sheet.precision / epsilon > LONGEST_TABLE:
        return 0.0, 1.0
    distribution = DiscreteGaussianSum(
        sigma2=(sheet.precision / epsilon) ** 2 / sheet.users, terms=sheet.users
    )
    chances = distribution.probabilities[min(distribution.reach + k, 2 * distribution.reach + 1) :]
    slack = 1e-15 * (1 + len(chances))  # the table's error is about 1e-16 each
    return max(0.0, float(chances.sum()) - slack), float(chances.sum()) + slack


# From below: arms at an end of [0, 1]


@lru_cache(maxsize=1024)
def tied_failure(race: Race) -> float:
    """Return a lower bound on P[not E] for K arms that always give 0 (or always 1).

    It multiplies over the batches that all K complete. They are independent, since none of the tied arms is
    eliminated while E holds.
    """
    batches = range(1, race.batches(race.n_arms) + 1)
    log_holds = sum(race.n_arms * math.log1p(-corner_failure(race, batch)) for batch in batches)
    return max(0.0, -math.expm1(log_holds) * (1 - ROUNDING))


@lru_cache(maxsize=65536)
def corner_failure(race: Race, batch: int) -> float:
    """Return a lower bound on P(|μ̂_a(b) - μ_a| > β(b)) for an arm that always gives 0, all K arms active.

    By symmetry it holds for 1 too. It is exact for discrete Laplace noise, except for wraps by more than one
    modulus. S is ``GarbledSum`` if ``relaxed``.
    """
    n = race.length(batch)
    sheet = race.variant.sheet(n)
    most, tau = n * sheet.precision, sheet.noise_margin
    far = math.floor(most * float(race.radius(batch)) * (1 + ROUNDING))  # decoded g > far: a failure
    if not tau <= far < most + tau:
        return 0.0

    def beyond(k: int) -> float:
        return float(_chernoff(race, sheet, np.asarray(float(k))))

    wraps = noise_tail(race, sheet, tau + 1)[0] - beyond(
        sheet.modulus - far
    )  # decoded to far + 1, ..., ng + τ
    large = beyond(far + 1) - beyond(most + tau + 1) if race.design.noise == "laplace" else 0.0
    right, q, half = max(0.0, wraps) + large, race.secagg_error(sheet), sheet.modulus // 2
    if not q:
        return right
    # Garbled: half a modulus more, decoded to far + 1, ..., ng + τ unless the noise is far out.
    garbled = 1 - beyond(most + tau + 1 - half) - beyond(half - far) if far < half <= most + tau else 0.0
    return (1 - q) * right + q * max(0.0, garbled)


# From Assumption 1 alone


def assumption_failure(n_arms: int, p: Fraction, *, last: int, inside: int = 2) -> Any:
    """Return P[not E] up to batch ``last`` as a ball, for K tied arms with noise that exhausts Assumption 1.

    Rewards are constant and the noise is independent: P(|n_a| > h log(inside/p)) = 2p for every p <= 1/2,
    with h = 10^6 and σ = 0.
    """
    holds = arb(1)
    for batch in range(1, last + 1):
        squares = n_arms * batch**2 / p
        sampling = (
            2 ** (batch - 1) * ball(4 * squares).log()
        ).sqrt() / 10**6  # its part of l(b) β(b), over h
        holds *= (1 - 2 * inside * (-sampling).exp() / ball(2 * squares)) ** n_arms
    return 1 - holds
