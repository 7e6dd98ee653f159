"""The privacy blanket of a randomiser with a known table: amplification by shuffling for one local mechanism.

Lemma (Balle, Bell, Gascon, Nissim 2019, Lemma 5.3). Let R_x be the output distribution on input x, c(y) =
min_x R_x(y), gamma = sum of c, w = c / gamma the blanket, and U the set of outputs with c(y) = 0. For n users
and inputs x, x' of the changed one,

    delta(e) <= sum over y in U of (R_x(y) - E R_x'(y))_+  +  E[(L_1 + ... + L_m)_+] / (gamma n),
    L_i = (R_x(Y_i) - E R_x'(Y_i)) / w(Y_i), Y_i ~ w independent, m ~ Bin(n, gamma), E = e^epsilon.

Proof. Each other user's output is drawn from w with probability gamma. Reveal which users are not, and their
outputs. The remainder is a shuffle of the changed user's output and m' ~ Bin(n - 1, gamma) draws from w.
Outcomes with an element of U show the changed user's output y: they give the first sum. The others, m = m' +
1 elements in random order, have density prod w(y_j) (1/m) sum_i R_x(y_i)/w(y_i) under x; so the positive part
of the difference is E[(sum of L_i)_+] / m, and C(n-1, m-1) gamma^(m-1) / m = C(n, m) gamma^m / (gamma n). ∎

Computation. The sum of the L_i is the sum of n independent copies of V = L with probability gamma and 0
otherwise. s -> s_+ is convex, so E[s_+] grows when a value of V is split over the two neighbouring grid
points with the same mean (Jensen, one copy at a time): the bound stays a bound, with an error of second order
in the step. It also grows with every mass and value; so masses are rounded up, the convolution is that of
upper loss distributions (``certpld``), and the mass at infinity there is charged with n times the largest
value. ∎
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations

from flint import arb, fmpz_poly

from dpaudit.kernel.ball import ball, precision
from dpaudit.kernel.errors import InvalidParameterError
from dpaudit.kernel.t1.certpld import Grid, LossDistribution, power
from dpaudit.kernel.t1.divergence import positive_part

__all__ = ["blanket_delta"]

Row = Sequence[Fraction]

#: Largest number of grid points between the smallest and the largest value of one copy.
MAX_POINTS = 100_000


def blanket_delta(rows: Sequence[Row], *, users: int, epsilon: Fraction, grid: Grid) -> arb:
    """Return a ball whose upper end bounds delta at ``epsilon`` >= 0 of n = ``users`` shuffled outputs of
    ``rows``.

    ``rows[x][y]`` is the probability of output y on input x. ``grid.step`` is the step of the values of V.
    """
    common = [min(column) for column in zip(*rows, strict=True)]
    gamma = sum(common, Fraction(0))
    worst = arb(0)
    with precision(grid.precision):
        e = ball(epsilon).exp()
        for left, right in permutations(rows, 2):
            shown = arb(0)
            for p, q, c in zip(left, right, common, strict=True):
                if c == 0:
                    shown += positive_part(ball(p) - e * ball(q))
            covered = [
                (c, (ball(p) - e * ball(q)) * ball(gamma / c))
                for p, q, c in zip(left, right, common, strict=True)
                if c
            ]
            worst = worst.max(shown + _hidden(covered, gamma, users, grid))
    return worst


def _hidden(covered: Sequence[tuple[Fraction, arb]], gamma: Fraction, users: int, grid: Grid) -> arb:
    """Return E[(sum of n copies of V)_+] / (gamma n) for V = value with probability mass, 0 otherwise."""
    if not covered:
        return arb(0)
    masses: dict[int, int] = {}
    for mass, value in [*covered, (1 - gamma, arb(0))]:
        _spread(grid, masses, mass, value)
    low, high = min(masses), max(masses)
    if high - low > MAX_POINTS:
        raise InvalidParameterError(
            f"one copy must span at most {MAX_POINTS} grid points, got {high - low}.", code="E-GRID-POINTS"
        )
    one = LossDistribution(
        grid=grid, low=low, poly=fmpz_poly([masses.get(i, 0) for i in range(low, high + 1)]), infinite=0
    )
    whole = power(one, users)
    total = arb(0)
    for i, units in enumerate(whole.poly.coeffs()):
        if whole.low + i > 0:
            total += arb(units) * (whole.low + i)
    total += arb(whole.infinite) * users * max(high, 0)
    return total * ball(grid.step) / (arb(2) ** grid.bits) / ball(gamma * users)


def _spread(grid: Grid, masses: dict[int, int], mass: Fraction, value: arb) -> None:
    """Split a value over the grid points around it with the same mean. Round an undecided value up in both
    respects.
    """
    i = grid.below(value.upper())
    share = (value - ball(grid.step) * i) / ball(grid.step)
    here = ball(mass) * (1 - share) if share >= 0 else ball(mass)
    for index, part in ((i + 1, ball(mass) * share), (i, here)):
        units = grid.units(part)
        if units:
            masses[index] = masses.get(index, 0) + units
