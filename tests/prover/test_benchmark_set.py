"""Test known programs: correct ones are verified at their known bound, wrong ones are never verified."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmarks import prover as benchmark
from dpaudit.core.claims import PureDP
from dpaudit.prover import prove
from dpaudit.reference.mechanisms.proved_at_every_size import NOT_PROVED_AT_EVERY_SIZE, PROVED_AT_EVERY_SIZE
from dpaudit.reference.mechanisms.proved_programs import PROVED_PROGRAMS, ProvedProgram
from tests.prover import oracle
from tests.prover.frames import needs_frames
from tests.prover.oracle import Within

SLACK = 1e-6


@pytest.mark.parametrize("row", PROVED_PROGRAMS, ids=lambda row: row.name)
def test_the_known_verdict_and_bound(row: ProvedProgram) -> None:
    """Each program has the verdict and bound of its paper, or the known optimum of the alignment."""
    found = benchmark.measure(row)
    assert found.as_expected, found


@needs_frames
@pytest.mark.parametrize("row", PROVED_AT_EVERY_SIZE, ids=lambda row: row.name)
def test_the_known_verdict_at_every_size(row: ProvedProgram) -> None:
    """Correct programs are verified at their bound. Wrong ones have a larger bound or none."""
    found = benchmark.measure(row)
    assert found.as_expected, found


@needs_frames
@pytest.mark.parametrize("row", NOT_PROVED_AT_EVERY_SIZE, ids=lambda row: row.name)
def test_what_is_not_proved_at_every_size(row: ProvedProgram) -> None:
    """A hidden running maximum has no bound, and the proof states a reason."""
    found = prove(row.program, PureDP(epsilon=row.claim), data=row.data, adjacency=row.adjacency)
    assert found.verdict == "inconclusive"
    assert found.bound == math.inf
    assert found.reason


def test_right_and_wrong_programs_are_in_the_set() -> None:
    """The set has at least 12 programs of both kinds, and no name twice."""
    kinds = Counter(row.right for row in PROVED_PROGRAMS)
    assert min(kinds.values()) >= 12
    assert len({row.name for row in PROVED_PROGRAMS}) == len(PROVED_PROGRAMS)


#: Events with a loss: the name of a program, two inputs, the output, and a lower bound of the loss.
EVENTS: tuple[tuple[str, list[Any], list[Any], list[Any], float], ...] = (
    ("SVT", [40] * 3 + [-40], [41] * 3 + [-41], [False] * 3 + [True], 0.97),
    ("SVT, scales 4 and 4/3", [20] * 3 + [-20], [21] * 3 + [-21], [False] * 3 + [True], 1.7499),
    ("SVT without cut-off", [20, 20, -20, -20], [21, 21, -21, -21], [False, False, True, True], 1.999),
    ("noisy max", [-60, 60, 60, 60], [-61, 61, 61, 61], [0], 0.99),
    ("noisy max, scale 1", [-20, 20, 20, 20], [-21, 21, 21, 21], [0], 1.99),
    ("noisy max, one way", [-20, 20, 20, 20], [-20, 21, 21, 21], [0], 0.99),
    ("partial sum", [0, 0, 0, 0], [1, 0, 0, 0], [Within(high=0)], 0.999),
    ("partial sum, half the noise", [0, 0, 0, 0], [1, 0, 0, 0], [Within(high=0)], 1.999),
    ("released prefixes", [0] * 4, [1, 0, 0, 0], [Within(high=0)] * 4, 3.999),
    (
        "smart sums that keep their blocks",
        [0] * 4,
        [1, 0, 0, 0],
        [Within(high=-5), Within("-501/100", -5), oracle.ANY, Within(high=-15)],
        1.49,
    ),
    (
        "smart sums with bare blocks",
        [0] * 4,
        [0, 1, 0, 0],
        [oracle.ANY, Within(0, 0)] + [oracle.ANY] * 2,
        9,
    ),
)


@pytest.mark.parametrize(("name", "left", "right", "event", "least"), EVENTS, ids=[e[0] for e in EVENTS])
def test_bounds_are_attained(
    name: str, left: list[Any], right: list[Any], event: list[Any], least: float
) -> None:
    """The exact loss at far-out data is at least the stated loss and at most the bound."""
    row = next(row for row in PROVED_PROGRAMS if row.name == name)
    falls = [abs(a) > abs(b) for a, b in zip(left, right, strict=True)]
    assert not any(falls)
    found = max(oracle.loss(row.program, left, right, event), oracle.loss(row.program, right, left, event))
    assert found >= least
    assert found <= float(row.bound) * (1 + SLACK)


def test_a_wrong_program_is_not_verified_at_any_size() -> None:
    """Sparse vector with scales 4 and 4/3 is refuted for two to five queries."""
    row = next(row for row in PROVED_PROGRAMS if row.name == "SVT, scales 4 and 4/3")
    for size in range(2, 6):
        proof = prove(row.program, PureDP(epsilon=1), data=type(row.data)(size), adjacency=row.adjacency)
        assert proof.verdict == "refuted"


def test_the_benchmark_writes_its_results(tmp_path: Path) -> None:
    """The benchmark writes one record per program with the documented fields."""
    file = tmp_path / "prover.json"
    assert benchmark.main(["--json", str(file), "--only", "partial sum"]) == 0
    results = json.loads(file.read_text())["results"]
    assert [result["name"] for result in results] == ["partial sum", "partial sum, half the noise"]
    wanted = {"name", "n", "expected", "verdict", "bound", "paths", "seconds"}
    assert all(wanted <= set(result) for result in results)
