"""Certified loss distributions: never on the wrong side of the exact value, tight, and equal to enumeration
on small cases.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit.certify import build
from dpaudit.certify.build import LossGrid
from dpaudit.core.claims import ApproxDP
from dpaudit.core.errors import CertificateError, InvalidParameterError
from dpaudit.kernel.ball import ball, lower_exact, upper_exact
from dpaudit.kernel.t1.certpld import Grid, LossDistribution, compose, from_atoms, from_masses, power
from dpaudit.kernel.t1.integer_noise import lattice_pair
from dpaudit.kernel.t1.lattice import Reflected
from dpaudit.kernel.t1.pairs import laplace_pair, response_pair
from dpaudit.kernel.t1.profiles import maximum
from dpaudit.kernel.t1.readout import pure_delta
from dpaudit.kernel.t2.gaussian import gaussian_delta, gaussian_pair
from dpaudit.kernel.t2.special_distributions import Binomial
from tests.errors import raises

FINE = Grid(step=Fraction(1, 1000))


def exact_epsilon(delta: float) -> Fraction:
    """epsilon with delta(epsilon) = ``delta`` for mu = 1, rounded to 12 decimals, by bisection on the
    exact formula.
    """
    low, high = Fraction(0), Fraction(12)
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(Fraction(1), middle) > Fraction(delta) else (low, middle)
    return Fraction(round(low * 10**12), 10**12)


@pytest.mark.parametrize(
    ("copies", "step", "reach"), [(64, "1/1000", 8), (1024, "1/1000", 8), (4096, "1/1000", 8)]
)
def test_never_below_the_exact_gaussian(copies: int, step: str, reach: int) -> None:
    """k Gaussian steps of total mu = 1, composed as loss distributions: delta is never below the exact one,
    for delta from 1e-3 to 1e-14.
    """
    one = gaussian_pair(Fraction(1, copies), Grid(step=Fraction(step)))
    whole = power(one, copies)
    for exponent in (3, 6, 10, 12, 14):
        epsilon = exact_epsilon(10.0**-exponent)
        assert lower_exact(whole.delta(epsilon)) >= gaussian_delta(Fraction(1), epsilon) * (
            1 - Fraction(1, 10**15)
        )


def test_tight_at_grid_1e_4() -> None:
    """At grid 1e-4, 1024 steps of total mu = 1 lose at most a factor 1.0002 in epsilon, at delta = 1e-6
    and 1e-12.
    """
    whole = power(gaussian_pair(Fraction(1, 1024), Grid(step=Fraction(1, 10**4))), 1024)
    for exponent in (6, 12):
        epsilon = exact_epsilon(10.0**-exponent)
        worse = epsilon * Fraction(10002, 10000)
        assert gaussian_delta(Fraction(1), worse) < gaussian_delta(Fraction(1), epsilon)
        assert upper_exact(whole.delta(worse)) <= gaussian_delta(Fraction(1), epsilon)


def test_skellam_composition_reference() -> None:
    """64 Skellam steps (shift 10, variance 6400 each): delta(4.886545) = 1e-6 at grid 1e-3, the reference
    value.
    """
    step = build.integer_noise("skellam", sensitivity=10, variance=6400)
    proof = build.compose_sequential([step], times=[64], grid=LossGrid(step="1/1000"))
    assert float(proof.certify(ApproxDP(epsilon="4.886545", delta=1)).bound) == pytest.approx(1e-6, rel=3e-6)


def response(epsilon: float, copies: int, target: float) -> float:
    """delta of ``copies`` randomised responses by the sum over the number of lies."""
    e = math.exp(epsilon)
    terms = (
        math.comb(copies, j) * max(0.0, e ** (copies - j) - math.exp(target) * e**j)
        for j in range(copies + 1)
    )
    return sum(terms) / (1 + e) ** copies


def test_lower_and_upper_distributions_meet_on_the_grid() -> None:
    """Losses known exactly and on the grid: upper and lower distributions of 50 randomised responses agree to
    1e-15.
    """
    deltas = []
    for upper in (True, False):
        distribution = power(response_pair(Fraction(1, 8), Grid(step=Fraction(1, 8), upper=upper)), 50)
        deltas.append(distribution.delta(Fraction(1)))
    assert 0 <= upper_exact(deltas[0]) - lower_exact(deltas[1]) < Fraction(1, 10**15)


@pytest.mark.parametrize("copies", [1, 2, 7, 30])
def test_randomised_response_composes_exactly(copies: int) -> None:
    """On a grid that holds its losses, randomised response composes to the binomial sum; also discrete
    Laplace of sensitivity 1 (scale 10).
    """
    distribution = power(response_pair(Fraction(1, 10), Grid(step=Fraction(1, 100))), copies)
    proof = build.compose_sequential(
        [build.discrete_laplace_mechanism(sensitivity=1, scale=10)],
        times=[copies],
        grid=LossGrid(step="1/100"),
    )
    for epsilon in (Fraction(0), Fraction(1, 20), Fraction(copies, 25)):
        truth = response(0.1, copies, float(epsilon))
        assert float(upper_exact(distribution.delta(epsilon))) == pytest.approx(truth, rel=1e-9, abs=1e-18)
        assert float(proof.certify(ApproxDP(epsilon=epsilon, delta=1)).bound) == pytest.approx(
            truth, rel=1e-9, abs=1e-18
        )


def enumerated(atoms: list[tuple[float, float]], copies: int, epsilon: float) -> float:
    """delta of a product of finite pairs by listing every outcome."""
    total = 0.0
    for outcome in itertools.product(atoms, repeat=copies):
        p, q = math.prod(a for a, _ in outcome), math.prod(b for _, b in outcome)
        total += max(0.0, p - math.exp(epsilon) * q)
    return total


ATOMS = [(0.5, 0.2), (0.25, 0.3), (0.125, 0.375), (0.0625, 0.0625), (0.0625, 0.0625)]


def distribution_of(atoms: list[tuple[float, float]], grid: Grid) -> LossDistribution:
    return from_atoms(grid, [(ball(Fraction(p)), ball(Fraction(q))) for p, q in atoms])


@pytest.mark.parametrize("copies", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [-1.0, 0.0, 0.3, 0.9163, 1.5])
def test_upper_and_lower_distributions_bracket_enumeration(copies: int, epsilon: float) -> None:
    """The upper distribution is above and the lower distribution below the enumerated delta, and both are
    within the grid's step of it.
    """
    truth = enumerated(ATOMS, copies, epsilon)
    up = float(upper_exact(power(distribution_of(ATOMS, FINE), copies).delta(Fraction(epsilon))))
    low = float(
        lower_exact(
            power(distribution_of(ATOMS, Grid(step=FINE.step, upper=False)), copies).delta(Fraction(epsilon))
        )
    )
    assert low - 1e-12 <= truth <= up + 1e-12
    assert up - low < 3 * copies * 1e-3


def test_losses_on_grid_points_find_their_cell() -> None:
    """A loss exactly on a grid point whose quotient by the step is no exact ball (step 1/100) is sorted
    into that cell.
    """
    for i in (-125, -1, 0, 3, 1000):
        assert FINE.below(ball(Fraction(i, 8))) == i * 125
        assert Grid(step=Fraction(1, 100)).below(ball(Fraction(i, 4))) == 25 * i


def test_infinite_loss_is_kept() -> None:
    """Mass where Q vanishes goes to infinity and composes as 1 - (1 - a)^2."""
    distribution = from_atoms(FINE, [(ball(Fraction(3, 4)), ball(1)), (ball(Fraction(1, 4)), ball(0))])
    twice = compose(distribution, distribution)
    assert float(upper_exact(twice.delta(Fraction(50)))) == pytest.approx(7 / 16, abs=1e-12)
    assert upper_exact(twice.delta(Fraction(50))) >= Fraction(7, 16)
    lower = from_atoms(
        Grid(step=FINE.step, upper=False), [(ball(Fraction(3, 4)), ball(1)), (ball(Fraction(1, 4)), ball(0))]
    )
    assert float(lower_exact(compose(lower, lower).delta(Fraction(50)))) == pytest.approx(7 / 16, abs=1e-12)


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(1, 3), Fraction(9, 10), Fraction(1), Fraction(2)])
def test_laplace_distribution_is_the_closed_form(epsilon: Fraction) -> None:
    """One Laplace step: delta = 1 - exp((e - D/b)/2) below D/b and 0 from there on, met from above."""
    found = upper_exact(laplace_pair(Fraction(1), FINE).delta(epsilon))
    truth = max(0.0, 1 - math.exp((float(epsilon) - 1) / 2))
    assert truth - 1e-15 <= float(found) < truth + 1e-6


def test_laplace_composition_against_monte_carlo_free_bound() -> None:
    """Composed Laplace steps lie between one step and randomised response, which dominates every pure
    mechanism.
    """
    laplace = build.laplace_mechanism(sensitivity=1, scale=5, dimension=1)
    claim = ApproxDP(epsilon=1, delta=1)
    many = build.compose_sequential([laplace], times=[20], grid=LossGrid()).certify(claim).bound
    dominated = (
        build.compose_sequential(
            [build.laplace_mechanism(sensitivity=1, scale=5)], times=[20], grid=LossGrid(step="1/50")
        )
        .certify(claim)
        .bound
    )
    assert laplace.certify(claim).bound == 0
    assert 0 < many < dominated


def test_two_laplace_steps_by_quadrature() -> None:
    """Two Laplace steps (epsilon 1 each), delta by two-dimensional numerical integration of the positive
    part.
    """
    grid = np.linspace(-14, 15, 2901) + 0.005 / 2
    p, q = np.exp(-np.abs(grid)) / 2, np.exp(-np.abs(grid - 1)) / 2
    for epsilon in (0.25, 1.0):
        gap = np.multiply.outer(p, p) - math.exp(epsilon) * np.multiply.outer(q, q)
        truth = float(np.maximum(gap, 0).sum()) * (grid[1] - grid[0]) ** 2
        distribution = power(laplace_pair(Fraction(1), FINE), 2)
        assert float(upper_exact(distribution.delta(Fraction(epsilon)))) == pytest.approx(truth, rel=1e-3)


def test_heterogeneous_composition_is_commutative_and_valid() -> None:
    """Gaussian, Laplace, Skellam and a pure step together: order does not matter beyond rounding, more
    steps cost more.
    """
    steps = [
        build.gaussian_mechanism(sensitivity=1, scale=4),
        build.laplace_mechanism(sensitivity=1, scale=8, dimension=1),
        build.integer_noise("skellam", sensitivity=1, variance=20),
        build.report_noisy_max(sensitivity=1, scale=20, range="general"),
    ]
    claim = ApproxDP(epsilon="1/2", delta=1)
    bounds = [
        build.compose_sequential(list(order), grid=LossGrid()).certify(claim).bound
        for order in (steps, steps[::-1])
    ]
    assert float(bounds[0]) == pytest.approx(float(bounds[1]), rel=1e-9)
    fewer = build.compose_sequential(steps[:3], grid=LossGrid()).certify(claim).bound
    assert fewer < bounds[0]


def test_gaussians_are_composed_exactly() -> None:
    """GDP premises are merged before the grid: 100 Gaussian steps with a trivial second premise equal the
    closed form up to the grid.
    """
    gaussian, free = (
        build.gaussian_mechanism(sensitivity=1, scale=10),
        build.laplace_mechanism(sensitivity=0, scale=1),
    )
    bound = (
        build.compose_sequential([gaussian, free], times=[100, 1], grid=LossGrid())
        .certify(ApproxDP(epsilon=2, delta=1))
        .bound
    )
    truth = gaussian_delta(Fraction(1), Fraction(2))
    assert truth <= bound < truth * (1 + Fraction(1, 10**5))


def test_maximum_dominates_both_and_no_more() -> None:
    """The maximum of two distributions has, at every epsilon, at least both deltas; at grid points no more
    than the larger.
    """
    grid = Grid(step=Fraction(1, 50))
    left, right = response_pair(Fraction(1), grid), distribution_of(ATOMS, grid)
    both = maximum(left, right)
    for epsilon in [Fraction(i, 100) for i in range(-150, 160, 7)]:
        larger = max(upper_exact(distribution.delta(epsilon)) for distribution in (left, right))
        found = upper_exact(both.delta(epsilon))
        assert found >= larger - Fraction(1, 10**30)
        if epsilon % grid.step == 0:
            assert found <= larger + Fraction(1, 10**30)


def scattered(rng: np.random.Generator, grid: Grid, *, points: int) -> LossDistribution:
    """A distribution with gaps longer than a block of the kept sums, and masses of very different sizes."""
    masses = {}
    for place in rng.choice(points, size=12, replace=False).tolist():
        masses[place - points // 3] = int(rng.integers(1, 2**20)) << int(rng.integers(0, grid.bits - 20))
    return from_masses(grid, masses, int(rng.integers(0, 1000)))


@pytest.mark.parametrize("points", [12, 63, 64, 65, 900])
def test_delta_from_kept_sums_is_the_sum_over_all_masses(points: int) -> None:
    """Whatever was asked for before, delta encloses the sum of its definition, term by term."""
    rng = np.random.default_rng(points)
    grid = Grid(step=Fraction(1, 40), bits=96)
    distribution = scattered(rng, grid, points=points)
    masses = {distribution.low + j: int(mass) for j, mass in enumerate(distribution.poly.coeffs())}
    for i in rng.integers(distribution.low - 5, distribution.low + points + 5, size=60).tolist():
        epsilon = Fraction(i, 40) + Fraction(int(rng.integers(0, 3)), 120)
        above = [(m, j * grid.step) for j, m in masses.items() if j * grid.step > epsilon]
        terms = [mass * (1 - ball(epsilon - loss).exp()) for mass, loss in above]
        truth = (sum(terms, ball(0)) + distribution.infinite) / ball(2**grid.bits)
        assert distribution.delta(epsilon).overlaps(truth)
        assert float(distribution.delta(epsilon).rad()) < 1e-40


@pytest.mark.parametrize("upper", [True, False], ids=["upper", "lower"])
@pytest.mark.parametrize("tail", [20, 60])
def test_a_product_is_rounded_as_integers_are(upper: bool, tail: int) -> None:
    """Convolution, cut ends and rounding agree with plain integers, to the last unit."""
    rng = np.random.default_rng(tail)
    grid = Grid(step=Fraction(1, 40), bits=64, tail=tail, upper=upper)
    for _ in range(10):
        left, right = (scattered(rng, grid, points=int(rng.integers(13, 90))) for _ in range(2))
        product = [0] * (left.points + right.points - 1)
        for i, a in enumerate(left.poly.coeffs()):
            for j, b in enumerate(right.poly.coeffs()):
                product[i + j] += int(a) * int(b)
        budget, first, last = 2 ** (2 * grid.bits - tail), 0, len(product)
        if sum(product) > budget:
            while sum(product[: first + 1]) <= budget:
                first += 1
            while sum(product[last - 1 :]) <= budget:
                last -= 1
        kept, low_end, high_end = product[first:last], sum(product[:first]), sum(product[last:])
        kept[0 if upper else -1] += low_end if upper else high_end
        rounded = [-(-mass // 2**64) if upper else mass // 2**64 for mass in kept]
        found = compose(left, right)
        assert found.low == left.low + right.low + first
        assert [int(mass) for mass in found.poly.coeffs()] == rounded[: found.points]
        assert not any(rounded[found.points :])
        mixed = left.infinite * right.units() + right.infinite * (left.units() - left.infinite)
        beyond = [mixed, high_end] if upper else [mixed]
        assert found.infinite == sum(-(-mass // 2**64) if upper else mass // 2**64 for mass in beyond)


def test_asymmetric_noise_needs_both_directions() -> None:
    """For a skew binomial the certified pair is above each single direction, after composition too."""
    distribution, grid = Binomial(200, Fraction(1, 10)), Grid(step=Fraction(1, 200))
    pair = power(lattice_pair(distribution, 1, grid), 8)
    for one in (distribution, Reflected(distribution)):
        claim = power(_single(one, grid), 8)
        for epsilon in (Fraction(1, 2), Fraction(2)):
            assert upper_exact(pair.delta(epsilon)) >= lower_exact(claim.delta(epsilon))


def _single(distribution: Any, grid: Grid) -> LossDistribution:
    """One direction of a binomial against its shift by 1."""
    low = distribution.first
    masses = distribution.masses(low - 1, distribution.last)
    return from_atoms(grid, zip(masses[1:], masses[:-1], strict=True))


def test_total_mass_is_one() -> None:
    """Upper distributions have mass at least 1 and lower distributions at most 1, by a rounding of at most
    1e-20, after 100 compositions.
    """
    up = power(distribution_of(ATOMS, FINE), 100)
    low = power(distribution_of(ATOMS, Grid(step=FINE.step, upper=False)), 100)
    unit = 1 << FINE.bits
    assert 0 <= Fraction(up.units() - unit, unit) < Fraction(1, 10**19)
    assert 0 <= Fraction(unit - low.units(), unit) < Fraction(1, 10**19)


def test_pure_distributions_match_the_pure_bound() -> None:
    """One randomised response of epsilon = 1/3, off the grid: at most a grid step's worth above the exact
    delta.
    """
    distribution = response_pair(Fraction(1, 3), FINE)
    for epsilon in (Fraction(0), Fraction(1, 10), Fraction(3, 10)):
        assert (
            -Fraction(1, 10**15)
            <= upper_exact(distribution.delta(epsilon)) - pure_delta(Fraction(1, 3), epsilon)
            < Fraction(1, 10**5)
        )


def test_bad_grids_and_premises_are_refused() -> None:
    """Grids out of range, distributions on different grids, too many points, and premises without a pair are
    refused.
    """
    with raises(InvalidParameterError, code="E-GRID-STEP"):
        Grid(step=Fraction(0))
    with raises(InvalidParameterError, code="E-GRID-DIFFERENT"):
        compose(response_pair(Fraction(1), FINE), response_pair(Fraction(1), Grid(step=Fraction(1, 10))))
    with raises(InvalidParameterError, code="E-GRID-POINTS"):
        gaussian_pair(Fraction(100), Grid(step=Fraction(1, 10**7)))
    with pytest.raises(CertificateError, match="integer from 64 to 256"):
        build.compose_sequential(
            [build.laplace_mechanism(sensitivity=1, scale=1)], times=[2], grid=LossGrid(bits=1024)
        )
