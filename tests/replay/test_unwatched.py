"""Primitives are hidden from the tracer only where no code of the program's can run in them."""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit.coins import Coins, record
from dpaudit.coins.unwatched import _is_inert
from dpaudit.distributions import Bernoulli, Laplace, Sum
from dpaudit.replay.coverage import Watch


class Own(Laplace):
    """A distribution of a program's: which line runs depends on the draw."""

    def sample(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> Any:
        drawn = super().sample(rng, size)
        if abs(float(drawn)) > 1e9:
            drawn = drawn + 1
        return drawn


class Spoofed(Laplace):
    __module__ = "dpaudit.distributions.continuous"


def shows_own_noise(coins: Coins, data: Any) -> Any:
    return coins.release(data, Own(scale=1), site="noise")


def shows_noise(coins: Coins, data: Any) -> Any:
    return coins.release(data, Laplace(scale=1), site="noise")


def test_a_distribution_of_the_program_is_watched_inside_of_a_primitive() -> None:
    watch = Watch(shows_own_noise)
    record(watch.program, 0.5, rng=np.random.default_rng(0))
    functions = {function for _, function in watch.missing()}
    assert "Own.sample" in functions, functions


def test_what_the_program_does_around_a_primitive_is_watched() -> None:
    watch = Watch(shows_noise)
    before = sys.gettrace()
    record(watch.program, 0.5, rng=np.random.default_rng(0))
    assert watch.missing() == []
    assert watch.steps >= 1
    assert sys.gettrace() is before


@pytest.mark.parametrize(
    ("value", "inert"),
    [
        (Laplace(scale=1).shift(Fraction(1, 3)), True),
        ([Bernoulli(p="1/2").shift(np.arange(3))] * 4, True),
        (Sum(), True),
        ({"a": (1, 2.0, "text", None, np.float64(1))}, True),
        (Own(scale=1), False),
        ([Laplace(scale=1), Own(scale=1).shift(2)], False),
        (Spoofed(scale=1), False),
        (np.array([object()], dtype=object), False),
        (type("Number", (float,), {})(1.0), False),
        (iter([1]), False),
    ],
)
def test_inert_values_hold_no_code(value: Any, inert: bool) -> None:
    assert _is_inert((value,)) is inert
