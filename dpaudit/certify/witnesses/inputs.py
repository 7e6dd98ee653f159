"""The two inputs of a transcript: the recorded input of the program, and the neighbour that it is compared
with.

A witness without inputs is a table of distributions that nobody can run again. Inputs are written like
outcomes: numbers, texts, lists and dicts, a dataclass as its fields, a pandas table as its values, labels and
dtypes. An array is written as its runs of equal records, [record, length], since most inputs under audit are
one record on a uniform background. A file cannot show that the inputs are neighbours in the domain of the
claim, nor that the program has these distributions on them.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from itertools import groupby
from typing import Any

import numpy as np

from dpaudit.core.errors import CertificateError
from dpaudit.core.exact import decode_value, encode_value
from dpaudit.core.tables import table_parts

__all__ = ["require_inputs", "same_written", "written_inputs"]

_SIDES = {"recorded", "neighbour"}


def written_inputs(recorded: Any, neighbour: Any) -> dict[str, Any]:
    """Return both inputs as plain JSON. Raise ``InvalidParameterError`` for data of an unsupported type."""
    return {"recorded": encode_value(_plain(recorded)), "neighbour": encode_value(_plain(neighbour))}


def require_inputs(inputs: Any) -> None:
    """Raise ``CertificateError`` unless both inputs are present, well formed and different."""
    if not isinstance(inputs, dict) or inputs.keys() != _SIDES:
        raise CertificateError(
            f"a witness must record both inputs, {sorted(_SIDES)}, got {str(inputs)[:60]!r}."
        )
    for side in sorted(_SIDES):
        if decode_value(inputs[side]) is None:
            raise CertificateError(f"a witness must record both inputs, but the {side} input is empty.")
    if same_written(inputs["recorded"], inputs["neighbour"]):
        raise CertificateError(
            "the two inputs of a witness must differ, because the loss between equal inputs is 0."
        )


def same_written(left: Any, right: Any) -> bool:
    """Return whether two encoded values are equal. The order of a dict's keys does not matter."""
    return bool(_unordered(left) == _unordered(right))


def _unordered(data: Any) -> Any:
    """Return an encoded value with the entries of every dict sorted by key."""
    if isinstance(data, list):
        return [_unordered(item) for item in data]
    if not isinstance(data, dict):
        return data
    if data.keys() == {"dict"}:
        return {"dict": sorted([key, _unordered(item)] for key, item in data["dict"])}
    return {key: _unordered(item) for key, item in data.items()}


def _plain(data: Any) -> Any:
    """Return ``data`` with dataclasses and tables as dicts of their parts, and arrays as runs."""
    table = table_parts(data)
    if table is not None:
        words, parts = table
        kinds = [str(kind) for kind in np.ravel(data.dtypes)]
        return {"table": words, "dtypes": kinds, **{place: _cells(part) for place, part in parts}}
    if isinstance(data, np.ndarray) and data.ndim and data.dtype.kind in "biuf":
        equal = [list(group) for _, group in groupby(data.tolist(), key=repr)]  # 0.0 is not -0.0
        runs = [[group[0], len(group)] for group in equal]
        return {"dtype": data.dtype.str, "shape": list(data.shape), "runs": runs}
    if is_dataclass(data) and not isinstance(data, type):
        return {item.name: _plain(getattr(data, item.name)) for item in fields(data)}
    if isinstance(data, list | tuple):
        return type(data)(_plain(item) for item in data) if type(data) in (list, tuple) else data
    if isinstance(data, dict):
        return {key: _plain(value) for key, value in data.items()}
    return data


def _cells(part: Any) -> Any:
    """Return a part of a table: numbers unchanged, other entries (dates, missing values) as their
    ``repr``.
    """
    if isinstance(part, np.ndarray) and part.dtype.kind not in "biuf":
        return _cells(part.tolist())
    if isinstance(part, list):
        return [_cells(item) for item in part]
    return _plain(part) if isinstance(part, bool | int | float | str | np.ndarray | None) else repr(part)
