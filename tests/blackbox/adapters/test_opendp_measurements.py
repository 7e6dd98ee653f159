"""OpenDP's measurements: the claim, the adjacency and the pairs are those that the object states."""

from __future__ import annotations

import math
from typing import Any

import pytest

from dpaudit.blackbox import adapters
from dpaudit.core.claims import Adjacency, ApproxDP, PureDP, ZeroConcentratedDP
from dpaudit.core.errors import InvalidParameterError
from tests.errors import raises
from tests.rates import FALSE_FAILURE_RATE

dp = pytest.importorskip("opendp.prelude")


@pytest.fixture(autouse=True)
def _features() -> None:
    dp.enable_features("contrib")


def number_laplace(scale: float = 1.0) -> Any:
    return dp.m.make_laplace(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=scale)


def bounded_sum(size: int | None = None) -> Any:
    space = dp.vector_domain(dp.atom_domain(T=int, bounds=(0, 1)), size=size), dp.symmetric_distance()
    return space >> dp.t.then_sum() >> dp.m.then_laplace(scale=1.0)


def test_a_number_with_laplace_noise() -> None:
    """epsilon = d_in / scale, two numbers d_in apart; what is six times as far apart refutes it."""
    adapted = adapters.opendp(number_laplace(0.5), d_in=2.0)
    assert isinstance(adapted.claim, PureDP)
    assert (adapted.claim.bound, adapted.neighbours) == (4, [(0.0, 2.0)])
    right = adapters.opendp(number_laplace()).check(
        max_samples=2000, record_draws=False, alpha=FALSE_FAILURE_RATE
    )
    assert right.verdict == "inconclusive"
    assert any("cannot be seeded" in note for note in right.notes)
    wrong = adapters.opendp(number_laplace(), neighbours=[(0.0, 6.0)])
    assert wrong.check(max_samples=20_000, record_draws=False).verdict == "refuted"


def test_the_symmetric_distance_adds_and_removes_unless_the_size_is_known() -> None:
    """Then the nearest neighbour is at distance 2: one record replaced."""
    loose, sized = adapters.opendp(bounded_sum()), adapters.opendp(bounded_sum(3))
    assert loose.claim.adjacency is Adjacency.ADD_REMOVE
    assert {abs(len(one) - len(two)) for one, two in loose.neighbours} == {1}
    assert sized.claim.adjacency is Adjacency.REPLACE_ONE
    assert {(len(one), len(two)) for one, two in sized.neighbours} == {(3, 3)}
    assert (loose.claim.bound, sized.claim.bound) == (1, 1)


def test_other_measures() -> None:
    """zCDP, (epsilon, delta)-DP and a privacy profile become claims of their own type."""
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    gaussian = dp.m.make_gaussian(*space, scale=1.0)
    assert adapters.opendp(gaussian).claim == ZeroConcentratedDP(
        rho="0.5", domain=adapters.opendp(gaussian).claim.domain
    )
    curve = dp.c.make_zCDP_to_approxDP(gaussian)
    points = dict(adapters.opendp(curve).claim.exact_points)
    assert points[1] == pytest.approx(curve.map(1.0).delta(1.0), rel=1e-9)
    fixed = adapters.opendp(dp.c.make_fix_delta(curve, 1e-6)).claim
    assert isinstance(fixed, ApproxDP)
    assert float(fixed.delta) == 1e-6


def test_vectors_move_by_their_norm() -> None:
    """In L1 one entry moves; in the largest norm all do together."""
    vector = dp.vector_domain(dp.atom_domain(T=int), size=3)
    one = adapters.opendp(dp.m.make_laplace(vector, dp.l1_distance(T=int), scale=1.0))
    assert one.neighbours == [([0, 0, 0], [1, 0, 0])]
    largest = dp.m.make_noisy_max(vector, dp.linf_distance(T=int), dp.max_divergence(), scale=1.0)
    assert adapters.opendp(largest).neighbours[0] == ([0, 0, 0], [1, 1, 1])


def test_entries_of_vectors_move_against_each_other() -> None:
    """At the same distance, in every norm that leaves room for it; not where all must move one way."""
    floats = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=3)
    halves = adapters.opendp(dp.m.make_laplace(floats, dp.l1_distance(T=float), scale=1.0)).neighbours
    assert ([0.5, 0, 0], [0, 0.5, 0]) in halves
    left, right = adapters.opendp(dp.m.make_gaussian(floats, dp.l2_distance(T=float), scale=1.0)).neighbours[
        -1
    ]
    assert left[0] > 0 == right[0]
    assert 0.999 < math.hypot(*(one - two for one, two in zip(left, right, strict=True))) <= 1
    ints = dp.vector_domain(dp.atom_domain(T=int), size=3)
    for monotonic in (False, True):
        metric = dp.linf_distance(T=int, monotonic=monotonic)
        scores = adapters.opendp(dp.m.make_noisy_max(ints, metric, dp.max_divergence(), scale=1.0))
        assert (([1, 0, 1], [0, 1, 0]) in scores.neighbours) is not monotonic
        assert ([0, 0, 0], [1, 1, 1]) in scores.neighbours


def test_what_cannot_be_read_is_refused() -> None:
    """No measurement, a distance of no single record, a domain that does not say its values."""
    with raises(InvalidParameterError, code="E-OBJECT-KIND"):
        adapters.opendp(lambda data: data)
    with raises(InvalidParameterError, code="E-D-IN-RANGE", match="must be 1"):
        adapters.opendp(bounded_sum(), d_in=3)
    with raises(InvalidParameterError, code="E-D-IN-RANGE", match="must be 2"):
        adapters.opendp(bounded_sum(3), d_in=1)
    letters = dp.m.make_randomized_response(["a", "b", "c"], prob=0.75)
    with raises(InvalidParameterError, code="E-NEIGHBOURS-MISSING"):
        adapters.opendp(letters).check()
