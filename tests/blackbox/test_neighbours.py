"""Where a check's pairs of inputs come from: corners of a domain, one's own, or a Hypothesis strategy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st

from dpaudit import PureDP, check
from dpaudit.blackbox import corners
from dpaudit.core.errors import InvalidParameterError
from dpaudit.suite import Neighbours
from tests.errors import raises

ONE = PureDP(epsilon=1)


def differing(left: list, right: list) -> int:
    """Records that differ in two data sets of one size."""
    assert len(left) == len(right)
    return sum(a != b for a, b in zip(left, right, strict=True))


def test_corners_replace_one_record() -> None:
    """Each pair differs in exactly one record, first or last, and no pair comes twice."""
    pairs = corners([0, 1], size=4)
    assert all(isinstance(pair, Neighbours) for pair in pairs)
    assert all(differing(pair.left, pair.right) == 1 for pair in pairs)
    keys = {frozenset((tuple(pair.left), tuple(pair.right))) for pair in pairs}
    assert len(keys) == len(pairs)
    assert ([0, 0, 0, 0], [1, 0, 0, 0]) in [(pair.left, pair.right) for pair in pairs]
    assert ([1, 1, 1, 0], [1, 1, 1, 1]) in [(pair.left, pair.right) for pair in pairs]


def test_corners_by_adjacency() -> None:
    """Add-remove pairs differ by one record more, zero-out pairs hold the null record."""
    for pair in corners([0, 1], 3, "add-remove"):
        assert len(pair.left) == len(pair.right) + 1
    for pair in corners([1, 2], 3, "zero-out", null=0):
        assert differing(pair.left, pair.right) == 1
        assert 0 in pair.right
    arrays = corners([0.0, 1.0], 3, make=np.array)
    assert all(isinstance(pair.left, np.ndarray) for pair in arrays)
    assert corners(["a"], 1, "add-remove")[0].right == []


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (([], 3), "E-CORNERS-EMPTY"),
        (([0, 1], 0), "E-CORNERS-EMPTY"),
        (([1], 3), "E-CORNERS-EQUAL-VALUES"),
        (([0, 1], "3"), "E-SIZE-RANGE"),
        (([0, 1], (1, 3)), "E-SIZE-RANGE"),
        ((5, 3), "E-RECORDS-TYPE"),
        (([0, 1], 2, "zero-out"), "E-NULL-MISSING"),
    ],
)
def test_corners_refuse(arguments, code: str) -> None:
    """Arguments that give no pair raise an error with a code."""
    with raises(InvalidParameterError, code=code):
        corners(*arguments)


def test_an_unknown_adjacency_is_refused() -> None:
    """The error lists the adjacencies."""
    with pytest.raises(InvalidParameterError, match="'replace-one', 'add-remove', 'zero-out', got 'foo'"):
        corners([0, 1], 3, "foo")


def noisy_count(data, rng):
    """A count with half the noise; the length of the data is public."""
    return sum(data) + rng.laplace(0, 0.5)


def test_a_check_takes_corners() -> None:
    """The telling pair is named by its inputs."""
    result = check(noisy_count, ONE, neighbours=corners([0, 1], size=3))
    assert result.verdict == "refuted"
    assert "[0, 0, 0] and [1, 0, 0]" in result.evidence.scope or "of 6: [" in result.evidence.scope


@pytest.mark.sample(3, each=("told",))
@pytest.mark.parametrize(
    ("pair", "adjacency", "told"),
    [
        (([0, 0, 0], [1, 0, 0]), "replace-one", False),
        (([0, 1, 2], [0, 2]), "add-remove", False),
        (([0, 2], [0, 1, 2]), "add-remove", False),
        ((0.0, 1.0), "replace-one", False),
        (({"a": 1}, {"a": 2}), "add-remove", False),
        ((pd.DataFrame({"a": [0, 0]}), pd.DataFrame({"a": [0, 1]})), "replace-one", False),
        (((np.zeros((3, 2)), np.zeros(3)), (np.ones((3, 2)), np.zeros(3))), "replace-one", True),
        (((np.zeros((3, 2)), np.zeros(3)), (np.eye(3, 2, -2), np.eye(3)[2])), "replace-one", False),
        (({"a": [0, 0], "b": [0, 0]}, {"a": [0, 1], "b": [0, 1]}), "replace-one", False),
        (({"a": [0, 0], "b": [0, 0]}, {"a": [1, 1], "b": [0, 0]}), "replace-one", True),
        ((pd.Series([0, 0]), pd.Series([0, 0, 1])), "add-remove", False),
        (([0, 1, 2], [1, 2, 5]), "replace-one", True),
        (((0, 0), (1, 1)), "replace-one", True),
        (Neighbours("one record moves all answers", np.zeros(4), np.ones(4)), "replace-one", True),
    ],
)
def test_inputs_that_are_no_neighbours_are_told(pair, adjacency: str, told: bool) -> None:
    """A refutation on lists that differ in more than the claim's adjacency allows says so: such a pair may
    refute nothing. What is not a list of records is taken as it is.
    """
    result = check(lambda data, rng: repr(data), PureDP(epsilon=1, adjacency=adjacency), neighbours=[pair])
    assert result.verdict == "refuted"
    assert any("may not be neighbours" in note for note in result.notes) is told


@pytest.mark.sample(2, each=("adjacency",))
@pytest.mark.parametrize(
    ("pair", "adjacency"),
    [
        (([0, 0, 0], [1, 1, 0]), "replace-one"),
        ((np.zeros(4), np.ones(4)), "replace-one"),
        ((np.zeros((3, 2)), np.ones((3, 2))), "replace-one"),
        (([0, 0], [0, 0, 1]), "replace-one"),
        (([0, 1], [1, 0]), "replace-one"),
        (([0, 0, 0], [1, 1, 0]), "zero-out"),
        (([0, 1, 2], [1, 1, 2]), "add-remove"),
        (([0], [0, 1, 2]), "add-remove"),
        ((pd.DataFrame({"a": [0, 0]}), pd.DataFrame({"a": [1, 1]})), "replace-one"),
        ((pd.Series([0, 0]), pd.Series([1, 1])), "replace-one"),
    ],
)
def test_lists_that_are_no_neighbours_are_refused(pair, adjacency: str) -> None:
    """Before any run, where entries are records of one event; where a user has several, they are taken."""
    calls = []

    def mechanism(data, rng):
        calls.append(data)
        return 0

    with raises(InvalidParameterError, code="E-PAIR-NOT-NEIGHBOURS"):
        check(mechanism, PureDP(epsilon=1, adjacency=adjacency), neighbours=[pair])
    assert not calls
    check(mechanism, PureDP(epsilon=1, adjacency=adjacency, unit="user"), neighbours=[pair], max_samples=100)
    assert calls


@st.composite
def pairs_of_bits(draw):
    """Two lists of bits that differ in at most one place."""
    left = draw(st.lists(st.integers(0, 1), min_size=1, max_size=5))
    place = draw(st.integers(0, len(left) - 1))
    return left, [*left[:place], draw(st.integers(0, 1)), *left[place + 1 :]]


def test_a_check_takes_a_strategy() -> None:
    """Pairs are drawn from a Hypothesis strategy, equal ones left out, the same for the same seed."""
    first, again, other = (
        check(noisy_count, ONE, neighbours=pairs_of_bits(), seed=seed, max_samples=20_000)
        for seed in (1, 1, 2)
    )
    assert first.verdict == other.verdict == "refuted"
    assert first.evidence == again.evidence
    assert 1 < len(first.evidence.details["pairs_of_runs"]) <= 20


def test_a_strategy_of_equal_inputs_is_refused() -> None:
    """Without a pair that differs there is nothing to check."""
    with raises(InvalidParameterError, code="E-NEIGHBOURS-EMPTY"):
        check(noisy_count, ONE, neighbours=st.just(([0], [0])))


def test_corners_by_another_adjacency_than_the_claim_s_are_refused() -> None:
    """Pairs of equal length are no neighbours by add-remove; the same list copied by hand is one's own."""
    claim = PureDP(epsilon=1, adjacency="add-remove")
    pairs = corners([0, 1], size=2)
    with raises(InvalidParameterError, code="E-ADJACENCY-DIFFERS", match="add-remove, got replace-one"):
        check(lambda data, rng: 0, claim, neighbours=pairs, max_samples=100)


def test_values_from_an_array_are_named_as_numbers() -> None:
    """The records are Python's own numbers, and a record may be set to None where that is said."""
    assert corners(np.array([0, 1]), 1)[0].name == "[0] and [1]"
    assert corners([1], 1, "zero-out", null=None)[0].right == [None]


def test_one_pair_instead_of_a_list_is_named() -> None:
    """Two data sets as one tuple: neither their records nor they themselves are pairs."""
    for pair in (([0, 1], [1, 1]), (np.zeros(2), np.ones(2)), (1, 2)):
        with raises(InvalidParameterError, code="E-NEIGHBOURS-ONE-PAIR", match=r"\[\(data, neighbour\)\]"):
            check(lambda data, rng: 0, PureDP(epsilon=1), neighbours=pair, max_samples=100)
