"""Lists of positions as an index of records, the kind of an array of outcomes, and noise on one entry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpaudit.core.claims import ApproxDP, PureDP
from dpaudit.core.data import Integers, Interval, Records
from dpaudit.distributions import Binomial, Laplace
from dpaudit.prover.values.prove import prove_values

DATA = Records(Interval(0, 1), size=3)


def verdict(value: Callable[[Any], Any], *, scale: float = 1.0, data: Records = DATA) -> str:
    """Return the verdict on ``value`` of the data plus Laplace noise, for epsilon = 1."""

    def program(coins: Any, d: Any) -> Any:
        return coins.release(value(d), Laplace(scale=scale), site="x")

    return prove_values(program, PureDP(epsilon=1, domain=data.words), data=data, files=[__file__]).verdict


RIGHT = [
    lambda d: d[[0, 1, 2]].sum(),
    lambda d: d[[0, 2]].sum(),
    lambda d: d[[1]].sum(),
    lambda d: d[list(range(len(d)))].sum(),
    lambda d: d[[0, 2]][[1]].sum(),
]


@pytest.mark.parametrize("value", RIGHT)
def test_ascending_positions_select_records(value: Any) -> None:
    """Positions with equal steps cost one record, and half of the noise is not enough."""
    assert verdict(value) == "verified"
    assert verdict(value, scale=0.5) != "verified"


@pytest.mark.parametrize(
    "value",
    [
        lambda d: d[[0, 0]].sum(),
        lambda d: d[[1, 1, 1]].sum(),
        lambda d: d[[2, 1, 0]].sum(),
        lambda d: d[[-1, 0]].sum(),
        lambda d: d[[0, 5]].sum(),
        lambda d: d[[1, 2, 3]].sum(),
        lambda d: d[[True, False, True]].sum(),
        lambda d: d[[[0, 1]]].sum(),
        lambda d: (d[[0, 1]] + d[[1, 2]]).sum(),
        lambda d: d[[0, 1, 2]].sum() + d[[0]].sum(),
    ],
)
def test_other_lists_are_not_verified(value: Any) -> None:
    """Repeated, descending, negative and missing positions, masks, and a record that counts twice."""
    assert verdict(value) != "verified"


def test_positions_require_a_known_number_of_records() -> None:
    """For every number of records a position may be missing, which raises IndexError."""
    assert verdict(lambda d: d[[0, 2]].sum(), data=Records(Interval(0, 1), at_least=3)) != "verified"


def test_changes_in_place_are_not_missed() -> None:
    """A change through an alias of the selected records is refused or counted."""

    def changed(d: Any) -> Any:
        chosen = d[[0, 1, 2]]
        alias = chosen
        alias *= 3
        return chosen.sum()

    assert verdict(changed) != "verified"


@pytest.mark.parametrize(("factor", "trials", "wanted"), [(1, 100, True), (2, 100, False), (1, 25, False)])
def test_one_entry_costs_as_a_number(factor: int, trials: int, *, wanted: bool) -> None:
    """An array of one entry has the exact cost of a number. Larger changes and less noise cost more."""
    data = Records(Integers(0, 1), size=3)
    claim = ApproxDP(epsilon="1/2", delta="1/1000", domain=data.words)

    def number(coins: Any, d: Any) -> Any:
        return coins.release(d.sum() * factor, Binomial(trials=trials, p="1/2"), site="x")

    def array(coins: Any, d: Any) -> Any:
        return coins.release(np.array([d.sum() * factor]), Binomial(trials=trials, p="1/2"), site="x")

    one, other = (prove_values(f, claim, data=data, files=[__file__]) for f in (number, array))
    assert one.bound == other.bound
    assert (other.verdict == "verified") == wanted


def test_two_entries_cost_more_than_a_number() -> None:
    """Two entries that both change reveal more than one of them."""
    data = Records(Integers(0, 1), size=3)
    claim = ApproxDP(epsilon="1/2", delta="1/1000", domain=data.words)

    def both(coins: Any, d: Any) -> Any:
        return coins.release(np.array([d.sum(), d.sum()]), Binomial(trials=100, p="1/2"), site="x")

    assert prove_values(both, claim, data=data, files=[__file__]).verdict != "verified"
