"""Read the visible content of pandas tables. pandas is used only if the program has already imported it."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["rows_of", "table_parts"]

Parts = list[tuple[str, Any]]


def rows_of(data: Any) -> list[Any] | None:
    """Return the rows of a data frame or the values of a series, or ``None`` for anything else."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(data, pandas.DataFrame | pandas.Series):
        return None
    return list(data.itertuples(index=False, name=None) if isinstance(data, pandas.DataFrame) else data)


def table_parts(output: Any) -> tuple[str, Parts] | None:
    """Return a description of a data frame or series with its parts, or ``None`` for anything else.

    The parts are the values, and the labels unless they are 0, 1, 2, ... Column labels that are strings are
    included in the description instead.
    """
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(output, pandas.DataFrame | pandas.Series):
        return None
    words = f"{type(output).__name__} of shape {output.shape}"
    parts: Parts = [(".iloc", output.to_numpy())]
    axes = [(".index", output.index)]
    if isinstance(output, pandas.DataFrame):
        kinds = [(f".iloc[:, {k}]", kind) for k, kind in enumerate(output.dtypes)]
        if all(isinstance(label, str) for label in output.columns):
            words += f" with columns {list(output.columns)!r}"
        else:
            axes.append((".columns", output.columns))
    else:
        kinds = [("", output.dtype)]
        parts += [] if output.name is None else [(".name", output.name)]
    parts += [(place, labels.to_numpy()) for place, labels in axes if not _counts(labels)]
    parts += [(f"{place}.name", labels.name) for place, labels in axes if labels.name is not None]
    for place, kind in kinds:
        if isinstance(kind, pandas.CategoricalDtype):
            parts.append((f"{place}.cat.categories", kind.categories.to_numpy()))
    return words, parts + ([(".attrs", output.attrs)] if output.attrs else [])


def _counts(labels: Any) -> bool:
    """Return whether the labels are 0, 1, 2, ..., the default of pandas."""
    return type(labels).__name__ == "RangeIndex" and labels.start == 0 and labels.step == 1
