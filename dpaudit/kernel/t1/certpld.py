"""Certified privacy-loss distributions: composition by exact integer convolution, rounded to one side only.

A *loss distribution* describes a pair (P, Q) through the mass that P gives to each value of the loss L =
log(P/Q). It lives on the grid i * step, with non-negative integer masses in units of 2^-bits and a mass at
infinity. Its delta is

    delta(e) = mass(inf) + sum over i * step > e of mass(i) (1 - exp(e - i * step)),

which grows with every mass and every loss. An *upper* distribution is built so that its delta is at least the
true one at every e, also after composition. A *lower* distribution has a delta that is at most the true one.
An atom with masses p = P(x), q = Q(x) and loss L in the cell [i, i+1) is treated as follows:

* upper: split into two atoms on the grid ends that keep both masses: w p at i + 1 and (1 - w) p at i, w = (1
  - exp(-f)) / (1 - exp(-step)), f = L - i * step. The atom is a post-processing of the two (merge them), so
  the split pair is at least as easy to tell apart, alone and inside any product; merging commutes with
  products. A continuous distribution is split cell by cell: the cell's masses P_c, Q_c become b = (P_c -
  exp(i step) Q_c) / (1 - exp(-step)) at i + 1 and P_c - b at i ("connect the dots", Doroshenko et al. 2022,
  there from float deltas);
* lower: p goes to i. A smaller loss with the same mass lowers delta.

Then masses are rounded to integers, up or down. Products (independent, and by fact F4 adaptive, steps)
convolve: the product of two integer polynomials is exact, and is rounded back to ``bits`` in the
distribution's direction. Truncation moves the lowest masses up to the lowest kept loss and the highest to
infinity (upper), or drops the highest and the lowest (lower).

Fact F4 (Zhu, Dong, Wang 2022, Theorem 10). If for every prefix the pair of conditional distributions of step
t is dominated by (P_t, Q_t), the transcript is dominated by the product of the (P_t, Q_t). ∎
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from flint import arb, fmpz, fmpz_poly

from dpaudit.kernel.ball import ball, integer, precision, upper_exact
from dpaudit.kernel.errors import InvalidParameterError

__all__ = [
    "Grid",
    "LossDistribution",
    "check_points",
    "compose",
    "from_atoms",
    "from_cells",
    "from_losses",
    "from_masses",
    "power",
]

#: Largest number of grid points of one distribution: 2^22 integers of 128 bits are 64 MB.
MAX_POINTS = 1 << 22

#: A distribution caches the sums above one point in each block of this size.
BLOCK = 64


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A grid with loss ``step`` > 0 and mass unit 2^-``bits``. One truncation may move 2^-``tail`` of mass
    at either end.
    """

    step: Fraction
    bits: int = 128
    tail: int = 70
    upper: bool = True

    def __post_init__(self) -> None:
        if self.step <= 0:
            raise InvalidParameterError(f"step must be greater than 0, got {self.step}.", code="E-GRID-STEP")
        if not 0 < self.tail < self.bits <= 1024:
            raise InvalidParameterError(
                f"tail and bits must satisfy 0 < tail < bits <= 1024, got {self.tail} and {self.bits}.",
                code="E-GRID-BITS",
            )

    @property
    def precision(self) -> int:
        """Return the working precision for the masses, the division by 1 - exp(-step), and cancellation."""
        return 2 * self.bits + 64

    def units(self, mass: arb) -> int:
        """Return a mass (ball) in units, rounded in the grid's direction and never below 0."""
        scaled = mass * arb(2) ** self.bits
        whole = scaled.upper().ceil() if self.upper else scaled.lower().floor()
        return max(0, integer(whole))

    def below(self, loss: arb) -> int:
        """Return the largest index i with i * step <= ``loss`` (a ball of radius 0)."""
        return math.floor(upper_exact(loss) / self.step)


