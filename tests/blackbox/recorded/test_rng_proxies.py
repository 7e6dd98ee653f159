"""Record every source of randomness, with the same numbers, and restore everything afterwards."""

# ruff: noqa: NPY002 (the old functions of numpy.random are among the recorded sources)

from __future__ import annotations

import os
import random
import secrets
from functools import partial

import numpy as np
import pytest
from numpy.random import default_rng
from scipy import stats

from dpaudit import record_draws
from dpaudit.blackbox.recorded.rng_proxies import install_proxies
from dpaudit.blackbox.recorded.trace import Trace

HELD = np.random.default_rng(3)
OLD = np.random.RandomState(4)
DISTRIBUTION = stats.laplace(scale=3)


class Holder:
    """A mechanism with generators of its own."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(5)
        self.parts = {"one": [np.random.default_rng(6)]}

    def run(self, data, rng):
        return self.rng.normal(sum(data), 2) + self.parts["one"][0].exponential(7)


def by_closure():
    inner = np.random.default_rng(8)
    return lambda data, rng: inner.gumbel(1, 2)


def recorded_draws(function) -> list[str]:
    """Source and words of each draw on one input."""
    draws = record_draws(function, ([0, 0], [1, 0])).recording.first.draws
    return [f"{draw.source}: {draw}" for draw in draws]


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda data, rng: rng.laplace(sum(data), 2), "numpy: laplace(loc=0, scale=2)"),
        (lambda data, rng: rng.laplace(scale=2, size=3), "numpy: laplace(loc=0, scale=2) x 3"),
        (lambda data, rng: rng.spawn(1)[0].random(), "numpy: random()"),
        (lambda data, rng: np.random.default_rng().normal(), "numpy: normal(loc=0, scale=1)"),
        (lambda data, rng: default_rng().integers(5), "numpy: integers(low=5, high=None, endpoint=False)"),
        (lambda data, rng: np.random.Generator(np.random.PCG64()).random(), "numpy: random()"),
        (lambda data, rng: HELD.poisson(3), "numpy: poisson(lam=3)"),
        (by_closure(), "numpy: gumbel(loc=1, scale=2)"),
        (lambda data, rng: OLD.geometric(0.5), "numpy (legacy): geometric(p=0.5)"),
        (lambda data, rng: np.random.laplace(0, 3), "numpy (legacy): laplace(loc=0, scale=3)"),
        (lambda data, rng: random.gauss(0, 2), "random: gauss(mu=0, sigma=2)"),
        (lambda data, rng: random.Random().expovariate(2), "random: expovariate(lambd=2)"),
        (lambda data, rng: random.SystemRandom().random(), "secrets: random()"),
        (lambda data, rng: secrets.randbelow(9), "secrets: randbelow(exclusive_upper_bound=9)"),
        (lambda data, rng: len(os.urandom(4)), "secrets: urandom()"),
        (lambda data, rng: DISTRIBUTION.rvs(), "scipy: laplace(loc=0, scale=3)"),
        (lambda data, rng: stats.poisson.rvs(2, size=2, random_state=rng), "scipy: poisson(loc=0, mu=2) x 2"),
        (partial(lambda data, rng, by: rng.normal(0, by), by=4), "numpy: normal(loc=0, scale=4)"),
    ],
)
def test_each_source_is_recorded_once(function, said: str) -> None:
    """A draw is listed with family, parameters and count, whoever draws it, and its inner draws are not."""
    assert recorded_draws(function) == [said]


def test_generators_that_an_object_holds_are_recorded() -> None:
    """Attributes and containers are searched."""
    assert recorded_draws(Holder().run) == ["numpy: normal(loc=0, scale=2)", "numpy: exponential(scale=7)"]


def test_install_proxies_changes_no_number() -> None:
    """A function returns with proxies what it returns without them, for the same states."""

    def every(rng):
        np.random.seed(1)
        random.seed(2)
        return [
            rng.laplace(),
            HELD.normal(),
            np.random.normal(),
            random.gauss(0, 1),
            rng.choice(5, size=2).sum(),
        ]

    state = HELD.bit_generator.state
    plain = every(np.random.default_rng(9))
    HELD.bit_generator.state = state
    with install_proxies(every) as session, session.run(Trace()):
        assert every(np.random.default_rng(9)) == plain
    HELD.bit_generator.state = state


def test_afterwards_all_is_as_before() -> None:
    """Modules, classes, held objects and the states of all generators, also after an exception."""
    holder = Holder()
    before = [
        np.random.default_rng,
        np.random.laplace,
        random.gauss,
        secrets.randbelow,
        os.urandom,
        default_rng,
    ]
    rng, states = holder.rng, (holder.rng.bit_generator.state, random.getstate(), np.random.get_state()[2])

    def fails(data, rng):
        holder.run(data, rng)
        random.random()
        np.random.random()
        raise KeyError("on purpose")

    with pytest.raises(KeyError):
        record_draws(fails, ([0], [1]))
    after = [
        np.random.default_rng,
        np.random.laplace,
        random.gauss,
        secrets.randbelow,
        os.urandom,
        default_rng,
    ]
    assert all(one is two for one, two in zip(before, after, strict=True))
    assert holder.rng is rng
    assert (rng.bit_generator.state, random.getstate(), np.random.get_state()[2]) == states
    assert "random" not in vars(random.Random)
    assert isinstance(np.random.default_rng(), np.random.Generator)


def test_draws_past_the_proxies_are_noticed() -> None:
    """Bits that are taken from a generator past its methods."""
    result = record_draws(lambda data, rng: float(rng.bit_generator.random_raw() % 7), ([0], [1]))
    assert any("advanced without a recorded draw" in text for text in result.findings)


def test_places_are_those_of_the_calls() -> None:
    """Line and columns of the call, in the function that makes it."""
    place = record_draws(lambda data, rng: 1 + rng.laplace(0, 2), ([0], [1])).recording.first.draws[0].place
    with open(__file__, encoding="utf-8") as file:
        line = file.read().splitlines()[place.line - 1]
    assert line[place.column : place.end_column] == "rng.laplace(0, 2)"
