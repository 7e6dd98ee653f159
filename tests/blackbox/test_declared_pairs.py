"""Data declared once: the pairs, the strategy and the check that follow from a declaration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from dpaudit import Anything, Ball, Categories, Integers, Interval, OneHot, PureDP, Records, Table, check
from dpaudit.core.data import Column
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import exact
from tests.errors import raises

DECLARATIONS = [
    Records(Interval(0, 1), size=3),
    Records(Interval("1/3", "5/6"), at_least=2),
    Records(Interval(2, 5), size=1, container="list"),
    Records(Interval(-1, 1), width=2),
    Records(Anything(), group=3),
    Records(Integers(-2, 3), size=20),
    Records(Integers(0, 1, bits=True)),
    Records(Categories(4), size=2, group=2),
    Records(Ball("1/3", 3), size=2),
    Records(Ball(1, 2, norm=1)),
    Records(OneHot(3), size=2),
    Table({"pay": Interval(0, 10), "team": Categories(3), "place": Ball(1, 2)}, size=4),
    Table({"pay": (Interval(0, 1), 2), "seen": Integers(0, 1, bits=True)}, at_least=2, group=2),
]
ADJACENCIES = ["replace-one", "add-remove", "zero-out"]


def rows(data: Records | Table, built: Any) -> list[tuple[Any, ...]]:
    """The records of an input, each a tuple with an array for each column; its form is the declared one."""
    if isinstance(data, Table):
        assert list(built) == list(data.domains)
        parts = list(built.values())
    else:
        assert isinstance(built, list if data.container == "list" else np.ndarray)
        parts = [built]
    for part, column in zip(parts, data.columns.values(), strict=True):
        if isinstance(part, list):
            assert all(type(x) is {"f": float, "i": int, "b": bool}[column.kind] for x in part)
            continue
        assert part.dtype == {"f": float, "i": np.int64, "b": bool}[column.kind]
        assert part.shape == (len(part),) if column.width is None else (len(part), column.width)
    return list(zip(*parts, strict=True))


def inside(column: Column, entry: Any) -> bool:
    """Whether an entry is in the domain, with floats read as the decimals that they print as."""
    numbers = [exact(x + 0) for x in np.ravel(entry).tolist()]
    if column.low is not None and not all(column.low <= x <= column.high for x in numbers):
        return False
    if column.ball is None:
        return True
    norm, radius = column.ball
    if norm == "one-hot":
        return sorted(numbers) == [0] * (len(numbers) - 1) + [1]
    return (sum(map(abs, numbers)) if norm == "1" else sum(x * x for x in numbers)) <= radius ** int(norm)


def require_pair(data: Records | Table, adjacency: str, pair: Any, *, differ: bool) -> None:
    """The two inputs are data of the declaration that differ as neighbours do, in at most ``group``."""
    left, right = (rows(data, side) for side in pair)
    nulls = [column.null() for column in data.columns.values()]

    def same(one: Any, two: Any) -> bool:
        return all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))

    def declared(row: Any) -> bool:
        columns = data.columns.values()
        return all(inside(column, entry) for column, entry in zip(columns, row, strict=True))

    assert all(map(declared, left))
    if data.size == "every":
        assert min(len(left), len(right)) >= data.at_least
    else:
        assert len(left) == data.size
    if adjacency == "add-remove":
        assert len(left) - data.group <= len(right) < len(left)
        rest = iter(left)
        assert all(any(same(row, other) for other in rest) for row in right)  # in order
        return
    assert len(left) == len(right)
    moved = [(a, b) for a, b in zip(left, right, strict=True) if not same(a, b)]
    assert (1 if differ else 0) <= len(moved) <= data.group
    assert all(same(b, nulls) if adjacency == "zero-out" else declared(b) for _, b in moved)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("data", DECLARATIONS, ids=lambda data: data.words)
def test_corners_and_drawn_pairs_are_neighbours(data: Any, adjacency: str) -> None:
    """Each listed pair is one of the declaration under each adjacency, and its two inputs differ."""
    found = list(data.pairs(adjacency))
    assert 1 <= len(found) <= 16
    for pair in found:
        require_pair(data, adjacency, (pair.left, pair.right), differ=True)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("data", DECLARATIONS, ids=lambda data: data.words)
def test_every_drawn_pair_is_one_of_neighbours(data: Any, adjacency: str) -> None:
    """The Hypothesis strategy gives no other pairs."""

    @settings(max_examples=30, database=None, deadline=None)
    @given(data.strategy(adjacency))
    def drawn(pair: Any) -> None:
        require_pair(data, adjacency, pair, differ=False)

    drawn()


def test_the_two_ends_of_the_domain_come_first() -> None:
    """The smallest pair of the most different records is the first one."""
    pair = Records(Interval(0, 10)).pairs().corners()[0]
    assert (pair.left.tolist(), pair.right.tolist()) == ([0], [10])


def half_the_noise(data: Any, rng: Any) -> Any:
    return np.sum(data) + rng.laplace(scale=0.3)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_a_check_takes_a_declaration(adjacency: str) -> None:
    """Too little noise is refuted on pairs of the declaration, under each adjacency; enough noise is not."""
    claim, data = PureDP(epsilon=1, adjacency=adjacency), Records(Interval(0, 1), size=3)
    assert (
        check(half_the_noise, claim, data=data, max_samples=20_000, record_draws=False).verdict == "refuted"
    )
    found = check(
        lambda x, rng: np.sum(x) + rng.laplace(), claim, data=data, max_samples=2000, record_draws=False
    )
    assert found.verdict == "inconclusive"


def test_only_the_last_record_leaks() -> None:
    """A check of 50 declared records changes records at other places than the first one."""
    data = Records(Interval(0, 1), size=50)
    found = check(lambda x, rng: x[-1], PureDP(epsilon=1), data=data, max_samples=20_000, record_draws=False)
    assert found.verdict == "refuted"


def test_a_pair_that_refutes_is_shrunk() -> None:
    """The smallest pair is shown, as for a Hypothesis strategy of one's own."""

    def needs_three(data: Any, rng: Any) -> Any:
        return (data.sum() if len(data) >= 3 else 0) + rng.laplace(0, 0.4)

    found = check(needs_three, PureDP(epsilon=1), data=Records(Integers(0, 9)), seed=1, record_draws=False)
    assert found.verdict == "refuted"
    assert any(note.startswith("smallest refuting pair") for note in found.notes)


