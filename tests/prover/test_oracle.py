"""Test the oracle against closed forms and known exact losses."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from dpaudit.coins import Coins
from dpaudit.distributions import DiscreteLaplace, Laplace
from tests.prover.masses import Noise, polytope_mass
from tests.prover.oracle import Within, loss, paths, probability

ONE, TWO = Noise("laplace", 1.0), Noise("laplace", 2.0)


def test_one_draw_in_both_tails() -> None:
    """The mass of Laplace noise is accurate to 1e-12 in both tails."""
    for a, b in ((-3.0, 1.0), (30.0, 31.0), (-200.0, -100.0), (0.0, math.inf)):
        rows, ends = np.array([[-1.0], [1.0]]), np.array([a, -b])
        below = (
            stats.laplace.sf(a) - stats.laplace.sf(b)
            if a >= 0
            else stats.laplace.cdf(b) - stats.laplace.cdf(a)
        )
        assert polytope_mass([ONE], rows[: 2 if b < math.inf else 1], ends[: 2 if b < math.inf else 1]) == (
            pytest.approx(below, rel=1e-12)
        )


@pytest.mark.parametrize("gap", [0, 1, 5, 40])
def test_a_difference_of_two_draws(gap: float) -> None:
    """P(n - m >= gap) for equal scales is exp(-gap) (1 + gap/2) / 2."""
    found = polytope_mass([ONE, ONE], np.array([[-1.0, 1.0]]), np.array([float(gap)]))
    assert found == pytest.approx(math.exp(-gap) * (1 + gap / 2) / 2, rel=1e-10)


def test_three_draws_against_another_integrator() -> None:
    """P(n > m + 1, n > k - 1, n < 4) agrees with scipy's adaptive integration."""
    rows = np.array([[-1.0, 1.0, 0.0], [-1.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    found = polytope_mass([ONE, TWO, ONE], rows, np.array([1.0, -1.0, -4.0]))

    def integrand(n: float) -> float:
        return float(stats.laplace.pdf(n) * stats.laplace.cdf(n - 1, scale=2) * stats.laplace.cdf(n + 1))

    pieces = [(-50, -1), (-1, 0), (0, 1), (1, 4)]
    wanted = sum(integrate.quad(integrand, a, b, epsabs=1e-14)[0] for a, b in pieces)
    assert found == pytest.approx(wanted, rel=1e-9)


def sparse_vector(coins: Coins, data: Any) -> None:
    threshold = coins.draw(Laplace(scale=4), site="threshold")
    for query in data:
        above = query + coins.draw(Laplace(scale=Fraction(4, 3)), site="noise") >= threshold
        coins.reveal(bool(above), site="above")
        if above:
            return


@pytest.mark.parametrize(("far", "known"), [(0, 1.6880), (1, 1.7374), (5, 1.7499), (20, 1.75)])
def test_known_losses_of_sparse_vector(far: int, known: float) -> None:
    """The losses of sparse vector with scales 4 and 4/3 agree with an independent integration."""
    left, right = ([t * sign for sign in (1, 1, 1, -1)] for t in (far, far + 1))
    assert loss(sparse_vector, left, right, [False, False, False, True]) == pytest.approx(known, abs=5e-5)


def test_probabilities_sum_to_one() -> None:
    """The probabilities of all outcomes sum to 1."""
    found = paths(sparse_vector, [Fraction(1, 3), -2, 7])
    events = [[False] * k + [True] for k in range(3)] + [[False] * 3]
    assert sum(probability(found, event) for event in events) == pytest.approx(1, rel=1e-9)


def test_integers_have_atoms() -> None:
    """A discrete Laplace draw equals 3 with the exact probability of an atom."""

    def program(coins: Coins, data: Any) -> None:
        coins.reveal(coins.draw(DiscreteLaplace(scale=1), site="n") == data[0], site="shown")

    atom = math.tanh(0.5) * math.exp(-3)
    assert probability(paths(program, [3]), [True]) == pytest.approx(atom, rel=1e-9)


def test_a_release_in_an_interval() -> None:
    """A release has the exact probability of an interval, and 0 for a single point."""

    def program(coins: Coins, data: Any) -> None:
        coins.release(data[0], Laplace(scale=1), site="shown")

    found = paths(program, [0])
    assert probability(found, [Within(1, 2)]) == pytest.approx((math.exp(-1) - math.exp(-2)) / 2)
    assert probability(found, [Within(1, 1)]) == 0
