"""Lower loss distributions by merging: never above the truth, and within a few millionths of it where
rounding down is far off.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from dpaudit.certify.merged import gaussian_lower, laplace_lower, lattice_lower, merged_distribution
from dpaudit.core.errors import InvalidParameterError
from dpaudit.kernel.ball import ball, lower_exact, upper_exact
from dpaudit.kernel.t1.certpld import Grid, LossDistribution, from_atoms, power
from dpaudit.kernel.t1.divergence import lattice_delta
from dpaudit.kernel.t1.integer_noise import lattice_pair
from dpaudit.kernel.t1.pairs import laplace_pair
from dpaudit.kernel.t2.gaussian import gaussian_delta
from dpaudit.kernel.t2.special_distributions import Skellam
from tests.errors import raises

LOWER = Grid(step=Fraction(1, 256), upper=False)
POINTS = [Fraction(n, 4) for n in (0, 1, 4, 9, 17, 26)]


def lower_delta(distribution: LossDistribution, epsilon: Fraction) -> Fraction:
    return lower_exact(distribution.delta(epsilon))


@pytest.mark.parametrize("steps", [1, 16, 256])
def test_gaussian_steps_stay_below_the_closed_form(steps: int) -> None:
    """k steps of total mu = 1: below the exact delta at every epsilon, and within 1 % of it down to 1e-7."""
    distribution = power(gaussian_lower(Fraction(1, steps), LOWER), steps)
    for epsilon in POINTS:
        exact = gaussian_delta(Fraction(1), epsilon)
        assert lower_delta(distribution, epsilon) <= exact
        if exact > Fraction(1, 10**7):
            assert lower_delta(distribution, epsilon) >= exact * Fraction(99, 100)


@pytest.mark.parametrize("steps", [1, 16, 64])
def test_lower_and_upper_distributions_enclose_laplace_and_skellam(steps: int) -> None:
    """Composed lower distributions lie below composed upper ones everywhere, within 1 % at moderate
    deltas."""
    scale, variance = Fraction(1, 8), Fraction(50 * steps)
    upper = Grid(step=LOWER.step)
    pairs = [
        (laplace_lower(scale, LOWER), laplace_pair(scale, upper)),
        (lattice_lower(Skellam(variance), 4, LOWER), lattice_pair(Skellam(variance), 4, upper)),
    ]
    for below, above in pairs:
        low, high = power(below, steps), power(above, steps)
        for epsilon in POINTS:
            least, most = lower_delta(low, epsilon), upper_exact(high.delta(epsilon))
            assert least <= most
            if most > Fraction(1, 10**5) and epsilon > 0:
                assert least >= most * Fraction(98, 100)


def test_one_step_stays_below_the_exact_lattice_delta() -> None:
    """One Skellam step against its exact delta."""
    distribution = Skellam(Fraction(30))
    below = lattice_lower(distribution, 3, LOWER)
    for epsilon in POINTS:
        assert lower_delta(below, epsilon) <= upper_exact(
            lattice_delta(distribution, shift=3, epsilon=epsilon)
        )


def test_merging_is_far_tighter_than_rounding_down() -> None:
    """At 256 steps plain lower distributions lose half a step each, a large part of delta; merged ones do
    not."""
    steps, grid = 256, Grid(step=Fraction(1, 64), upper=False)
    distribution = Skellam(Fraction(100 * steps))
    masses = distribution.masses(-1700, 1700)
    atoms = [(masses[j], masses[j - 10]) for j in range(10, len(masses))]
    rounded, merged = (
        power(from_atoms(grid, atoms), steps),
        power(lattice_lower(distribution, 10, grid), steps),
    )
    assert lower_delta(rounded, Fraction(1)) < lower_delta(merged, Fraction(1)) * Fraction(1, 4)


def test_random_tables_stay_below_brute_force() -> None:
    """Two steps of random tables, atoms far apart and close together: below the delta of all pairs of
    outcomes, and positive where that is large.
    """
    rng = np.random.default_rng(np.random.SeedSequence(11))
    for step in (Fraction(1, 4), Fraction(1, 64)):
        for _ in range(20):
            size = int(rng.integers(2, 9))
            table = rng.integers(1, 50, (2, size)).astype(float)
            p, q = table / table.sum(axis=1, keepdims=True)
            order = np.argsort(p / q)
            atoms = [(ball(Fraction(p[i])), ball(Fraction(q[i]))) for i in order]
            distribution = power(merged_distribution(Grid(step=step, upper=False), atoms), 2)
            pp, qq = np.outer(p, p).ravel(), np.outer(q, q).ravel()
            for epsilon in (0.0, 0.25, 1.0):
                exact = float(np.maximum(pp - np.exp(epsilon) * qq, 0).sum())
                found = float(lower_delta(distribution, Fraction(epsilon)))
                assert found <= exact + 1e-12
                assert found > 0.5 * exact or exact < 0.2 or step == Fraction(1, 4)


def test_refusals_and_empty_atoms() -> None:
    """An upper grid is refused; atoms without mass on a side are dropped, which only lowers."""
    with raises(InvalidParameterError, code="E-GRID-UPPER"):
        merged_distribution(Grid(step=Fraction(1, 4)), [])
    half = arb(1) / 2
    distribution = merged_distribution(LOWER, [(half, half), (half, arb(0))])
    assert lower_delta(distribution, Fraction(0)) == 0
