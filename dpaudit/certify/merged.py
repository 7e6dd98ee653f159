"""Build lower loss distributions that are nearly as tight as the upper ones, by merging outcomes.

``certpld`` bounds a composition from below by rounding each loss down, which costs up to a step in each of
the k steps. Here the rounding is a post-processing instead: outcomes are merged until their loss is on the
grid. Only the spread within a cell is lost, an error of second order.

Statement. Let a pair (P, Q) have atoms (p, q). Sort them by p/q and cut them into consecutive groups,
splitting an atom in proportion if a group ends inside it, such that the group's masses satisfy P_g >= exp(i
step) Q_g for an integer i. Put P_g at loss i * step. The result is a lower distribution: its delta is at most
that of the pair, also after composition.

Proof. Showing the group instead of the outcome (an atom split in proportion falls at random into either
group) is a post-processing of one step, hence of a product of steps, and lowers delta. Lowering the loss of
the group to i * step lowers it again: delta of any distribution grows with its losses. Masses are rounded
down. ∎

A group is closed as soon as its ratio reaches the next grid point above its first loss. A bad choice of
groups costs tightness, but the bound stays valid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction

from flint import arb

from dpaudit.core.errors import InvalidParameterError
from dpaudit.kernel.ball import ball, lower_exact, precision, upper_exact
from dpaudit.kernel.t1.certpld import Grid, LossDistribution, from_losses
from dpaudit.kernel.t1.lattice import LogConcave, bulk
from dpaudit.kernel.t2.subsampled_gaussian import Step

__all__ = ["gaussian_lower", "laplace_lower", "lattice_lower", "merged_distribution", "subsampled_lower"]

Atoms = Iterable[tuple[arb, arb]]
Upto = Callable[[arb], arb]

#: A density is first cut into cells of this fraction of a step.
FINER = 4


def merged_distribution(
    grid: Grid, atoms: Atoms, *, kept: Iterable[tuple[arb, Fraction]] = ()
) -> LossDistribution:
    """Return the lower distribution of a pair with the given ``atoms``, sorted by rising p/q.

    ``kept`` are atoms that are not merged, each with its P mass and exact loss. Mass that is not listed, or
    has q = 0, is dropped. Raise ``InvalidParameterError`` for a grid of upper distributions.
    """
    if grid.upper:
        raise InvalidParameterError(
            "merging gives lower distributions. Pass Grid(upper=False).", code="E-GRID-UPPER"
        )
    with precision(grid.precision):
        return from_losses(grid, [*_groups(grid, atoms), *kept])


def _groups(grid: Grid, atoms: Atoms) -> Iterator[tuple[arb, Fraction]]:
    """Yield the P mass of each group with its loss on the grid."""
    group_p, group_q = arb(0), arb(0)
    index, factor = 0, arb(1)
    for p, q in atoms:
        while p > 0 and q > 0:
            if group_p.is_zero():
                index = math.ceil(upper_exact((p / q).log()) / grid.step)
                factor = ball(index * grid.step).exp()
            missing, gained = factor * group_q - group_p, p - factor * q
            if not (gained > 0 and missing < gained):  # the atom does not bring the group to its grid point
                group_p, group_q = group_p + p, group_q + q
                break
            share = (missing / gained).upper().max(arb(0))
            yield group_p + share * p, index * grid.step
            p, q = (1 - share) * p, (1 - share) * q
            group_p, group_q = arb(0), arb(0)
    if group_p > 0:
        yield group_p, math.floor(lower_exact((group_p / group_q).log()) / grid.step) * grid.step


def gaussian_lower(mu_squared: Fraction, grid: Grid) -> LossDistribution:
    """Bound N(0, 1) against N(mu, 1) from below. The tails beyond the grid's ``tail`` are dropped."""
    with precision(grid.precision):
        mean, scale = ball(mu_squared / 2), (2 * ball(mu_squared)).sqrt()
        reach = upper_exact(mean + ball(mu_squared).sqrt() * arb(2 * grid.tail).sqrt())
        end = int(reach / grid.step) + 2
        return merged_distribution(
            grid,
            _cells(
                grid,
                -end,
                end,
                lambda x: (-(x - mean) / scale).erfc() / 2,
                lambda x: (-(x + mean) / scale).erfc() / 2,
            ),
        )


def laplace_lower(epsilon: Fraction, grid: Grid) -> LossDistribution:
    """Bound Laplace noise of scale b against its shift by epsilon * b from below (``pairs.laplace_pair``)."""
    with precision(grid.precision):
        e, half = ball(epsilon), arb(1) / 2

        def p_upto(x: arb) -> arb:
            return ((x.min(e).max(-e) - e) / 2).exp() / 2

        def q_upto(x: arb) -> arb:
            return -((-x.min(e).max(-e) - e) / 2).exp() / 2

        end = math.ceil(epsilon / grid.step)
        return merged_distribution(
            grid,
            _cells(grid, -end, end, p_upto, q_upto),
            kept=[(half, epsilon), ((-e).exp() / 2, -epsilon)],
        )


def _cells(grid: Grid, low: int, high: int, p_upto: Upto, q_upto: Upto) -> Iterator[tuple[arb, arb]]:
    """Yield cells of 1/``FINER`` of a step from ``low`` to ``high`` steps, by rising loss."""
    last = None
    for j in range(low * FINER, high * FINER + 1):
        x = ball(j * grid.step / FINER)
        here = (p_upto(x), q_upto(x))
        if last is not None:
            yield here[0] - last[0], here[1] - last[1]
        last = here


def subsampled_lower(
    mu_squared: Fraction, rate: Fraction, grid: Grid
) -> tuple[LossDistribution, LossDistribution]:
    """Bound one Poisson-subsampled Gaussian step from below, with against without the record, and the
    reverse.

    The pairs are attained by one record against no record, so their products are lower bounds for many steps.
    """
    step = Step(mu_squared, rate)
    with precision(grid.precision):
        far = math.ceil(step.reach(grid) / grid.step) + 1
        near = math.ceil(upper_exact(-ball(1 - rate).log()) / grid.step) + 1

        def up(x: arb) -> tuple[arb, arb]:
            return step.below(step.place(x))

        def down(x: arb) -> tuple[arb, arb]:
            return step.above(step.place(-x))

        forth = _cells(grid, -near, far, lambda x: up(x)[0], lambda x: up(x)[1])
        back = _cells(grid, -far, near, lambda x: down(x)[1], lambda x: down(x)[0])
        return merged_distribution(grid, forth), merged_distribution(grid, back)


def lattice_lower(distribution: LogConcave, shift: int, grid: Grid) -> LossDistribution:
    """Bound p against p_shift from below, for log-concave noise on the integers.

    The loss falls in x, so the atoms are listed from above.
    """
    with precision(grid.precision):
        low, high, _, _ = bulk(distribution, 2 * grid.tail)
        masses = distribution.masses(low - shift, high)
        return merged_distribution(
            grid, ((masses[j], masses[j - shift]) for j in range(len(masses) - 1, shift - 1, -1))
        )
