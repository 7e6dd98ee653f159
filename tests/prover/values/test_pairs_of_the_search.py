"""The pairs that the search for a counterexample tries must fit the declaration of the data.

A pair outside of it refutes a true claim.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpaudit import Anything, Ball, Categories, Integers, Interval, OneHot, PureDP, Records, audit
from dpaudit.core.claims.base import Adjacency
from dpaudit.prover.values.climb import Constants, climbed, extremes, ordered

#: In the interval from -5 to 12, a gap of 8.5 leads out of it from the middle of these numbers, 4.5.
CONSTANTS = Constants((0.0, 1.0, 2.0, 3.0, 4.9, 9.0, 8.5))

DOMAINS: dict[Any, Callable[[Any], bool]] = {
    Interval(0, 10): lambda x: bool(np.all((x >= 0) & (x <= 10))),
    Interval(-5, 12): lambda x: bool(np.all((x >= -5) & (x <= 12))),
    Integers(-2, 9): lambda x: bool(np.all((x >= -2) & (x <= 9))),
    Integers(0, 1, bits=True): lambda x: x.dtype == bool,
    Categories(3): lambda x: bool(np.all((x >= 0) & (x <= 2))),
    OneHot(4): lambda x: bool(np.all(x.sum(axis=1) == 1) and np.all(np.abs(x) <= 1)),
    Ball(1, width=3): lambda x: bool(np.all(np.linalg.norm(x, axis=1) <= 1)),
    Ball(2, width=3, norm=1): lambda x: bool(np.all(np.abs(x).sum(axis=1) <= 2)),
    Ball(1, width=3, norm=math.inf): lambda x: bool(np.all(np.abs(x) <= 1)),
    Anything(): lambda x: bool(np.all(np.isfinite(x))),
}


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
@pytest.mark.parametrize("search", [climbed, extremes, ordered], ids=lambda one: one.__name__)
def test_all_pairs_are_neighbours_inside_the_domain(search: Any, domain: Any) -> None:
    """Also with a loss that rises, so that the search changes its last pair again and again."""
    tried: list[tuple[Any, Any]] = []

    def loss(pair: tuple[Any, Any]) -> float:
        tried.append(pair)
        return float(len(tried))

    data = Records(domain, size=7)
    list(search(data, Adjacency.REPLACE_ONE, loss, constants=CONSTANTS, until=time.monotonic() + 60))
    assert all(DOMAINS[domain](side) for pair in tried for side in pair)
    assert all(np.sum(np.any((a != b).reshape(7, -1), axis=1)) <= 1 for a, b in tried)


def test_a_histogram_of_one_hot_rows_is_not_refuted() -> None:
    """It costs 1, because one record moves it by 2. Its operations have no rule, so the search runs."""

    def histogram(data: Any, rng: Any) -> Any:
        counts = np.array([sum(row[k] for row in data.tolist()) for k in range(4)], dtype=float)
        return counts + rng.laplace(scale=2, size=4)

    result = audit(histogram, PureDP(epsilon="6/5"), data=Records(OneHot(4), size=6))
    assert result.verdict == "inconclusive"
    assert result.witness is None
