"""The oracle against values by hand: a bound is only worth what it is compared with."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from dpaudit.core.claims import Adjacency, Unit
from tests.kernel.enumeration import oracle
from tests.kernel.enumeration.data import Situation, datasets, neighbours, pairs_in
from tests.kernel.enumeration.local_rules import response_rows
from tests.kernel.enumeration.selection_rules import transcripts, winner

P = np.array([[0.5, 0.25, 0.25], [0.5, 0.5, 0.0]])
Q = np.array([[0.25, 0.5, 0.25], [0.5, 0.25, 0.25]])


def test_quantities_by_hand() -> None:
    """Two pairs of distributions of three outcomes, every quantity by hand; a missing outcome is an infinite
    loss."""
    assert oracle.pure(P, Q).tolist() == pytest.approx([math.log(2), math.log(2)])
    assert oracle.pure(Q, P)[1] == math.inf
    assert oracle.renyi(Q, P, 2.0)[1] == math.inf
    assert oracle.delta(P, Q, 0.0).tolist() == pytest.approx([0.25, 0.25])
    assert oracle.delta(P, Q, math.log(1.5))[0] == pytest.approx(0.5 - 1.5 * 0.25)
    assert oracle.renyi(P, Q, 2.0)[0] == pytest.approx(math.log(1 + 1 / 8 + 1 / 4))
    assert oracle.mu(Q, P)[1] == math.inf


def test_gaussian_cells_have_their_own_mu() -> None:
    """Fine cells of two Gaussians at distance 1: mu = 1, rho = 1/2, and nothing above."""
    edges = np.linspace(-7, 8, 3001)
    p, q = (oracle.gaussian_cells(m, 1.0, edges)[None] for m in (0.0, 1.0))
    assert p.sum() == pytest.approx(1, abs=1e-12)
    assert 0.999 < oracle.mu(p, q)[0] <= 1 + 1e-9
    assert 0.499 < oracle.renyi(p, q, 2.0)[0] / 2 <= 0.5 + 1e-9


def test_distributions_sum_to_one() -> None:
    """Every noise distribution of the oracle has mass 1, and the masses of the distribution functions of
    scipy."""
    assert oracle.discrete_laplace_clamped(1, 2.0, -3, 4).sum() == pytest.approx(1)
    assert oracle.discrete_laplace_clamped(1, 2.0, -3, 4)[4] == pytest.approx(
        scipy.stats.dlaplace.pmf(0, 1 / 2)
    )
    assert oracle.laplace_cells(0.3, 1.5, np.linspace(-2, 2, 9)).sum() == pytest.approx(1)
    assert oracle.skellam(3.0, 50) == pytest.approx(
        scipy.stats.skellam.pmf(np.arange(-50, 51), 1.5, 1.5), abs=1e-12
    )
    assert oracle.discrete_gaussian_sum(2.0, 2, 40).sum() == pytest.approx(1)
    assert oracle.polya_difference(1.0, 2.0, 30) == pytest.approx(
        scipy.stats.dlaplace.pmf(np.arange(-30, 31), 1 / 2), rel=1e-9
    )
    for noise in ("laplace", "gumbel", "exponential", "gaussian"):
        assert winner([0.5, 0.0, -1.0], noise, 1.5).sum() == pytest.approx(1, rel=1e-12)
    for noise in ("laplace", "exponential"):
        distribution = transcripts(
            lambda prefix: 0.5 * sum(prefix),
            steps=3,
            answers=2,
            noise=noise,
            threshold_scale=2,
            query_scale=1,
        )
        assert distribution.size == 7  # eight strings of three answers, two of which end after "above, above"
        assert distribution.sum() == pytest.approx(1, rel=1e-12)
    assert np.sum(response_rows(1, 3), axis=1) == pytest.approx([1, 1, 1])  # type: ignore[arg-type]


def test_two_exponential_scores_by_hand() -> None:
    """The difference of two exponential variables is Laplace: of scores 1 apart the higher one wins
    with probability 1 - 1/2e.
    """
    assert winner([1.0, 0.0], "exponential", 1.0)[0] == pytest.approx(1 - math.exp(-1) / 2, rel=1e-13)


def test_neighbours_by_hand() -> None:
    """Numbers of data sets and of neighbours, counted by hand for two events of two values."""
    # owners 00 and 01, four lists of values each, and two lists of one event, and the empty one
    assert len(list(datasets((0, 1), range(3)))) == 1 + 2 + 8
    data = ((0, 0), (1, 1))

    def found(adjacency: Adjacency, unit: Unit) -> set[object]:
        return {right for right, _ in neighbours(data, Situation(adjacency, unit), (0, 1), 3)}

    assert found(Adjacency.REPLACE_ONE, Unit.EVENT) == {((0, 1), (1, 1)), ((0, 0), (1, 0))}
    assert found(Adjacency.ADD_REMOVE, Unit.EVENT) == {((0, 0),), ((1, 1),)}
    assert found(Adjacency.ZERO_OUT, Unit.EVENT) == {((0, None), (1, 1)), ((0, 0), (1, None))}
    assert found(Adjacency.ADD_REMOVE, Unit.USER) == {((0, 0),), ((1, 1),)}
    # Either user: one event at 2 places with 2 values, or two at 3 pairs of places with 4, less what he has.
    # One data set is found twice: the two events in the other order, whichever of the two users moved.
    assert len(found(Adjacency.REPLACE_ONE, Unit.USER)) == 2 * (4 + 12 - 1) - 1


def test_pairs_are_neighbours_in_size() -> None:
    """Under replace-one per event sizes agree, under add-or-remove they differ by one."""
    for pair in pairs_in(Situation(Adjacency.REPLACE_ONE, Unit.EVENT)):
        assert len(pair.left) == len(pair.right)
    for pair in pairs_in(Situation(Adjacency.ADD_REMOVE, Unit.EVENT)):
        assert len(pair.left) == len(pair.right) + 1