@dataclass(frozen=True, kw_only=True)
class LossDistribution:
    """Masses ``poly[j]`` at loss (``low`` + j) * step, and ``infinite`` at infinity, in units of 2^-bits."""

    grid: Grid
    low: int
    poly: fmpz_poly
    infinite: int

    @property
    def points(self) -> int:
        """Return the number of grid points that the distribution spans."""
        return int(self.poly.degree()) + 1

    def units(self) -> int:
        """Return the total mass in units of 2^-bits: 1, up to rounding in the distribution's direction."""
        return int(self.poly(1)) + self.infinite

    def delta(self, epsilon: Fraction) -> arb:
        """Return a ball for delta at ``epsilon`` of this distribution.

        Its upper (lower) end bounds the true delta for an upper (lower) distribution.
        """
        with precision(self.grid.precision):
            e = ball(epsilon)
            start = max(0, math.floor(epsilon / self.grid.step) + 1 - self.low)
            total, weighted = self._above(start)
            first = ball((self.low + start) * self.grid.step)
            finite = arb(total) - (e - first).exp() * weighted
            value = (arb(self.infinite) + finite) / (arb(2) ** self.grid.bits)
            return value if value > 0 else arb(0).union(value.upper().max(arb(0)))

    def _above(self, start: int) -> tuple[fmpz, arb]:
        """Return two sums of the masses from position ``start`` on, at the grid's precision.

        The first is plain. In the second, each mass is discounted by exp(-loss) to the loss at ``start``.
        """
        above, stop = self._blocks[start // BLOCK + 1 :], start + BLOCK - start % BLOCK
        return self._discounted(start, stop, *above[0]) if above else (fmpz(0), arb(0))

    @cached_property
    def _blocks(self) -> list[tuple[fmpz, arb]]:
        """Return ``_above`` at the first position of each block and at the end of the last one.

        A search for an epsilon evaluates delta about forty times.
        """
        found = [(fmpz(0), arb(0))]
        for start in reversed(range(0, self.points, BLOCK)):
            found.append(self._discounted(start, start + BLOCK, *found[-1]))
        return found[::-1]

    def _discounted(self, start: int, stop: int, total: fmpz, weighted: arb) -> tuple[fmpz, arb]:
        """Return ``_above`` at ``start`` from its value at ``stop``: Horner's scheme in exp(-step), all
        terms positive.
        """
        decay = (-ball(self.grid.step)).exp()
        for place in range(stop - 1, start - 1, -1):
            mass = self.poly[place]  # 0 beyond the last one
            total, weighted = total + mass, weighted * decay + mass
        return total, weighted

    def renyi(self, order: Fraction) -> arb:
        """Return a ball for the Renyi divergence of ``order`` above 1, which is infinite with mass at
        infinity.

        Its upper end bounds the divergence of every pair that an upper distribution dominates. It is log(sum
        m exp((a - 1) l)) / (a - 1), the integral of E^(a-2) a (a - 1) delta(log E) over all E > 0.
        """
        if self.infinite:
            return arb.pos_inf()
        with precision(self.grid.precision):
            rise, total = ball((order - 1) * self.grid.step).exp(), arb(0)
            for mass in reversed(self.poly.coeffs()):
                total = total * rise + mass
            start = ball((order - 1) * self.low * self.grid.step).exp()
            return (total * start / arb(2) ** self.grid.bits).log() / ball(order - 1)


def from_masses(grid: Grid, masses: dict[int, int], infinite: int) -> LossDistribution:
    """Return the distribution with ``masses`` at the grid points i * step, and ``infinite`` at infinity,
    in units.
    """
    if not masses:
        masses = {0: 0}
    low, high = min(masses), max(masses)
    check_points(high - low + 1)
    return LossDistribution(
        grid=grid,
        low=low,
        poly=fmpz_poly([masses.get(i, 0) for i in range(low, high + 1)]),
        infinite=infinite,
    )


def check_points(points: int) -> None:
    """Raise ``InvalidParameterError`` for a distribution with too many grid points."""
    if points > MAX_POINTS:
        raise InvalidParameterError(
            f"a loss distribution must have at most {MAX_POINTS} grid points, got {points}.",
            code="E-GRID-POINTS",
        )


def from_atoms(grid: Grid, atoms: Iterable[tuple[arb, arb]], *, infinite: arb | int = 0) -> LossDistribution:
    """Return the distribution of a pair with the given atoms (P mass, Q mass; balls).

    ``infinite`` is the P mass of all points that have no mass under Q or are not listed. Atoms need not be
    sorted. An upper distribution needs the whole mass of P, in the atoms or in ``infinite``.
    """
    masses: dict[int, int] = {}
    lost = arb(infinite)
    with precision(grid.precision):
        cells = _Cells(grid)
        for p, q in atoms:
            if grid.upper and cells.added(p, q):
                continue
            loss = (p / q).log()
            if loss.is_finite():
                _place(grid, masses, p, loss)
            elif grid.upper or q.is_zero():
                lost += p
        for index, mass in cells.sums.items():
            _add(masses, index, grid.units(mass))
        return from_masses(grid, masses, grid.units(lost))


def from_losses(grid: Grid, parts: Iterable[tuple[arb, Fraction]]) -> LossDistribution:
    """Return the distribution of a pair with P masses (balls) at exact losses. Parts need not be sorted."""
    masses: dict[int, int] = {}
    with precision(grid.precision):
        for p, loss in parts:
            i = math.floor(loss / grid.step)
            if not grid.upper or loss == i * grid.step:
                _add(masses, i, grid.units(p))
            else:
                _split(grid, masses, p, i, ball(loss - i * grid.step))
        return from_masses(grid, masses, 0)


class _Cells:
    """Atoms of an upper distribution, split over the ends of their cells without a logarithm.

    A float proposes the cell i. The split that keeps both masses is b = (p - exp(i step) q) / (1 -
    exp(-step)) at i + 1 and p - b at i. If neither is negative, the loss is in the cell.
    """

    def __init__(self, grid: Grid) -> None:
        self.step, self.width = float(grid.step), 1 - (-ball(grid.step)).exp()
        self.exact_step = ball(grid.step)
        self.sums: dict[int, arb] = {}
        self._factors: dict[int, arb] = {}

    def added(self, p: arb, q: arb) -> bool:
        """Split and add the atom if its cell is certain, and return whether it is."""
        here, there = float(p), float(q)
        if not (here > 1e-290 and there > 1e-290):
            return False
        index = math.floor(math.log(here / there) / self.step)
        if index not in self._factors:
            self._factors[index] = (self.exact_step * index).exp()
        above = (p - self._factors[index] * q) / self.width
        rest = p - above
        if not (above >= 0 and rest >= 0):
            return False
        self.sums[index + 1] = self.sums.get(index + 1, arb(0)) + above
        self.sums[index] = self.sums.get(index, arb(0)) + rest
        return True


def _place(grid: Grid, masses: dict[int, int], p: arb, loss: arb) -> None:
    """Add one atom, for any radius of its loss."""
    if grid.upper:
        i = grid.below(loss.upper())
        _split(grid, masses, p, i, loss - ball(grid.step) * i)
    else:
        _add(masses, grid.below(loss.lower()), grid.units(p))


def _split(grid: Grid, masses: dict[int, int], p: arb, i: int, f: arb) -> None:
    """Split an atom of loss i * step + f, f at most a step, over i and i + 1 (see the module docstring)."""
    share = (1 - (-f).exp()) / (1 - (-ball(grid.step)).exp())
    _add(masses, i + 1, grid.units(p * share))
    # If the ball reaches below i, the whole mass on i covers that case (a loss rounded up), and the share
    # on i + 1 covers the other.
    _add(masses, i, grid.units(p * (1 - share) if f >= 0 else p))


def _add(masses: dict[int, int], index: int, units: int) -> None:
    if units:
        masses[index] = masses.get(index, 0) + units


def from_cells(
    grid: Grid,
    *,
    p_upto: Callable[[arb], arb],
    q_upto: Callable[[arb], arb],
    low: int,
    high: int,
    atoms: Sequence[tuple[arb, arb]] = (),
) -> LossDistribution:
    """Return the distribution of a pair whose loss has a density between ``low`` * step and ``high`` * step.

    ``atoms`` (P mass, Q mass) are added. ``p_upto(x)`` and ``q_upto(x)`` enclose P(L <= x) and Q(L <= x)
    without the atoms. The mass below ``low`` is moved up to it (upper) or dropped (lower). The mass above
    ``high`` goes to infinity (upper) or down to ``high`` (lower).
    """
    check_points(high - low + 2)
    masses: dict[int, int] = {}
    with precision(grid.precision):
        step = ball(grid.step)
        width = 1 - (-step).exp()
        rest = 1 - sum((p for p, _ in atoms), arb(0))
        p_low, q_low = p_upto(step * low), q_upto(step * low)
        if grid.upper:
            _add(masses, low, grid.units(p_low))
        for i in range(low, high):
            end = step * (i + 1)
            p_high, q_high = p_upto(end), q_upto(end)
            p_cell, q_cell = p_high - p_low, q_high - q_low
            if grid.upper:
                above = (p_cell - (step * i).exp() * q_cell) / width
                _add(masses, i + 1, grid.units(above))
                _add(masses, i, grid.units(p_cell - above))
            else:
                _add(masses, i, grid.units(p_cell))
            p_low, q_low = p_high, q_high
        beyond = grid.units(rest - p_low)
        for p, q in atoms:
            _place(grid, masses, p, (p / q).log())
        if not grid.upper:
            _add(masses, high, beyond)
        return from_masses(grid, masses, beyond if grid.upper else 0)


def compose(left: LossDistribution, right: LossDistribution) -> LossDistribution:
    """Return the truncated distribution of the product pair. Both distributions must be on the same grid."""
    if left.grid != right.grid:
        raise InvalidParameterError(
            f"both loss distributions must be on the same grid, got {left.grid} and {right.grid}.",
            code="E-GRID-DIFFERENT",
        )
    grid, unit = left.grid, 1 << left.grid.bits
    check_points(left.points + right.points)
    left_all, right_all = left.units(), right.units()
    # At infinity: the left factor is, or the right one is and the left one is not.
    mixed = left.infinite * right_all + right.infinite * (left_all - left.infinite)
    infinite = -(-mixed // unit) if grid.upper else mixed // unit
    return _truncated(grid, left.low + right.low, left.poly * right.poly, infinite)


def _truncated(grid: Grid, low: int, product: fmpz_poly, infinite: int) -> LossDistribution:
    """Cut both ends of a product with masses in units of 2^-(2 bits), and round the rest to units of
    2^-bits.
    """
    budget, size = 1 << (2 * grid.bits - grid.tail), max(1, product.length())
    first, moved_low = _within((product[i] for i in range(size)), budget)
    cut, moved_high = _within((product[i] for i in range(size - 1, -1, -1)), budget)
    last = size - cut
    if first >= last:  # everything is within the budget, so keep it
        first, last, moved_low, moved_high = 0, size, 0, 0
    kept, unit = product.right_shift(first).truncate(last - first), fmpz(1) << grid.bits
    if grid.upper:
        infinite += -(-moved_high // int(unit))
        kept = kept + moved_low + (unit - 1) * fmpz_poly([1] * (last - first))
    else:
        kept = kept + fmpz_poly([moved_high]).left_shift(last - first - 1)
    # No mass is negative, so the quotient by a constant rounds every mass down.
    return LossDistribution(grid=grid, low=low + first, poly=kept // unit, infinite=infinite)


def _within(masses: Iterable[fmpz], budget: int) -> tuple[int, int]:
    """Return how many leading masses have a sum of at most ``budget``, and that sum."""
    total, count = fmpz(0), 0
    for mass in masses:
        if total + mass > budget:
            break
        total, count = total + mass, count + 1
    return count, int(total)


def power(distribution: LossDistribution, times: int) -> LossDistribution:
    """Return the distribution of ``times`` >= 1 independent copies, by squaring."""
    if times < 1:
        raise InvalidParameterError(f"times must be 1 or more, got {times}.", code="E-TIMES-RANGE")
    result: LossDistribution | None = None
    square = distribution
    while True:
        if times & 1:
            result = square if result is None else compose(result, square)
        times >>= 1
        if not times:
            return result if result is not None else square
        square = compose(square, square)
