"""Define the result of an adapter: a mechanism, the claim of its object, and pairs of neighbours."""

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
    """Mechanism of another library, ready for ``check``.

    Attributes
    ----------
    mechanism : callable
        ``mechanism(data, rng) -> output``.
    claim : PrivacyClaim
        The claim of the object, with the adjacency of the library.
    neighbours : sequence of pairs
        Neighbours by this adjacency. Empty if the object does not describe its data.
    notes : tuple of str
        Assumptions, and whether runs are reproducible.
    """

    mechanism: Callable[[Any, np.random.Generator], Any]
    claim: PrivacyClaim
    neighbours: Sequence[tuple[Any, Any]] = ()
    notes: tuple[str, ...] = ()

    def check(self, *, neighbours: PairsOfInputs | None = None, **options: Any) -> CheckResult:
        """Run ``dpaudit.check`` on the mechanism, and add the notes to the notes of the result.

        Parameters
        ----------
        neighbours : sequence of pairs, Inputs or Hypothesis strategy, optional
            Replaces the pairs of the adapter.
        **options
            Other options of ``check``.

        Raises
        ------
        InvalidParameterError
            There are no pairs, or ``check`` raises it.
        """
        pairs = self.neighbours if neighbours is None else neighbours
        if neighbours is None and not self.neighbours:
            raise InvalidParameterError(
                "neighbours must be given, because the object does not describe its data. Pass "
                "neighbours=[(data, neighbour), ...] or dpaudit.blackbox.corners(...).",
                code="E-NEIGHBOURS-MISSING",
            )
        result = check(self.mechanism, self.claim, neighbours=pairs, **options)
        return replace(result, notes=(*self.notes, *result.notes))


def library(module: str, *, package: str) -> Any:
    """Import a module of an optional library. Raises ``InvalidParameterError`` if it is not installed."""
    try:
        return import_module(module)
    except ImportError as error:
        raise InvalidParameterError(
            f"this adapter requires {package} ({error}). Run pip install {package}.", code="E-PACKAGE-MISSING"
        ) from error


def refused(what: str, received: object, advice: str = "", *, code: str) -> InvalidParameterError:
    """Return the error for an object that an adapter cannot read."""
    return InvalidParameterError(f"{what}, got {received}.{f' {advice}' if advice else ''}", code=code)


def seeded_state(rng: np.random.Generator) -> np.random.RandomState:
    """Return a legacy numpy generator on the bit stream of ``rng``. Its draws advance ``rng``."""
    return np.random.RandomState(rng.bit_generator)


def unseeded(name: str) -> str:
    """Return the note on a library with an internal generator."""
    return (
        f"not reproducible: {name} draws from an internal generator that cannot be seeded, so another "
        "check may stop after a different number of runs"
    )
