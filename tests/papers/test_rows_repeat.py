"""A row's result does not depend on what its worker ran before."""

from __future__ import annotations

import pytest

from audits.private_online_learning.suite import suite
from dpaudit.core.suite import Run

ROWS = {row.id: row for row in suite.rows}


@pytest.mark.parametrize(
    "name", ["HHM-DPSE", pytest.param("HHM-T5P/repaired", marks=pytest.mark.slow), "HHM-T6/repaired"]
)
def test_a_program_row_says_the_same_the_second_time(name: str) -> None:
    """What the first run left in the process (cached distributions, for one) changes neither unmet conditions
    nor notes."""
    run = Run(profile="quick", alpha=0.05, seed=0, row_id=name)
    first, second = ROWS[name].evaluate(run), ROWS[name].evaluate(run)
    assert not first.unmet
    assert (list(second.unmet), list(second.notes)) == (list(first.unmet), list(first.notes))
