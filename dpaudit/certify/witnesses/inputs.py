"""The two inputs of a transcript: what the program was given, and the neighbour that it was held against.

A witness without them is a table of distributions that nobody can run again. They are written like outcomes
(numbers, texts, lists, dicts; a dataclass as its fields, a pandas table as its values, labels and dtypes), an
array as its runs of equal records, [record, length],
since most inputs under audit are one record on a plain background. What a file cannot show is that they are
neighbours in the domain of the claim, and that the program has these distributions on them.
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
    """Both inputs as plain JSON. Raises ``InvalidParameterError`` for data of a type that cannot be
    written."""
    return {"recorded": encode_value(_plain(recorded)), "neighbour": encode_value(_plain(neighbour))}


def require_inputs(inputs: Any) -> None:
    """Raise ``CertificateError`` unless both inputs are there, well written and different."""
    if not isinstance(inputs, dict) or inputs.keys() != _SIDES:
        raise CertificateError(
            f"a witness must record both inputs, {sorted(_SIDES)}, got {str(inputs)[:60]!r}; re-create it."
        )
    for side in sorted(_SIDES):
        if decode_value(inputs[side]) is None:
            raise CertificateError(
                f"a witness must record both inputs, the {side} one is empty; re-create it."
            )
    if same_written(inputs["recorded"], inputs["neighbour"]):
        raise CertificateError(
            "a witness's two inputs must differ, they are the same: a program's loss on one input is 0; "
            "re-create it."
        )


def same_written(left: Any, right: Any) -> bool:
    """Whether two values that ``decode_value`` reads are one value; the order of a dict's keys is none of
    it."""
    return bool(_unordered(left) == _unordered(right))


def _unordered(data: Any) -> Any:
    """An encoded value with the entries of every dict in the order of their keys."""
    if isinstance(data, list):
        return [_unordered(item) for item in data]
    if not isinstance(data, dict):
        return data
    if data.keys() == {"dict"}:
        return {"dict": sorted([key, _unordered(item)] for key, item in data["dict"])}
    return {key: _unordered(item) for key, item in data.items()}


def _plain(data: Any) -> Any:
    """``data`` with every dataclass and table in it as a dict of its parts, and every array as its runs."""
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
    """A part of a table: numbers as they are; other entries (dates, missing values) by what they print."""
    if isinstance(part, np.ndarray) and part.dtype.kind not in "biuf":
        return _cells(part.tolist())
    if isinstance(part, list):
        return [_cells(item) for item in part]
    return _plain(part) if isinstance(part, bool | int | float | str | np.ndarray | None) else repr(part)
