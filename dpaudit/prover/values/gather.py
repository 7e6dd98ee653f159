"""Follow ``table[place]`` for a private place, such as the features of the action that a user selects."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpaudit.prover.values.operations import content, shape_of
from dpaudit.prover.values.run import Run
from dpaudit.prover.values.values import Array, Entries, Private, Public

__all__ = ["gathered", "stacked_rows"]

#: Limit on the rows of a table.
MAX_ROWS = 256


def stacked_rows(run: Run, table: Any) -> list[Private]:
    """Return the rows that were stacked to a table, or nothing for another table.

    Their norms are smaller than those of the table, and each depends on fewer records.
    """
    if not isinstance(table, Private):
        return []
    op, ids, params = run.record.nodes[table.node]
    infos = [run.record.infos[k] for k in ids]
    if op != "stack" or any(info.records or info.kind != params["kind"] for info in infos):
        return []
    return [Private(k, info, run.samples[k]) for k, info in zip(ids, infos, strict=True)]


def gathered(run: Run, value: Any, keys: Sequence[Any], index: Callable[[Run, Any, Any], Any]) -> Any:
    """Return ``value[place]`` for a private integer place, or None if this is another kind of indexing."""
    inner, place = content(value), content(keys[0])
    if len(keys) != 1 or not isinstance(place, Private) or place.info.kind != "i":
        return None
    if not isinstance(inner, np.ndarray | Public | Private | Entries):
        return None
    shape = shape_of(inner)
    if not shape or not isinstance(shape[0], int) or (isinstance(inner, Private) and inner.info.records):
        return None
    if not 1 <= shape[0] <= MAX_ROWS:
        run.refuse(f"a table with a private index must have 1 to {MAX_ROWS} rows, got {shape[0]}")
    rows = stacked_rows(run, inner) or [index(run, value, k) for k in range(shape[0])]
    found = run.value(run.step("gather", [place, *rows], {}))
    for array in (value, found):  # a row at one place is a view of the table
        if isinstance(array, Array):
            array.shared = True
    return run.verify(found, operator.getitem, value, keys[0])
