"""Outputs of many numbers: read and looked at in bulk, with what reading them one by one gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpaudit.blackbox.features import MAX_SCORED, first_differences
from dpaudit.blackbox.grids import lowest_bit
from dpaudit.blackbox.outcomes import MAX_WIDTH, OutcomeEncoder, Outcomes
from dpaudit.blackbox.several import vector_features

Rows = Callable[[np.random.Generator], Any]

KINDS: dict[str, Rows] = {
    "floats": lambda rng: rng.laplace(size=40),
    "integers": lambda rng: rng.integers(0, 3, size=40),
    "a matrix": lambda rng: rng.laplace(size=(5, 8)),
    "single numbers": lambda rng: np.array(rng.laplace()),
    "narrow floats": lambda rng: rng.laplace(size=40).astype(np.float32),
    "some missing": lambda rng: np.where(rng.random(40) < 0.02, np.nan, rng.laplace(size=40)),
    "zeros of both signs": lambda rng: np.copysign(0.0, rng.laplace(size=40)),
    "wider than is kept": lambda rng: rng.laplace(size=MAX_WIDTH + 3),
    "nothing": lambda rng: np.zeros(0),
}


def same(one: Outcomes, other: Outcomes) -> bool:
    return (
        np.array_equal(one.values, other.values, equal_nan=True)
        and np.array_equal(one.symbols, other.symbols)
        and np.array_equal(one.keys, other.keys)
    )


@pytest.mark.parametrize("kind", list(KINDS))
def test_arrays_read_in_bulk_are_what_they_are_one_by_one(kind: str) -> None:
    """A block of equal arrays gives the values, symbols and keys that it has beside an output of another
    kind, which is read output by output; also in later blocks, narrower or wider than the first."""
    for before in ([], [np.ones(7)] * 5, [np.ones((5, 10))] * 5):
        rng = np.random.default_rng(2)
        bulk, single = OutcomeEncoder(), OutcomeEncoder()
        if before:
            assert same(bulk.encode(before), single.encode([*before, ()])[: len(before)])
        block = [KINDS[kind](rng) for _ in range(30)]
        found, apart = bulk.encode(block), single.encode([*block, ()])[:30]
        assert np.array_equal(found.values, apart.values, equal_nan=True)
        assert np.array_equal(found.symbols != 0, apart.symbols != 0)
        assert len(np.unique(found.keys)) == len(np.unique(apart.keys))
        if not found.symbols.any():
            assert np.array_equal(found.keys, apart.keys)


@pytest.mark.parametrize("columns", [first_differences, lowest_bit], ids=["steps", "bits"])
def test_scored_coordinates_rest_on_the_first_numbers_alone(columns: Any) -> None:
    """What scores look at is the same whether the numbers behind are there or not."""
    values = np.random.default_rng(1).laplace(size=(20, MAX_SCORED + 50))
    assert np.array_equal(columns(values)[:, :MAX_SCORED], columns(values[:, :MAX_SCORED]))


def test_summaries_are_of_whole_rows_of_the_outputs_that_were_asked_for() -> None:
    """Each summary is numpy's of the row itself, NaN where a number is missing, for outputs in any order."""
    rng = np.random.default_rng(4)

    def block() -> Outcomes:
        values = rng.laplace(size=(50, 30))
        values[rng.random(50) < 0.2, 3] = np.nan
        zeros = np.zeros(50, dtype=np.int64)
        return Outcomes(values, zeros, zeros.astype(np.uint64))

    blocks = [block() for _ in range(4)]
    features = vector_features((blocks[0], blocks[1]), OutcomeEncoder())
    named = {feature.name: feature for feature, _ in features if feature.name}
    for one in (*blocks, blocks[0], blocks[2], blocks[0]):
        steps = np.diff(one.values, axis=1)
        for name, truth in {
            "sum of the numbers": one.values.sum(axis=1),
            "largest number": one.values.max(axis=1),
            "smallest step between numbers": steps.min(axis=1),
            "sum of the absolute numbers": np.abs(one.values).sum(axis=1),
        }.items():
            assert np.array_equal(named[name].values(one), truth, equal_nan=True), name
