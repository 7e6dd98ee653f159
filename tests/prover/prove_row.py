"""Run the prover on a row of the tests."""

from __future__ import annotations

from typing import Any

import pytest

from dpaudit.core.claims import PureDP
from tests.prover.hostile.row import ONE_REPLACED, ONE_WAY, Row

__all__ = ["proof_of_row"]


def proof_of_row(row: Row) -> Any:
    """Return the proof, or raise what ``prove`` raises. Skip the test if there is no prover."""
    prover = pytest.importorskip("dpaudit.prover")
    size = prover.EVERY if row.every else len(row.left)
    data = prover.Symbols(size, low=row.low, high=row.high, width=row.width, integers=row.integers)
    adjacency = prover.EachMoves(by=row.by)
    if row.adjacency == ONE_WAY:
        adjacency = prover.EachMoves(by=row.by, one_way=True)
    if row.adjacency == ONE_REPLACED:
        adjacency = prover.OneReplaced()
    return prover.prove(row.program, PureDP(epsilon=row.claim), data=data, adjacency=adjacency)
