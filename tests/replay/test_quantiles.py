"""Histories at quantiles find narrow windows and moved thresholds, the same ones for every seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpaudit.coins import Coins, Returned, record
from dpaudit.coins.limits import Limits
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.views import NOBODY
from dpaudit.distributions import AboveThreshold, Bernoulli, Categorical, DiscreteLaplace, Laplace
from dpaudit.replay import quantiles
from dpaudit.replay.quantiles import quantile_histories
from dpaudit.replay.watch import Watch

PAIR = Neighbours("0 to 1", np.array([0.0]), np.array([1.0]))
NOISE = Laplace(scale=1)


def shown(program: Any, *, values: int = 60, halvings: int = 60, limits: Limits | None = None) -> list[Any]:
    """What the program returned on every history; the reason where one was cut."""
    watch = Watch(program)
    found = quantile_histories(
        watch, PAIR, values=values, halvings=halvings, limits=limits or Limits(sites=500)
    )
    return [item.recording.cut or item.recording.returned for item in found]


@pytest.mark.parametrize("width", [1e-2, 1e-4, 1e-6])
def test_a_window_between_two_quantiles_is_entered(width: float) -> None:
    """Both of its ends are conditions, and the bisection of one meets the other."""

    def program(coins: Coins, data: Any) -> bool:
        noisy = coins.release(float(data[0]), NOISE, site="sum")
        return bool(1.2345 < noisy < 1.2345 + width)

    assert True in shown(program)


def test_without_bisection_it_is_not() -> None:
    """The negative control: quantiles alone are too far apart."""

    def program(coins: Coins, data: Any) -> bool:
        noisy = coins.release(float(data[0]), NOISE, site="sum")
        return bool(1.2345 < noisy < 1.2345 + 1e-6)

    assert True not in shown(program, halvings=0)


def test_a_rare_hidden_draw_and_every_atom_come_out() -> None:
    """A hidden coin of probability 1e-7 falls on its rare side; a distribution without an order shows each
    atom."""

    def program(coins: Coins, data: Any) -> Any:
        coin = int(coins.draw(Bernoulli(p="1/10000000"), site="coin"))
        kind = int(coins.observe(Categorical(weights=[1, 10**6, 1]), site="kind"))
        return coin, kind

    found = set(shown(program))
    assert {coin for coin, _ in found} == {0, 1}
    assert {kind for _, kind in found} == {0, 1, 2}


def test_the_answers_of_a_channel_are_steered() -> None:
    """Answers that are nearly never given are given, and stay possible ones."""
    kernel = AboveThreshold(threshold=40, threshold_noise=NOISE, query_noise=NOISE, max_positives=1)

    def program(coins: Coins, data: Any) -> bool:
        return bool(coins.channel(kernel, site="svt").ask(float(data[0])))

    assert set(shown(program)) == {False, True}


def test_one_entry_of_a_vector_is_moved_alone() -> None:
    """The first entry comes out far up while the last one stays."""

    def program(coins: Coins, data: Any) -> Any:
        noisy = coins.release(np.zeros(3), NOISE, site="sums")
        return bool(noisy[0] > 9 and abs(noisy[2]) < 4)

    assert True in shown(program)


def test_a_history_without_end_is_cut_and_named() -> None:
    """A loop that an extreme outcome keeps going ends by the number of sites, an array by its size."""

    def loops(coins: Coins, data: Any) -> int:
        while coins.observe(NOISE, site="noise") < 3:
            pass
        return 0

    def grows(coins: Coins, data: Any) -> Any:
        size = abs(int(coins.observe(DiscreteLaplace(scale=10**6), site="size")))
        return Returned(coins.release(np.zeros(min(size, 10**7)), NOISE, site="many").sum(), NOBODY)

    assert "more than 500 sites" in shown(loops)
    assert "more than 100000 numbers" in shown(grows, values=20, halvings=0, limits=Limits(values=100_000))


def test_the_histories_depend_on_nothing_random() -> None:
    """Twice the same."""

    def program(coins: Coins, data: Any) -> Any:
        return coins.release(np.zeros(2), NOISE, site="a").tolist(), coins.observe(NOISE, site="b")

    assert shown(program) == shown(program)


def shifting(coins: Coins, data: Any) -> tuple[Any, ...]:
    """What its second site has as a distribution, and whether there is a third, depend on the first one."""
    first = int(coins.observe(Categorical(weights=[3, 1, 2]), site="a"))
    second = int(coins.observe(DiscreteLaplace(scale=1 + first), site="a"))
    third = int(coins.observe(Bernoulli(p="1/3"), site="b")) if second > 1 else None
    return first, second, third


def test_levels_with_the_same_outcomes_are_one_run_and_no_history_is_lost() -> None:
    """All that a run at each level would show is shown, and by far fewer runs than there are levels."""
    runs = 0

    def program(coins: Coins, data: Any) -> tuple[Any, ...]:
        nonlocal runs
        runs += 1
        return shifting(coins, data)

    watch, limits = Watch(program), Limits(sites=500)
    base = record(program, PAIR.left, rng=np.random.default_rng(quantiles.SEED))
    every = quantiles._targets(base, most=10)[-1]
    assert every.site is None
    levels = [i / 997 for i in range(1, 997)]
    made, runs = quantiles._Runs(watch, PAIR, every, limits), 0
    found = [made.at(level) for level in levels]
    histories = {item[0].returned for item in found if item is not None and item[0] is not None}
    assert runs == len(histories) < 30
    single = [quantiles._Runs(watch, PAIR, every, limits).at(level) for level in levels]
    assert {item[0].returned for item in single if item is not None and item[0] is not None} == histories
    assert [item[1] for item in found if item] == [item[1] for item in single if item]
    assert runs == len(histories) + len(levels)


@pytest.mark.parametrize(
    ("one", "other"), [(0.0, -0.0), (1, True), (1, 1.0), (np.zeros(2), np.zeros(2, int))]
)
def test_outcomes_are_the_same_only_bit_by_bit(one: Any, other: Any) -> None:
    """What a program could tell apart is not one run."""
    assert quantiles._exactly(one) != quantiles._exactly(other)
    assert quantiles._exactly(one) == quantiles._exactly(one)
