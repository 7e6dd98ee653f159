"""One loss law that dominates several: the pair whose delta is the larger of theirs at every epsilon."""

from __future__ import annotations

from flint import arb, fmpz

from dpaudit.kernel.ball import ball, integer, precision
from dpaudit.kernel.errors import InvalidParameterError
from dpaudit.kernel.t1.certpld import LossLaw, check_points, from_masses

__all__ = ["maximum"]


def maximum(*laws: LossLaw) -> LossLaw:
    """An upper law whose delta is at least that of all these upper laws at every e: one pair that dominates
    them.

    The pointwise maximum of delta curves, convex in E = e^epsilon and linear between grid points, is again
    one; the mass at grid point j is the second difference (d_{j+1} - d_j) / (e^step - 1) - (d_j - d_{j-1}) /
    (1 - e^-step), and the lowest point takes what is left of the total.
    """
    grid = laws[0].grid
    if not grid.upper or any(law.grid != grid for law in laws):
        raise InvalidParameterError("all loss laws must be upper laws on the same grid; build them alike.")
    low = min(law.low for law in laws)
    high = max(law.low + law.points for law in laws)
    check_points(high - low + 1)
    with precision(grid.precision):
        curve = _curve(laws[0], low, high)
        for law in laws[1:]:
            curve = [a.max(b) for a, b in zip(curve, _curve(law, low, high), strict=True)]
        up, down = ball(grid.step).exp() - 1, 1 - (-ball(grid.step)).exp()
        masses: dict[int, int] = {}
        for j in range(1, len(curve) - 1):
            mass = (curve[j + 1] - curve[j]) / up - (curve[j] - curve[j - 1]) / down
            masses[low + j] = max(0, integer(mass.upper().ceil()))
    infinite = max(law.infinite for law in laws)
    total = max(law.units() for law in laws)
    masses[low] = max(0, total - infinite - sum(masses.values()))
    return from_masses(grid, masses, infinite)


def _curve(law: LossLaw, low: int, high: int) -> list[arb]:
    """delta in units at the grid points low, ..., high (balls)."""
    decay = (-ball(law.grid.step)).exp()
    masses = {law.low + j: mass for j, mass in enumerate(law.poly.coeffs())}
    values: list[arb] = []
    total, weighted = (
        fmpz(law.infinite),
        arb(0),
    )  # masses above the point, and the finite ones discounted to it
    for j in range(high, low - 1, -1):
        values.append(arb(total) - weighted)
        mass = masses.get(j, fmpz(0))
        total += mass
        weighted = (weighted + mass) * decay
    return values[::-1]
