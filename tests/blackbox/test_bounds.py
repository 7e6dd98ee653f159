"""The lower bound of a black-box check is the last grid value below the first one that stands."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dpaudit
from dpaudit.blackbox import check as blackbox_check
from dpaudit.blackbox.search import GRID_CHUNK, Search

LEVEL = math.log(20)


@pytest.mark.parametrize("standing", [0, 1, 5, GRID_CHUNK - 1, GRID_CHUNK, GRID_CHUNK + 3, 3 * GRID_CHUNK])
def test_the_count_of_rejected_values_ends_at_the_first_that_stands(
    standing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values above a standing one count for nothing, also where a later chunk rejects them."""
    grid = np.arange(3 * GRID_CHUNK, dtype=float)
    monkeypatch.setattr(
        Search,
        "_peak",
        lambda self, epsilons, deltas: np.where(epsilons == standing, LEVEL - 1e-9, LEVEL + 1e-9),
    )
    search = object.__new__(Search)
    assert search.lower_bound(grid, np.zeros(len(grid)), alpha=0.05) == standing


def test_the_bound_is_the_largest_value_with_it_and_all_smaller_ones_rejected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What ``check`` reports is the value before the first that stands, and 0 where the first one stands."""
    counts: list[int] = []
    counted = Search.lower_bound

    def lower_bound(self: Search, epsilons: np.ndarray, deltas: np.ndarray, *, alpha: float) -> int:
        counts.append(counted(self, epsilons, deltas, alpha=alpha))
        return counts[-1]

    monkeypatch.setattr(Search, "lower_bound", lower_bound)
    claim = dpaudit.PureDP(epsilon=1)
    for scale in (0.5, 200.0):
        result = dpaudit.check(
            lambda data, rng, scale=scale: sum(data) + rng.laplace(scale=scale),
            claim,
            neighbours=[([0, 1], [1, 1])],
            max_samples=2000,
        )
        epsilon, delta = blackbox_check._numbers_of(claim)
        values = blackbox_check._grid(claim, epsilon, delta)[2]
        rejected = counts[-1]
        assert result.evidence.lower == (values[rejected - 1] if rejected else 0.0)
        assert (rejected > 0) == (scale == 0.5)
