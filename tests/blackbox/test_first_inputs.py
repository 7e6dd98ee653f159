"""Mechanisms that keep their first input: their calls are not independent, and the result says so."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpaudit import PureDP, check

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

PAIRS = [(0.0, 1.0)]


def by_setdefault() -> Callable[..., Any]:
    kept: dict[str, float] = {}
    return lambda x, rng: kept.setdefault("x", x) + rng.laplace()


def by_a_default_argument() -> Callable[..., Any]:
    def run(x: float, rng: np.random.Generator, kept: list[float] = []) -> Any:  # noqa: B006
        if not kept:
            kept.append(x)
        return kept[0] + rng.laplace()

    return lambda x, rng: run(x, rng)


def by_a_cached_property() -> Callable[..., Any]:
    class Mechanism:
        x = 0.0

        @functools.cached_property
        def centre(self) -> float:
            return self.x

        def __call__(self, x: float, rng: np.random.Generator) -> Any:
            self.x = x
            return self.centre + rng.laplace()

    return Mechanism()


def by_a_cache() -> Callable[..., Any]:
    now: list[float] = []

    @functools.cache
    def centre() -> float:
        return now[-1]

    def run(x: float, rng: np.random.Generator) -> Any:
        now[:] = [x]
        return centre() + rng.laplace()

    return run


def by_a_maximum() -> Callable[..., Any]:
    most = [-np.inf]

    def run(x: float, rng: np.random.Generator) -> Any:
        most[0] = max(most[0], x)
        return most[0] + rng.laplace()

    return run


def by_an_attribute() -> Callable[..., Any]:
    def run(x: float, rng: np.random.Generator) -> Any:
        run.__dict__.setdefault("scale", 1 + x)
        return x / run.__dict__["scale"] + rng.laplace()

    return run


def by_a_closure() -> Callable[..., Any]:
    first = None

    def run(x: float, rng: np.random.Generator) -> Any:
        nonlocal first
        first = x if first is None else first
        return x - first + rng.laplace()

    return run


def by_the_environment() -> Callable[..., Any]:
    os.environ.pop("DPAUDIT_TEST_FIRST", None)
    return lambda x, rng: float(os.environ.setdefault("DPAUDIT_TEST_FIRST", str(x))) + rng.laplace()


def by_a_set_of_sizes() -> Callable[..., Any]:
    seen: set[float] = set()

    def run(x: float, rng: np.random.Generator) -> Any:
        seen.add(x)
        return min(seen) + rng.laplace()

    return run


KEEPING = (
    *(by_setdefault, by_a_default_argument, by_a_cached_property, by_a_cache, by_a_maximum),
    *(by_an_attribute, by_a_closure, by_the_environment, by_a_set_of_sizes),
)


@pytest.mark.sample(5)
@pytest.mark.parametrize("make", KEEPING, ids=lambda make: make.__name__)
def test_a_first_input_that_is_kept_is_named(make: Callable[[], Callable[..., Any]]) -> None:
    """All later calls agree, so that only the order of the first two tells."""
    result = check(make(), PureDP(epsilon=1), neighbours=PAIRS, max_samples=2000, record_draws=False)
    assert result.verdict == "inconclusive"
    assert "not independent" in str(result)


def draws_alone(x: float, rng: np.random.Generator) -> Any:
    return x + rng.laplace()


@functools.cache
def _square(x: float) -> float:
    return x * x


def caches_a_function(x: float, rng: np.random.Generator) -> Any:
    return _square(x) + rng.laplace()


def draws_from_the_system(x: float, rng: np.random.Generator) -> Any:
    return int(x) if int.from_bytes(os.urandom(2), "big") / 2**16 < 0.731 else 1 - int(x)


def nearly_always_the_same(x: float, rng: np.random.Generator) -> Any:
    return int(os.urandom(1)[0] < 3)


class OwnGenerator:
    """Draws as many numbers as its input says, from a generator of its own."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(7)

    def __call__(self, x: float, rng: np.random.Generator) -> Any:
        return x + self.rng.laplace(size=1 + int(x))[0]


def imports_late(x: float, rng: np.random.Generator) -> Any:
    import statistics

    return statistics.fmean([x, x]) + rng.laplace()


HONEST = (
    *(draws_alone, caches_a_function, draws_from_the_system, nearly_always_the_same),
    *(OwnGenerator(), imports_late),
)


@pytest.mark.parametrize("mechanism", HONEST, ids=lambda item: getattr(item, "__name__", type(item).__name__))
def test_nothing_kept_is_no_alarm(mechanism: Callable[..., Any]) -> None:
    """A cache of a function, randomness from elsewhere, a generator of its own, a late import."""
    result = check(mechanism, PureDP(epsilon="1.01"), neighbours=PAIRS, max_samples=2000, record_draws=False)
    assert result.verdict == "inconclusive"
    assert "not independent" not in str(result)


def test_a_refuted_mechanism_stays_refuted() -> None:
    """The copies take nothing away from what independent calls refute."""
    result = check(
        lambda x, rng: x + rng.laplace(0, 0.2), PureDP(epsilon=1), neighbours=PAIRS, record_draws=False
    )
    assert result.verdict == "refuted"


def test_files_that_are_written_are_named(tmp_path: Path) -> None:
    """Copies of the process share them, so no copy can tell."""
    kept = tmp_path / "kept"

    def run(x: float, rng: np.random.Generator) -> Any:
        if not kept.exists():
            kept.write_text(str(x))
        return float(kept.read_text()) + rng.laplace()

    result = check(run, PureDP(epsilon=1), neighbours=PAIRS, max_samples=1000, record_draws=False)
    assert result.verdict == "inconclusive"
    assert any("changes the file system (kept)" in note for note in result.notes)
