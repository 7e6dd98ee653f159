"""Released numbers as sizes, positions and ends of slices: the path forks over their few values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpaudit.core.claims import PureDP
from dpaudit.core.data import Interval, Records
from dpaudit.prover.values.prove import prove_values

DATA = Records(Interval(0, 1), size=6)


def checked_count(data: Any, rng: Any) -> Any:
    count = min(int(data[:2].sum() + rng.laplace(0, 1)), 3)
    if not 1 <= count <= 3:
        return None
    return data[2 : 2 + count].sum() + rng.laplace(0, 1), data[2 + count :].sum() + rng.laplace(0, 1)


def checked_count_off_by_one(data: Any, rng: Any) -> Any:
    count = min(int(data[:2].sum() + rng.laplace(0, 1)), 3)
    if not 1 <= count <= 3:
        return None
    return data[2 : 2 + count].sum() + rng.laplace(0, 1), data[1 + count :].sum() + rng.laplace(0, 1)


def checked_count_too_late(data: Any, rng: Any) -> Any:
    count = int(data[:2].sum() + rng.laplace(0, 1))
    released = data[:count].sum() + rng.laplace(0, 1)
    return released if count > 2 else None


def clamped_length(data: Any, rng: Any) -> Any:
    count = max(0, min(3, int(data[:2].sum() + rng.laplace(0, 1))))
    return [data[k + 2] + rng.laplace(0, 1) for k in range(count)]


def clamped_length_over_the_first(data: Any, rng: Any) -> Any:
    count = max(0, min(3, int(data[:2].sum() + rng.laplace(0, 1))))
    return [data[k + 1] + rng.laplace(0, 1) for k in range(count)]


def from_a_list(data: Any, rng: Any) -> Any:
    parts = [data[2], data[3], data[4]]
    return parts[int(data[:2].sum() + rng.laplace(0, 1))] + rng.laplace(0, 1)


def from_a_list_twice(data: Any, rng: Any) -> Any:
    parts = [data[2], data[3], data[4]]
    place = int(data[:2].sum() + rng.laplace(0, 1))
    return parts[place] + rng.laplace(0, 1), parts[-1] + rng.laplace(0, 1)


def clipped_length(data: Any, rng: Any) -> Any:
    count = round(np.clip(data[0] + rng.laplace(), 0, 3))
    return [data[k + 1] + rng.laplace() for k in range(count)]


def clipped_length_over_the_first(data: Any, rng: Any) -> Any:
    count = int(np.rint(np.clip(data[0] + rng.laplace(), 0, 3)))
    return [data[k] + rng.laplace() for k in range(count)]


def ceiling_of_a_checked_number(data: Any, rng: Any) -> Any:
    noisy = data[:3].sum() + rng.laplace()
    if not 0 < noisy < 2.5:
        return None
    return data[math.ceil(noisy) :].sum() + rng.laplace() if noisy > 9 else data[3:].sum() + rng.laplace()


def ceiling_one_too_far(data: Any, rng: Any) -> Any:
    noisy = data[3] + rng.laplace()
    if not 0 < noisy <= 2.5:
        return None
    return [data[k] + rng.laplace() for k in range(math.ceil(noisy) + 1)]


def growing(data: Any, rng: Any) -> Any:
    at, found = 0, []
    while at < 6:
        count = min(max(1, int(data[at] + rng.laplace(0, 1))), 6 - at)
        at += count
        found.append(count)
    return found


def growing_that_reads_twice(data: Any, rng: Any) -> Any:
    at, found = 0, []
    while at < 6:
        count = min(max(1, int(data[at] + rng.laplace(0, 1))), 6 - at)
        found.append(data[at : at + count].sum() + rng.laplace(0, 1))
        at += count
    return found


@pytest.mark.parametrize(
    "program",
    [checked_count, clamped_length, clipped_length, ceiling_of_a_checked_number, from_a_list, growing],
)
def test_right_programs_are_proved(program: Callable[..., Any]) -> None:
    """Each record enters one release on every path, and no smaller number is proved."""
    assert prove_values(program, PureDP(epsilon=1), data=DATA).verdict == "verified"
    assert prove_values(program, PureDP(epsilon="0.99"), data=DATA).verdict == "inconclusive"


@pytest.mark.parametrize(
    "program",
    [
        checked_count_off_by_one,
        checked_count_too_late,
        clamped_length_over_the_first,
        clipped_length_over_the_first,
        ceiling_one_too_far,
        from_a_list_twice,
        growing_that_reads_twice,
    ],
)
def test_wrong_programs_are_not_proved(program: Callable[..., Any]) -> None:
    """A record in two releases on some path, or a size whose values are not known, gives no proof."""
    assert prove_values(program, PureDP(epsilon=1), data=DATA).verdict == "inconclusive"
