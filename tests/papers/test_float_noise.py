"""Which values a noisy sum can have in floats (HHM-FLOAT): exact supports, by more than one route."""

from __future__ import annotations

import math

import numpy as np
import pytest

from audits.private_online_learning.rows.structure import reached, rows
from dpaudit.core.suite import Run

VALUES = [0.0, 0.3, -0.3, 2.0**-53, 2.0**-54, 1e-300, 1.5, 1.0, math.nextafter(1.0, 0.0), -0.999, 123.456]


@pytest.mark.parametrize("value", VALUES)
def test_inside_the_unit_interval_only_multiples_of_2_to_the_minus_53_are_reached(value: float) -> None:
    """For |v| < 1 the float 1 + z is on the lattice of step 2^-53, and from 0 on all of the lattice is
    reached."""
    on_lattice = value * 2.0**53 == np.rint(value * 2.0**53)
    if abs(value) < 1:
        assert on_lattice or not reached(value, offset=1.0)
    if 0 <= value < 1:
        assert reached(value, offset=1.0) == on_lattice
    assert reached(value, offset=0.0)


def test_a_value_that_was_released_is_reached() -> None:
    """Control: no value of the sum 1 itself is ever called impossible."""
    draws = np.random.default_rng(7).laplace(size=5000)
    assert all(reached(value, offset=1.0) for value in (1.0 + draws).tolist())


def test_the_row_names_an_impossible_value() -> None:
    """The value in the row's details is a float of the sum 0 and none of the sum 1."""
    row = next(row for row in rows.rows if row.id == "HHM-FLOAT")
    (estimate,) = row.evaluate(Run(profile="quick", alpha=0.01, seed=3, row_id=row.id)).evidence
    value = float.fromhex(estimate.details["value"])
    assert abs(value) < 1
    assert not reached(value, offset=1.0)
    assert estimate.confidence == 1
