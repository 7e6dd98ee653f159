"""Neighbouring inputs as a value: corners first, drawn pairs after, and the smallest counterexample."""

from __future__ import annotations

import ast
import re

import numpy as np
import pytest
from hypothesis import strategies as st

from dpaudit import PureDP, check
from dpaudit.blackbox import Inputs
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.neighbours import both_directions
from dpaudit.suite import Neighbours
from tests.errors import raises

ONE = PureDP(epsilon=1)


def needs_three(data, rng):
    """Too little noise, but data sets of one or two records give nothing away."""
    return (sum(data) if len(data) >= 3 else 0) + rng.laplace(0, 0.4)


def changes(pair) -> int:
    return sum(a != b for a, b in zip(pair.left, pair.right, strict=True))


def test_pairs_are_neighbours_and_the_smallest_come_first() -> None:
    """Replace-one: one record differs; no pair twice, in either direction."""
    pairs = list(Inputs([0, 1], size=(1, 5)))
    assert all(isinstance(pair, Neighbours) and changes(pair) == 1 for pair in pairs)
    assert (pairs[0].left, pairs[0].right) == ([0], [1])
    assert len({frozenset((tuple(pair.left), tuple(pair.right))) for pair in pairs}) == len(pairs)
    assert any(pair.left[2] != pair.right[2] for pair in pairs if len(pair.left) == 5)  # the middle, too
    assert len(both_directions(list(Inputs([0, 1], size=2)))) >= 4


def test_other_adjacencies_and_makers() -> None:
    """Add-remove and zero-out pairs, of arrays."""
    for pair in Inputs([0.0, 1.0], size=(1, 3), adjacency="add-remove", make=np.array):
        assert len(pair.left) == len(pair.right) + 1
    for pair in Inputs([1, 2], size=3, adjacency="zero-out", null=0):
        assert changes(pair) == 1
        assert 0 in pair.right


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"size": (3, 2)}, "E-SIZE-RANGE"),
        ({"size": 0}, "E-SIZE-RANGE"),
        ({"extremes": [1]}, "E-CORNERS-EQUAL-VALUES"),
        ({"size": "3"}, "E-SIZE-RANGE"),
        ({"size": (1, 2.5)}, "E-SIZE-RANGE"),
        ({"adjacency": "zero-out"}, "E-NULL-MISSING"),
    ],
)
def test_what_gives_no_pairs_is_refused(arguments, code: str) -> None:
    """Arguments that give no pairs raise an error with a code."""
    with raises(InvalidParameterError, code=code):
        Inputs(st.integers(0, 1), **{"extremes": [0, 1], **arguments})


def test_the_adjacency_must_be_the_claims() -> None:
    """A claim by another adjacency is refused, not refuted."""
    with raises(InvalidParameterError, code="E-ADJACENCY-DIFFERS", match="replace-one, got add-remove"):
        check(needs_three, ONE, neighbours=Inputs([0, 1], adjacency="add-remove"))


@pytest.mark.parametrize("as_strategy", [False, True])
def test_the_smallest_counterexample_is_shown(as_strategy: bool) -> None:
    """Three records of 0 and 1, one of which changes; by the value and by its bare strategy. Which of them
    stay 1 is the way of Hypothesis to shrink, which differs between its versions."""
    inputs = Inputs(st.integers(0, 9), size=(1, 6), extremes=[0, 9])
    result = check(needs_three, ONE, neighbours=inputs.strategy() if as_strategy else inputs, seed=1)
    assert result.verdict == "refuted"
    note = next(note for note in result.notes if note.startswith("smallest refuting pair"))
    left, right = (ast.literal_eval(text) for text in re.findall(r"\[.*?\]", note))
    assert len(left) == len(right) == 3
    assert {*left, *right} == {0, 1}
    assert sum(a != b for a, b in zip(left, right, strict=True)) == 1


def test_nothing_smaller_is_shown_of_what_stands() -> None:
    """A right mechanism is neither refuted nor shrunk."""
    result = check(
        lambda data, rng: sum(data) + rng.laplace(), ONE, neighbours=Inputs([0, 1]), max_samples=2000
    )
    assert result.verdict == "inconclusive"
    assert not any("smallest refuting pair" in note for note in result.notes)
