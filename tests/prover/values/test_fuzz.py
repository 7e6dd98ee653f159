"""Compare the rules of private values with numpy on random programs and random neighbouring data.

``DPAUDIT_FUZZ_SECONDS=600 pytest tests/prover/values/test_fuzz.py`` runs for ten minutes from other seeds.
"""

from __future__ import annotations

import os
import time
from collections import Counter

import pytest

from dpaudit.kernel.values.steps import RULES
from tests.prover.values.random_values import COMPUTED, Fuzz

PARTS = 4
PROGRAMS = 30  # in each part


@pytest.mark.parametrize("part", range(PARTS))
def test_rules_hold_on_random_neighbours(part: int) -> None:
    """The derived properties of each step and the total costs hold on random programs."""
    for seed in range(part * PROGRAMS, (part + 1) * PROGRAMS):
        Fuzz(seed).program()


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove", "zero-out"])
@pytest.mark.parametrize("pattern", ["guard", "slices", "hits", "scores", "clip"])
def test_costs_hold_on_random_neighbours(adjacency: str, pattern: str) -> None:
    """Guards, disjoint supports, single entries and choices of the largest hold for each adjacency."""
    for seed in range(4):
        Fuzz(seed, (pattern,), adjacency=adjacency).program()


def test_every_rule_is_tried() -> None:
    """Random programs reach each operation of ``RULES``, and numpy computes it."""
    tried: Counter[str] = Counter()
    assert set(COMPUTED) | {"data", "const", "public"} == set(RULES)
    for k, op in enumerate(RULES):
        for seed in range(20):
            if tried[op]:
                break
            fuzz = Fuzz(10_000 + 100 * k + seed, ("scores",) if op == "softmax" else (op,))
            fuzz.program(4)
            tried += fuzz.checked
    assert [op for op in RULES if not tried[op]] == []


@pytest.mark.timeout(0)
@pytest.mark.skipif("DPAUDIT_FUZZ_SECONDS" not in os.environ, reason="a longer run: set DPAUDIT_FUZZ_SECONDS")
def test_rules_hold_on_many_random_neighbours() -> None:
    """The rules hold for other seeds, within a configurable time."""
    end = time.monotonic() + float(os.environ["DPAUDIT_FUZZ_SECONDS"])
    seed = int(os.environ.get("DPAUDIT_FUZZ_SEED", "1000000"))
    while time.monotonic() < end:
        Fuzz(seed).program()
        seed += 1
