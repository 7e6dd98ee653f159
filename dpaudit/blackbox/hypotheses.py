"""Express a claim as (epsilon, delta) points, and as a member of a family of claims.

A claim of GDP, zCDP or Rényi DP implies (epsilon, delta)-DP for every delta, and a stated profile implies it
at its points. The capital against such a claim is divided among several of these points. The mixture of their
e-processes is an e-process, and refuting a point refutes the claim that implies it. Every delta is the upper
end of a ball. Every epsilon is the upper end of a ball, or the number at which delta was computed. The tested
points are therefore never stronger than the claim.

A claim of GDP, zCDP or Rényi DP also bounds Rényi divergences, which are tested by their variational forms
(``statistics.divergences``). mu-GDP implies mu^2/2-zCDP (Dong, Roth & Su 2022, corollary B.6), rho-zCDP is
D_a <= rho a for every a > 1, and D_a increases with the order, down to the Kullback-Leibler divergence D_1
(van Erven & Harremoës 2014, theorems 3 and 5). Half of the capital is for the points, half for the
divergences.

The family holds the same claim with other values of the bounded quantity, in increasing order. Each claim
implies the later ones, as a lower bound requires.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpaudit.blackbox.statistics.divergences import LEAST_ORDER
from dpaudit.core.claims import (
    ApproxDP,
    GaussianDP,
    PrivacyClaim,
    Profile,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpaudit.core.conversions import best_order, converted
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import exact, rounded_up
from dpaudit.kernel.ball import ball, upper_exact
from dpaudit.kernel.t2.gaussian import gaussian_delta

__all__ = ["MAX_EPSILON", "Family", "Points", "deltas_at", "epsilons_at", "family_of"]

#: The tested claim is slightly weaker than the stated one, so that a rejection refutes it beyond the margins
#: of ``judge``.
RELATIVE_MARGIN = 1e-8
DELTA_MARGIN = 2e-12
MAX_EPSILON = 40.0

#: Points of the Gaussian curve that are tested: privacy losses this many deviations above the mean.
GAUSSIAN_LOSSES = (-0.4, 0.0, 0.6, 1.2, 2.0, 3.0)
#: Deltas at which the epsilon implied by a bound on Rényi divergences is tested.
RENYI_DELTAS = tuple(Fraction(1, n) for n in (2, 4, 10, 30, 100, 1000))
#: The same for tests whose level grows with delta times the number of records.
SMALL_LOSSES, SMALL_DELTAS = (3.5, 4.0, 4.5, 5.0), tuple(Fraction(1, 10**k) for k in (4, 5, 6, 7))
#: Orders of Rényi divergences that are tested, as far as the claim bounds them. Few outputs show more about a
#: larger order than the point of a small delta does.
ORDERS = (1, Fraction(3, 2), 2, 4, 8, 32)
#: From this order on, conversions give stronger bounds than the total variation.
WELL_CONVERTED = 2

#: Values of the family, as multiples of the claimed value.
BELOW = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.96, 0.98])
ABOVE = np.concatenate([1.03 ** np.arange(1, 14), 1.5 * 1.05 ** np.arange(100)])

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Points:
    """What a claim implies, or each of several claims (then the arrays have a leading axis of J claims).

    Attributes
    ----------
    epsilons, deltas : array, shape (K,)
        (epsilon, delta) points.
    orders : array, shape (D,)
        Orders of Rényi divergences, where 1 is the Kullback-Leibler divergence. Default: none.
    divergences : array, shape (D,)
        Their upper bounds.
    """

    epsilons: Floats
    deltas: Floats
    orders: Floats = field(default_factory=lambda: np.zeros(0))
    divergences: Floats = field(default_factory=lambda: np.zeros(0))

    @property
    def middle(self) -> tuple[float, float]:
        """Return the middle (epsilon, delta) point of one claim, which splits and notes use."""
        place = len(self.epsilons) // 2
        return float(self.epsilons[place]), float(self.deltas[place])

    @property
    def stacked(self) -> Points:
        """Return the points of one claim with a leading axis of one claim."""
        return Points(self.epsilons[None], self.deltas[None], self.orders, self.divergences[None])

    def at(self, claims: slice) -> Points:
        """Return the points of some of the claims."""
        return Points(self.epsilons[claims], self.deltas[claims], self.orders, self.divergences[claims])

    @property
    def share(self) -> float:
        """Return the share of one (epsilon, delta) point in the capital."""
        points: int = self.epsilons.shape[-1]
        return (0.5 if len(self.orders) else 1.0) / points


@dataclass(frozen=True)
class Family:
    """Claims with different values, each of which implies the claims with larger values.

    Attributes
    ----------
    values : array, shape (J,)
        Increasing values.
    place : int
        Index of the tested value.
    points_at : callable
        Maps a value to the points that its claim implies. Their number is the same for all values.
    """

    values: Floats
    place: int
    points_at: Callable[[float], Points]

    @property
    def tested(self) -> Points:
        """Return the points of the tested claim, which is slightly weaker than the stated claim."""
        return self.points_at(float(self.values[self.place]))

    def points(self, values: Sequence[float] | Floats) -> Points:
        """Return what the claims with these J values imply."""
        found = [self.points_at(float(value)) for value in values]
        return Points(
            np.stack([item.epsilons for item in found]),
            np.stack([item.deltas for item in found]),
            found[0].orders,
            np.stack([item.divergences for item in found]),
        )


def family_of(claim: PrivacyClaim, *, small: bool = False) -> Family:
    """Return the family of ``claim``, at points with a ``small`` delta if its bound leaves the choice.

    Raises ``InvalidParameterError`` if the claim is of another kind, or no sample can refute it.
    """
    points_at = _points_of(claim, small=small)
    if isinstance(claim, ApproxDP):
        values, place = _delta_values(float(exact(claim.delta)))
    elif isinstance(claim, Profile) or not claim.bound:
        values, place = _excess_values()
    else:
        values, place = _scaled_values(float(claim.bound or 0) * (1 + RELATIVE_MARGIN), power=_power(claim))
    family = Family(values, place, points_at)
    _require_refutable(claim, family.tested)
    return family


def epsilons_at(delta: float) -> Family:
    """Return the family of (epsilon, ``delta``)-DP claims at one delta in [0, 1), without a tested one."""
    values = np.concatenate([0.01 * 1.15 ** np.arange(33), 1.05 ** np.arange(76)])
    return Family(values, -1, lambda value: _point(value, delta))


def deltas_at(epsilon: float) -> Family:
    """Return the family of (``epsilon``, delta)-DP claims at one epsilon >= 0, without a tested one."""
    values = np.array([1e-6 * 1.5**k for k in range(35)])
    return Family(values, -1, lambda value: _point(epsilon, value))


def _point(epsilon: float, delta: float) -> Points:
    return Points(np.array([epsilon]), np.array([delta]))


def _power(claim: PrivacyClaim) -> float:
    """Return the power of the mean with which the bounded quantity of a Gaussian grows.

    It is 2 for rho and Rényi divergences.
    """
    return 2.0 if isinstance(claim, ZeroConcentratedDP | RenyiDP) else 1.0


def _points_of(claim: PrivacyClaim, *, small: bool) -> Callable[[float], Points]:
    losses, at = (SMALL_LOSSES, SMALL_DELTAS) if small else (GAUSSIAN_LOSSES, RENYI_DELTAS)
    if isinstance(claim, PureDP):
        return lambda value: _point(value, 0.0)
    if isinstance(claim, ApproxDP):
        epsilon = rounded_up(exact(claim.epsilon))
        return lambda value: _point(epsilon, value)
    if isinstance(claim, GaussianDP):
        return lambda value: _gaussian_points(value, losses)
    if isinstance(claim, ZeroConcentratedDP):
        return lambda value: _concentrated_points(value, at)
    if isinstance(claim, RenyiDP):
        order = exact(claim.order)
        return lambda value: _renyi_points(value, order, at)
    if isinstance(claim, Profile):
        stated = claim.exact_points
        return lambda value: _bounded(
            [epsilon for epsilon, _ in stated], [delta + Fraction(value) for _, delta in stated]
        )
    raise InvalidParameterError(
        "claim must be PureDP, ApproxDP, GaussianDP, ZeroConcentratedDP, RenyiDP or Profile, got "
        f"{type(claim).__name__}.",
        code="E-CLAIM-KIND",
    )


@lru_cache(maxsize=2048)
def _gaussian_points(mu: float, losses: tuple[float, ...]) -> Points:
    """Return points of the exact curve of N(0, 1) against N(mu, 1), at fixed quantiles of its privacy loss.

    The loss is distributed as N(mu^2/2, mu^2).
    """
    epsilons = np.unique(np.clip([mu * (mu / 2 + z) for z in losses], 0.0, MAX_EPSILON))
    epsilons = np.resize(epsilons, len(losses))  # if several are 0, the first epsilons count twice
    points = _bounded(
        [Fraction(epsilon) for epsilon in epsilons],
        [gaussian_delta(Fraction(mu) ** 2, Fraction(epsilon)) for epsilon in epsilons],
    )
    return _with_divergences(points, [(order, Fraction(mu) ** 2 / 2 * order) for order in ORDERS])


@lru_cache(maxsize=2048)
def _concentrated_points(rho: float, deltas: tuple[Fraction, ...]) -> Points:
    divergence = Fraction(rho)
    orders = [best_order(divergence, delta) for delta in deltas]
    points = _converted_points([(divergence * order, order) for order in orders], deltas)
    return _with_divergences(points, [(order, divergence * order) for order in ORDERS])


@lru_cache(maxsize=2048)
def _renyi_points(divergence: float, order: Fraction, deltas: tuple[Fraction, ...]) -> Points:
    found = _converted_points([(Fraction(divergence), order)] * len(deltas), deltas)
    top = order if order >= LEAST_ORDER else Fraction(1)
    tested = sorted({min(Fraction(low), top) for low in ORDERS}, reverse=True)
    found = _with_divergences(found, [(low, Fraction(divergence)) for low in tested])
    if order >= WELL_CONVERTED:
        return found
    # The Kullback-Leibler divergence is at most a divergence of higher order, and bounds the total variation,
    # which is delta at epsilon 0 (Pinsker; Bretagnolle and Huber 1979). The bound is rounded up.
    variation = min(math.sqrt(divergence / 2), math.sqrt(-math.expm1(-divergence))) * (1 + RELATIVE_MARGIN)
    return replace(
        found,
        epsilons=np.append(found.epsilons, 0.0),
        deltas=np.append(found.deltas, min(variation, 1.0)),
    )


def _with_divergences(points: Points, bounds: Sequence[tuple[Fraction | int, Fraction]]) -> Points:
    """Add bounds on the divergences of several orders, rounded up.

    Orders are rounded down to a float. The divergence of the smaller order has the same bound.
    """
    orders = np.array([_rounded_down(order) for order, _ in bounds])
    return replace(points, orders=orders, divergences=np.array([rounded_up(bound) for _, bound in bounds]))


def _rounded_down(number: Fraction | int) -> float:
    return -rounded_up(Fraction(-number))


def _converted_points(bounds: Sequence[tuple[Fraction, Fraction]], deltas: Sequence[Fraction]) -> Points:
    """Convert (divergence, order)-RDP to epsilon at each of ``deltas``, with negative values as 0."""
    epsilons = [
        upper_exact(converted(ball(divergence), order, delta))
        for (divergence, order), delta in zip(bounds, deltas, strict=True)
    ]
    return _bounded(epsilons, deltas)


def _bounded(epsilons: Sequence[Fraction], deltas: Sequence[Fraction]) -> Points:
    """Return the points as floats, rounded up. Points beyond ``MAX_EPSILON`` become uninformative."""
    kept = [(max(0.0, rounded_up(e)), rounded_up(d)) for e, d in zip(epsilons, deltas, strict=True)]
    kept = [(e, min(d, 1.0)) if e <= MAX_EPSILON else (MAX_EPSILON, 1.0) for e, d in kept]
    return Points(np.array([e for e, _ in kept]), np.array([d for _, d in kept]))


def _scaled_values(tested: float, *, power: float) -> tuple[Floats, int]:
    above = tested * ABOVE**power
    return np.concatenate([tested * BELOW**power, [tested], above[above < MAX_EPSILON]]), len(BELOW)


def _delta_values(claimed: float) -> tuple[Floats, int]:
    tested = max(claimed * (1 + RELATIVE_MARGIN), claimed + DELTA_MARGIN)
    above = tested * 1.15 ** np.arange(1, 250)
    return np.concatenate([tested * BELOW, [tested], above[above < 1.0]]), len(BELOW)


def _excess_values() -> tuple[Floats, int]:
    above = 1e-7 * 1.3 ** np.arange(62)
    return np.concatenate([[DELTA_MARGIN], above[above < 1.0]]), 0


def _require_refutable(claim: PrivacyClaim, tested: Points) -> None:
    """Require that some tested point can be refuted by samples."""
    if isinstance(claim, PureDP | ApproxDP) and tested.epsilons[0] > MAX_EPSILON:
        raise InvalidParameterError(
            f"epsilon must be at most {MAX_EPSILON:g} in a check, got {tested.epsilons[0]:g}.",
            code="E-CLAIM-NOT-REFUTABLE",
        )
    if np.all((tested.deltas >= 1) | (tested.epsilons > MAX_EPSILON)):
        raise InvalidParameterError(
            f"claim must imply a delta below 1 at some epsilon up to {MAX_EPSILON:g}, but the conversions of "
            "a check give 1 everywhere.",
            code="E-CLAIM-NOT-REFUTABLE",
        )
