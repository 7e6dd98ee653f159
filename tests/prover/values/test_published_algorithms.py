"""Published private algorithms as users write them, in a few lines with public names.

Right programs are verified, wrong ones are refuted. ``test_correlated`` has the matrix mechanism, and
``test_random_stopping`` private selection.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dpaudit import ApproxDP, Interval, Records, ZeroConcentratedDP, audit

UNIT = Records(Interval(0, 1), size=4)
TENS = Records(Interval(0, 10))


def sprt(data: Any, rng: np.random.Generator) -> int:
    """A sequential probability ratio test: noise on the threshold and on every partial sum."""
    upper = 1 + rng.normal(scale=8.0)
    total = 0.0
    for t in range(len(data)):
        total = total + np.clip(data[t], 0, 1) - 0.5
        if total + rng.normal(scale=16.0) >= upper:
            return t
    return len(data)


def sprt_with_half_the_noise(data: Any, rng: np.random.Generator) -> int:
    upper = 1 + rng.normal(scale=4.0)
    total = 0.0
    for t in range(len(data)):
        total = total + np.clip(data[t], 0, 1) - 0.5
        if total + rng.normal(scale=8.0) >= upper:
            return t
    return len(data)


def sprt_with_one_draw(data: Any, rng: np.random.Generator) -> int:
    """The same draw stands on both sides, and cancels."""
    noise = rng.normal(scale=8.0)
    total = 0.0
    for t in range(len(data)):
        total = total + np.clip(data[t], 0, 1) - 0.5
        if total + noise >= 1 + noise:
            return t
    return len(data)


def above_threshold(data: Any, rng: np.random.Generator) -> int | None:
    threshold = 10 + rng.normal(scale=8.0)
    for k in range(6):
        if (data > k).sum() + rng.normal(scale=16.0) > threshold:
            return k
    return None


def above_threshold_with_a_quarter(data: Any, rng: np.random.Generator) -> int | None:
    threshold = 10 + rng.normal(scale=2.0)
    for k in range(6):
        if (data > k).sum() + rng.normal(scale=4.0) > threshold:
            return k
    return None


def above_threshold_with_one_draw(data: Any, rng: np.random.Generator) -> int | None:
    noise = rng.normal(scale=8.0)
    for k in range(6):
        if (data > k).sum() + noise > 10 + noise:
            return k
    return None


def above_threshold_that_shows_the_count(data: Any, rng: np.random.Generator) -> Any:
    threshold = 10 + rng.normal(scale=8.0)
    for k in range(6):
        count = (data > k).sum()
        if count + rng.normal(scale=16.0) > threshold:
            return k, count
    return None


@pytest.mark.parametrize(
    ("program", "claim", "data", "bound"),
    [
        (sprt, ZeroConcentratedDP(rho="1/128"), UNIT, 1 / 128),
        (above_threshold, ZeroConcentratedDP(rho="3/256"), TENS, 3 / 256),
    ],
)
def test_the_right_program_is_verified(program: Any, claim: Any, data: Records, bound: float) -> None:
    """rho of all draws: one change of 1 in each of 4 sums, or 6 counts, at sigma 16."""
    result = audit(program, claim, data=data, seconds=20)
    assert result.verdict == "verified"
    assert result.upper is not None
    assert math.isclose(float(result.upper), bound)


@pytest.mark.parametrize(
    ("program", "claim", "data"),
    [
        (sprt_with_half_the_noise, ApproxDP(epsilon="1/10", delta="1/1000000"), UNIT),
        (sprt_with_one_draw, ZeroConcentratedDP(rho="1/128"), UNIT),
        (above_threshold_with_a_quarter, ZeroConcentratedDP(rho="3/256"), TENS),
        (above_threshold_with_one_draw, ZeroConcentratedDP(rho="3/256"), TENS),
        (above_threshold_that_shows_the_count, ZeroConcentratedDP(rho="3/256"), TENS),
    ],
)
def test_the_wrong_program_is_refuted(program: Any, claim: Any, data: Records) -> None:
    """An exact counterexample is above the claim, and below the proved bound if there is one."""
    result = audit(program, claim, data=data, seconds=30)
    assert result.verdict == "refuted"
    claimed = float(claim.delta) if isinstance(claim, ApproxDP) else float(claim.rho)
    assert result.lower is not None
    assert float(result.lower) > claimed
    assert result.upper is None or float(result.lower) <= float(result.upper)
