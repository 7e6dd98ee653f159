"""Check ratios of the noisy winner's distribution for two actions against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpaudit.distributions import Laplace
from dpaudit.reference.mechanisms.winner_ratios import largest_winner_ratio, winner_deltas


def overtakes(gap: float, scale: float) -> float:
    """Return P(a rival behind by ``gap`` wins), the tail (2 + x) exp(-x)/4 of two Laplace draws."""
    x = abs(gap) / scale
    tail = (2 + x) * math.exp(-x) / 4
    return tail if gap >= 0 else 1 - tail


@pytest.mark.parametrize("scale", [1, 2])
@pytest.mark.parametrize("vectors", [1, 16])
def test_two_actions_by_the_tail_of_two_draws(scale: int, vectors: int) -> None:
    """The largest ratio over all deficits equals the closed form and is at most 2/scale."""
    by_hand = max(math.log(overtakes(d - 2, scale) / overtakes(d, scale)) for d in range(1, vectors + 1))
    found = largest_winner_ratio(Laplace(scale=scale), n_actions=2, vectors=vectors)
    assert found == pytest.approx(by_hand, rel=1e-9)
    assert found < 2 / scale


def test_divergences_by_hand() -> None:
    """For a lead that changes from 2 to 0, divergences in both directions equal the closed forms."""
    low = overtakes(2, 1)
    grid = np.array([0.0, 0.3, 5.0])
    by_hand = [max(0.5 - math.exp(e) * low, (1 - low) - math.exp(e) * 0.5, 0.0) for e in grid]
    assert winner_deltas(grid, noise=Laplace(scale=1), leads=[2]).tolist() == pytest.approx(
        by_hand, abs=1e-12
    )
