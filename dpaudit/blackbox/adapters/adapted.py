"""What an adapter gives: a mechanism, the claim that its object makes, and pairs to try it on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np

from dpaudit.blackbox.check import CheckResult, check
from dpaudit.blackbox.neighbours import PairsOfInputs
from dpaudit.core.claims import PrivacyClaim
from dpaudit.core.errors import InvalidParameterError

__all__ = ["Adapted", "library", "refused", "seeded_state", "unseeded"]


@dataclass(frozen=True, kw_only=True)
class Adapted:
    """A mechanism of another library, ready for ``check``.

    ``mechanism``: ``(data, rng) -> output``; ``claim``: what the object promises, with the adjacency that the
    library means; ``neighbours``: pairs that are neighbours by it, empty where the object does not say what
    its data are; ``notes``: what was assumed, and whether runs can be repeated.
    """

    mechanism: Callable[[Any, np.random.Generator], Any]
    claim: PrivacyClaim
    neighbours: Sequence[tuple[Any, Any]] = ()
    notes: tuple[str, ...] = ()

    def check(self, *, neighbours: PairsOfInputs | None = None, **options: Any) -> CheckResult:
        """``dpaudit.check`` of the mechanism; the notes are added to those of the result.

        ``neighbours`` are pairs of your own, ``options`` the others of ``check``. Raises
        ``InvalidParameterError`` where there are no pairs, and what ``check`` raises.
        """
        pairs = self.neighbours if neighbours is None else neighbours
        if neighbours is None and not self.neighbours:
            raise InvalidParameterError(
                "neighbours must be given where the object does not say what its data are, got none; pass "
                "neighbours=[(data, neighbour), ...] or dpaudit.blackbox.corners(...)."
            )
        result = check(self.mechanism, self.claim, neighbours=pairs, **options)
        return replace(result, notes=(*self.notes, *result.notes))


def library(module: str, *, package: str) -> Any:
    """The module of an optional library. Raises ``InvalidParameterError`` where it is not installed."""
    try:
        return import_module(module)
    except ImportError as error:
        raise InvalidParameterError(
            f"this adapter needs {package}, got {error}; pip install {package}, or dpaudit[libraries]."
        ) from error


def refused(what: str, received: object, advice: str) -> InvalidParameterError:
    """The error for an object that an adapter cannot read."""
    return InvalidParameterError(f"{what}, got {received}; {advice}.")


def seeded_state(rng: np.random.Generator) -> np.random.RandomState:
    """numpy's older generator on the same stream of bits: what it draws moves ``rng`` on."""
    return np.random.RandomState(rng.bit_generator)


def unseeded(name: str) -> str:
    """The note on a library that keeps its generator to itself."""
    return (
        f"{name} draws from a generator of its own that cannot be seeded: the runs cannot be repeated, and "
        "another call may stop elsewhere"
    )
