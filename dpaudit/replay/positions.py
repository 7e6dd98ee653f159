"""Apply the author's own change to every record that no pair changes.

A program may treat a record differently because of its position (a batch that begins one record too early, a
weight, a record that is published). Pairs that change the first and the last record never show that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.claims import Adjacency
from dpaudit.core.neighbours import Neighbours
from dpaudit.replay.domains import Domain, Records, as_array, changed_pair

__all__ = ["everywhere"]

#: Largest number of positions for data of one size, evenly spread over longer data.
MOST = 64
#: Largest number of data sizes.
SIZES = 3


def everywhere(pairs: Sequence[Neighbours], adjacency: Adjacency, domain: Domain) -> list[Neighbours]:
    """Return one pair for every position that no pair changes, for each data size, up to ``MOST``.

    The record changes as in the first pair of that size that changes one record: from one end of the domain
    to the other, among records at that other end. Data that are not numbers by record have no positions.
    """
    found: list[Neighbours] = []
    by_size: dict[tuple[int, ...], list[Neighbours]] = {}
    for pair in pairs:
        long = _longer(pair)
        if long is not None and long.ndim and len(long):
            by_size.setdefault(long.shape, []).append(pair)
    for (size, *_), same in [*by_size.items()][:SIZES]:
        known = {place for pair in same for place in _places(pair)}
        missing = [place for place in range(size) if place not in known]
        spread = np.unique(np.linspace(0, len(missing) - 1, MOST).astype(int)) if missing else ()
        found += [item for i in spread for item in _at(same, missing[i], adjacency, domain)]
    return found


def _longer(pair: Neighbours) -> NDArray[np.generic] | None:
    sides = [as_array(side) for side in (pair.left, pair.right)]
    known = [side for side in sides if side is not None and side.ndim]
    return max(known, key=len) if len(known) == 2 else None


def _places(pair: Neighbours) -> list[int]:
    """Return the positions that a pair changes: those that differ, or the one on one side only."""
    left, right = as_array(pair.left), as_array(pair.right)
    if left is None or right is None:
        return []
    if left.shape == right.shape:
        return np.flatnonzero(_differ(left, right)).tolist()
    short, long = sorted((left, right), key=len)
    return [*np.flatnonzero(_differ(short, long[: len(short)])).tolist(), len(short)][:1]


def _differ(left: NDArray[np.generic], right: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Return which of n records differ, with shape (n,). All differ if the records have other shapes."""
    if left.shape != right.shape:
        return np.ones(len(left), dtype=bool)
    unequal: NDArray[np.bool_] = left != right
    return np.asarray(unequal.any(axis=tuple(range(1, left.ndim))))


def _at(pairs: Sequence[Neighbours], place: int, adjacency: Adjacency, domain: Domain) -> list[Neighbours]:
    """Return the pair that changes ``place``, if one of ``pairs`` shows how a record changes."""
    for pair in pairs:
        left, right, where = as_array(pair.left), as_array(pair.right), _places(pair)
        if left is None or right is None or len(where) != 1:
            continue
        name = f"{pair.name}, record {place + 1} instead"
        if adjacency is Adjacency.ADD_REMOVE:
            long = max(left, right, key=len)
            return [changed_pair(name, long.copy(), place, long[place], long[place], adjacency, pair)]
        before, after = left[where[0]], right[where[0]]
        if isinstance(domain, Records):
            before, after = domain.corners(left.shape[1:])[:2]
            before = np.zeros_like(before) if adjacency is Adjacency.ZERO_OUT else before
            # Use an end that is not null, so that products of records change too.
            left = np.broadcast_to(after if np.any(after) else before, left.shape)
        return [changed_pair(name, left.astype(float), place, before, after, adjacency, pair)]
    return []
