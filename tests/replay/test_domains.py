"""Generated pairs follow from the declared domain, and pairs that are not neighbours are refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit.core.claims import Adjacency, Unit
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.neighbours import Neighbours
from dpaudit.replay.domains import Interval, Values, require_neighbours
from tests.errors import raises

ONE = Neighbours("mine", np.array([0.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0]))


def pairs(domain: Any, adjacency: Adjacency = Adjacency.REPLACE_ONE, *, of: Any = (ONE,)) -> list[Neighbours]:
    return list(domain.beside(of, adjacency, np.random.default_rng(0), most=20).pairs)


@pytest.mark.parametrize("domain", [Interval(0, 1), Interval(-2, 5), Interval(None, None), Values(0, 1, 3)])
@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_every_pair_is_adjacent_and_in_the_domain(domain: Any, adjacency: Adjacency) -> None:
    """Corners and random ones, for each adjacency; a null record must be in the domain to be put in."""
    found = pairs(domain, adjacency)
    assert len(found) >= 12
    for pair in found:
        assert require_neighbours(pair, adjacency, Unit.EVENT, domain) == ""


def test_corners_cover_the_ends_and_the_last_record() -> None:
    """Both ends of the interval are taken by the first and by the last record."""
    found = pairs(Interval(0, 2))
    ends = {(place, float(pair.right[place])) for pair in found for place in (0, 2)}
    assert {(0, 2.0), (2, 2.0), (0, 0.0), (2, 0.0)} <= ends
    assert any(np.abs(pair.left).max() >= 100 for pair in pairs(Interval(None, None)))


WRONG = {
    "two records": (ONE.left, np.array([1.0, 1.0, 0.0]), Adjacency.REPLACE_ONE),
    "equal": (ONE.left, ONE.left, Adjacency.REPLACE_ONE),
    "another size": (ONE.left, np.zeros(2), Adjacency.REPLACE_ONE),
    "replaced, not removed": (ONE.left, ONE.right, Adjacency.ADD_REMOVE),
    "removed, not replaced": (ONE.left, np.zeros(2), Adjacency.ZERO_OUT),
    "no null record": (np.array([2.0]), np.array([1.0]), Adjacency.ZERO_OUT),
    "removed and changed": (np.array([1.0, 2.0]), np.array([3.0]), Adjacency.ADD_REMOVE),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_pair_that_is_not_adjacent_is_refused(name: str) -> None:
    """The error names the pair."""
    left, right, adjacency = WRONG[name]
    with raises(InvalidParameterError, code="E-PAIR-NOT-NEIGHBOURS", match="'bad pair'"):
        require_neighbours(Neighbours("bad pair", left, right), adjacency, Unit.EVENT, None)


def test_a_pair_outside_the_domain_is_refused() -> None:
    """NaN and numbers outside the interval are refused, also in lists."""
    for wrong in ([0.0, 2.0], [0.0, float("nan")], [0.0, -1.0]):
        pair = Neighbours("outside", [0.0, 0.0], wrong)
        with raises(InvalidParameterError, code="E-DATA-OUTSIDE-DOMAIN"):
            require_neighbours(pair, Adjacency.REPLACE_ONE, Unit.EVENT, Interval(0, 1))


@pytest.mark.parametrize("strange", [float("nan"), float("inf"), np.float32("nan")])
@pytest.mark.parametrize("form", [list, np.array, lambda data: {"rewards": tuple(data)}])
def test_data_that_are_not_finite_are_refused(strange: Any, form: Any) -> None:
    """NaN and infinities are refused in any container, unless the domain allows them."""

    def required(left: list[Any], domain: Any) -> str:
        pair = Neighbours("strange", form(left), form([0.5, strange]))
        return require_neighbours(pair, Adjacency.REPLACE_ONE, Unit.EVENT, domain)

    for left in ([0.5, 0.25], [0.25, strange]):
        with raises(
            InvalidParameterError, code="E-DATA-NOT-FINITE", match=f"'strange' hold {float(strange)}"
        ):
            required(left, None)
        with pytest.raises(InvalidParameterError, match="'strange'"):
            required(left, Interval(0, 1))
        said = required(left, Interval(0, 1, not_finite=True))
        assert ("was not checked" in said) == isinstance(form([0.5]), dict)
    if not isinstance(form([0.5]), dict):
        with raises(InvalidParameterError, code="E-PAIR-NOT-NEIGHBOURS", match="differs in 2 records"):
            required([0.25, 0.25], Interval(0, 1, not_finite=True))
        with raises(InvalidParameterError, code="E-DATA-OUTSIDE-DOMAIN"):
            required([7.0, strange], Interval(0, 1, not_finite=True))


@pytest.mark.parametrize("domain", [Interval(0, 0.1), Interval("0.1", "0.3"), Values(0.1, 0.2, 0.3)])
@pytest.mark.parametrize("width", [np.float64, np.float32])
def test_a_domain_holds_its_own_decimals(domain: Any, width: Any) -> None:
    """A tenth as a float is a little more than a tenth; its neighbours among the floats are outside."""
    ends = [float(x) for x in domain.levels()[:2]]
    assert domain.holds(np.array(ends, dtype=width))
    beyond = [np.nextafter(width(ends[0]), width(-1)), np.nextafter(width(ends[1]), width(1))]
    assert not any(domain.holds(np.array([x])) for x in beyond)
    assert not any(domain.holds(np.array([x])) for x in (np.nan, np.inf))


def test_binary_numbers_are_in_the_domain_as_they_are() -> None:
    """A value that was given exactly in binary is held too, and booleans are 0 and 1."""
    assert Values(Fraction(0.1), 0).holds(np.array([0.1, 0.0]))
    assert Values(0, 1).holds(np.array([True, False]))
    assert not Interval(0, "1/2").holds(np.array([True]))


def test_what_cannot_be_checked_is_said() -> None:
    """Data that are not numbers, and a user with several records, are not checked, and the result says so."""
    said = require_neighbours(Neighbours("text", "a", "b"), Adjacency.REPLACE_ONE, Unit.EVENT, None)
    assert "was not checked" in said
    several = Neighbours("user", np.zeros(3), np.array([1.0, 1.0, 0.0]))
    assert "was not checked" in require_neighbours(several, Adjacency.REPLACE_ONE, Unit.USER, None)


def test_text_is_no_value_of_a_domain() -> None:
    """Categories are refused, and numbers as text are numbers."""
    with raises(InvalidParameterError, code="E-DOMAIN-NOT-NUMBERS"):
        Values("apple", "pear")
    assert Values("1/3", "0.5").holds(np.array([0.5]))
