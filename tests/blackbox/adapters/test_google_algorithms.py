"""python-dp: adding and removing a record, numbers a sensitivity apart, budgets of one record only."""

from __future__ import annotations

import pytest

from dpaudit.blackbox import adapters
from dpaudit.core.claims import Adjacency, ApproxDP
from dpaudit.core.errors import InvalidParameterError
from tests.rates import FALSE_FAILURE_RATE

pytest.importorskip("pydp")

from pydp.algorithms import laplacian, numerical_mechanisms

from tests.errors import raises


def bounded_sum(**options: int) -> laplacian.BoundedSum:
    return laplacian.BoundedSum(epsilon=1.0, lower_bound=0, upper_bound=1, dtype="int", **options)


def test_a_sum_over_records() -> None:
    """It is right for one record, and refuted where six are removed at once."""
    adapted = adapters.pydp(bounded_sum(), records=[0, 1])
    assert adapted.claim.adjacency is Adjacency.ADD_REMOVE
    assert {abs(len(one) - len(two)) for one, two in adapted.neighbours} == {1}
    right = adapted.check(max_samples=3000, record_draws=False, alpha=FALSE_FAILURE_RATE)
    assert right.verdict == "inconclusive"
    assert "cannot be seeded" in right.notes[0]
    assert adapted.check(neighbours=[([1] * 8, [1] * 2)], record_draws=False).verdict == "refuted"


def test_noise_for_a_number() -> None:
    """Numbers a sensitivity apart, a Gaussian mechanism with its delta."""
    laplace = adapters.pydp(numerical_mechanisms.LaplaceMechanism(2.0, 3.0))
    assert (laplace.neighbours, laplace.claim.bound) == ([(0.0, 3.0)], 2)
    gaussian = numerical_mechanisms.GaussianMechanism(1.0, 0.01, 1.0)
    claim = adapters.pydp(gaussian).claim
    assert isinstance(claim, ApproxDP)
    assert float(claim.delta) == 0.01


def test_budgets_of_more_than_a_record_are_refused() -> None:
    """One user in two partitions, and what is no algorithm."""
    with raises(InvalidParameterError, code="E-USER-RECORDS", match="l0_sensitivity"):
        adapters.pydp(bounded_sum(l0_sensitivity=2), records=[0, 1])
    with raises(InvalidParameterError, code="E-OBJECT-KIND"):
        adapters.pydp(object())
