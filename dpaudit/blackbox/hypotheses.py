"""What a claim says about any one event, as (epsilon, delta) points, and the family of claims around it.

A claim of GDP, zCDP or Rényi DP implies (epsilon, delta)-DP for every delta at once, and a stated profile
says so at its own points. The capital against such a claim is divided among several of these points: the
mixture of e-processes is one, and refuting a point refutes the claim that implies it. Every delta is the
upper end of a ball, every epsilon the upper end of a ball or the number that delta was computed at, so what
is bet against is never stronger than the claim.

The family holds the same claim at other values of what it bounds, weaker ones above: its values are ordered
so that each claim implies those after it, which is what a lower bound needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

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

#: What is tested is the claim a little loosened, so that a rejection refutes with the judge's margins.
RELATIVE_MARGIN = 1e-8
DELTA_MARGIN = 2e-12
MAX_EPSILON = 40.0

#: Where the Gaussian curve is bet on: at the privacy losses so many deviations above the mean.
GAUSSIAN_LOSSES = (-0.4, 0.0, 0.6, 1.2, 2.0, 3.0)
#: Deltas at which the epsilon that a bound on Rényi divergences implies is bet on.
RENYI_DELTAS = tuple(Fraction(1, n) for n in (2, 4, 10, 30, 100, 1000))
#: From this order on conversions say more than the total variation.
WELL_CONVERTED = 2

#: Values of the family, as multiples of the claimed one.
BELOW = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.96, 0.98])
ABOVE = np.concatenate([1.03 ** np.arange(1, 14), 1.5 * 1.05 ** np.arange(100)])

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Points:
    """(epsilon, delta) points that one claim implies. ``epsilons`` and ``deltas``: shape (K,)."""

    epsilons: Floats
    deltas: Floats

    @property
    def weights(self) -> Floats:
        """The share of the capital that each point gets, shape (K,)."""
        return np.full(len(self.epsilons), 1.0 / len(self.epsilons))


@dataclass(frozen=True)
class Family:
    """Claims that differ in ``value``, each of which implies those of larger values.

    ``values``: shape (J,), increasing, the tested value at ``place``. ``points_at``: from a value to the
    points that the claim with it implies, the same number for all values.
    """

    values: Floats
    place: int
    points_at: Callable[[float], Points]

    @property
    def tested(self) -> Points:
        """The points that the claim itself implies, a little loosened."""
        return self.points_at(float(self.values[self.place]))

    def points(self, values: Sequence[float] | Floats) -> tuple[Floats, Floats]:
        """Epsilons and deltas of the claims with these values, both of shape (J, K)."""
        found = [self.points_at(float(value)) for value in values]
        return np.stack([item.epsilons for item in found]), np.stack([item.deltas for item in found])


def family_of(claim: PrivacyClaim) -> Family:
    """The family of ``claim``.

    Raises ``InvalidParameterError`` for a claim of another kind, or one that no sample can refute.
    """
    points_at = _points_of(claim)
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
    """All (epsilon, ``delta``)-DP claims at one delta in [0, 1), by their epsilon; none of them is
    claimed."""
    values = np.concatenate([0.01 * 1.15 ** np.arange(33), 1.05 ** np.arange(76)])
    return Family(values, -1, lambda value: _point(value, delta))


def deltas_at(epsilon: float) -> Family:
    """All (``epsilon``, delta)-DP claims at one epsilon >= 0, by their delta; none of them is claimed."""
    values = np.array([1e-6 * 1.5**k for k in range(35)])
    return Family(values, -1, lambda value: _point(epsilon, value))


def _point(epsilon: float, delta: float) -> Points:
    return Points(np.array([epsilon]), np.array([delta]))


def _power(claim: PrivacyClaim) -> float:
    """rho and the Rényi divergence of a Gaussian grow with the square of its mean."""
    return 2.0 if isinstance(claim, ZeroConcentratedDP | RenyiDP) else 1.0


def _points_of(claim: PrivacyClaim) -> Callable[[float], Points]:
    if isinstance(claim, PureDP):
        return lambda value: _point(value, 0.0)
    if isinstance(claim, ApproxDP):
        epsilon = rounded_up(exact(claim.epsilon))
        return lambda value: _point(epsilon, value)
    if isinstance(claim, GaussianDP):
        return _gaussian_points
    if isinstance(claim, ZeroConcentratedDP):
        return _concentrated_points
    if isinstance(claim, RenyiDP):
        order = exact(claim.order)
        return lambda value: _renyi_points(value, order)
    if isinstance(claim, Profile):
        stated = claim.exact_points
        return lambda value: _bounded(
            [epsilon for epsilon, _ in stated], [delta + Fraction(value) for _, delta in stated]
        )
    raise InvalidParameterError(
        f"a black-box check needs a PureDP, ApproxDP, GaussianDP, ZeroConcentratedDP, RenyiDP or Profile "
        f"claim, got {type(claim).__name__}; convert it to one of these."
    )


@lru_cache(maxsize=2048)
def _gaussian_points(mu: float) -> Points:
    """The exact curve of N(0, 1) against N(mu, 1) at fixed quantiles of its loss, which is N(mu^2/2,
    mu^2)."""
    epsilons = np.unique(np.clip([mu * (mu / 2 + z) for z in GAUSSIAN_LOSSES], 0.0, MAX_EPSILON))
    epsilons = np.resize(epsilons, len(GAUSSIAN_LOSSES))  # where several are 0, the first ones count twice
    return _bounded(
        [Fraction(epsilon) for epsilon in epsilons],
        [gaussian_delta(Fraction(mu) ** 2, Fraction(epsilon)) for epsilon in epsilons],
    )


@lru_cache(maxsize=2048)
def _concentrated_points(rho: float) -> Points:
    divergence = Fraction(rho)
    orders = [best_order(divergence, delta) for delta in RENYI_DELTAS]
    return _converted_points([(divergence * order, order) for order in orders])


@lru_cache(maxsize=2048)
def _renyi_points(divergence: float, order: Fraction) -> Points:
    found = _converted_points([(Fraction(divergence), order)] * len(RENYI_DELTAS))
    if order >= WELL_CONVERTED:
        return found
    # The Kullback-Leibler divergence is below those of higher order and bounds the total variation, which is
    # delta at epsilon 0 (Pinsker; Bretagnolle and Huber 1979). Rounded up.
    variation = min(math.sqrt(divergence / 2), math.sqrt(-math.expm1(-divergence))) * (1 + RELATIVE_MARGIN)
    return Points(np.append(found.epsilons, 0.0), np.append(found.deltas, min(variation, 1.0)))


def _converted_points(bounds: Sequence[tuple[Fraction, Fraction]]) -> Points:
    """(divergence, order)-RDP as epsilon at each of ``RENYI_DELTAS``; a negative one is bet on as 0."""
    epsilons = [
        upper_exact(converted(ball(divergence), order, delta))
        for (divergence, order), delta in zip(bounds, RENYI_DELTAS, strict=True)
    ]
    return _bounded(epsilons, RENYI_DELTAS)


def _bounded(epsilons: Sequence[Fraction], deltas: Sequence[Fraction]) -> Points:
    """The points in floats, rounded up; those beyond ``MAX_EPSILON`` become one that says nothing."""
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
    """Some point says something, and none is beyond the numbers that are bet with."""
    if isinstance(claim, PureDP | ApproxDP) and tested.epsilons[0] > MAX_EPSILON:
        raise InvalidParameterError(
            f"epsilon must be at most {MAX_EPSILON:g} here, got {tested.epsilons[0]:g}; no sample could "
            "refute it."
        )
    if np.all((tested.deltas >= 1) | (tested.epsilons > MAX_EPSILON)):
        raise InvalidParameterError(
            f"delta must be below 1 at some epsilon up to {MAX_EPSILON:g}, got 1 everywhere by the "
            "conversions that are used here; samples could refute nothing of it."
        )
