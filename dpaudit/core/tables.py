"""What a pandas table holds, as whoever is handed it sees it. pandas is looked for only where somebody has
loaded it."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["rows_of", "table_parts"]

Parts = list[tuple[str, Any]]


def rows_of(data: Any) -> list[Any] | None:
    """The rows of a data frame, the values of a series; ``None`` for anything else."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(data, pandas.DataFrame | pandas.Series):
        return None
    return list(data.itertuples(index=False, name=None) if isinstance(data, pandas.DataFrame) else data)


def table_parts(output: Any) -> tuple[str, Parts] | None:
    """A data frame or series in words, with its parts: values, and labels that are not just 0, 1, 2, ... or,
    of columns, fixed words (these are a part of the words). ``None`` for anything else.
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
    """Whether these labels are 0, 1, 2, ... as pandas sets them by itself."""
    return type(labels).__name__ == "RangeIndex" and labels.start == 0 and labels.step == 1
