"""Define one hostile program: what a prover without one rule would prove, and what is true."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

__all__ = ["EACH", "ONE_REPLACED", "ONE_WAY", "ROWS", "Row", "hostile"]

EACH, ONE_WAY, ONE_REPLACED = "each moves", "each moves one way", "one replaced"


@dataclass(frozen=True)
class Row:
    """``program`` loses at least ``loss`` on ``event`` between ``left`` and ``right``.

    ``event`` is None where the oracle cannot follow the program; then ``why`` has the derivation.
    ``at_most`` is an upper bound of the true loss, for programs that must not be refuted at ``claim``.
    """

    name: str
    rule: str
    program: Callable[..., Any]
    left: Sequence[Any]
    right: Sequence[Any]
    event: Sequence[Any] | None
    loss: float
    why: str
    adjacency: str = EACH
    by: Fraction = Fraction(1)
    low: Any = None
    high: Any = None
    width: int | None = None
    every: bool = False
    integers: bool = False
    claim: str = "1"
    at_most: float = math.inf


ROWS: list[Row] = []


def hostile(
    rule: str,
    left: Sequence[Any],
    right: Sequence[Any],
    event: Sequence[Any] | None,
    loss: float = math.inf,
    **others: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated program as a row. Its docstring says why it is hostile."""

    def register(program: Callable[..., Any]) -> Callable[..., Any]:
        why = program.__doc__ or ""
        assert why, f"{program.__name__} says why"
        assert all(row.name != program.__name__ for row in ROWS), program.__name__
        ROWS.append(Row(program.__name__, rule, program, left, right, event, loss, why, **others))
        return program

    return register
