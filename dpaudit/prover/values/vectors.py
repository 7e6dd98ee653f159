"""Follow numpy functions of private vectors that are not records, such as the data of one user."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpaudit.prover.values.operations import content, is_plain, published, shape_of
from dpaudit.prover.values.run import Run
from dpaudit.prover.values.values import Filtered, Private, Symbol, Transposed

__all__ = ["concatenate_rule", "outer_rule"]


def _vector(run: Run, value: Any, name: str) -> Private:
    """Return a vector as a step, and refuse records and other shapes."""
    inner = content(value)
    if isinstance(inner, Symbol) and not isinstance(inner, Filtered | Transposed | Private):
        value = published(run, value)
    if isinstance(inner, list | tuple) and is_plain(inner):
        value = inner = run.plain(np.array, inner)
    shape = shape_of(value)
    if isinstance(inner, list | tuple) or shape is None or len(shape) != 1 or not isinstance(shape[0], int):
        run.refuse(f"{name} of private values requires vectors of known length")
    found = run.lift(value)
    if found.info.records:
        run.refuse(f"{name} of an array of records is not supported (use np.column_stack, or X.T @ Y)")
    return found


def outer_rule(run: Run, a: Any, b: Any) -> Any:
    """Follow ``np.outer`` of two vectors."""
    parts = [_vector(run, one, "np.outer") for one in (a, b)]
    return run.value(run.step("outer", parts, {"records": 0}))


def concatenate_rule(run: Run, arrays: Any, axis: Any = 0) -> Any:
    """Follow ``np.concatenate`` of a list of vectors."""
    items = content(arrays)
    if not isinstance(items, list | tuple) or not items or type(axis) is not int or axis not in (0, -1):
        run.refuse("np.concatenate of private values requires a nonempty list of vectors")
    return run.value(run.step("columns", [_vector(run, one, "np.concatenate") for one in items]))
