"""Measure tables whose entries are computed one by one in floats, of which the largest counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dpaudit.core.errors import UndecidedError
from dpaudit.core.plots import table
from dpaudit.suite.evidence import Measured

__all__ = ["largest_of"]

#: Largest number of entries in the plot.
SHOWN = 12


def largest_of(
    entries: Sequence[Sequence[Any]],
    *,
    columns: Sequence[str],
    rounding: float,
    method: str,
    scope: str,
    samples: int = 1,
) -> Measured:
    """Return the largest last number of ``entries``, each correct to the relative error ``rounding``.

    The largest entries become a table with the headings ``columns``. Each entry took ``samples``
    computations. Raises ``UndecidedError`` for NaN, which has no order.
    """
    missing = [entry for entry in entries if math.isnan(entry[-1])]
    if missing:
        raise UndecidedError(f"every entry must be a number, got NaN at {missing[0]}.", code="E-ENTRY-NAN")
    top = sorted(entries, key=lambda entry: -entry[-1])[:SHOWN]
    return Measured(
        low=top[0][-1] - abs(top[0][-1]) * rounding,
        high=top[0][-1] + abs(top[0][-1]) * rounding,
        samples=samples * len(entries),
        method=method,
        scope=scope,
        plots=[table(title=f"Largest {columns[-1]}", columns=list(columns), rows=top)],
    )
