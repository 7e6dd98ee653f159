"""Mechanisms that are 1-DP and draw from a generator of their own, in every way that people hold one."""

from __future__ import annotations

import itertools
import random
import secrets
from collections.abc import Callable
from typing import Any

import numpy as np

Mechanism = Callable[..., Any]

MODULE_GENERATOR = np.random.default_rng(11)
MODULE_RANDOM = random.Random(12)


class Holder:
    """Keeps a generator as an attribute."""

    def __init__(self, generator: Any) -> None:
        self.generator = generator

    def __call__(self, x, rng):
        return x + self.generator.laplace()

    def method(self, x, rng):
        return x + self.generator.laplace()


class LazyHolder:
    """Makes its generator on the first call."""

    def __init__(self) -> None:
        self.generator = None

    def __call__(self, x, rng):
        if self.generator is None:
            self.generator = np.random.default_rng(5)
        return x + self.generator.laplace()


def two_sided(uniform: float) -> float:
    """A Laplace(1) number from a uniform one."""
    centred = 2 * uniform - 1
    return float(-np.sign(centred) * np.log1p(-min(abs(centred), 1 - 1e-16)))


def from_module(x, rng):
    return x + MODULE_GENERATOR.laplace()


def from_module_random(x, rng):
    return x + two_sided(MODULE_RANDOM.random())


def from_legacy_numpy(x, rng):
    return x + np.random.laplace()  # noqa: NPY002 - what people write


def from_random_module(x, rng):
    return x + two_sided(random.random())


def from_secrets(x, rng):
    return x + two_sided(secrets.randbelow(2**53) / 2**53)


def by_default(x, rng, generator=np.random.default_rng(17)):  # noqa: B008 - what people write
    return x + generator.laplace()


def closure() -> Mechanism:
    generator = np.random.default_rng(1)
    return lambda x, rng: x + generator.laplace()


def closure_of_random() -> Mechanism:
    generator = random.Random(2)
    return lambda x, rng: x + two_sided(generator.random())


def legacy_state() -> Mechanism:
    generator = np.random.RandomState(3)
    return lambda x, rng: x + generator.laplace()


def randomised_response() -> Mechanism:
    generator = random.Random(4)
    truth = float(np.e / (1 + np.e))
    return lambda x, rng: int(x) if generator.random() < truth else 1 - int(x)


def beside_the_given_one() -> Mechanism:
    """The privacy comes from its own generator; the given one only breaks ties."""
    generator = np.random.default_rng(6)
    return lambda x, rng: x + generator.laplace() + 1e-9 * rng.random()


def stream() -> Mechanism:
    """A Python generator, which no worker can receive."""
    generator = np.random.default_rng(7)
    noise = (generator.laplace() for _ in itertools.count())
    return lambda x, rng: x + next(noise)


def rare_event() -> Mechanism:
    """An event of probability 0.01 on one input and 0.01 e on the other."""
    generator = np.random.default_rng(8)
    return lambda x, rng: int(generator.random() < 0.01 * np.exp(x))


OWN_GENERATORS: dict[str, Callable[[], Mechanism]] = {
    "attribute": lambda: Holder(np.random.default_rng(9)),
    "bound method": lambda: Holder(np.random.default_rng(10)).method,
    "attribute made on the first call": LazyHolder,
    "closure": closure,
    "closure of random.Random": closure_of_random,
    "RandomState": legacy_state,
    "module": lambda: from_module,
    "module's random.Random": lambda: from_module_random,
    "legacy numpy.random": lambda: from_legacy_numpy,
    "random": lambda: from_random_module,
    "secrets": lambda: from_secrets,
    "default argument": lambda: by_default,
    "randomised response": randomised_response,
    "beside the given one": beside_the_given_one,
    "stream": stream,
    "rare event": rare_event,
}