PAIR = [([0.0], [1.0])]


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({}, "E-DATA-OR-NEIGHBOURS"),
        ({"data": Records(Interval(0, 1)), "neighbours": PAIR}, "E-DATA-OR-NEIGHBOURS"),
        ({"data": PAIR}, "E-DATA-TYPE"),
        ({"data": Records(Interval(0, 1), group=2)}, "E-UNIT-DIFFERS"),
    ],
)
def test_what_is_no_declaration_is_refused(given: dict[str, Any], code: str) -> None:
    """Neither or both, no declaration, and another unit than in the claim are errors."""
    with raises(InvalidParameterError, code=code):
        check(half_the_noise, PureDP(epsilon=1), max_samples=2000, **given)


def test_a_domain_of_one_value_is_refused() -> None:
    """A domain of one value has no neighbours."""
    data = Records(Interval(1, 1), size=2)
    with pytest.raises(InvalidParameterError):
        check(half_the_noise, PureDP(epsilon=1), max_samples=2000, data=data)


def test_a_claim_about_users_changes_all_records_of_one() -> None:
    """With group=2 a sum moves by two: noise for one record is refuted."""

    def noisy_sum(data: Any, rng: Any) -> Any:
        return data.sum() + rng.laplace(scale=0.7)

    claim, data = PureDP(epsilon=2, unit="user"), Records(Interval(0, 1), size=4, group=2)
    assert check(noisy_sum, claim, data=data, max_samples=40_000, record_draws=False).verdict == "refuted"
    with raises(InvalidParameterError, code="E-UNIT-DIFFERS"):
        check(noisy_sum, claim, data=Records(Interval(0, 1), size=4), max_samples=2000)
