"""Seed the generators that a process shares: numpy's, that of ``random``, and torch's where it is loaded.

Many mechanisms draw from these instead of a generator that they are given. Seeded for each chunk of calls,
they give the same outputs again: in another process, in another order, in a second run of the check.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

__all__ = ["kept", "seed_all", "used"]

#: Separates these seeds from the children that a mechanism spawns from its own.
GLOBAL_KEY = 2**31 + 3


def _torch() -> Any:
    module = sys.modules.get("torch")
    return module if hasattr(module, "manual_seed") else None  # None while torch is being imported


def _states() -> dict[str, Any]:
    """Return what changes with every draw, by the words for the generator."""
    numbers = np.random.get_state()  # noqa: NPY002  # others draw from it
    found: dict[str, Any] = {
        "numpy's global generator": [np.asarray(part).tobytes() for part in numbers],
        "the generator of random": random.getstate(),
    }
    torch = _torch()
    return found if torch is None else {**found, "torch's global generator": torch.get_rng_state().tolist()}


def seed_all(seed: np.random.SeedSequence) -> None:
    """Seed all of them from a child of ``seed``, which is not changed."""
    child = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, GLOBAL_KEY))
    words = child.generate_state(8)
    np.random.seed(words)  # noqa: NPY002  # others draw from it
    random.seed(words.tobytes())
    torch = _torch()
    if torch is not None:
        torch.manual_seed(int(words[0]))


def used(seed: np.random.SeedSequence) -> list[str]:
    """Return the generators from which something was drawn since ``seed_all(seed)``, and seed them again."""
    found = _states()
    seed_all(seed)
    return [name for name, state in _states().items() if found.get(name, state) != state]


@contextmanager
def kept() -> Iterator[None]:
    """Restore the generators at the end, so that the caller's numbers do not depend on a check."""
    numpy_state = np.random.get_state()  # noqa: NPY002  # others draw from it
    python_state, torch = random.getstate(), _torch()
    torch_state = None if torch is None else torch.get_rng_state()
    try:
        yield
    finally:
        np.random.set_state(numpy_state)  # noqa: NPY002  # others draw from it
        random.setstate(python_state)
        if torch is not None:
            torch.set_rng_state(torch_state)
