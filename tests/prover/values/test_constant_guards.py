"""Guards of values that never change: they say nothing about the rows of other values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpaudit.core.claims import PureDP
from dpaudit.core.data import EVERY, Interval, Records
from dpaudit.prover.values.prove import prove_values

ANY_NUMBER = Records(Interval(0, 1), size=EVERY)


def halves(use: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Return a program that releases the sum of all data twice, each time with a value that is always 1."""

    def program(data: Any, rng: Any) -> Any:
        above, below = (data * (data > 0.5)).sum(), (data * (data <= 0.5)).sum()
        return use(data, above).sum() + rng.laplace(0, 1), use(data, below).sum() + rng.laplace(0, 1)

    return program


@pytest.mark.parametrize(
    "use",
    [
        lambda data, half: data * np.clip(half, 1, 1),
        lambda data, half: np.clip(half, 1, 1) * data,
        lambda data, half: data * (half >= 0),
        lambda data, half: np.where(half >= 0, data, 0),
        lambda data, half: data * ((data >= 0) & (half >= 0)),
        lambda data, half: np.clip(half, 1, 1) / (data + 1),
    ],
)
def test_a_value_that_never_changes_guards_no_rows(use: Callable[[Any, Any], Any]) -> None:
    """A record of any value affects both sums, so their costs add up."""
    program = halves(use)
    claim = PureDP(epsilon="3/2", adjacency="add-remove")
    assert prove_values(program, claim, data=ANY_NUMBER).verdict != "verified"


def test_rows_of_different_halves_are_still_guarded() -> None:
    """The sums above and below a number are of different records, which cost the larger of both."""

    def program(data: Any, rng: Any) -> Any:
        above, below = (data * (data > 0.5)).sum(), (data * (data <= 0.5)).sum()
        return above + rng.laplace(0, 1), below + rng.laplace(0, 1)

    claim = PureDP(epsilon=1, adjacency="add-remove")
    assert prove_values(program, claim, data=ANY_NUMBER).verdict == "verified"
