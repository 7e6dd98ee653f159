"""The grid is computed where its scope says, in every profile."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.suite import Run
from dpaudit.suite import full, listed, only_quick, over
from tests.errors import raises

QUICK = Run(profile="quick", alpha=0.05, seed=0, row_id="X")
FULL = Run(profile="full", alpha=0.05, seed=0, row_id="X")
PAPER = Run(profile="paper", alpha=0.05, seed=0, row_id="X")


def test_a_product_has_every_combination_in_order() -> None:
    """The first axis is the slowest, strings are exact numbers."""
    points = list(over(n=(1, 2), p="1/10 1/2").at(QUICK))
    tenth, half = Fraction(1, 10), Fraction(1, 2)
    assert points == [{"n": n, "p": p} for n in (1, 2) for p in (tenth, half)]


def test_profiles_see_their_own_values_and_the_scope_says_so() -> None:
    """``full`` and ``only_quick`` values are looked at in their profile alone, and printed as such."""
    grid = over(n=(1, only_quick(2), full("3 4")))
    assert [point["n"] for point in grid.at(QUICK)] == [1, 2]
    assert [point["n"] for point in grid.at(FULL)] == [1, 3, 4]
    assert list(grid.at(PAPER)) == list(grid.at(FULL))
    assert grid.scope == "n = 1 (quick profile: 2) (full profile: 3, 4)"


def test_a_string_among_values_lists_numbers_or_is_a_word() -> None:
    """A string of exact numbers among other values is all of them; one with a word in it stays whole."""
    grid = over(p=("1/10 1/2", 3, full("7")), distribution=("Laplace", "sum of 4 parts"))
    assert [point["p"] for point in grid.at(QUICK)][::2] == [Fraction(1, 10), Fraction(1, 2), 3]
    assert grid.scope == "p = 1/10, 1/2, 3 (full profile: 7); distribution = Laplace, sum of 4 parts"


def test_grids_add_up_and_keep_what_a_predicate_keeps() -> None:
    """A sum has the points of both; a filter drops points and says which in words."""
    grid = (over(k=(1, 2)) + listed("k", 5)).where(lambda k: k != 2, "k is not 2")
    assert [point["k"] for point in grid.at(QUICK)] == [1, 5]
    assert grid.scope == "k = 1, 2 | (k = 5); k is not 2"


def test_a_point_of_two_parts_is_one_point() -> None:
    """What the full values of one part share with another part is computed once, in its first place; numbers
    of other types and values without a hash stay."""
    grid = over(k=(1, full(5)), x="1/2") + listed("k x", (5, "1/2"), (7, "1/2"))
    assert [point["k"] for point in grid.at(QUICK)] == [1, 5, 7]
    assert [point["k"] for point in grid.at(FULL)] == [1, 5, 7]
    assert [point["k"] for point in (over(k=(1,)) + listed("k", True)).at(QUICK)] == [1, True]
    assert len(list((listed("k", ([1],)) + listed("k", ([1],))).at(QUICK))) == 2


def test_filters_add_up() -> None:
    """A second filter does not replace the first."""
    grid = over(k=range(10)).where(lambda k: k % 2 == 0, "even").where(lambda k: k > 4, "above 4")
    assert [point["k"] for point in grid.at(QUICK)] == [6, 8]
    assert grid.scope.endswith("even; above 4")


def test_long_axes_are_printed_short_and_counted() -> None:
    """No scope is longer than a reader reads, and the number of values stands there."""
    assert over(r=range(100)).scope == "r = 0, 1, 2, ..., 99 (100 values)"


def test_greek_names_are_printed_as_letters() -> None:
    """Parameters are printed as papers print them."""
    assert over(epsilon="1/2", n_arms=2, batch_size=8).scope == "ε = 1/2; K = 2; batch size = 8"


@pytest.mark.parametrize("values", [(), "", (full(1),), (only_quick(1),)])
def test_an_axis_needs_a_value_in_every_profile(values: object) -> None:
    """A grid that is empty in one profile would check nothing there."""
    with raises(InvalidParameterError, code="E-GRID-EMPTY"):
        over(n=values)


def test_a_listed_point_has_a_value_for_each_name() -> None:
    """A point of another length is refused."""
    with raises(InvalidParameterError, code="E-GRID-POINT"):
        listed("a b", (1, 2), (3,))


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=4), st.lists(st.integers(), min_size=1, max_size=4))
def test_the_number_of_points_is_the_product(first: list[int], second: list[int]) -> None:
    """Nothing is dropped and nothing is merged."""
    assert len(list(over(a=first, b=second).at(QUICK))) == len(first) * len(second)
