"""``check`` seeds the generators that a process shares, and restores them."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpaudit.blackbox.check import check
from dpaudit.blackbox.global_generators import kept, seed_all, used
from dpaudit.core.claims import PureDP

PAIR = [(0.0, 1.0)]


def from_numpy(x: float, rng: np.random.Generator) -> float:
    return x + float(np.random.laplace())  # noqa: NPY002  # the legacy generator is the subject


def from_python(x: float, rng: np.random.Generator) -> float:
    return x + random.expovariate(1) - random.expovariate(1)


@pytest.mark.parametrize("mechanism", [from_numpy, from_python])
def test_two_checks_of_a_mechanism_with_a_shared_generator_agree(mechanism: Callable[..., Any]) -> None:
    """At half the true loss both refute after the same runs, whatever was drawn before."""
    texts = []
    for skipped in (0, 7):
        random.random()
        np.random.random(skipped)  # noqa: NPY002  # another state before
        found = check(mechanism, PureDP(epsilon="1/2"), neighbours=PAIR, seed=3, max_samples=20_000)
        texts.append((str(found.verdict), str(found)))
    assert texts[0] == texts[1]
    assert texts[0][0] == "refuted"
    assert "which this check seeds" in texts[0][1]


def test_without_seeding_the_generators_are_left_alone() -> None:
    """No note, and the mechanism's draws go on where they were."""
    np.random.seed(5)  # noqa: NPY002  # a known state
    found = check(
        from_numpy, PureDP(epsilon=1), neighbours=PAIR, max_samples=400, seed_globals=False, alpha=1e-7
    )
    assert not any("which this check seeds" in note for note in found.notes)
    assert any("not reproducible" in note for note in found.notes)


def test_the_states_are_restored() -> None:
    """What the caller draws after a block does not depend on it."""
    np.random.seed(11)  # noqa: NPY002  # a known state
    random.seed(11)
    wanted = (np.random.random(), random.random())  # noqa: NPY002
    np.random.seed(11)  # noqa: NPY002
    random.seed(11)
    with kept():
        seed_all(np.random.SeedSequence(1))
        np.random.random(5)  # noqa: NPY002
        random.random()
    assert (np.random.random(), random.random()) == wanted  # noqa: NPY002


def test_the_generator_that_was_used_is_named() -> None:
    """Only those from which something was drawn since they were seeded."""
    seed = np.random.SeedSequence(2)
    with kept():
        seed_all(seed)
        assert used(seed) == []
        random.random()
        assert used(seed) == ["the generator of random"]
        np.random.random()  # noqa: NPY002
        assert used(seed) == ["numpy's global generator"]
