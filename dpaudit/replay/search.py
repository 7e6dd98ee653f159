"""Find inputs with a large loss: corners first, then Hypothesis with the loss as its target, then shrinking.

Most privacy bugs show at corners: all records 0 or 1, two coordinates that change in opposite directions, the
first and the last record, the record that completes a batch, a record that changes its role (it helps another
arm, or falls into another phase). ``corners`` lists them. ``search_pairs`` then explores at random, guided by
the loss itself, and shrinks a pair that exceeds the claim to the smallest counterexample it can find.

Data are dyadic if their domain allows it (multiples of 1/2 in [0, 1]), so that sums of records are exact in
floats.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Sequence
from itertools import permutations

import numpy as np
from hypothesis import HealthCheck, Phase, find, settings, target
from hypothesis import strategies as st
from hypothesis.errors import HypothesisWarning, NoSuchExample
from numpy.typing import NDArray

from dpaudit.core.claims import Adjacency
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.neighbours import Neighbours

__all__ = ["Score", "corners", "neighbouring_arrays", "search_pairs"]

#: The loss of a pair, which the search maximises.
Score = Callable[[Neighbours], float]

LEVELS = (0.0, 1.0, 0.5)


def corners(*, records: int, width: int | None = None, batch_ends: Sequence[int] = ()) -> list[Neighbours]:
    """Return replace-one neighbours of ``records`` numbers, or vectors of ``width`` numbers, in [0, 1].

    The backgrounds are 0, 1/2, 1 and (for vectors) one coordinate ahead of the others. The replaced records
    are the first, the last and those that complete a batch (``batch_ends``, positions from 0). The changes
    are all coordinates up, one coordinate up, and two coordinates in opposite directions (the role swap: the
    record now counts for another arm). Raises ``InvalidParameterError`` for empty data or a position outside
    them.
    """
    if records < 1 or (width is not None and width < 1):
        raise InvalidParameterError(
            f"data must have at least one record and one coordinate, got {records} and {width}.",
            code="E-RECORDS-RANGE",
        )
    positions = sorted({0, records - 1, *batch_ends})
    if positions[0] < 0 or positions[-1] >= records:
        raise InvalidParameterError(
            f"batch_ends must be positions from 0 to {records - 1}, got {tuple(batch_ends)}.",
            code="E-BATCH-ENDS-RANGE",
        )
    found = []
    for name, background in _backgrounds(records, width).items():
        for position in positions:
            for what, before, after in _changes(width):
                left, right = background.copy(), background.copy()
                left[position], right[position] = before, after
                found.append(Neighbours(f"{name}, record {position}: {what}", left, right))
    return found


def _backgrounds(records: int, width: int | None) -> dict[str, NDArray[np.float64]]:
    shape = (records,) if width is None else (records, width)
    found = {f"all {value:g}": np.full(shape, value) for value in (0.0, 0.5, 1.0)}
    if width is not None and width > 1:
        ahead = np.zeros(shape)
        ahead[:, 0] = 1.0
        found["coordinate 0 ahead"] = ahead
    return found


def _changes(width: int | None) -> list[tuple[str, NDArray[np.float64], NDArray[np.float64]]]:
    if width is None:
        return [("0 to 1", np.array(0.0), np.array(1.0))]
    units = np.eye(width)
    found = [("all 0 to all 1", np.zeros(width), np.ones(width))]
    found += [(f"coordinate {j} from 0 to 1", np.zeros(width), units[j]) for j in range(min(width, 2))]
    # Opposite directions, for the first two coordinates only: others are the same up to their names.
    found += [
        (f"from coordinate {i} to coordinate {j}", units[i], units[j])
        for i, j in permutations(range(min(width, 2)), 2)
    ]
    return found


def neighbouring_arrays(
    *,
    records: int,
    width: int | None = None,
    levels: Sequence[float] = LEVELS,
    adjacency: Adjacency = Adjacency.REPLACE_ONE,
) -> st.SearchStrategy[Neighbours]:
    """Return a Hypothesis strategy for neighbours of at most ``records`` numbers, or vectors of ``width``.

    Each number is one of ``levels``. The null record of ``zero-out`` is 0.
    """
    level = st.sampled_from(tuple(levels))
    record = level if width is None else st.lists(level, min_size=width, max_size=width)

    @st.composite
    def pairs(draw: st.DrawFn) -> Neighbours:
        rows = draw(st.lists(record, min_size=1, max_size=records))
        position = draw(st.integers(0, len(rows) - 1))
        left = np.array(rows, dtype=float)
        right = left.copy()
        if adjacency is Adjacency.REPLACE_ONE:
            right[position] = draw(record)
        elif adjacency is Adjacency.ZERO_OUT:
            right[position] = 0.0
        else:
            right = np.delete(right, position, axis=0)
        done = "removed" if adjacency is Adjacency.ADD_REMOVE else "replaced"
        return Neighbours(f"{len(rows)} records, number {position} {done} (found by search)", left, right)

    return pairs()


def search_pairs(
    strategy: st.SearchStrategy[Neighbours], score: Score, *, threshold: float, examples: int, seed: int
) -> Neighbours | None:
    """Return the smallest pair (in Hypothesis' order) with ``score`` above ``threshold``, if one is found.

    Return ``None`` after ``examples`` tries. The result is deterministic in ``seed``. The score guides the
    search (``hypothesis.target``). A pair whose score is NaN counts as harmless.
    """

    def exceeds(pair: Neighbours) -> bool:
        value = score(pair)
        if np.isfinite(value):
            target(float(value))
        return bool(value > threshold)

    profile = settings(
        max_examples=examples,
        database=None,  # a verdict must not depend on what an earlier run left behind
        deadline=None,
        phases=(Phase.generate, Phase.target, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HypothesisWarning)  # it warns about settings that are intended here
        try:
            return find(strategy, exceeds, settings=profile, random=random.Random(seed))
        except NoSuchExample:
            return None
