"""Proofs of the distributed bandit protocols, and of small programs with the same operations."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit.core.claims import PureDP
from dpaudit.core.data import Integers, Interval, Records
from dpaudit.core.exact import dyadic
from dpaudit.core.views import SERVER, View
from dpaudit.distributions import Bernoulli, DiscreteLaplace, PolyaDifference, SumMod
from dpaudit.reference.algorithms.mab.batched_elimination import batch_lengths
from dpaudit.reference.algorithms.mab.distributed_elimination import program, variant
from tests.followed import proof_of

T = 14
BITS, WIDE, UNIT = (
    Records(Integers(0, 1), size=4),
    Records(Integers(0, 2), size=4),
    Records(Interval(0, 1), size=4),
)
CLAIM = PureDP(epsilon=1, view=View.of(SERVER))


def verdict(of: Any, claim: PureDP, data: Records) -> str:
    return str(proof_of(of, claim, data).verdict)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("name", "grid", "numbers"),
    [
        ("dist_dp_se", 1, Integers(0, 1)),
        ("dist_dp_se", None, Interval(0, 1)),
        ("cdp_se", 1, Integers(0, 1)),
        ("ldp_se", 1, Integers(0, 1)),
    ],
)
def test_protocols(name: str, grid: int | None, numbers: Any) -> None:
    """A protocol is proved at its own epsilon, and neither below it nor with half of the noise."""
    data = Records(numbers, size=T, width=2)
    lengths = batch_lengths(T)
    chosen = variant(name, epsilon=1, failure_prob=Fraction(1, T)).prepared(lengths)
    assert verdict(program(chosen, grid=grid), CLAIM, data) == "verified"
    assert verdict(program(chosen, grid=grid), replace(CLAIM, epsilon="99/100"), data) != "verified"
    loud = variant(name, epsilon=2, failure_prob=Fraction(1, T)).prepared(lengths)
    halved = replace(
        chosen,
        sheet=lambda users: {
            n: replace(chosen.sheet(n), share=_louder(chosen.sheet(n).share, loud.sheet(n).precision))
            for n in lengths
        }[users],
    ).prepared(lengths)
    assert verdict(program(halved, grid=grid), CLAIM, data) != "verified"


def _louder(share: Any, precision: int) -> Any:
    """Return the share with half of its scale."""
    if isinstance(share, PolyaDifference):
        return PolyaDifference(shape=share.shape, log_ratio=2 * share.log_ratio)
    return DiscreteLaplace(scale=share.scale / 2)


def test_one_lost_message() -> None:
    """Printed shares are not proved if a message is lost; messages with their own noise are."""
    present = [t != 4 for t in range(T)]
    for name, expected in (("dist_dp_se", "inconclusive"), ("ldp_se", "verified")):
        chosen = variant(name, epsilon=1, failure_prob=Fraction(1, T)).prepared(batch_lengths(T))
        of = program(chosen, grid=1, participation=present)
        assert verdict(of, CLAIM, Records(Integers(0, 1), size=T, width=2)) == expected


NOISE = DiscreteLaplace(scale=3)


def on_the_grid(coins: Any, data: Any) -> Any:
    total = 0
    for x in np.array(data, dtype=np.float64).tolist():
        scaled = dyadic(x) * 3
        whole = math.floor(scaled)
        if scaled - whole:
            raise ValueError("off the grid")
        total += whole
    return coins.release(total, NOISE, site="sum")


def half_on_the_grid(coins: Any, data: Any) -> Any:
    total = 0
    for x in data.tolist():
        scaled = dyadic(x) * 0.5
        whole = math.floor(scaled)
        if scaled - whole:
            raise ValueError("off the grid")
        total += whole
    return coins.release(total, NOISE, site="sum")


def cube_root_on_the_grid(coins: Any, data: Any) -> Any:
    total = 0
    for x in np.sqrt(data + 1).tolist():
        if x - math.floor(x):
            raise ValueError("off the grid")
        total += math.floor(x)
    return coins.release(total, NOISE, site="sum")


def sum_of_thirds(coins: Any, data: Any) -> Any:
    x = data[0] / 3 + data[1] / 3
    if x - math.floor(x):
        raise ValueError("off the grid")
    return coins.release(math.floor(x), NOISE, site="sum")


def floor_of_another(coins: Any, data: Any) -> Any:
    a, b = (float(x) for x in data[:2].tolist())
    if a - math.floor(b):
        raise ValueError("they differ")
    return coins.release(a, NOISE, site="sum")


def shown_fraction(coins: Any, data: Any) -> Any:
    x = dyadic(data[0]) * 2
    return coins.reveal(x - math.floor(x), site="shown")


def shown_dyadic(coins: Any, data: Any) -> Any:
    return coins.reveal(dyadic(data[0]), site="shown")


def sum_of_outcomes_along_an_axis(coins: Any, data: Any) -> Any:
    seen = coins.release(data, DiscreteLaplace(scale=1), site="all")
    total = np.sum(seen, axis=-1)
    return total if total.ndim == 0 else total[0]


def chosen_by_where(coins: Any, data: Any) -> Any:
    seen = coins.release(data.sum(), DiscreteLaplace(scale=1), site="sum")
    found = np.where(np.asarray(seen) > 2, 1, 0)
    return found + 1


def alias_of_an_array_without_axes(coins: Any, data: Any) -> Any:
    a = np.asarray(data.sum())
    b = a
    b *= 5
    return coins.release(a, DiscreteLaplace(scale=1), site="sum")


def alias_of_an_outcome(coins: Any, data: Any) -> Any:
    a = np.asarray(coins.release(data.sum(), DiscreteLaplace(scale=2), site="first"))
    b = a
    found = []
    if not (a > 1):
        found.append(coins.release(data.sum(), DiscreteLaplace(scale=2), site="low"))
    b += 5
    if a > 1:
        found.append(coins.release(data.sum(), DiscreteLaplace(scale=2), site="high"))
    return found


def where_returns_a_tuple(coins: Any, data: Any) -> Any:
    seen = coins.release(data, DiscreteLaplace(scale=1), site="all")
    return len(np.where(seen > 0))


def rounded_sum(coins: Any, data: Any) -> Any:
    scaled = [dyadic(x) * 3 for x in data.tolist()]
    whole = [math.floor(s) for s in scaled]
    total = [w + coins.draw(Bernoulli(p=s - w), site="coin") for s, w in zip(scaled, whole, strict=True)]
    share = PolyaDifference(shape="1/4", log_ratio=Fraction(1, 3))
    return coins.aggregate([share.shift(x) for x in total], SumMod(99), site="sum", to=SERVER)


def coins_of_twice_the_fraction(coins: Any, data: Any) -> Any:
    scaled = [dyadic(x) * 3 for x in data.tolist()]
    share = PolyaDifference(shape="1/4", log_ratio=Fraction(1, 3))
    total = [math.floor(s) + 2 * coins.draw(Bernoulli(p=s - math.floor(s)), site="coin") for s in scaled]
    return coins.aggregate([share.shift(x) for x in total], SumMod(99), site="sum", to=SERVER)


@pytest.mark.parametrize(
    ("of", "data", "expected"),
    [
        (on_the_grid, BITS, "verified"),
        (on_the_grid, WIDE, "inconclusive"),
        (on_the_grid, UNIT, "inconclusive"),
        (half_on_the_grid, BITS, "inconclusive"),
        (half_on_the_grid, WIDE, "inconclusive"),
        (cube_root_on_the_grid, BITS, "inconclusive"),
        (sum_of_thirds, BITS, "inconclusive"),
        (floor_of_another, BITS, "inconclusive"),
        (shown_fraction, UNIT, "inconclusive"),
        (shown_dyadic, BITS, "inconclusive"),
        (sum_of_outcomes_along_an_axis, BITS, "verified"),
        (sum_of_outcomes_along_an_axis, WIDE, "inconclusive"),
        (chosen_by_where, BITS, "verified"),
        (chosen_by_where, WIDE, "inconclusive"),
        (where_returns_a_tuple, WIDE, "inconclusive"),
        (alias_of_an_array_without_axes, BITS, "inconclusive"),
        (alias_of_an_outcome, BITS, "inconclusive"),
        (rounded_sum, UNIT, "verified"),
        (coins_of_twice_the_fraction, UNIT, "inconclusive"),
    ],
)
def test_small_programs(of: Any, data: Records, expected: str) -> None:
    """Only differences that are 0 for all declared data count as decided, and nothing raw is shown."""
    assert verdict(of, PureDP(epsilon=1, view=View.of(SERVER)), data) == expected
