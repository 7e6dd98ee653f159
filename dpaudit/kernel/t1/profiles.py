"""Dominating pairs from bounds on delta alone, for compositions.

``profile_pair`` serves mechanisms without a pair of their own, and ``maximum`` those with several.

Statement. Let d(e) bound delta at every e >= 0, for all neighbours in both directions, and let H(E) = H_E(P
|| P') for one of these pairs, E > 0. Then H is at most every chord of points (E_j, h_j) with E_j = 0 (h = 1),
E_j = e^e >= 1 (h = d(e)) and E_j = e^-e (h = 1 - E_j + E_j d(e)); beyond the last point it is at most the
last h. The upper distribution whose delta is a polygon of such chords dominates all pairs.

Proof. H falls and is convex, a supremum of linear functions P(S) - E P'(S); so a chord of two points that are
not below H is not below H between them. H(0) = 1; and H_E(P || P') = 1 - E + E H_{1/E}(P' || P) for E < 1, by
taking complements of events. A polygon with slopes s_j and a level c at the end is c + sum over its knots of
(s_{j+1} - s_j) (E_j - E)_+: the distribution with P mass E_j (s_{j+1} - s_j) at loss log E_j and c at
infinity. Rounding these masses up, a negative one to 0, can only raise it. ∎ (Zhu, Dong, Wang 2022,
Proposition 8.)

The choice of knots affects only tightness. The lower convex hull is chosen by the middles of balls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, fmpz

from dpaudit.kernel.ball import ball, integer, precision
from dpaudit.kernel.errors import InvalidParameterError
from dpaudit.kernel.t1.certpld import Grid, LossDistribution, check_points, from_masses
from dpaudit.kernel.t1.readout import probability
from dpaudit.kernel.t1.tier import Curve

__all__ = ["maximum", "profile_pair"]

#: Number of knots up to the point where delta is at most 2^-FAR, and from there to the pure bound.
KNOTS, BEYOND, FAR = 64, 8, 40
#: Largest loss that is considered.
LARGEST = 64


@dataclass(frozen=True)
class _Knot:
    """The point (E, h) of the polygon at the grid point ``index``. The first knot is at E = 0, off the
    grid.
    """

    at: arb
    height: arb
    index: int


def profile_pair(profile: Curve, pure: Fraction | None, grid: Grid) -> LossDistribution:
    """Return the upper distribution of the pair.

    ``profile`` is a curve from e >= 0 to a ball that bounds delta. It is 0 from ``pure`` on, if ``pure`` is
    given.
    """
    known: dict[int, Fraction] = {}

    def height(index: int) -> Fraction:
        if index not in known:
            e = index * grid.step
            known[index] = Fraction(0) if pure is not None and e >= pure else probability(profile(e))
        return known[index]

    heights: dict[int, Fraction] = {}
    lowest = Fraction(1)
    for index in _places(height, pure, grid.step):
        lowest = min(lowest, height(index))  # delta falls
        heights[index] = lowest
    with precision(grid.precision):
        return _polygon(heights, grid)


def _places(height: Callable[[int], Fraction], pure: Fraction | None, step: Fraction) -> list[int]:
    """Return grid points: close to each other while delta is not tiny, and a few more up to the end."""
    last = math.ceil((LARGEST if pure is None else min(pure, Fraction(LARGEST))) / step)
    near = last
    while near > 1 and height(near // 2) <= Fraction(1, 1 << FAR):
        near //= 2
    places = {near * j // KNOTS for j in range(KNOTS + 1)}
    return sorted(places | {near + (last - near) * j // BEYOND for j in range(BEYOND + 1)})


def _polygon(heights: dict[int, Fraction], grid: Grid) -> LossDistribution:
    """Return the distribution whose delta is the polygon of the lower hull of the points and their mirror
    images.
    """
    knots = [_Knot(arb(0), arb(1), 0)]
    for index in sorted({-index for index in heights} | heights.keys()):
        e, h = (ball(grid.step) * index).exp(), ball(heights[abs(index)])
        knots.append(_Knot(e, h if index >= 0 else 1 - e + e * h, index))
    knots = _hull(knots)
    masses: dict[int, int] = {}
    for j in range(1, len(knots)):
        here, after = knots[j], arb(0) if j + 1 == len(knots) else _slope(knots[j], knots[j + 1])
        masses[here.index] = grid.units(here.at * (after - _slope(knots[j - 1], here)))
    return from_masses(grid, masses, grid.units(knots[-1].height))


def _slope(left: _Knot, right: _Knot) -> arb:
    return (right.height - left.height) / (right.at - left.at)


def _hull(knots: Sequence[_Knot]) -> list[_Knot]:
    """Return the lower hull by the middles of the balls. It keeps the first and the last point."""
    kept: list[_Knot] = []
    for knot in knots:
        while len(kept) > 1 and (_slope(kept[-2], kept[-1]) - _slope(kept[-1], knot)).mid() >= 0:
            kept.pop()
        kept.append(knot)
    return kept


def maximum(*distributions: LossDistribution) -> LossDistribution:
    """Return an upper distribution whose delta is at least that of all given upper distributions at every e.

    Its pair dominates all of them. The pointwise maximum of privacy profiles, convex in E = e^epsilon and
    linear between grid points, is again such a profile. The mass at grid point j is the second difference
    (d_{j+1} - d_j) / (e^step - 1) - (d_j - d_{j-1}) / (1 - e^-step), and the lowest point takes the rest of
    the total.
    """
    grid = distributions[0].grid
    if not grid.upper or any(distribution.grid != grid for distribution in distributions):
        raise InvalidParameterError(
            "all distributions must be upper ones on one grid.", code="E-GRID-DIFFERENT"
        )
    low = min(distribution.low for distribution in distributions)
    high = max(distribution.low + distribution.points for distribution in distributions)
    check_points(high - low + 1)
    with precision(grid.precision):
        curve = _curve(distributions[0], low, high)
        for distribution in distributions[1:]:
            curve = [a.max(b) for a, b in zip(curve, _curve(distribution, low, high), strict=True)]
        up, down = ball(grid.step).exp() - 1, 1 - (-ball(grid.step)).exp()
        masses: dict[int, int] = {}
        for j in range(1, len(curve) - 1):
            mass = (curve[j + 1] - curve[j]) / up - (curve[j] - curve[j - 1]) / down
            masses[low + j] = max(0, integer(mass.upper().ceil()))
    infinite = max(distribution.infinite for distribution in distributions)
    total = max(distribution.units() for distribution in distributions)
    masses[low] = max(0, total - infinite - sum(masses.values()))
    return from_masses(grid, masses, infinite)


def _curve(distribution: LossDistribution, low: int, high: int) -> list[arb]:
    """Return delta in units at the grid points low, ..., high (balls)."""
    decay = (-ball(distribution.grid.step)).exp()
    masses = {distribution.low + j: mass for j, mass in enumerate(distribution.poly.coeffs())}
    values: list[arb] = []
    # Masses above the point, and the finite masses discounted to it.
    total, weighted = fmpz(distribution.infinite), arb(0)
    for j in range(high, low - 1, -1):
        values.append(arb(total) - weighted)
        mass = masses.get(j, fmpz(0))
        total += mass
        weighted = (weighted + mass) * decay
    return values[::-1]
