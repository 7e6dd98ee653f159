"""Compute, in balls, a number of steps of a ray within which the privacy loss exceeds the claim.

On every path of the outcome, the multipliers give sum of abs(n)/b >= L v + k at x0 + L d. The sum of m such
terms has the distribution Gamma(m) for Laplace and exponential noise, so that P(outcome at x0 + L d) is at
most the sum of its tails. At x0 it is at least the probability of a box around an interior point. Once ln of
the quotient is above L * epsilon, one of the first L steps has a privacy loss above epsilon.
"""

from __future__ import annotations

from fractions import Fraction

from dpaudit.distributions.continuous import Exponential, Laplace
from dpaudit.kernel.ball import arb, ball, precision
from dpaudit.prover.explore import Path
from dpaudit.prover.forms import ZERO, Form
from dpaudit.prover.refutation import Ray

__all__ = ["enough_steps"]

MAX_STEPS = 2**20
#: Bits of the balls. Differences of distribution functions far out lose many of them.
DIGITS = 512
DISTRIBUTIONS = {"laplace": Laplace, "exponential": Exponential}


def enough_steps(ray: Ray, epsilon: Fraction) -> int | None:
    """Return a number of steps of the ray within which the loss of one step exceeds ``epsilon``, or None.

    The bound does not cover shown numbers, discrete noise, and more than a million steps.
    """
    if any(path.shown_forms() or path.releases() for path in ray.paths):
        return None
    if any(draw.distribution not in DISTRIBUTIONS for path in ray.paths for draw in path.draws):
        return None
    with precision(DIGITS):
        return _search(ray, epsilon)


def _search(ray: Ray, epsilon: Fraction) -> int | None:
    there = _box(ray.paths[0], ray.point, ray.start)
    if there is None:
        return None
    steps = 1
    while steps <= MAX_STEPS:
        bound = sum((_tail(path, weights[0], ray, steps) for path, weights in _both(ray)), arb(0))
        if bound == 0 or (there / bound).log() > steps * ball(epsilon):
            return steps
        steps *= 2
    return None


def _both(ray: Ray) -> list[tuple[Path, tuple[tuple[Fraction, ...], tuple[Fraction, ...]]]]:
    return list(zip(ray.paths, ray.multipliers, strict=True))


def _chance(path: Path) -> Fraction:
    """Return the probability of the path's finite draws."""
    chance = Fraction(1)
    for event in path.events:
        if event[0] == "finite":
            chance *= event[1][event[2]]
    return chance


def _tail(path: Path, weights: tuple[Fraction, ...], ray: Ray, steps: int) -> arb:
    """Return an upper bound of the path's probability at x0 + steps * d."""
    total = Form({})
    for weight, row in zip(weights, path.comparisons.values(), strict=True):
        total = total.plus(row.form, weight)
    least = total.constant + total.change(ray.start) + steps * total.change(ray.change)
    if ray.infinite:  # the noise cancels: 0 >= least must hold
        return arb(0) if least > 0 else ball(_chance(path))
    if least <= 0:
        return ball(_chance(path))
    term, series = arb(1), arb(1)
    for k in range(1, len(path.draws)):
        term = term * ball(least) / k
        series += term
    return ball(_chance(path)) * (-ball(least)).exp() * series


def _box(path: Path, point: dict[str, Fraction], start: dict[str, Fraction]) -> arb | None:
    """Return a lower bound of the path's probability at x0, or None.

    It is the probability of a box around ``point`` inside the path's region.
    """
    room = Fraction(1)
    for row in path.rows.values():
        size = sum((abs(v) for name, v in row.form.terms.items() if name.startswith("n")), ZERO)
        if size:
            slack = -(row.form.constant + row.form.change({**point, **start}))
            room = min(room, slack / size)
    if room <= 0:
        return None
    chance = ball(_chance(path))
    for draw in path.draws:
        at = point.get(draw.symbol, Fraction(1))
        distribution = DISTRIBUTIONS[draw.distribution](scale=draw.scale)
        chance *= distribution.cdf_ball(at + room) - distribution.cdf_ball(at - room)
    return chance
