"""Unusual datasets of a declaration: what stands inside stays inside, and what does not is named."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dpaudit import Ball, Categories, Interval, OneHot, PureDP, Records, Table, Texts, audit, check, prove
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import exact
from tests.errors import raises

DECLARATIONS = [
    Records(Interval(0, 1), size=3),
    Records(Interval(0, 2**60)),
    Records(Categories(3), at_least=2),
    Records(Interval(-1, 1), width=3),
    Records(Ball(1, 3)),
    Records(OneHot(3)),
    Records(Texts(longest=6), container="list"),
    Table({"owner": Categories(3), "pay": Interval(0, 10)}),
]


def entries(data: Records | Table, side: Any) -> list[tuple[Any, Any]]:
    """Every entry of an input with its column."""
    parts = side if isinstance(data, Table) else {"": side}
    return [(column, entry) for name, column in data.columns.items() for entry in parts[name]]


def inside(column: Any, entry: Any) -> bool:
    """Whether an entry is in the domain of its column."""
    if column.kind == "t":
        return isinstance(entry, str) and len(entry) <= column.high
    if column.ball is not None and column.ball[0] == "2":
        return bool(np.linalg.norm(np.asarray(entry, dtype=float)) <= float(column.ball[1]))
    numbers = np.ravel(entry).tolist()
    return all(math.isfinite(x) and column.low <= exact(x + 0) <= column.high for x in numbers)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove", "zero-out"])
@pytest.mark.parametrize("data", DECLARATIONS, ids=lambda data: data.words[:30])
def test_unusual_pairs_are_in_the_domain_and_differ_by_one_record(data: Any, adjacency: str) -> None:
    """Every entry of both inputs; the sizes differ by one exactly under add-remove."""
    found = data.pairs(adjacency, unusual=True).unusual()
    assert len(found) >= 3
    for pair in found:
        assert all(inside(*item) for side in (pair.left, pair.right) for item in entries(data, side))
        sizes = [len(entries(data, side)) for side in (pair.left, pair.right)]
        assert sizes[0] - sizes[1] == (len(data.columns) if adjacency == "add-remove" else 0)


@pytest.mark.parametrize("data", DECLARATIONS, ids=lambda data: data.words[:30])
def test_pairs_outside_hold_one_record_that_is_not_in_the_domain(data: Any) -> None:
    """The first input is outside of the declaration, the second is in it."""
    found = data.outside("replace-one")
    assert "null" in found
    for pairs in found.values():
        for pair in pairs:
            wrong = [entry for column, entry in entries(data, pair.left) if not _in(column, entry)]
            assert len(wrong) == 1
            assert all(inside(*item) for item in entries(data, pair.right))


def _in(column: Any, entry: Any) -> bool:
    parts = [entry] if isinstance(entry, str) or np.ndim(entry) == 0 else list(entry)
    if any(part is None for part in parts):
        return False
    return inside(column, entry)


def test_a_declaration_that_admits_a_value_tries_it() -> None:
    """NaN passes the clamp: refuted where it is declared, not tried where it is not."""

    def clamped(data: Any, rng: np.random.Generator) -> float:
        return float(np.clip(data, 0, 1).sum() + rng.laplace())

    claim = PureDP(epsilon=1)
    plain, odd = (Records(Interval(0, 1), admits=kinds) for kinds in ((), ("nan",)))
    assert check(clamped, claim, data=plain, unusual=True, max_samples=4000).verdict == "inconclusive"
    result = check(clamped, claim, data=odd)
    assert result.verdict == "refuted"
    assert "a record is NaN" in result.evidence.scope
    assert odd.words.endswith("nan admitted")
    assert set(plain.outside()) - set(odd.outside()) == {"nan"}


def test_there_is_no_proof_for_admitted_values() -> None:
    """A proof is about the domain, so a declaration that says more is refused."""

    def clamped(data: Any, rng: np.random.Generator) -> Any:
        return np.clip(data, 0, 1).sum() + rng.laplace()

    data, odd = (Records(Interval(0, 1), size=3, admits=kinds) for kinds in ((), ("nan",)))
    assert audit(clamped, PureDP(epsilon=1), data=data, attack=False).verdict == "verified"
    for tries in (prove, audit):
        with raises(InvalidParameterError, code="E-ADMITS-NO-PROOF"):
            tries(clamped, PureDP(epsilon=1), data=odd)


def test_kinds_have_names() -> None:
    """A misspelt kind is an error, not a check that tries nothing."""
    with raises(InvalidParameterError, code="E-ADMITS-UNKNOWN"):
        Records(Interval(0, 1), admits=("nans",))
    with raises(InvalidParameterError, code="E-ADMITS-UNKNOWN"):
        Table({"a": Interval(0, 1)}, admits="nan")  # type: ignore[arg-type]


def test_a_whole_input_may_be_one_record() -> None:
    """One row of 16 numbers: all of them may change, and no warning says that 16 records did."""
    data = Records(Ball(1, 16, norm=math.inf), size=1, container="record")

    def noisy(row: Any, rng: np.random.Generator) -> Any:
        return row + rng.laplace(scale=2, size=16)

    result = check(noisy, PureDP(epsilon=1), data=data)
    assert result.verdict == "refuted"
    assert not any("entries" in note for note in result.notes)
    assert all(np.shape(pair.left) == (16,) for pair in data.pairs())
    assert isinstance(next(iter(Records(Interval(0, 1), size=1, container="record").pairs())).left, float)
    assert Records(Texts(), size=1, container="record").words == "texts, one record as the whole input"


def test_one_record_has_no_smaller_neighbour_and_no_proof() -> None:
    """The number of records is 1, neighbours replace it, and a proof is refused."""
    data = Records(Interval(0, 1), size=1, container="record")
    with raises(InvalidParameterError, code="E-RECORD-ADJACENCY"):
        data.pairs("add-remove")
    with raises(InvalidParameterError, code="E-RECORD-SIZE"):
        Records(Interval(0, 1), size=2, container="record")
    with raises(InvalidParameterError, code="E-RECORD-NO-PROOF"):
        audit(lambda x, rng: x + rng.laplace(), PureDP(epsilon=1), data=data)
